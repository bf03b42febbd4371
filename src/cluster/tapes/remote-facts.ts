/** The facts of a channel's audio that its owner publishes, and as the other nodes know them. */

import type { Clock } from '../../base/clock.js';
import type { Channel } from '../../channel/channel.js';
import { type ChannelFacts, factsSchema, NO_FACTS, withMoments } from '../../channel/channel-facts-schema.js';
import { areSame, factsOf, type LinkedLive, linkedLive } from '../../link/facts/channel-facts.js';
import { decode, encode } from '../../metadata/codec.js';

export class RemoteFacts {
  /** The known state of a channel that another node feeds. */
  readonly live: LinkedLive;
  #facts = NO_FACTS;
  /** Since when its tape has been missing, monotonic milliseconds; +∞: it arrives. */
  #lostSinceMs = Number.POSITIVE_INFINITY;
  readonly #clock: Clock;
  #said: ChannelFacts | null = null;

  /** @param clock its wall clock is the cluster time, by which times are exchanged */
  constructor(clock: Clock) {
    this.#clock = clock;
    this.live = linkedLive(clock);
  }

  /** While its tape is missing, the channel has no audio here, whatever its owner publishes. */
  get facts(): ChannelFacts {
    const lostSinceMs = this.#lostSinceMs;
    if (lostSinceMs === Number.POSITIVE_INFINITY) return this.#facts;
    return withMoments(this.#facts, (ms) => Math.min(ms, lostSinceMs));
  }

  /** The facts to publish of a channel that is fed here, or is about to be; '': unchanged. */
  take(channel: Channel, isComing: boolean): string {
    const known = factsOf(channel);
    const facts = isComing ? { ...known, hopeful: true } : known;
    if (this.#said !== null && areSame(this.#said, facts)) return '';
    this.#said = facts;
    const aheadMs = this.#aheadMs;
    return encode(withMoments(facts, (ms) => Math.round(ms + aheadMs)));
  }

  /** It was fed here until now: the facts of the other node are older. */
  keep(channel: Channel): void {
    this.#facts = factsOf(channel);
    this.live.set(this.facts);
  }

  /** Publishes the facts again, though unchanged. */
  forgetSaid(): void {
    this.#said = null;
  }

  /** Takes the facts that another node has published. @throws CheckError if they are malformed; the known ones stay */
  set(text: string): void {
    const said = decode<ChannelFacts>(factsSchema, text);
    this.#said = null;
    const [nowMs, aheadMs] = [this.#clock.now(), this.#aheadMs];
    // None is in the future, whatever the other machine's clock says.
    this.#facts = withMoments(said, (ms) => (ms === Number.POSITIVE_INFINITY ? ms : Math.min(nowMs, ms - aheadMs)));
    this.live.set(this.facts);
  }

  /** @param sinceMs since when its tape has been missing, monotonic milliseconds; +∞: it arrives again */
  lose(sinceMs: number): void {
    this.#lostSinceMs = sinceMs;
    this.live.set(this.facts);
  }

  /** How far the cluster time is ahead of the monotonic clock, milliseconds. */
  get #aheadMs(): number {
    return this.#clock.wallMs() - this.#clock.now();
  }
}
