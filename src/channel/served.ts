/**
 * A channel as clients see it: its mounts, its rules, how its encoder logs in. Made from the configuration, the channel's audio, and its live
 * state; it knows no source, so that it is the same in every process that serves the channel.
 */

import type { PlayableAudio } from '../audio/playable-audio.js';
import { hlsOf } from '../config/hls-config.js';
import type { ChannelConfig, Config } from '../config/schema.js';
import { secretMatches } from '../config/secret.js';
import { type HeadFacts, mergeFacts } from '../listener/cursor/stream-head.js';
import type { TrackRecord } from '../metadata/record.js';
import type { SourceTitle } from '../source/source.js';
import type { SourceFacts } from '../source/source-facts-schema.js';
import type { ChannelLive } from './channel-facts-schema.js';
import type { EncoderMount, Mount } from './mount.js';
import { ChannelRules } from './rules.js';
import { streamInfoHeaders } from './stream-info.js';

export interface ServedParts {
  readonly audio: PlayableAudio;
  readonly live: ChannelLive;
  /** As in EncoderMount. */
  sendTitle(title: SourceTitle, cameMs: number): Promise<boolean>;
}

export class ServedChannel {
  readonly key: string;
  readonly rules: ChannelRules;
  readonly audio: PlayableAudio;
  readonly live: ChannelLive;
  readonly #config: ChannelConfig;
  readonly #all: Config;
  readonly #sendTitle: ServedParts['sendTitle'];
  #encoder: EncoderMount | undefined;
  #mounts: readonly Mount[] = [];
  /** The facts by configuration. */
  #configured: HeadFacts;
  /** The same, merged with what the source on air says. */
  #facts: { readonly source: SourceFacts | null; readonly sends: string | null; readonly merged: HeadFacts };

  constructor(key: string, config: ChannelConfig, all: Config, parts: ServedParts) {
    this.key = key;
    this.rules = new ChannelRules(key, config, all);
    this.audio = parts.audio;
    this.live = parts.live;
    this.#config = config;
    this.#all = all;
    this.#sendTitle = parts.sendTitle;
    this.#encoder = this.#encoderMount();
    this.#configured = headFacts(key, config, all);
    this.#facts = { source: null, sends: null, merged: mergeFacts(this.#configured, null) };
    this.#mounts = this.#makeMounts();
  }

  /** Whether the configuration says `public: true`. */
  get isPublic(): boolean {
    return this.#config.public === true;
  }

  /** The first one is its key. */
  get mounts(): readonly Mount[] {
    return this.#mounts;
  }

  /** Undefined: it takes no encoder. */
  get encoder(): EncoderMount | undefined {
    return this.#encoder;
  }

  /** Its configuration has changed in place. */
  refresh(): void {
    this.#encoder = this.#encoderMount();
    this.#configured = headFacts(this.key, this.#config, this.#all);
    const { source, sends } = this.#facts;
    this.#facts = { source, sends, merged: mergeFacts(this.#configured, source, sends) };
    this.#mounts = this.#makeMounts();
  }

  /**
   * How much later than its sender says the audio of a title of this origin arrives, milliseconds: by the source on air, else by the channel. Titles
   * in a stream are at their place already.
   */
  titleOffsetMs(origin: TrackRecord['source']): number {
    const { onAir, onAirType } = this.live;
    if (origin === 'fallback') return 0;
    const own = onAir === null ? undefined : this.#config.sources[onAir]?.titleOffsetMs;
    const isOggEncoder = onAir !== null && origin === 'encoder' && onAirType === 'audio/ogg';
    return own ?? (origin === 'upstream' || isOggEncoder ? 0 : this.#config.titleOffsetMs);
  }

  /** A machine that only serves takes no encoder. */
  #encoderMount(): EncoderMount | undefined {
    if (this.#all.cluster?.sources === false) return undefined;
    return encoderMount(this.key, this.#config, this.#sendTitle);
  }

  #factsNow(): HeadFacts {
    const { facts: source, sends } = this.live;
    if (source !== this.#facts.source || sends !== this.#facts.sends)
      this.#facts = { source, sends, merged: mergeFacts(this.#configured, source, sends) };
    return this.#facts.merged;
  }

  /** A mount that stays is the same object, since listeners hold it. */
  #makeMounts(): Mount[] {
    const known = new Map(this.#mounts.map((mount) => [mount.path, mount]));
    return [`/${this.key}`, ...this.#config.mounts].map((path) => known.get(path) ?? this.#mountAt(path));
  }

  #mountAt(path: string): Mount {
    const channel = this;
    const { live, audio } = this;
    const [config, { streams }] = [this.#config, this.#all];
    return {
      path,
      audio,
      get takesEncoder() {
        return channel.encoder !== undefined;
      },
      get facts() {
        return channel.#factsNow();
      },
      get access() {
        return config.access;
      },
      get maxListeners() {
        return config.maxListeners ?? Number.POSITIVE_INFINITY;
      },
      get maxListenMs() {
        return (config.maxListenSeconds ?? streams.maxListenSeconds ?? Number.POSITIVE_INFINITY) * 1000;
      },
      get overflowUrl() {
        return config.overflowUrl ?? streams.overflowUrl;
      },
      get sends() {
        return live.sends;
      },
      get hls() {
        return hlsOf(streams.hls, config);
      },
      get hasAudio() {
        return live.silentSinceMs === Number.POSITIVE_INFINITY;
      },
      // A listener that waits wakes a source on demand; this is known a moment later if that is in another process.
      get hopeful() {
        return this.onDemand || live.hopeful;
      },
      get onDemand() {
        return config.sources.some((source) => source.type === 'pull' && source.onDemand);
      },
    };
  }
}

function encoderMount(
  key: string,
  channel: ChannelConfig,
  sendTitle: ServedParts['sendTitle'],
): EncoderMount | undefined {
  const config = channel.sources.find((candidate) => candidate.type === 'encoder');
  if (config === undefined) return undefined;
  const passwords = config.password === undefined ? [] : [config.password];
  return {
    channelKey: key,
    hasPassword: (sha256) => secretMatches(passwords, sha256),
    hasUser: (user) => user === 'source' || user === config.user,
    // Both are always compared, so that a wrong user name takes the same time as a wrong password.
    authorizes: (user, password) => secretMatches(passwords, password) && user === config.user,
    charset: config.charset ?? channel.charset,
    takesTitles: channel.titlesFrom.includes('encoder'),
    sendTitle,
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
    oggType: 'audio/ogg',
    info: streamInfoHeaders(key, config, all),
    server: all.streams.server,
    headers: Object.fromEntries(headers),
  };
}
