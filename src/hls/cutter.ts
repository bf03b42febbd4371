/**
 * Cuts a channel's tape into segments of HLS. It is a reader of the tape as a listener is: delay, mended frames, titles that come late and another
 * feeder are right by then.
 *
 *   tape      │ 41 │ 42 │ 43 │ 44 │ 45 │ open       segments of about a second, in which frames lie anywhere
 *   frames     ││││││││││││││││││││││││││
 *   HLS       │  4 s         │  2.5 s  │  open      cut at a frame: full, or a title's, or where the audio does not go on
 *                            ▲ title at its frame
 *
 * Invariants: a segment has whole frames of one format, and one ID3 tag, before them; it lasts no longer than TARGETDURATION, rounded, and a second
 * or more where a title ends it; it never changes once it was appended. Owned by ChannelHls.
 */

import { randomBytes } from 'node:crypto';
import { emptyHeader, type FrameHeader, HEADER_BYTES, readHeader } from '../audio/frames/header.js';
import { Reservoir } from '../audio/frames/reservoir.js';
import type { LateTitle, PlayableAudio, TapeObserver } from '../audio/playable-audio.js';
import type { AudioTape } from '../audio/tape/audio-tape.js';
import type { Mark } from '../audio/tape/mark.js';
import type { AudioSegment } from '../audio/tape/segment.js';
import type { Clock } from '../base/clock.js';
import { FrameBuffer } from './frame-buffer.js';
import { packedSegment, timestampAt } from './packed.js';
import { PlacedTitles } from './placed-titles.js';
import type { CutPlace } from './playlist.js';
import { ProgramTime } from './program-time.js';
import type { HlsWindow } from './window.js';

/** A title ends the segment before it where that lasts as long; else it stands in its tag. */
const MIN_TITLED_MS = 1000;
/** What is shorter where the audio does not go on is dropped: nobody would load it in time. */
const MIN_REST_MS = 100;
const MAX_SEGMENT_BYTES = 4 * 1024 * 1024;
/** What was added up of frames differs from what the tape has by less. */
const TOLERANCE_MS = 0.5;
const NOTHING = Buffer.alloc(0);

export interface CutterParts {
  readonly audio: PlayableAudio;
  readonly clock: Pick<Clock, 'now' | 'wallMs'>;
  readonly window: HlsWindow;
  /** Names a tape in all processes that ever have it. */
  tapeName(tape: AudioTape): string;
}

export class HlsCutter implements TapeObserver {
  readonly #parts: CutterParts;
  readonly #titles: PlacedTitles;
  readonly #header = emptyHeader();
  readonly #reservoir = new Reservoir();
  #targetSeconds: number;
  #tape: AudioTape | undefined;
  /** The tape's segment that is read next. */
  #next = 0;
  /** Whether the next frame is that of a segment's entry. */
  #isEntering = false;
  /** What the last one had of a frame that its end cuts. */
  #rest = NOTHING;
  /** Audio time on the tape of the next frame, and of the open segment's first. */
  #atMs = 0;
  #fromMs = 0;
  /** The open segment: its frames, how many samples they are, and their format (FrameHeader). */
  readonly #frames = new FrameBuffer();
  #samples = 0;
  #key = -1;
  #sampleRate = 1;
  #codecs = '';
  #extension = '';
  /** Null: it begins with the next segment. */
  #time: ProgramTime | null = null;
  #isDiscontinuity = false;
  /** Where the window's last segment ends, until that is reached: what comes goes on from it. */
  #resume: CutPlace | null = null;

  constructor(parts: CutterParts, targetSeconds: number) {
    this.#parts = parts;
    this.#targetSeconds = targetSeconds;
    this.#titles = new PlacedTitles(parts.window);
    // The tape keeps what is read: before anything of it is.
    parts.audio.observe(this);
    this.#read();
  }

  /** No segment comes from it any more. */
  stop(): void {
    this.#parts.audio.unobserve(this);
  }

  /** What comes next begins another list. */
  endList(): void {
    this.#close(true);
    this.#parts.window.endList();
  }

  /** Another list begins, of segments of another length. */
  change(targetSeconds: number): void {
    if (this.#lengthMs > targetSeconds * 1000) this.#close(false);
    this.#targetSeconds = targetSeconds;
    this.#isDiscontinuity = true;
    this.#parts.window.endList();
    this.#parts.window.retarget(targetSeconds);
  }

  onGrown(): void {
    const { tape } = this.#parts.audio;
    if (tape !== undefined && (tape !== this.#tape || tape.head > this.#next)) this.#read();
  }

  onLate({ mark, atMs }: LateTitle): void {
    this.#read();
    this.#note(mark, atMs);
  }

  onFence(): void {}

  onTape(): void {
    if (this.#parts.audio.tape !== this.#tape) this.#leaveTape();
  }

  /** What the tape has by now. */
  #read(): void {
    const { tape } = this.#parts.audio;
    if (tape === undefined || tape.isOver) return;
    if (tape !== this.#tape || this.#next < tape.tail) this.#leaveTape();
    if (this.#tape === undefined && !this.#begin(tape)) return;
    while (this.#next < tape.head) this.#take(tape.at(this.#next++)!);
  }

  /** With the first segment that is there and began within the lag: of what is older it is not known when it came. False: nothing can be cut yet. */
  #begin(tape: AudioTape): boolean {
    // Ogg is not cut.
    if (tape.rendering(false) !== null) {
      this.#tape = tape;
      this.#next = Number.POSITIVE_INFINITY;
      return true;
    }
    let seq = tape.tail;
    while (seq < tape.head - 1 && tape.edgeMs - tape.at(seq)!.startMs > tape.lagMs) seq++;
    if (tape.at(seq) === undefined) return false;
    const { last, isEmpty } = this.#parts.window;
    const end = isEmpty ? null : last!.end;
    if (end !== null && end.tape === this.#parts.tapeName(tape) && tape.at(seq)!.startMs < end.atMs) {
      this.#resume = end;
      // The frames of the segment before it fill the reservoir.
      while (seq < tape.head - 2 && tape.at(seq + 2)!.startMs < end.atMs) seq++;
    }
    const first = tape.at(seq)!;
    this.#tape = tape;
    this.#next = seq;
    this.#isEntering = true;
    this.#reservoir.cut();
    if (first.before !== null) this.#titles.note(first.before, first.startMs);
    return true;
  }

  /** It is over, or another has taken its place: nothing goes on in what comes. */
  #leaveTape(): void {
    this.#close(true);
    this.#titles.leaveTape();
    this.#tape = undefined;
    this.#rest = NOTHING;
    this.#resume = null;
  }

  #take(segment: AudioSegment): void {
    for (const { mark, atMs } of segment.marks) this.#titles.note(mark, atMs);
    const { plain, entry, entryMs } = segment;
    let bytes = plain;
    let at = 0;
    if (this.#isEntering) {
      if (entry < 0) return;
      this.#isEntering = false;
      at = entry;
    } else if (this.#rest.length > 0) bytes = Buffer.concat([this.#rest, plain]);
    const entryAt = entry < 0 ? -1 : bytes.length - plain.length + entry;
    const header = this.#header;
    const nowMs = this.#parts.clock.now();
    const wallMs = this.#parts.clock.wallMs() - nowMs;
    while (bytes.length - at >= HEADER_BYTES) {
      if (!readHeader(bytes, at, header)) {
        this.#lose();
        return;
      }
      // What was added up is not exactly what the tape has.
      if (at === entryAt) this.#atMs = entryMs;
      if (bytes.length - at < header.lengthBytes) break;
      this.#frame(bytes.subarray(at, at + header.lengthBytes), header, nowMs, wallMs);
      at += header.lengthBytes;
    }
    this.#rest = Buffer.from(bytes.subarray(at));
  }

  /** There is no frame where one should be: it goes on with the next entry. */
  #lose(): void {
    this.#close(true);
    this.#isEntering = true;
    this.#reservoir.cut();
    this.#rest = NOTHING;
  }

  /** @param nowMs monotonic @param wallMs of its moment 0 */
  #frame(frame: Buffer, header: FrameHeader, nowMs: number, wallMs: number): void {
    const { key, samples, sampleRate } = header;
    const frameMs = (samples * 1000) / sampleRate;
    if (this.#resume !== null && !this.#reaches(this.#resume, frame, header)) {
      this.#titles.reach(this.#atMs);
      this.#reservoir.mend(frame);
      this.#atMs += frameMs;
      return;
    }
    const arrivedMs = wallMs + Math.min(nowMs, this.#parts.audio.arrivedMs(this.#atMs + frameMs / 2));
    if (key !== this.#key || this.#time?.takes(this.#lengthMs, arrivedMs) !== true) {
      this.#close(true);
      this.#enterFormat(frame, header);
    }
    const isTitle = this.#titles.reach(this.#atMs);
    if (this.#frames.length > 0 && this.#isFull(frame.length, frameMs, isTitle)) this.#close(false);
    if (this.#frames.length === 0) this.#open(arrivedMs);
    else if (isTitle) this.#titles.tag();
    this.#frames.append(this.#reservoir.mend(frame));
    this.#samples += samples;
    this.#atMs += frameMs;
  }

  /** False: the frame stands in the window already. Else what comes goes on from there, if it does. */
  #reaches(end: CutPlace, frame: Buffer, header: FrameHeader): boolean {
    if (this.#atMs < end.atMs - TOLERANCE_MS) return false;
    this.#resume = null;
    if (header.key !== end.key || this.#atMs > end.atMs + TOLERANCE_MS) return true;
    this.#enterFormat(frame, header);
    this.#time = new ProgramTime(end.time.startMs, header.sampleRate, end.time);
    return true;
  }

  #isFull(bytes: number, frameMs: number, isTitle: boolean): boolean {
    const ms = this.#lengthMs;
    const targetMs = this.#targetSeconds * 1000;
    // EXTINF, rounded to seconds, is no more than TARGETDURATION (RFC 8216, 4.3.3.1).
    if (ms >= targetMs || ms + frameMs >= targetMs + 500) return true;
    return (isTitle && ms >= MIN_TITLED_MS) || this.#frames.length + bytes > MAX_SEGMENT_BYTES;
  }

  get #lengthMs(): number {
    return (this.#samples * 1000) / this.#sampleRate;
  }

  #enterFormat(frame: Buffer, { codec, key, sampleRate }: FrameHeader): void {
    this.#key = key;
    this.#sampleRate = sampleRate;
    const layer = 4 - ((frame[1]! >> 1) & 3);
    this.#extension = codec;
    // ISO 14496-3, table 1.17: 32 to 34 are layers I to III.
    this.#codecs = codec === 'aac' ? 'mp4a.40.2' : `mp4a.40.${31 + layer}`;
  }

  #open(arrivedMs: number): void {
    const { window } = this.#parts;
    if (this.#time === null) {
      if (window.lastNumber !== null) this.#isDiscontinuity = true;
      // Never back while what is listed is later.
      this.#time = new ProgramTime(Math.max(arrivedMs, window.endMs), this.#sampleRate);
    }
    this.#fromMs = this.#atMs;
    this.#titles.tag();
  }

  /** @param isBreak the audio does not go on in what comes */
  #close(isBreak: boolean): void {
    const time = this.#time;
    if (isBreak) this.#time = null;
    if (this.#frames.length === 0 || time === null) return;
    const frames = this.#frames.take();
    const [samples, lengthMs] = [this.#samples, this.#lengthMs];
    this.#samples = 0;
    if (isBreak && lengthMs < MIN_REST_MS) return;
    const { window, tapeName } = this.#parts;
    const startMs = time.segmentMs;
    const bytes = packedSegment(timestampAt(time.startMs, time.seconds), this.#titles.tagged, frames);
    const number = window.lastNumber === null ? Math.floor(startMs / 1000) : window.lastNumber + 1;
    this.#titles.date({ fromMs: this.#fromMs, toMs: this.#fromMs + lengthMs, startMs });
    window.append({
      number,
      name: `${number}-${randomBytes(8).toString('hex')}.${this.#extension}`,
      bytes,
      codecs: this.#codecs,
      startMs,
      micros: time.close(samples),
      isDiscontinuity: this.#isDiscontinuity,
      end: isBreak ? null : { tape: tapeName(this.#tape!), atMs: this.#atMs, key: this.#key, time: time.place },
    });
    this.#isDiscontinuity = false;
  }

  /** A title whose place was read already. */
  #note(mark: Mark, atMs: number): void {
    if (!this.#titles.note(mark, atMs)) return;
    this.#titles.reach(this.#atMs);
    if (atMs < this.#fromMs + MIN_TITLED_MS) this.#titles.tag();
  }
}
