/**
 * The one way for metadata to change: a push, a title of a source or a moment by the clock is decided by the state machine,
 * committed by the engine, and comes back through `deliver` to the tape and the readers (src/titles/README.md, "The walk of a change").
 * Here is what happens where the channels are: titles of sources, moments by the clock, marks on the tapes. Pushes: pushes.ts; readers: readers.ts.
 *
 * Invariant: commit, then the tape, then the readers (unless theirs is delayed), then the answer. Made by app/hub/titles.ts.
 */

import type { LateTitle } from '../audio/playable-audio.js';
import { ChannelCounter } from '../base/channel-counter.js';
import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import type { Channel } from '../channel/channel.js';
import type { TrackRecord } from '../metadata/record.js';
import { type ChannelFace, RecordView } from '../metadata/view.js';
import type { Rate } from '../net/limits/rate.js';
import { agoOf, placeMs } from '../now-playing/effect.js';
import { acceptTitle, type PlainTitle } from '../now-playing/now-playing.js';
import type { Change, ChannelState } from '../now-playing/state.js';
import type { TrustRules } from '../now-playing/trust.js';
import type { Source, SourceTitle } from '../source/source.js';
import type { Engine } from './engine.js';
import type { Moments } from './moments.js';
import { TitleScheduler } from './scheduler.js';
import { plainTitle, titleOriginOf } from './source-title.js';
import { type Speaker, Speakers } from './speakers.js';
import { TitleRate } from './title-rate.js';

export interface TitleServiceParts {
  readonly engine: Engine;
  readonly moments: Moments;
  readonly faces: ReadonlyMap<string, ChannelFace>;
  readonly clock: Clock;
  readonly log: Log;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly rules: Pick<TrustRules, 'pushHoldSeconds' | 'graceSeconds'>;
  /** Limit of an artist or a song from a source; longer ones are cut. */
  readonly textBytes: number;
  /** How often titles of encoders and upstreams are taken, by channel and origin. */
  readonly sourceTitleRate: Rate;
  /** Whether titles of this channel go by the sources here. Absent: always; of several machines it is one. */
  goesBySources?(channel: string): boolean;
  /** Listeners may have been sent the place of a title. */
  onLate(channel: string, late: LateTitle): void;
  /** Called with what should not happen. */
  onError(error: unknown): void;
}

export class TitleService {
  readonly #parts: TitleServiceParts;
  readonly #engine: Engine;
  readonly #scheduler: TitleScheduler;
  /** Titles of encoders and upstreams that came past the limit. */
  readonly #delayedTitles: ChannelCounter;
  readonly #titleRate: TitleRate;
  /** Titles in which placeholders were not filled in. */
  readonly #unfilledTitles: ChannelCounter;
  readonly #speakers: Speakers;

  constructor(parts: TitleServiceParts) {
    const { clock, channels, log, engine, moments } = parts;
    this.#parts = parts;
    this.#engine = engine;
    this.#speakers = new Speakers(clock);
    this.#delayedTitles = new ChannelCounter(clock, (channel, titles) =>
      log.warn({ channel, titles }, 'titles of its source come past limits.pushesPerMinute: only the newest counts'),
    );
    this.#unfilledTitles = new ChannelCounter(clock, (channel, titles, part) =>
      log.warn(
        { channel, titles, part },
        'titles of its source have placeholders that were not filled in: they are left out',
      ),
    );
    this.#titleRate = new TitleRate(clock, parts.sourceTitleRate, (channel) => this.#delayedTitles.count(channel));
    this.#scheduler = new TitleScheduler({
      engine,
      clock,
      moments,
      holdSeconds: (channel) => channels.get(channel)!.served.rules.holdSeconds,
      fallback: (channel) => channels.get(channel)!.served.rules.fallback,
      isSourceLost: (channel) => channels.get(channel)!.isSourceLost,
      streamTitle: (channel) => {
        const { onAir, titleOnAir } = channels.get(channel)!.switch;
        if (onAir === null || titleOnAir === undefined || !this.#goesBySources(channel)) return null;
        const title = plainTitle(titleOnAir, onAir, parts.textBytes);
        return title && { ...title, saidBy: this.#speaker(channel)?.name };
      },
      speaker: (channel) => this.#speaker(channel),
      trust: (channel) => this.#trust(channel),
      onError: parts.onError,
    });
  }

  /**
   * Puts what was committed before back on the tapes; then lets happen, in order, what came due while the server was down. After the readers have
   * it, and before anybody can read.
   */
  async restore(): Promise<void> {
    await this.begin([...this.#parts.channels.keys()]);
  }

  #restoreTape(key: string): void {
    if (!this.#parts.channels.get(key)!.isElsewhere) this.fed(key);
  }

  /** The channel is fed here from now on: the title in force is on its tape. */
  fed(key: string): void {
    const [channel, face] = [this.#parts.channels.get(key), this.#parts.faces.get(key)];
    const { now } = this.#engine.state(key);
    // It may have gone meanwhile.
    if (now !== null && channel !== undefined && face !== undefined) channel.audio.title(new RecordView(now, face));
  }

  /** Does what is due on a channel. */
  check(channel: string): void {
    if (this.#parts.channels.has(channel)) void this.#scheduler.check(channel);
  }

  /** Channels that are new: what was committed of them before is on their tapes again. Before their sources run. */
  begin(keys: readonly string[]): Promise<unknown> {
    for (const key of keys) this.#restoreTape(key);
    return Promise.all(keys.map((key) => this.#scheduler.check(key)));
  }

  /** Channels that have gone. */
  forget(keys: readonly string[]): void {
    for (const key of keys) {
      this.#scheduler.forget(key);
      this.#speakers.forget(key);
    }
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
    const title = plainTitle(sourceTitle, source, this.#parts.textBytes, (part) =>
      this.#unfilledTitles.count(channel, part),
    );
    if (title === null || !this.#takesTitles(channel, source)) return;
    await this.#titleRate.offer(channel, title.source, () => this.#commitTitle(channel, title, source));
  };

  /** Whether it has changed something, or should have. */
  async #commitTitle(channel: string, title: PlainTitle, source: Source): Promise<boolean> {
    const { channels, log } = this.#parts;
    const known = channels.get(channel);
    if (known === undefined) return false;
    const { onAir } = known.switch;
    // It had to wait, and another source is on air by now. An encoder's title may come while no source is connected.
    if (!known.isElsewhere && source !== onAir && (source.kind !== 'encoder' || source.state === 'up')) {
      log.debug(
        { channel, source: title.source, onAir: onAir?.kind ?? null },
        'a title was not taken: its source is not on air',
      );
      return false;
    }
    // Where no encoder is connected, another program speaks.
    const saidBy = source === onAir && source.state === 'up' ? this.#speaker(channel)?.name : undefined;
    try {
      const change = await this.#engine.update(channel, (state) =>
        acceptTitle(state, { ...title, saidBy }, this.#parts.moments.of(channel), this.#trust(channel)),
      );
      if (change === null) {
        const { now } = this.#engine.state(channel);
        const fields = { channel, source: title.source, inForce: now?.source ?? null };
        log.debug(fields, 'a title was not taken: it is in force, or one that is trusted more is');
      }
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

  /** A committed change takes effect on the tape. @param view of its record, where it has one; called before the readers' */
  deliver(channel: string, { record, state, connection }: Change, view: RecordView | null): void {
    this.check(channel);
    if (record === null || view === null) return;
    const { type, source } = record;
    const known = this.#parts.channels.get(channel)!;
    // Where another machine feeds it the title is on its tape already.
    if (type === 'now' && !known.isElsewhere) {
      const late = known.audio.title(view, this.#agoMs(channel, state, source));
      if (late !== null) this.#parts.onLate(channel, late);
    }
    this.#parts.log.info({ channel, connection, type, source, title: view.title }, 'title');
  }

  /** How long ago the audio of the title on air came in, milliseconds; less than 0: it will. */
  #agoMs(channel: string, state: ChannelState, source: TrackRecord['source']): number {
    const { channels, clock } = this.#parts;
    const offsetMs = channels.get(channel)!.served.titleOffsetMs(source);
    return agoOf(placeMs(state, offsetMs), clock.wallMs(), offsetMs);
  }

  /** Another source of a channel is on air, or none. */
  readonly sourceChanged = (channel: string): void => {
    if (this.#parts.channels.has(channel)) this.#checkSource(channel);
  };

  #checkSource(channel: string): void {
    if (this.#goesBySources(channel)) void this.#scheduler.checkSource(channel);
  }

  /** Where another machine feeds the channel, its encoder's titles may come here. */
  #takesTitles(channel: string, { kind }: Source): boolean {
    const isElsewhere = this.#parts.channels.get(channel)?.isElsewhere ?? false;
    return this.#goesBySources(channel) || (isElsewhere && kind === 'encoder');
  }

  #goesBySources(channel: string): boolean {
    return this.#parts.goesBySources?.(channel) ?? true;
  }

  /** The source on air, whose titles they are. */
  #speaker(channel: string): Speaker | undefined {
    const known = this.#parts.channels.get(channel);
    if (known === undefined) return undefined;
    if (known.isElsewhere || !this.#goesBySources(channel)) return this.#speakers.lose(channel);
    return this.#speakers.see(channel, known.switch.onAir, this.#engine.state(channel));
  }

  /** Once a second: does what is due. */
  tidy(): void {
    for (const channel of this.#parts.channels.keys()) {
      void this.#scheduler.check(channel);
      this.#checkSource(channel);
    }
  }

  #trust(channel: string): TrustRules {
    const { served, switch: sources, isElsewhere } = this.#parts.channels.get(channel)!;
    const { titlesFrom, fallback } = served.rules;
    const { onAir } = sources;
    const { pushHoldSeconds, graceSeconds } = this.#parts.rules;
    return {
      titlesFrom,
      originOnAir: isElsewhere ? 'encoder' : onAir === null ? null : titleOriginOf(onAir),
      pushHoldSeconds,
      // Where a push would give way to the fallback title, it gives way to the stream's.
      graceSeconds: Math.min(graceSeconds, fallback?.graceSeconds ?? graceSeconds),
    };
  }
}
