/**
 * When more audio of a source is due: once what it has sent has been played. It is late from then on, and overdue (a stall) once it is
 * late by `stallMs`. The switch, a source's health and the takeover of an encoder all rely on this. Why: src/source/README.md.
 *
 *   in hand ▲ ╲    ╲    ╲              pieces of 1.6 s, one each 1.6 s: each is due when the one before has been played
 *           │  ╲    ╲    ╲  ╲╲╲        a burst, then real time: audio in hand is discounted a fifth faster than it plays, or
 *           └──────────────────▶       a source that stays ahead could stall unnoticed for as long as it is ahead
 *
 * An encoder that fills Ogg pages sends nothing until a page is full, and a page of silence holds seconds of audio: that page is allowed for too.
 *
 * Invariant: never later than `pieceMs` after the last frame, whatever duration the stream claims. Owned by an input.
 */

/**
 * How much faster than it plays the audio in hand is discounted. A piece that takes five sixths of its duration to arrive is discounted by
 * then, and the pause after it is a sixth of its duration: shorter than `stallMs` for pieces of up to 9 s.
 */
const DISCOUNT_RATE = 1.2;

export interface AudioDueOptions {
  /** The longest piece of audio that may arrive at once and be followed by a pause of the same length. */
  readonly pieceMs: number;
}

export class AudioDueTime {
  /** When more audio is due, monotonic milliseconds; -∞ if none has arrived yet. */
  atMs = Number.NEGATIVE_INFINITY;
  readonly #options: AudioDueOptions;
  /** When the last audio arrived, and the duration in hand at that time. */
  #lastMs = Number.NEGATIVE_INFINITY;
  #handMs = 0;
  /** While the source is not read: since when, and the due time at that moment; null while it is read. */
  #unread: { readonly sinceMs: number; readonly atMs: number } | null = null;

  constructor(options: AudioDueOptions) {
    this.#options = options;
  }

  /** Counts audio that has arrived. @param pageMs the longest Ogg page that may follow it, 0 if none */
  add(durationMs: number, nowMs: number, pageMs = 0): void {
    const { pieceMs } = this.#options;
    const leftMs = Math.max(0, this.#handMs - DISCOUNT_RATE * (nowMs - this.#lastMs));
    this.#handMs = Math.min(pieceMs, leftMs + durationMs);
    this.#lastMs = nowMs;
    this.#unread = null;
    this.atMs = nowMs + Math.min(pieceMs, this.#handMs + pageMs);
  }

  /** The source is no longer read, so the lack of audio is not its fault: allows for the longest piece. */
  pause(nowMs: number): void {
    if (this.atMs === Number.NEGATIVE_INFINITY || this.#unread !== null) return;
    this.#unread = { sinceMs: nowMs, atMs: this.atMs };
    this.atMs = this.#lastMs + this.#options.pieceMs;
  }

  /** The source is read again: postpones the due time by the length of the pause. */
  resume(nowMs: number): void {
    if (this.#unread === null) return;
    const { sinceMs, atMs } = this.#unread;
    this.#unread = null;
    this.atMs = Math.min(this.atMs, atMs + nowMs - sinceMs);
  }

  /** Another stream begins. */
  reset(): void {
    this.#unread = null;
    this.atMs = this.#lastMs = Number.NEGATIVE_INFINITY;
    this.#handMs = 0;
  }
}
