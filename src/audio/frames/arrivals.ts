/**
 * When the audio of a tape arrived: the audio time at the tape's end at each moment. It places titles that are pushed late.
 *
 *   moment     │ 0 ms    │ 250 ms       │ 500 ms       pieces of a stream come in bursts: one entry each
 *   audio ends │ 261 ms  │ 522 ms       │ 757 ms
 *
 * Invariant: moments and audio times rise; entries older than the lag are forgotten. A frame costs a comparison, and an entry only if it arrives
 * at least a millisecond after the one before. Owned by ChannelAudio.
 */

const FIRST_SLOTS = 256;
/** Audio that arrives within this time of an entry belongs to it. */
const TOGETHER_MS = 1;

export class Arrivals {
  readonly #keepMs: number;
  /** Allocated with the first audio: a channel at rest needs none. */
  #moments = new Float64Array(0);
  #ends = new Float64Array(0);
  /** Numbers of the first entry and of the next one. */
  #first = 0;
  #next = 0;

  /** @param keepMs how far back a moment is known */
  constructor(keepMs: number) {
    this.#keepMs = keepMs;
  }

  /** Audio has arrived. @param nowMs the moment, monotonic; @param endMs audio time at the tape's end, milliseconds */
  note(nowMs: number, endMs: number): void {
    const mask = this.#moments.length - 1;
    if (this.#next > this.#first && nowMs - this.#moments[(this.#next - 1) & mask]! < TOGETHER_MS) {
      this.#ends[(this.#next - 1) & mask] = endMs;
      return;
    }
    // One older entry stays: it has the tape's end at the beginning of the lag.
    while (this.#next - this.#first > 1 && nowMs - this.#moments[(this.#first + 1) & mask]! >= this.#keepMs)
      this.#first++;
    if (this.#next - this.#first === this.#moments.length) this.#grow();
    const slot = this.#next++ & (this.#moments.length - 1);
    this.#moments[slot] = nowMs;
    this.#ends[slot] = endMs;
  }

  /** Audio time at the tape's end at that moment, milliseconds; before the first entry: that of the first entry. */
  endAt(momentMs: number): number {
    const mask = this.#moments.length - 1;
    const later = firstIndex(this.#first, this.#next, (i) => this.#moments[i & mask]! > momentMs);
    return this.#ends[Math.max(later - 1, this.#first) & mask] ?? 0;
  }

  /** When the tape's end reached this audio time, monotonic milliseconds; before the first entry: its moment; not reached: +∞. */
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

/** Binary search: the first index in [low, high) from which `holds` is true; `high`: none. */
export function firstIndex(low: number, high: number, holds: (index: number) => boolean): number {
  let [from, to] = [low, high];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (holds(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
