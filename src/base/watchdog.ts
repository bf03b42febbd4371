/**
 * Measures how long each piece of work blocks the event loop, and which one blocked it longest: no client may delay the streams, and an operator
 * has to see which one does.
 *
 *   an encoder's chunk ─begin──end('encoder')──►┐  longest of this second: what, who, how long ──► one log line a second
 *   a request's bytes ──begin────end('http')───►┤  longest since the start, and long turns counted, by what ──► metrics
 *   what begins by itself ──────measured───────►┤
 *   the clock's tick came late, nothing of this ┘  'gc', 'stopped' (the process did not run), else 'unknown'
 *
 * Two readings of the clock for each piece of work, plain fields, nothing allocated. Owned by the clock, whose time it takes.
 * Invariant: no time is booked twice. Sections may nest (an alarm that goes on with an encoder): each is booked without the time
 * of those within it.
 */

import { zeroCounts } from './counts.js';

/** Ways by which work comes in. */
const TURN_PARTS = [
  ...(['connection', 'http', 'poll', 'encoder', 'upstream', 'change', 'timer'] as const),
  ...(['history', 'statistics', 'reload', 'document', 'gc', 'stopped', 'unknown'] as const),
] as const;
export type TurnPart = (typeof TURN_PARTS)[number];

export interface LongTurn {
  readonly part: TurnPart;
  /** A channel, an address, or the class of an alarm; "" where it is not known. */
  readonly who: string;
  readonly tookMs: number;
}

/** The default of `log.longTurnMs`. */
export const LONG_TURN_MS = 100;

/** Of the process: that of the system's clock. */
let ofProcess: Watchdog | null = null;

/**
 * Work that comes by no way of its own, such as a history that is read between two requests; before there is a clock it is just done. @param who as
 * `blame` has it
 */
export function measured<T>(part: TurnPart, work: () => T, who = ''): T {
  const watchdog = ofProcess;
  if (watchdog === null) return work();
  const startMs = watchdog.begin();
  try {
    return work();
  } finally {
    if (watchdog.end(part, startMs)) watchdog.blame(who);
  }
}

export class Watchdog {
  readonly #clock: { now(): number };
  /** By part: the longest turn since the start, milliseconds, and how many were long. */
  readonly longestMs = zeroCounts(TURN_PARTS);
  readonly long = zeroCounts(TURN_PARTS);
  /** A turn that lasts at least this many milliseconds is long. */
  longMs = LONG_TURN_MS;
  /** The longest one that was long and has not been taken yet. */
  #part: TurnPart = 'unknown';
  #who = '';
  #tookMs = 0;
  /** The longest one that was long since the last call of `late`, taken or not. */
  #longestTurnMs = 0;
  /** All that was booked since the start. */
  #bookedMs = 0;
  /** By how much the loop was late at the last tick for no reason that was known then, and whether the process ran meanwhile. */
  #lateMs = 0;
  #hasRun = true;
  /** How long the collector has run since the last tick that was in time. */
  #collectedMs = 0;

  constructor(clock: { now(): number }) {
    this.#clock = clock;
  }

  /** @returns what `end` takes: the time that was not booked up to now */
  begin(): number {
    return this.#clock.now() - this.#bookedMs;
  }

  /**
   * The work that began at `startMs` has been done.
   * @returns true, rarely: it was long, and `blame` may say whose it was
   */
  end(part: TurnPart, startMs: number): boolean {
    const tookMs = this.#clock.now() - this.#bookedMs - startMs;
    this.#bookedMs += tookMs;
    return this.took(part, tookMs);
  }

  /** The same, measured elsewhere. */
  took(part: TurnPart, tookMs: number): boolean {
    if (tookMs > this.longestMs[part]) this.longestMs[part] = tookMs;
    if (tookMs < this.longMs) return false;
    this.long[part]++;
    if (tookMs > this.#longestTurnMs) this.#longestTurnMs = tookMs;
    if (tookMs < this.#tookMs) return false;
    this.#part = part;
    this.#who = '';
    this.#tookMs = tookMs;
    return true;
  }

  /** Names the one responsible for the long turn that has just ended: a channel's key or a client's address, never untrusted text. */
  blame(who: string): void {
    this.#who = who;
  }

  /** It measures what `measured` does from here on. */
  watchProcess(): void {
    ofProcess = this;
  }

  /** The collector has run: Node says so a moment after a tick that was late for it. */
  collected(tookMs: number): void {
    this.#collectedMs += tookMs;
  }

  /**
   * Each tick: the event loop came round `lateMs` too late. Where a long turn since the last call explains it, nothing is added; else the next tick
   * says what it was. @param ranMs how much CPU time the process has had meanwhile @returns whether the next tick has to say so
   */
  late(lateMs: number, ranMs = lateMs): boolean {
    const longestTurnMs = this.#longestTurnMs;
    this.#longestTurnMs = 0;
    if (this.#lateMs > 0) {
      const isCollector = this.#collectedMs >= this.#lateMs / 2;
      this.took(!this.#hasRun ? 'stopped' : isCollector ? 'gc' : 'unknown', this.#lateMs);
      // It belongs to the tick before.
      this.#longestTurnMs = this.#collectedMs = 0;
    }
    const isOpen = lateMs >= this.longMs && longestTurnMs < lateMs / 2;
    this.#lateMs = isOpen ? lateMs : 0;
    this.#hasRun = ranMs >= lateMs / 2;
    if (!isOpen) this.#collectedMs = 0;
    return isOpen;
  }

  /** What was done up to now makes no tick late: the next one is due later than this. */
  inTime(): void {
    this.#longestTurnMs = 0;
  }

  /** The longest of the long turns since the last call; null: none was long. */
  take(): LongTurn | null {
    if (this.#tookMs === 0) return null;
    const turn = { part: this.#part, who: this.#who, tookMs: this.#tookMs };
    this.#tookMs = 0;
    return turn;
  }
}
