/**
 * A channel's audio: its tape, and the title in force at the live edge. The one writer of the tape.
 *
 * A tape begins with the first audio; its metaint is chosen then (fixed by the channel, else about a quarter of a second of the configured
 * bitrate, else of the source's; of the slowest second of its audio never more than half a second) and again only while none listens:
 * listeners were promised it.
 * Sources know it as an output, listeners as something to read; it knows neither.
 *
 *   source ─ write ─► (delay line) ─► tape          a channel with a delay has the line; titles whose audio waits in it wait too
 */

import type { Clock } from '../base/clock.js';
import { blockFor, type IcyOptions, tagsFor } from '../metadata/icy.js';
import { isSamePlay } from '../metadata/record.js';
import type { RecordView } from '../metadata/view.js';
import { DelayLine, type DelayLineState, type LineFrame, type LinePlace } from './delay-line.js';
import { Arrivals } from './frames/arrivals.js';
import { type AudioFormat, canFollow, frameFormat } from './frames/audio-format.js';
import { contentTypeOf } from './frames/format.js';
import type { Frame } from './frames/frame.js';
import { HeldFrames } from './frames/held-frames.js';
import { Reservoir } from './frames/reservoir.js';
import type { OggLink } from './ogg/ogg-link.js';
import { OggTape, type OpenOgg } from './ogg/ogg-tape.js';
import type { LateTitle, PlayableAudio, TapeObserver } from './playable-audio.js';
import type { WritableTape } from './tape/audio-tape.js';
import { BlockSpacing } from './tape/block-spacing.js';
import { Mark } from './tape/mark.js';
import { type OpenSegment, Tape } from './tape/tape.js';
import { TapeReaders } from './tape/tape-readers.js';
import { type AwaitedTitle, WaitingTitles } from './tape/waiting-titles.js';

/** A title is put on the tape when its place is so near, or a segment away: the tape must know it before the block next to it is closed. */
const NEAR_MS = 1000;
/** What two clocks with milliseconds make of a duration may be too long by as much. */
const CLOCK_STEP_MS = 1;
const START: LinePlace = { atMs: 0, atByte: 0 };

export interface ChannelAudioOptions {
  readonly key: string;
  readonly lagMs: number;
  /** The most that a listener is given at once: while nobody listens the tape keeps no more than that takes. Undefined: all of the lag. */
  readonly burstMs?: number | undefined;
  /** Monotonic milliseconds. */
  now(): number;
  /** Fixed by the configuration, bytes. */
  readonly metaint?: number | undefined;
  readonly bitrateKbps?: number | undefined;
  /** How titles stand in the stream; undefined: as they are. */
  readonly icy?: IcyOptions | undefined;
  /** Whether listeners may have ICY in Ogg too. */
  readonly icyInOgg?: boolean | undefined;
  /** What is written goes onto the tape so much later; undefined: at once. */
  readonly delay?: { readonly ms: number; readonly clock: Pick<Clock, 'now' | 'alarm'> } | undefined;
  /** Called when what goes onto the tape is of another format than what went onto it before. */
  readonly onFormat?: ((from: AudioFormat, to: AudioFormat) => void) | undefined;
  /** Called when its listeners go from 0 to 1 and back. */
  readonly onWanted?: ((isWanted: boolean) => void) | undefined;
}

/** What a channel with a delay has that is not on its tape. */
export interface DelayedAudio {
  readonly line: DelayLineState;
  /** Places are counted from the first frame in the line. */
  readonly titles: readonly AwaitedTitle[];
}

export class ChannelAudio implements PlayableAudio {
  readonly key: string;
  contentType = 'audio/mpeg';
  audioMs = 0;
  /** How often another format has come. */
  formatChanges = 0;
  listeners = 0;
  playing = 0;
  readonly #options: ChannelAudioOptions;
  readonly #reservoir = new Reservoir();
  /** The tape while frames (MP3, AAC) come; the other one while packets of Ogg do. Never both. */
  #frames: Tape | undefined;
  #packets: OggTape | undefined;
  #mark: Mark | null = null;
  #markMs = 0;
  readonly #waiting = new WaitingTitles();
  readonly #held = new HeldFrames();
  /** Null: the channel has no delay. */
  #line: DelayLine | null;
  /** With the next frame another source comes into the line. */
  #isNextSource = false;
  /** Of the present tape. */
  #arrivals: Arrivals;
  readonly #spacing: BlockSpacing;
  /** The next frame is the first of its source. */
  #isFirst = true;
  /** Of what went onto a tape last, whether that is still there or not; null: nothing has. */
  #format: AudioFormat | null = null;
  /** Of what came in last, where that goes into a delay line; null: nothing has. */
  #coming: AudioFormat | null = null;
  readonly #readers = new TapeReaders();

  constructor(options: ChannelAudioOptions) {
    this.#options = options;
    this.key = options.key;
    this.#spacing = new BlockSpacing(options);
    this.#arrivals = new Arrivals(options.lagMs);
    this.#line = options.delay === undefined ? null : this.#makeLine(options.delay);
  }

  get delayMs(): number {
    return this.#line?.delayMs ?? 0;
  }

  get delayedMs(): number {
    return this.#line?.levelMs ?? 0;
  }

  /** How much more could wait. */
  get roomMs(): number {
    return this.delayMs - this.delayedMs;
  }

  /** Since when no audio waits, monotonic milliseconds; +∞ while some does; -∞ without a delay. */
  get emptySinceMs(): number {
    return this.#line?.emptySinceMs ?? Number.NEGATIVE_INFINITY;
  }

  want(isWanted: boolean): void {
    this.#readers.isWanted = isWanted;
    this.#keep();
    this.#options.onWanted?.(isWanted);
  }

  arrivedMs(atMs: number): number {
    return this.#arrivals.momentOf(atMs);
  }

  observe(observer: TapeObserver): void {
    this.#readers.add(observer);
    this.#keep();
  }

  unobserve(observer: TapeObserver): void {
    this.#readers.remove(observer);
    this.#keep();
  }

  get hasSegments(): boolean {
    return this.tape !== undefined && this.tape.head > this.tape.tail;
  }

  get bitrateKbps(): number {
    return this.#spacing.meanKbps || (this.#options.bitrateKbps ?? 0);
  }

  get sampleRate(): number {
    return this.#format?.sampleRate ?? 0;
  }

  get channels(): number {
    return this.#format?.channels ?? 0;
  }

  /** Of what came in last; null: nothing has. */
  get format(): AudioFormat | null {
    return this.#line === null ? this.#format : (this.#coming ?? this.#format);
  }

  get tape(): WritableTape | undefined {
    return this.#frames ?? this.#packets;
  }

  /** What listeners are sent: a content type, or a codec of Ogg; null: there is no tape. */
  get sends(): string | null {
    return this.#packets?.link.facts.codec ?? (this.#frames === undefined ? null : this.contentType);
  }

  get metaint(): number | null {
    const tape = this.#options.icyInOgg ? this.tape : this.#frames;
    return tape?.metaint ?? null;
  }

  /**
   * Goes on with a tape that another process has fed until now. Before all else.
   * @param open its open segment, where all of that is known
   * @returns it, as its own
   */
  adopt(from: PlayableAudio, open?: OpenSegment | OpenOgg): WritableTape {
    const tape =
      from.tape!.rendering(false) === null
        ? (this.#frames = Tape.adopt(from.tape!, open as OpenSegment))
        : (this.#packets = OggTape.adopt(from.tape!, open as OpenOgg));
    const { mark, atMs } = tape.lastTitle;
    this.#mark = mark;
    this.#markMs = atMs;
    this.contentType = from.contentType;
    const codec = this.#packets?.link.facts.codec ?? (from.contentType === contentTypeOf('aac') ? 'aac' : 'mp3');
    this.#format = { codec, sampleRate: from.sampleRate, channels: from.channels };
    this.#spacing.adopt(from.bitrateKbps);
    for (let seq = tape.tail; seq < tape.head; seq++) {
      const { endMs } = tape.at(seq)!;
      this.#arrivals.note(from.arrivedMs(endMs), endMs);
    }
    if (open === undefined) this.#reservoir.cut();
    return tape;
  }

  /** Gives away what waits: another process goes on with it. Nothing goes onto the tape any more. @returns null: the channel has no delay */
  leaveDelayed(): DelayedAudio | null {
    const line = this.#line;
    if (line === null) return null;
    const { atMs, atByte } = line.out;
    const titles = this.#waiting.all.map(({ view, momentMs, place }) => ({
      view,
      momentMs,
      place: place === null ? null : { atMs: place.atMs - atMs, atByte: place.atByte - atByte },
    }));
    return { line: line.leave(), titles };
  }

  /** Goes on with what waited in another process. Behind `adopt`. */
  adoptDelayed({ line, titles }: DelayedAudio): void {
    this.#line?.adopt(line);
    this.#waiting.adopt(titles);
  }

  /** The next one of the source on air. */
  write(frame: Frame): void {
    const nowMs = this.#options.now();
    const line = this.#line;
    if (!this.#waiting.isEmpty) this.#waiting.onArrival(nowMs, line?.end ?? START);
    if (line === null) this.#lay(frame, nowMs);
    else {
      const { link, fresh } = frame;
      const isNextSource = this.#isNextSource;
      this.#isNextSource = false;
      if (link !== undefined || fresh || isNextSource) this.#coming = link?.facts ?? frameFormat(frame.bytes);
      line.push(frame, isNextSource);
    }
  }

  /**
   * A title takes effect: it lies on the tape from the place on that came in so long ago; not before the title before it.
   * @param agoMs less than 0: it waits for the audio that comes in then
   * @returns its place, where listeners may have been sent it; null: they get the title with its block
   */
  title(view: RecordView, agoMs = 0): LateTitle | null {
    const waiting = this.#waiting;
    const { last } = waiting;
    if (last !== undefined && isSamePlay(last.view.record, view.record)) {
      last.view = view;
      return null;
    }
    const nowMs = this.#options.now();
    // A title in the stream is never found before the audio in front of it.
    const momentMs = nowMs - (agoMs > 0 ? Math.max(0, agoMs - CLOCK_STEP_MS) : agoMs);
    const isCorrection = last === undefined && this.#mark !== null && isSamePlay(this.#mark.view.record, view.record);
    // The process before this one has put it there.
    if (isCorrection && this.#mark?.view.json === view.json) return null;
    if (isCorrection) return this.#put(view, this.#markMs);
    const place = momentMs > nowMs ? null : (this.#line?.placeAt(momentMs) ?? START);
    if (place === START && last === undefined) return this.#put(view, this.#arrivals.endAt(momentMs));
    waiting.add(view, momentMs, place, nowMs);
    return null;
  }

  /**
   * What comes later than this, monotonic milliseconds, is held until it may go onto the tape, or is dropped: another machine may feed the channel by
   * then. What was held goes onto it now, where this is later than now.
   */
  feedUntil(untilMs: number): void {
    const held = this.#held;
    held.fromMs = untilMs;
    if (held.isEmpty || this.#options.now() > untilMs) return;
    for (const frame of held.take()) this.#lay(frame, frame.arrivedMs);
  }

  /** What is held goes onto no tape. */
  dropHeld(): void {
    this.#held.drop();
  }

  /** Another source is on air from the next write on. */
  sourceChanged(): void {
    if (this.#line === null) this.#changeSource();
    else this.#isNextSource = true;
  }

  /** Another process feeds the channel from now on: nothing of its tape, nor of what waits, is needed here. */
  leave(): void {
    this.#held.drop();
    this.#line?.leave();
    this.#coming = null;
    this.#isNextSource = false;
    this.#drop();
    const { delay } = this.#options;
    this.#line = delay === undefined ? null : this.#makeLine(delay);
    this.#waiting.clear();
    this.#mark = null;
  }

  /** Options are others now: while nobody plays another tape begins, else they wait for that. */
  refresh(): void {
    if (this.playing === 0) this.#beginAnew();
  }

  /** Nothing feeds the channel and no listener plays: the tape is let go, so that those who come or wait never get old audio. */
  release(): void {
    if (this.playing > 0) return;
    if (this.delayMs === (this.#options.delay?.ms ?? 0)) {
      this.#drop();
      this.#line?.begin();
    } else this.#beginAnew();
  }

  /** What waits in a line of another length comes no more. */
  #beginAnew(): void {
    this.#drop();
    const { delay } = this.#options;
    if (this.delayMs === (delay?.ms ?? 0)) return;
    this.#line?.leave();
    while (this.#waiting.first?.place != null) {
      this.#put(this.#waiting.first.view, 0);
      this.#waiting.shift();
    }
    this.#isNextSource = false;
    this.#line = delay === undefined ? null : this.#makeLine(delay);
  }

  #makeLine({ ms, clock }: NonNullable<ChannelAudioOptions['delay']>): DelayLine {
    const onFrame = ({ frame, isNextSource }: LineFrame) => {
      if (isNextSource) this.#changeSource();
      this.#lay(frame, frame.arrivedMs);
    };
    return new DelayLine({ delayMs: ms, clock, onFrame });
  }

  /** Onto the tape. @param arrivedMs when it came in, monotonic */
  #lay(frame: Frame, arrivedMs: number): void {
    const held = this.#held;
    // Of a machine that is alone the clock is not asked: 120 ns a frame.
    if (held.fromMs !== Number.POSITIVE_INFINITY && this.#options.now() > held.fromMs) {
      held.push(frame, arrivedMs);
      return;
    }
    const isFresh = frame.fresh || held.hasGap;
    held.hasGap = false;
    this.audioMs += frame.durationMs;
    this.#spacing.count(frame);
    if (!this.#waiting.isEmpty) this.#putWaiting();
    if (this.playing === 0 && this.metaint !== null && this.#spacing.outgrows(this.metaint)) this.#drop();
    if (frame.link === undefined) this.#writeFrame(frame, isFresh);
    else this.#writePacket(frame, isFresh, frame.link);
    this.#arrivals.note(arrivedMs, this.tape!.endMs);
    this.#readers.onGrown();
  }

  /** Titles whose place is at the tape's end, or near behind it. */
  #putWaiting(): void {
    for (;;) {
      const place = this.#waiting.first?.place ?? null;
      if (place === null) return;
      const { atMs, atByte } = this.#line?.out ?? START;
      const [aheadMs, aheadBytes] = [place.atMs - atMs, place.atByte - atByte];
      const { tape } = this;
      const isNear = tape !== undefined && (aheadMs <= NEAR_MS || aheadBytes <= tape.segmentBytes);
      if (aheadBytes > 0 && !isNear) return;
      this.#put(this.#waiting.first!.view, (tape?.endMs ?? 0) + aheadMs, aheadBytes);
      this.#waiting.shift();
    }
  }

  /** @param atMs not before the title before it @param aheadBytes of audio that are written before it */
  #put(view: RecordView, atMs: number, aheadBytes = 0): LateTitle | null {
    const { icy } = this.#options;
    const before = this.#mark;
    const mark =
      icy === undefined
        ? new Mark(view)
        : new Mark(view, blockFor(view, before?.block ?? null, icy), tagsFor(view, before?.tags ?? null, icy));
    this.#mark = mark;
    const { tape } = this;
    if (tape === undefined) return null;
    this.#markMs = Math.max(this.#markMs, atMs);
    tape.put(mark, this.#markMs, aheadBytes);
    if (this.#markMs >= tape.edgeMs) return null;
    const late = { before, mark, atMs: this.#markMs };
    this.#readers.onLate(late);
    return late;
  }

  #changeSource(): void {
    this.#held.drop();
    this.#spacing.sourceChanged();
    this.#isFirst = true;
    this.#reservoir.cut();
  }

  /**
   * What comes is of this format: the first of it behind a start, a gap, or a change of source or link. No player goes on in another codec: the tape
   * ends, and another begins. In another rate or number of channels some do: who joins begins behind it, and who plays and cannot go on
   * ends before it (listener.ts).
   */
  #follow(format: AudioFormat): void {
    const before = this.#format;
    this.#format = format;
    if (before?.codec === format.codec && canFollow(before, format)) return;
    this.#spacing.sourceChanged();
    if (before?.codec === format.codec) {
      this.tape?.fence();
      this.#readers.onFence();
    } else {
      this.tape?.end();
      this.#drop();
      this.contentType = contentTypeOf(format.codec);
    }
    if (before === null) return;
    this.formatChanges++;
    this.#options.onFormat?.(before, format);
  }

  #drop(): void {
    this.#frames = undefined;
    this.#packets = undefined;
    this.#markMs = 0;
    this.#arrivals = new Arrivals(this.#options.lagMs);
    this.#readers.onTape();
  }

  #writeFrame({ bytes, durationMs }: Frame, fresh: boolean): void {
    if (fresh) this.#reservoir.cut();
    if (fresh || this.#isFirst || this.#packets !== undefined) {
      this.#isFirst = false;
      this.#follow(frameFormat(bytes));
    }
    if (this.#frames === undefined) {
      this.#frames = new Tape(this.#spacing.metaint, this.#spacing.blocks, this.#options.lagMs, this.#mark);
      this.#keep();
    }
    this.#frames.write(this.#reservoir.mend(bytes), durationMs);
  }

  /** The tape keeps what its readers need, or who comes next. */
  #keep(): void {
    this.tape?.keep(this.#readers.isNone ? (this.#options.burstMs ?? null) : null);
  }

  #writePacket({ bytes, durationMs }: Frame, fresh: boolean, link: OggLink): void {
    if (link !== this.#packets?.link) this.#follow(link.facts);
    if (this.#packets === undefined) {
      this.#packets = new OggTape(link, this.#spacing.metaint, this.#spacing.blocks, this.#options.lagMs, this.#mark);
      this.#keep();
    }
    this.#packets.write(bytes, durationMs, fresh, link);
  }
}
