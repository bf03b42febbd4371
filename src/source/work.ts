/**
 * The work that a source may cause: a budget that refills with time and is spent on what is expensive to process, whatever its duration or
 * size. A source that has spent it is not read until it has refilled, which bounds its work in a turn of the event loop, and in a second.
 * Real audio needs a hundredth: 38 frames a second of MP3, at most 400 packets of Opus.
 */

/** A frame, or the piece of a body that contains it: a few microseconds. */
export const FRAME_UNITS = 1;
/** Reading the headers of an Ogg link. */
export const LINK_UNITS = 10;
/** A title in the stream: it is saved and sent to every reader. 200 of them a second. */
export const TITLE_UNITS = 100;
/** A title of an ICY block: it waits for the one before, and past limits.pushesPerMinute it is neither saved nor sent. 1,000 of them a second. */
export const ICY_TITLE_UNITS = 20;
/** A link that goes onto the tape: its head is created, and sent to every listener. 20 of them a second. */
export const START_UNITS = 1000;

/** About 4 % of a core. */
const UNITS_PER_MS = 20;
/** Maximum at once: 5 to 10 ms. */
const MAX_UNITS = 3000;

export class Work {
  #units = MAX_UNITS;
  #atMs = 0;

  /** Spends some of it; returns for how many milliseconds the source must not be read (0: go on). */
  book(units: number, nowMs: number): number {
    this.#units = Math.min(MAX_UNITS, this.#units + (nowMs - this.#atMs) * UNITS_PER_MS) - units;
    this.#atMs = nowMs;
    return this.#units >= 0 ? 0 : -this.#units / UNITS_PER_MS;
  }
}
