/**
 * One connection's bytes on their way to frames, with pauses: while the source is ahead of real time, while it has spent its budget of work
 * (work.ts), and after a title until that is committed, so that the title has the same place on our tape as in the stream. Owned by an encoder's
 * connection or an upstream's body.
 *
 *   take ─► chunk ── slice ──► body ── audio ──► framer ── frame ──► sink: wait?
 *             └─ left ◄────────── left ◄──────── paused ◄────────────┘    the framer stops after this frame; the rest of the chunk and of the
 *                                                                        slice stays here until the pause is over
 *
 * Invariant: when a source is paused, it has passed on one frame at most that was not wanted, however many a page or a slice had.
 */

import { type AnyFramer, type Format, type FormatState, framerFor } from '../audio/frames/format.js';
import type { Frame } from '../audio/frames/frame.js';
import type { FrameSink } from '../audio/frames/framer.js';
import type { KnownLinks } from '../audio/ogg/known-links.js';
import type { OggLink } from '../audio/ogg/ogg-link.js';
import type { Alarm, AlarmHandler, Clock } from '../base/clock.js';
import { AudioShare } from './audio-share.js';
import type { BodyState, PieceSink, StreamBody } from './body.js';
import { type Pacer, SLICE_BYTES } from './pacer.js';
import type { SourceInput, SourceTitle } from './source.js';
import type { SourceRules } from './source-facts.js';
import { FRAME_UNITS, ICY_TITLE_UNITS, LINK_UNITS, START_UNITS, TITLE_UNITS, Work } from './work.js';

/** The sender that feeds the channel. */
export type IntakeSink = Pick<SourceInput, 'onFrame' | 'onTitle'>;

export interface IntakeOwner {
  /** The first frame is about to be passed on. */
  onFirstFrame?(): void;
  /** The connection must not be read for `waitMs`; null: until a title is committed. It may be called again before `onResumed`. */
  onPaused(waitMs: number | null): void;
  /** It may be read again. */
  onResumed(): void;
  /** The bytes are not audio, or hardly any of them are. */
  onNoAudio(): void;
  /** The connection's bytes have ended (`more`), or their body is complete or malformed; all of them have been processed. */
  onFinished(body: BodyState): void;
}

/** Its position, as plain data. */
export interface IntakePosition {
  readonly framer: FormatState;
  /** Audio of the latest slice that was not processed. */
  readonly left: Buffer;
  readonly noiseBytes: number;
}

export interface IntakeOptions {
  /** The kind of source, for the watchdog. */
  readonly part: 'encoder' | 'upstream';
  readonly body: StreamBody;
  readonly rules: SourceRules;
  /** Absent: the sink has its own. */
  readonly pacer?: Pacer;
  /** See OggFramer. */
  readonly links?: KnownLinks;
}

const NOTHING: Buffer = Buffer.alloc(0);

export class Intake implements FrameSink, PieceSink, AlarmHandler {
  readonly share: AudioShare;
  readonly #owner: IntakeOwner;
  readonly #sink: IntakeSink;
  readonly #clock: Clock;
  readonly #options: IntakeOptions;
  readonly #framer: AnyFramer;
  readonly #work = new Work();
  #isOpen = true;
  /** The connection has ended; some of its bytes may still be unprocessed. */
  #isFinished = false;
  /** When the present pause began, on the clock; null: there is none. */
  #pausedMs: number | null = null;
  /** When its latest frame arrived, or when it began; later by each pause since. */
  #audioMs: number;
  /** The present pause: how long it lasts, and the title that must be committed. */
  #waitMs = 0;
  #title: SourceTitle | undefined;
  #alarm: Alarm | null = null;
  /** The latest chunk, and how much of it was processed. */
  #chunk = NOTHING;
  #chunkAt = 0;
  /** Audio of the latest slice that is left over from a pause. */
  readonly #left = Buffer.alloc(SLICE_BYTES);
  #leftBytes = 0;

  constructor(owner: IntakeOwner, sink: IntakeSink, clock: Clock, options: IntakeOptions) {
    this.#owner = owner;
    this.#sink = sink;
    this.#clock = clock;
    this.#options = options;
    this.#audioMs = clock.now();
    this.#framer = framerFor(this, options.links);
    this.share = new AudioShare(this.#framer);
  }

  /** Null: the format is not known yet, so that no other intake can resume. */
  get position(): IntakePosition | null {
    const framer = this.#framer.state;
    const left = Buffer.from(this.#left.subarray(0, this.#leftBytes));
    return framer === null ? null : { framer, left, noiseBytes: this.share.noiseBytes };
  }

  /** The bytes of the latest chunk that a pause has left, and that `place` does not include. */
  get rest(): Buffer {
    return this.#chunk.subarray(this.#chunkAt);
  }

  /** Resumes where another intake stopped. Called first. */
  adopt({ framer, left, noiseBytes }: IntakePosition): void {
    this.#framer.adopt(framer);
    this.share.adopt(noiseBytes);
    this.#leftBytes = left.copy(this.#left);
    if (left.length === 0) return;
    this.#pause(0);
    this.#wait();
  }

  /** Of the latest frame. */
  get codec(): Format | undefined {
    return this.#framer.codec;
  }

  /** As Source has it. */
  get pageMs(): number {
    return this.#framer.pageMs;
  }

  /** Of the latest packet, where it is Ogg. */
  get link(): OggLink | undefined {
    return this.#framer.link;
  }

  /** The connection's bytes have ended; some may still be unprocessed. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  get counters(): { readonly frames: number; readonly skippedBytes: number } {
    return this.#framer.counters;
  }

  /** As FrameSink has it. */
  get charset(): string | undefined {
    return this.#options.rules.charset;
  }

  /** Since when a frame has been missing, on the clock. Pauses are left out; titles, which arrive without audio, do not end it. */
  get missingSinceMs(): number {
    return this.#audioMs + (this.#pausedMs === null ? 0 : this.#clock.now() - this.#pausedMs);
  }

  /** Whether nothing is processed at present. */
  get isPaused(): boolean {
    return this.#pausedMs !== null;
  }

  /** The next bytes of the connection: kept as they are until all are processed. Not called while it is paused. */
  take(chunk: Buffer): void {
    this.#chunk = chunk;
    this.#chunkAt = 0;
    const startMs = this.#clock.watchdog.begin();
    this.#takeSlices();
    this.#worked(startMs);
  }

  /** No more bytes will come. */
  finish(): void {
    this.#isFinished = true;
    if (!this.isPaused && this.#isOpen) this.#owner.onFinished('more');
  }

  /** No frame is passed on after this. Idempotent. */
  close(): void {
    this.#isOpen = false;
    this.#chunk = NOTHING;
    this.#alarm?.cancel();
  }

  /** See PieceSink. A piece is part of one slice, so it has at most SLICE_BYTES. */
  onAudio(piece: Buffer): void {
    this.share.onBytes(piece);
    if (this.isPaused) {
      this.#leftBytes += piece.copy(this.#left, this.#leftBytes);
      return;
    }
    const taken = this.#push(piece);
    if (taken < piece.length) this.#leftBytes = piece.copy(this.#left, 0, taken);
    this.#book(FRAME_UNITS);
  }

  /** As FrameSink has it. */
  onFrame(frame: Frame): void {
    // Closed by the owner in the middle of a slice.
    if (!this.#isOpen) return;
    if (this.counters.frames === 1) this.#owner.onFirstFrame?.();
    const isStart = frame.fresh && frame.link !== undefined;
    this.share.onFrame(frame, isStart);
    this.#audioMs = this.#clock.now();
    const waitMs = this.#options.pacer?.book(frame.durationMs, this.#audioMs) ?? 0;
    const sinkMs = this.#sink.onFrame(frame);
    if (waitMs > 0 || sinkMs > 0) this.#pause(Math.max(waitMs, sinkMs));
    this.#book(isStart ? START_UNITS : FRAME_UNITS);
  }

  /** See FrameSink and PieceSink: what follows waits until it is committed. */
  onTitle(title: SourceTitle): void {
    this.#title = title;
    this.#pause(0);
    this.#book(typeof title === 'string' ? ICY_TITLE_UNITS : TITLE_UNITS);
  }

  /** The pause is over. */
  onAlarm(): void {
    if (!this.#isOpen) return;
    const startMs = this.#clock.watchdog.begin();
    this.#resume();
    this.#takeSlices();
    this.#worked(startMs);
    if (this.#isOpen && !this.isPaused) this.#owner.onResumed();
  }

  #takeSlices(): void {
    const { body, rules } = this.#options;
    while (this.#isOpen) {
      if (this.share.isTooLow(rules.framelessBytes)) {
        this.#owner.onNoAudio();
        return;
      }
      if (this.isPaused) {
        this.#wait();
        return;
      }
      if (body.state !== 'more') {
        this.#owner.onFinished(body.state);
        return;
      }
      if (this.#chunkAt === this.#chunk.length) {
        this.#chunk = NOTHING;
        this.#chunkAt = 0;
        if (this.#isFinished) this.#owner.onFinished('more');
        return;
      }
      const end = Math.min(this.#chunkAt + SLICE_BYTES, this.#chunk.length);
      this.#chunkAt += body.push(this.#chunk.subarray(this.#chunkAt, end), this);
    }
  }

  /** Returns how many bytes were processed: all, unless it is paused. */
  #push(audio: Buffer): number {
    const { links } = this.#framer;
    const taken = this.#framer.push(audio);
    if (this.#framer.links !== links) this.#book((this.#framer.links - links) * LINK_UNITS);
    return taken;
  }

  #pause(waitMs: number): void {
    this.#waitMs = Math.max(this.#waitMs, waitMs);
    this.#pausedMs ??= this.#clock.now();
    this.#framer.pause();
  }

  #wait(): void {
    const [title, waitMs] = [this.#title, this.#waitMs];
    this.#owner.onPaused(title === undefined ? waitMs : null);
    if (title === undefined) this.#sleep(waitMs);
    else void this.#sink.onTitle(title).then(() => (waitMs > 0 ? this.#sleep(waitMs) : this.onAlarm()));
  }

  #sleep(ms: number): void {
    if (this.#isOpen) this.#alarm = this.#clock.alarm(this.#clock.now() + ms, this);
  }

  /** Processes the rest of the slice, which may pause it again. */
  #resume(): void {
    this.#audioMs = this.missingSinceMs;
    this.#pausedMs = null;
    this.#waitMs = 0;
    this.#title = undefined;
    const taken = this.#push(this.#left.subarray(0, this.#leftBytes));
    this.#left.copyWithin(0, taken, this.#leftBytes);
    this.#leftBytes -= taken;
  }

  #worked(startMs: number): void {
    const { watchdog } = this.#clock;
    const { part, rules } = this.#options;
    if (watchdog.end(part, startMs)) watchdog.blame(rules.channel);
  }

  #book(units: number): void {
    const waitMs = this.#work.book(units, this.#clock.now());
    if (waitMs > 0) this.#pause(waitMs);
  }
}
