/**
 * One connection's bytes on their way to frames, paused where that is needed: while the source is ahead of real time (its owner books
 * that), while it has spent its budget of work (work.ts), and behind a title until that is committed, so that the title lies on our tape
 * where it lay in the stream. It also counts how much of what comes is audio. Owned by an encoder's connection or an upstream's body.
 *
 *   owner.takeSlice ─► push ─► framer ─► frame ─► owner.onFrame: wait?
 *                        └─ left over ◄─── paused ◄──────┘   the framer stops behind this very frame; what is left of the slice stays
 *                                                            here, what is left of the chunk with the owner, until the wait is over
 *
 * Invariant: a source that is paused has handed on one frame more than the owner wanted, however many a page or a slice had.
 */

import { type AnyFramer, type Format, type FormatState, framerFor } from '../audio/frames/format.js';
import type { Frame } from '../audio/frames/frame.js';
import type { FrameSink } from '../audio/frames/framer.js';
import type { KnownLinks } from '../audio/ogg/known-links.js';
import type { OggLink } from '../audio/ogg/ogg-link.js';
import type { Alarm, AlarmHandler, Clock } from '../base/clock.js';
import { Beginning, DAMAGED, type Foreign, UNKNOWN } from './magic.js';
import { SLICE_BYTES } from './pacer.js';
import type { SourceTitle } from './source.js';
import { FRAME_UNITS, LINK_UNITS, START_UNITS, TITLE_UNITS, Work } from './work.js';

export interface IntakeOwner {
  /** Returns for how many milliseconds to read no further (0: go on). */
  onFrame(frame: Frame): number;
  /** A title stands before the next frame, which waits until this resolves. Never rejects. */
  onTitle(title: SourceTitle): Promise<void>;
  /** Pushes the next slice of what has come; false: nothing is left of it. */
  takeSlice(): boolean;
  /** The connection must not be read for `waitMs`; null: until a title is committed. It may be called again before `onResumed`. */
  onPaused(waitMs: number | null): void;
  /** It may be read again. */
  onResumed(): void;
  /** What comes is not audio, or hardly any of it is. */
  onNoAudio(): void;
  /** The connection's bytes have ended, and all of them are taken. */
  onFinished(): void;
}

/** Where it stands, as plain data. */
export interface IntakePlace {
  readonly framer: FormatState;
  /** Of a slice that was not taken. */
  readonly left: Buffer;
  readonly noiseBytes: number;
}

export interface IntakeOptions {
  /** For the watchdog: the way by which the work comes, and the channel whose work it is. */
  readonly part: 'encoder' | 'upstream';
  readonly channel: string;
  /** This many bytes that are not audio, beyond those that audio offsets, are not a stream. */
  readonly framelessBytes: number;
  /** As OggFramer has it. */
  readonly links?: KnownLinks;
  /** As FrameSink has it, at the moment. */
  charset?(): string | undefined;
}

/**
 * Bytes that are not audio are accepted up to this many times the audio: pictures beside it, a damaged line. Of a link
 * of Ogg also its head counts as if it were none, since it is sent to every listener.
 */
const OFFSET_SHARE = 8;
const START_BYTES = 1024;

export class Intake implements FrameSink, AlarmHandler {
  /** When the latest hold ended, on the clock: nothing could come before. */
  resumedMs = Number.NEGATIVE_INFINITY;
  readonly #owner: IntakeOwner;
  readonly #clock: Clock;
  readonly #options: IntakeOptions;
  readonly #framer: AnyFramer;
  readonly #work = new Work();
  #isOpen = true;
  /** The connection has ended; not all of it may be taken yet. */
  #isFinished = false;
  #isPaused = false;
  /** Of the present pause: for how long, and the title that must be committed. */
  #waitMs = 0;
  #title: SourceTitle | undefined;
  #alarm: Alarm | null = null;
  /** What a hold left of a slice. */
  readonly #left = Buffer.alloc(SLICE_BYTES);
  #leftBytes = 0;
  /** Bytes of no audio that no audio has made good, and how far the framer's count of them is in it. */
  #noiseBytes = 0;
  #skippedBytes = 0;
  #links = 0;
  /** Until its first frame. */
  #beginning: Beginning | null = new Beginning();
  /** What came beside the first frame. */
  #beside: Foreign | null = null;
  /** It is certainly none of ours. */
  #isForeign = false;

  constructor(owner: IntakeOwner, clock: Clock, options: IntakeOptions) {
    this.#owner = owner;
    this.#clock = clock;
    this.#options = options;
    this.#framer = framerFor(this, options.links);
  }

  /** Null: another one cannot go on with it. */
  get place(): IntakePlace | null {
    const framer = this.#framer.state;
    const left = Buffer.from(this.#left.subarray(0, this.#leftBytes));
    return framer === null ? null : { framer, left, noiseBytes: this.#noiseBytes };
  }

  /** Goes on where another one stood. Before all else. */
  adopt({ framer, left, noiseBytes }: IntakePlace): void {
    this.#framer.adopt(framer);
    this.#noiseBytes = noiseBytes;
    this.#beginning = null;
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

  /** The connection's bytes have ended; not all of them may be taken yet. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  get counters(): { readonly frames: number; readonly skippedBytes: number } {
    return this.#framer.counters;
  }

  /** What comes, where no frame has come, or beside frames. */
  get foreign(): Foreign {
    if (this.counters.frames > 0) return this.#beside ?? DAMAGED;
    return this.#beginning?.whole() ?? UNKNOWN;
  }

  /** As FrameSink has it. */
  get charset(): string | undefined {
    return this.#options.charset?.();
  }

  /** Nothing is taken at present. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Takes slices from the owner as long as it has any and is not paused. */
  drain(): void {
    if (this.#isPaused) return;
    const startMs = this.#clock.watchdog.begin();
    this.#takeSlices();
    this.#worked(startMs);
  }

  /** Called by `takeSlice`: the slice's audio, at most SLICE_BYTES in any number of pieces. */
  push(piece: Buffer): void {
    if (this.#beginning?.push(piece)) this.#isForeign = true;
    if (this.#isPaused) {
      this.#leftBytes += piece.copy(this.#left, this.#leftBytes);
      return;
    }
    const taken = this.#framer.push(piece);
    if (taken < piece.length) this.#leftBytes = piece.copy(this.#left, 0, taken);
    const links = this.#framer.links - this.#links;
    this.#links += links;
    this.#book(FRAME_UNITS + links * LINK_UNITS);
  }

  /** Nothing more will come. */
  finish(): void {
    this.#isFinished = true;
    if (!this.#isPaused && this.#isOpen) this.#owner.onFinished();
  }

  /** Hands on nothing more. Idempotent. */
  close(): void {
    this.#isOpen = false;
    this.#alarm?.cancel();
  }

  /** As FrameSink has it. */
  onFrame(frame: Frame): void {
    // Closed by the owner in the middle of a slice.
    if (!this.#isOpen) return;
    if (this.#beginning !== null) {
      this.#beside = this.#beginning.beside();
      this.#beginning = null;
    }
    const isStart = frame.fresh && frame.link !== undefined;
    this.#offsetNoise(frame.bytes.length, isStart);
    const waitMs = this.#owner.onFrame(frame);
    if (waitMs > 0) this.#pause(waitMs);
    this.#book(isStart ? START_UNITS : FRAME_UNITS);
  }

  /** As FrameSink has it. */
  onTitle(title: SourceTitle): void {
    this.pauseFor(title);
    this.#book(TITLE_UNITS);
  }

  /** Called by `takeSlice` for a title out of an ICY block, which is then all that the slice holds: what follows waits for it. */
  pauseFor(title: SourceTitle): void {
    this.#title = title;
    this.#pause(0);
  }

  /** The wait is over. */
  onAlarm(): void {
    if (!this.#isOpen) return;
    const startMs = this.#clock.watchdog.begin();
    this.#resume();
    this.#takeSlices();
    this.#worked(startMs);
    if (this.#isOpen && !this.#isPaused) this.#owner.onResumed();
  }

  #takeSlices(): void {
    while (this.#isOpen) {
      if (this.#isNoAudio || (this.#isForeign && this.#beginning !== null)) {
        this.#owner.onNoAudio();
        return;
      }
      if (this.#isPaused) {
        this.#wait();
        return;
      }
      if (!this.#owner.takeSlice()) {
        if (this.#isFinished && this.#isOpen) this.#owner.onFinished();
        return;
      }
    }
  }

  get #isNoAudio(): boolean {
    const uncountedBytes = this.#framer.counters.skippedBytes - this.#skippedBytes;
    return this.#noiseBytes + uncountedBytes > this.#options.framelessBytes;
  }

  #pause(waitMs: number): void {
    this.#waitMs = Math.max(this.#waitMs, waitMs);
    this.#isPaused = true;
    this.#framer.pause();
  }

  #wait(): void {
    const title = this.#title;
    const waitMs = this.#waitMs;
    this.#owner.onPaused(title === undefined ? waitMs : null);
    if (title === undefined) this.#sleep(waitMs);
    else void this.#owner.onTitle(title).then(() => (waitMs > 0 ? this.#sleep(waitMs) : this.onAlarm()));
  }

  #sleep(ms: number): void {
    if (this.#isOpen) this.#alarm = this.#clock.alarm(this.#clock.now() + ms, this);
  }

  /** Goes on with what was left of the slice; it may be paused again. */
  #resume(): void {
    this.resumedMs = this.#clock.now();
    this.#isPaused = false;
    this.#waitMs = 0;
    this.#title = undefined;
    const taken = this.#framer.push(this.#left.subarray(0, this.#leftBytes));
    this.#left.copyWithin(0, taken, this.#leftBytes);
    this.#leftBytes -= taken;
  }

  #worked(startMs: number): void {
    const { watchdog } = this.#clock;
    const { part, channel } = this.#options;
    if (watchdog.end(part, startMs)) watchdog.blame(channel);
  }

  #book(units: number): void {
    const waitMs = this.#work.book(units, this.#clock.now());
    if (waitMs > 0) this.#pause(waitMs);
  }

  #offsetNoise(audioBytes: number, isStart: boolean): void {
    const { skippedBytes } = this.#framer.counters;
    const lostBytes = skippedBytes - this.#skippedBytes + (isStart ? START_BYTES : 0);
    this.#skippedBytes = skippedBytes;
    this.#noiseBytes = Math.max(0, this.#noiseBytes + lostBytes - OFFSET_SHARE * audioBytes);
  }
}
