/**
 * A channel's audio: its tape, and the title in force at the live edge. The one writer of the tape.
 *
 * A tape begins with the first audio; its metaint is chosen then (fixed by the channel, else about a quarter of a second of the configured
 * bitrate, else of the source's) and again only while none listens: listeners were promised it.
 * Sources know it as an output, listeners as something to read; it knows neither.
 */

import { blockFor, type IcyOptions, tagsFor } from '../metadata/icy.js';
import { isSamePlay } from '../metadata/record.js';
import type { RecordView } from '../metadata/view.js';
import { Arrivals } from './arrivals.js';
import type { AudioTape } from './audio-tape.js';
import { Mark } from './mark.js';
import type { OggLink } from './ogg-link.js';
import { OggTape } from './ogg-tape.js';
import { Reservoir } from './reservoir.js';
import { Tape } from './tape.js';

/** Of every codec in Ogg (RFC 5334). */
const OGG_TYPE = 'audio/ogg';
/** Blocks in a segment, which is about a second. */
const BLOCKS = 4;
/** Where no bitrate is known: a quarter of Icecast's interval (src/listener/README.md). */
const DEFAULT_METAINT = 4096;
const MIN_METAINT = 500;
const MAX_METAINT = 65_535;

export interface ChannelAudioOptions {
  readonly key: string;
  readonly lagMs: number;
  /** Monotonic milliseconds. */
  now(): number;
  /** Fixed by the configuration, bytes. */
  readonly metaint?: number | undefined;
  readonly bitrateKbps?: number | undefined;
  /** How titles stand in the stream; undefined: as they are. */
  readonly icy?: IcyOptions | undefined;
  /** Whether listeners may have ICY in Ogg too. */
  readonly icyInOgg?: boolean | undefined;
  /** Called when its listeners go from 0 to 1 and back. */
  readonly onWanted?: ((isWanted: boolean) => void) | undefined;
}

/** Where on the tape a title took effect that came late. */
export interface LateTitle {
  /** The title before it. */
  readonly before: Mark | null;
  readonly mark: Mark;
  /** Audio time on the tape, milliseconds. */
  readonly atMs: number;
}

/** About a quarter of a second of audio at this bitrate, bytes. */
export function metaintFor(bitrateKbps: number): number {
  const bytes = Math.round((bitrateKbps * 1000) / 8 / BLOCKS);
  return bytes > 0 ? Math.min(MAX_METAINT, Math.max(MIN_METAINT, bytes)) : DEFAULT_METAINT;
}

/** How many blocks of a metaint are about a second of audio at this bitrate. */
function blocksFor(metaint: number, bitrateKbps: number): number {
  const bytes = (bitrateKbps * 1000) / 8;
  return bytes > 0 ? Math.max(1, Math.round(bytes / metaint)) : BLOCKS;
}

export class ChannelAudio {
  readonly key: string;
  /** Of the source on air. */
  bitrateKbps: number;
  contentType = 'audio/mpeg';
  /** Milliseconds of audio that went onto the tape, for metrics. */
  audioMs = 0;
  /** How many listeners are on this channel, and how many of them have begun to play (the audience writes both). */
  listeners = 0;
  /** Only while none plays may the tape be replaced. */
  playing = 0;
  readonly #options: ChannelAudioOptions;
  readonly #reservoir = new Reservoir();
  /** The tape while frames (MP3, AAC) come; the other one while packets of Ogg do. Never both. */
  #frames: Tape | undefined;
  #packets: OggTape | undefined;
  #mark: Mark | null = null;
  #markMs = 0;
  /** Of the present tape. */
  #arrivals: Arrivals;
  /** A source has come whose bitrate the tape's metaint was not compared with yet. */
  #sourceChanged = false;

  constructor(options: ChannelAudioOptions) {
    this.#options = options;
    this.key = options.key;
    this.bitrateKbps = options.bitrateKbps ?? 0;
    this.#arrivals = new Arrivals(options.lagMs);
  }

  /** Whether anybody listens; called by the audience when that changes. */
  want(isWanted: boolean): void {
    this.#options.onWanted?.(isWanted);
  }

  /** Whether a listener could be given audio from the tape right now. */
  get hasSegments(): boolean {
    return this.tape !== undefined && this.tape.head > this.tape.tail;
  }

  /** Undefined until there is audio, and again after it was let go. */
  get tape(): AudioTape | undefined {
    return this.#frames ?? this.#packets;
  }

  /** Bytes between two ICY blocks; null: there is no tape, or its titles stand in the stream itself (Ogg) and nowhere else. */
  get metaint(): number | null {
    const tape = this.#options.icyInOgg ? this.tape : this.#frames;
    return tape?.metaint ?? null;
  }

  /**
   * A whole frame from the source on air.
   * @param fresh what came before has nothing to do with it
   * @param link of a packet out of Ogg: what a decoder must have before it
   */
  write(bytes: Buffer, durationMs: number, bitrateKbps: number, fresh = false, link?: OggLink): void {
    this.bitrateKbps = bitrateKbps;
    this.audioMs += durationMs;
    if (this.#sourceChanged && this.playing === 0) this.#suit();
    if (link !== undefined) {
      this.#writePacket(bytes, durationMs, fresh, link);
      return;
    }
    if (fresh) this.#reservoir.cut();
    if (this.#packets !== undefined) this.#turnOver(readsAsAdts(bytes) ? 'audio/aac' : 'audio/mpeg');
    this.#frames ??= new Tape(...this.#blocks(), this.#options.lagMs, this.#mark);
    this.#frames.write(this.#reservoir.mend(bytes), durationMs);
    this.#arrivals.note(this.#options.now(), this.#frames.endMs);
  }

  /**
   * A title takes effect: it lies on the tape from the place on that came in so long ago; not before the title before it.
   * @returns its place, where listeners may have been sent it; null: they get the title with its block
   */
  title(view: RecordView, agoMs = 0): LateTitle | null {
    const { icy, now } = this.#options;
    const before = this.#mark;
    const mark =
      icy === undefined
        ? new Mark(view)
        : new Mark(view, blockFor(view, before?.block ?? null, icy), tagsFor(view, before?.tags ?? null, icy));
    this.#mark = mark;
    const { tape } = this;
    if (tape === undefined) return null;
    // A correction lies where the title lay.
    const isCorrection = before !== null && isSamePlay(before.view.record, view.record);
    const atMs = isCorrection ? this.#markMs : Math.max(this.#markMs, this.#arrivals.endAt(now() - agoMs));
    this.#markMs = atMs;
    tape.put(mark, atMs);
    return atMs < tape.edgeMs ? { before, mark, atMs } : null;
  }

  /** Another source is on air from the next write on; undefined: what it sends is not known yet. */
  sourceChanged(contentType: string | undefined): void {
    this.#sourceChanged = true;
    this.#reservoir.cut();
    if (contentType === undefined || contentType === this.contentType) return;
    this.contentType = contentType;
    // A burst must be what the head says that it is.
    this.tape?.fence();
  }

  /** Nothing feeds the channel and no listener plays: the tape is let go, so that those who come or wait never get old audio. */
  release(): void {
    if (this.playing === 0) this.#letGo();
  }

  #letGo(): void {
    this.#frames = undefined;
    this.#packets = undefined;
    this.#markMs = 0;
    this.#arrivals = new Arrivals(this.#options.lagMs);
  }

  /** What comes is nothing that this tape's listeners can go on with: they are sent away, and another begins. */
  #turnOver(contentType: string): void {
    this.tape?.end();
    this.#letGo();
    this.contentType = contentType;
  }

  #writePacket(packet: Buffer, durationMs: number, fresh: boolean, link: OggLink): void {
    if (this.#packets?.link.facts.codec !== link.facts.codec) {
      this.#turnOver(OGG_TYPE);
      this.#packets = new OggTape(link, ...this.#blocks(), this.#options.lagMs, this.#mark);
    }
    this.#packets!.write(packet, durationMs, fresh, link);
    this.#arrivals.note(this.#options.now(), this.#packets!.endMs);
  }

  /** A tape whose metaint does not suit the new source is let go: at once, or when the last listener has left. */
  #suit(): void {
    this.#sourceChanged = false;
    if (this.tape?.metaint !== this.#metaint()) this.release();
  }

  #metaint(): number {
    return this.#options.metaint ?? metaintFor(this.#bitrateKbps);
  }

  /** Bytes of a block, and how many of them a segment has. */
  #blocks(): [metaint: number, blocks: number] {
    const metaint = this.#metaint();
    return [metaint, blocksFor(metaint, this.#bitrateKbps)];
  }

  get #bitrateKbps(): number {
    return this.#options.bitrateKbps ?? this.bitrateKbps;
  }
}

function readsAsAdts(frame: Buffer): boolean {
  return (frame[1]! & 0xf6) === 0xf0;
}
