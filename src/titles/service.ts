/**
 * The one way for metadata to change: a push, a title of a source or a moment by the clock is decided by the state machine,
 * committed by the engine, and comes back through `deliver` to the tape and the readers (src/titles/README.md, "The walk of a change").
 *
 * Invariant: commit, then readers (unless theirs is delayed), then the answer. Owns its engine and scheduler; made by app/titles.ts.
 */

import { randomUUID } from 'node:crypto';
import { ChannelCounter } from '../base/channel-counter.js';
import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import { Refusal } from '../base/refusal.js';
import type { Channel } from '../channel/channel.js';
import { secretMatches } from '../config/secret.js';
import type { Feed } from '../feed/feed.js';
import type { ListenerFeed } from '../listener/listener-feed.js';
import type { Sessions } from '../listener/sessions.js';
import { type PushInput, withoutEntities } from '../metadata/push-input.js';
import type { TrackRecord } from '../metadata/record.js';
import { RecordView } from '../metadata/view.js';
import type { Rate } from '../net/rate.js';
import { currentNext, type Moment, placeMs } from '../now-playing/effect.js';
import { acceptPush, acceptTitle, type PlainTitle, type Pushed } from '../now-playing/now-playing.js';
import type { Change, ChannelState } from '../now-playing/state.js';
import type { TrustRules } from '../now-playing/trust.js';
import type { Source, SourceTitle } from '../source/source.js';
import type { Deliver, Engine } from './engine.js';
import { ReaderDelay } from './reader-delay.js';
import { TitleScheduler } from './scheduler.js';
import { plainTitle, titleOriginOf } from './source-title.js';
import { TitleRate } from './title-rate.js';

export interface TitleServiceParts {
  /** Makes the engine, which calls `onChange` with every committed change. */
  engine(onChange: Deliver): Engine;
  readonly feed: Feed;
  readonly listenerFeed: ListenerFeed;
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly log: Log;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly rules: Pick<TrustRules, 'pushHoldSeconds' | 'graceSeconds'>;
  /** How many pushes of a channel may wait for their time. */
  readonly heldPushes: number;
  /** Limit of an artist or a song from a source; longer ones are cut. */
  readonly textBytes: number;
  /** How often titles of encoders and upstreams are taken, by channel and origin. */
  readonly sourceTitleRate: Rate;
  /** How much later than the live edge the readers of a channel and its station get a title, milliseconds. */
  readerDelayMs(channel: string): number;
  /** Called with what should not happen. */
  onError(error: unknown): void;
}

export interface AcceptedPush {
  /** The answer's. */
  readonly json: string;
  /** Whether this node's readers were written to: not yet where it waits for its time or they get it later, not at all where it repeats. */
  readonly isPublished: boolean;
}

export class TitleService {
  readonly #parts: TitleServiceParts;
  readonly #engine: Engine;
  readonly #scheduler: TitleScheduler;
  /** Pushes whose time was too far ahead to hold them: the clock of the sender is wrong, or ours. */
  readonly #farAhead: ChannelCounter;
  /** Pushes of which something was not taken. */
  readonly #ignoring: ChannelCounter;
  /** Titles of encoders and upstreams that came past the limit. */
  readonly #delayedTitles: ChannelCounter;
  readonly #titleRate: TitleRate;
  readonly #readers: ReaderDelay;

  constructor(parts: TitleServiceParts) {
    const { clock, channels, log } = parts;
    this.#parts = parts;
    const engine = parts.engine((channel, change) => this.deliver(channel, change));
    this.#engine = engine;
    this.#farAhead = new ChannelCounter(clock, (channel, pushes) =>
      log.warn({ channel, pushes }, 'pushes come with a time too far ahead: it is ignored; is a clock wrong?'),
    );
    this.#ignoring = new ChannelCounter(clock, (channel, pushes, fields) =>
      log.warn({ channel, pushes, fields }, 'fields of pushes are not taken: they are unknown, or cannot be read'),
    );
    this.#delayedTitles = new ChannelCounter(clock, (channel, titles) =>
      log.warn({ channel, titles }, 'titles of its source come past limits.pushesPerMinute: only the newest counts'),
    );
    this.#readers = new ReaderDelay({
      feed: parts.feed,
      clock,
      most: parts.heldPushes,
    });
    this.#titleRate = new TitleRate(clock, parts.sourceTitleRate, (channel) => this.#delayedTitles.count(channel));
    this.#scheduler = new TitleScheduler({
      engine,
      clock,
      moment: (channel) => this.#moment(channel),
      holdSeconds: (channel) => channels.get(channel)!.holdSeconds,
      fallback: (channel) => channels.get(channel)!.fallback,
      isSourceLost: (channel) => channels.get(channel)!.isSourceLost,
      streamTitle: (channel) => {
        const { onAir, titleOnAir } = channels.get(channel)!.switch;
        return onAir === null || titleOnAir === undefined ? null : plainTitle(titleOnAir, onAir, parts.textBytes);
      },
      trust: (channel) => this.#trust(channel),
      onError: parts.onError,
    });
  }

  /**
   * Puts what was committed before back in force, on the tapes and for readers; then lets happen, in order, what came due while the
   * server was down. Before anybody can read.
   */
  async restore(): Promise<void> {
    const { feed, channels, clock } = this.#parts;
    for (const [key, channel] of channels) {
      const state = this.#engine.state(key);
      if (state.now !== null) {
        const view = this.#view(state.now);
        feed.set(key, 'now', view);
        channel.audio.title(view);
      }
      const next = currentNext(state, clock.wallMs());
      if (next !== null) feed.set(key, 'next', this.#view(next));
    }
    await Promise.all([...channels.keys()].map((key) => this.#scheduler.check(key)));
  }

  /** Whether the token may push to the channel. Finding out takes the same time for an unknown channel. */
  authorizes(channel: string, token: string): boolean {
    const found = this.#parts.channels.get(channel);
    return found === undefined ? secretMatches([], token) : found.authorizesPush(token);
  }

  /** Takes a push; resolves after commit and readers. Rejects with a Refusal. */
  async push(channel: string, input: PushInput): Promise<AcceptedPush> {
    const { heldPushes } = this.#parts;
    const { titlesFrom, holdSeconds, pushDecodesEntities } = this.#parts.channels.get(channel)!;
    if (!titlesFrom.includes('metapush')) {
      throw new Refusal('invalid', 'This channel takes no pushed titles: metapush is not in its titlesFrom.');
    }
    const rules = { holdSeconds, heldPushes };
    const meant = pushDecodesEntities ? withoutEntities(input) : input;
    // A held push that is due at this moment comes before it.
    void this.#scheduler.check(channel);
    let pushed: Pushed | undefined;
    await this.#engine.update(
      channel,
      (state) => (pushed = acceptPush(state, meant, this.#moment(channel), rules)).change,
    );
    const { answer, change, isFarAhead } = pushed!;
    if (isFarAhead) this.#farAhead.count(channel);
    const record = change?.record ?? null;
    const isPublished = record !== null && !this.#readers.isWaiting(channel, record.version);
    return { json: this.#view(answer).pushAnswer(), isPublished };
  }

  /** Of an accepted push some fields were not taken. */
  ignored(channel: string, fields: readonly string[]): void {
    this.#ignoring.count(channel, fields.join(', '));
  }

  /** Channel → how many pushes had fields that were not taken, for metrics. */
  get ignoring(): ReadonlyMap<string, { readonly count: number }> {
    return this.#ignoring.counts;
  }

  /** Channel → how many pushes had a time too far ahead, for metrics. */
  get farAhead(): ReadonlyMap<string, { readonly count: number }> {
    return this.#farAhead.counts;
  }

  /** Channel → titles of its source that came past the limit, for metrics. */
  get delayedTitles(): ReadonlyMap<string, { readonly count: number }> {
    return this.#delayedTitles.counts;
  }

  /**
   * Takes a title of a source, in its stream or beside it. Resolves when it is accepted or ignored, or at once when it has to
   * wait. Never rejects: its sender awaits no answer.
   */
  readonly streamTitle = async (channel: string, sourceTitle: SourceTitle, source: Source): Promise<void> => {
    const title = plainTitle(sourceTitle, source, this.#parts.textBytes);
    if (title === null) return;
    await this.#titleRate.offer(channel, title.source, () => this.#commitTitle(channel, title, source));
  };

  /** Whether it has changed something, or should have. */
  async #commitTitle(channel: string, title: PlainTitle, source: Source): Promise<boolean> {
    const { channels, log } = this.#parts;
    const { onAir } = channels.get(channel)!.switch;
    // It had to wait, and another source is on air by now. An encoder's title may come while no source is connected.
    if (source !== onAir && (source.kind !== 'encoder' || source.state === 'up')) return false;
    try {
      const change = await this.#engine.update(channel, (state) =>
        acceptTitle(state, title, this.#moment(channel), this.#trust(channel)),
      );
      return change !== null;
    } catch (error) {
      log.warn({ channel, err: error }, 'a title from the stream was not taken');
      return true;
    }
  }

  /** Commits the titles that wait, refuses new changes, and waits for those under way. Idempotent. */
  async close(): Promise<void> {
    await this.#titleRate.close();
    await this.#engine.close();
  }

  /** The version of a channel's state: another number after each committed change. */
  versionOf(channel: string): number {
    return this.#engine.state(channel).version;
  }

  /** A committed change takes effect here: the tape first, then the readers. */
  deliver(channel: string, change: Change): void {
    const { watchdog } = this.#parts.clock;
    const startMs = watchdog.begin();
    this.#takeEffect(channel, change);
    if (watchdog.end('change', startMs)) watchdog.blame(channel);
  }

  #takeEffect(channel: string, change: Change): void {
    const { listenerFeed, sessions, log, readerDelayMs } = this.#parts;
    void this.#scheduler.check(channel);
    const hasNext = change.state.next !== null;
    if (change.record === null) {
      if (!hasNext) this.#readers.dropNext(channel);
      return;
    }
    const view = this.#view(change.record);
    const { type, source } = change.record;
    if (type === 'now') {
      const agoMs = this.#agoMs(channel, change.state, source);
      this.#putOnTape(channel, view, agoMs);
      this.#readers.now(view, readerDelayMs(channel) - agoMs, !hasNext);
    } else {
      this.#readers.next(view);
      listenerFeed.next(view, sessions);
    }
    log.info({ channel, type, source, title: view.title }, 'title');
  }

  /** How long ago the audio of the title on air came in, milliseconds; less than 0: it will. */
  #agoMs(channel: string, state: ChannelState, source: TrackRecord['source']): number {
    const { channels, clock } = this.#parts;
    return clock.wallMs() - placeMs(state, channels.get(channel)!.titleOffsetMs(source));
  }

  /** Listeners who are past its place get a title at once, not with its block. */
  #putOnTape(channel: string, view: RecordView, agoMs: number): void {
    const { channels, sessions, clock } = this.#parts;
    const late = channels.get(channel)!.audio.title(view, agoMs);
    if (late === null) return;
    for (const session of sessions.onChannel(channel)) session.late(late, clock.now());
  }

  /** Another source of a channel is on air, or none. */
  readonly sourceChanged = (channel: string): void => {
    void this.#scheduler.checkSource(channel);
  };

  /** Once a second: does what is due, and drops a next whose time has passed. */
  tidy(): void {
    const { feed, channels, clock } = this.#parts;
    for (const channel of channels.keys()) {
      void this.#scheduler.check(channel);
      void this.#scheduler.checkSource(channel);
      if (feed.last(channel, 'next') == null) continue;
      if (currentNext(this.#engine.state(channel), clock.wallMs()) === null) this.#readers.dropNext(channel);
    }
  }

  #trust(channel: string): TrustRules {
    const {
      titlesFrom,
      switch: { onAir },
      fallback,
    } = this.#parts.channels.get(channel)!;
    const { pushHoldSeconds, graceSeconds } = this.#parts.rules;
    return {
      titlesFrom,
      originOnAir: onAir === null ? null : titleOriginOf(onAir),
      pushHoldSeconds,
      // Where a push would give way to the fallback title, it gives way to the stream's.
      graceSeconds: Math.min(graceSeconds, fallback?.graceSeconds ?? graceSeconds),
    };
  }

  #view(record: TrackRecord): RecordView {
    return new RecordView(record, this.#parts.feed.face(record.channel)!);
  }

  #moment(channel: string): Moment {
    const wallMs = this.#parts.clock.wallMs();
    return { channel, wallMs, newId: randomUUID, ageMs: (now) => this.#scheduler.ageMs(channel, now) };
  }
}
