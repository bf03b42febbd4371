/**
 * Chooses the metaint of a channel's tape, which is the audio between two ICY blocks in bytes, and the number of blocks in a segment (README.md).
 * The configuration may fix it; otherwise it follows the bitrate of the source on air. Owned by a ChannelTape.
 */

import type { Frame } from '../frames/frame.js';
import { MAX_KBPS } from '../frames/mean-bitrate.js';

/** Blocks in a segment, which is about a second. */
const BLOCKS = 4;
/** Where no bitrate is known: a quarter of Icecast's interval (src/listener/README.md). */
const DEFAULT_METAINT = 4096;
const MIN_METAINT = 500;
export const MAX_METAINT = 65_535;
/** Allows for metaint being rounded to whole bytes. */
const ROUNDING = 0.01;
/**
 * Audio between two blocks at the lowest bitrate seen. More than `most` needs another metaint, which is then chosen for less, so that a slightly
 * lower bitrate does not change it again.
 */
const SLOW_MS = { most: 500, chosen: 400 };
/** After this much audio the mean bitrate of a source is known; before, only the bitrate that its frames state is. */
export const KNOWN_AFTER_MS = 2000;
/** A mean that differs from the stated bitrate by less than this fraction confirms it. */
const NEAR = 0.1;
/** The mean is taken over the last minute or so: the sums are halved whenever they cover more. */
const MEAN_MS = 60_000;

export interface MetaintOptions {
  /** Bytes, fixed by the configuration; undefined if it follows the bitrate. */
  readonly metaint?: number | undefined;
  readonly bitrateKbps?: number | undefined;
}

/** Returns the bytes of about a quarter of a second of audio at this bitrate; a default for 0, an unknown bitrate. */
export function metaintFor(bitrateKbps: number): number {
  const bytes = Math.round(bytesOf(bitrateKbps, 1000 / BLOCKS));
  return bytes > 0 ? Math.min(MAX_METAINT, Math.max(MIN_METAINT, bytes)) : DEFAULT_METAINT;
}

export class MetaintChoice {
  readonly #options: MetaintOptions;
  /** The source's bitrate has not been compared with the tape's metaint yet. */
  #isUnsuited = false;
  /** Audio of the source on air, for its mean bitrate. */
  #sourceMs = 0;
  #sourceBytes = 0;
  /** Mean bitrate of the previous source. */
  #lastKbps = 0;
  #frameKbps = 0;
  #lowestKbps = Number.POSITIVE_INFINITY;

  constructor(options: MetaintOptions) {
    this.#options = options;
  }

  /** Called before the first frame of another source. */
  sourceChanged(): void {
    this.#lastKbps = this.meanKbps;
    this.#isUnsuited = true;
    this.#sourceMs = 0;
    this.#sourceBytes = 0;
    this.#lowestKbps = Number.POSITIVE_INFINITY;
  }

  /** Continues from the mean bitrate that another process has counted for this source. */
  adopt(meanKbps: number): void {
    this.#sourceMs = meanKbps > 0 ? MEAN_MS / 2 : 0;
    this.#sourceBytes = bytesOf(meanKbps, this.#sourceMs);
  }

  /** Mean bitrate of the source on air over about its last minute, rounded; of the previous source until audio arrives; 0 if unknown. */
  get meanKbps(): number {
    return this.#sourceMs > 0
      ? Math.min(MAX_KBPS, Math.round((this.#sourceBytes * 8) / this.#sourceMs))
      : this.#lastKbps;
  }

  /** Counts a frame of the source on air. */
  count({ bytes, durationMs, bitrateKbps }: Frame): void {
    const isKnown = this.#sourceMs >= KNOWN_AFTER_MS;
    if (this.#sourceMs > MEAN_MS) {
      this.#sourceMs /= 2;
      this.#sourceBytes /= 2;
    }
    this.#frameKbps = bitrateKbps;
    this.#sourceBytes += bytes.length;
    this.#sourceMs += durationMs;
    if (!isKnown) this.#isUnsuited ||= this.#sourceMs >= KNOWN_AFTER_MS;
    else if (bitrateKbps < this.#lowestKbps) this.#lowestKbps = Math.max(1, bitrateKbps);
  }

  /** Whether a tape without listeners should begin anew because its metaint does not suit the source. True once for each change. */
  outgrows(metaint: number): boolean {
    const isUnsuited = this.#isUnsuited && !isNear(metaint, this.metaint);
    this.#isUnsuited = false;
    const isTooLong = metaint > MIN_METAINT && metaint > bytesOf(this.#lowestKbps, SLOW_MS.most);
    return isUnsuited || (isTooLong && this.#options.metaint === undefined);
  }

  /** The metaint for a tape that begins now, bytes. */
  get metaint(): number {
    const slow = Math.max(MIN_METAINT, Math.floor(bytesOf(this.#lowestKbps, SLOW_MS.chosen)));
    return this.#options.metaint ?? Math.min(slow, metaintFor(this.#bitrateKbps));
  }

  /** Blocks in a segment: at most a second of audio, so that each write to a listener, once a second, has something to send. */
  get blocks(): number {
    const bytes = bytesOf(this.#bitrateKbps, 1000);
    return bytes > 0 ? Math.max(1, Math.floor(bytes / this.metaint + ROUNDING)) : BLOCKS;
  }

  get #bitrateKbps(): number {
    const bitrateKbps = this.#options.bitrateKbps ?? this.#frameKbps;
    if (this.#options.bitrateKbps !== undefined || this.#sourceMs < KNOWN_AFTER_MS) return bitrateKbps;
    const meanKbps = Math.min(MAX_KBPS, (this.#sourceBytes * 8) / this.#sourceMs);
    return isNear(meanKbps, bitrateKbps) ? bitrateKbps : meanKbps;
  }
}

function isNear(one: number, other: number): boolean {
  return Math.abs(one / other - 1) < NEAR;
}

function bytesOf(bitrateKbps: number, ms: number): number {
  return (bitrateKbps / 8) * ms;
}
