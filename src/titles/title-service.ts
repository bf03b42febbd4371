/**
 * The only way to change metadata: a push, a title of a source or a scheduled change is decided by the state machine,
 * committed by the engine, and comes back through `deliver` to the tape and the readers (src/titles/README.md, "The walk of a change").
 * This is the part where the channels are: titles of sources, scheduled changes, marks on the tapes. Pushes: pushes.ts; readers: title-readers.ts.
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
  /** Limits titles of encoders and upstreams, by channel and origin. */
  readonly sourceTitleRate: Rate;
  /** Whether this node's sources decide on titles of the channel: of several machines one does. Absent: always. */
  goesBySources?(channel: string): boolean;
  /** Other machines have sources of their own for the channels, and titles are common. */
  readonly hasOtherSources?: boolean;
  /** A title came after its place was sent to listeners. */
  onLate(channel: string, late: LateTitle): void;
  /** Called with unexpected errors. */
  onError(error: unknown): void;
}

export class TitleService {
  readonly #parts: TitleServiceParts;
  readonly #engine: Engine;
  readonly #scheduler: TitleScheduler;
  /** Titles of encoders and upstreams beyond the limit. */
  readonly #delayedTitles: ChannelCounter;
  readonly #titleRate: TitleRate;
  /** The play and title of each channel and type that was logged last, since a late cover is not another title. */
  readonly #said = new WeakMap<Channel, Map<TrackRecord['type'], string>>();
  /** Titles with unfilled placeholders. */
  readonly #unfilledTitles: ChannelCounter;
  readonly #speakers: Speakers;
  /** The last title of a channel's source that was ignored because another machine fed the channel: a source sends it once. */
  readonly #missed = new Map<string, { readonly title: SourceTitle; readonly source: Source }>();

  constructor(parts: TitleServiceParts) {
    const { clock, channels, log, engine, moments } = parts;
    this.#parts = parts;
    this.#engine = engine;
    this.#speakers = new Speakers(clock);
    this.#delayedTitles = new ChannelCounter(clock, (channel, titles) =>
      log.warn({ channel, titles }, 'titles from its source exceed limits.pushesPerMinute: only the newest counts'),
    );
    this.#unfilledTitles = new ChannelCounter(clock, (channel, titles, part) =>
      log.warn(
        { channel, titles, part },
        'titles from its source contain placeholders that were not filled in: ignoring these parts',
      ),
    );
    this.#titleRate = new TitleRate(clock, parts.sourceTitleRate, (channel) => this.#delayedTitles.count(channel));
    this.#scheduler = new TitleScheduler({
      engine,
      clock,
      moments,
      holdSeconds: (channel) => channels.get(channel)!.served.rules.holdSeconds,
      fallback: (channel) => channels.get(channel)!.served.rules.fallback,
      firstTitle: (channel) => channels.get(channel)!.served.rules.firstTitle,
      isSourceLost: (channel) => channels.get(channel)!.isSourceLost,
      streamTitle: (channel) => {
        const { onAir, titleOnAir } = channels.get(channel)!.switch;
        if (onAir === null || titleOnAir === undefined || !this.#goesBySources(channel)) return null;
        const title = plainTitle(titleOnAir, onAir, parts.textBytes);
        return title && { ...title, ...this.#saidBy(channel) };
      },
      speaker: (channel) => this.#speaker(channel),
      trust: (channel) => this.#trust(channel),
      ...(parts.hasOtherSources && { isOwn: (channel, saidBy) => this.#speakers.isOwn(channel, saidBy) }),
      onError: parts.onError,
    });
  }

  /** At the start, after the readers' `restore`: puts titles back on the tapes, then applies in order what came due meanwhile. */
  async restore(): Promise<void> {
    await this.begin([...this.#parts.channels.keys()]);
  }

  #restoreTape(key: string): void {
    if (!this.#parts.channels.get(key)!.isRemote) this.fed(key);
  }

  /** The channel is fed here from now on: puts the title in force on its tape, and takes the title that its source has sent meanwhile. */
  fed(key: string): void {
    const [channel, face] = [this.#parts.channels.get(key), this.#parts.faces.get(key)];
    const { now } = this.#engine.state(key);
    // It may have been removed meanwhile.
    if (now !== null && channel !== undefined && face !== undefined) channel.audio.title(new RecordView(now, face));
    const missed = this.#missed.get(key);
    this.#missed.delete(key);
    if (missed === undefined || missed.source !== channel?.switch.onAir) return;
    // Once the channel knows it too.
    queueMicrotask(() => void this.streamTitle(key, missed.title, missed.source));
  }

  /** Applies what is due on a channel. */
  check(channel: string): void {
    if (this.#parts.channels.has(channel)) void this.#scheduler.check(channel);
  }

  /** Channels were added, their sources do not run yet: puts committed titles on their tapes. */
  begin(keys: readonly string[]): Promise<unknown> {
    for (const key of keys) this.#restoreTape(key);
    return Promise.all(keys.map((key) => this.#scheduler.check(key)));
  }

  /** Channels were removed. */
  forget(keys: readonly string[]): void {
    for (const key of keys) {
      this.#scheduler.forget(key);
      this.#speakers.forget(key);
      this.#missed.delete(key);
    }
  }

  /** Channel → titles of its source beyond the limit, for metrics. */
  get delayedTitles(): ReadonlyMap<string, { readonly count: number }> {
    return this.#delayedTitles.counts;
  }

  /**
   * A title of a source, in its stream or beside it. Resolves when it is accepted or ignored, or at once if it has to
   * wait. Never rejects.
   */
  readonly streamTitle = async (channel: string, sourceTitle: SourceTitle, source: Source): Promise<void> => {
    const title = plainTitle(sourceTitle, source, this.#parts.textBytes, (part) =>
      this.#unfilledTitles.count(channel, part),
    );
    if (title === null) return;
    if (!this.#takesTitles(channel, source)) {
      this.#missed.set(channel, { title: sourceTitle, source });
      return;
    }
    this.#missed.delete(channel);
    await this.#titleRate.offer(channel, title.source, () => this.#commitTitle(channel, title, source));
  };

  /** Whether it has changed something, or failed to. */
  async #commitTitle(channel: string, title: PlainTitle, source: Source): Promise<boolean> {
    const { channels, log } = this.#parts;
    const known = channels.get(channel);
    if (known === undefined) return false;
    const { onAir } = known.switch;
    // While it waited another source came on air. An encoder's title may come while no source is connected.
    if (!known.isRemote && source !== onAir && (source.kind !== 'encoder' || source.state === 'up')) {
      log.debug(
        { channel, source: title.source, onAir: onAir?.kind ?? null },
        'a title was ignored: its source is not on air',
      );
      return false;
    }
    // Without a connected encoder another program has sent it.
    const saidBy = source === onAir && source.state === 'up' ? this.#saidBy(channel) : {};
    try {
      const change = await this.#engine.update(channel, (state) =>
        acceptTitle(state, { ...title, ...saidBy }, this.#parts.moments.of(channel), this.#trust(channel)),
      );
      if (change === null) {
        const { now } = this.#engine.state(channel);
        const fields = { channel, source: title.source, inForce: now?.source ?? null };
        log.debug(fields, 'a title was ignored: it is current, or a more trusted one is');
      }
      return change !== null;
    } catch (error) {
      log.warn({ channel, err: error }, 'a title from the stream was not accepted');
      return true;
    }
  }

  /** Commits waiting titles, refuses new changes, and waits for those under way. Idempotent. */
  async close(): Promise<void> {
    await this.#titleRate.close();
    await this.#engine.close();
  }

  /** A committed change takes effect on the tape, before the readers get it. @param view of its record, if it has one */
  deliver(channel: string, { record, state, connection }: Change, view: RecordView | null): void {
    this.check(channel);
    if (record === null || view === null) return;
    const { type, source } = record;
    const known = this.#parts.channels.get(channel)!;
    // If another machine feeds the channel, the title is on its tape already.
    if (type === 'now' && !known.isRemote) {
      const late = known.audio.title(view, this.#agoMs(channel, state, source));
      if (late !== null) this.#parts.onLate(channel, late);
    }
    const fields = { channel, connection, type, source, title: view.title };
    if (this.#isSaid(known, record, view.title)) this.#parts.log.debug(fields, 'title corrected');
    else this.#parts.log.info(fields, 'title');
  }

  #isSaid(channel: Channel, { type, id }: TrackRecord, title: string): boolean {
    const said = this.#said.get(channel) ?? new Map<TrackRecord['type'], string>();
    this.#said.set(channel, said);
    const play = `${id} ${title}`;
    const isSaid = said.get(type) === play;
    said.set(type, play);
    return isSaid;
  }

  /** How long ago the audio of the title on air arrived, milliseconds; negative: it will. */
  #agoMs(channel: string, state: ChannelState, source: TrackRecord['source']): number {
    const { channels, clock } = this.#parts;
    const offsetMs = channels.get(channel)!.served.titleOffsetMs(source);
    return agoOf(placeMs(state, offsetMs), clock.wallMs(), offsetMs);
  }

  /** Another source of a channel is on air, or none. */
  readonly sourceChanged = (channel: string): void => {
    if (!this.#parts.channels.has(channel)) return;
    this.#checkSource(channel);
    // A title that it has sent before may be in force again.
    if (this.#parts.channels.get(channel)!.switch.titleOnAir === undefined) this.check(channel);
  };

  #checkSource(channel: string): void {
    if (this.#goesBySources(channel)) void this.#scheduler.checkSource(channel);
  }

  /** An encoder's titles may come here even if another machine feeds the channel. */
  #takesTitles(channel: string, { kind }: Source): boolean {
    const isRemote = this.#parts.channels.get(channel)?.isRemote ?? false;
    return this.#goesBySources(channel) || (isRemote && kind === 'encoder');
  }

  #goesBySources(channel: string): boolean {
    return this.#parts.goesBySources?.(channel) ?? true;
  }

  /** The source on air, as the sender of titles. */
  #speaker(channel: string): Speaker | undefined {
    const known = this.#parts.channels.get(channel);
    if (known === undefined) return undefined;
    if (known.isRemote || !this.#goesBySources(channel)) return this.#speakers.lose(channel);
    return this.#speakers.update(channel, known.switch.onAir, this.#engine.state(channel));
  }

  /** A file begins anew each time it is on air, and so do its plays. */
  #saidBy(channel: string): Pick<PlainTitle, 'saidBy' | 'sinceMs'> {
    const speaker = this.#speaker(channel);
    if (speaker === undefined) return {};
    const { clock, channels } = this.#parts;
    const goesOn = channels.get(channel)!.switch.onAir?.kind !== 'file';
    return { saidBy: speaker.name, ...(goesOn && { sinceMs: clock.wallMs() - clock.now() + speaker.sinceMs }) };
  }

  /** Once a second: applies what is due. */
  tidy(): void {
    for (const channel of this.#parts.channels.keys()) {
      void this.#scheduler.check(channel);
      this.#checkSource(channel);
    }
  }

  #trust(channel: string): TrustRules {
    const { served, switch: sources, isRemote } = this.#parts.channels.get(channel)!;
    const { titlesFrom, fallback } = served.rules;
    const { onAir } = sources;
    const { pushHoldSeconds, graceSeconds } = this.#parts.rules;
    return {
      titlesFrom,
      originOnAir: isRemote ? 'encoder' : onAir === null ? null : titleOriginOf(onAir),
      pushHoldSeconds,
      // A push yields to the stream's title when it would yield to the fallback title.
      graceSeconds: Math.min(graceSeconds, fallback?.graceSeconds ?? graceSeconds),
    };
  }
}
