/**
 * When the audio of a tape came in: which audio time was the tape's end at a moment. A title that is pushed late finds its place by it.
 *
 *   moment     │ 0 ms    │ 250 ms       │ 500 ms       pieces of a stream come in bursts: one entry each
 *   audio ends │ 261 ms  │ 522 ms       │ 757 ms
 *
 * Invariant: moments and audio times rise; what is older than the lag is forgotten. Per frame it costs a comparison; an entry only
 * where a frame comes later than the one before, by what a clock with milliseconds shows. Owned by ChannelAudio.
 */

const FIRST_SLOTS = 256;
/** What comes in so shortly after an entry's moment came in with it. */
const TOGETHER_MS = 1;

export class Arrivals {
  readonly #keepMs: number;
  /** Without memory until audio comes: a channel at rest has none. */
  #moments = new Float64Array(0);
  #ends = new Float64Array(0);
  /** Numbers of the first entry and of the next one. */
  #first = 0;
  #next = 0;

  /** @param keepMs how far back a moment is known */
  constructor(keepMs: number) {
    this.#keepMs = keepMs;
  }

  /** Audio has come in. @param nowMs the moment, monotonic; @param endMs audio time at the tape's end, milliseconds */
  note(nowMs: number, endMs: number): void {
    const mask = this.#moments.length - 1;
    if (this.#next > this.#first && nowMs - this.#moments[(this.#next - 1) & mask]! < TOGETHER_MS) {
      this.#ends[(this.#next - 1) & mask] = endMs;
      return;
    }
    // The one before what is kept says where the tape ended when that begins.
    while (this.#next - this.#first > 1 && nowMs - this.#moments[(this.#first + 1) & mask]! >= this.#keepMs)
      this.#first++;
    if (this.#next - this.#first === this.#moments.length) this.#grow();
    const slot = this.#next++ & (this.#moments.length - 1);
    this.#moments[slot] = nowMs;
    this.#ends[slot] = endMs;
  }

  /** Audio time at the tape's end at that moment, milliseconds; of moments before all that is known, the earliest that is. */
  endAt(momentMs: number): number {
    const mask = this.#moments.length - 1;
    const later = firstIndex(this.#first, this.#next, (i) => this.#moments[i & mask]! > momentMs);
    return this.#ends[Math.max(later - 1, this.#first) & mask] ?? 0;
  }

  /** When the tape's end had come to this audio time, or past it; of what is known no more, the earliest moment that is, of none +∞. */
  momentOf(endMs: number): number {
    const mask = this.#moments.length - 1;
    const there = firstIndex(this.#first, this.#next, (i) => this.#ends[i & mask]! >= endMs);
    return there === this.#next ? Number.POSITIVE_INFINITY : this.#moments[there & mask]!;
  }

  #grow(): void {
    const mask = this.#moments.length - 1;
    const slots = 2 * (mask + 1) || FIRST_SLOTS;
    const [moments, ends] = [new Float64Array(slots), new Float64Array(slots)];
    for (let i = this.#first; i < this.#next; i++) {
      moments[i & (moments.length - 1)] = this.#moments[i & mask]!;
      ends[i & (ends.length - 1)] = this.#ends[i & mask]!;
    }
    this.#moments = moments;
    this.#ends = ends;
  }
}

/** The first index from `low` on, below `high`, from which on `holds` is true; `high`: there is none. */
export function firstIndex(low: number, high: number, holds: (index: number) => boolean): number {
  let [from, to] = [low, high];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (holds(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
