/**
 * A budget for samples of the send queues: 1/250 of a core on average. What was not used in the last five minutes may be spent at
 * once, so that samples can be close together in the seconds in which a player may run dry.
 *
 *   credit   ├─ five minutes' share ─┤ − what a sample costs     + 1 ms every 250 ms
 *
 * A sample costs 3 µs for each line of the tables, plus the kernel's walk through its hash table (5 ms for 262,144 buckets): the shortest of the
 * last samples, since longer ones only show how busy the machine was. Pure.
 */

const SHARE = 1 / 250;
/** The longest pause between two samples. */
const MAX_PAUSE_MS = 60_000;
const MAX_CREDIT_MS = 300_000 * SHARE;
/** A line of 150 bytes. */
const MS_PER_BYTE = 0.003 / 150;
/** The cost of a sample is the shortest of this many. */
const SAMPLES_KEPT = 8;

export class SampleBudget {
  /** The default pause between two samples. */
  readonly #usualMs: number;
  #creditMs = MAX_CREDIT_MS;
  #countedMs: number;
  #costMs = 0;
  /** Longest pause after the last sample. */
  #maxPauseMs: number;
  readonly #took: number[] = [];

  constructor(usualMs: number, nowMs: number) {
    this.#usualMs = usualMs;
    this.#maxPauseMs = usualMs;
    this.#countedMs = nowMs;
  }

  /** A sample was taken. @param tableBytes length of the tables @param tookMs elapsed time */
  spend(nowMs: number, tableBytes: number, tookMs: number): void {
    if (this.#took.push(tookMs) > SAMPLES_KEPT) this.#took.shift();
    const linesMs = tableBytes * MS_PER_BYTE;
    this.#costMs = Math.max(linesMs, Math.min(...this.#took, this.#usualMs * SHARE));
    this.#maxPauseMs = Math.min(Math.max(this.#usualMs, linesMs / SHARE), MAX_PAUSE_MS);
    this.#creditMs = Math.min(MAX_CREDIT_MS, this.#creditMs + (nowMs - this.#countedMs) * SHARE) - this.#costMs;
    this.#countedMs = nowMs;
  }

  /** From the last sample until the next, milliseconds. @param wantedMs the pause wanted */
  pauseMs(wantedMs: number): number {
    if (wantedMs >= this.#usualMs) return this.#maxPauseMs;
    const affordedMs = (this.#costMs - this.#creditMs) / SHARE;
    return Math.min(Math.max(wantedMs, affordedMs), this.#maxPauseMs);
  }
}
