/**
 * The facts of all channels at the hub, as they were last sent to the workers. Most changes are not notified, so facts are compared a few times a
 * second, more often after a change of source, and those that differ are sent. Owned by HubLinks.
 */

import type { AlarmHandler, Clock } from '../../base/clock.js';
import { nextWhole } from '../../base/whole-time.js';
import type { Channel } from '../../channel/channel.js';
import { type ChannelFacts, withMoments } from '../../channel/channel-facts-schema.js';
import { areSame, factsOf } from './channel-facts.js';
import { sharedMs } from './shared-time.js';

export interface HubFactsParts {
  readonly clock: Clock;
  readonly channels: ReadonlyMap<string, Channel>;
  /** See HubLinksParts. */
  remoteAudio?(channel: string): { readonly facts: ChannelFacts } | undefined;
  /** Sends facts that have changed to the workers. */
  send(channel: string, facts: ChannelFacts): void;
}

/** Interval at which facts are compared. */
export const FACTS_LOOK_MS = 250;
/** The same while no channel has audio. */
const REST_MS = 1000;
/** The same for a channel after a change of source, until it has audio, for SOON_FOR_MS at most. */
const SOON_MS = 40;
const SOON_FOR_MS = 2000;

export class HubFacts {
  readonly #parts: HubFactsParts;
  readonly #facts = new Map<string, ChannelFacts>();
  /** Channels whose audio is about to begin → until when they are compared more often, monotonic milliseconds. */
  readonly #beginning = new Map<string, number>();

  constructor(parts: HubFactsParts) {
    this.#parts = parts;
    for (const [key, channel] of parts.channels) this.#facts.set(key, this.#factsOf(channel));
  }

  /** As they are now, for a worker that links. */
  now(): ReadonlyMap<string, ChannelFacts> {
    this.lookAll();
    return new Map([...this.#facts].map(([channel, facts]) => [channel, this.#shared(facts)]));
  }

  lookAll(): void {
    for (const channel of this.#parts.channels.keys()) this.look(channel);
  }

  /** When all are to be compared again. */
  nextLookMs(nowMs: number): number {
    return this.#changeByThemselves ? nowMs + FACTS_LOOK_MS : nextWhole(REST_MS, nowMs);
  }

  /** Sends the facts of a channel now, if they have changed. */
  look(channel: string): void {
    const found = this.#parts.channels.get(channel);
    // It was removed meanwhile.
    if (found === undefined) return;
    const facts = this.#factsOf(found);
    const last = this.#facts.get(channel);
    if (last !== undefined && areSame(last, facts)) return;
    this.#facts.set(channel, facts);
    this.#parts.send(channel, this.#shared(facts));
  }

  /**
   * Another source is on air, or connects: changed facts are sent at once, after the channel has handled it. Before, the channel may look as if no
   * source were expected, and a listener who connects in that moment would be refused.
   */
  sourceChanged(channel: string): void {
    queueMicrotask(() => this.look(channel));
    const { clock } = this.#parts;
    if (this.#beginning.size === 0) clock.alarm(clock.now() + SOON_MS, { onAlarm: (nowMs) => this.#lookAgain(nowMs) });
    this.#beginning.set(channel, clock.now() + SOON_FOR_MS);
  }

  forget(channel: string): void {
    this.#facts.delete(channel);
    this.#beginning.delete(channel);
  }

  close(): void {
    this.#beginning.clear();
  }

  #factsOf(channel: Channel): ChannelFacts {
    return this.#parts.remoteAudio?.(channel.key)?.facts ?? factsOf(channel);
  }

  /** As they are sent, with times that all processes share. */
  #shared(facts: ChannelFacts): ChannelFacts {
    return withMoments(facts, (ms) => Math.round(sharedMs(this.#parts.clock, ms)));
  }

  /** Whether facts may change unnoticed: some channel has audio, or another machine feeds it. */
  get #changeByThemselves(): boolean {
    for (const [channel, { onAir, hasSegments }] of this.#facts)
      if (onAir !== null || hasSegments || this.#parts.remoteAudio?.(channel) !== undefined) return true;
    return false;
  }

  #lookAgain(nowMs: number): void {
    for (const [channel, untilMs] of this.#beginning) {
      this.look(channel);
      if (this.#facts.get(channel)?.hasSegments !== false || nowMs > untilMs) this.#beginning.delete(channel);
    }
    const again: AlarmHandler = { onAlarm: (laterMs) => this.#lookAgain(laterMs) };
    if (this.#beginning.size > 0) this.#parts.clock.alarm(nowMs + SOON_MS, again);
  }
}
