/**
 * How many people listen, as far as connections show it: connections with one metaid, with one X-Playback-Session-Id (Safari's probe
 * and its real connection), or from one address with one user agent within seconds of each other are one listener (src/listener/README.md, "Unique
 * listeners"). Counted when a connection begins to play and when it ends, never in between; its end also writes its line in the access log.
 *
 *   connection ─► metaid? playback session? address + agent, joined together? ─► unique listener ─► counts of the channel
 *
 * Invariant: nothing is kept of a connection that has ended; there are never more unique listeners than connections. Made by app/app.ts.
 */

import type { Clock } from '../base/clock.js';
import { anonymized, plainAddress } from '../base/ip.js';
import type { Output } from '../base/output.js';
import type { SecretMask } from '../base/secret-mask.js';
import { quoted, stamp } from './access-line.js';

/** User agents are compared up to this length. */
const AGENT_CHARACTERS = 200;
/** An X-Playback-Session-Id in another form is ignored. */
const PLAYBACK_SESSION = /^[!-~]{1,128}$/;

/** A request for a stream, as it came. */
export interface ListenerRequest {
  readonly method: string;
  /** Path and query as requested. */
  readonly url: string;
  /** Of the player; proxies are already taken out. */
  readonly address: string;
  header(name: string): string | undefined;
}

/** Figures of one channel; peaks since the start of the server. */
export interface ListenerCounts {
  readonly listeners: number;
  readonly peakListeners: number;
  readonly connections: number;
  readonly peakConnections: number;
}

type MutableCounts = { -readonly [Name in keyof ListenerCounts]: ListenerCounts[Name] };

/** One listener, with all its connections. */
interface UniqueListener {
  readonly key: string;
  readonly sinceMs: number;
  readonly counts: MutableCounts;
  connections: number;
}

/** The parts of an access line that are known from the beginning. */
interface AccessEntry {
  readonly address: string;
  readonly request: string;
  readonly agents: string;
}

/** A connection that plays: `join` gives it, `leave` takes it back. */
export interface CountedListener {
  readonly unique: UniqueListener;
  /** Null: no access log is written. */
  readonly entry: AccessEntry | null;
}

export interface ListenerStatsOptions {
  /** How long after the first connection of an address and agent another one is the same listener. */
  readonly togetherMs: number;
  /** Null: none is written. */
  readonly accessLog: Output | null;
  /** Whether addresses are shortened in the access log. */
  readonly anonymize: boolean;
  /** Length at which a URL, a referer and a user agent are cut, each. */
  readonly textCharacters: number;
  /** Takes secrets out of the three. */
  readonly secrets: SecretMask;
}

export class ListenerStats {
  readonly #clock: Clock;
  readonly #options: ListenerStatsOptions;
  /** Those that another connection can still join, by channel and identity. */
  readonly #unique = new Map<string, UniqueListener>();
  readonly #counts = new Map<string, MutableCounts>();

  constructor(clock: Clock, options: ListenerStatsOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  /** Lines of the access log that were not written. */
  get lostLines(): number {
    return this.#options.accessLog?.lost ?? 0;
  }

  /** The figures of a channel: a live object, it goes on changing. */
  counts(channel: string): ListenerCounts {
    return this.#countsOf(channel);
  }

  /** How many unique listeners are kept, for tests. */
  get size(): number {
    return this.#unique.size;
  }

  /** A connection begins to play. Balance with `leave`. @param metaid a well-formed one */
  join(channel: string, request: ListenerRequest, metaid: string | null): CountedListener {
    const agent = request.header('user-agent') ?? '';
    const nowMs = this.#clock.now();
    const { identity, isLasting } = identify(request, agent, metaid);
    const key = `${channel} ${identity}`;
    let unique = this.#unique.get(key);
    if (unique === undefined || (!isLasting && nowMs - unique.sinceMs > this.#options.togetherMs)) {
      const counts = this.#countsOf(channel);
      unique = { key, sinceMs: nowMs, counts, connections: 0 };
      this.#unique.set(key, unique);
      counts.peakListeners = Math.max(counts.peakListeners, ++counts.listeners);
    }
    const { counts } = unique;
    unique.connections++;
    counts.peakConnections = Math.max(counts.peakConnections, ++counts.connections);
    return { unique, entry: this.#options.accessLog === null ? null : this.#entry(request, agent) };
  }

  /** The connection has ended. @param bytes given to it, without the head @param lastedMs since its first audio */
  leave({ unique, entry }: CountedListener, bytes: number, lastedMs: number): void {
    this.#uncount(unique);
    if (entry === null) return;
    const { address, request, agents } = entry;
    const time = stamp(this.#clock.wallMs());
    const seconds = Math.round(lastedMs / 1000);
    this.#options.accessLog!.write(`${address} - - ${time} ${request} 200 ${bytes} ${agents} ${seconds}`);
  }

  #uncount(unique: UniqueListener): void {
    unique.counts.connections--;
    if (--unique.connections > 0) return;
    unique.counts.listeners--;
    // A later one with the same key may have taken its place.
    if (this.#unique.get(unique.key) === unique) this.#unique.delete(unique.key);
  }

  #countsOf(channel: string): MutableCounts {
    let counts = this.#counts.get(channel);
    if (counts === undefined) {
      counts = { listeners: 0, peakListeners: 0, connections: 0, peakConnections: 0 };
      this.#counts.set(channel, counts);
    }
    return counts;
  }

  /** The answer is HTTP/1.0 whatever version was asked for, so the line says that. */
  #entry(request: ListenerRequest, agent: string): AccessEntry {
    const { anonymize, textCharacters, secrets } = this.#options;
    // An empty secret is written as one character more.
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

/** What makes connections one listener, and whether that holds for as long as they play. */
function identify(
  request: ListenerRequest,
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
