/**
 * A channel as clients meet it: its mounts, its rules, how its encoder logs in. Made from the configuration, the channel's audio, and what changes
 * while it runs; it knows no source, so that it is the same in every process that serves the channel.
 */

import type { PlayableAudio } from '../audio/playable-audio.js';
import type { ChannelConfig, Config } from '../config/schema.js';
import { secretMatches } from '../config/secret.js';
import { type HeadFacts, mergeFacts } from '../listener/head.js';
import type { TrackRecord } from '../metadata/record.js';
import type { SourceFacts } from '../source/facts.js';
import type { SourceTitle } from '../source/source.js';
import type { EncoderMount, Mount } from './mount.js';
import { ChannelRules } from './rules.js';

/** What changes of a channel while it runs, by its sources. Read when it is needed. */
export interface ChannelLive {
  /** Since when something has fed it without a gap, unix milliseconds; null: nothing does. */
  readonly onAirSinceMs: number | null;
  /** Since when listeners have had nothing from it, monotonic milliseconds; +∞ while there is audio, if only in the delay line. */
  readonly silentSinceMs: number;
  /** Which of its sources is on air, as the configuration counts them; null: none. */
  readonly onAir: number | null;
  /** Of the source on air; undefined: not known yet. */
  readonly contentType: string | undefined;
  /** What the source on air says of itself. */
  readonly facts: SourceFacts | undefined;
  /** Whether waiting for audio makes sense. */
  readonly hopeful: boolean;
}

export interface ServedParts {
  readonly audio: PlayableAudio;
  readonly live: ChannelLive;
  /** As EncoderMount has it. */
  sendTitle(title: SourceTitle): Promise<boolean>;
}

export class ServedChannel {
  readonly key: string;
  readonly rules: ChannelRules;
  readonly audio: PlayableAudio;
  readonly live: ChannelLive;
  /** The first is its key. */
  readonly mounts: readonly Mount[];
  /** Undefined: the channel takes no encoder. */
  readonly encoder: EncoderMount | undefined;
  readonly #config: ChannelConfig;

  constructor(key: string, config: ChannelConfig, all: Config, parts: ServedParts) {
    this.key = key;
    this.rules = new ChannelRules(config, all);
    this.audio = parts.audio;
    this.live = parts.live;
    this.#config = config;
    this.encoder = encoderMount(key, config, parts);
    this.mounts = this.#makeMounts(all);
  }

  /**
   * How much later than its sender says the audio of a title of this origin comes in, milliseconds: as the source on air has it, else the channel.
   * What stands in a stream stands at its place.
   */
  titleOffsetMs(origin: TrackRecord['source']): number {
    const { onAir, contentType } = this.live;
    if (origin === 'fallback') return 0;
    const own = onAir === null ? undefined : this.#config.sources[onAir]!.titleOffsetMs;
    const isOggEncoder = onAir !== null && origin === 'encoder' && contentType === 'audio/ogg';
    return own ?? (origin === 'upstream' || isOggEncoder ? 0 : this.#config.titleOffsetMs);
  }

  #makeMounts(all: Config): Mount[] {
    const configured = headFacts(this.key, this.#config, all);
    const { audio, live } = this;
    const onDemand = this.#config.sources.some((source) => source.type === 'pull' && source.onDemand);
    let source: SourceFacts | undefined;
    let facts = mergeFacts(configured, source);
    const factsNow = () => {
      if (source === live.facts) return facts;
      source = live.facts;
      facts = mergeFacts(configured, source);
      return facts;
    };
    return [`/${this.key}`, ...this.#config.mounts].map((path) => ({
      path,
      audio,
      takesEncoder: this.encoder !== undefined,
      get facts() {
        return factsNow();
      },
      access: this.#config.access,
      maxListeners: this.#config.maxListeners ?? Number.POSITIVE_INFINITY,
      maxListenMs: (this.#config.maxListenSeconds ?? all.streams.maxListenSeconds ?? Number.POSITIVE_INFINITY) * 1000,
      overflowUrl: this.#config.overflowUrl ?? all.streams.overflowUrl,
      get hasAudio() {
        return live.silentSinceMs === Number.POSITIVE_INFINITY;
      },
      // Who waits wakes a source on demand; where that is in another process, it is known here a moment later.
      get hopeful() {
        return onDemand || live.hopeful;
      },
      onDemand,
    }));
  }
}

function encoderMount(key: string, channel: ChannelConfig, parts: ServedParts): EncoderMount | undefined {
  const config = channel.sources.find((candidate) => candidate.type === 'encoder');
  if (config === undefined) return undefined;
  return {
    channelKey: key,
    hasPassword: (sha256) => secretMatches([config.password], sha256),
    hasUser: (user) => user === 'source' || user === config.user,
    // Both are always compared, so that a wrong user name takes the same time as a wrong password.
    authorizes: (user, password) => secretMatches([config.password], password) && user === config.user,
    takesTitles: channel.titlesFrom.includes('encoder'),
    sendTitle: (title) => parts.sendTitle(title),
  };
}

function headFacts(key: string, config: ChannelConfig, all: Config): HeadFacts {
  const headers = Object.entries(all.streams.headers).map(([name, value]) => [
    name,
    value.replaceAll('{channelkey}', key),
  ]);
  return {
    key,
    name: config.name,
    genre: config.genre,
    url: config.url,
    description: config.description,
    public: config.public,
    bitrateKbps: config.bitrateKbps ?? 0,
    audioInfo: '',
    sampleRate: 0,
    channels: 0,
    server: all.streams.server,
    headers: Object.fromEntries(headers),
  };
}
