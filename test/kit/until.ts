/**
 * How tests wait. `until` is for what must come at some time: its deadline only ends a hang, and is TEST_PATIENCE times what the call says, as a
 * machine may be busy and waiting costs nothing while a test passes. `untilPromised` is for what is promised in that time.
 */

/** Of the environment, at least 1. */
const PATIENCE = patienceOf(process.env['TEST_PATIENCE']);

function patienceOf(text = '4'): number {
  const factor = Number(text);
  if (!(factor >= 1)) throw new Error(`TEST_PATIENCE is a number, at least 1: ${text}`);
  return factor;
}

/** A look that asks the server costs both sides CPU time: the longer it is waited for, the rarer it is asked, down to this. */
const ASKED_EVERY_MS = 50;

/** A time after which a test gives up, on a machine that may be busy. Not for what is promised, nor for what takes this time when all is well. */
export const patient = (ms: number): number => ms * PATIENCE;

/** Waits until `ready` holds; throws with what `describe` returns after `patient(ms)`. */
export function until(
  ready: () => boolean | Promise<boolean>,
  ms: number,
  describe?: () => string,
  everyMs?: number,
): Promise<void> {
  return wait(ready, ms, patient(ms), describe, everyMs);
}

/** The same where `ms` is what the test asserts, of a specification, a contract, the configuration or a README: it is no longer on a busy machine. */
export function untilPromised(
  ready: () => boolean | Promise<boolean>,
  ms: number,
  describe?: () => string,
  everyMs?: number,
): Promise<void> {
  return wait(ready, ms, ms, describe, everyMs);
}

/**
 * Of a time in which this process stood still only a part counts: behind it timers run before sockets, and what is waited for may be
 * there already.
 */
async function wait(
  ready: () => boolean | Promise<boolean>,
  ms: number,
  deadlineMs: number,
  describe = () => '',
  everyMs = 10,
): Promise<void> {
  const mostMs = Math.max(50, ms / 20);
  let passedMs = 0;
  let lastMs = performance.now();
  let waitMs = everyMs;
  for (let answer = ready(); !(await answer); answer = ready()) {
    if (passedMs > deadlineMs) throw new Error(`waited ${deadlineMs} ms in vain. ${describe()}`);
    await new Promise((done) => setTimeout(done, waitMs));
    if (answer instanceof Promise) waitMs = Math.max(everyMs, Math.min(waitMs * 1.25, ASKED_EVERY_MS));
    const nowMs = performance.now();
    passedMs += Math.min(nowMs - lastMs, mostMs);
    lastMs = nowMs;
  }
}

/** Awaits what must come at some time, as `until` does. */
export async function awaited<T>(coming: Promise<T>, ms: number, describe?: () => string): Promise<T> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  coming.then(over, over);
  await until(() => isOver, ms, describe);
  return coming;
}
