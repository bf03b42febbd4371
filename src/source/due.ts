/**
 * When more audio of a source is due: once what it has sent has been played. Only from there on it is late, and it is overdue (a stall)
 * when it is late by `stallMs`. The switch, a source's health and the takeover of an encoder all go by this. Why: src/source/README.md.
 *
 *   in hand ▲ ╲    ╲    ╲              pieces of 1.6 s, one each 1.6 s: each is due when the one before has been played
 *           │  ╲    ╲    ╲  ╲╲╲        a burst, then real time: what is in hand is forgotten, a fifth faster than it plays, so
 *           └──────────────────▶       that a source that is ahead for ever does not stall unseen for as long
 *
 * An encoder that fills Ogg pages sends nothing meanwhile, and a page of silence holds seconds: the page under way is waited for too.
 *
 * Invariant: never later than `pieceMs` after the last frame, whatever a stream says of its playing time. Owned by an input.
 */

/**
 * By how much faster than it plays the audio in hand is forgotten. A piece that takes five sixths of its playing time to arrive is
 * forgotten by then, and the pause behind it is a sixth of the piece: shorter than `stallMs` for pieces of up to 9 s.
 */
const FORGETS = 1.2;

export interface DueOptions {
  /** The longest piece of audio that may come at once, and be followed by nothing for as long. */
  readonly pieceMs: number;
}

export class Due {
  /** On the clock, milliseconds; -∞: nothing has come. */
  atMs = Number.NEGATIVE_INFINITY;
  readonly #options: DueOptions;
  /** When the last audio came, and the playing time in hand then. */
  #lastMs = Number.NEGATIVE_INFINITY;
  #handMs = 0;
  /** While it is not read: since when, and when more was due then; null: it is read. */
  #unread: { readonly sinceMs: number; readonly atMs: number } | null = null;

  constructor(options: DueOptions) {
    this.#options = options;
  }

  /** Audio has come. @param pageMs the longest page that may be under way behind it; 0: none */
  add(durationMs: number, nowMs: number, pageMs = 0): void {
    const { pieceMs } = this.#options;
    const leftMs = Math.max(0, this.#handMs - FORGETS * (nowMs - this.#lastMs));
    this.#handMs = Math.min(pieceMs, leftMs + durationMs);
    this.#lastMs = nowMs;
    this.#unread = null;
    this.atMs = nowMs + Math.min(pieceMs, this.#handMs + pageMs);
  }

  /** It is not read from here on: that nothing comes is not its silence, up to the longest piece. */
  pause(nowMs: number): void {
    if (this.atMs === Number.NEGATIVE_INFINITY || this.#unread !== null) return;
    this.#unread = { sinceMs: nowMs, atMs: this.atMs };
    this.atMs = this.#lastMs + this.#options.pieceMs;
  }

  /** It is read again: what is due is postponed by the pause. */
  resume(nowMs: number): void {
    if (this.#unread === null) return;
    const { sinceMs, atMs } = this.#unread;
    this.#unread = null;
    this.atMs = Math.min(this.atMs, atMs + nowMs - sinceMs);
  }

  /** What comes from now on is another stream. */
  reset(): void {
    this.#unread = null;
    this.atMs = this.#lastMs = Number.NEGATIVE_INFINITY;
    this.#handMs = 0;
  }
}
