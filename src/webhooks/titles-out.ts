/**
 * The webhooks of all channels. They are readers of a channel's feed, with its delay (src/titles/README.md, "The delay of readers"), in the process
 * with the channels. Of several machines one sends the titles of a channel.
 *
 * Invariant: a channel without webhooks is not in the feed here, so its titles cost one lookup. Made by app/hub/hub-webhooks.ts.
 */

import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import { channelsOf } from '../config/adopt.js';
import type { LoadedConfig } from '../config/load.js';
import { remade } from '../config/same.js';
import type { TitleWebhookConfig } from '../config/title-webhooks-config.js';
import { Feed } from '../feed/feed.js';
import type { TrackType } from '../metadata/record.js';
import type { ChannelFace, RecordView } from '../metadata/view.js';
import type { DeliveryOutcome } from '../net/outbound/delivery.js';
import type { Change } from '../now-playing/state.js';
import type { States } from '../titles/engine.js';
import { type TitleReaderParts, TitleReaders } from '../titles/title-readers.js';
import { TitleWebhook } from './title-webhook.js';

/** Decides which machine sends the titles of a channel. */
export interface Turns {
  has(channel: string): boolean;
  /** Reports that the titles up to this version of the channel's state were sent. */
  did(channel: string, version: number): void;
  /** Sets the channels with webhooks. */
  set(what: 'webhooks', channels: Iterable<string>): void;
}

export interface TitlesOutParts extends Pick<TitleReaderParts, 'moments' | 'delayMs' | 'offsetMs' | 'max'> {
  /** The configuration in force, which a reload changes in place. */
  readonly config: LoadedConfig;
  readonly clock: Clock;
  readonly log: Log;
  /** The faces of all channels; changes in place. */
  readonly faces: ReadonlyMap<string, ChannelFace>;
  readonly states: States;
  /** Null: this machine is alone. */
  readonly turns: Turns | null;
}

interface ChannelOut {
  made: readonly TitleWebhookConfig[];
  webhooks: readonly TitleWebhook[];
  /** The version in force when the webhooks were configured. */
  sinceVersion: number;
  readonly end: () => void;
}

const TYPES: readonly TrackType[] = ['next', 'now'];

export class TitlesOut {
  readonly #parts: TitlesOutParts;
  readonly #channels = new Map<string, ChannelOut>();
  readonly #faces = new Map<string, ChannelFace>();
  readonly #feed = new Feed();
  readonly #readers: TitleReaders;
  #isClosed = false;

  constructor(parts: TitlesOutParts) {
    this.#parts = parts;
    this.#readers = new TitleReaders({ ...parts, feed: this.#feed, faces: this.#faces });
  }

  /** A committed change, after it was delivered to the readers. @param view of its record, if it has one */
  deliver(channel: string, change: Change, view: RecordView | null): void {
    const out = this.#channels.get(channel);
    if (out === undefined) return;
    if (view !== null && view.record.version <= out.sinceVersion) {
      // It was committed, but not delivered, when the webhooks were configured.
      out.sinceVersion = view.record.version - 1;
      for (const webhook of out.webhooks) webhook.wasSent(view.record.type, null);
    }
    this.#readers.deliver(channel, change, view);
  }

  /** Called once a second. */
  tidy(): void {
    if (this.#channels.size > 0) this.#readers.tidy(this.#parts.states);
  }

  /**
   * This machine sends the titles of a channel from now on.
   * @param version up to which another machine has sent them; null: none has since the webhooks were configured
   */
  taken(channel: string, version: number | null): void {
    const out = this.#channels.get(channel);
    if (out === undefined) return;
    const sent = version ?? out.sinceVersion;
    for (const type of TYPES) {
      const view = this.#feed.last(channel, type) ?? null;
      if (view !== null && view.record.version > sent) this.#send(channel, view);
      else for (const webhook of out.webhooks) webhook.wasSent(type, view);
    }
  }

  /** The version of the last title of a channel that its readers have; 0: none. */
  versionOf(channel: string): number {
    return Math.max(0, ...TYPES.map((type) => this.#feed.last(channel, type)?.record.version ?? 0));
  }

  /** Each webhook: its channel, its place in the configuration, from 1, and what became of titles. */
  *deliveries(): Iterable<{
    readonly channel: string;
    readonly webhook: number;
    readonly waiting: number;
    readonly counts: Readonly<Record<DeliveryOutcome, number>>;
  }> {
    for (const [channel, { webhooks }] of this.#channels) {
      for (const [i, { waiting, counts }] of webhooks.entries()) yield { channel, webhook: i + 1, waiting, counts };
    }
  }

  /** Drops all that is not delivered yet. Idempotent. */
  close(): void {
    this.#isClosed = true;
    for (const key of this.#channels.keys()) this.#end(key);
  }

  /** At the start, and when another configuration is in force. Webhooks that stay keep their waiting titles. */
  follow(): void {
    const { config, states, faces, turns } = this.#parts;
    if (this.#isClosed) return;
    const wanted = new Map([...channelsOf(config)].filter(([, { webhooks }]) => webhooks.length > 0));
    const removed = [...this.#channels.keys()].filter((key) => !wanted.has(key));
    const added = [...wanted.keys()].filter((key) => !this.#channels.has(key));
    this.#readers.forget(removed);
    for (const key of removed) this.#end(key);
    this.#faces.clear();
    for (const key of wanted.keys()) this.#faces.set(key, faces.get(key)!);
    const stations = new Map<string, ChannelFace[]>();
    for (const face of this.#faces.values()) stations.set(face.station, [...(stations.get(face.station) ?? []), face]);
    this.#feed.change(stations);
    this.#readers.begin(added, states);
    for (const key of added) this.#begin(key);
    for (const [key, { webhooks }] of wanted) this.#refresh(key, this.#channels.get(key)!, webhooks);
    turns?.set('webhooks', wanted.keys());
  }

  #begin(key: string): void {
    const end = this.#feed.watchChannel(key, {
      // What is in force was sent before.
      onFirsts: () => undefined,
      onMessage: ({ slot }) => {
        const view = this.#feed.last(key, slot.endsWith(' next') ? 'next' : 'now');
        if (view != null) this.#onTitle(key, view);
      },
    });
    this.#channels.set(key, { made: [], webhooks: [], sinceVersion: this.versionOf(key), end });
  }

  #end(key: string): void {
    const out = this.#channels.get(key)!;
    this.#channels.delete(key);
    out.end();
    for (const webhook of out.webhooks) webhook.close();
  }

  #onTitle(channel: string, view: RecordView): void {
    const { turns } = this.#parts;
    if (turns !== null && !turns.has(channel)) return;
    this.#send(channel, view);
    turns?.did(channel, view.record.version);
  }

  #send(channel: string, view: RecordView): void {
    for (const webhook of this.#channels.get(channel)?.webhooks ?? []) webhook.offer(view);
  }

  #refresh(channel: string, out: ChannelOut, configs: readonly TitleWebhookConfig[]): void {
    if (configs === out.made) return;
    out.made = configs;
    const { all, gone } = remade(out.webhooks, configs, (config) => this.#make(channel, config));
    out.webhooks = all;
    for (const webhook of gone) webhook.close();
  }

  #make(channel: string, config: TitleWebhookConfig): TitleWebhook {
    const { clock, log } = this.#parts;
    // A reload may give it another place.
    const number = () => this.#channels.get(channel)!.webhooks.indexOf(made) + 1;
    const fields = () => ({ channel, webhook: number(), format: config.format });
    const made: TitleWebhook = new TitleWebhook(config, clock, {
      onTrouble: (trouble) => log.warn({ ...fields(), trouble }, 'a webhook does not accept titles: retrying'),
      onRecovered: () => log.info(fields(), 'a webhook accepts titles again'),
    });
    for (const type of TYPES) made.wasSent(type, this.#feed.last(channel, type) ?? null);
    return made;
  }
}
