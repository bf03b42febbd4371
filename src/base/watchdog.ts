/**
 * Measures how long each piece of work blocks the event loop, and which one blocked it longest: no client may delay the streams, and an operator
 * must see which one does.
 *
 *   an encoder's chunk ─begin──end('encoder')──►┐  longest of this second: what, who, how long ──► one log line a second
 *   a request's bytes ──begin────end('http')───►┤  longest since the start, and long turns counted, by what ──► metrics
 *   work without a client ──────measured───────►┤
 *   a late tick that none of these explains ────┘  'gc', 'stopped' (the process did not run), else 'unknown'
 *
 * It reads the clock twice for each piece of work and allocates nothing. Owned by the clock.
 * Invariant: no time is counted twice. Sections may nest (an alarm that handles an encoder): each counts without the time of the sections in it.
 */

import { zeroCounts } from './counts.js';

/** Kinds of work. */
const TURN_PARTS = [
  ...(['connection', 'http', 'poll', 'encoder', 'upstream', 'change', 'timer'] as const),
  ...(['history', 'statistics', 'reload', 'document', 'gc', 'stopped', 'unknown'] as const),
] as const;
export type TurnPart = (typeof TURN_PARTS)[number];

export interface LongTurn {
  readonly part: TurnPart;
  /** A channel, an address, or the class of an alarm; "": unknown. */
  readonly who: string;
  readonly tookMs: number;
}

/** The default of `log.longTurnMs`. */
export const LONG_TURN_MS = 100;

/** The watchdog of the system clock. */
let ofProcess: Watchdog | null = null;

/** Does and measures work that no other section covers, such as reading a history. Without a clock, only does it. @param who as in `blame` */
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
  /** By part: the longest turn since the start, milliseconds. */
  readonly longestMs = zeroCounts(TURN_PARTS);
  /** By part: number of long turns. */
  readonly long = zeroCounts(TURN_PARTS);
  /** A turn that lasts at least this many milliseconds is long. */
  longMs = LONG_TURN_MS;
  /** The longest long turn since the last `take`. */
  #part: TurnPart = 'unknown';
  #who = '';
  #tookMs = 0;
  /** Length of the longest long turn since the last `late`. */
  #longestTurnMs = 0;
  /** The total measured time since the start. */
  #bookedMs = 0;
  /** Unexplained delay of the last tick; 0: none. */
  #lateMs = 0;
  /** Whether the process had CPU time during that delay. */
  #hasRun = true;
  /** Time of garbage collection since the last tick without an unexplained delay. */
  #collectedMs = 0;

  constructor(clock: { now(): number }) {
    this.#clock = clock;
  }

  /** @returns the `startMs` for `end`: now, less all measured time */
  begin(): number {
    return this.#clock.now() - this.#bookedMs;
  }

  /** Ends the work that began at `startMs`. @returns true if it is the longest long turn so far: `blame` may then name its cause */
  end(part: TurnPart, startMs: number): boolean {
    const tookMs = this.#clock.now() - this.#bookedMs - startMs;
    this.#bookedMs += tookMs;
    return this.took(part, tookMs);
  }

  /** As `end`, for work measured elsewhere. */
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

  /** Names the cause of the long turn that has just ended: a channel's key or a client's address, never untrusted text. */
  blame(who: string): void {
    this.#who = who;
  }

  /** Makes it the watchdog for `measured`. */
  watchProcess(): void {
    ofProcess = this;
  }

  /** Garbage was collected. Node reports that a moment after the tick that it delayed. */
  collected(tookMs: number): void {
    this.#collectedMs += tookMs;
  }

  /**
   * Called on each tick, which was `lateMs` late. If no long turn since the last call explains that, the next call counts it, with its reason.
   * @param ranMs CPU time of the process meanwhile @returns whether a delay is left for the next call
   */
  late(lateMs: number, ranMs = lateMs): boolean {
    const longestTurnMs = this.#longestTurnMs;
    this.#longestTurnMs = 0;
    if (this.#lateMs > 0) {
      const isCollector = this.#collectedMs >= this.#lateMs / 2;
      this.took(!this.#hasRun ? 'stopped' : isCollector ? 'gc' : 'unknown', this.#lateMs);
      // That turn and that collection belong to the previous tick.
      this.#longestTurnMs = this.#collectedMs = 0;
    }
    const isOpen = lateMs >= this.longMs && longestTurnMs < lateMs / 2;
    this.#lateMs = isOpen ? lateMs : 0;
    this.#hasRun = ranMs >= lateMs / 2;
    if (!isOpen) this.#collectedMs = 0;
    return isOpen;
  }

  /** The next tick is due later than now, so no turn so far can explain a delay of it. */
  inTime(): void {
    this.#longestTurnMs = 0;
  }

  /** The longest long turn since the last call; null: none. */
  take(): LongTurn | null {
    if (this.#tookMs === 0) return null;
    const turn = { part: this.#part, who: this.#who, tookMs: this.#tookMs };
    this.#tookMs = 0;
    return turn;
  }
}
