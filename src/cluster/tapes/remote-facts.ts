/** What the node that feeds a channel says of its audio to the others, as text, and as they know it. */

import type { Clock } from '../../base/clock.js';
import type { Channel } from '../../channel/channel.js';
import type { ChannelFacts } from '../../link/control.js';
import { areSame, factsOf, type LinkedLive, linkedLive, NO_FACTS } from '../../link/facts/channel-facts.js';
import { factsSchema } from '../../link/facts/facts-schema.js';
import { sharedMs } from '../../link/facts/shared-time.js';
import { decode, encode } from '../../metadata/codec.js';

export class RemoteFacts {
  /** What is known of a channel that is fed elsewhere. */
  readonly live: LinkedLive;
  #facts = NO_FACTS;
  /** Since when its tape does not come, monotonic milliseconds; +∞: it comes. */
  #lostSinceMs = Number.POSITIVE_INFINITY;
  readonly #clock: Clock;
  #said: ChannelFacts | null = null;

  /** @param clock whose wall clock is the cluster's: moments are exchanged by it */
  constructor(clock: Clock) {
    this.#clock = clock;
    this.live = linkedLive(clock);
  }

  /** While its tape does not come, the channel has no audio here, whatever its owner says. */
  get facts(): ChannelFacts {
    const facts = this.#facts;
    if (this.#lostSinceMs === Number.POSITIVE_INFINITY) return facts;
    const sinceMs = Math.round(sharedMs(this.#clock, this.#lostSinceMs));
    const since = (ms: number | null) => (ms === null ? sinceMs : Math.min(ms, sinceMs));
    return { ...facts, silentSinceMs: since(facts.silentSinceMs), missingSinceMs: since(facts.missingSinceMs) };
  }

  /** What is new to say of a channel that is fed here, or is about to be; '': nothing. */
  take(channel: Channel, isComing: boolean): string {
    const known = factsOf(channel, this.#clock);
    const facts = isComing ? { ...known, hopeful: true } : known;
    if (this.#said !== null && areSame(this.#said, facts)) return '';
    this.#said = facts;
    const { silentSinceMs, missingSinceMs } = facts;
    const moments = { silentSinceMs: this.#toCluster(silentSinceMs), missingSinceMs: this.#toCluster(missingSinceMs) };
    return encode({ ...facts, ...moments });
  }

  /** It was fed here until now: what is known of another node is older. */
  keep(channel: Channel): void {
    this.#facts = factsOf(channel, this.#clock);
    this.live.set(this.facts);
  }

  /** What was said last is said again. */
  forgetSaid(): void {
    this.#said = null;
  }

  /** Another node said this. @throws CheckError where it is malformed: what was known stays */
  set(text: string): void {
    const { silentSinceMs, missingSinceMs, ...facts } = decode<ChannelFacts>(factsSchema, text);
    this.#said = null;
    const moments = { silentSinceMs: this.#toShared(silentSinceMs), missingSinceMs: this.#toShared(missingSinceMs) };
    this.#facts = { ...facts, ...moments };
    this.live.set(this.facts);
  }

  /** @param sinceMs since when its tape does not come, monotonic milliseconds; +∞: it comes again */
  lose(sinceMs: number): void {
    this.#lostSinceMs = sinceMs;
    this.live.set(this.facts);
  }

  /** Unix milliseconds by the clock of the cluster. @param ms of the clock that the processes of this machine share */
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
