/**
 * The pause before the next try: doubles from about one second up to half a minute, with jitter, so that a crowd that lost its
 * server does not come back at once.
 */

const FIRST_MS = 1000;
const MAX_MS = 30_000;
/** The longest pause at a server's request; browsers' timers allow 24 days. */
const MAX_REQUESTED_MS = 86_400_000;

export class Backoff {
  /** Tries since the last success. */
  tries = 0;

  /** Counts a try. @returns milliseconds until it is due @param minMs requested by the server; a day at most counts */
  next(minMs = 0): number {
    const ms = Math.min(MAX_MS, FIRST_MS * 2 ** this.tries++) * (0.5 + Math.random());
    return Math.max(ms, Math.min(minMs, MAX_REQUESTED_MS) * (1 + Math.random() / 2));
  }

  /** Makes the next pauses at least as long as after this many tries. */
  slow(tries: number): void {
    this.tries = Math.max(this.tries, tries);
  }

  reset(): void {
    this.tries = 0;
  }
}
