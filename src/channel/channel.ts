/**
 * One channel put together: its audio and tape, the switch and sources that feed it, and what mounts and encoders see of it. Built by
 * app/app.ts from the configuration; owns its sources from start to stop. What its sources say goes to the output given at `start`, so that
 * channels can be built before the service that takes their titles.
 */

import { ChannelAudio } from '../audio/channel-audio.js';
import type { Clock } from '../base/clock.js';
import { type Log, Repeats } from '../base/log.js';
import type { ChannelConfig, Config, SourceConfig } from '../config/schema.js';
import { secretMatches } from '../config/secret.js';
import { type HeadFacts, mergeFacts } from '../listener/head.js';
import type { TrackRecord } from '../metadata/record.js';
import { cleanText } from '../metadata/text.js';
import type { FallbackRules } from '../now-playing/fallback.js';
import type { TitleOrigin } from '../now-playing/trust.js';
import { type EncoderOptions, EncoderSource } from '../source/encoder.js';
import { FileSource } from '../source/file.js';
import type { SourceEvent } from '../source/health.js';
import type { Source, SourceTitle } from '../source/source.js';
import { Switch } from '../source/switch.js';
import type { EncoderMount, Mount } from './mount.js';
import { makePull } from './pulled.js';

export interface ChannelParts {
  readonly clock: Clock;
  readonly log: Log;
}

export interface ChannelOutput {
  /** A title of the source on air, in its stream or beside it; resolves when it is accepted or refused. Never rejects. */
  onTitle(channel: string, title: SourceTitle, source: Source): Promise<void>;
  /** Another source of the channel is on air, or none. */
  onSourceChanged(channel: string): void;
}

export class Channel {
  readonly key: string;
  readonly audio: ChannelAudio;
  readonly switch: Switch;
  readonly mounts: readonly Mount[];
  /** Which titles are taken, in order of trust. */
  readonly titlesFrom: readonly TitleOrigin[];
  /** Entities of HTML in pushed texts are decoded. */
  readonly pushDecodesEntities: boolean;
  /** How far ahead pushes are held. */
  readonly holdSeconds: number;
  /** Its own title, for when there is no better one. */
  readonly fallback: FallbackRules | null;
  /** Undefined: the channel takes no encoder. */
  readonly encoder: EncoderMount | undefined;
  /** Since when something has fed it without a gap, unix milliseconds; null: nothing does. */
  onAirSinceMs: number | null = null;
  /** Since when no source has been on air, monotonic milliseconds; +∞ while one is. */
  #offAirSinceMs: number;
  readonly #config: ChannelConfig;
  /** The `titleOffsetMs` of those sources that have one. */
  readonly #ownOffsetsMs = new Map<Source, number>();
  readonly #log: Log;
  readonly #repeats: Repeats;
  /** Null until `start`. */
  #output: ChannelOutput | null = null;

  constructor(key: string, config: ChannelConfig, all: Config, parts: ChannelParts) {
    this.key = key;
    this.#config = config;
    this.titlesFrom = config.titlesFrom;
    this.pushDecodesEntities = config.pushDecodesEntities;
    this.holdSeconds = config.holdSeconds ?? all.metadata.holdSeconds;
    this.fallback = fallbackRules(config);
    const { clock, log } = parts;
    this.#log = log;
    this.#repeats = new Repeats(log);
    this.#offAirSinceMs = clock.now();
    this.audio = new ChannelAudio({
      key,
      lagMs: all.streams.lagSeconds * 1000,
      now: () => clock.now(),
      metaint: config.metaint,
      bitrateKbps: config.bitrateKbps,
      icy: { ...config.icy, name: config.name || key },
      icyInOgg: config.icy.inOgg,
      delay: config.delaySeconds > 0 ? { ms: config.delaySeconds * 1000, clock } : undefined,
      onWanted: (isWanted) => this.switch.want(isWanted),
    });
    const { audio } = this;
    this.switch = new Switch(
      {
        onFrame: (bytes, durationMs, bitrateKbps, fresh, link) =>
          audio.write(bytes, durationMs, bitrateKbps, fresh, link),
        onTitle: (title, source) => this.#output?.onTitle(key, title, source) ?? Promise.resolve(),
        onSourceChanged: (source, reason) => {
          log.info({ channel: key, heard: source?.kind ?? null, reason }, 'source changed');
          this.#offAirSinceMs = source === null ? clock.now() : Number.POSITIVE_INFINITY;
          this.onAirSinceMs = source === null ? null : (this.onAirSinceMs ?? clock.wallMs());
          audio.sourceChanged(source?.contentType);
          this.#output?.onSourceChanged(key);
        },
        onContentType: (contentType) => audio.sourceChanged(contentType),
        onEvent: (place, event, fields, isOver) => this.#report(place, event, fields, isOver),
      },
      clock,
      {
        stallMs: all.sources.stallMs,
        pieceMs: all.sources.pieceSeconds * 1000,
        stallsPerMinute: all.sources.stallsPerMinute,
        steadyMs: all.sources.soundSeconds * 1000,
        silentMs: all.sources.silentSeconds * 1000,
      },
    );
    for (const source of config.sources) this.#addSource(source, all, parts);
    this.encoder = this.#encoderMount();
    this.mounts = this.#makeMounts(all);
  }

  /** Lets its sources run. Once. */
  start(output: ChannelOutput): void {
    this.#output = output;
    this.switch.start();
  }

  /** Lets go of all sources. Idempotent. */
  stop(): void {
    this.switch.stop();
  }

  authorizesPush(token: string): boolean {
    return secretMatches(this.#config.pushTokens, token);
  }

  /** Since when listeners have had nothing from it, monotonic milliseconds; +∞ while there is audio, if only in the delay line. */
  get silentSinceMs(): number {
    return Math.max(this.#offAirSinceMs, this.audio.emptySinceMs);
  }

  /**
   * How much later than its sender says the audio of a title of this origin comes in, milliseconds: as the source on air has it, else the channel.
   * What stands in a stream stands at its place.
   */
  titleOffsetMs(origin: TrackRecord['source']): number {
    const { onAir } = this.switch;
    const own = onAir === null ? undefined : this.#ownOffsetsMs.get(onAir);
    if (origin === 'fallback') return 0;
    const standsInStream = origin === 'upstream' || (origin === 'encoder' && onAir?.contentType === 'audio/ogg');
    return own ?? (standsInStream ? 0 : this.#config.titleOffsetMs);
  }

  /** Whether the first of its sources is not the one on air. */
  get isSourceLost(): boolean {
    return this.switch.onAir === null || this.switch.onAir !== this.switch.sources[0];
  }

  #addSource(config: SourceConfig, all: Config, { clock, log }: ChannelParts): void {
    const onDemand = config.type === 'pull' && config.onDemand;
    const lingerMs = config.type === 'pull' ? config.lingerSeconds * 1000 : 0;
    const returnMs = config.type === 'encoder' ? config.lingerSeconds * 1000 : 0;
    const bitrateKbps = config.type === 'file' ? 0 : (this.#config.bitrateKbps ?? 0);
    const place = this.switch.sources.length;
    const onEvent: EncoderOptions['onEvent'] = (event, fields) => this.switch.healths[place]!.report(event, fields);
    this.switch.add({ onDemand, lingerMs, returnMs, bitrateKbps }, (input) => {
      if (config.type === 'file') return new FileSource(input, clock, config.path, () => this.audio.roomMs);
      if (config.type === 'pull') return makePull(config, all, { channel: this.key, clock, log, input });
      return new EncoderSource(input, clock, {
        channel: this.key,
        aheadMs: all.sources.aheadSeconds * 1000,
        bodyTimeoutMs: all.sources.bodyTimeoutSeconds * 1000,
        takeover: config.takeover,
        silentMs: all.sources.stallMs,
        framelessBytes: all.sources.framelessBytes,
        facts: all.limits,
        onEvent,
      });
    });
    if (config.titleOffsetMs !== undefined) this.#ownOffsetsMs.set(this.switch.sources[place]!, config.titleOffsetMs);
  }

  /** One line a second at most for each source and event. */
  #report(place: number, event: SourceEvent, fields: Readonly<Record<string, unknown>>, isOver: boolean): void {
    const all = { channel: this.key, source: this.switch.sources[place]!.kind, place, event, ...fields };
    if (isOver) this.#log.info(all, 'source recovered');
    else this.#repeats.warn(`${place} ${event}`, all, 'source event');
  }

  #encoderMount(): EncoderMount | undefined {
    const source = this.switch.sources.find((candidate) => candidate instanceof EncoderSource);
    const config = this.#config.sources.find((candidate) => candidate.type === 'encoder');
    if (source === undefined || config === undefined) return undefined;
    return {
      channelKey: this.key,
      hasPassword: (sha256) => secretMatches([config.password], sha256),
      hasUser: (user) => user === 'source' || user === config.user,
      // Both are always compared, so that a wrong user name takes the same time as a wrong password.
      authorizes: (user, password) => secretMatches([config.password], password) && user === config.user,
      get isBusy() {
        return source.busy;
      },
      get agent() {
        return source.agent;
      },
      get quietMs() {
        return source.quietMs;
      },
      attach: (socket, first, headers) => source.attach(socket, first, headers),
      takesTitles: this.titlesFrom.includes('encoder'),
      get isFed() {
        return config.titlesWhileAway || source.state === 'up';
      },
      title: (title) => this.switch.title(source, title),
    };
  }

  #makeMounts(all: Config): Mount[] {
    const configured = headFacts(this.key, this.#config, all);
    const { audio, switch: sources } = this;
    const hasAudio = () => this.silentSinceMs === Number.POSITIVE_INFINITY;
    return [`/${this.key}`, ...this.#config.mounts].map((path) => ({
      path,
      audio,
      takesEncoder: this.encoder !== undefined,
      get facts() {
        return mergeFacts(configured, sources.onAir?.facts);
      },
      access: this.#config.access,
      maxListeners: this.#config.maxListeners ?? Number.POSITIVE_INFINITY,
      maxListenMs: (this.#config.maxListenSeconds ?? all.streams.maxListenSeconds ?? Number.POSITIVE_INFINITY) * 1000,
      overflowUrl: this.#config.overflowUrl ?? all.streams.overflowUrl,
      get hasAudio() {
        return hasAudio();
      },
      get hopeful() {
        return sources.hopeful || audio.delayedMs > 0;
      },
      onDemand: sources.onDemand,
    }));
  }
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
