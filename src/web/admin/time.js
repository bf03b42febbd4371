// @ts-check
/** The server's time: the clock of a device may be hours off, and the ages and days on the page are computed by the server's clock. */

/** Smaller differences are ignored: the Date header has whole seconds, and answers take some time. */
const SAME_MS = 10_000;
let aheadMs = 0;

/** Learns the server's time from an answer. @param {string | null} date its Date header */
export function noteDate(date) {
  const foundMs = Date.parse(date ?? '') - Date.now();
  if (!Number.isNaN(foundMs)) aheadMs = Math.abs(foundMs) < SAME_MS ? 0 : foundMs;
}

/** The server's time, unix milliseconds. */
export function serverNow() {
  return Date.now() + aheadMs;
}
