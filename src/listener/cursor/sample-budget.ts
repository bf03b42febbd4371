/**
 * What samples of the send queues may cost: the 250th part of a core on average. What was not used in the last five minutes may be spent at
 * once, so that samples come close together for the seconds in which a player may run dry.
 *
 *   credit   ├─ five minutes' share ─┤ − what a sample costs     + 1 ms every 250 ms
 *
 * A sample costs 3 µs for each line of the tables, and whatever the machine takes to walk through its hash table, however few connections there are
 * (5 ms where it has 262,144 buckets): the shortest of the last samples, since the others only show how busy the machine was. Pure.
 */

const SHARE = 1 / 250;
/** Between two samples at the most. */
const MAX_MS = 60_000;
const MAX_CREDIT_MS = 300_000 * SHARE;
/** A line of 150 bytes. */
const MS_PER_BYTE = 0.003 / 150;
/** As many samples say what one takes. */
const REMEMBERED = 8;

export class SampleBudget {
  /** Between two samples where nothing asks for more, milliseconds. */
  readonly #usualMs: number;
  #creditMs = MAX_CREDIT_MS;
  #countedMs: number;
  #costMs = 0;
  /** Longest pause after the last sample. */
  #mostMs: number;
  readonly #took: number[] = [];

  constructor(usualMs: number, nowMs: number) {
    this.#usualMs = usualMs;
    this.#mostMs = usualMs;
    this.#countedMs = nowMs;
  }

  /** A sample was taken. @param tableBytes length of the tables @param tookMs by the clock on the wall */
  spend(nowMs: number, tableBytes: number, tookMs: number): void {
    if (this.#took.push(tookMs) > REMEMBERED) this.#took.shift();
    const linesMs = tableBytes * MS_PER_BYTE;
    this.#costMs = Math.max(linesMs, Math.min(...this.#took, this.#usualMs * SHARE));
    this.#mostMs = Math.min(Math.max(this.#usualMs, linesMs / SHARE), MAX_MS);
    this.#creditMs = Math.min(MAX_CREDIT_MS, this.#creditMs + (nowMs - this.#countedMs) * SHARE) - this.#costMs;
    this.#countedMs = nowMs;
  }

  /** From the last sample until the next one, milliseconds. @param wantedMs what would be best */
  pauseMs(wantedMs: number): number {
    if (wantedMs >= this.#usualMs) return this.#mostMs;
    const affordedMs = (this.#costMs - this.#creditMs) / SHARE;
    return Math.min(Math.max(wantedMs, affordedMs), this.#mostMs);
  }
}
