/**
 * What processes that do not feed a channel know of it without its tape: made at the hub, read in workers as the channel's `live`
 * (channel/served.ts).
 */

import { codecOf } from '../../audio/frames/format.js';
import type { Clock } from '../../base/clock.js';
import { mergeGetters } from '../../base/getters.js';
import type { Channel } from '../../channel/channel.js';
import { liveOf } from '../../channel/own-live.js';
import type { ChannelLive } from '../../channel/served.js';
import type { ChannelFacts } from './facts-schema.js';
import { ownMs, sharedMs } from './shared-time.js';

/** The present facts of a channel. */
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

/** The duration of the delayed audio is rounded to such steps, as it changes with every frame. */
const DELAYED_STEP_MS = 1000;

const MOMENTS: ReadonlySet<string> = new Set(['silentSinceMs', 'missingSinceMs'] satisfies (keyof ChannelFacts)[]);

/** Whether both are equal. The facts of a source are the same object until they change. */
export function areSame(one: ChannelFacts, other: ChannelFacts): boolean {
  return (Object.keys({ ...one, ...other }) as (keyof ChannelFacts)[]).every((name) => {
    const [a, b] = [one[name], other[name]];
    return MOMENTS.has(name) ? isSameMoment(a as number | null, b as number | null) : a === b;
  });
}

/** Two computations of one moment may differ by a rounding error. */
function isSameMoment(one: number | null, other: number | null): boolean {
  return one === null || other === null ? one === other : Math.abs(one - other) <= 2;
}

/** For a channel of which nothing is known yet. */
export const NO_FACTS: ChannelFacts = {
  onAirSinceMs: null,
  silentSinceMs: null,
  missingSinceMs: null,
  isSilence: false,
  onAir: null,
  onAirType: null,
  facts: null,
  hopeful: true,
  contentType: 'audio/mpeg',
  bitrateKbps: 0,
  sampleRate: 0,
  channels: 0,
  delayMs: 0,
  delayedMs: 0,
  metaint: null,
  hasSegments: false,
};

/** A channel's `live`, from the facts that the hub sends. */
export interface LinkedLive extends ChannelLive {
  set(facts: ChannelFacts): void;
}

export function linkedLive(clock: Clock): LinkedLive {
  let live: ChannelLive = { ...liveFrom(NO_FACTS, clock), silentSinceMs: clock.now() };
  const set = (facts: ChannelFacts) => {
    live = liveFrom(facts, clock);
  };
  return mergeGetters(
    liveOf(() => live),
    { set },
  );
}

function liveFrom({ onAirType, sends = null, facts, ...said }: ChannelFacts, clock: Clock): ChannelLive {
  const { sampleRate, channels } = said;
  const codec = codecOf(sends);
  const own = (ms: number | null) => (ms === null ? Number.POSITIVE_INFINITY : ownMs(clock, ms));
  return {
    ...said,
    silentSinceMs: own(said.silentSinceMs),
    missingSinceMs: own(said.missingSinceMs),
    contentType: onAirType ?? undefined,
    sends,
    format: codec === undefined ? null : { codec, sampleRate, channels },
    facts: facts ?? undefined,
  };
}
