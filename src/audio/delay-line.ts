/**
 * The delay of a channel: audio waits here before it goes onto the tape, in order, with the moment at which each frame arrived.
 *
 *   arrives ──►│ frame │ frame │ … │ frame │──► tape          level: playing time of the waiting frames, at most the delay
 *           end ▲                      out ▲
 *
 * A frame leaves when the line holds more than the delay, so at the pace of the source. While none arrives, frames leave in real time, so that the
 * loss of a source for less than the delay goes unnoticed. That pace is a little slow: a source whose clock is slower than ours does not empty the
 * line, and a line that a gap has shortened grows again. The first frame waits for the whole delay, so the line fills before anything is heard.
 * Invariants: nothing is lost or reordered; level ≤ delay. Owned by ChannelAudio.
 */

import type { Alarm, AlarmHandler, Clock } from '../base/clock.js';
import { firstIndex } from './frames/arrivals.js';
import { type Frame, type KeptFrame, keepFrame } from './frames/frame.js';

/** How often frames leave while none arrives. */
const CHECK_MS = 100;
/** A thousandth slower than real time. */
const PACE = 1.001;
/** Limits per second of delay, above those of any stream heard over a network. Frames past them leave early. */
const MAX_BYTES_PER_SECOND = 512 * 1024;
const MAX_FRAMES_PER_SECOND = 1000;
const FIRST_SLOTS = 256;

/** A place between two frames, counted from the line's first frame. */
export interface LinePosition {
  readonly atMs: number;
  readonly atByte: number;
}

export interface LineFrame {
  readonly frame: KeptFrame;
  /** The first frame of another source. */
  readonly isNextSource: boolean;
}

interface FrameInLine extends LineFrame, LinePosition {}

/** The waiting frames, in order, and when the next one may leave. */
export interface DelayLineState {
  readonly frames: readonly LineFrame[];
  /** When the audio that has left will have been played, monotonic milliseconds. */
  readonly playedMs: number;
}

export interface DelayOptions {
  readonly delayMs: number;
  readonly clock: Pick<Clock, 'now' | 'alarm'>;
  /** A frame leaves; `out` is the place before it. */
  onFrame(frame: LineFrame): void;
}

export class DelayLine implements AlarmHandler {
  readonly #options: DelayOptions;
  #frames: (FrameInLine | undefined)[] = new Array(FIRST_SLOTS).fill(undefined);
  /** Numbers of the first frame and of the next one. */
  #first = 0;
  #next = 0;
  /** The places behind the last frame and before the first. */
  #end: LinePosition = { atMs: 0, atByte: 0 };
  #out: LinePosition = { atMs: 0, atByte: 0 };
  /** As in DelayLineState; NaN: no frame has arrived yet. */
  #playedMs = Number.NaN;
  /** When it ran empty, monotonic milliseconds; +∞ while it has frames. */
  emptySinceMs: number;
  #alarm: Alarm | null = null;

  constructor(options: DelayOptions) {
    this.#options = options;
    this.emptySinceMs = options.clock.now();
  }

  get delayMs(): number {
    return this.#options.delayMs;
  }

  get end(): LinePosition {
    return this.#end;
  }

  get out(): LinePosition {
    return this.#out;
  }

  /** Milliseconds of audio in it. */
  get levelMs(): number {
    return this.#end.atMs - this.#out.atMs;
  }

  /** Hands over all frames. Nothing leaves any more. */
  leave(): DelayLineState {
    const mask = this.#frames.length - 1;
    const frames: LineFrame[] = [];
    for (let i = this.#first; i < this.#next; i++) frames.push(this.#frames[i & mask]!);
    this.#first = this.#next;
    this.#alarm?.cancel();
    return { frames, playedMs: this.#playedMs };
  }

  /** Adopts the frames of another line. Call it first. */
  adopt({ frames, playedMs }: DelayLineState): void {
    for (const { frame, isNextSource } of frames) this.#add(frame, isNextSource);
    this.#playedMs = playedMs;
    this.#watch(this.#options.clock.now());
  }

  push(frame: Frame, isNextSource: boolean): void {
    const { clock, delayMs } = this.#options;
    const nowMs = clock.now();
    if (Number.isNaN(this.#playedMs)) this.#playedMs = nowMs + delayMs;
    else if (this.#next === this.#first) this.#playedMs = Math.max(this.#playedMs, nowMs);
    this.#add(keepFrame(frame, nowMs), isNextSource);
    this.#release(nowMs);
    this.#watch(nowMs);
  }

  /** Audio leaves in real time while none arrives. */
  onAlarm(nowMs: number): void {
    this.#alarm = null;
    this.#release(nowMs);
    this.#watch(nowMs);
  }

  /** The place behind the last frame that had arrived by that moment; null: it has left the line. */
  positionAt(momentMs: number): LinePosition | null {
    const mask = this.#frames.length - 1;
    const isLater = (i: number) => this.#frames[i & mask]!.frame.arrivedMs > momentMs;
    const later = firstIndex(this.#first, this.#next, isLater);
    if (later === this.#first) return null;
    if (later === this.#next) return this.#end;
    const { atMs, atByte } = this.#frames[later & mask]!;
    return { atMs, atByte };
  }

  /** The next frame into an empty line waits for the whole delay again. */
  begin(): void {
    if (this.#next === this.#first) this.#playedMs = Number.NaN;
  }

  #add(frame: KeptFrame, isNextSource: boolean): void {
    if (this.#next - this.#first === this.#frames.length) this.#grow();
    const { atMs, atByte } = this.#end;
    this.#frames[this.#next++ & (this.#frames.length - 1)] = { frame, isNextSource, atMs, atByte };
    this.#end = { atMs: atMs + frame.durationMs, atByte: atByte + frame.bytes.length };
    this.emptySinceMs = Number.POSITIVE_INFINITY;
  }

  #watch(nowMs: number): void {
    if (this.#next > this.#first) this.#alarm ??= this.#options.clock.alarm(nowMs + CHECK_MS, this);
  }

  #release(nowMs: number): void {
    const { delayMs, onFrame } = this.#options;
    const most = delayMs / 1000;
    while (this.#first < this.#next) {
      const slot = this.#first & (this.#frames.length - 1);
      const leaving = this.#frames[slot]!;
      const isFull =
        this.levelMs > delayMs ||
        this.#end.atByte - this.#out.atByte > most * MAX_BYTES_PER_SECOND ||
        this.#next - this.#first > most * MAX_FRAMES_PER_SECOND;
      if (!isFull && nowMs < this.#playedMs) return;
      onFrame(leaving);
      this.#frames[slot] = undefined;
      this.#first++;
      this.#out = this.#first === this.#next ? this.#end : this.#frames[this.#first & (this.#frames.length - 1)]!;
      this.#playedMs = (isFull ? nowMs : this.#playedMs) + leaving.frame.durationMs * PACE;
    }
    this.emptySinceMs = nowMs;
  }

  #grow(): void {
    const mask = this.#frames.length - 1;
    const bigger: (FrameInLine | undefined)[] = new Array(2 * (mask + 1)).fill(undefined);
    for (let i = this.#first; i < this.#next; i++) bigger[i & (bigger.length - 1)] = this.#frames[i & mask];
    this.#frames = bigger;
  }
}
