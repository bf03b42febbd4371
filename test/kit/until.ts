/**
 * Waiting in tests. `until` is for an event at any time: its deadline only ends a hang, and is TEST_PATIENCE times the given one, since the machine
 * may be busy, and a long deadline costs nothing while tests pass. `untilPromised` is for an event promised within that time.
 */

/** From the environment, at least 1. */
const PATIENCE = patienceOf(process.env['TEST_PATIENCE']);

function patienceOf(text = '4'): number {
  const factor = Number(text);
  if (!(factor >= 1)) throw new Error(`TEST_PATIENCE is a number, at least 1: ${text}`);
  return factor;
}

/** The longest interval of checks, which becomes longer while it waits, since requests to the server cost CPU time on both sides. */
const ASKED_EVERY_MS = 50;

/** A time-out of a test, adapted to busy machines. Not for a promised time, nor for one that normally passes. */
export const patient = (ms: number): number => ms * PATIENCE;

/** Waits until `ready` returns true; after `patient(ms)` throws with the text of `describe`. */
export function until(
  ready: () => boolean | Promise<boolean>,
  ms: number,
  describe?: () => string,
  everyMs?: number,
): Promise<void> {
  return wait(ready, ms, patient(ms), describe, everyMs);
}

/** As `until`, with a time that is promised by a specification, contract, configuration or README, and so not extended on a busy machine. */
export function untilPromised(
  ready: () => boolean | Promise<boolean>,
  ms: number,
  describe?: () => string,
  everyMs?: number,
): Promise<void> {
  return wait(ready, ms, ms, describe, everyMs);
}

/**
 * Counts only a part of the time in which this process was stalled: after that, timers run before sockets, so the event may have happened
 * already.
 */
async function wait(
  ready: () => boolean | Promise<boolean>,
  ms: number,
  deadlineMs: number,
  describe = () => '',
  everyMs = 10,
): Promise<void> {
  const maxMs = Math.max(50, ms / 20);
  let passedMs = 0;
  let lastMs = performance.now();
  let waitMs = everyMs;
  for (let answer = ready(); !(await answer); answer = ready()) {
    if (passedMs > deadlineMs) throw new Error(`waited ${deadlineMs} ms in vain. ${describe()}`);
    await new Promise((done) => setTimeout(done, waitMs));
    if (answer instanceof Promise) waitMs = Math.max(everyMs, Math.min(waitMs * 1.25, ASKED_EVERY_MS));
    const nowMs = performance.now();
    passedMs += Math.min(nowMs - lastMs, maxMs);
    lastMs = nowMs;
  }
}

/** As `until`, for a promise. */
export async function awaited<T>(coming: Promise<T>, ms: number, describe?: () => string): Promise<T> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  coming.then(over, over);
  await until(() => isOver, ms, describe);
  return coming;
}
