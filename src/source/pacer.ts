/**
 * How far a source is ahead of real time. An encoder that sends a file as fast as the network allows would move the tape past every
 * listener, so a source that is more than `aheadMs` ahead is not read until time has caught up. One that fell behind may catch up at
 * once: the account never goes below zero. Invariant: since a source that must wait is not processed (intake.ts), it is ahead by
 * `aheadMs` and one frame at most, and no wait is longer than that frame.
 *
 * A little of a lead is forgotten, since no clock is exact: a source that is connected for days would be ahead by more and more, and be paused
 * for good. Its unread audio would wait in the network, behind its titles, until the source drops some.
 */

/** Sound cards are fast by a ten-thousandth at most. A source that is ahead is forgiven this part of its audio: 17 s a day. */
const FORGOTTEN = 1 / 5000;

/**
 * How much a source may be given at once: it then waits for a fraction of a second at a time, however large its chunks are, and the switch
 * does not mistake the wait for a stall.
 */
export const SLICE_BYTES = 1024;

export interface PacerOptions {
  /** How far a source may be ahead of real time. */
  readonly aheadMs: number;
}

export interface AirPacerOptions extends PacerOptions {
  /** How much audio listeners have ahead: a longer gap takes no more from them. */
  readonly burstMs: number;
}

export class Pacer {
  readonly #options: PacerOptions;
  /** The moment at which real time will have caught up with all audio received. */
  #paidUntilMs = 0;

  constructor(options: PacerOptions) {
    this.#options = options;
  }

  /** Counts audio; returns for how many milliseconds the source must not be read (0: go on). */
  book(durationMs: number, nowMs: number): number {
    this.#paidUntilMs = Math.max(this.#paidUntilMs - FORGOTTEN * durationMs, nowMs) + durationMs;
    return Math.max(0, this.#paidUntilMs - nowMs - this.#options.aheadMs);
  }

  /** How far the source is ahead of real time, milliseconds. */
  aheadMs(nowMs: number): number {
    return Math.max(0, this.#paidUntilMs - nowMs);
  }

  /**
   * Another connection: the part of the account beyond `aheadMs` ends with the former one. The rest stays, since many short connections must not
   * move the tape past the listeners either.
   */
  reconnect(nowMs: number): void {
    this.#paidUntilMs = Math.min(this.#paidUntilMs, nowMs + this.#options.aheadMs);
  }

  /** Adopts a connection that was `aheadMs` ahead in another process or source: it is at least as far ahead here. */
  adopt(aheadMs: number, nowMs: number): void {
    this.#paidUntilMs = Math.max(this.#paidUntilMs, nowMs + aheadMs);
  }

  reset(): void {
    this.#paidUntilMs = 0;
  }
}

/**
 * The same for everything that a channel plays, from whichever source: sources that come and go, each with a burst, would move the tape past the
 * listeners, and gaps between them would use up the audio that listeners have ahead. Owned by the switch.
 */
export class AirPacer {
  readonly #options: AirPacerOptions;
  /** When all audio that went on air will have been played; NaN: none has. */
  #untilMs = Number.NaN;

  constructor(options: AirPacerOptions) {
    this.#options = options;
  }

  /** Counts audio that goes on air; returns for how many milliseconds its source must not be read, at most as long as the audio plays. */
  book(durationMs: number, nowMs: number): number {
    const beforeMs = this.aheadMs(nowMs);
    const aheadMs = Math.max(beforeMs - FORGOTTEN * durationMs, Math.min(beforeMs, 0)) + durationMs;
    this.#untilMs = nowMs + aheadMs;
    return Math.min(durationMs, Math.max(0, aheadMs - this.#options.aheadMs));
  }

  /** No listener has audio ahead: new ones get all of it from what goes on air next. */
  reset(): void {
    this.#untilMs = Number.NEGATIVE_INFINITY;
  }

  /** How far it is ahead of real time, milliseconds; less than 0: gaps have put it behind. */
  aheadMs(nowMs: number): number {
    return Number.isNaN(this.#untilMs) ? 0 : Math.max(-this.#options.burstMs, this.#untilMs - nowMs);
  }
}
