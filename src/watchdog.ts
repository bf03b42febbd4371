/**
 * Watches how long each piece of work holds the event loop, and remembers by whom it was held longest: what strangers send must never
 * cost the streams their turn, and where it does an operator has to see whose work it was.
 *
 *   encoder.read ──begin─────end('encoder')──►┐  longest of this second: what, who, how long ──► one log line a second
 *   router.request ─begin──────end('http')───►┤  longest since the start, and long turns counted, by what ──► metrics
 *   the clock's tick came late, nobody to blame ┘ 'unknown': garbage collection, the machine itself
 *
 * Two looks at the clock for each piece of work, plain fields, nothing allocated. Sections do not nest. Owned by the clock, so that
 * whoever works by the clock has it.
 */

import { performance } from 'node:perf_hooks';

/** Ways by which work comes in. */
export const TURN_PARTS = ['connection', 'http', 'poll', 'encoder', 'upstream', 'change', 'timer', 'unknown'] as const;
export type TurnPart = (typeof TURN_PARTS)[number];

export interface LongTurn {
  readonly part: TurnPart;
  /** A channel, an address, or what rang; "" where nobody said. */
  readonly who: string;
  readonly tookMs: number;
}

/** What the configuration says unless it says otherwise (`log.longTurnMs`). */
export const LONG_TURN_MS = 100;

export class Watchdog {
  /** By part: the longest turn since the start, milliseconds, and how many were long. */
  readonly longestMs = Object.fromEntries(TURN_PARTS.map((part) => [part, 0])) as Record<TurnPart, number>;
  readonly long = Object.fromEntries(TURN_PARTS.map((part) => [part, 0])) as Record<TurnPart, number>;
  /** A turn that lasts so many milliseconds is long. */
  longMs = LONG_TURN_MS;
  /** The longest one that was long and has not been taken yet. */
  #part: TurnPart = 'unknown';
  #who = '';
  #tookMs = 0;

  /** @returns what `end` wants to know */
  begin(): number {
    return performance.now();
  }

  /**
   * The work that began at `startMs` has been done.
   * @returns true, seldom: it was long, and `blame` may say whose it was
   */
  end(part: TurnPart, startMs: number): boolean {
    return this.took(part, performance.now() - startMs);
  }

  /** The same, measured by somebody else. */
  took(part: TurnPart, tookMs: number): boolean {
    if (tookMs > this.longestMs[part]) this.longestMs[part] = tookMs;
    if (tookMs < this.longMs) return false;
    this.long[part]++;
    if (tookMs < this.#tookMs) return false;
    this.#part = part;
    this.#who = '';
    this.#tookMs = tookMs;
    return true;
  }

  /** Whose the long turn was that has just ended: a channel's key, a client's address. Never what a stranger wrote. */
  blame(who: string): void {
    this.#who = who;
  }

  /** The event loop came round so much too late. Where a long turn explains it, nothing is added. */
  late(lateMs: number): void {
    if (lateMs >= this.longMs && this.#tookMs < lateMs / 2) this.took('unknown', lateMs);
  }

  /** The longest of the long turns since the last call; null: none was long. */
  take(): LongTurn | null {
    if (this.#tookMs === 0) return null;
    const turn = { part: this.#part, who: this.#who, tookMs: this.#tookMs };
    this.#tookMs = 0;
    return turn;
  }
}
