/**
 * All watchers, by WebSocket or SSE: their limits, their first messages and changes, and a check of each of them once a second. After a restart a
 * crowd reconnects at once. To spread its pings, readers are checked in groups, one group a tick, and the first ping of each reader is early by a
 * phase of its own: by half the interval at most, since a new watcher need not be pinged at once.
 * Owns the readers from `enter` until the connection has closed.
 */

import type { IncomingMessage } from 'node:http';
import { type AlarmHandler, type Clock, TICK_MS, type Ticker } from '../../base/clock.js';
import { type Refusal, retryLater, shuttingDown } from '../../base/refusal.js';
import { Tallies } from '../../base/tallies.js';
import type { Tally } from '../../base/tally.js';
import type { Feed, Message, Sync, Watcher } from '../../feed/feed.js';
import type { ReadableSession, SessionDirectory } from '../../listener/sessions/readable-session.js';
import type { Proxies } from '../../net/front/client-address.js';
import { notFound, type ReadTarget } from '../reads.js';
import { type Transport, WatchConnection, type WatchConnectionLimits } from './watch-connection.js';

/** Number of groups of readers. Each tick checks one, so each reader is checked about once a second. */
const GROUPS = 1000 / TICK_MS;
/** The golden ratio: its multiples (modulo 1) are spread evenly, and so are the phases of successive watchers. */
const PHASE = (Math.sqrt(5) - 1) / 2;
/** Retry-After of a refused watcher. */
const RETRY_SECONDS = 10;

export interface WatchOptions extends WatchConnectionLimits {
  readonly watchers: number;
  readonly watchersPerAddress: number;
  /** Limit for one WebSocket in ten seconds; a burst of as many is allowed. */
  readonly frames: number;
  readonly proxies: Proxies;
  /** Shared with the other processes; absent: there are none. */
  readonly tallies?: Tallies;
  /** Gets the error that caused a 500. */
  onError(error: unknown): void;
}

export type Topic = Pick<ReadTarget, 'scope' | 'id'>;

/** A watcher, for operators. */
export interface WatcherFacts {
  /** Null: its subscriptions change (the old service's WebSocket). */
  readonly topic: Topic | null;
  /** The address, or network of IPv6, to which limits apply. */
  readonly address: string;
  /** Unix milliseconds. */
  readonly sinceMs: number;
}

/** A client's request to watch a topic. */
export interface WatchRequest {
  readonly target: Topic;
  readonly sync: Sync;
  /** The last messages of an earlier connection, in channel and station scope: an id of feed/seen.ts. */
  readonly seen?: string | undefined;
  /** The same in listener scope. */
  readonly seenOfListener?: ListenerSeen | undefined;
}

/** Ids of the last now and the last next that a client has seen; `""`: none. */
export interface ListenerSeen {
  readonly now: string;
  readonly next: string;
}

export interface OpenWatcher {
  readonly reader: WatchConnection;
  onGone(): void;
}

export class Watchers implements AlarmHandler {
  readonly #feed: Feed;
  readonly #sessions: SessionDirectory;
  readonly #clock: Clock;
  readonly #options: WatchOptions;
  readonly #groups = Array.from({ length: GROUPS }, () => new Map<WatchConnection, WatcherFacts>());
  #count = 0;
  #entered = 0;
  /** The last tick whose group was checked. */
  #tick: number;
  readonly #ticker: Ticker;
  readonly #all: Tally;
  readonly #byAddress: Tally;
  #closed = false;

  constructor(feed: Feed, sessions: SessionDirectory, clock: Clock, options: WatchOptions) {
    this.#feed = feed;
    this.#sessions = sessions;
    this.#clock = clock;
    this.#options = options;
    this.#tick = tickOf(clock.now());
    const tallies = options.tallies ?? new Tallies();
    this.#all = tallies.all;
    this.#byAddress = tallies.tally('watchers');
    tallies.onLook(() => this.#all.set('watchers', this.#count));
    this.#ticker = clock.everyTick(this);
  }

  get count(): number {
    return this.#count;
  }

  /** Any metaid exists. @throws Refusal not-found */
  checkExists(target: Topic): void {
    if (target.scope === 'channel' && this.#feed.face(target.id) === undefined)
      throw notFound('There is no such channel.');
    if (target.scope === 'station' && !this.#feed.hasStation(target.id)) throw notFound('There is no such station.');
  }

  /** The client's address or network, to which limits apply. */
  originOf(request: IncomingMessage): string {
    return this.#options.proxies.originOf(request);
  }

  /** @throws Refusal unavailable */
  checkRoom(address: string): void {
    if (this.#closed) throw shuttingDown(RETRY_SECONDS);
    const { watchers, watchersPerAddress } = this.#options;
    if (this.#count + this.#all.others('watchers') >= watchers) throw busy('Too many watchers on this server.');
    if (this.#byAddress.count(address) >= watchersPerAddress) throw busy('Too many watchers from this address.');
  }

  /** All watchers, for operators. The objects must not be kept. */
  *all(): Iterable<WatcherFacts> {
    for (const group of this.#groups) yield* group.values();
  }

  /** Adds an admitted connection. The caller calls `onGone` when it has closed; idempotent. */
  enter(transport: Transport, address: string, topic: Topic | null = null): OpenWatcher {
    const number = this.#entered++;
    const nowMs = this.#clock.now();
    if (!this.#ticker.isRunning) this.#tick = tickOf(nowMs);
    this.#ticker.run();
    const reader = new WatchConnection(transport, this.#options, nowMs, ((number * PHASE) % 1) / 2);
    const group = this.#groups[number % GROUPS]!;
    group.set(reader, { topic, address, sinceMs: this.#clock.wallMs() });
    this.#count++;
    this.#byAddress.add(address, 1);
    const onGone = () => {
      if (!group.delete(reader)) return;
      this.#count--;
      this.#byAddress.add(address, -1);
    };
    return { reader, onGone };
  }

  /** The same for a connection with one topic, to which it subscribes at once. */
  open(transport: Transport, address: string, watch: WatchRequest): OpenWatcher {
    const { reader, onGone } = this.enter(transport, address, watch.target);
    try {
      const unsubscribe = this.subscribe(reader, watch);
      return {
        reader,
        onGone: () => {
          unsubscribe();
          onGone();
        },
      };
    } catch (error) {
      onGone();
      throw error;
    }
  }

  /** Sends a watcher its first messages, then every change, until the returned function is called. */
  subscribe(watcher: Watcher, { target: { scope, id }, sync, seen, seenOfListener }: WatchRequest): () => void {
    if (scope === 'channel') return this.#feed.watchChannel(id, watcher, seen);
    if (scope === 'station') return this.#feed.watchStation(id, watcher, seen);
    let end: (() => void) | null = null;
    const begin = () => {
      for (const message of this.#firstOfListener(id, sync, seenOfListener)) watcher.onMessage(message);
      end = this.#feed.watchListener(id, sync, watcher);
    };
    // The session may be in another process.
    const stopWaiting = this.#sessions.await?.(id, begin) ?? null;
    if (stopWaiting === null) begin();
    return () => {
      stopWaiting?.();
      end?.();
    };
  }

  onAlarm(nowMs: number): void {
    const tick = tickOf(nowMs);
    // Checks the groups of missed ticks too, each once.
    this.#tick = Math.max(this.#tick, tick - GROUPS);
    while (this.#tick < tick) {
      // Uses the nominal time of the tick: a late tick must not delay a ping by a whole second.
      const tickMs = ++this.#tick * TICK_MS;
      for (const reader of this.#groups[this.#tick % GROUPS]!.keys()) reader.check(tickMs);
    }
    if (this.#count === 0) this.#ticker.rest();
  }

  /** Takes no more watchers, closes all WebSockets with 1001 and ends all event streams; `onAlarm` cuts those that do not answer in time. */
  close(): void {
    this.#closed = true;
    const nowMs = this.#clock.now();
    for (const group of this.#groups) for (const reader of group.keys()) reader.close('shutdown', nowMs);
  }

  /** Cuts the remaining connections. */
  terminate(): void {
    for (const group of this.#groups) for (const reader of group.keys()) reader.cut();
  }

  /** This listener's next and now, heard or written, unless already seen. */
  #firstOfListener(metaid: string, sync: Sync, seen: ListenerSeen | undefined): Message[] {
    const session = this.#sessions.playing(metaid);
    if (session === undefined) return [];
    const view = this.#feed.last(session.channel, 'next') ?? null;
    const next = view === null ? this.#droppedOf(session, seen?.next) : session.nextMessage(view);
    const now = session.now(sync);
    const messages: Message[] = [];
    if (next !== null && next.id !== seen?.next) messages.push(next);
    if (now !== null && now.id !== seen?.now) messages.push(now);
    return messages;
  }

  /** The message that the next was dropped, if this reader had seen that next; else null. */
  #droppedOf(session: ReadableSession, seenNext = ''): Message | null {
    const view = this.#feed.droppedNext(session.channel);
    const message = view && session.nextMessage(view);
    return message?.id === `${seenNext}-` ? message : null;
  }
}

function tickOf(nowMs: number): number {
  return Math.floor(nowMs / TICK_MS);
}

function busy(detail: string): Refusal {
  return retryLater('unavailable', detail, RETRY_SECONDS);
}
