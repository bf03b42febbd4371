/** The facts that alerts/conditions.ts judges: read from the parts once a second, and from the disk now and then. */

import { statfs } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { AlertFacts, ChannelCondition, LimitFacts } from '../../alerts/server-facts.js';
import type { Channel } from '../../channel/channel.js';
import type { ChannelState } from '../../now-playing/state.js';
import type { Core } from '../core.js';
import type { CertificateLooks } from './certificate-looks.js';

/** The counts of all processes of this server together. */
export type LimitCounts = Readonly<Record<'connections' | 'listeners' | 'watchers', number>>;

export interface AlertSources {
  readonly channels: ReadonlyMap<string, Channel>;
  readonly saves: { slowestMs(): number };
  stateOf(channel: string): ChannelState;
  storeFault(): string | null;
  /** Of channels whose segments of HLS cannot be written. */
  hlsFaults(): ReadonlyMap<string, string>;
  counts(): LimitCounts;
  /** Of a channel, in all processes. */
  listenersOf(channel: string): number;
  /** Of each address. */
  readonly certificates: CertificateLooks;
  /** The machine that feeds it, if no audio comes from there; else ''. Absent: audio is not shared. */
  lostOwner?(channel: string): string;
}

/** How often the disk is looked at. */
const LOOK_MS = 10_000;
/** For how long the end of a process counts as a condition. */
const DIED_MS = 60_000;

export class AlertFactsReader {
  readonly #core: Core;
  readonly #sources: AlertSources;
  /** Channel → when its last title was over, unix milliseconds. */
  readonly #titleEndMs = new Map<string, number>();
  /** Kind of process → when some have ended, monotonic milliseconds. */
  readonly #died = new Map<string, number[]>();
  readonly #startedMs: number;
  #freeBytes: number | null = null;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #isLooking = false;

  constructor(core: Core, sources: AlertSources) {
    this.#core = core;
    this.#sources = sources;
    this.#startedMs = core.clock.wallMs();
  }

  /** A process has ended and was started again. */
  died(process: string): void {
    const times = this.#died.get(process) ?? [];
    this.#died.set(process, times);
    times.push(this.#core.clock.now());
  }

  read(): AlertFacts {
    const { clock, config } = this.#core;
    const { saves, storeFault, hlsFaults } = this.#sources;
    const [nowMs, wallMs] = [clock.now(), clock.wallMs()];
    if (!this.#isLooking && nowMs - this.#lookedMs >= LOOK_MS) {
      this.#lookedMs = nowMs;
      void this.#look();
    }
    return {
      wallMs,
      channels: config.order.flatMap(({ station, channels }) =>
        channels.map((key) => this.#channel(station, key, nowMs, wallMs)),
      ),
      skewMs: clock.skewMs,
      storeFault: storeFault(),
      hlsFaults: hlsFaults(),
      slowestSaveMs: saves.slowestMs(),
      freeBytes: this.#freeBytes,
      certificates: this.#sources.certificates.facts,
      limits: this.#limits(),
      died: this.#diedLately(nowMs),
    };
  }

  #channel(station: string, key: string, nowMs: number, wallMs: number): ChannelCondition {
    const { config } = this.#core;
    const channelConfig = config.stations[station]!.channels[key]!;
    const channel = this.#sources.channels.get(key)!;
    const { onAir, healthOnAir: health, sources } = channel.switch;
    const isOff = health?.troubles['bitrate-off'] ?? false;
    const { onAirSinceMs } = channel.served.live;
    const minutes = channelConfig.noTitlesMinutes ?? config.alerts.noTitlesMinutes;
    const titleSinceMs = Math.max(this.#lastTitleMs(key), onAirSinceMs ?? wallMs);
    return {
      key,
      station,
      missingMs: Math.max(0, nowMs - channel.missingSinceMs),
      isSilence: channel.isSilence,
      lost: channel.isMissed ? sources[0]!.kind : null,
      lostOwner: this.#sources.lostOwner?.(key) ?? '',
      onAir: onAir && { kind: onAir.kind, offKbps: isOff ? health!.measuredKbps : null },
      titleAgeMs: Math.max(0, wallMs - titleSinceMs),
      maxTitleAgeMs: minutes * 60_000,
    };
  }

  /** When the last title is over that was not the fallback. */
  #lastTitleMs(key: string): number {
    const known = this.#titleEndMs.get(key) ?? this.#startedMs;
    const { now, covered } = this.#sources.stateOf(key);
    const title = now?.source === 'fallback' ? covered : now;
    if (title === null) return known;
    const endMs = Math.max(known, title.effectAtMs + title.durationSeconds * 1000);
    this.#titleEndMs.set(key, endMs);
    return endMs;
  }

  #limits(): LimitFacts[] {
    const { limits, stations } = this.#core.config;
    const ofServer = Object.entries(this.#sources.counts()).map(([limit, count]) => ({
      limit,
      count,
      most: limits[limit as keyof LimitCounts],
    }));
    const ofChannels = Object.values(stations).flatMap(({ channels }) =>
      Object.entries(channels).flatMap(([channel, { maxListeners: most }]) =>
        most === undefined ? [] : [{ limit: 'maxListeners', channel, count: this.#sources.listenersOf(channel), most }],
      ),
    );
    return [...ofServer, ...ofChannels];
  }

  #diedLately(nowMs: number): Record<string, number> {
    const lately: Record<string, number> = {};
    for (const [process, times] of this.#died) {
      // Each end keeps the condition going, and all of one stretch are counted.
      if (times.length > 0 && nowMs - times.at(-1)! >= DIED_MS) times.length = 0;
      lately[process] = times.length;
    }
    return lately;
  }

  /** A disk that hangs delays nothing: it is not asked again before it has answered. */
  async #look(): Promise<void> {
    const { config } = this.#core;
    this.#isLooking = true;
    this.#freeBytes = await statfs(resolve(config.data.folder)).then(
      ({ bavail, bsize }) => bavail * bsize,
      // The store reports what is wrong with it.
      () => null,
    );
    this.#isLooking = false;
  }
}
