/** The facts of a channel's audio that its owner publishes, and as the other nodes know them. */

import type { Clock } from '../../base/clock.js';
import type { Channel } from '../../channel/channel.js';
import { areSame, factsOf, type LinkedLive, linkedLive, NO_FACTS } from '../../link/facts/channel-facts.js';
import type { ChannelFacts } from '../../link/facts/facts-schema.js';
import { factsSchema } from '../../link/facts/facts-schema.js';
import { sharedMs } from '../../link/facts/shared-time.js';
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
    const facts = this.#facts;
    if (this.#lostSinceMs === Number.POSITIVE_INFINITY) return facts;
    const sinceMs = Math.round(sharedMs(this.#clock, this.#lostSinceMs));
    const since = (ms: number | null) => (ms === null ? sinceMs : Math.min(ms, sinceMs));
    return { ...facts, silentSinceMs: since(facts.silentSinceMs), missingSinceMs: since(facts.missingSinceMs) };
  }

  /** The facts to publish of a channel that is fed here, or is about to be; '': unchanged. */
  take(channel: Channel, isComing: boolean): string {
    const known = factsOf(channel, this.#clock);
    const facts = isComing ? { ...known, hopeful: true } : known;
    if (this.#said !== null && areSame(this.#said, facts)) return '';
    this.#said = facts;
    const { silentSinceMs, missingSinceMs } = facts;
    const moments = { silentSinceMs: this.#toCluster(silentSinceMs), missingSinceMs: this.#toCluster(missingSinceMs) };
    return encode({ ...facts, ...moments });
  }

  /** It was fed here until now: the facts of the other node are older. */
  keep(channel: Channel): void {
    this.#facts = factsOf(channel, this.#clock);
    this.live.set(this.facts);
  }

  /** Publishes the facts again, though unchanged. */
  forgetSaid(): void {
    this.#said = null;
  }

  /** Takes the facts that another node has published. @throws CheckError if they are malformed; the known ones stay */
  set(text: string): void {
    const { silentSinceMs, missingSinceMs, ...facts } = decode<ChannelFacts>(factsSchema, text);
    this.#said = null;
    const moments = { silentSinceMs: this.#toShared(silentSinceMs), missingSinceMs: this.#toShared(missingSinceMs) };
    this.#facts = { ...facts, ...moments };
    this.live.set(this.facts);
  }

  /** @param sinceMs since when its tape has been missing, monotonic milliseconds; +∞: it arrives again */
  lose(sinceMs: number): void {
    this.#lostSinceMs = sinceMs;
    this.live.set(this.facts);
  }

  /** Unix milliseconds of the cluster time. @param ms of the monotonic clock that the processes of this machine share */
  #toCluster(ms: number | null): number | null {
    if (ms === null) return null;
    const agoMs = sharedMs(this.#clock, this.#clock.now()) - ms;
    return Math.round(this.#clock.wallMs() - agoMs);
  }

  #toShared(ms: number | null): number | null {
    if (ms === null) return null;
    const agoMs = Math.max(0, this.#clock.wallMs() - ms);
    return sharedMs(this.#clock, this.#clock.now()) - agoMs;
  }
}
