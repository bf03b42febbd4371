/**
 * All watchers, by WebSocket or SSE: which may watch, what each is sent first and then, and the look at each of them once a second.
 * After a restart a crowd comes back at once; so that its signs of life do not fall due at once as well, readers are looked at in
 * turns, one group a tick, and the first sign of life comes early by a phase of each reader's own: half the time at most, since
 * a watcher that has just come need not be asked at once.
 * Owns the readers from `open` until the connection has gone.
 */

import type { IncomingMessage } from 'node:http';
import { type AlarmHandler, type Clock, TICK_MS } from '../../base/clock.js';
import { type Refusal, retryLater, shuttingDown } from '../../base/refusal.js';
import { Tallies } from '../../base/tallies.js';
import type { Tally } from '../../base/tally.js';
import type { Feed, Message, Sync, Watcher } from '../../feed/feed.js';
import type { ReadableSession, SessionDirectory } from '../../listener/sessions/readable-session.js';
import type { Proxies } from '../../net/front/peer.js';
import { notFound, type ReadTarget } from '../reads.js';
import { type Transport, WatchConnection, type WatchConnectionLimits } from './connection.js';

/** How many groups there are, one looked at on each tick: each reader about once a second. */
const GROUPS = 1000 / TICK_MS;
/** Its multiples lie evenly in every stretch of them (modulo 1): watchers that come in a row are spread over the whole time. */
const PHASE = (Math.sqrt(5) - 1) / 2;
/** When a watcher that is refused may come again. */
const RETRY_SECONDS = 10;

export interface WatchOptions extends WatchConnectionLimits {
  readonly watchers: number;
  readonly watchersPerAddress: number;
  /** That one WebSocket may send, at once and in ten seconds. */
  readonly frames: number;
  readonly proxies: Proxies;
  /** With the other processes; absent: there are none. */
  readonly tallies?: Tallies;
  /** Called with what went wrong, where the client learns only that something did. */
  onError(error: unknown): void;
}

export type Topic = Pick<ReadTarget, 'scope' | 'id'>;

/** Who watches what, for an operator. */
export interface WatcherFacts {
  /** Null: what it asks for changes (the old service's WebSocket). */
  readonly topic: Topic | null;
  /** As it is counted: of IPv6 the network. */
  readonly address: string;
  /** Unix milliseconds. */
  readonly sinceMs: number;
}

/** What a client wants to watch. */
export interface WatchRequest {
  readonly target: Topic;
  readonly sync: Sync;
  /** What it saw last, by an earlier connection: in channel and station scope an id of feed/seen.ts. */
  readonly seen?: string | undefined;
  /** In listener scope. */
  readonly seenOfListener?: ListenerSeen | undefined;
}

/** Message ids: of the last now, of the last next; `""` where none was seen. */
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
  /** The tick whose group was looked at last. */
  #tick: number;
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
    clock.everyTick(this);
  }

  get count(): number {
    return this.#count;
  }

  /** @throws Refusal not-found; a metaid need not play yet */
  checkExists(target: Topic): void {
    if (target.scope === 'channel' && this.#feed.face(target.id) === undefined)
      throw notFound('There is no such channel.');
    if (target.scope === 'station' && !this.#feed.hasStation(target.id)) throw notFound('There is no such station.');
  }

  /** What counts as the address of the client. */
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

  /** What is watched, for an operator who looks. Not to be kept. */
  *all(): Iterable<WatcherFacts> {
    for (const group of this.#groups) yield* group.values();
  }

  /** Takes a connection that was admitted. `onGone` is to be called when it has gone; idempotent. */
  enter(transport: Transport, address: string, topic: Topic | null = null): OpenWatcher {
    const place = this.#entered++;
    const reader = new WatchConnection(transport, this.#options, this.#clock.now(), ((place * PHASE) % 1) / 2);
    const group = this.#groups[place % GROUPS]!;
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

  /** The same for a connection that watches one thing, from the first messages on. */
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

  /** Sends a watcher at once what comes first, then every change. */
  subscribe(watcher: Watcher, { target: { scope, id }, sync, seen, seenOfListener }: WatchRequest): () => void {
    if (scope === 'channel') return this.#feed.watchChannel(id, watcher, seen);
    if (scope === 'station') return this.#feed.watchStation(id, watcher, seen);
    let end: (() => void) | null = null;
    const begin = () => {
      for (const message of this.#firstOfListener(id, sync, seenOfListener)) watcher.onMessage(message);
      end = this.#feed.watchListener(id, sync, watcher);
    };
    // What plays in another process is asked for first.
    const stopWaiting = this.#sessions.await?.(id, begin) ?? null;
    if (stopWaiting === null) begin();
    return () => {
      stopWaiting?.();
      end?.();
    };
  }

  onAlarm(nowMs: number): void {
    const tick = tickOf(nowMs);
    // Ticks that were missed are made up for, but none is looked at twice.
    this.#tick = Math.max(this.#tick, tick - GROUPS);
    while (this.#tick < tick) {
      // The tick's own time: a tick that comes later than the next one must not cost a reader a whole second.
      const tickMs = ++this.#tick * TICK_MS;
      for (const reader of this.#groups[this.#tick % GROUPS]!.keys()) reader.check(tickMs);
    }
  }

  /** Takes no more watchers and closes all; those that do not answer are cut within seconds by `onAlarm`. */
  close(): void {
    this.#closed = true;
    const nowMs = this.#clock.now();
    for (const group of this.#groups) for (const reader of group.keys()) reader.close('shutdown', nowMs);
  }

  /** Cuts those that are left. */
  terminate(): void {
    for (const group of this.#groups) for (const reader of group.keys()) reader.cut();
  }

  /** What this listener has coming and what it hears (or was sent) now. */
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

  /** What followed was dropped after this reader had seen it. */
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
