/**
 * The work that a source may cause: a budget that fills with time and is spent by what is dear to take in, whatever it plays or weighs.
 * A source that has spent it is not read until it has filled up again, so that neither one turn of the loop nor a second has more of it
 * than this. Real audio needs a hundredth: 38 frames a second of MP3, 400 packets of Opus at the most.
 */

/** A frame, or a piece of the body that brings one: a few microseconds. */
export const FRAME_UNITS = 1;
/** A link of Ogg whose headers are read. */
export const LINK_UNITS = 10;
/** A title that stands in the stream: it is saved and sent to every reader. 200 of them a second. */
export const TITLE_UNITS = 100;
/** One of an ICY block: it waits for the one before it, and past limits.pushesPerMinute it is neither saved nor sent. 1,000 of them a second. */
export const ICY_TITLE_UNITS = 20;
/** A link that goes onto the tape: its head is made, and sent to every listener. 20 of them a second. */
export const START_UNITS = 1000;

/** About 4 % of a core. */
const UNITS_PER_MS = 20;
/** At once: 5 to 10 ms. */
const MAX_UNITS = 3000;

export class Work {
  #units = MAX_UNITS;
  #atMs = 0;

  /** Spends; returns for how many milliseconds the source must not be read (0: go on). */
  book(units: number, nowMs: number): number {
    this.#units = Math.min(MAX_UNITS, this.#units + (nowMs - this.#atMs) * UNITS_PER_MS) - units;
    this.#atMs = nowMs;
    return this.#units >= 0 ? 0 : -this.#units / UNITS_PER_MS;
  }
}
