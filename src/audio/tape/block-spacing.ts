/**
 * How far ICY blocks stand apart on a channel's tape, and how many of them a segment has (README.md): by what the channel fixes, else by what
 * the source on air sends. Owned by ChannelAudio.
 */

import type { Frame } from '../frames/frame.js';

/** Blocks in a segment, which is about a second. */
const BLOCKS = 4;
/** Where no bitrate is known: a quarter of Icecast's interval (src/listener/README.md). */
const DEFAULT_METAINT = 4096;
const MIN_METAINT = 500;
const MAX_METAINT = 65_535;
/** Of metaint to whole bytes. */
const ROUNDING = 0.01;
/** Of the slowest audio seen: at most half a second may lie between two blocks; chosen less, so that a little slower changes nothing. */
const SLOW_MS = { most: 500, chosen: 400 };
/** When the mean bitrate of a source is known, and not that of its first frames; where it is near to what the frames say, those are right. */
const KNOWN_AFTER_MS = 2000;
const NEAR = 0.1;
/** The mean bitrate that is said of a source is that of its last minute: what was before counts half, and half again. */
const MEAN_MS = 60_000;
/** No audio has more (source/source-facts.ts). */
const MAX_KBPS = 10_000;

export interface BlockSpacingOptions {
  /** Fixed by the configuration, bytes. */
  readonly metaint?: number | undefined;
  readonly bitrateKbps?: number | undefined;
}

/** About a quarter of a second of audio at this bitrate, bytes. */
export function metaintFor(bitrateKbps: number): number {
  const bytes = Math.round(bytesOf(bitrateKbps, 1000 / BLOCKS));
  return bytes > 0 ? Math.min(MAX_METAINT, Math.max(MIN_METAINT, bytes)) : DEFAULT_METAINT;
}

export class BlockSpacing {
  readonly #options: BlockSpacingOptions;
  /** The source on air has a bitrate that the tape's metaint was not compared with yet. */
  #isUnsuited = false;
  /** Of the source on air. */
  #sourceMs = 0;
  #sourceBytes = 0;
  /** Of the source before. */
  #lastKbps = 0;
  #frameKbps = 0;
  #lowestKbps = Number.POSITIVE_INFINITY;

  constructor(options: BlockSpacingOptions) {
    this.#options = options;
  }

  /** Another source is on air from the next frame on. */
  sourceChanged(): void {
    this.#lastKbps = this.meanKbps;
    this.#isUnsuited = true;
    this.#sourceMs = 0;
    this.#sourceBytes = 0;
    this.#lowestKbps = Number.POSITIVE_INFINITY;
  }

  /** Another process has counted its source until now. */
  adopt(meanKbps: number): void {
    this.#sourceMs = meanKbps > 0 ? MEAN_MS / 2 : 0;
    this.#sourceBytes = bytesOf(meanKbps, this.#sourceMs);
  }

  /** kb/s of the source on air, over its last minute, rounded; of the one before while nothing has come; 0: not known. */
  get meanKbps(): number {
    return this.#sourceMs > 0
      ? Math.min(MAX_KBPS, Math.round((this.#sourceBytes * 8) / this.#sourceMs))
      : this.#lastKbps;
  }

  /** A frame of the source on air. */
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

  /** Whether a tape without listeners should begin anew: its metaint does not suit the source. Says so once for each change. */
  outgrows(metaint: number): boolean {
    const isUnsuited = this.#isUnsuited && !isNear(metaint, this.metaint);
    this.#isUnsuited = false;
    const isTooLong = metaint > MIN_METAINT && metaint > bytesOf(this.#lowestKbps, SLOW_MS.most);
    return isUnsuited || (isTooLong && this.#options.metaint === undefined);
  }

  /** Bytes of audio between two blocks of a tape that begins now. */
  get metaint(): number {
    const slow = Math.max(MIN_METAINT, Math.floor(bytesOf(this.#lowestKbps, SLOW_MS.chosen)));
    return this.#options.metaint ?? Math.min(slow, metaintFor(this.#bitrateKbps));
  }

  /** How many blocks of that metaint are a second of audio, or less: listeners are written to once a second, and then there is always something. */
  get blocks(): number {
    const bytes = bytesOf(this.#bitrateKbps, 1000);
    return bytes > 0 ? Math.max(1, Math.floor(bytes / this.metaint + ROUNDING)) : BLOCKS;
  }

  get #bitrateKbps(): number {
    const bitrateKbps = this.#options.bitrateKbps ?? this.#frameKbps;
    if (this.#options.bitrateKbps !== undefined || this.#sourceMs < KNOWN_AFTER_MS) return bitrateKbps;
    const meanKbps = (this.#sourceBytes * 8) / this.#sourceMs;
    return isNear(meanKbps, bitrateKbps) ? bitrateKbps : meanKbps;
  }
}

function isNear(one: number, other: number): boolean {
  return Math.abs(one / other - 1) < NEAR;
}

function bytesOf(bitrateKbps: number, ms: number): number {
  return (bitrateKbps / 8) * ms;
}
