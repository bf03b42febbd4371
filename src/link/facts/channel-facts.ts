/** What processes that do not feed a channel know of it without its tape: made at the hub, read in workers as the channel's `live`. */

import type { AudioFormat } from '../../audio/frames/audio-format.js';
import { codecOf } from '../../audio/frames/format.js';
import type { Clock } from '../../base/clock.js';
import { mergeGetters } from '../../base/getters.js';
import type { Channel } from '../../channel/channel.js';
import {
  AUDIO_FACTS,
  type ChannelFacts,
  FACTS,
  isMoment,
  LIVE_FACTS,
  NO_FACTS,
  type RemoteLive,
} from '../../channel/channel-facts-schema.js';
import { liveOf } from '../../channel/own-live.js';

/** The duration of the delayed audio is rounded to such steps, as it changes with every frame. */
const DELAYED_STEP_MS = 1000;
/** Two computations of one moment may differ by a rounding error. */
const SAME_MS = 2;

/** The present facts of a channel. */
export function factsOf({ audio, served: { live }, switch: { isAwaited } }: Channel): ChannelFacts {
  // Composed a few times a second for each channel: adding the members to an empty object would take ten times as long.
  const facts: { -readonly [K in keyof ChannelFacts]: ChannelFacts[K] } = { ...NO_FACTS, isAwaited };
  copy(live, facts, LIVE_FACTS);
  copy(audio, facts, AUDIO_FACTS);
  facts.delayedMs = Math.round(facts.delayedMs / DELAYED_STEP_MS) * DELAYED_STEP_MS;
  return facts;
}

function copy<K extends keyof ChannelFacts>(from: Pick<ChannelFacts, K>, to: Record<K, unknown>, names: readonly K[]) {
  for (const name of names) to[name] = from[name];
}

/** Whether both are equal. The facts of a source are the same object until they change. */
export function areSame(one: ChannelFacts, other: ChannelFacts): boolean {
  return FACTS.every(
    (name) => one[name] === other[name] || (isMoment(name) && Math.abs(one[name] - other[name]) <= SAME_MS),
  );
}

/** A channel's `live`, from the facts that the process that feeds it sends. */
export interface LinkedLive extends RemoteLive {
  set(facts: ChannelFacts): void;
}

/** Until facts come, it is silent. */
export function linkedLive(clock: Clock): LinkedLive {
  let facts: ChannelFacts = { ...NO_FACTS, silentSinceMs: clock.now() };
  let format: AudioFormat | null = null;
  return mergeGetters(
    liveOf(() => facts),
    {
      /** The same object until the facts change. */
      get format() {
        return format;
      },
      set(next: ChannelFacts) {
        const { sends, sampleRate, channels } = next;
        const codec = codecOf(sends);
        facts = next;
        format = codec === undefined ? null : { codec, sampleRate, channels };
      },
    },
  );
}
