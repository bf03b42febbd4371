/** Steps at the end of the server, none of which may hold up the others, or the end itself: a disk that hangs, a client that stays. */

import type { Log } from '../base/log.js';

export interface StopOutcome {
  /** Why steps have failed. */
  readonly errors: readonly unknown[];
  /** Some have not ended. */
  readonly isHanging: boolean;
}

/**
 * Waits until all these steps, which have begun, have ended, and no longer than `limitMs`; what has not ended by then is logged.
 * Never rejects.
 */
export async function waitForEnd(
  limitMs: number,
  log: Log,
  steps: Readonly<Record<string, Promise<unknown> | undefined>>,
): Promise<StopOutcome> {
  const pending = new Set(Object.keys(steps));
  const errors: unknown[] = [];
  const all = Object.entries(steps).map(async ([name, step]) => {
    await step?.catch((error: unknown) => errors.push(error));
    pending.delete(name);
  });
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise((done) => (timer = setTimeout(done, limitMs)));
  await Promise.race([Promise.all(all), limit]);
  clearTimeout(timer);
  if (pending.size > 0) log.warn({ pending: [...pending], limitMs }, 'these have not ended: they are left');
  return { errors, isHanging: pending.size > 0 };
}
