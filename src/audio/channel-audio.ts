/**
 * A channel's audio: its tape (channel-tape.ts), and the frames and titles that wait to go onto it. Sources see an output, listeners something to
 * read; it knows neither.
 *
 *   source ─ write ─► (delay line) ─► tape          a channel with a delay has the line; titles whose audio waits in it wait too
 */

import type { Clock } from '../base/clock.js';
import { isSamePlay } from '../metadata/record.js';
import type { RecordView } from '../metadata/view.js';
import { ChannelTape, type ChannelTapeOptions } from './channel-tape.js';
import { DelayLine, type DelayLineState, type LineFrame, type LinePosition } from './delay-line.js';
import { type AudioFormat, frameFormat } from './frames/audio-format.js';
import type { Frame } from './frames/frame.js';
import { HeldFrames } from './frames/held-frames.js';
import type { LateTitle, PlayableAudio, TapeObserver } from './playable-audio.js';
import { type AwaitedTitle, WaitingTitles } from './tape/waiting-titles.js';

/** A title goes onto the tape once its place is this near, or a segment away: the tape must know it before it closes the block there. */
const NEAR_MS = 1000;
/** Two clocks of whole milliseconds may measure a duration too long by this. */
const CLOCK_STEP_MS = 1;
const START: LinePosition = { atMs: 0, atByte: 0 };

export interface ChannelAudioOptions extends ChannelTapeOptions {
  readonly key: string;
  /** Monotonic milliseconds. */
  now(): number;
  /** The delay between write and tape; undefined: none. */
  readonly delay?: { readonly ms: number; readonly clock: Pick<Clock, 'now' | 'alarm'> } | undefined;
  /** Called when its listeners go from 0 to 1 and back. */
  readonly onWanted?: ((isWanted: boolean) => void) | undefined;
  /** Called when its tape is read, by listeners or observers, and when it is not any more. */
  readonly onRead?: ((isRead: boolean) => void) | undefined;
}

/** The delayed audio of a channel, which is not on its tape yet. */
export interface DelayedAudio {
  readonly line: DelayLineState;
  /** Places count from the first frame in the line. */
  readonly titles: readonly AwaitedTitle[];
}

export class ChannelAudio extends ChannelTape implements PlayableAudio {
  readonly key: string;
  listeners = 0;
  playing = 0;
  readonly #options: ChannelAudioOptions;
  readonly #waiting = new WaitingTitles();
  readonly #held = new HeldFrames();
  /** Null: the channel has no delay. */
  #line: DelayLine | null;
  /** The next frame is the first of another source. */
  #isNextSource = false;
  /** The format of the latest frame in the delay line; null: there was none. */
  #coming: AudioFormat | null = null;

  constructor(options: ChannelAudioOptions) {
    super(options);
    this.#options = options;
    this.key = options.key;
    this.#line = options.delay === undefined ? null : this.#makeLine(options.delay);
  }

  get delayMs(): number {
    return this.#line?.delayMs ?? 0;
  }

  get delayedMs(): number {
    return this.#line?.levelMs ?? 0;
  }

  /** How much audio the delay line lacks, milliseconds. */
  get roomMs(): number {
    return this.delayMs - this.delayedMs;
  }

  /** When the delay line ran empty, monotonic milliseconds; +∞ while it has audio; -∞ without a delay. */
  get emptySinceMs(): number {
    return this.#line?.emptySinceMs ?? Number.NEGATIVE_INFINITY;
  }

  want(isWanted: boolean): void {
    this.readers.isWanted = isWanted;
    this.#readersChanged();
    this.#options.onWanted?.(isWanted);
  }

  observe(observer: TapeObserver): void {
    this.readers.add(observer);
    this.#readersChanged();
  }

  unobserve(observer: TapeObserver): void {
    this.readers.remove(observer);
    this.#readersChanged();
  }

  #readersChanged(): void {
    this.keep();
    this.#options.onRead?.(!this.readers.isNone);
  }

  /** The format of the latest frame written; null: there was none. */
  get format(): AudioFormat | null {
    return (this.#line === null ? null : this.#coming) ?? this.tapeFormat;
  }

  /** Hands over the delayed audio to another process; nothing goes onto the tape any more. @returns null: the channel has no delay */
  leaveDelayed(): DelayedAudio | null {
    const line = this.#line;
    if (line === null) return null;
    const { atMs, atByte } = line.out;
    const titles = this.#waiting.all.map(({ view, momentMs, position }) => ({
      view,
      momentMs,
      position: position === null ? null : { atMs: position.atMs - atMs, atByte: position.atByte - atByte },
    }));
    return { line: line.leave(), titles };
  }

  /** Adopts the delayed audio of another process. After `adopt`. */
  adoptDelayed({ line, titles }: DelayedAudio): void {
    this.#line?.adopt(line);
    this.#waiting.adopt(titles);
  }

  /** The next frame of the source on air. */
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
   * A title takes effect at the audio that arrived `agoMs` ago (negative: that has yet to arrive), but not before the previous title.
   * @returns its place, if listeners may have been sent that audio; null: they get the title with its block
   */
  title(view: RecordView, agoMs = 0): LateTitle | null {
    const waiting = this.#waiting;
    const { last } = waiting;
    if (last !== undefined && isSamePlay(last.view.record, view.record)) {
      last.view = view;
      return null;
    }
    const nowMs = this.#options.now();
    // Rounding must not place a title in the stream before the audio in front of it.
    const momentMs = nowMs - (agoMs > 0 ? Math.max(0, agoMs - CLOCK_STEP_MS) : agoMs);
    const before = this.mark?.view;
    if (last === undefined && before !== undefined && isSamePlay(before.record, view.record)) {
      // A correction; or, unchanged, the title that the previous process put there.
      return before.json === view.json ? null : this.put(view, 0);
    }
    const position = momentMs > nowMs ? null : (this.#line?.positionAt(momentMs) ?? START);
    if (position === START && last === undefined) return this.put(view, this.endAt(momentMs));
    waiting.add(view, momentMs, position, nowMs);
    return null;
  }

  /**
   * Audio that arrives after `untilMs` (monotonic) is held or dropped, since another machine may feed the channel by then. Frames held so far go onto
   * the tape if `untilMs` has not passed.
   */
  feedUntil(untilMs: number): void {
    const held = this.#held;
    held.fromMs = untilMs;
    if (held.isEmpty || this.#options.now() > untilMs) return;
    for (const frame of held.take()) this.#lay(frame, frame.arrivedMs);
  }

  /** Its source rests while the tape has no readers: the tape is dropped, but to listeners the channel still has one. */
  rest(): void {
    this.drop();
    this.isResting = true;
  }

  /** The source resumes, with a burst at once. */
  wake(): void {
    this.isResting = false;
    this.refillMs = this.#options.burstMs ?? 0;
  }

  /** Drops the held frames. */
  dropHeld(): void {
    this.#held.drop();
  }

  /** The next write comes from another source. */
  sourceChanged(): void {
    if (this.#line === null) this.changeSource();
    else this.#isNextSource = true;
  }

  /** Another process feeds the channel from now on: drops the tape and everything that waits. */
  leave(): void {
    this.isResting = false;
    this.#held.drop();
    this.#line?.leave();
    this.#coming = null;
    this.#isNextSource = false;
    this.drop();
    const { delay } = this.#options;
    this.#line = delay === undefined ? null : this.#makeLine(delay);
    this.#waiting.clear();
    this.mark = null;
  }

  /** The options have changed: begins a new tape if this one has no listeners; otherwise `release` does. */
  refresh(): void {
    if (!this.#isHeard) this.#beginAnew();
  }

  /** Whether listeners play it, or players of what an observer makes of it. */
  get #isHeard(): boolean {
    return this.playing > 0 || this.readers.isHeard;
  }

  /**
   * No source feeds the channel: drops a tape without listeners, so that later listeners never get old audio.
   * @param isOver whether the output of observers has ended too, because of silence
   */
  release(isOver = true): void {
    if (this.playing > 0 || (this.readers.isHeard && !isOver)) return;
    this.isResting = false;
    if (this.delayMs === (this.#options.delay?.ms ?? 0)) {
      this.drop();
      this.#line?.begin();
    } else this.#beginAnew();
  }

  /** Drops the tape. A delay line of another length is replaced: its audio is lost, and its titles take effect now. */
  #beginAnew(): void {
    this.drop();
    const { delay } = this.#options;
    if (this.delayMs === (delay?.ms ?? 0)) return;
    this.#line?.leave();
    while (this.#waiting.first?.position != null) {
      this.put(this.#waiting.first.view, 0);
      this.#waiting.shift();
    }
    this.#isNextSource = false;
    this.#line = delay === undefined ? null : this.#makeLine(delay);
  }

  #makeLine({ ms, clock }: NonNullable<ChannelAudioOptions['delay']>): DelayLine {
    const onFrame = ({ frame, isNextSource }: LineFrame) => {
      if (isNextSource) this.changeSource();
      this.#lay(frame, frame.arrivedMs);
    };
    return new DelayLine({ delayMs: ms, clock, onFrame });
  }

  /** Writes a frame to the tape. @param arrivedMs when it arrived, monotonic */
  #lay(frame: Frame, arrivedMs: number): void {
    const held = this.#held;
    // Reading the clock costs 120 ns a frame; a single machine need not.
    if (held.fromMs !== Number.POSITIVE_INFINITY && this.#options.now() > held.fromMs) {
      held.push(frame, arrivedMs);
      return;
    }
    const isFresh = frame.fresh || held.hasGap;
    held.hasGap = false;
    if (!this.#waiting.isEmpty) this.#putWaiting();
    this.lay(frame, isFresh, arrivedMs, !this.#isHeard);
  }

  /** Puts titles onto the tape whose place is at its end, or close behind it. */
  #putWaiting(): void {
    for (;;) {
      const position = this.#waiting.first?.position ?? null;
      if (position === null) return;
      const { atMs, atByte } = this.#line?.out ?? START;
      const [aheadMs, aheadBytes] = [position.atMs - atMs, position.atByte - atByte];
      const { tape } = this;
      const isNear = tape !== undefined && (aheadMs <= NEAR_MS || aheadBytes <= tape.segmentBytes);
      if (aheadBytes > 0 && !isNear) return;
      this.put(this.#waiting.first!.view, (tape?.endMs ?? 0) + aheadMs, aheadBytes);
      this.#waiting.shift();
    }
  }

  protected override changeSource(): void {
    this.#held.drop();
    super.changeSource();
  }
}
