/**
 * Changes of titles by the clock: a held push becomes due, a title runs out, the stream's own title returns when a push no
 * longer outranks it, the fallback title is in force while a channel's own source is lost. All of them go through the engine like any
 * other change.
 *
 * A held push waits for its time by the wall clock, but no longer than computed when it came, should that clock be set back. The age of
 * a title is measured by the monotonic clock, across a restart by the wall clock. A check once a second finds what is due even
 * after the clock was set; an alarm makes it exact. Owned by title-service.ts.
 */

import type { Alarm, AlarmHandler, Clock } from '../base/clock.js';
import { Refusal } from '../base/refusal.js';
import { MAX_HOLD_SECONDS } from '../config/push-limits.js';
import type { Track, TrackRecord } from '../metadata/record.js';
import { realNow } from '../now-playing/effect.js';
import {
  bringBack,
  type FallbackRules,
  type FallbackTitle,
  reword,
  runOut,
  sourceFound,
  sourceLost,
} from '../now-playing/fallback.js';
import { type FirstTitle, giveFirst } from '../now-playing/first-title.js';
import { takeHeld } from '../now-playing/held.js';
import { endTitle, type PlainTitle, returnTitle } from '../now-playing/now-playing.js';
import type { Change, ChannelState } from '../now-playing/state.js';
import { holdMs, type TrustRules } from '../now-playing/trust.js';
import type { Engine } from './engine.js';
import type { Moments } from './moments.js';
import type { Speaker } from './speakers.js';

/** How far ahead an alarm is set; later checks find the rest. */
const ALARM_WITHIN_MS = 1500;
/** How long a source on air may take for its first title. */
const UNTITLED_MS = 5000;
/** How much later than first computed a held push may take effect if the wall clock is a little slow. */
const SLACK_MS = 1000;

export interface TitleSchedulerParts {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly moments: Moments;
  /** How far ahead pushes are held, seconds. */
  holdSeconds(channel: string): number;
  fallback(channel: string): FallbackRules | null;
  /** The title while a source on air has sent none. Absent, null: the fallback title, else none. */
  firstTitle?(channel: string): FirstTitle | null;
  /** Whether the first of a channel's sources is not on air. */
  isSourceLost(channel: string): boolean;
  /** The title in the stream of the source on air; null: none. */
  streamTitle(channel: string): PlainTitle | null;
  /** The source on air, if it may have titles. Absent: titles stay whichever source is on air. */
  speaker?(channel: string): Speaker | undefined;
  trust(channel: string): TrustRules;
  /**
   * Whether a source of this process has this name. Machines that share titles, but not audio, leave the titles of each other's sources alone.
   * Absent: the source on air is the only one.
   */
  isOwn?(channel: string, saidBy: string): boolean;
  onError(error: unknown): void;
}

export class TitleScheduler {
  readonly #parts: TitleSchedulerParts;
  readonly #schedules = new Map<string, ChannelSchedule>();
  /** Channel → changes under way of whether its source is lost. */
  readonly #deciding = new Map<string, number>();
  /** Channels whose source is lost, and whose state has said so since. */
  readonly #saidLost = new Set<string>();

  constructor(parts: TitleSchedulerParts) {
    this.#parts = parts;
  }

  /**
   * Applies what is due on a channel, and sets an alarm for what soon will be. Resolves when all is committed or
   * refused. Never rejects: errors go to `onError`.
   */
  check(channel: string): Promise<void> {
    return this.#schedule(channel).check();
  }

  /** Puts the fallback title in force when the channel's own source is lost, and ends it when that is on air again. Never rejects. */
  checkSource(channel: string): Promise<void> {
    return settle(this.#checkSource(channel), this.#parts);
  }

  async #checkSource(channel: string): Promise<void> {
    const { engine, fallback, isSourceLost, moments } = this.#parts;
    const rules = fallback(channel);
    const isLost = rules?.whenSourceLost === true && isSourceLost(channel);
    const deciding = this.#deciding.get(channel) ?? 0;
    // The state lags behind a change under way: a source that is back at once would still count as lost, and its title be refused.
    const isAgreed = deciding === 0 && isLost === engine.state(channel).lost;
    // If another machine's source is on air, the source counts as found, and that stays.
    const isOverruled = isLost && this.#parts.isOwn !== undefined && this.#saidLost.has(channel);
    if (!isLost) this.#saidLost.delete(channel);
    else if (isAgreed) this.#saidLost.add(channel);
    if (isAgreed || isOverruled) return;
    const decide = (state: ChannelState) =>
      isLost
        ? sourceLost(state, rules.title, moments.of(channel))
        : sourceFound(state, moments.of(channel), this.#parts.speaker?.(channel)?.name);
    this.#deciding.set(channel, deciding + 1);
    try {
      await engine.update(channel, decide);
      if (isLost) this.#saidLost.add(channel);
    } finally {
      const left = this.#deciding.get(channel)! - 1;
      if (left > 0) this.#deciding.set(channel, left);
      else this.#deciding.delete(channel);
    }
  }

  /** The channel was removed. */
  forget(channel: string): void {
    this.#saidLost.delete(channel);
    this.#schedules.get(channel)?.end();
    this.#schedules.delete(channel);
  }

  #schedule(channel: string): ChannelSchedule {
    let schedule = this.#schedules.get(channel);
    if (schedule === undefined) this.#schedules.set(channel, (schedule = new ChannelSchedule(channel, this.#parts)));
    return schedule;
  }
}

/** Decides when this has passed, milliseconds. */
type WhenDue = (waitMs: number, decide: (state: ChannelState) => Change | null) => void;

/** The due times of one channel. */
class ChannelSchedule implements AlarmHandler {
  readonly #channel: string;
  readonly #parts: TitleSchedulerParts;
  /** Name of a held push (engines may return new objects) → when it is due at the latest, monotonic milliseconds. */
  readonly #latestMs = new Map<string, number>();
  #alarm: Alarm | null = null;
  #isEnded = false;
  /** The configured fallback title that the title in force was compared with last. */
  #worded: FallbackTitle | null = null;

  constructor(channel: string, parts: TitleSchedulerParts) {
    this.#channel = channel;
    this.#parts = parts;
  }

  onAlarm(): void {
    void this.check();
  }

  end(): void {
    this.#alarm?.cancel();
    this.#isEnded = true;
  }

  /** Never rejects. */
  check(): Promise<void> {
    return settle(this.#check(), this.#parts);
  }

  async #check(): Promise<void> {
    if (this.#isEnded) return;
    const { engine, clock, fallback, moments, streamTitle, trust } = this.#parts;
    const channel = this.#channel;
    const state = engine.state(channel);
    const rules = fallback(channel);
    const now = realNow(state);
    const updates: Promise<Change | null>[] = [];
    let soonMs = Number.POSITIVE_INFINITY;
    const due: WhenDue = (waitMs, decide) => {
      if (waitMs > 0) soonMs = Math.min(soonMs, waitMs);
      else if (decide(state) !== null) updates.push(engine.update(channel, decide));
    };
    this.#forget(state.held);
    for (const track of state.held) {
      due(this.#waitMs(track), (fresh) => takeHeld(fresh, (one) => this.#waitMs(one) <= 0, moments.of(channel)));
    }
    const speaker = this.#parts.speaker?.(channel);
    if (speaker !== undefined) this.#checkFirst(speaker, state.now, due);
    if (now !== null) {
      // Always called: the first call starts the title's time.
      const ageMs = moments.ageMs(channel, now);
      const stream = now.source === 'metapush' ? streamTitle(channel) : null;
      if (stream !== null) {
        const trustRules = trust(channel);
        due(holdMs(now, trustRules) - ageMs, (fresh) => returnTitle(fresh, stream, moments.of(channel), trustRules));
      }
      if (rules !== null && now.durationSeconds > 0) {
        const lastsMs = (now.durationSeconds + rules.graceSeconds) * 1000;
        due(lastsMs - ageMs, (fresh) => runOut(fresh, now.effectAtMs, rules.title, moments.of(channel)));
      }
    }
    if (rules !== null) this.#checkWords(rules.title, state, due);
    this.#alarm?.cancel();
    this.#alarm = soonMs <= ALARM_WITHIN_MS ? clock.alarm(clock.now() + soonMs, this) : null;
    await Promise.all(updates.map((update) => settle(update, this.#parts)));
  }

  /**
   * A changed configuration rewords the fallback title in force, only once: machines with different configurations, as during successive reloads,
   * would correct each other endlessly.
   */
  #checkWords(title: FallbackTitle, state: ChannelState, due: WhenDue): void {
    const { moments } = this.#parts;
    if (this.#worded?.artist === title.artist && this.#worded.song === title.song) return;
    const decide = (fresh: ChannelState) => reword(fresh, title, moments.of(this.#channel));
    if (decide(state) === null) this.#worded = title;
    else due(0, decide);
  }

  /** A source on air may have returned, or have sent no title in time. */
  #checkFirst(speaker: Speaker, now: TrackRecord | null, due: WhenDue): void {
    const { clock, moments, fallback, firstTitle } = this.#parts;
    const channel = this.#channel;
    const first = firstTitle?.(channel) ?? null;
    if (first === 'last') return;
    const onAirMs = Math.max(0, clock.now() - speaker.sinceMs);
    const waitMs = UNTITLED_MS - onAirMs;
    const isOwn = ({ now: title }: Pick<ChannelState, 'now'>) =>
      title?.saidBy === undefined || (this.#parts.isOwn?.(channel, title.saidBy) ?? true);
    const { name } = speaker;
    const since = { name, sinceMs: clock.wallMs() - onAirMs };
    const ifOwn = (decide: (fresh: ChannelState) => Change | null) => (fresh: ChannelState) =>
      isOwn(fresh) ? decide(fresh) : null;
    due(
      0,
      ifOwn((fresh) => bringBack(fresh, since, moments.of(channel))),
    );
    if (first !== null)
      due(
        waitMs,
        ifOwn((fresh) => giveFirst(fresh, since, first, moments.of(channel))),
      );
    else if (now?.saidBy !== undefined && now.saidBy !== name) {
      const title = fallback(channel)?.title ?? null;
      due(
        waitMs,
        ifOwn((fresh) => endTitle(fresh, name, title, moments.of(channel))),
      );
    }
  }

  /** Remaining time of a held push, milliseconds; 0 or less: it is due. */
  #waitMs(track: Track): number {
    const { clock, engine, holdSeconds } = this.#parts;
    const byWallMs = track.startSeconds * 1000 - clock.wallMs();
    let latestMs = this.#latestMs.get(nameOf(track));
    if (latestMs === undefined) {
      // Another machine, or this one before a restart, may hold pushes for longer than is configured here now.
      const wasSetBack = (engine.state(this.#channel).now?.effectAtMs ?? 0) > clock.wallMs() + SLACK_MS;
      const maxSeconds = wasSetBack ? holdSeconds(this.#channel) : MAX_HOLD_SECONDS;
      latestMs = clock.now() + Math.min(byWallMs, maxSeconds * 1000) + SLACK_MS;
      this.#latestMs.set(nameOf(track), latestMs);
    }
    return Math.min(byWallMs, latestMs - clock.now());
  }

  /** Drops the times of pushes that are no longer held. */
  #forget(held: readonly Track[]): void {
    if (this.#latestMs.size <= held.length) return;
    const names = new Set(held.map(nameOf));
    for (const name of this.#latestMs.keys()) if (!names.has(name)) this.#latestMs.delete(name);
  }
}

function nameOf(track: Track): string {
  return `${track.startSeconds} ${track.id}`;
}

/** Never rejects: a refused change is retried at the next check. */
async function settle(update: Promise<unknown>, parts: TitleSchedulerParts): Promise<void> {
  try {
    await update;
  } catch (error) {
    if (!(error instanceof Refusal)) parts.onError(error);
  }
}
