/** Steps at the end of the server, none of which may hold up the others, or the end itself: a disk that hangs, a client that stays. */

import type { Log } from '../base/log.js';

/** Name → a step that has begun; undefined: there is nothing to do. */
type Steps = Readonly<Record<string, Promise<unknown> | undefined>>;

/**
 * Waits until all these steps have ended, and no longer than `limitMs`; what has not ended by then is logged, and what
 * has failed. Never rejects.
 * @returns why steps have failed
 */
export async function waitForEnd(limitMs: number, log: Log, steps: Steps): Promise<readonly unknown[]> {
  const pending = new Set(Object.keys(steps));
  const errors: unknown[] = [];
  const all = Object.entries(steps).map(async ([name, step]) => {
    await step?.catch((error: unknown) => {
      errors.push(error);
      log.error({ step: name, err: error }, 'stopping failed');
    });
    pending.delete(name);
  });
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise((done) => (timer = setTimeout(done, limitMs)));
  await Promise.race([Promise.all(all), limit]);
  clearTimeout(timer);
  if (pending.size > 0) log.warn({ pending: [...pending], limitMs }, 'some parts did not stop in time');
  return errors;
}

/** Files that are being closed. */
let closing = 0;

/** Whether files are still being closed: the system holds their writes, and Node's own exit would wait for them. */
export function isClosing(): boolean {
  return closing > 0;
}

async function countClosing(file: Promise<unknown> | undefined): Promise<void> {
  closing++;
  try {
    await file;
  } finally {
    closing--;
  }
}

/** The same as `waitForEnd` for files that are being closed: `isClosing` holds until they are, also after `limitMs`. */
export function waitForFiles(limitMs: number, log: Log, files: Steps): Promise<readonly unknown[]> {
  const counted = Object.entries(files).map(([name, file]) => [name, countClosing(file)]);
  return waitForEnd(limitMs, log, Object.fromEntries(counted));
}
