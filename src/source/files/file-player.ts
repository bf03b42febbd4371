/**
 * Plays a file again and again at its own bitrate. It is read in small pieces, never as a whole, and opened anew for every round, so that a
 * replaced file is played from the next round on.
 *
 *   stat ─► open ─► read ─► frames … pause … frames ─► read … ─► close ─► stat        `end` may come at any of them
 *
 * Invariants: the audio passed on since the start, except to fill the gap before it, is at most MAX_AHEAD_MS (and a frame) ahead of the monotonic
 * clock, and catches up with it after a delay of the process: the pace never drifts. It plays a tenth faster only while the channel's delay line
 * has room that another source has left. At rest its time stands still. After `end` nothing is passed on, whatever was under way, and nothing is
 * shared with the next player. A title of the file is sent between two frames, at its place, and committed before the next frame is passed on.
 * Owned by a file source (file.ts), which creates one for each start.
 */

import type { Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { contentTypeOf, framerFor } from '../../audio/frames/format.js';
import type { Frame } from '../../audio/frames/frame.js';
import type { FramerState, FrameSink } from '../../audio/frames/framer.js';
import type { OggFramerState } from '../../audio/ogg/ogg-state.js';
import { KNOWN_AFTER_MS } from '../../audio/tape/metaint-choice.js';
import type { Alarm, AlarmHandler, Clock } from '../../base/clock.js';
import type { SourceInput } from '../source.js';
import { type FileTitle, FileTitles, type TitlesPosition } from './file-titles.js';

/** Size of a read: a second at 128 kb/s. A read, however short, costs about as much as all other work for a second of audio. */
const READ_BYTES = 16_384;
const MAX_AHEAD_MS = 400;
/** A pause ends at this distance, so that it wakes four times a second. */
const MIN_AHEAD_MS = 150;
/** Passed on at once before it stands still at rest: by then the channel knows its bitrate. */
const KNOWN_MS = MIN_AHEAD_MS + KNOWN_AFTER_MS;
/** Further behind than this (a suspended process), the clock starts anew: that audio is of no use any more. */
const MAX_BEHIND_MS = 10_000;
/** A file with this many bytes in one place that are neither frame nor tag is not MP3, AAC or Ogg; reading all of it would cost seconds. */
export const MAX_GARBAGE_BYTES = 1024 * 1024;
const RETRY_MS = 5_000;
/** Less room than this is left by its own pieces. */
const MIN_ROOM_MS = 500;
/** While there is room, this share of what it plays takes no time. */
const SURPLUS = 0.1;

/** The position of a player in its file, as plain data. */
export interface FilePosition {
  /** Identifies the file: another one is played from its beginning. */
  readonly id: string;
  /** The framer has taken all bytes before it. */
  readonly atByte: number;
  readonly framer: FramerState | OggFramerState;
  /** How far the audio passed on was ahead of the clock, and when, wall clock milliseconds. */
  readonly aheadMs: number;
  readonly wallMs: number;
  /** Of this round. Absent: an older version has not counted. */
  readonly round?: TitlesPosition;
}

const idOf = ({ dev, ino, size, mtimeMs }: Stats) => `${dev} ${ino} ${size} ${mtimeMs}`;

export class FilePlayer implements FrameSink, AlarmHandler {
  /** Whether audio flows: frames have come since the start or the last loss. */
  isUp = false;
  /** It waits until `wake`, or is about to. */
  isResting = false;
  readonly #input: SourceInput;
  readonly #clock: Clock;
  readonly #path: string;
  readonly #roomMs: () => number;
  readonly #titles: FileTitles;
  /** Null: at rest, and before it begins. */
  #piece: Buffer | null = null;
  #framer = framerFor(this);
  #hasEnded = false;
  /** Set while waiting; `#wake` ends the wait. */
  #alarm: Alarm | null = null;
  #wake: () => void = () => undefined;
  /** When, on the clock, the first frame was passed on, and how much audio since. */
  #startMs = 0;
  #audioMs = 0;
  #aheadAtStartMs = 0;
  /** MAX_BEHIND_MS, and the audio that is due at once. */
  #maxBehindMs = MAX_BEHIND_MS;
  #skippedAtFrame = 0;
  /** The open file, and how much of it the framer has taken. */
  #id = '';
  #atByte = 0;
  /** Enough audio is ahead, or a title is due: the framer passes on no more of what it was given. */
  #isPaused = false;

  /**
   * @param path absolute, or relative to the process; looked at only by `play`
   * @param roomMs how much audio the channel's delay line lacks, milliseconds @param titles in the order of their places
   */
  constructor(input: SourceInput, clock: Clock, path: string, roomMs: () => number, titles: readonly FileTitle[]) {
    this.#input = input;
    this.#clock = clock;
    this.#path = path;
    this.#roomMs = roomMs;
    this.#titles = new FileTitles(titles);
  }

  get contentType(): string | undefined {
    return contentTypeOf(this.#framer.codec);
  }

  /** Null: no other player can continue it. */
  get position(): FilePosition | null {
    const { state: framer } = this.#framer;
    if (!this.isUp || framer === null) return null;
    const aheadMs = this.isResting ? 0 : this.#aheadMs;
    const round = this.#titles.position;
    return { id: this.#id, atByte: this.#atByte, framer, aheadMs, wallMs: this.#clock.wallMs(), round };
  }

  /** See Source. A file with titles goes on, and so does Ogg, which may contain them. @returns false also while it has no audio */
  rest(): boolean {
    const hasTitles = !this.#titles.isNone || this.contentType === contentTypeOf('vorbis');
    if (!this.isUp || hasTitles) return false;
    this.isResting = true;
    this.#alarm?.cancel();
    this.onAlarm();
    return true;
  }

  /** Goes on, at first with as much audio at once as a new listener gets. */
  wake(): void {
    if (!this.isResting) return;
    this.isResting = false;
    this.#startNow();
    this.#wake();
  }

  /**
   * Plays round after round; every failure is a loss, retried after RETRY_MS. Called once. Resolves after `end`; never rejects.
   * @param position the position of a player in another process: it goes on there if the file is the same
   */
  async play(position: FilePosition | null): Promise<void> {
    while (!this.#hasEnded) {
      this.#framer = framerFor(this);
      this.#skippedAtFrame = 0;
      let reason = '';
      try {
        const from = position;
        position = null;
        if (from !== null) await this.#round(from);
        while (!this.#hasEnded) await this.#round();
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
      }
      if (this.#hasEnded) return;
      this.isUp = false;
      this.isResting = false;
      this.#input.onLost(reason);
      await this.#pause(RETRY_MS);
    }
  }

  /** Ends for good: nothing is passed on from now on; the file is closed when the read under way is done. Idempotent. */
  end(): void {
    this.#hasEnded = true;
    this.#alarm?.cancel();
    this.#wake();
  }

  onFrame(frame: Frame): void {
    if (this.#hasEnded) {
      // by the input, in the middle of a piece
      this.#framer.pause();
      return;
    }
    if (!this.isUp) {
      this.isUp = true;
      this.#startNow();
      this.#audioMs += this.#aheadAtStartMs;
    }
    this.#audioMs += frame.durationMs;
    if (this.#roomMs() > MIN_ROOM_MS) this.#startMs -= frame.durationMs * SURPLUS;
    this.#skippedAtFrame = this.#framer.counters.skippedBytes;
    this.#titles.pass(frame.durationMs);
    const aheadMs = this.#aheadMs;
    const isEnough = this.isResting ? this.#isKnown : aheadMs >= MAX_AHEAD_MS;
    if (aheadMs >= MAX_AHEAD_MS) this.#maxBehindMs = MAX_BEHIND_MS;
    if (isEnough || this.#titles.isDue) {
      this.#isPaused = true;
      this.#framer.pause();
    }
    if (aheadMs < -this.#maxBehindMs) this.#startMs -= aheadMs;
    this.#input.onFrame(frame);
  }

  onAlarm(): void {
    this.#alarm = null;
    this.#wake();
  }

  /** Its time begins. Audio that listeners lack after a gap is passed on at once. */
  #startNow(): void {
    this.#startMs = this.#clock.now();
    this.#audioMs = Math.min(MIN_AHEAD_MS, this.#input.aheadMs);
    this.#maxBehindMs = MAX_BEHIND_MS - Math.min(0, this.#audioMs);
  }

  /** Whether enough was passed on for the channel to know the format. */
  get #isKnown(): boolean {
    return this.#audioMs >= KNOWN_MS;
  }

  /** How far the audio passed on is ahead of its playing, milliseconds. */
  get #aheadMs(): number {
    return this.#audioMs - (this.#clock.now() - this.#startMs);
  }

  /** Plays the file once, from its first frame (or a place) to its last; throws if it cannot be read or has no frames. */
  async #round(position: FilePosition | null = null): Promise<void> {
    // opening a pipe would hang until something is written to it
    const stats = await stat(this.#path);
    if (!stats.isFile()) throw new Error(`${this.#path} is not a file`);
    if (this.#hasEnded) return;
    const file = await open(this.#path);
    try {
      const id = idOf(stats);
      // Another file in its place may be in another format.
      if (this.#id !== id) [this.#framer, this.#skippedAtFrame] = [framerFor(this), 0];
      this.#id = id;
      this.#atByte = 0;
      this.#titles.begin({ audioMs: 0, titles: 0 });
      const isSame = position?.id === this.#id;
      if (isSame) await this.#resume(position!);
      else await this.#sayTitle();
      const framesBefore = this.#framer.counters.frames;
      while (!this.#hasEnded) {
        const piece = (this.#piece ??= Buffer.allocUnsafeSlow(READ_BYTES));
        const { bytesRead } = await file.read(piece, 0, READ_BYTES, this.#atByte);
        if (bytesRead === 0) break;
        await this.#pass(piece.subarray(0, bytesRead));
      }
      if (this.#hasEnded) return;
      const hasFrames = isSame || this.#framer.counters.frames > framesBefore;
      if (!hasFrames) throw new Error(`${this.#path} has no MP3, AAC or Ogg audio`);
      this.#framer.reset();
    } finally {
      await file.close();
    }
  }

  #resume({ atByte, framer, aheadMs, wallMs, round }: FilePosition): Promise<void> {
    this.#atByte = atByte;
    this.#titles.begin(round);
    this.#framer.adopt(framer);
    const elapsedMs = Math.max(0, this.#clock.wallMs() - wallMs);
    // After a longer time it catches up as after any delay.
    this.#aheadAtStartMs = Math.max(-MAX_BEHIND_MS, aheadMs - elapsedMs);
    // The part of a page that the framer holds.
    return this.#pass(Buffer.alloc(0));
  }

  /** Passes a piece on, and waits whenever enough audio is ahead. The part that is left after a rest is read again. */
  async #pass(piece: Buffer): Promise<void> {
    let at = 0;
    while (!this.#hasEnded) {
      this.#isPaused = false;
      const taken = this.#framer.push(piece.subarray(at));
      at += taken;
      this.#atByte += taken;
      if (this.#framer.counters.skippedBytes - this.#skippedAtFrame > MAX_GARBAGE_BYTES) {
        throw new Error(`${this.#path} is not MP3, AAC or Ogg`);
      }
      // The framer has taken more of an Ogg page than it has passed on: it continues without new bytes.
      if (!this.#isPaused) return;
      await this.#sayTitle();
      const waitMs = this.#aheadMs - MIN_AHEAD_MS;
      if (!this.isResting && waitMs > 0) await this.#pause(waitMs);
      if (this.isResting && this.#isKnown) await this.#stand();
      if (this.#piece === null && piece.length > 0) return;
    }
  }

  /** Resolves when it is committed: no frame behind it is passed on before. */
  async #sayTitle(): Promise<void> {
    const due = this.#titles.take();
    if (due !== undefined && !this.#hasEnded) await this.#input.onTitle(due);
  }

  /** Waits until `wake` or `end`. */
  #stand(): Promise<void> | undefined {
    if (this.#hasEnded) return;
    this.#piece = null;
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Waits for this time, or until `rest` or `end`. */
  #pause(ms: number): Promise<void> | undefined {
    if (this.#hasEnded) return;
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#alarm = this.#clock.alarm(this.#clock.now() + ms, this);
    });
  }
}
