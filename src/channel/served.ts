/**
 * A channel as clients meet it: its mounts, its rules, how its encoder logs in. Made from the configuration, the channel's audio, and what changes
 * while it runs; it knows no source, so that it is the same in every process that serves the channel.
 */

import type { AudioFormat } from '../audio/frames/audio-format.js';
import type { PlayableAudio } from '../audio/playable-audio.js';
import { hlsOf } from '../config/hls-config.js';
import type { ChannelConfig, Config } from '../config/schema.js';
import { secretMatches } from '../config/secret.js';
import { type HeadFacts, mergeFacts } from '../listener/cursor/stream-head.js';
import type { TrackRecord } from '../metadata/record.js';
import type { SourceTitle } from '../source/source.js';
import type { SourceFacts } from '../source/source-facts.js';
import type { EncoderMount, Mount } from './mount.js';
import { ChannelRules } from './rules.js';
import { streamInfoHeaders } from './stream-info.js';

/** What changes of a channel while it runs, by its sources. Read when it is needed. */
export interface ChannelLive {
  /** Since when something has fed it without a gap, unix milliseconds; null: nothing does. */
  readonly onAirSinceMs: number | null;
  /** Since when listeners have had nothing from it, monotonic milliseconds; +∞ while there is audio, if only in the delay line. */
  readonly silentSinceMs: number;
  /** The same where there should be audio: not of a channel with `partTime`, nor where it comes on demand and nobody listens. */
  readonly missingSinceMs: number;
  /** Whether the source on air sends digital silence. */
  readonly isSilence: boolean;
  /** Which of its sources is on air, as the configuration counts them; null: none. */
  readonly onAir: number | null;
  /** Of the source on air; undefined: not known yet. */
  readonly contentType: string | undefined;
  /** What listeners are sent: a content type, or a codec of Ogg; null: there is no tape. */
  readonly sends: string | null;
  /** Of what came in last; null: nothing has. */
  readonly format: AudioFormat | null;
  /** What the source on air says of itself. */
  readonly facts: SourceFacts | undefined;
  /** Whether waiting for audio makes sense. */
  readonly hopeful: boolean;
}

export interface ServedParts {
  readonly audio: PlayableAudio;
  readonly live: ChannelLive;
  /** As EncoderMount has it. */
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
  /** By configuration, and with what the source on air says. */
  #configured: HeadFacts;
  #facts: { readonly source: SourceFacts | undefined; readonly sends: string | null; readonly merged: HeadFacts };

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
    this.#facts = { source: undefined, sends: null, merged: mergeFacts(this.#configured, undefined) };
    this.#mounts = this.#makeMounts();
  }

  /** Whether the configuration says that it is for all. */
  get isPublic(): boolean {
    return this.#config.public === true;
  }

  /** The first is its key. */
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
   * How much later than its sender says the audio of a title of this origin comes in, milliseconds: as the source on air has it, else the channel.
   * What stands in a stream stands at its place.
   */
  titleOffsetMs(origin: TrackRecord['source']): number {
    const { onAir, contentType } = this.live;
    if (origin === 'fallback') return 0;
    const own = onAir === null ? undefined : this.#config.sources[onAir]?.titleOffsetMs;
    const isOggEncoder = onAir !== null && origin === 'encoder' && contentType === 'audio/ogg';
    return own ?? (origin === 'upstream' || isOggEncoder ? 0 : this.#config.titleOffsetMs);
  }

  /** A machine that only serves takes none. */
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

  /** What stays a mount is the same one: listeners hold it. */
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
      // Who waits wakes a source on demand; where that is in another process, it is known here a moment later.
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
