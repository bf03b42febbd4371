/**
 * The listeners of the soak: permanent ones, and others that come and go in all the ways that players do. All received data is checked; wrong data,
 * or an end by the server, is a fault. Owned by bench/soak/life.ts.
 */

import { randomUUID } from 'node:crypto';
import { ListenerFeed } from '../listener-feed.js';
import { Listener } from './listener.js';

/** Number of their loopback addresses, so that the server's memory per address soon stops growing. */
const ADDRESSES = 200;
/** Every nth permanent listener reads its feed. */
const FEED_EVERY = 10;
/** Interval of arrivals and departures. */
const TICK_MS = 250;
/** Maximum time to the first audio. */
const PATIENCE_SECONDS = 20;
/** How long a feed may continue after its stream. */
const FEED_AFTER_MS = 1_500;
/** A slow listener reads for one tick, and then pauses for this many. */
const SLOW_TICKS = 40;
/** Every nth listener stops reading forever; the server notices once the system's buffers are full. */
const STUCK_EVERY = 50;
const STUCK_AFTER_TICKS = 8;

/** In turn. The server may end `slow` and `stuck` ones; `fleeting` ones do not wait for an answer. */
const KINDS = ['plain', 'metaid', 'bare', 'slow', 'plain', 'reset', 'metaid', 'fleeting', 'plain', 'halved'] as const;
type Kind = (typeof KINDS)[number] | 'stuck';
/** Durations of those that the server may end. */
const LONG_STAYS: Partial<Record<Kind, number>> = { slow: 60, stuck: 300 };
const STAYS_SECONDS = [3, 8, 15, 5, 40, 2, 25] as const;

interface Passing {
  readonly kind: Kind;
  readonly listener: Listener;
  readonly feed: ListenerFeed | undefined;
  /** Number of the tick at which it leaves. */
  readonly until: number;
  readonly from: number;
}

export interface ListenersPlan {
  readonly port: number;
  readonly staying: number;
  readonly joinsPerSecond: number;
  /** Keys of channels, in descending order of listeners. */
  readonly channels: readonly string[];
  onFault(text: string): void;
}

/** A permanent listener with a metaid. */
export interface Session {
  readonly metaid: string;
  readonly listener: Listener;
  readonly feed: ListenerFeed;
}

export class Listeners {
  readonly sessions: Session[] = [];
  joins = 0;
  /** Bytes of former listeners; see `bytes`. */
  #goneBytes = 0;
  /** Number of slow listeners that the server has ended. */
  ended = 0;
  readonly #plan: ListenersPlan;
  readonly #staying: { readonly listener: Listener; lookedBytes: number }[] = [];
  #passing: Passing[] = [];
  #ticks = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(plan: ListenersPlan) {
    this.#plan = plan;
  }

  /** Bytes received by all. */
  get bytes(): number {
    const present = [...this.#staying, ...this.#passing].map(({ listener }) => listener.bytes);
    return present.reduce((all, bytes) => all + bytes, this.#goneBytes);
  }

  get present(): number {
    return this.#staying.length + this.#passing.length;
  }

  start(): void {
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  /** Checks that permanent listeners receive more; called every few seconds. */
  look(): void {
    this.#checkStaying();
    for (const [index, each] of this.#staying.entries()) {
      const { listener } = each;
      if (listener.bytes === each.lookedBytes && listener.ending === undefined)
        this.#plan.onFault(`listener ${index} of ${listener.path} gets nothing`);
      each.lookedBytes = listener.bytes;
    }
  }

  #checkStaying(): void {
    for (const [index, { listener }] of this.#staying.entries())
      this.#check(`listener ${index} of ${listener.path}`, listener);
    for (const { metaid, feed } of this.sessions)
      if (feed.fault !== undefined || !feed.isOpen)
        this.#plan.onFault(`feed of ${metaid}: ${feed.fault ?? 'not open'}`);
  }

  /** Disconnects all. */
  stop(): void {
    clearInterval(this.#timer);
    this.#checkStaying();
    for (const { listener } of this.#staying) listener.close();
    for (const { feed } of this.sessions) feed.close();
    for (const each of this.#passing) this.#leave(each);
  }

  #tick(): void {
    const { joinsPerSecond, staying } = this.#plan;
    this.#ticks++;
    // Permanent listeners connect within a few seconds.
    for (let i = 0; i < 10 && this.#staying.length < staying; i++) this.#stay(this.#staying.length);
    while (this.joins < (this.#ticks * TICK_MS * joinsPerSecond) / 1000) this.#join(this.joins++);
    const leaving: Passing[] = [];
    const left: Passing[] = [];
    for (const each of this.#passing) {
      (each.until <= this.#ticks ? leaving : left).push(each);
      this.#hold(each);
    }
    this.#passing = left;
    for (const each of leaving) this.#leave(each);
  }

  /** Slow listeners read now and then; stuck ones only when they leave, to find out whether the server has ended them. */
  #hold({ kind, listener, from, until }: Passing): void {
    const ticks = this.#ticks - from;
    if (kind === 'slow' && ticks % SLOW_TICKS === 0) listener.resume();
    if (kind === 'slow' && ticks % SLOW_TICKS === 1) listener.pause();
    if (kind === 'stuck' && ticks === STUCK_AFTER_TICKS) listener.pause();
    if (kind === 'stuck' && this.#ticks === until - STUCK_AFTER_TICKS) listener.resume();
  }

  #stay(index: number): void {
    const { port, channels } = this.#plan;
    // The first channel gets half of them, and its share of the rest.
    const channel = index % 2 === 0 ? channels[0]! : channels[(index >> 1) % channels.length]!;
    const hasFeed = index % FEED_EVERY === 3;
    const metaid = randomUUID();
    const path = `/${channel}${hasFeed ? `?metaid=${metaid}` : ''}`;
    const listener = new Listener({ port, path, isIcy: index % 5 !== 4, from: addressOf(index) });
    this.#staying.push({ listener, lookedBytes: -1 });
    if (!hasFeed) return;
    const kind = index % (2 * FEED_EVERY) === 3 ? 'websocket' : 'sse';
    const feed = new ListenerFeed({ host: '127.0.0.1', port }, `listener/${metaid}`, kind);
    this.sessions.push({ metaid, listener, feed });
  }

  #join(index: number): void {
    const { port, channels } = this.#plan;
    const usual = KINDS[index % KINDS.length]!;
    const kind = usual === 'slow' && index % STUCK_EVERY < KINDS.length ? 'stuck' : usual;
    const channel = channels[index % channels.length]!;
    const metaid = ['metaid', 'slow', 'stuck'].includes(kind) ? randomUUID() : undefined;
    const path = `/${channel}${metaid === undefined ? '' : `?metaid=${metaid}`}`;
    const listener = new Listener({ port, path, isIcy: kind !== 'bare', from: addressOf(index) });
    if (kind === 'fleeting') {
      setTimeout(() => listener.close(index % 20 < 10 ? 'reset' : 'destroy'), index % 50);
      return;
    }
    const feed =
      metaid === undefined
        ? undefined
        : new ListenerFeed({ host: '127.0.0.1', port }, `listener/${metaid}`, index % 20 < 10 ? 'websocket' : 'sse');
    const seconds = LONG_STAYS[kind] ?? STAYS_SECONDS[index % STAYS_SECONDS.length]!;
    const until = this.#ticks + (seconds * 1000) / TICK_MS;
    this.#passing.push({ kind, listener, feed, until, from: this.#ticks });
  }

  #leave({ kind, listener, feed, from }: Passing): void {
    this.#goneBytes += listener.bytes;
    const seconds = ((this.#ticks - from) * TICK_MS) / 1000;
    if (LONG_STAYS[kind] !== undefined && listener.ending !== undefined) this.ended++;
    else this.#check(`a ${kind} listener of ${listener.path}, ${seconds} s`, listener);
    if (listener.fault === undefined && listener.reader.audioBytes === 0 && seconds > PATIENCE_SECONDS)
      this.#plan.onFault(`a ${kind} listener of ${listener.path}: no audio in ${seconds} s`);
    listener.close(kind === 'reset' ? 'reset' : kind === 'halved' ? 'end' : 'destroy');
    if (feed === undefined) return;
    setTimeout(() => {
      if (feed.fault !== undefined) this.#plan.onFault(`feed of a ${kind} listener: ${feed.fault}`);
      feed.close();
    }, FEED_AFTER_MS);
  }

  #check(name: string, { fault, ending }: Listener): void {
    const wrong = fault ?? ending;
    if (wrong !== undefined) this.#plan.onFault(`${name}: ${wrong}`);
  }
}

function addressOf(index: number): string {
  return `127.7.0.${1 + (index % ADDRESSES)}`;
}
