/**
 * A file that is played for ever at its own bitrate, as the last resort of a channel. Read in small pieces, never as a whole, and
 * opened anew for every round, so that a replaced file is played from the next round on.
 *
 * Invariant: the audio passed on since the start is at most MOST_AHEAD_MS (and the frames of one slice) ahead of the monotonic
 * clock, and after a hiccup of the process catches up with it: the pace never drifts. Only while the channel's delay line has room, which
 * another source has left, it plays a tenth faster. Owned by the switch.
 */

import { open, stat } from 'node:fs/promises';
import { type AnyFramer, contentTypeOf, framerFor } from '../audio/format.js';
import type { FrameSink } from '../audio/framer.js';
import type { OggLink } from '../audio/ogg-link.js';
import type { Alarm, Clock } from '../base/clock.js';
import type { Source, SourceInput, SourceState } from './source.js';

/** One read: a quarter of a second at 128 kb/s. */
const READ_BYTES = 4096;
/** What is passed on between two looks at the clock: small, since a variable bitrate may make seconds of a few kilobytes. */
const SLICE_BYTES = 512;
const MOST_AHEAD_MS = 400;
/** After a pause it goes on from here, so that it wakes four times a second. */
const LEAST_AHEAD_MS = 150;
/** Further behind than this (a stopped process) the clock starts anew: that audio is of no use any more. */
const MOST_BEHIND_MS = 10_000;
/** A file with this many bytes in one place that are neither frame nor tag is not MP3, AAC or Ogg; reading all of it would cost seconds. */
const MOST_GARBAGE_BYTES = 1024 * 1024;
const RETRY_MS = 5_000;
/** Less room than this is what its own pieces leave. */
const LEAST_ROOM_MS = 500;
/** Of what it plays while there is room, this share takes no time. */
const SURPLUS = 0.1;

export class FileSource implements Source, FrameSink {
  readonly kind = 'file';
  state: SourceState = 'idle';
  readonly #input: SourceInput;
  readonly #clock: Clock;
  readonly #path: string;
  readonly #roomMs: () => number;
  #framer = framerFor(this);
  #abort: AbortController | null = null;
  /** Set while waiting; `#wake` ends the wait before its time. */
  #alarm: Alarm | null = null;
  #wake: () => void = () => undefined;
  /** When, on the clock, the first frame was passed on, and how much audio since. */
  #startMs = 0;
  #audioMs = 0;
  #skippedAtFrame = 0;

  /**
   * @param path absolute, or relative to the process; looked at only after `start`
   * @param roomMs how much audio the channel's delay line lacks, milliseconds
   */
  constructor(input: SourceInput, clock: Clock, path: string, roomMs = () => 0) {
    this.#input = input;
    this.#clock = clock;
    this.#path = path;
    this.#roomMs = roomMs;
  }

  get contentType(): string | undefined {
    return contentTypeOf(this.#framer.codec);
  }

  start(): void {
    if (this.#abort !== null) return;
    this.#abort = new AbortController();
    this.state = 'starting';
    void this.#keepPlaying(this.#abort.signal);
  }

  stop(): void {
    this.#abort?.abort();
    this.#abort = null;
    this.state = 'idle';
    this.#alarm?.cancel();
    this.#wake();
  }

  onFrame(bytes: Buffer, durationMs: number, fresh: boolean, link?: OggLink): void {
    if (this.#abort === null) return; // stopped by the sink in the middle of a slice
    if (this.state !== 'up') {
      this.state = 'up';
      this.#startMs = this.#clock.now();
      this.#audioMs = 0;
    }
    this.#audioMs += durationMs;
    if (this.#roomMs() > LEAST_ROOM_MS) this.#startMs -= durationMs * SURPLUS;
    this.#skippedAtFrame = this.#framer.counters.skippedBytes;
    this.#input.onFrame(bytes, durationMs, this.#framer.bitrateKbps, fresh, link);
  }

  /** Round after round; every failure is a loss, tried again after RETRY_MS. Ends only by `stop`; never rejects. */
  async #keepPlaying(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#framer = framerFor(this);
      this.#skippedAtFrame = 0;
      let reason = '';
      try {
        while (!signal.aborted) await this.#round(signal, this.#framer);
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
      }
      if (signal.aborted) return;
      this.state = 'starting';
      this.#input.onLost(reason);
      if (!signal.aborted) await this.#pause(RETRY_MS);
    }
  }

  /** The file once, from its first frame to its last; throws where it cannot be read or has no frames. */
  async #round(signal: AbortSignal, framer: AnyFramer): Promise<void> {
    // opening a pipe would hang until something is written to it
    if (!(await stat(this.#path)).isFile()) throw new Error(`${this.#path} is not a file`);
    const file = await open(this.#path);
    try {
      const framesBefore = framer.counters.frames;
      // a buffer of its own: a read of the round before may still be under way when `start` follows `stop`
      const piece = Buffer.allocUnsafeSlow(READ_BYTES);
      while (!signal.aborted) {
        const { bytesRead } = await file.read(piece, 0, READ_BYTES);
        if (bytesRead === 0) break;
        await this.#pass(signal, framer, piece.subarray(0, bytesRead));
      }
      if (signal.aborted) return;
      if (framer.counters.frames === framesBefore) throw new Error(`${this.#path} has no MP3, AAC or Ogg audio`);
      framer.reset();
    } finally {
      await file.close();
    }
  }

  /** Passes a piece on, slice by slice, waiting whenever enough audio is ahead. */
  async #pass(signal: AbortSignal, framer: AnyFramer, piece: Buffer): Promise<void> {
    for (let at = 0; at < piece.length && !signal.aborted; at += SLICE_BYTES) {
      framer.push(piece.subarray(at, at + SLICE_BYTES));
      if (framer.counters.skippedBytes - this.#skippedAtFrame > MOST_GARBAGE_BYTES) {
        throw new Error(`${this.#path} is not MP3, AAC or Ogg`);
      }
      if (this.state !== 'up') continue;
      const aheadMs = this.#audioMs - (this.#clock.now() - this.#startMs);
      if (aheadMs >= MOST_AHEAD_MS) await this.#pause(aheadMs - LEAST_AHEAD_MS);
      else if (aheadMs < -MOST_BEHIND_MS) this.#startMs -= aheadMs;
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#alarm = this.#clock.alarm(this.#clock.now() + ms, { onAlarm: () => resolve() });
    });
  }
}
