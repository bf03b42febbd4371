/**
 * The switch's side of one source: it takes the source's frames and titles, knows when the next are due, and watches its health. The switch
 * (switch.ts), which owns it, decides whether it is on air.
 *
 *   frame ─► takes? ─► waiting │ title being saved │ ─► output      frames wait for a title, in order, and are written in bounded turns
 *
 * A source that fails its listeners again and again is unsteady (steadiness.ts). An encoder that is restarted once or twice is on air at once.
 */

import { type Frame, type KeptFrame, keepFrame } from '../audio/frames/frame.js';
import type { Alarm, AlarmHandler, Clock } from '../base/clock.js';
import { AudioDueTime } from './audio-due-time.js';
import { Health, type HealthOptions } from './health.js';
import type { AirPacer, AirPacerOptions } from './pacer.js';
import type { Source, SourceInput, SourceSettings, SourceTitle } from './source.js';
import { Steadiness, type SteadinessOptions } from './steadiness.js';
import type { SwitchOutput } from './switch-output.js';

export interface InputOptions extends HealthOptions, AirPacerOptions, SteadinessOptions {
  /** The longest interval at which a source may send pieces of audio (audio-due-time.ts). */
  readonly pieceMs: number;
  /** For how long the channel's audio must be unread before a file on air rests; +∞: it never rests. */
  readonly restMs: number;
}

/** How long audio waits for its title to be saved, if the disk is slow. */
const TITLE_WAIT_MS = 250;
/** Maximum number of waiting frames written in one turn of the event loop (6 ms); the next ones follow a tick of the clock later. */
const MAX_AT_ONCE = 2000;

/** A source as configured for the channel. */
export interface NextInput {
  readonly settings: SourceSettings;
  readonly make: (input: Input) => Source;
}
/** How often an input is checked while something is under way. */
export const CHECK_MS = 100;

/** The switch, as its inputs use it. */
export interface InputOwner {
  readonly output: SwitchOutput;
  /** Receives everything that goes on air. */
  readonly pacer: AirPacer;
  claimAir(input: Input): boolean;
  isOnAir(input: Input): boolean;
  /** Calls `look` at this time at the latest. */
  lookBy(dueMs: number): void;
  check(reason: string): void;
}

export class Input implements SourceInput, AlarmHandler {
  settings: SourceSettings;
  /** Its rank among all, lower is better. Written by OrderedInputs. */
  rank = 0;
  readonly #owner: InputOwner;
  readonly #clock: Clock;
  readonly #options: InputOptions;
  readonly #due: AudioDueTime;
  readonly source: Source;
  /** The latest title in its stream, and its sender; undefined: none. */
  #title: { readonly title: SourceTitle; readonly sender: string | undefined } | undefined;
  running = false;
  /** When it was started, on the clock. */
  runningSinceMs = 0;
  /** It has ended, and is waited for. */
  isAway = false;
  /** It was lost, and nothing has arrived since. */
  hasFailed = false;
  readonly health: Health;
  readonly #steadiness: Steadiness;
  /** Frames that wait for a title to be saved, or for their turn, oldest first; null: none. The source's pace limits their number. */
  #waiting: KeptFrame[] | null = null;
  #waitingSinceMs = 0;
  /** Set while waiting frames are written turn by turn. */
  #alarm: Alarm | null = null;
  /** It was lost while frames waited; they are written first. */
  #lostReason: string | null = null;
  #isEnded = false;

  constructor(owner: InputOwner, { settings, make }: NextInput, clock: Clock, options: InputOptions) {
    this.health = new Health(options, (event, fields, isOver) =>
      owner.output.onEvent(this.source, event, fields, isOver),
    );
    this.#steadiness = new Steadiness(this.health, options);
    this.#owner = owner;
    this.settings = settings;
    this.#clock = clock;
    this.#options = options;
    this.#due = new AudioDueTime(options);
    this.source = make(this);
  }

  get dueMs(): number {
    return this.#due.atMs;
  }

  get aheadMs(): number {
    return this.#owner.pacer.aheadMs(this.#clock.now());
  }

  /** The title in force in its stream, whether it is on air or not; undefined: none, or one of another sender. */
  get lastTitle(): SourceTitle | undefined {
    const { sender } = this.source;
    const isAnother = sender !== undefined && this.#title?.sender !== undefined && this.#title.sender !== sender;
    return isAnother ? undefined : this.#title?.title;
  }

  get isUnsteady(): boolean {
    return this.health.troubles.unsteady;
  }

  /** See Source, for the one on air. */
  rest(): boolean {
    return this.#waiting === null && this.source.rest?.() === true;
  }

  wake(): void {
    this.#owner.pacer.reset();
    // A pause does not count as lateness.
    this.#due.add(0, this.#clock.now());
    this.source.wake?.();
  }

  onFrame(frame: Frame): number {
    if (this.#isEnded) return 0;
    if (this.#lostReason !== null) this.#write(Number.POSITIVE_INFINITY);
    const nowMs = this.#clock.now();
    const { durationMs, link } = frame;
    const due = this.#due;
    if (nowMs - due.atMs > this.#options.stallMs) this.#steadiness.begin(nowMs);
    due.add(durationMs, nowMs, link === undefined ? 0 : this.source.pageMs);
    this.isAway = false;
    this.hasFailed = false;
    this.health.frame(frame.bytes, durationMs, due.atMs, link === undefined);
    if (!this.#owner.claimAir(this)) return 0;
    if (this.#waiting !== null) {
      this.#waiting.push(keepFrame(frame, nowMs));
      return 0;
    }
    this.#owner.output.onFrame(frame);
    // Frames at rest go onto no tape, so no listener has them ahead.
    return this.source.isResting === true ? 0 : this.#owner.pacer.book(durationMs, nowMs);
  }

  /**
   * It is on air from now on. Its audio waits until its title is saved, so that none of it carries the former title.
   * @param title settles when that is done; must not reject
   */
  follow(title: Promise<void>): void {
    this.#drop();
    const waiting: KeptFrame[] = [];
    this.#waiting = waiting;
    this.#waitingSinceMs = this.#clock.now();
    this.#owner.lookBy(this.#waitingSinceMs + TITLE_WAIT_MS);
    void title.then(() => this.#waiting === waiting && this.#write());
  }

  /** It was on air in another process until now. */
  adopt(lastTitle: SourceTitle | undefined): void {
    this.#title = lastTitle === undefined ? undefined : { title: lastTitle, sender: undefined };
    this.#due.add(0, this.#clock.now(), 0);
  }

  /** Writes all waiting frames at once. */
  flush(): void {
    this.#write(Number.POSITIVE_INFINITY);
  }

  /** The next waiting frames. */
  onAlarm(): void {
    this.#alarm = null;
    this.#write();
  }

  /** Writes waiting frames, and completes a loss behind the last of them. */
  #write(most = MAX_AT_ONCE): void {
    const waiting = this.#waiting;
    if (waiting !== null) {
      for (const frame of waiting.splice(0, most)) {
        this.#owner.output.onFrame(frame);
        this.#owner.pacer.book(frame.durationMs, this.#clock.now());
      }
      if (waiting.length > 0) {
        this.#alarm ??= this.#clock.alarm(this.#clock.now(), this);
        return;
      }
      this.#drop();
    }
    const reason = this.#lostReason;
    this.#lostReason = null;
    if (reason !== null) this.#lose(reason);
  }

  #drop(): void {
    this.#waiting = null;
    this.#alarm?.cancel();
    this.#alarm = null;
  }

  async onTitle(title: SourceTitle): Promise<void> {
    // The source is not read during this time.
    this.#due.pause(this.#clock.now());
    await this.setTitle(title);
    this.#due.resume(this.#clock.now());
  }

  /** A title that arrived outside its stream. */
  setTitle(title: SourceTitle): Promise<void> {
    if (this.#isEnded) return Promise.resolve();
    this.#title = { title, sender: this.source.sender };
    return this.#owner.isOnAir(this) ? this.#owner.output.onTitle(title, this.source) : Promise.resolve();
  }

  onUp(): void {
    this.#owner.lookBy(this.#clock.now());
  }

  onLost(reason: string): void {
    if (this.#isEnded) return;
    this.#lostReason = reason;
    this.#write();
  }

  #lose(reason: string): void {
    if (this.settings.returnMs > 0 && this.#owner.isOnAir(this)) this.isAway = true;
    else this.#forgetLost();
    this.hasFailed = true;
    this.#owner.check(reason);
  }

  /** Whether it could be on air, judging by its frames. */
  isGood(nowMs: number): boolean {
    if (this.source.isResting) return true;
    const { stallMs } = this.#options;
    const patienceMs = this.#owner.isOnAir(this) ? Math.max(stallMs, this.settings.returnMs) : stallMs;
    return nowMs - this.#due.atMs <= patienceMs;
  }

  /** Whether it has ended, or sends nothing, and may come back. Asked of the source on air. */
  isAwaited(nowMs: number): boolean {
    return this.isAway || (!this.source.isResting && nowMs - this.#due.atMs > this.#options.stallMs);
  }

  /** Another source is on air from now on, or none. */
  left(nowMs: number): void {
    this.#drop();
    if (this.isAway || this.#lostReason !== null) this.#forgetLost();
    else if (this.#due.atMs !== Number.NEGATIVE_INFINITY && !this.isGood(nowMs)) this.#steadiness.count(nowMs);
  }

  look(nowMs: number): void {
    if (this.source.isResting) return;
    this.#steadiness.look(nowMs, this.#due.atMs === Number.NEGATIVE_INFINITY, this.isGood(nowMs));
    const isLate = this.#waiting !== null && nowMs - this.#waitingSinceMs >= TITLE_WAIT_MS;
    if (isLate && this.#alarm === null) this.#write();
    const { facts, state } = this.source;
    this.health.look(nowMs, state === 'up', this.settings.bitrateKbps || (facts?.bitrateKbps ?? 0));
  }

  /** When `look`, or the switch, next has something to check that no frame or loss triggers, on the clock; +∞: never. */
  nextLookMs(nowMs: number, isWanted: boolean): number {
    const { stallMs } = this.#options;
    const isBeginning = this.#due.atMs === Number.NEGATIVE_INFINITY && this.source.state === 'up';
    const isEnding = this.running && this.settings.onDemand && !isWanted;
    const isUnderWay = this.#waiting !== null || this.isUnsteady || isEnding;
    if (isUnderWay || (isBeginning && !this.health.troubles.stalled)) return nowMs + CHECK_MS;
    // It is overdue only after that time.
    const overdueMs = this.#due.atMs + stallMs + 1;
    const patienceMs = this.#due.atMs + this.settings.returnMs + 1;
    if (overdueMs > nowMs) return overdueMs;
    return patienceMs > nowMs ? patienceMs : Number.POSITIVE_INFINITY;
  }

  /** The channel has lost this source for good: its frames and titles are ignored. */
  end(): void {
    this.#isEnded = true;
    this.#drop();
    this.source.stop();
    this.#alarm?.cancel();
  }

  /** Another stream begins. */
  forget(): void {
    this.#due.reset();
    this.#title = undefined;
    this.isAway = false;
    this.hasFailed = false;
    this.#lostReason = null;
    this.#steadiness.forget(this.#clock.now());
    this.health.reset();
  }

  /** An encoder that an operator reconnects should be on air at once, however often; an upstream that keeps breaking should not. */
  #forgetLost(): void {
    if (this.source.kind !== 'encoder' && this.#owner.isOnAir(this)) this.#steadiness.count(this.#clock.now());
    this.forget();
  }
}
