/**
 * Unique listeners, as far as connections show: connections with one metaid, with one X-Playback-Session-Id (Safari's probe and its
 * real connection), or from one address with one user agent within seconds of each other are one listener (src/listener/README.md, "Unique
 * listeners"). Counted only when a connection begins to play and when it ends, which also writes its line in the access log.
 *
 *   connection ─► metaid? playback session? address + agent, joined together? ─► unique listener ─► counts of the channel
 *
 * Processes share the identities of their listeners, so that one with connections in two of them counts once (unique-tally.ts).
 *
 * Invariant: nothing is kept of a connection that has ended; there are never more unique listeners than connections. Made by app/worker/worker.ts.
 */

import type { Clock } from '../base/clock.js';
import { anonymized, plainAddress } from '../base/ip.js';
import type { Output } from '../base/output.js';
import type { SecretMask } from '../base/secret-mask.js';
import { Tallies } from '../base/tallies.js';
import { quoted, stamp } from './access-line.js';
import { digestOf, type NamedListener, UniqueTally } from './unique-tally.js';

/** User agents are compared up to this length. */
const AGENT_CHARACTERS = 200;
/** An X-Playback-Session-Id in another form is ignored. */
const PLAYBACK_SESSION = /^[!-~]{1,128}$/;

/** A request for a stream. */
export interface ListenerRequest {
  readonly method: string;
  /** Path and query as requested. */
  readonly url: string;
  /** The player's, not that of a trusted proxy (net/front/client-address.ts); "": it has gone. */
  readonly address: string;
  /** The value of a header, by its lower-case name. */
  header(name: string): string | undefined;
}

/** Figures of one channel; peaks since the start of the server. */
export interface ListenerCounts {
  readonly listeners: number;
  readonly peakListeners: number;
  readonly connections: number;
  readonly peakConnections: number;
}

interface UniqueListener extends NamedListener {
  readonly counts: ChannelCounts;
}

/** The parts of an access line that are known from the start. */
interface AccessEntry {
  readonly address: string;
  readonly request: string;
  readonly agents: string;
}

/** A connection that plays: returned by `join`, passed to `leave`. */
export interface CountedListener {
  readonly unique: UniqueListener;
  /** Null: there is no access log. */
  readonly entry: AccessEntry | null;
  /** For statistics over time; null: not kept. */
  readonly onLeave: ((lastedMs: number) => void) | null;
}

export interface ListenerStatsOptions {
  /** How long after the first connection of an address and agent another one counts as the same listener. */
  readonly togetherMs: number;
  /** Null: there is none. */
  readonly accessLog: Output | null;
  /** Shortens addresses in the access log. */
  readonly anonymize: boolean;
  /** Maximum length of a URL, a referer and a user agent, each. */
  readonly textCharacters: number;
  /** Masks secrets in the three. */
  readonly secrets: SecretMask;
  /** Shared with the other processes; absent: there are none. */
  readonly tallies?: Tallies;
  /** A connection begins to play. @returns called once, when it has ended */
  readonly onJoin?: (channel: string, request: ListenerRequest) => ((lastedMs: number) => void) | null;
}

/** Figures of one channel: this process's and the others'. */
class ChannelCounts implements ListenerCounts {
  ownListeners = 0;
  ownConnections = 0;
  readonly #channel: string;
  readonly #tallies: Tallies;
  readonly #unique: UniqueTally;
  #peakListeners = 0;
  #peakConnections = 0;

  constructor(channel: string, tallies: Tallies, unique: UniqueTally) {
    this.#channel = channel;
    this.#tallies = tallies;
    this.#unique = unique;
  }

  get listeners(): number {
    return this.ownListeners + this.#unique.remoteCount;
  }

  get connections(): number {
    return this.ownConnections + this.#tallies.tally(PLAYING).others(this.#channel);
  }

  get peakListeners(): number {
    return Math.max(this.#peakListeners, this.#tallies.peak(`listeners ${this.#channel}`));
  }

  get peakConnections(): number {
    return Math.max(this.#peakConnections, this.#tallies.peak(`connections ${this.#channel}`));
  }

  look(): void {
    this.#tallies.tally(PLAYING).set(this.#channel, this.ownConnections);
    this.raise();
    this.#tallies.raise(`listeners ${this.#channel}`, this.#peakListeners);
    this.#tallies.raise(`connections ${this.#channel}`, this.#peakConnections);
  }

  raise(): void {
    this.#peakListeners = Math.max(this.#peakListeners, this.listeners);
    this.#peakConnections = Math.max(this.#peakConnections, this.connections);
  }
}

/** Connections that play, by channel. */
const PLAYING = 'playing';

export class ListenerStats {
  readonly #clock: Clock;
  readonly #options: ListenerStatsOptions;
  /** Listeners that another connection can still join, by channel and identity. */
  readonly #unique = new Map<string, UniqueListener>();
  readonly #counts = new Map<string, ChannelCounts>();
  readonly #uniques = new Map<string, UniqueTally>();
  readonly #tallies: Tallies;

  constructor(clock: Clock, options: ListenerStatsOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#tallies = options.tallies ?? new Tallies();
    this.#tallies.onLook(() => {
      for (const counts of this.#counts.values()) counts.look();
    });
    this.#tallies.onHeard(() => {
      for (const counts of this.#counts.values()) counts.raise();
    });
  }

  /** Lines that could not be written to the access log. */
  get lostLines(): number {
    return this.#options.accessLog?.lost ?? 0;
  }

  /** The figures of a channel: a live object. */
  counts(channel: string): ListenerCounts {
    return this.#countsOf(channel);
  }

  /** The number of unique listeners kept, for tests. */
  get size(): number {
    return this.#unique.size;
  }

  /** A connection begins to play. Balance with `leave`. @param metaid well-formed, or null */
  join(channel: string, request: ListenerRequest, metaid: string | null): CountedListener {
    const agent = request.header('user-agent') ?? '';
    const nowMs = this.#clock.now();
    const { identity, isLasting } = identify(request, agent, metaid);
    const tally = this.#uniqueOf(channel);
    const key = `${channel} ${this.#tallies.isShared ? digestOf(identity) : identity}`;
    let unique = this.#unique.get(key);
    if (unique === undefined || (!isLasting && nowMs - unique.sinceMs > this.#options.togetherMs)) {
      const counts = this.#countsOf(channel);
      unique = { key, channel, counts, isLasting, sinceMs: nowMs, connections: 0, name: '' };
      this.#unique.set(key, unique);
      counts.ownListeners++;
    }
    unique.connections++;
    unique.counts.ownConnections++;
    if (this.#tallies.isShared) tally.add(unique);
    unique.counts.raise();
    const entry = this.#options.accessLog === null ? null : this.#entry(request, agent);
    return { unique, entry, onLeave: this.#options.onJoin?.(channel, request) ?? null };
  }

  /** The connection has ended. @param bytes written to it, without the head @param lastedMs since its first audio */
  leave({ unique, entry, onLeave }: CountedListener, bytes: number, lastedMs: number): void {
    this.#uncount(unique);
    onLeave?.(lastedMs);
    if (entry === null) return;
    const { address, request, agents } = entry;
    const time = stamp(this.#clock.wallMs());
    const seconds = Math.round(lastedMs / 1000);
    this.#options.accessLog!.write(`${address} - - ${time} ${request} 200 ${bytes} ${agents} ${seconds}`);
  }

  #uncount(unique: UniqueListener): void {
    unique.counts.ownConnections--;
    if (unique.name !== '') this.#uniqueOf(unique.channel).remove(unique);
    if (--unique.connections > 0) return;
    unique.counts.ownListeners--;
    // A later listener with the same key may have replaced it.
    if (this.#unique.get(unique.key) === unique) this.#unique.delete(unique.key);
  }

  #countsOf(channel: string): ChannelCounts {
    let counts = this.#counts.get(channel);
    if (counts === undefined) {
      counts = new ChannelCounts(channel, this.#tallies, this.#uniqueOf(channel));
      this.#counts.set(channel, counts);
    }
    return counts;
  }

  #uniqueOf(channel: string): UniqueTally {
    let tally = this.#uniques.get(channel);
    if (tally === undefined) {
      const ownOf = (digest: string) => this.#unique.get(`${channel} ${digest}`);
      tally = new UniqueTally(this.#clock, this.#tallies.tally(`unique ${channel}`), this.#options.togetherMs, ownOf);
      this.#uniques.set(channel, tally);
    }
    return tally;
  }

  /** HTTP/1.0, the version of the response, whatever the request's. */
  #entry(request: ListenerRequest, agent: string): AccessEntry {
    const { anonymize, textCharacters, secrets } = this.#options;
    // Masking an empty secret adds a character.
    const field = (text: string) => secrets.mask(text, textCharacters).slice(0, textCharacters);
    const line = `${request.method} ${field(request.url)} HTTP/1.0`;
    const referer = request.header('referer') ?? '';
    const address = plainAddress(request.address);
    return {
      address: anonymize ? anonymized(address) : address || '-',
      request: quoted(line),
      agents: `${quoted(field(referer))} ${quoted(field(agent))}`,
    };
  }
}

/** The identity that makes connections one listener, and whether it holds as long as they play. */
export function identify(
  request: Pick<ListenerRequest, 'address' | 'header'>,
  agent: string,
  metaid: string | null,
): { identity: string; isLasting: boolean } {
  if (metaid !== null) return { identity: `m ${metaid}`, isLasting: true };
  const playbackSession = request.header('x-playback-session-id');
  if (playbackSession !== undefined && PLAYBACK_SESSION.test(playbackSession)) {
    return { identity: `p ${playbackSession}`, isLasting: true };
  }
  return { identity: `a ${request.address} ${agent.slice(0, AGENT_CHARACTERS)}`, isLasting: false };
}
