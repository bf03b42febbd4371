/**
 * One channel put together: its audio and tape, the switch and sources that feed it, and what clients see of it (served.ts). Built by
 * app/channels.ts from the configuration; owns its sources from start to stop. What its sources say goes to the output given at `start`, so that
 * channels can be built before the service that takes their titles.
 */

import type { Socket } from 'node:net';
import { ChannelAudio } from '../audio/channel-audio.js';
import type { Clock } from '../base/clock.js';
import { type Log, Repeats } from '../base/log.js';
import type { ChannelConfig, Config, SourceConfig } from '../config/schema.js';
import { type EncoderOptions, EncoderSource } from '../source/encoder.js';
import type { ConnectionPlace } from '../source/encoder-connection.js';
import { FileSource } from '../source/file.js';
import type { FilePlace } from '../source/file-player.js';
import type { SourceEvent } from '../source/health.js';
import type { Source, SourceTitle } from '../source/source.js';
import { Switch } from '../source/switch.js';
import type { EncoderPlace } from './mount.js';
import { makePull } from './pulled.js';
import { type ChannelLive, ServedChannel } from './served.js';

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

/** Where a channel's sources stand, as plain data: another process goes on with them. */
export interface ChannelPlace {
  /** Which of them is on air; -1: none. */
  readonly onAir: number;
  readonly contentType: string | undefined;
  /** Unix milliseconds. */
  readonly onAirSinceMs: number | null;
  readonly lastTitle: SourceTitle | undefined;
  /** Of the source on air, where it is a file. */
  readonly file: FilePlace | null;
}

export class Channel {
  readonly key: string;
  readonly audio: ChannelAudio;
  readonly switch: Switch;
  /** As clients meet it. */
  readonly served: ServedChannel;
  /** Undefined: the channel takes no encoder. */
  readonly encoder: EncoderPlace | undefined;
  /** Since when something has fed it without a gap, unix milliseconds; null: nothing does. */
  #onAirSinceMs: number | null = null;
  /** Since when no source has been on air, monotonic milliseconds; +∞ while one is. */
  #offAirSinceMs: number;
  readonly #config: ChannelConfig;
  readonly #log: Log;
  readonly #repeats: Repeats;
  /** Null until `start`. */
  #output: ChannelOutput | null = null;

  constructor(key: string, config: ChannelConfig, all: Config, parts: ChannelParts) {
    this.key = key;
    this.#config = config;
    const { clock, log } = parts;
    this.#log = log;
    this.#repeats = new Repeats(log);
    this.#offAirSinceMs = clock.now();
    this.audio = new ChannelAudio({
      key,
      lagMs: all.streams.lagSeconds * 1000,
      burstMs: all.streams.burstSeconds * 1000,
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
          this.#onAirSinceMs = source === null ? null : (this.#onAirSinceMs ?? clock.wallMs());
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
    this.encoder = this.#encoderPlace();
    const sendTitle = (title: SourceTitle) => this.#sendTitle(title);
    this.served = new ServedChannel(key, config, all, { audio, live: this.#makeLive(), sendTitle });
  }

  /** Lets its sources run. Once. */
  start(output: ChannelOutput): void {
    this.#output = output;
    this.switch.start();
  }

  /** Stops its sources between two frames, its encoder's connection apart, which is let go. Nothing more goes onto its tape but what waits (`flush`). */
  letGo(): { readonly place: ChannelPlace; readonly encoder: ReturnType<EncoderSource['letGo']> } {
    const { placeOnAir: onAir, titleOnAir: lastTitle } = this.switch;
    const contentType = this.switch.onAir?.contentType;
    const file = this.switch.onAir instanceof FileSource ? this.switch.onAir.place : null;
    const encoder = this.#encoderSource?.letGo() ?? null;
    this.switch.stop();
    return { place: { onAir, contentType, onAirSinceMs: this.#onAirSinceMs, lastTitle, file }, encoder };
  }

  /** Its encoder or file was on air in another process, and goes on here. Before `start`. */
  goOn({ onAir, contentType, onAirSinceMs, lastTitle, file }: ChannelPlace): void {
    const source = this.switch.sources[onAir];
    if (source instanceof FileSource && file !== null) source.goOn(file);
    else if (!(source instanceof EncoderSource)) return;
    if (contentType === undefined) return;
    this.switch.goOn(onAir, contentType, lastTitle);
    this.#onAirSinceMs = onAirSinceMs;
    this.#offAirSinceMs = Number.POSITIVE_INFINITY;
  }

  /** Goes on with an encoder's connection of another process. After `start`. */
  takeEncoder(socket: Socket, ahead: Buffer, place: ConnectionPlace, aheadMs: number): void {
    const source = this.#encoderSource;
    if (source === undefined) socket.destroy();
    else source.goOn(socket, ahead, place, aheadMs);
  }

  get #encoderSource(): EncoderSource | undefined {
    return this.switch.sources.find((candidate) => candidate instanceof EncoderSource);
  }

  /** Lets go of all sources. Idempotent. */
  stop(): void {
    this.switch.stop();
  }

  /** Since when listeners have had nothing from it, monotonic milliseconds; +∞ while there is audio, if only in the delay line. */
  get silentSinceMs(): number {
    return Math.max(this.#offAirSinceMs, this.audio.emptySinceMs);
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
  }

  /** One line a second at most for each source and event. */
  #report(place: number, event: SourceEvent, fields: Readonly<Record<string, unknown>>, isOver: boolean): void {
    const all = { channel: this.key, source: this.switch.sources[place]!.kind, place, event, ...fields };
    if (isOver) this.#log.info(all, 'source recovered');
    else this.#repeats.warn(`${place} ${event}`, all, 'source event');
  }

  #encoderPlace(): EncoderPlace | undefined {
    const source = this.#encoderSource;
    if (source === undefined) return undefined;
    return {
      channelKey: this.key,
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
    };
  }

  /** As EncoderMount has it. */
  async #sendTitle(title: SourceTitle): Promise<boolean> {
    const source = this.#encoderSource;
    const config = this.#config.sources.find((candidate) => candidate.type === 'encoder');
    if (source === undefined || config === undefined) return false;
    if (!config.titlesWhileAway && source.state !== 'up') return false;
    if (this.#config.titlesFrom.includes('encoder')) await this.switch.title(source, title);
    return true;
  }

  #makeLive(): ChannelLive {
    const channel = this;
    return {
      get onAirSinceMs() {
        return channel.#onAirSinceMs;
      },
      get silentSinceMs() {
        return channel.silentSinceMs;
      },
      get onAir() {
        const { onAir, sources } = channel.switch;
        return onAir === null ? null : sources.indexOf(onAir);
      },
      get contentType() {
        return channel.switch.onAir?.contentType;
      },
      get facts() {
        return channel.switch.onAir?.facts;
      },
      get hopeful() {
        return channel.switch.hopeful || channel.audio.delayedMs > 0;
      },
    };
  }
}
