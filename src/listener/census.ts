/**
 * How many people listen, told from how many connections there are: connections with one metaid, with one X-Playback-Session-Id
 * (Safari's probe and its real connection), or from one address with one user agent within seconds of each other are one listener
 * (issue "Players"). Counted when a connection begins to play and when it ends, never in between.
 *
 *   connection ─► metaid? playback session? address + agent, begun together? ─► group ─► tally of the channel
 *
 * Invariant: it remembers nothing of who has gone; there are never more groups than connections. Owned by the guests (guests.ts).
 */

import type { Clock } from '../base/clock.js';

/** Two agents that differ only after so many characters are taken for one. */
const AGENT_CHARACTERS = 200;
/** What is longer is no id of a player's. */
const PLAYBACK_SESSION = /^[!-~]{1,128}$/;

/** A connection, as far as it tells who is listening. */
export interface Visitor {
  readonly address: string;
  readonly agent: string;
  /** A well-formed one. */
  readonly metaid: string | null;
  readonly playbackSession: string | undefined;
}

/** Figures of one channel; peaks since the start of the server. */
export interface ListenerCounts {
  readonly listeners: number;
  readonly peakListeners: number;
  readonly connections: number;
  readonly peakConnections: number;
}

type Counts = { -readonly [Name in keyof ListenerCounts]: ListenerCounts[Name] };

/** One listener, with all its connections. */
export class Group {
  connections = 0;
  readonly key: string;
  readonly sinceMs: number;
  readonly counts: Counts;

  constructor(key: string, sinceMs: number, counts: Counts) {
    this.key = key;
    this.sinceMs = sinceMs;
    this.counts = counts;
  }
}

export class Census {
  readonly #clock: Clock;
  readonly #togetherMs: number;
  /** Those that another connection can still join, by what makes them one. */
  readonly #groups = new Map<string, Group>();
  readonly #counts = new Map<string, Counts>();

  /** @param togetherMs how long after the first connection of an address and agent another one is the same listener */
  constructor(clock: Clock, togetherMs: number) {
    this.#clock = clock;
    this.#togetherMs = togetherMs;
  }

  /** A connection begins to play. Balance with `leave`. */
  join(channel: string, visitor: Visitor): Group {
    const nowMs = this.#clock.now();
    const [key, lasting] = identity(visitor);
    const name = `${channel} ${key}`;
    let group = this.#groups.get(name);
    if (group === undefined || (!lasting && nowMs - group.sinceMs > this.#togetherMs)) {
      const counts = this.#of(channel);
      group = new Group(name, nowMs, counts);
      this.#groups.set(name, group);
      counts.peakListeners = Math.max(counts.peakListeners, ++counts.listeners);
    }
    const { counts } = group;
    group.connections++;
    counts.peakConnections = Math.max(counts.peakConnections, ++counts.connections);
    return group;
  }

  /** One of its connections has ended. */
  leave(group: Group): void {
    group.counts.connections--;
    if (--group.connections > 0) return;
    group.counts.listeners--;
    // A later group may have taken its place there.
    if (this.#groups.get(group.key) === group) this.#groups.delete(group.key);
  }

  /** The figures of a channel, which go on changing. */
  tally(channel: string): ListenerCounts {
    return this.#of(channel);
  }

  /** How many listeners are remembered, for tests. */
  get size(): number {
    return this.#groups.size;
  }

  #of(channel: string): Counts {
    let counts = this.#counts.get(channel);
    if (counts === undefined) {
      counts = { listeners: 0, peakListeners: 0, connections: 0, peakConnections: 0 };
      this.#counts.set(channel, counts);
    }
    return counts;
  }
}

/** What makes connections one listener, and whether that holds for as long as they play. */
function identity({ address, agent, metaid, playbackSession }: Visitor): [key: string, lasting: boolean] {
  if (metaid !== null) return [`m ${metaid}`, true];
  if (playbackSession !== undefined && PLAYBACK_SESSION.test(playbackSession)) return [`p ${playbackSession}`, true];
  return [`a ${address} ${agent.slice(0, AGENT_CHARACTERS)}`, false];
}
