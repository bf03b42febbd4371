/**
 * One connection's bytes on their way to frames, and what it may claim and cost: how far it is ahead (its owner books that), how much
 * work it makes (work.ts), and how much of what it sends is audio. Owned by an encoder's connection or an upstream's body.
 *
 *   push ─► framer ─► frame ─► owner: wait?      a wait or a title stops the framer behind this very frame; what is left of the
 *     └─ left over ◄──────── held ◄────┘         piece stays here until `resume`
 *
 * Invariant: whoever is held has handed on one frame more than the owner wanted, however many a page or a slice had.
 */

import { type AnyFramer, type Format, framerFor } from '../audio/format.js';
import type { FrameSink } from '../audio/framer.js';
import type { OggLink } from '../audio/ogg-link.js';
import type { Clock } from '../base/clock.js';
import { SLICE_BYTES } from './pacer.js';
import type { SourceTitle } from './source.js';
import { FRAME_UNITS, LINK_UNITS, START_UNITS, Work } from './work.js';

export interface IntakeOwner {
  /** A whole frame; returns for how many milliseconds to read no further (0: go on). */
  frame(bytes: Buffer, durationMs: number, bitrateKbps: number, fresh: boolean, link?: OggLink): number;
}

/**
 * What is no audio is put up with as long as it is not more than so many times the audio: pictures beside it, a damaged line. Of a link
 * of Ogg also its head counts as if it were none, since it is sent to every listener.
 */
const PAID_SHARE = 8;
const START_BYTES = 1024;

export class Intake implements FrameSink {
  /** Out of an Ogg stream's comments; stands before the next frame. */
  title: SourceTitle | undefined;
  /** Nothing must be pushed until `resume`: for so long, or until the title is committed. */
  isHeld = false;
  waitMs = 0;
  readonly #owner: IntakeOwner;
  readonly #clock: Clock;
  readonly #framelessBytes: number;
  readonly #framer: AnyFramer = framerFor(this);
  readonly #work = new Work();
  readonly #left = Buffer.alloc(SLICE_BYTES);
  #leftBytes = 0;
  /** Bytes of no audio that no audio has made good, and how far the framer's count of them is in it. */
  #unpaidBytes = 0;
  #skippedBytes = 0;
  #links = 0;

  /** @param framelessBytes so many more of no audio than audio makes good are no stream */
  constructor(owner: IntakeOwner, clock: Clock, framelessBytes: number) {
    this.#owner = owner;
    this.#clock = clock;
    this.#framelessBytes = framelessBytes;
  }

  /** Of the latest frame. */
  get codec(): Format | undefined {
    return this.#framer.codec;
  }

  /** As Source has it. */
  get pageMs(): number {
    return this.#framer.pageMs;
  }

  get counters(): { readonly frames: number; readonly skippedBytes: number } {
    return this.#framer.counters;
  }

  /** What comes is not audio, or next to none of it is. */
  get isNoAudio(): boolean {
    return this.#unpaidBytes + this.#framer.counters.skippedBytes - this.#skippedBytes > this.#framelessBytes;
  }

  /** The next bytes: at most SLICE_BYTES, in any number of pieces, between two looks at `isHeld`. */
  push(piece: Buffer): void {
    if (this.isHeld) {
      this.#leftBytes += piece.copy(this.#left, this.#leftBytes);
      return;
    }
    const taken = this.#framer.push(piece);
    if (taken < piece.length) this.#leftBytes = piece.copy(this.#left, 0, taken);
    const links = this.#framer.links - this.#links;
    this.#links += links;
    this.#book(FRAME_UNITS + links * LINK_UNITS);
  }

  /** Goes on with what was left; it may be held again. */
  resume(): void {
    if (!this.isHeld) return;
    this.isHeld = false;
    this.waitMs = 0;
    this.title = undefined;
    const taken = this.#framer.push(this.#left.subarray(0, this.#leftBytes));
    this.#left.copyWithin(0, taken, this.#leftBytes);
    this.#leftBytes -= taken;
  }

  onFrame(bytes: Buffer, durationMs: number, fresh: boolean, link?: OggLink): void {
    const isStart = fresh && link !== undefined;
    this.#pay(bytes.length, isStart);
    const waitMs = this.#owner.frame(bytes, durationMs, this.#framer.bitrateKbps, fresh, link);
    if (waitMs > 0) this.#hold(waitMs);
    this.#book(isStart ? START_UNITS : FRAME_UNITS);
  }

  onTitle(title: SourceTitle): void {
    this.title = title;
    this.#hold(0);
  }

  #hold(waitMs: number): void {
    this.waitMs = Math.max(this.waitMs, waitMs);
    this.isHeld = true;
    this.#framer.hold();
  }

  #book(units: number): void {
    const waitMs = this.#work.book(units, this.#clock.now());
    if (waitMs > 0) this.#hold(waitMs);
  }

  #pay(audioBytes: number, isStart: boolean): void {
    const { skippedBytes } = this.#framer.counters;
    const lostBytes = skippedBytes - this.#skippedBytes + (isStart ? START_BYTES : 0);
    this.#skippedBytes = skippedBytes;
    this.#unpaidBytes = Math.max(0, this.#unpaidBytes + lostBytes - PAID_SHARE * audioBytes);
  }
}
