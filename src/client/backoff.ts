/**
 * How long to wait before the next try: doubles from about one second up to half a minute, with jitter, so that a crowd that lost its
 * server does not come back all at once.
 */

const FIRST_MS = 1000;
const MAX_MS = 30_000;

export class Backoff {
  /** Since it last went well. */
  tries = 0;

  /** Milliseconds until the next try, which this counts. @param leastMs what the server asked for */
  next(leastMs = 0): number {
    const ms = Math.min(MAX_MS, FIRST_MS * 2 ** this.tries++) * (0.5 + Math.random());
    return Math.max(ms, leastMs * (1 + Math.random() / 2));
  }

  /** The next waits are as long as after this many tries at least. */
  slow(tries: number): void {
    this.tries = Math.max(this.tries, tries);
  }

  reset(): void {
    this.tries = 0;
  }
}
