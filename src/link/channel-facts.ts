/** What processes that do not feed a channel know of it without its tape: made at the hub, read in workers as the channel's `live` (channel/served.ts). */

import { type AudioFormat, CODECS } from '../audio/audio-format.js';
import { contentTypeOf } from '../audio/format.js';
import type { Clock } from '../base/clock.js';
import type { Channel } from '../channel/channel.js';
import type { ChannelLive } from '../channel/served.js';
import type { ChannelFacts } from './control.js';
import { ownMs, sharedMs } from './shared-time.js';

/** Of a channel, as it is now. */
export function factsOf({ audio, served: { live }, switch: { isAwaited } }: Channel, clock: Clock): ChannelFacts {
  const shared = (ms: number) => (ms === Number.POSITIVE_INFINITY ? null : Math.round(sharedMs(clock, ms)));
  return {
    onAirSinceMs: live.onAirSinceMs,
    silentSinceMs: shared(live.silentSinceMs),
    missingSinceMs: shared(live.missingSinceMs),
    isSilence: live.isSilence,
    onAir: live.onAir,
    isAwaited,
    onAirType: live.contentType ?? null,
    sends: live.sends,
    facts: live.facts ?? null,
    hopeful: live.hopeful,
    contentType: audio.contentType,
    bitrateKbps: audio.bitrateKbps,
    sampleRate: audio.sampleRate,
    channels: audio.channels,
    delayMs: audio.delayMs,
    delayedMs: Math.round(audio.delayedMs / DELAYED_STEP_MS) * DELAYED_STEP_MS,
    metaint: audio.metaint,
    hasSegments: audio.hasSegments,
  };
}

/** What waits in a delay line is said in such steps: it changes with every frame. */
const DELAYED_STEP_MS = 1000;

/** Whether nothing has changed. What a source says of itself is one object as long as it is the same. */
export function areSame(one: ChannelFacts, other: ChannelFacts): boolean {
  return (
    one.onAirSinceMs === other.onAirSinceMs &&
    isSameMoment(one.silentSinceMs, other.silentSinceMs) &&
    isSameMoment(one.missingSinceMs, other.missingSinceMs) &&
    one.isSilence === other.isSilence &&
    one.onAir === other.onAir &&
    one.isAwaited === other.isAwaited &&
    one.onAirType === other.onAirType &&
    one.sends === other.sends &&
    one.facts === other.facts &&
    one.hopeful === other.hopeful &&
    one.contentType === other.contentType &&
    one.bitrateKbps === other.bitrateKbps &&
    one.sampleRate === other.sampleRate &&
    one.channels === other.channels &&
    one.delayMs === other.delayMs &&
    one.delayedMs === other.delayedMs &&
    one.metaint === other.metaint &&
    one.hasSegments === other.hasSegments
  );
}

/** The same moment is not computed twice to the same millisecond. */
function isSameMoment(one: number | null, other: number | null): boolean {
  return one === null || other === null ? one === other : Math.abs(one - other) <= 2;
}

/** Of a channel of which nothing is known yet. */
export const NO_FACTS: ChannelFacts = {
  ...{
    onAirSinceMs: null,
    silentSinceMs: null,
    missingSinceMs: null,
    isSilence: false,
    onAir: null,
    onAirType: null,
    facts: null,
    hopeful: true,
  },
  ...{ contentType: 'audio/mpeg', bitrateKbps: 0, sampleRate: 0, channels: 0, delayMs: 0, delayedMs: 0 },
  ...{ metaint: null, hasSegments: false },
};

/** A channel's `live` from what the hub says. */
export class LinkedLive implements ChannelLive {
  format: AudioFormat | null = null;
  #facts = NO_FACTS;
  /** Monotonic milliseconds of this process. */
  #silentSinceMs: number;
  #missingSinceMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#silentSinceMs = clock.now();
  }

  set(facts: ChannelFacts, clock: Clock): void {
    this.#facts = facts;
    const { sends = null, sampleRate, channels } = facts;
    const codec = CODECS.find((each) => each === sends || contentTypeOf(each) === sends);
    this.format = codec === undefined ? null : { codec, sampleRate, channels };
    const own = (ms: number | null) => (ms === null ? Number.POSITIVE_INFINITY : ownMs(clock, ms));
    this.#silentSinceMs = own(facts.silentSinceMs);
    this.#missingSinceMs = own(facts.missingSinceMs);
  }

  get onAirSinceMs(): number | null {
    return this.#facts.onAirSinceMs;
  }

  get silentSinceMs(): number {
    return this.#silentSinceMs;
  }

  get missingSinceMs(): number {
    return this.#missingSinceMs;
  }

  get isSilence(): boolean {
    return this.#facts.isSilence;
  }

  get onAir(): number | null {
    return this.#facts.onAir;
  }

  get contentType(): string | undefined {
    return this.#facts.onAirType ?? undefined;
  }

  get sends(): string | null {
    return this.#facts.sends ?? null;
  }

  get facts(): ChannelLive['facts'] {
    return this.#facts.facts ?? undefined;
  }

  get hopeful(): boolean {
    return this.#facts.hopeful;
  }
}
