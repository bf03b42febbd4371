/**
 * One channel put together: its audio and tape, the switch and sources that feed it, and what mounts and encoders see of it.
 * Built by app.ts from the configuration; owns its sources from start to stop.
 */

import { Channel } from './audio/channel.js';
import type { Clock } from './clock.js';
import type { ChannelConfig, Config, SourceConfig } from './config/schema.js';
import { secretMatches } from './config/secret.js';
import type { EncoderMount } from './http/encoder.js';
import type { Mount } from './http/stream.js';
import type { TitleDesk } from './http/updinfo.js';
import type { HeadFacts } from './listener/head.js';
import type { Log } from './log.js';
import type { FallbackRules } from './metadata/fallback.js';
import { cleanText } from './metadata/text.js';
import type { Teller } from './metadata/trust.js';
import { EncoderSource } from './source/encoder.js';
import { FileSource } from './source/file.js';
import { PullSource } from './source/pull.js';
import type { Source, SourceInput, SourceTitle } from './source/source.js';
import { Switch } from './source/switch.js';

export interface ProgrammeParts {
  readonly clock: Clock;
  readonly log: Log;
  /** A title that stands in the stream of the source that is heard; resolves when it is accepted or refused. */
  title(channel: string, title: SourceTitle, source: Source): Promise<void>;
  /** Another source of the channel is heard, or none. */
  sourceChanged(channel: string): void;
}

export class Programme {
  readonly key: string;
  readonly channel: Channel;
  readonly switch: Switch;
  readonly mounts: readonly Mount[];
  /** Whose titles are taken, in order of trust. */
  readonly titlesFrom: readonly Teller[];
  /** How far ahead pushes are held. */
  readonly holdSeconds: number;
  /** Its own title, for when there is no better one. */
  readonly fallback: FallbackRules | null;
  /** What its encoder's door sees; undefined: the channel takes no encoder. */
  readonly encoder: EncoderMount | undefined;
  /** Where its encoder's titles come in; undefined: the channel takes no encoder. */
  readonly titleDesk: TitleDesk | undefined;
  /** Since when nothing has fed it, monotonic milliseconds; +∞ while something does. */
  silentSinceMs: number;
  readonly #config: ChannelConfig;

  constructor(key: string, config: ChannelConfig, all: Config, parts: ProgrammeParts) {
    this.key = key;
    this.#config = config;
    this.titlesFrom = config.titlesFrom;
    this.holdSeconds = config.holdSeconds ?? all.metadata.holdSeconds;
    this.fallback = fallbackRules(config);
    const { clock, log } = parts;
    this.silentSinceMs = clock.now();
    this.channel = new Channel({
      key,
      lagMs: all.streams.lagSeconds * 1000,
      metaint: config.metaint,
      bitrateKbps: config.bitrateKbps,
      icy: { ...config.icy, name: config.name || key },
    });
    const { channel } = this;
    this.switch = new Switch(
      {
        frame: (bytes, durationMs, bitrateKbps, fresh) => channel.write(bytes, durationMs, bitrateKbps, fresh),
        title: (title, source) => parts.title(key, title, source),
        changed: (source, reason) => {
          log.info({ channel: key, heard: source?.kind ?? null, reason }, 'source changed');
          this.silentSinceMs = source === null ? clock.now() : Number.POSITIVE_INFINITY;
          channel.sourceChanged(source?.contentType);
          parts.sourceChanged(key);
        },
      },
      clock,
      all.sources.stallMs,
    );
    for (const source of config.sources) this.#addSource(source, all, clock);
    this.encoder = this.#encoderMount();
    this.titleDesk = this.#makeTitleDesk();
    this.mounts = this.#makeMounts(all);
  }

  authorizesPush(token: string): boolean {
    return secretMatches(this.#config.pushTokens, token);
  }

  /** Whether the first of its sources is not the one that is heard. */
  get isSourceLost(): boolean {
    return this.switch.heard === null || this.switch.heard !== this.switch.sources[0];
  }

  #addSource(config: SourceConfig, all: Config, clock: Clock): void {
    const onDemand = config.type === 'pull' && config.onDemand;
    const lingerMs = config.type === 'pull' ? config.lingerSeconds * 1000 : 0;
    this.switch.add({ onDemand, lingerMs }, (input) => makeSource(config, all, clock, input));
  }

  #encoderMount(): EncoderMount | undefined {
    const source = this.switch.sources.find((candidate) => candidate instanceof EncoderSource);
    const config = this.#config.sources.find((candidate) => candidate.type === 'encoder');
    if (source === undefined || config === undefined) return undefined;
    return {
      channel: this.key,
      // Both always looked at, so that a wrong user name takes the same time as a wrong password.
      authorized: (user, password) => secretMatches([config.password], password) && user === config.user,
      get busy() {
        return source.busy;
      },
      attach: (socket, first) => source.attach(socket, first),
    };
  }

  #makeTitleDesk(): TitleDesk | undefined {
    const source = this.switch.sources.find((candidate) => candidate instanceof EncoderSource);
    const config = this.#config.sources.find((candidate) => candidate.type === 'encoder');
    if (source === undefined || config === undefined) return undefined;
    return {
      channel: this.key,
      hasPassword: (sha256) => secretMatches([config.password], sha256),
      hasUser: (user) => user === 'source' || user === config.user,
      takesTitles: this.titlesFrom.includes('encoder'),
      title: (title) => this.switch.title(source, title),
    };
  }

  #makeMounts(all: Config): Mount[] {
    const facts = headFacts(this.key, this.#config, all);
    const { channel } = this;
    const audio = this.switch;
    return [`/${this.key}`, ...this.#config.mounts].map((path) => ({
      path,
      channel,
      facts,
      maxListeners: this.#config.maxListeners ?? Number.POSITIVE_INFINITY,
      get hasAudio() {
        return audio.heard !== null;
      },
      get hopeful() {
        return audio.hopeful;
      },
      onDemand: audio.onDemand,
    }));
  }
}

function makeSource(config: SourceConfig, all: Config, clock: Clock, input: SourceInput): Source {
  const aheadMs = all.sources.aheadSeconds * 1000;
  if (config.type === 'encoder') {
    return new EncoderSource(input, clock, { bodyTimeoutMs: all.sources.bodyTimeoutSeconds * 1000, aheadMs });
  }
  if (config.type === 'file') return new FileSource(input, clock, config.path);
  return new PullSource(input, clock, {
    url: config.url,
    connectTimeoutMs: config.connectTimeoutSeconds * 1000,
    stallMs: config.stallSeconds * 1000,
    retryMinMs: config.retrySeconds.min * 1000,
    retryMaxMs: config.retrySeconds.max * 1000,
    aheadMs,
  });
}

function fallbackRules({ fallback }: ChannelConfig): FallbackRules | null {
  if (fallback === undefined) return null;
  const { artist, song, graceSeconds, whenSourceLost } = fallback;
  return { title: { artist: cleanText(artist), song: cleanText(song) }, graceSeconds, whenSourceLost };
}

function headFacts(key: string, config: ChannelConfig, all: Config): HeadFacts {
  const headers = Object.entries(all.streams.headers).map(([name, value]) => [
    name,
    value.replaceAll('{channelkey}', key),
  ]);
  return {
    key,
    name: config.name || key,
    genre: config.genre,
    url: config.url,
    description: config.description,
    public: config.public,
    server: all.streams.server,
    headers: Object.fromEntries(headers),
  };
}
