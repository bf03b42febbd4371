/**
 * The wall time of a channel's audio, as its playlist states it (EXT-X-PROGRAM-DATE-TIME): when it came in. It begins with the arrival of a first
 * frame, goes on by what is sampled, and is corrected towards arrival by a thousandth at most: encoders drift.
 *
 *   arrival      │ 0.0 │ 0.3 │ 1.1 │ 1.2 │ 1.3 │ …       pieces come sooner or later than their audio lasts: only the latest of some seconds counts
 *   stated       │ 0.0 │ 0.26 …
 *
 *   late by        0 0 0 │ 5.0 4.0 3.0 … 0 0              what waited comes: nothing is missing, and the time goes on
 *                  0 0 0 │ 5.0 5.0 5.0 5.0 …              audio is missing: another time begins
 *
 * Invariant: it never goes back. Owned by an HlsCutter.
 */

import type { TimePlace } from './playlist.js';

/** Per millisecond of audio. */
const MAX_CORRECTION = 0.001;
const MAX_LATE_MS = 1000;
/** Lateness that falls or rises by less, per millisecond of audio, lasts: what waited comes at 1.1 × at least. */
const MAX_SLOPE = 0.08;
/** Of less late audio it is not known whether its lateness lasts. */
const MIN_JUDGED_MS = 1500;
/** Of a stretch the latest arrival counts: pieces may be 10 s long. Of these stretches the least late one: what waited says nothing of drift. */
const STRETCH_MS = 12_000;
const STRETCHES = 4;
const NOTHING_YET = { samples: 0, correctedMs: 0 };

interface LateFrame {
  /** Of audio in the segment before it. */
  readonly ms: number;
  readonly lateMs: number;
}

export class ProgramTime {
  /** At its first sample, unix milliseconds. */
  readonly startMs: number;
  readonly #sampleRate: number;
  /** Up to the beginning of the segment that is open, and by how much it was corrected by then. */
  #samples = 0;
  #correctedMs = 0;
  /** Whether the latest frame was late by more than is borne. */
  #isLate = false;
  /** In the open segment, since it has been so. */
  #lateFrames: LateFrame[] = [];
  /** How much later than stated the latest frame of the present stretch came, and of those before it, oldest first. */
  #latestMs = Number.NEGATIVE_INFINITY;
  #stretchSamples = 0;
  #stretchesMs: number[] = [];

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

  /** Whether audio may be missing before the next frame: a segment had better begin with it. Parameters as `note` has them. */
  turnsLate(ms: number, arrivedMs: number): boolean {
    return !this.#isLate && this.#lateMs(ms, arrivedMs) > MAX_LATE_MS;
  }

  /** A frame of the open segment. @param ms of audio in the segment before it @param arrivedMs when it came in, unix milliseconds */
  note(ms: number, arrivedMs: number): void {
    const lateMs = this.#lateMs(ms, arrivedMs);
    if (lateMs > this.#latestMs) this.#latestMs = lateMs;
    const isLate = lateMs > MAX_LATE_MS;
    if (isLate) this.#lateFrames.push({ ms, lateMs });
    else if (this.#isLate) this.#lateFrames = [];
    this.#isLate = isLate;
  }

  /**
   * By how much the open segment is later than stated, because audio is missing before it, or was before the segments since: it begins another time,
   * so much later. 0: it goes on. Before `close`. @param samples of the segment
   */
  missingMs(samples: number): number {
    return this.#lastingMs((samples * 1000) / this.#sampleRate) || this.#longLastingMs();
  }

  /** All frames of the segment, or those since they turned late, are late by the same. */
  #lastingMs(segmentMs: number): number {
    const frames = this.#lateFrames;
    const [first, last] = [frames[0], frames.at(-1)];
    if (!this.#isLate || first === undefined || last === undefined) return 0;
    const lengthMs = segmentMs - first.ms;
    if (lengthMs < MIN_JUDGED_MS) return 0;
    const middle = frames.findIndex(({ ms }) => ms >= first.ms + lengthMs / 2);
    const before = latestOf(frames.slice(0, middle));
    return lasts(before, latestOf(frames.slice(middle)), lengthMs / 2) ? before : 0;
  }

  /** The same in pieces, of which only the first frames are so late. */
  #longLastingMs(): number {
    const stretches = this.#stretchesMs;
    const leastMs = Math.min(...stretches);
    const apartMs = (STRETCHES - 1) * STRETCH_MS;
    if (stretches.length < STRETCHES || leastMs <= MAX_LATE_MS) return 0;
    return lasts(stretches[0]!, stretches.at(-1)!, apartMs) ? leastMs : 0;
  }

  /**
   * The open segment is closed, another begins.
   * @returns its length in microseconds, so rounded that the sum of all is that of their samples
   */
  close(samples: number): number {
    const beganMicros = this.#micros(this.#samples);
    this.#samples += samples;
    this.#stretchSamples += samples;
    this.#lateFrames = [];
    const stretches = this.#stretchesMs;
    if (stretches.length === 0 || this.#stretchSamples * 1000 >= STRETCH_MS * this.#sampleRate) this.#endStretch();
    const mostMs = (MAX_CORRECTION * samples * 1000) / this.#sampleRate;
    const leastMs = Math.min(...stretches);
    // No encoder has drifted by more: it is made up, or another time begins.
    const correctionMs = leastMs > MAX_LATE_MS ? 0 : Math.max(-mostMs, Math.min(mostMs, leastMs));
    this.#correctedMs += correctionMs;
    // What was noted is about a time that is another one now.
    for (let i = 0; i < stretches.length; i++) stretches[i]! -= correctionMs;
    this.#latestMs -= correctionMs;
    return this.#micros(this.#samples) - beganMicros;
  }

  #endStretch(): void {
    this.#stretchesMs.push(this.#latestMs);
    if (this.#stretchesMs.length > STRETCHES) this.#stretchesMs.shift();
    this.#latestMs = Number.NEGATIVE_INFINITY;
    this.#stretchSamples = 0;
  }

  #lateMs(ms: number, arrivedMs: number): number {
    return arrivedMs - this.segmentMs - ms;
  }

  #micros(samples: number): number {
    return Math.round((samples / this.#sampleRate) * 1e6);
  }
}

function latestOf(frames: readonly LateFrame[]): number {
  return frames.reduce((latest, { lateMs }) => Math.max(latest, lateMs), Number.NEGATIVE_INFINITY);
}

/** @param apartMs of audio between the two */
function lasts(beforeMs: number, afterMs: number, apartMs: number): boolean {
  return Math.abs(beforeMs - afterMs) <= MAX_SLOPE * apartMs;
}
