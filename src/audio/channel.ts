/**
 * A channel's audio: its tape, and the title in force at the live edge. The one writer of the tape.
 *
 * A tape begins with the first audio; its metaint is chosen then (fixed by the channel, else about one second of the configured
 * bitrate, else of the first frames) and again only while nobody listens: listeners were promised it (contract, "Streams").
 * Sources know it as an output, listeners as something to read; it knows neither.
 */

import { blockFor, type IcyOptions } from '../metadata/icy.js';
import type { RecordView } from '../metadata/view.js';
import { Mark } from './mark.js';
import { Reservoir } from './reservoir.js';
import { Tape } from './tape.js';

/** Where no bitrate is known: Icecast's interval (protocol.md, "ICY metadata"). */
const DEFAULT_METAINT = 16_000;
const MIN_METAINT = 1_000;
const MAX_METAINT = 65_535;

export interface ChannelOptions {
  readonly key: string;
  readonly lagMs: number;
  /** Fixed by the configuration, bytes. */
  readonly metaint?: number | undefined;
  readonly bitrateKbps?: number | undefined;
  /** How titles stand in the stream; undefined: as they are. */
  readonly icy?: IcyOptions | undefined;
}

/** About one second of audio at this bitrate, bytes. */
export function metaintFor(bitrateKbps: number): number {
  const bytes = Math.round((bitrateKbps * 1000) / 8);
  return bytes > 0 ? Math.min(MAX_METAINT, Math.max(MIN_METAINT, bytes)) : DEFAULT_METAINT;
}

export class Channel {
  readonly key: string;
  /** Undefined until there is audio, and again after it was let go. */
  tape: Tape | undefined;
  /** Of the source now heard. */
  bitrateKbps: number;
  contentType = 'audio/mpeg';
  /** Milliseconds of audio that went onto the tape, for metrics. */
  audioMs = 0;
  /** How many listeners are on this channel, and how many of them have begun to play (the audience writes both). */
  listeners = 0;
  /** Only while nobody plays may the tape be replaced. */
  playing = 0;
  readonly #options: ChannelOptions;
  readonly #reservoir = new Reservoir();
  #mark: Mark | null = null;
  /** A source has come whose bitrate the tape's metaint was not held against yet. */
  #sourceChanged = false;

  constructor(options: ChannelOptions) {
    this.#options = options;
    this.key = options.key;
    this.bitrateKbps = options.bitrateKbps ?? 0;
  }

  /** Whether a listener could be given audio from the tape right now. */
  get hasSegments(): boolean {
    return this.tape !== undefined && this.tape.head > this.tape.tail;
  }

  /** A whole frame from the source that is heard. @param fresh what came before has nothing to do with it */
  write(bytes: Buffer, durationMs: number, bitrateKbps: number, fresh = false): void {
    if (fresh) this.#reservoir.cut();
    this.bitrateKbps = bitrateKbps;
    this.audioMs += durationMs;
    if (this.#sourceChanged && this.playing === 0) this.#suit();
    this.tape ??= this.#begin();
    this.tape.write(this.#reservoir.mend(bytes), durationMs);
  }

  /** A title takes effect: it lies on the tape from here on. */
  title(view: RecordView): void {
    const { icy } = this.#options;
    this.#mark = icy === undefined ? new Mark(view) : new Mark(view, blockFor(view, this.#mark?.block ?? null, icy));
    this.tape?.put(this.#mark);
  }

  /** Another source is heard from the next write on; undefined: what it sends is not known yet. */
  sourceChanged(contentType: string | undefined): void {
    this.#sourceChanged = true;
    this.#reservoir.cut();
    if (contentType === undefined || contentType === this.contentType) return;
    this.contentType = contentType;
    // A burst must be what the head says that it is.
    this.tape?.fence();
  }

  /** Nothing feeds the channel and nobody plays: the tape is let go, so that whoever comes or waits is never given old audio. */
  release(): void {
    if (this.playing === 0) this.tape = undefined;
  }

  /** A tape whose metaint does not suit the new source is let go: at once, or when the last listener has left. */
  #suit(): void {
    this.#sourceChanged = false;
    if (this.tape?.metaint !== this.#metaint()) this.release();
  }

  #begin(): Tape {
    return new Tape(this.#metaint(), this.#options.lagMs, this.#mark);
  }

  #metaint(): number {
    return this.#options.metaint ?? metaintFor(this.#options.bitrateKbps ?? this.bitrateKbps);
  }
}
