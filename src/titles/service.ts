/**
 * The one door: every change of metadata, whoever sends it, is decided by the state machine, committed by the engine, and comes
 * back through `deliver` to the tape and to the readers. Commit, then readers, then the answer (contract, "what 200 promises").
 */

import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import { Refusal } from '../base/refusal.js';
import { ChannelCounter } from '../base/tally.js';
import type { Channel } from '../channel/channel.js';
import { secretMatches } from '../config/secret.js';
import type { Feed } from '../feed/feed.js';
import type { ListenerFeed } from '../listener/listener-feed.js';
import type { Sessions } from '../listener/sessions.js';
import type { PushInput } from '../metadata/push-input.js';
import type { TrackRecord } from '../metadata/record.js';
import { cleanText } from '../metadata/text.js';
import { cutText, readEntities, splitTitle } from '../metadata/title.js';
import { RecordView } from '../metadata/view.js';
import type { Rate } from '../net/rate.js';
import { currentNext, type Moment } from '../now-playing/effect.js';
import { acceptPush, acceptTitle, type PlainTitle, type Pushed } from '../now-playing/now-playing.js';
import type { Change } from '../now-playing/state.js';
import type { TrustRules } from '../now-playing/trust.js';
import type { Source, SourceTitle } from '../source/source.js';
import type { Engine } from './engine.js';
import { TitleScheduler } from './scheduler.js';
import { TitleRate } from './title-rate.js';

export interface TitleServiceParts {
  readonly engine: Engine;
  readonly feed: Feed;
  readonly listenerFeed: ListenerFeed;
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly log: Log;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly rules: Pick<TrustRules, 'pushHoldSeconds' | 'graceSeconds'>;
  /** How many pushes of a channel wait for their time at most. */
  readonly heldPushes: number;
  /** Of an artist or a song that a source tells; longer ones are cut. */
  readonly textBytes: number;
  /** How often titles of encoders and upstreams are taken, by channel and teller. */
  readonly titleRate: Rate;
  /** Told of what should not happen. */
  onError(error: unknown): void;
}

export class TitleService {
  readonly #parts: TitleServiceParts;
  readonly #agenda: TitleScheduler;
  /** Pushes whose time was too far ahead to hold them: the clock of the sender is wrong, or ours. */
  readonly #farAhead: ChannelCounter;
  /** Titles of encoders and upstreams that came past the limit. */
  readonly #heldTitles: ChannelCounter;
  readonly #titleRate: TitleRate;

  constructor(parts: TitleServiceParts) {
    const { engine, clock, channels: programmes, log } = parts;
    this.#parts = parts;
    this.#farAhead = new ChannelCounter(clock, (channel, pushes) =>
      log.warn({ channel, pushes }, 'pushes come with a time too far ahead: it is passed over; is a clock wrong?'),
    );
    this.#heldTitles = new ChannelCounter(clock, (channel, titles) =>
      log.warn({ channel, titles }, 'titles of its source come past limits.pushesPerMinute: only the newest counts'),
    );
    this.#titleRate = new TitleRate(clock, parts.titleRate, (channel) => this.#heldTitles.count(channel));
    this.#agenda = new TitleScheduler({
      engine,
      clock,
      moment: (channel) => this.#moment(channel),
      holdSeconds: (channel) => programmes.get(channel)!.holdSeconds,
      fallback: (channel) => programmes.get(channel)!.fallback,
      isSourceLost: (channel) => programmes.get(channel)!.isSourceLost,
      streamTitle: (channel) => {
        const { heard, heardTitle } = programmes.get(channel)!.switch;
        return heard === null || heardTitle === undefined ? null : plainTitle(heardTitle, heard, parts.textBytes);
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
    const { engine, feed, channels: programmes, clock } = this.#parts;
    for (const [channel, programme] of programmes) {
      const state = engine.state(channel);
      if (state.now !== null) {
        const view = this.#view(state.now);
        feed.set(channel, 'now', view);
        programme.audio.title(view);
      }
      const next = currentNext(state, clock.wallMs());
      if (next !== null) feed.set(channel, 'next', this.#view(next));
    }
    await Promise.all([...programmes.keys()].map((channel) => this.#agenda.look(channel)));
  }

  /** Whether the token may push to the channel. Finding out takes the same time for an unknown channel. */
  authorizes(channel: string, token: string): boolean {
    const programme = this.#parts.channels.get(channel);
    return programme === undefined ? secretMatches([], token) : programme.authorizesPush(token);
  }

  /** Takes a push; resolves with the answer's JSON after commit and readers. Rejects with a Refusal. */
  async push(channel: string, input: PushInput): Promise<string> {
    if (!this.#parts.channels.get(channel)!.titlesFrom.includes('metapush')) {
      throw new Refusal('invalid', 'This channel takes no pushed titles: metapush is not in its titlesFrom.');
    }
    const { engine, channels: programmes, heldPushes } = this.#parts;
    const rules = { holdSeconds: programmes.get(channel)!.holdSeconds, heldPushes };
    // One that was held up to this moment comes before it.
    void this.#agenda.look(channel);
    let pushed: Pushed | undefined;
    await engine.update(channel, (state) => (pushed = acceptPush(state, input, this.#moment(channel), rules)).change);
    if (pushed!.isFarAhead) this.#farAhead.count(channel);
    return this.#view(pushed!.answer).pushAnswer();
  }

  /** Channel → how many pushes had a time too far ahead, for metrics. */
  get farAhead(): ReadonlyMap<string, { readonly count: number }> {
    return this.#farAhead.counts;
  }

  /** Channel → titles of its source that came past the limit, for metrics. */
  get heldTitles(): ReadonlyMap<string, { readonly count: number }> {
    return this.#heldTitles.counts;
  }

  /**
   * Takes a title of a source, in its stream or beside it. Resolves when it is accepted or passed over, or at once when it has to
   * wait. Never rejects: such a title has nobody to answer to.
   */
  readonly streamTitle = async (channel: string, told: SourceTitle, source: Source): Promise<void> => {
    const title = plainTitle(told, source, this.#parts.textBytes);
    if (title === null) return;
    await this.#titleRate.take(channel, title.source, () => this.#commitTitle(channel, title, source));
  };

  /** Whether it has changed something, or should have. */
  async #commitTitle(channel: string, title: PlainTitle, source: Source): Promise<boolean> {
    const { engine, channels: programmes, log } = this.#parts;
    const { heard } = programmes.get(channel)!.switch;
    // It had to wait, and another source is heard meanwhile. An encoder's may be told without one.
    if (source !== heard && (source.kind !== 'encoder' || source.state === 'up')) return false;
    try {
      const change = await engine.update(channel, (state) =>
        acceptTitle(state, title, this.#moment(channel), this.#trust(channel)),
      );
      return change !== null;
    } catch (error) {
      log.warn({ channel, err: error }, 'a title from the stream was not taken');
      return true;
    }
  }

  /** Commits the titles that wait. */
  async close(): Promise<void> {
    await this.#titleRate.close();
  }

  /** A committed change takes effect here: the tape first, then the readers. */
  deliver(channel: string, change: Change): void {
    const { watchdog } = this.#parts.clock;
    const startMs = watchdog.begin();
    this.#takeEffect(channel, change);
    if (watchdog.end('change', startMs)) watchdog.blame(channel);
  }

  #takeEffect(channel: string, change: Change): void {
    const { feed, listenerFeed, channels: programmes, sessions, log } = this.#parts;
    void this.#agenda.look(channel);
    if (change.state.next === null) feed.set(channel, 'next', null);
    if (change.record === null) return;
    const view = this.#view(change.record);
    const { type, source } = change.record;
    if (type === 'now') programmes.get(channel)!.audio.title(view);
    feed.publish(view);
    if (type === 'next') listenerFeed.next(view, sessions);
    log.info({ channel, type, source, title: view.title }, 'title');
  }

  /** Another source of a channel is heard, or none. */
  readonly sourceChanged = (channel: string): void => {
    void this.#agenda.lookAtSource(channel);
  };

  /** Once a second: what is due happens, and a next whose time has passed is dropped. */
  tidy(): void {
    const { engine, feed, channels: programmes, clock } = this.#parts;
    for (const channel of programmes.keys()) {
      void this.#agenda.look(channel);
      void this.#agenda.lookAtSource(channel);
      if (feed.last(channel, 'next') == null) continue;
      if (currentNext(engine.state(channel), clock.wallMs()) === null) feed.set(channel, 'next', null);
    }
  }

  #trust(channel: string): TrustRules {
    const { titlesFrom, switch: audio, fallback } = this.#parts.channels.get(channel)!;
    const { pushHoldSeconds, graceSeconds } = this.#parts.rules;
    return {
      titlesFrom,
      heard: audio.heard === null ? null : tellerOf(audio.heard),
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
    return { channel, wallMs, newId: randomUUID, ageMs: (now) => this.#agenda.ageMs(channel, now) };
  }
}

/** A title as a source told it, each part cut at `textBytes`; null: it has none to tell. */
function plainTitle(told: SourceTitle, source: Source, textBytes: number): PlainTitle | null {
  const from = tellerOf(source);
  if (from === null) return null;
  // Icecast writes as entities what its Latin-1 does not have.
  const read = from === 'upstream' ? readEntities : (text: string) => text;
  const title =
    typeof told === 'string'
      ? splitTitle(read(cleanText(told)))
      : { ...told, artist: read(told.artist), song: read(told.song) };
  const [artist, song] = [cutText(title.artist, textBytes), cutText(title.song, textBytes)];
  return { ...title, artist, song, source: from };
}

/** Who speaks when this source tells a title; null: it has none to tell. */
function tellerOf(source: Source): PlainTitle['source'] | null {
  if (source.kind === 'file') return null;
  return source.kind === 'pull' ? 'upstream' : 'encoder';
}
