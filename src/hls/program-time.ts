/**
 * The wall time of a channel's audio as its playlist states it (EXT-X-PROGRAM-DATE-TIME): when the audio arrived. It starts with the arrival of the
 * first frame, advances by the samples, and is corrected towards arrival by a thousandth at most, since encoders drift.
 *
 *   arrival      │ 0.0 │ 0.3 │ 1.1 │ 1.2 │ 1.3 │ …       pieces arrive unevenly: only the latest arrival of some seconds counts
 *   stated       │ 0.0 │ 0.26 …
 *
 *   late by        0 0 0 │ 5.0 4.0 3.0 … 0 0              delayed audio arrives: nothing is missing, and the time continues
 *                  0 0 0 │ 5.0 5.0 5.0 5.0 …              audio is missing: another time begins
 *
 * Invariant: it never goes back. Owned by an HlsCutter.
 */

import type { TimePosition } from './playlist.js';

/** The largest correction per millisecond of audio. */
const MAX_CORRECTION = 0.001;
const MAX_LATE_MS = 1000;
/** Lateness that changes by less per millisecond of audio counts as lasting: delayed audio arrives at 1.1 × at least. */
const MAX_SLOPE = 0.08;
/** With less late audio it is undecided whether its lateness lasts. */
const MIN_JUDGED_MS = 1500;
/**
 * In a stretch the latest arrival counts, since pieces may be 10 s long; and of the last stretches the least late one, since delayed audio shows
 * no drift.
 */
const STRETCH_MS = 12_000;
const STRETCHES = 4;
const NOTHING_YET = { samples: 0, correctedMs: 0 };

interface LateFrame {
  /** Audio before it in the segment. */
  readonly ms: number;
  readonly lateMs: number;
}

export class ProgramTime {
  /** At its first sample, Unix milliseconds. */
  readonly startMs: number;
  readonly #sampleRate: number;
  /** Samples before the open segment. */
  #samples = 0;
  /** The corrections by then. */
  #correctedMs = 0;
  /** Whether the latest frame was later than MAX_LATE_MS. */
  #isLate = false;
  /** Late frames of the open segment, without interruption. */
  #lateFrames: LateFrame[] = [];
  /** The lateness of the latest arrival in the present stretch. */
  #latestMs = Number.NEGATIVE_INFINITY;
  /** The samples of that stretch. */
  #stretchSamples = 0;
  /** The lateness of previous stretches, oldest first. */
  #stretchesMs: number[] = [];

  /** @param since the state of another one of the same audio, from which this one continues */
  constructor(
    startMs: number,
    sampleRate: number,
    { samples, correctedMs }: Omit<TimePosition, 'startMs'> = NOTHING_YET,
  ) {
    this.startMs = startMs;
    this.#samples = samples;
    this.#correctedMs = correctedMs;
    this.#sampleRate = sampleRate;
  }

  /** The state at the open segment's first sample. */
  get position(): TimePosition {
    return { startMs: this.startMs, samples: this.#samples, correctedMs: this.#correctedMs };
  }

  /** The time at the open segment's first sample, Unix milliseconds. */
  get segmentMs(): number {
    return this.startMs + (this.#samples * 1000) / this.#sampleRate + this.#correctedMs;
  }

  /** Samples before the open segment. */
  get samples(): number {
    return this.#samples;
  }

  /** Whether audio may be missing before the next frame, so that a segment should begin with it. Parameters as in `note`. */
  turnsLate(ms: number, arrivedMs: number): boolean {
    return !this.#isLate && this.#lateMs(ms, arrivedMs) > MAX_LATE_MS;
  }

  /** Notes a frame of the open segment. @param ms audio before it in the segment @param arrivedMs when it arrived, Unix milliseconds */
  note(ms: number, arrivedMs: number): void {
    const lateMs = this.#lateMs(ms, arrivedMs);
    if (lateMs > this.#latestMs) this.#latestMs = lateMs;
    const isLate = lateMs > MAX_LATE_MS;
    if (isLate) this.#lateFrames.push({ ms, lateMs });
    else if (this.#isLate) this.#lateFrames = [];
    this.#isLate = isLate;
  }

  /**
   * Returns how much audio is missing before the open segment or recent ones, milliseconds: another time begins, this much later. 0: the time
   * continues. Called before `close`. @param samples of the segment
   */
  missingMs(samples: number): number {
    return this.#lastingMs((samples * 1000) / this.#sampleRate) || this.#longLastingMs();
  }

  /** Returns the lateness if all frames of the segment, or all since the first late one, are equally late; else 0. */
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

  /** Does the same across stretches, for audio in long pieces, of which only the first frames are late. */
  #longLastingMs(): number {
    const stretches = this.#stretchesMs;
    const minMs = Math.min(...stretches);
    const apartMs = (STRETCHES - 1) * STRETCH_MS;
    if (stretches.length < STRETCHES || minMs <= MAX_LATE_MS) return 0;
    return lasts(stretches[0]!, stretches.at(-1)!, apartMs) ? minMs : 0;
  }

  /**
   * Closes the open segment and begins another.
   * @returns its duration, microseconds, rounded so that the sum of all matches that of their samples
   */
  close(samples: number): number {
    const beganMicros = this.#micros(this.#samples);
    this.#samples += samples;
    this.#stretchSamples += samples;
    this.#lateFrames = [];
    const stretches = this.#stretchesMs;
    if (stretches.length === 0 || this.#stretchSamples * 1000 >= STRETCH_MS * this.#sampleRate) this.#endStretch();
    const maxMs = (MAX_CORRECTION * samples * 1000) / this.#sampleRate;
    const minMs = Math.min(...stretches);
    // No encoder drifts by more: the lateness falls again, or another time begins.
    const correctionMs = minMs > MAX_LATE_MS ? 0 : Math.max(-maxMs, Math.min(maxMs, minMs));
    this.#correctedMs += correctionMs;
    // Earlier notes were relative to the time before the correction.
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

/** Whether lateness has not changed between two places. @param apartMs the audio between them */
function lasts(beforeMs: number, afterMs: number, apartMs: number): boolean {
  return Math.abs(beforeMs - afterMs) <= MAX_SLOPE * apartMs;
}
