/**
 * A stream pulled over HTTP: from another station's server, or from another node of ours. Its URLs stand in order of preference.
 *
 *     0 ✗ → 1 ✗ → 2 ✗ → pause, longer each time → 0 …     a round: one after the other, until one delivers
 *     1 plays ─ every returnMs a trial of 0 ─ has delivered TRIAL_MS of audio ─► 0 plays, 1 is closed
 *
 * A title is committed before the audio after it is passed on, so that it has the same place on our tape as on theirs.
 * Invariant: at most two connections, of which one feeds. Owned by the switch; upstream.ts is one try at one URL.
 */

import { contentTypeOf } from '../audio/frames/format.js';
import type { Frame } from '../audio/frames/frame.js';
import type { Alarm, Clock } from '../base/clock.js';
import { contentTag } from '../metadata/etag.js';
import type { Target } from '../net/outbound/target.js';
import { Pacer } from './pacer.js';
import type { Source, SourceInput, SourceState, SourceTitle } from './source.js';
import type { SourceFacts } from './source-facts-schema.js';
import { Upstream, type UpstreamRules, type UpstreamSink } from './upstream.js';

/** A better upstream takes over after this much audio: one that ends at once must not interrupt the one that works. */
export const TRIAL_MS = 1000;

export interface PullOptions extends UpstreamRules {
  /** At least one; best first. */
  readonly targets: readonly Target[];
  /** While one that is not the best plays, the better ones are tried this often. */
  readonly returnMs: number;
  /** First and longest pause before another round. Each failure doubles it, until a source has played for as long as the longest. */
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
  readonly aheadMs: number;
  /** The upstream of this index feeds now. */
  onPlaying(index: number): void;
  /** It failed or ended; called again only with another reason, or after it has played. The reason contains no secret and no URL. */
  onFailed(index: number, reason: string): void;
}

export class PullSource implements Source, UpstreamSink {
  readonly kind = 'pull';
  readonly #input: SourceInput;
  readonly #clock: Clock;
  readonly #options: PullOptions;
  readonly #pacer: Pacer;
  #open = false;
  /** The upstream that feeds, or that is tried while none does. */
  #main: Upstream | null = null;
  #trial: Upstream | null = null;
  /** Audio that the trial has delivered, and the latest title in it. */
  #trialMs = 0;
  #trialTitle: SourceTitle | undefined;
  /** The trial has succeeded, and its title is being committed. */
  #isTaking = false;
  /** The next frame does not continue the one before it. */
  #isCut = false;
  /** Whether the main upstream has delivered. */
  #feeds = false;
  /** The next round, or the next trial. */
  #alarm: Alarm | null = null;
  #failures = 0;
  /** When the first frame since the last pause arrived; +∞: none has. */
  #playsSinceMs = Number.POSITIVE_INFINITY;
  readonly #reasons: string[] = [];

  constructor(input: SourceInput, clock: Clock, options: PullOptions) {
    this.#input = input;
    this.#clock = clock;
    this.#options = options;
    this.#pacer = new Pacer(options);
  }

  get state(): SourceState {
    return !this.#open ? 'idle' : this.#main?.isUp ? 'up' : 'starting';
  }

  get contentType(): string | undefined {
    return contentTypeOf(this.#main?.intake?.codec);
  }

  get facts(): SourceFacts | undefined {
    return this.#main?.facts;
  }

  /** Which of its targets feeds or is tried, from 0; null: none. */
  get upstream(): number | null {
    return this.#main?.index ?? null;
  }

  /** While the title of a trial is being committed, it is the sender already. */
  get sender(): string | undefined {
    const from = this.#isTaking ? this.#trial : this.#main;
    return from === null ? undefined : contentTag(this.#options.targets[from.index]!.url.href);
  }

  get pageMs(): number {
    return this.#main?.intake?.pageMs ?? 0;
  }

  start(): void {
    if (this.#open) return;
    this.#open = true;
    this.#failures = 0;
    this.#playsSinceMs = Number.POSITIVE_INFINITY;
    // It may have been stopped while a title of a trial was being committed.
    this.#isTaking = false;
    this.#isCut = false;
    this.#pacer.reset();
    this.#try(0);
  }

  stop(): void {
    this.#open = false;
    this.#alarm?.cancel();
    this.#main?.close();
    this.#main = null;
    this.#trial?.close();
    this.#trial = null;
  }

  onFrame(from: Upstream, frame: Frame): number {
    if (from === this.#trial && !this.#delivers(frame.durationMs)) return 0;
    if (from !== this.#main) return 0;
    if (!this.#feeds) this.#begin(from);
    const isCut = this.#isCut;
    this.#isCut = false;
    const waitMs = this.#pacer.book(frame.durationMs, this.#clock.now());
    return Math.max(waitMs, this.#input.onFrame(isCut ? { ...frame, fresh: true } : frame));
  }

  onTitle(from: Upstream, title: SourceTitle): Promise<void> {
    if (from === this.#trial) this.#trialTitle = title;
    return from === this.#main && !this.#isTaking ? this.#input.onTitle(title) : Promise.resolve();
  }

  onEnded(from: Upstream, reason: string): void {
    this.#report(from.index, reason);
    if (from === this.#trial) {
      this.#trial = null;
      this.#isTaking = false;
      if (from.index + 1 < this.#main!.index) this.#tryBetter(from.index + 1);
      else this.#returnLater();
    } else if (this.#trial !== null) {
      const title = this.#trialTitle;
      this.#promote(this.#trial);
      if (title !== undefined) void this.#input.onTitle(title);
    } else if (from.index + 1 < this.#options.targets.length) this.#try(from.index + 1);
    else this.#pause(reason);
  }

  #try(index: number): void {
    this.#main = this.#upstream(index);
    this.#pacer.reconnect(this.#clock.now());
    this.#feeds = false;
    this.#alarm?.cancel();
    this.#main.start();
  }

  /** All URLs have failed. There is no pause between two URLs, and the switch is not called: it notices a lasting loss by itself. */
  #pause(reason: string): void {
    this.#main = null;
    this.#alarm?.cancel();
    const { retryMinMs, retryMaxMs } = this.#options;
    // An upstream that keeps ending at once must not go on air each second.
    if (this.#clock.now() - this.#playsSinceMs >= retryMaxMs) this.#failures = 0;
    this.#playsSinceMs = Number.POSITIVE_INFINITY;
    const pauseMs = jitter(Math.min(retryMaxMs, retryMinMs * 2 ** this.#failures++));
    this.#alarm = this.#clock.alarm(this.#clock.now() + pauseMs, { onAlarm: () => this.#try(0) });
    this.#input.onLost(reason);
  }

  /** The main upstream's first frame. */
  #begin(main: Upstream): void {
    this.#feeds = true;
    this.#playsSinceMs = Math.min(this.#playsSinceMs, this.#clock.now());
    this.#reasons[main.index] = '';
    this.#options.onPlaying(main.index);
    this.#returnLater();
  }

  #returnLater(): void {
    this.#alarm?.cancel();
    if (this.#main === null || this.#main.index === 0) return;
    const dueMs = this.#clock.now() + jitter(this.#options.returnMs);
    this.#alarm = this.#clock.alarm(dueMs, { onAlarm: () => this.#tryBetter(0) });
  }

  #tryBetter(index: number): void {
    this.#trial = this.#upstream(index);
    this.#trialMs = 0;
    this.#trialTitle = undefined;
    this.#trial.start();
  }

  /** Audio of the trial; returns whether it is the main upstream from here on. Its title is committed before it goes on air. */
  #delivers(durationMs: number): boolean {
    this.#trialMs += durationMs;
    const trial = this.#trial;
    if (trial === null || this.#isTaking || this.#trialMs < TRIAL_MS) return false;
    this.#take(trial);
    return this.#main === trial;
  }

  /** Commits the trial's title, and one that arrives meanwhile, then promotes it. */
  #take(trial: Upstream): void {
    const title = this.#trialTitle;
    if (title === undefined) {
      this.#promote(trial);
      return;
    }
    this.#trialTitle = undefined;
    this.#isTaking = true;
    void this.#input.onTitle(title).then(() => {
      if (this.#trial === trial) this.#take(trial);
    });
  }

  #promote(trial: Upstream): void {
    this.#main?.close();
    this.#main = trial;
    this.#pacer.reconnect(this.#clock.now());
    this.#trial = null;
    this.#isTaking = false;
    this.#isCut = true;
    this.#feeds = false;
    this.#alarm?.cancel();
  }

  #upstream(index: number): Upstream {
    return new Upstream(index, this.#options.targets[index]!, this, this.#clock, this.#options);
  }

  #report(index: number, reason: string): void {
    if (this.#reasons[index] === reason) return;
    this.#reasons[index] = reason;
    this.#options.onFailed(index, reason);
  }
}

/** Between half and all of it, so that many nodes do not come back at the same time. */
function jitter(ms: number): number {
  return ms * (0.5 + Math.random() / 2);
}
