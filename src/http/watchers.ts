/**
 * All who watch, by WebSocket or SSE: who may, what each is told first and then, and the look at all of them once a second.
 * Owns the readers from `open` until the connection has gone.
 */

import type { Clock, Ringer } from '../clock.js';
import type { Sessions } from '../listener/sessions.js';
import type { Feed, Message, Sync, Watcher } from '../metadata/feed.js';
import { Refusal } from '../refusal.js';
import { Reader, type ReaderLimits, type Transport } from './reader.js';
import { notFound, type Target } from './reads.js';

const CHECK_MS = 1000;

export interface WatchOptions extends ReaderLimits {
  readonly watchers: number;
  readonly watchersPerAddress: number;
}

export type Topic = Pick<Target, 'scope' | 'id'>;

/** What somebody wants to watch. */
export interface Wish {
  readonly target: Topic;
  readonly sync: Sync;
  /** What it saw last, by an earlier connection: in channel and station scope an id of metadata/seen.ts. */
  readonly seen?: string | undefined;
  /** In listener scope. */
  readonly seenOfListener?: ListenerSeen | undefined;
}

/** Message ids: of the last now, of the last next; `""` where none was seen. */
export interface ListenerSeen {
  readonly now: string;
  readonly next: string;
}

export interface Seat {
  readonly reader: Reader;
  gone(): void;
}

export class Watchers implements Ringer {
  readonly #feed: Feed;
  readonly #sessions: Sessions;
  readonly #clock: Clock;
  readonly #options: WatchOptions;
  readonly #readers = new Set<Reader>();
  readonly #byAddress = new Map<string, number>();
  #closed = false;

  constructor(feed: Feed, sessions: Sessions, clock: Clock, options: WatchOptions) {
    this.#feed = feed;
    this.#sessions = sessions;
    this.#clock = clock;
    this.#options = options;
    clock.alarm(clock.now() + CHECK_MS, this);
  }

  get count(): number {
    return this.#readers.size;
  }

  /** @throws Refusal not-found; a metaid need not play yet */
  known(target: Topic): void {
    if (target.scope === 'channel' && this.#feed.face(target.id) === undefined)
      throw notFound('There is no such channel.');
    if (target.scope === 'station' && !this.#feed.hasStation(target.id)) throw notFound('There is no such station.');
  }

  /** @throws Refusal unavailable */
  admit(address: string): void {
    if (this.#closed) throw busy('The server is shutting down.');
    if (this.#readers.size >= this.#options.watchers) throw busy('Too many watchers on this server.');
    if ((this.#byAddress.get(address) ?? 0) >= this.#options.watchersPerAddress) {
      throw busy('Too many watchers from this address.');
    }
  }

  /** Takes a connection that was admitted. `gone` is to be called when it has gone; idempotent. */
  seat(transport: Transport, address: string): Seat {
    const reader = new Reader(transport, this.#options, this.#clock.now());
    this.#readers.add(reader);
    this.#byAddress.set(address, (this.#byAddress.get(address) ?? 0) + 1);
    const gone = () => {
      if (!this.#readers.delete(reader)) return;
      const left = (this.#byAddress.get(address) ?? 1) - 1;
      if (left > 0) this.#byAddress.set(address, left);
      else this.#byAddress.delete(address);
    };
    return { reader, gone };
  }

  /** The same for a connection with one wish, which it is told from the first messages on. */
  open(transport: Transport, address: string, wish: Wish): Seat {
    const { reader, gone } = this.seat(transport, address);
    const unsubscribe = this.subscribe(reader, wish);
    return {
      reader,
      gone: () => {
        unsubscribe();
        gone();
      },
    };
  }

  /** Tells a watcher at once what comes first, then every change. */
  subscribe(watcher: Watcher, { target: { scope, id }, sync, seen, seenOfListener }: Wish): () => void {
    if (scope === 'channel') return this.#feed.watchChannel(id, watcher, seen);
    if (scope === 'station') return this.#feed.watchStation(id, watcher, seen);
    for (const message of this.#firstOfListener(id, sync, seenOfListener)) watcher.tell(message);
    return this.#feed.watchListener(id, sync, watcher);
  }

  ring(nowMs: number): void {
    for (const reader of this.#readers) reader.check(nowMs);
    this.#clock.alarm(nowMs + CHECK_MS, this);
  }

  /** Takes nobody any more and says goodbye to everybody; those that do not answer are cut within seconds by `ring`. */
  close(): void {
    this.#closed = true;
    for (const reader of this.#readers) reader.close('shutdown', this.#clock.now());
  }

  /** Cuts whoever is left. */
  terminate(): void {
    for (const reader of this.#readers) reader.cut();
  }

  /** What this listener has coming and what it hears (or was sent) now. */
  #firstOfListener(metaid: string, sync: Sync, seen: ListenerSeen | undefined): Message[] {
    const session = this.#sessions.playing(metaid);
    if (session === undefined) return [];
    const view = this.#feed.last(session.channel, 'next') ?? null;
    const next = view === null ? null : session.nextMessage(view);
    const told = sync === 'audio' ? session.lastHeard : session.lastWritten;
    const now = told === null ? null : session.nowMessage(told);
    const messages: Message[] = [];
    if (next !== null && next.id !== seen?.next) messages.push(next);
    if (now !== null && now.id !== seen?.now) messages.push(now);
    return messages;
  }
}

function busy(detail: string): Refusal {
  return new Refusal('unavailable', detail, { headers: { 'Retry-After': '10' } });
}
