/**
 * The wall time of a channel's audio, as its playlist states it (EXT-X-PROGRAM-DATE-TIME): when it came in. It begins with the arrival of a first
 * frame, goes on by what is sampled, and is corrected towards arrival by a thousandth at most: encoders drift.
 *
 *   arrival      │ 0.0 │ 0.3 │ 1.1 │ 1.2 │ 1.3 │ …       pieces come sooner or later than their audio lasts: only the latest of a minute counts
 *   stated       │ 0.0 │ 0.26 …
 *
 * Invariant: it never goes back. Where it would have to go forward by more than a second (silence, a clock that was set) it ends, and another begins.
 * Owned by an HlsCutter.
 */

import type { TimePlace } from './playlist.js';

/** Per millisecond of audio. */
const MAX_CORRECTION = 0.001;
const MAX_LATE_MS = 1000;
/** Of these the latest arrival counts. */
const SEGMENTS = 15;
const NOTHING_YET = { samples: 0, correctedMs: 0 };

export class ProgramTime {
  /** At its first sample, unix milliseconds. */
  readonly startMs: number;
  readonly #sampleRate: number;
  /** Up to the beginning of the segment that is open, and by how much it was corrected by then. */
  #samples = 0;
  #correctedMs = 0;
  /** How much later than stated the latest frame came, in the open segment and in those before it. */
  #latestMs = Number.NEGATIVE_INFINITY;
  readonly #recentMs: number[] = [];

  /** @param since how far another one of the same audio has come: this one goes on from there */
  constructor(startMs: number, sampleRate: number, { samples, correctedMs }: Omit<TimePlace, 'startMs'> = NOTHING_YET) {
    this.startMs = startMs;
    this.#samples = samples;
    this.#correctedMs = correctedMs;
    this.#sampleRate = sampleRate;
  }

  /** At the open segment's first sample. */
  get place(): TimePlace {
    return { startMs: this.startMs, samples: this.#samples, correctedMs: this.#correctedMs };
  }

  /** At the open segment's first sample, unix milliseconds. */
  get segmentMs(): number {
    return this.startMs + (this.#samples * 1000) / this.#sampleRate + this.#correctedMs;
  }

  /** Before the open segment. */
  get samples(): number {
    return this.#samples;
  }

  /**
   * A frame of the open segment. @param ms of audio in the segment before it @param arrivedMs when it came in, unix milliseconds
   * @returns false: it belongs to another time, which begins with it
   */
  takes(ms: number, arrivedMs: number): boolean {
    const lateMs = arrivedMs - this.segmentMs - ms;
    if (lateMs > MAX_LATE_MS) return false;
    if (lateMs > this.#latestMs) this.#latestMs = lateMs;
    return true;
  }

  /**
   * The open segment is closed, another begins.
   * @returns its length in microseconds, so rounded that the sum of all is that of their samples
   */
  close(samples: number): number {
    const beganMicros = this.#micros(this.#samples);
    this.#samples += samples;
    const recent = this.#recentMs;
    recent.push(this.#latestMs);
    if (recent.length > SEGMENTS) recent.shift();
    const mostMs = (MAX_CORRECTION * samples * 1000) / this.#sampleRate;
    const correctionMs = Math.max(-mostMs, Math.min(mostMs, Math.max(...recent)));
    this.#correctedMs += correctionMs;
    // What was noted is about a time that is another one now.
    for (let i = 0; i < recent.length; i++) recent[i]! -= correctionMs;
    this.#latestMs = Number.NEGATIVE_INFINITY;
    return this.#micros(this.#samples) - beganMicros;
  }

  #micros(samples: number): number {
    return Math.round((samples / this.#sampleRate) * 1e6);
  }
}
