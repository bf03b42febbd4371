/**
 * Cuts a channel's tape into HLS segments. It reads the tape as a listener does: by then delays, repaired frames, late titles and changes of the
 * feeding node are settled.
 *
 *   tape      │ 41 │ 42 │ 43 │ 44 │ 45 │ open       segments of about a second, in which frames lie anywhere
 *   frames     ││││││││││││││││││││││││││          read by frame-reader.ts, or packet-reader.ts for Ogg; a form (hls-forms.ts) makes segments
 *   HLS       │  4 s         │  2.5 s  │  open      cut at a frame: if full, at a title, or where the audio is interrupted
 *                            ▲ title at its frame
 *
 * Invariants: a segment has whole frames of one format; its duration, rounded, is at most TARGETDURATION, and at least a second if a title ends
 * it; it never changes once it is appended. Owned by a CutFeed.
 */

import { randomBytes } from 'node:crypto';
import type { LateTitle, PlayableAudio, TapeObserver } from '../audio/playable-audio.js';
import type { AudioTape } from '../audio/tape/audio-tape.js';
import type { Mark } from '../audio/tape/mark.js';
import type { Clock } from '../base/clock.js';
import type { HlsOptions } from '../config/hls-config.js';
import { FrameReader, type TapeFrameSink, type TapeReader } from './frame-reader.js';
import { HlsForms } from './hls-forms.js';
import { OpenFrames } from './open-frames.js';
import { oggFacts, PacketReader } from './packet-reader.js';
import { PlacedTitles } from './placed-titles.js';
import type { CutPosition } from './playlist.js';
import { ProgramTime } from './program-time.js';
import { MIN_TITLED_MS, type SegmentForm } from './segment-form.js';
import type { HlsWindow } from './window.js';

/** A shorter rest before an interruption is dropped: no player would load it in time. */
const MIN_REST_MS = 100;
/** With the table of its frames (8 bytes each) and its titles, a segment stays below the limit of hls-schema.ts. */
const MAX_FRAMES_BYTES = 4 * 1024 * 1024;
/** More than 10 s have: Opus of 2.5 ms has 4,000, FLAC in blocks of 1 ms has 10,000. */
const MAX_FRAMES = 16_384;
/** Summed frame durations differ from the tape's times by less. */
const TOLERANCE_MS = 0.5;

export interface CutterParts {
  readonly audio: PlayableAudio;
  readonly clock: Pick<Clock, 'now' | 'wallMs'>;
  readonly window: HlsWindow;
  /** Returns the tape's name, the same in all processes. */
  tapeName(tape: AudioTape): string;
}

export type CutterOptions = Pick<HlsOptions, 'segmentSeconds' | 'form'>;

export class HlsCutter implements TapeObserver, TapeFrameSink {
  readonly isHeard = true;
  readonly #parts: CutterParts;
  readonly #titles: PlacedTitles;
  readonly #forms: HlsForms;
  #targetSeconds: number;
  #tape: AudioTape | undefined;
  #reader: TapeReader | null = null;
  /** The tape segment to read next. */
  #next = 0;
  /** The monotonic time while a segment is read. */
  #nowMs = 0;
  /** The wall time at monotonic 0. */
  #epochMs = 0;
  /** Audio time on the tape of the next frame. */
  #atMs = 0;
  /** The same of the open segment's first frame. */
  #fromMs = 0;
  readonly #open = new OpenFrames();
  /** The form of the latest frame. */
  #form: SegmentForm | null = null;
  /** Null: begins with the next segment. */
  #time: ProgramTime | null = null;
  #isDiscontinuity = false;
  /** Where the window's last segment ends, until the cutter reaches that place and continues from it. */
  #resume: CutPosition | null = null;

  constructor(parts: CutterParts, { segmentSeconds, form }: CutterOptions) {
    this.#parts = parts;
    this.#targetSeconds = segmentSeconds;
    this.#forms = new HlsForms(form, parts.window);
    this.#titles = new PlacedTitles(parts.window);
    // Before the first read, since an observed tape keeps its segments.
    parts.audio.observe(this);
    this.#read();
  }

  /** Cuts no more segments. */
  stop(): void {
    this.#parts.audio.unobserve(this);
  }

  /** Ends the list; the next segment begins another one. */
  endList(): void {
    this.#close(true);
    this.#parts.window.endList();
  }

  /** Begins another list, with segments of another length or form. */
  change({ segmentSeconds, form }: CutterOptions): void {
    const isOtherForm = this.#forms.choose(form);
    if (isOtherForm || this.#lengthMs > segmentSeconds * 1000) this.#close(isOtherForm);
    this.#targetSeconds = segmentSeconds;
    this.#isDiscontinuity = true;
    this.#parts.window.endList();
    this.#parts.window.retarget(segmentSeconds);
  }

  onGrown(): void {
    const { tape } = this.#parts.audio;
    if (tape !== undefined && (tape !== this.#tape || tape.head > this.#next)) this.#read();
  }

  onLate({ mark, atMs }: LateTitle): void {
    this.#read();
    this.#note(mark, atMs);
  }

  /** Not needed: another format is noticed at its first frame. */
  onFence(): void {}

  onTape(): void {
    if (this.#parts.audio.tape !== this.#tape) this.#leaveTape();
  }

  /** Reads what the tape has received since. */
  #read(): void {
    const { tape } = this.#parts.audio;
    if (tape === undefined || tape.isOver) return;
    if (tape !== this.#tape || this.#next < tape.tail) this.#leaveTape();
    if (this.#tape === undefined && !this.#begin(tape)) return;
    const { clock } = this.#parts;
    this.#nowMs = clock.now();
    this.#epochMs = clock.wallMs() - this.#nowMs;
    while (this.#next < tape.head) {
      const segment = tape.at(this.#next++)!;
      for (const { mark, atMs } of segment.marks) this.#titles.note(mark, atMs);
      this.#reader?.take(segment);
    }
  }

  /** Begins with the first segment within the lag, since arrival times of older ones are unknown. False: nothing can be cut yet. */
  #begin(tape: AudioTape): boolean {
    let seq = tape.tail;
    while (seq < tape.head - 1 && tape.edgeMs - tape.at(seq)!.startMs > tape.lagMs) seq++;
    if (tape.at(seq) === undefined) return false;
    const { last, isEmpty } = this.#parts.window;
    const end = isEmpty ? null : last!.end;
    if (end !== null && end.tape === this.#parts.tapeName(tape) && tape.at(seq)!.startMs < end.atMs) {
      this.#resume = end;
      // The frames of the previous segment fill the bit reservoir.
      while (seq < tape.head - 2 && tape.at(seq + 2)!.startMs < end.atMs) seq++;
    }
    const first = tape.at(seq)!;
    const ogg = oggFacts(tape);
    // No player takes Vorbis as HLS.
    const isCut = ogg?.codec !== 'vorbis';
    this.#tape = tape;
    this.#next = isCut ? seq : Number.POSITIVE_INFINITY;
    this.#reader = ogg === null ? new FrameReader(this, this.#forms) : new PacketReader(this, this.#forms);
    if (isCut && first.before !== null) this.#titles.note(first.before, first.startMs);
    return true;
  }

  /** Called when the tape is over or replaced: what follows does not continue it. */
  #leaveTape(): void {
    this.#close(true);
    this.#titles.leaveTape();
    this.#tape = undefined;
    this.#resume = null;
  }

  onLost(): void {
    this.#close(true);
  }

  onFrame(bytes: Buffer, samples: number, atMs: number, form: SegmentForm): void {
    const open = this.#open;
    const frameMs = (samples * 1000) / form.sampleRate;
    if (this.#resume !== null && !this.#reaches(this.#resume, atMs, form)) {
      this.#titles.reach(atMs);
      return;
    }
    const arrivedMs = this.#epochMs + Math.min(this.#nowMs, this.#parts.audio.arrivedMs(atMs + frameMs / 2));
    if (form !== this.#form) this.#close(true);
    this.#form = form;
    const isTitle = this.#titles.reach(atMs);
    const isCut = isTitle || this.#time?.turnsLate(this.#lengthMs, arrivedMs) === true;
    if (!open.isEmpty && this.#isFull(bytes.length, frameMs, isCut)) this.#close(false);
    if (open.isEmpty) this.#openSegment(form, atMs, arrivedMs);
    else if (isTitle) this.#titles.tag();
    this.#time!.note(this.#lengthMs, arrivedMs);
    open.add(form.payload(bytes), samples);
    this.#atMs = atMs + frameMs;
  }

  /** False while frames are already in the window. Then continues from its end, if these frames do. */
  #reaches(end: CutPosition, atMs: number, form: SegmentForm): boolean {
    if (atMs < end.atMs - TOLERANCE_MS) return false;
    this.#resume = null;
    if (form.format !== end.format || atMs > end.atMs + TOLERANCE_MS) return true;
    this.#form = form;
    this.#time = new ProgramTime(end.time.startMs, form.sampleRate, end.time);
    return true;
  }

  /** @param isCut whether the next frame should begin a segment */
  #isFull(bytes: number, frameMs: number, isCut: boolean): boolean {
    const ms = this.#lengthMs;
    const targetMs = this.#targetSeconds * 1000;
    // EXTINF, rounded to seconds, is no more than TARGETDURATION (RFC 8216, 4.3.3.1).
    if (ms >= targetMs || ms + frameMs >= targetMs + 500) return true;
    const { lengthBytes, sizes } = this.#open;
    if (lengthBytes + bytes > MAX_FRAMES_BYTES || sizes.length >= MAX_FRAMES) return true;
    return isCut && ms >= MIN_TITLED_MS;
  }

  get #lengthMs(): number {
    return this.#form === null ? 0 : (this.#open.samples * 1000) / this.#form.sampleRate;
  }

  #openSegment({ sampleRate }: SegmentForm, atMs: number, arrivedMs: number): void {
    this.#time ??= this.#beginTime(arrivedMs, sampleRate);
    this.#fromMs = atMs;
    this.#titles.open(atMs);
  }

  /** Begins another time with the open segment. @param startMs at its first sample, Unix milliseconds */
  #beginTime(startMs: number, sampleRate: number): ProgramTime {
    const { window } = this.#parts;
    if (window.lastNumber !== null) this.#isDiscontinuity = true;
    // Never before the end of what is listed.
    return new ProgramTime(Math.max(startMs, window.endMs), sampleRate);
  }

  /** Returns the time that dates the open segment, now that all of its frames have arrived. */
  #timeOf(time: ProgramTime, samples: number, sampleRate: number): ProgramTime {
    const missingMs = time.missingMs(samples);
    return missingMs === 0 ? time : this.#beginTime(time.segmentMs + missingMs, sampleRate);
  }

  /** Appends the open segment to the window. @param isBreak the audio that follows does not continue it */
  #close(isBreak: boolean): void {
    const [stated, form, open] = [this.#time, this.#form, this.#open];
    const [bytes, lengthMs] = [open.bytes, this.#lengthMs];
    const { samples, sizes, durations, isEmpty } = open;
    if (isBreak) this.#time = null;
    open.clear();
    if (isEmpty || stated === null || form === null || (isBreak && lengthMs < MIN_REST_MS)) return;
    const { window, tapeName } = this.#parts;
    const time = this.#timeOf(stated, samples, form.sampleRate);
    if (!isBreak) this.#time = time;
    const { startMs, samples: samplesBefore, segmentMs } = time;
    const number = window.lastNumber === null ? Math.floor(segmentMs / 1000) : window.lastNumber + 1;
    const titles = this.#titles.tagged;
    const made = form.segment({ number, startMs, samplesBefore, bytes, sizes, samples: durations, titles });
    this.#titles.date({ fromMs: this.#fromMs, toMs: this.#fromMs + lengthMs, startMs: segmentMs });
    window.append({
      number,
      name: `${number}-${randomBytes(8).toString('hex')}.${form.extension}`,
      bytes: made,
      init: form.init,
      codecs: form.codecs,
      startMs: segmentMs,
      micros: time.close(samples),
      isDiscontinuity: this.#isDiscontinuity,
      end: isBreak ? null : { tape: tapeName(this.#tape!), atMs: this.#atMs, format: form.format, time: time.position },
    });
    this.#isDiscontinuity = false;
  }

  /** Notes a title whose place was already read. */
  #note(mark: Mark, atMs: number): void {
    if (!this.#titles.note(mark, atMs)) return;
    this.#titles.reach(this.#atMs);
    this.#titles.tag();
  }
}
