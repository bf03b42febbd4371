/**
 * Covers for titles that came without one: by id from a folder, by artist and song from a hook. A title is published first; its cover follows as a
 * correction. The hook is asked about a `next` ahead, so that the answer is there when it begins.
 *
 *   title, committed and delivered ─► folder ─► hook (remembers) ─► engine.update: a correction, unless another title is in force
 *
 * Invariant: nothing waits for a cover. Made by app/hub/hub-covers.ts.
 */

import type { Alarm, Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import { Refusal } from '../base/refusal.js';
import { channelsOf } from '../config/adopt.js';
import type { CoversConfig } from '../config/covers-config.js';
import type { LoadedConfig } from '../config/load.js';
import { isInRanges } from '../config/number-range.js';
import { isSame } from '../config/same.js';
import { isIdSent, isSamePlay, type TrackRecord } from '../metadata/record.js';
import type { RecordView } from '../metadata/view.js';
import { realNow } from '../now-playing/effect.js';
import { giveCover } from '../now-playing/late-cover.js';
import type { Engine } from '../titles/engine.js';
import type { Moments } from '../titles/moments.js';
import { pictureOf, pictureUrlOf } from './cover-folder.js';
import { AGAIN_MS, CoverHook, type CoverOutcome } from './cover-hook.js';

export interface CoversParts {
  /** The configuration in force, which a reload changes in place. */
  readonly config: LoadedConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly engine: Engine;
  readonly moments: Moments;
  /** Whether this machine looks for a channel's covers: of several machines one does. */
  isTurn(channel: string): boolean;
  /** Channels with covers, after a change. */
  onChannels(channels: Iterable<string>): void;
  onError(error: unknown): void;
}

interface ChannelCovers {
  /** The configuration that this was made for. */
  readonly config: CoversConfig;
  readonly hook: CoverHook | null;
  /** Set if the question about the last title has failed. */
  again: Alarm | null;
}

export class Covers {
  readonly #parts: CoversParts;
  readonly #channels = new Map<string, ChannelCovers>();
  #isClosed = false;

  constructor(parts: CoversParts) {
    this.#parts = parts;
  }

  /** A committed title, after it was delivered. */
  onTitle(channel: string, view: RecordView): void {
    const covers = this.#channels.get(channel);
    if (covers === undefined || view.cover !== '' || view.title === '' || !this.#parts.isTurn(channel)) return;
    const { source, etype } = view.record;
    if (source !== 'fallback' && isInRanges(covers.config.etypes, etype)) void this.#look(covers, view.record);
  }

  /** What became of questions, by channel. */
  *counts(): Iterable<readonly [channel: string, counts: Readonly<Record<CoverOutcome, number>>]> {
    for (const [channel, { hook }] of this.#channels) if (hook !== null) yield [channel, hook.counts];
  }

  /** At the start, and when another configuration is in force. A hook that stays the same keeps its cached answers. */
  follow(): void {
    const { config, onChannels } = this.#parts;
    if (this.#isClosed) return;
    const wanted = channelsOf(config);
    for (const [key, covers] of this.#channels) {
      if (isSame(covers.config, wanted.get(key)?.covers)) continue;
      end(covers);
      this.#channels.delete(key);
    }
    for (const [key, { covers }] of wanted) {
      // A reload changes the section in place.
      if (covers !== undefined && !this.#channels.has(key)) this.#channels.set(key, this.#make(key, { ...covers }));
    }
    onChannels(this.#channels.keys());
  }

  /** Idempotent. */
  close(): void {
    this.#isClosed = true;
    for (const covers of this.#channels.values()) end(covers);
    this.#channels.clear();
  }

  #make(channel: string, config: CoversConfig): ChannelCovers {
    const { clock, log, config: all } = this.#parts;
    const { hook } = config;
    if (hook === undefined) return { config, hook: null, again: null };
    const output = {
      onTrouble: (trouble: string) => log.warn({ channel, trouble }, 'the cover hook does not answer'),
      onRecovered: () => log.info({ channel }, 'the cover hook answers again'),
    };
    const made = new CoverHook(channel, { ...config, hook }, () => all.limits.urlBytes, clock, output);
    return { config, hook: made, again: null };
  }

  /** Never rejects. */
  async #look(covers: ChannelCovers, record: TrackRecord): Promise<void> {
    const {
      hook,
      config: { folder },
    } = covers;
    const { engine, moments, config, onError } = this.#parts;
    const { channel, id, type } = record;
    try {
      const name = folder !== undefined && isIdSent(record) ? await pictureOf(folder, id) : null;
      const cover = name === null ? await hook?.coverOf(record) : pictureUrlOf(config.streams.publicUrl, channel, name);
      if (type === 'next' || cover === undefined || cover === '' || this.#isClosed) return;
      if (cover === null) this.#lookAgain(covers, record);
      else await engine.update(channel, (state) => giveCover(state, record, cover, moments.of(channel)));
    } catch (error) {
      if (!(error instanceof Refusal)) onError(error);
    }
  }

  /** Looks again in a minute, if the title is still in force then. */
  #lookAgain(covers: ChannelCovers, record: TrackRecord): void {
    const { clock, engine, isTurn } = this.#parts;
    const { channel } = record;
    const onAlarm = () => {
      if (this.#channels.get(channel) !== covers || !isTurn(channel)) return;
      const now = realNow(engine.state(channel));
      if (now?.cover === '' && isSamePlay(now, record)) void this.#look(covers, now);
    };
    covers.again?.cancel();
    covers.again = clock.alarm(clock.now() + AGAIN_MS, { onAlarm });
  }
}

function end({ hook, again }: ChannelCovers): void {
  hook?.close();
  again?.cancel();
}
