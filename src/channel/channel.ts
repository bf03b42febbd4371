/**
 * One channel put together: its audio and tape, the switch and sources that feed it, and what clients see of it (served.ts). Built by
 * app/hub/channels.ts from the configuration; owns its sources from start to stop. Events of its sources go to the output given at `start`, so that
 * channels can be built before the service that takes their titles.
 */

import { ChannelAudio, type ChannelAudioOptions } from '../audio/channel-audio.js';
import { formatText } from '../audio/frames/audio-format.js';
import type { Frame } from '../audio/frames/frame.js';
import type { Clock } from '../base/clock.js';
import { withGetters } from '../base/getters.js';
import type { Log } from '../base/log.js';
import { hlsOf } from '../config/hls-config.js';
import { sourceSteps } from '../config/list-steps.js';
import type { ChannelConfig, Config, SourceConfig } from '../config/schema.js';
import { EncoderSource } from '../source/encoder-source.js';
import { FileSource } from '../source/files/file.js';
import type { FilePosition } from '../source/files/file-player.js';
import type { InputOptions } from '../source/input.js';
import type { Source, SourceTitle } from '../source/source.js';
import { Switch } from '../source/switch.js';
import type { SwitchOutput } from '../source/switch-output.js';
import { ChannelEncoder } from './channel-encoder.js';
import type { RemoteLive } from './channel-facts-schema.js';
import { ComingFrames } from './coming-frames.js';
import { type InputParts, makeInput } from './make-input.js';
import { liveOf, OwnLive } from './own-live.js';
import { ServedChannel } from './served.js';
import { SourceLog } from './source-log.js';
import type { TimelineEntry } from './source-timeline.js';

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

/** The state of a channel's sources, as plain data, with which another process resumes. */
export interface ChannelPosition {
  /** The place of the source on air; -1: none. */
  readonly onAir: number;
  /** Whether an operator has chosen it. */
  readonly isPinned: boolean;
  readonly contentType: string | undefined;
  /** Unix milliseconds. */
  readonly onAirSinceMs: number | null;
  readonly lastTitle: SourceTitle | undefined;
  /** The position of the source on air, if it is a file. */
  readonly file: FilePosition | null;
  readonly timeline: readonly TimelineEntry[];
}

export class Channel {
  readonly key: string;
  readonly audio: ChannelAudio;
  readonly switch: Switch;
  /** The channel as clients see it. */
  readonly served: ServedChannel;
  readonly encoder: ChannelEncoder;
  readonly #own: OwnLive;
  readonly #inputParts: InputParts;
  readonly #config: ChannelConfig;
  readonly #all: Config;
  readonly #clock: Clock;
  /** The configuration from which its sources were made. */
  #sources: readonly SourceConfig[];
  /** The state that another machine reports while it feeds the channel; null: the sources here do. */
  #remote: RemoteLive | null = null;
  /** The next frame does not continue the tape. */
  #isFresh = false;
  readonly #coming = new ComingFrames();
  readonly #sourceLog: SourceLog;
  /** Null until `start`. */
  #output: ChannelOutput | null = null;

  constructor(key: string, config: ChannelConfig, all: Config, parts: ChannelParts) {
    this.key = key;
    this.#config = config;
    const { clock, log } = parts;
    this.#sourceLog = new SourceLog({ key, clock, log, sources: () => this.switch });
    this.#all = all;
    this.#clock = clock;
    this.audio = new ChannelAudio(
      withGetters<ChannelAudioOptions>({
        key: () => key,
        lagMs: () => all.streams.lagSeconds * 1000,
        burstMs: () => all.streams.burstSeconds * 1000,
        now: () => () => clock.now(),
        metaint: () => config.metaint,
        bitrateKbps: () => config.bitrateKbps,
        icy: () => ({ ...config.icy, name: config.name || key }),
        icyInOgg: () => config.icy.inOgg,
        delay: () => (config.delaySeconds > 0 ? { ms: config.delaySeconds * 1000, clock } : undefined),
        onFormat: () => (from, to) => this.#sourceLog.formatChanged(formatText(from), formatText(to)),
        onWanted: () => (isWanted) => this.switch.want(isWanted),
        onRead: () => (isRead) => this.switch.rest.read(isRead),
      }),
    );
    const channel = this;
    const onTitle: SwitchOutput['onTitle'] = (title, source) =>
      this.#output?.onTitle(key, title, source) ?? Promise.resolve();
    const { audio } = this;
    this.switch = new Switch(
      {
        onFrame: (frame) => {
          if (this.#remote === null) this.#write(frame);
          else if (this.#coming.isOpen) this.#coming.push(frame, clock.now());
        },
        get format() {
          return (channel.#remote ?? audio).format;
        },
        onTitle,
        onSourceChanged: (source, reason) => {
          this.#sourceLog.changed(source, reason);
          this.#own.changed(source !== null);
          if (this.#remote === null) audio.sourceChanged();
          else this.#coming.begin(clock.now());
          this.#output?.onSourceChanged(key);
        },
        get isEmpty() {
          return !audio.hasSegments;
        },
        onRest: (isResting) => (isResting ? audio.rest() : audio.wake()),
        onEvent: (source, event, fields, isOver) => this.#sourceLog.report(source, event, fields, isOver),
      },
      clock,
      inputOptions(config, all),
    );
    this.#own = new OwnLive({ config, clock, audio, switch: this.switch });
    this.#inputParts = { key, config, all, clock, log, roomMs: () => audio.roomMs };
    this.#sources = this.#configured;
    for (const source of this.#sources) {
      const { settings, make } = makeInput(source, this.#inputParts);
      this.switch.add(settings, make);
    }
    const now = liveOf(() => this.#remote ?? this.#own);
    this.encoder = new ChannelEncoder({
      key,
      config,
      log,
      live: now,
      switch: this.switch,
      remote: () => this.#remote,
      onTitle,
    });
    const sendTitle = (title: SourceTitle, cameMs: number) => this.encoder.sendTitle(title, cameMs);
    this.served = new ServedChannel(key, config, all, { audio, live: now, sendTitle });
  }

  /** Its configuration has changed in place: adds, removes and reorders sources, and rebuilds what clients see. */
  refresh(): void {
    const configured = this.#configured;
    const { steps, gone } = sourceSteps(this.#sources, configured);
    const isSame = gone.length === 0 && steps.every(({ from, isAnew }, i) => from === i && !isAnew);
    this.#sources = configured;
    const next = steps.map((step) => ({
      ...makeInput(step.next, this.#inputParts),
      from: step.isAnew ? null : step.from,
    }));
    if (isSame) this.switch.settle(next.map(({ settings }) => settings));
    else this.switch.replace(next);
    this.audio.refresh();
    this.served.refresh();
  }

  /** Starts its sources. Call it once. */
  start(output: ChannelOutput): void {
    this.#output = output;
    this.switch.start();
  }

  /** Whether another machine feeds the channel. */
  get isRemote(): boolean {
    return this.#remote !== null;
  }

  /**
   * Another machine feeds the channel from now on: the sources here run on, but their audio does not go onto the tape.
   * @param live the state that it reports; null: the sources here feed the channel again
   */
  setRemote(live: RemoteLive | null): void {
    const was = this.#remote;
    this.#remote = live;
    if (was === null || live !== null) return;
    this.#isFresh = true;
    this.audio.sourceChanged();
    for (const frame of this.#coming.take()) this.#write(frame);
  }

  #write(frame: Frame): void {
    this.audio.write(this.#isFresh ? { ...frame, fresh: true } : frame);
    this.#isFresh = false;
  }

  /** This machine is about to feed the channel: the frames of its source until then go onto the tape too. */
  keepComing(): void {
    this.#coming.keep(this.#clock.now());
  }

  /** It is not. @param heardMs end of the audio that listeners got from the other machine, monotonic milliseconds: later frames are still kept */
  passComing(heardMs: number): void {
    this.#coming.pass(heardMs, this.#clock.now());
  }

  /**
   * Stops its sources between two frames, and gives up its encoder's connection. Only audio that waits still goes onto its tape (`Switch.flush`).
   */
  detach(): { readonly position: ChannelPosition; readonly encoder: ReturnType<EncoderSource['detach']> } {
    const { indexOnAir: onAir, titleOnAir: lastTitle } = this.switch;
    const contentType = this.switch.onAir?.contentType;
    const file = this.switch.onAir instanceof FileSource ? this.switch.onAir.position : null;
    const isPinned = onAir !== -1 && this.switch.pinned === onAir;
    const encoder = this.encoder.source?.detach() ?? null;
    this.switch.stop();
    const { timeline } = this;
    const { onAirSinceMs } = this.#own;
    return { position: { onAir, isPinned, contentType, onAirSinceMs, lastTitle, file, timeline }, encoder };
  }

  /** Resumes the encoder or file that was on air in another process. Before `start`. @param hasTape false: its tape is not resumed, nor the source */
  adopt(
    { onAir, isPinned, contentType, onAirSinceMs, lastTitle, file, timeline }: ChannelPosition,
    hasTape = true,
  ): void {
    this.#sourceLog.adopt(timeline);
    const source = this.switch.sources[onAir];
    const resumes = source instanceof FileSource ? file !== null : source instanceof EncoderSource;
    if (!hasTape || !resumes) {
      // It connects again, and stays chosen.
      if (isPinned && source !== undefined) this.switch.pin(onAir);
      return;
    }
    if (source instanceof FileSource) source.adopt(file!);
    if (contentType === undefined) return;
    this.switch.adopt(onAir, lastTitle, isPinned);
    this.#own.adopt(onAirSinceMs);
  }

  /** Stops all sources. Idempotent. */
  stop(): void {
    this.switch.stop();
  }

  /** The history of its sources, oldest first. */
  get timeline(): readonly TimelineEntry[] {
    return this.#sourceLog.entries;
  }

  /** As in ChannelLive. */
  get missingSinceMs(): number {
    return this.served.live.missingSinceMs;
  }

  /** Whether the first of its sources should be on air and is not. */
  get isMissed(): boolean {
    if (this.#config.partTime || this.isRemote || !this.isSourceLost) return false;
    return !this.switch.onDemand || this.switch.wantedSinceMs !== Number.POSITIVE_INFINITY;
  }

  /** Whether the source on air sends digital silence. */
  get isSilence(): boolean {
    return this.#own.isSilence;
  }

  /** Whether the first of its sources is not the one on air. */
  get isSourceLost(): boolean {
    return this.switch.onAir === null || this.switch.onAir !== this.switch.sources[0];
  }

  /** A machine that only serves has no sources. */
  get #configured(): readonly SourceConfig[] {
    return this.#all.cluster?.sources === false ? [] : this.#config.sources;
  }
}

function inputOptions(config: ChannelConfig, all: Config): InputOptions {
  const isDelayed = () => config.delaySeconds > 0;
  // A delay line must be fed, in a cluster another machine may need this one's source, and a rewind is always cut.
  const mayRest = () =>
    !isDelayed() && all.cluster === undefined && (hlsOf(all.streams.hls, config)?.rewindHours ?? 0) === 0;
  return withGetters<InputOptions>({
    stallMs: () => all.sources.stallMs,
    pieceMs: () => all.sources.pieceSeconds * 1000,
    restMs: () => (mayRest() ? all.sources.restSeconds * 1000 : Number.POSITIVE_INFINITY),
    stallsPerMinute: () => all.sources.stallsPerMinute,
    steadyMs: () => all.sources.soundSeconds * 1000,
    silentMs: () => all.sources.silentSeconds * 1000,
    aheadMs: () => all.sources.aheadSeconds * 1000,
    // A delay line itself lacks what gaps take from it.
    burstMs: () => (isDelayed() ? 0 : all.streams.burstSeconds * 1000),
  });
}
