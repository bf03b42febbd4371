/** The state of a channel by its sources in this process, for its clients and operators. Kept by the channel, which reports its switch's changes. */

import type { ChannelAudio } from '../audio/channel-audio.js';
import type { Clock } from '../base/clock.js';
import { withGetters } from '../base/getters.js';
import type { ChannelConfig } from '../config/schema.js';
import type { SourceFacts } from '../source/source-facts-schema.js';
import type { Switch } from '../source/switch.js';
import { type ChannelLive, LIVE_FACTS } from './channel-facts-schema.js';

export interface OwnLiveParts {
  readonly config: ChannelConfig;
  readonly clock: Clock;
  readonly audio: ChannelAudio;
  readonly switch: Switch;
}

export class OwnLive implements ChannelLive {
  readonly #parts: OwnLiveParts;
  #onAirSinceMs: number | null = null;
  /** When the last source left the air, monotonic milliseconds; +∞ while one is on air. */
  #offAirSinceMs: number;

  constructor(parts: OwnLiveParts) {
    this.#parts = parts;
    this.#offAirSinceMs = parts.clock.now();
  }

  /** A source is on air now, or none. */
  changed(isOnAir: boolean): void {
    const { clock } = this.#parts;
    this.#offAirSinceMs = isOnAir ? Number.POSITIVE_INFINITY : clock.now();
    this.#onAirSinceMs = isOnAir ? (this.#onAirSinceMs ?? clock.wallMs()) : null;
  }

  /** The source on air was on air in another process. @param onAirSinceMs there, unix milliseconds */
  adopt(onAirSinceMs: number | null): void {
    this.#onAirSinceMs = onAirSinceMs;
    this.#offAirSinceMs = Number.POSITIVE_INFINITY;
  }

  get onAirSinceMs(): number | null {
    return this.#onAirSinceMs;
  }

  get silentSinceMs(): number {
    return Math.max(this.#offAirSinceMs, this.#parts.audio.emptySinceMs);
  }

  get missingSinceMs(): number {
    const { config, switch: sources } = this.#parts;
    const { silentSinceMs } = this;
    if (silentSinceMs === Number.POSITIVE_INFINITY || config.partTime) return Number.POSITIVE_INFINITY;
    return sources.onDemand ? Math.max(silentSinceMs, sources.wantedSinceMs) : silentSinceMs;
  }

  get isSilence(): boolean {
    return this.#parts.switch.healthOnAir?.troubles.silent ?? false;
  }

  get onAir(): number | null {
    const { indexOnAir } = this.#parts.switch;
    return indexOnAir < 0 ? null : indexOnAir;
  }

  get onAirType(): string | null {
    return this.#parts.switch.onAir?.contentType ?? null;
  }

  get sends(): string | null {
    return this.#parts.audio.sends;
  }

  get facts(): SourceFacts | null {
    return this.#parts.switch.onAir?.facts ?? null;
  }

  get hopeful(): boolean {
    return this.#parts.switch.hopeful || this.#parts.audio.delayedMs > 0;
  }
}

/** The state as whatever feeds the channel has it: its sources here, or another process. */
export function liveOf(feeding: () => ChannelLive): ChannelLive {
  const gets = Object.fromEntries(LIVE_FACTS.map((name) => [name, () => feeding()[name]]));
  return withGetters<ChannelLive>(gets as { [K in keyof ChannelLive]: () => ChannelLive[K] });
}
