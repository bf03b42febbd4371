/**
 * The tape of a channel: a tape of frames while it gets MP3 or AAC, of Ogg pages while it gets Ogg. It begins with the first audio. Its metaint is
 * chosen then (metaint-choice.ts), and again only while it has no listeners, since the response head has promised it. A change of codec begins a
 * new tape. ChannelAudio adds the delay line and the listeners.
 */

import { blockFor, type IcyOptions, tagsFor } from '../metadata/icy.js';
import { isSamePlay } from '../metadata/record.js';
import type { RecordView } from '../metadata/view.js';
import { Arrivals } from './frames/arrivals.js';
import { type AudioFormat, canFollow, frameFormat } from './frames/audio-format.js';
import { codecOf, contentTypeOf } from './frames/format.js';
import type { Frame } from './frames/frame.js';
import { Reservoir } from './frames/reservoir.js';
import type { OggLink } from './ogg/ogg-link.js';
import { OggTape, type OpenOgg } from './ogg/ogg-tape.js';
import type { LateTitle, PlayableAudio } from './playable-audio.js';
import type { WritableTape } from './tape/audio-tape.js';
import { Mark } from './tape/mark.js';
import { MetaintChoice, type MetaintOptions } from './tape/metaint-choice.js';
import { type OpenSegment, Tape } from './tape/tape.js';
import { TapeReaders } from './tape/tape-readers.js';

export interface ChannelTapeOptions extends MetaintOptions {
  readonly lagMs: number;
  /** The longest burst: without listeners the tape keeps no more than that. Undefined: it keeps the whole lag. */
  readonly burstMs?: number | undefined;
  /** How titles are written into the stream; undefined: as they are. */
  readonly icy?: IcyOptions | undefined;
  /** Whether listeners may have ICY in Ogg too. */
  readonly icyInOgg?: boolean | undefined;
  /** Called when the audio written to the tape has another format than the audio before it. */
  readonly onFormat?: ((from: AudioFormat, to: AudioFormat) => void) | undefined;
}

export abstract class ChannelTape {
  contentType = 'audio/mpeg';
  audioMs = 0;
  formatChanges = 0;
  /** The format of the latest frame, even if its tape is gone; null: there was none. */
  protected tapeFormat: AudioFormat | null = null;
  /** The latest title; null: none. */
  protected mark: Mark | null = null;
  protected readonly readers = new TapeReaders();
  /** There is no tape, since it has no readers: the source on air rests. Audio that arrives anyway only shows its format. */
  protected isResting = false;
  /** Listeners start only once the tape has this much audio, milliseconds. */
  protected refillMs = 0;
  /** Its audio time on the tape. */
  #markMs = 0;
  /** The title before the latest play, in case a correction turns that play into a jingle that keeps it. */
  #kept: Mark | null = null;
  readonly #options: ChannelTapeOptions;
  readonly #reservoir = new Reservoir();
  readonly #metaintChoice: MetaintChoice;
  /** At most one of the two is set. */
  #frames: Tape | undefined;
  #packets: OggTape | undefined;
  /** Of the present tape. */
  #arrivals: Arrivals;
  /** The next frame is the first of its source. */
  #isFirst = true;

  constructor(options: ChannelTapeOptions) {
    this.#options = options;
    this.#metaintChoice = new MetaintChoice(options);
    this.#arrivals = new Arrivals(options.lagMs);
  }

  get tape(): WritableTape | undefined {
    return this.#frames ?? this.#packets;
  }

  get hasSegments(): boolean {
    const { tape } = this;
    if (tape === undefined) return this.isResting;
    return tape.head > tape.tail && this.refillMs === 0;
  }

  get metaint(): number | null {
    if (this.#isExpected) return this.#metaintChoice.metaint;
    const tape = this.#options.icyInOgg ? this.tape : this.#frames;
    return tape?.metaint ?? null;
  }

  /** There is no tape, but its format is known: its source rests, or has just been woken. */
  get #isExpected(): boolean {
    return this.isResting || (this.tape === undefined && this.refillMs > 0);
  }

  get sampleRate(): number {
    return this.tapeFormat?.sampleRate ?? 0;
  }

  get channels(): number {
    return this.tapeFormat?.channels ?? 0;
  }

  get bitrateKbps(): number {
    return this.#metaintChoice.meanKbps || (this.#options.bitrateKbps ?? 0);
  }

  /** The format that listeners get: a content type, or a codec of Ogg; null: there is no tape. */
  get sends(): string | null {
    return (
      this.#packets?.link.facts.codec ?? (this.#frames === undefined && !this.#isExpected ? null : this.contentType)
    );
  }

  /** Audio time at the tape's end at that moment (arrivals.ts). */
  protected endAt(momentMs: number): number {
    return this.#arrivals.endAt(momentMs);
  }

  arrivedMs(atMs: number): number {
    return this.#arrivals.momentOf(atMs);
  }

  /**
   * Continues a tape that another process has fed until now. Call it first. @param open its open segment, if that is known completely
   * @returns the tape, which is this channel's now
   */
  adopt(from: PlayableAudio, open?: OpenSegment | OpenOgg): WritableTape {
    const tape =
      from.tape!.rendering(false) === null
        ? (this.#frames = Tape.adopt(from.tape!, open as OpenSegment))
        : (this.#packets = OggTape.adopt(from.tape!, open as OpenOgg));
    const { mark, atMs } = tape.lastTitle;
    this.mark = this.#kept = mark;
    this.#markMs = atMs;
    this.contentType = from.contentType;
    const codec = codecOf(this.sends) ?? 'mp3';
    this.tapeFormat = { codec, sampleRate: from.sampleRate, channels: from.channels };
    this.#metaintChoice.adopt(from.bitrateKbps);
    for (let seq = tape.tail; seq < tape.head; seq++) {
      const { endMs } = tape.at(seq)!;
      this.#arrivals.note(from.arrivedMs(endMs), endMs);
    }
    if (open === undefined) this.#reservoir.cut();
    return tape;
  }

  /**
   * @param isFresh it does not continue the frame before it @param arrivedMs when it arrived, monotonic milliseconds
   * @param mayBegin the tape has no listeners: a new one may begin, with a metaint that suits the source
   */
  protected lay(frame: Frame, isFresh: boolean, arrivedMs: number, mayBegin: boolean): void {
    this.audioMs += frame.durationMs;
    this.#metaintChoice.count(frame);
    if (mayBegin && this.metaint !== null && this.#metaintChoice.outgrows(this.metaint)) {
      // This part of a burst has arrived, and will not arrive again.
      this.refillMs -= this.tape?.endMs ?? 0;
      this.drop();
    }
    if (frame.link === undefined) this.#writeFrame(frame, isFresh);
    else this.#writePacket(frame, isFresh, frame.link);
    const { tape } = this;
    if (tape === undefined) return;
    const { endMs } = tape;
    // After a rest only the end of a burst is new; the part before it counts as played.
    this.#arrivals.note(arrivedMs - Math.max(0, this.refillMs - endMs), endMs);
    if (endMs >= this.refillMs) this.refillMs = 0;
    this.readers.onGrown();
  }

  /**
   * A title takes effect, at the earliest where the one before does. @param atMs audio time @param aheadBytes of audio that will be written before it
   * @returns its place, if listeners may have passed it already; null: they get the title with its block
   */
  protected put(view: RecordView, atMs: number, aheadBytes = 0): LateTitle | null {
    const { icy } = this.#options;
    const before = this.mark;
    if (before === null || !isSamePlay(before.view.record, view.record)) this.#kept = before;
    const mark = icy === undefined ? new Mark(view) : this.#render(view, icy);
    this.mark = mark;
    const { tape } = this;
    if (tape === undefined) return null;
    this.#markMs = Math.max(this.#markMs, atMs);
    tape.put(mark, this.#markMs, aheadBytes);
    if (this.#markMs >= tape.edgeMs) return null;
    const late = { before, mark, atMs: this.#markMs };
    this.readers.onLate(late);
    return late;
  }

  #render(view: RecordView, icy: IcyOptions): Mark {
    const [before, kept] = [this.mark, this.#kept];
    const block = blockFor(view, before?.block ?? null, icy, kept?.block ?? null);
    return new Mark(view, block, tagsFor(view, before?.tags ?? null, icy, kept?.tags ?? null));
  }

  /** The next frame comes from another source. */
  protected changeSource(): void {
    this.#metaintChoice.sourceChanged();
    this.isResting = false;
    this.refillMs = 0;
    this.#isFirst = true;
    this.#reservoir.cut();
  }

  /** Drops the tape and notifies its readers. */
  protected drop(): void {
    this.#frames = undefined;
    this.#packets = undefined;
    this.#markMs = 0;
    this.#arrivals = new Arrivals(this.#options.lagMs);
    this.readers.onTape();
  }

  /** The tape keeps its whole lag while it is read, else a burst for the next listener. */
  protected keep(): void {
    this.tape?.keep(this.readers.isNone ? (this.#options.burstMs ?? null) : null);
  }

  /**
   * The next audio has this format, after a start, a gap, or a change of source or link. Another codec begins a new tape. At another rate or channel
   * count, new listeners start behind the change; those that cannot continue are ended before it (listener/cursor/listener.ts).
   */
  #follow(format: AudioFormat): void {
    const before = this.tapeFormat;
    this.tapeFormat = format;
    if (before?.codec === format.codec && canFollow(before, format)) return;
    this.#metaintChoice.sourceChanged();
    if (before?.codec === format.codec) {
      this.tape?.fence();
      this.readers.onFence();
    } else {
      this.tape?.end();
      this.drop();
      this.contentType = contentTypeOf(format.codec);
    }
    if (before === null) return;
    this.formatChanges++;
    this.#options.onFormat?.(before, format);
  }

  #writeFrame({ bytes, durationMs }: Frame, isFresh: boolean): void {
    if (isFresh) this.#reservoir.cut();
    if (isFresh || this.#isFirst || this.#packets !== undefined) {
      this.#isFirst = false;
      this.#follow(frameFormat(bytes));
    }
    if (this.isResting) {
      this.#reservoir.cut();
      return;
    }
    if (this.#frames === undefined) {
      this.#frames = new Tape(this.#metaintChoice.metaint, this.#metaintChoice.blocks, this.#options.lagMs, this.mark);
      this.keep();
    }
    this.#frames.write(this.#reservoir.mend(bytes), durationMs);
  }

  #writePacket({ bytes, durationMs }: Frame, isFresh: boolean, link: OggLink): void {
    if (link !== this.#packets?.link) this.#follow(link.facts);
    if (this.#packets === undefined) {
      this.#packets = new OggTape(
        link,
        this.#metaintChoice.metaint,
        this.#metaintChoice.blocks,
        this.#options.lagMs,
        this.mark,
      );
      this.keep();
    }
    this.#packets.write(bytes, durationMs, isFresh, link);
  }
}
