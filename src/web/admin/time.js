// @ts-check
/** The server's time: the clock of a device may be hours away from it, and the ages and days that the page shows are those of the server. */

/** Below this the clocks agree: an answer says whole seconds, and takes its time. */
const SAME_MS = 10_000;
let aheadMs = 0;

/** An answer says when it was made. @param {string | null} date the header of that name */
export function noteDate(date) {
  const foundMs = Date.parse(date ?? '') - Date.now();
  if (!Number.isNaN(foundMs)) aheadMs = Math.abs(foundMs) < SAME_MS ? 0 : foundMs;
}

/** Now, unix milliseconds. */
export function serverNow() {
  return Date.now() + aheadMs;
}
