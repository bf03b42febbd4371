/**
 * One connection that watches, by whatever transport. A slow one is never waited for: while `bufferBytes` wait in its buffer nothing
 * is written, the first messages stay where they come from, and of the others only the newest per channel and type is kept for it;
 * when nothing has drained for `drainMs` it is closed.
 *
 * Invariant: what it is sent comes in the order in which it happened, the first messages before all.
 *
 * A message to a crowd costs here what the kernel takes and little more. What counts is how many objects of its own each reader
 * has the processor fetch, since those of a whole crowd are never in its cache; so `onMessage` looks at the reader and its socket alone.
 */

import type { Firsts, Message, Watcher } from '../../feed/feed.js';

/** The time for which Transport.mostReceived is a limit, in milliseconds. Messages themselves are limited where they are taken. */
const RECEIVED_MS = 10_000;
/** How long a connection has to answer a close before it is cut. */
const CLOSE_MS = 2000;

export interface WatchConnectionLimits {
  readonly pingMs: number;
  readonly bufferBytes: number;
  readonly drainMs: number;
}

export type WatchEnding = 'shutdown' | 'too slow' | 'gone';

/**
 * The short way to a reader that keeps up. It may be taken while the socket is writable and nothing waits in it: then the
 * connection is not closing either, since a close that has been written whole has the socket ended before the next event.
 */
export interface Direct {
  readonly socket: { readonly writable: boolean; readonly writableLength: number; write(bytes: Buffer): boolean };
  /** The same bytes for all who get the message, and the same function for all readers of a kind. */
  readonly bytes: (message: Message) => Buffer;
}

/** How a reader is written to: websocket.ts, event-stream.ts. */
export interface Transport {
  /** Null: everything goes by `send`. */
  readonly direct: Direct | null;
  readonly open: boolean;
  /** Bytes that wait to be taken, and those that have been. */
  readonly waiting: number;
  readonly taken: number;
  /** Bytes received, those of TLS and frames included, and how many may come in ten seconds. */
  readonly received: number;
  readonly mostReceived: number;
  /** @param firsts where it is one of the first messages: where it came from */
  send(message: Message, firsts: Firsts | null): void;
  /** False: the other side has not answered the last sign of life. */
  readonly alive: boolean;
  ping(): void;
  /** Politely: the other side may still take what waits. */
  close(why: WatchEnding): void;
  cut(): void;
}

export class WatchConnection implements Watcher {
  // These first: they share a cache line with the object's header.
  readonly #socket: Direct['socket'] | null;
  readonly #bytes: Direct['bytes'] | null;
  /** Nothing from before waits here: the short way is open. */
  #isCurrent = true;
  readonly #transport: Transport;
  readonly #limits: WatchConnectionLimits;
  #firsts: Firsts | null = null;
  /** What waits for a slow connection: slot → newest message. */
  #kept: Map<string, Message> | null = null;
  #pingedMs: number;
  #taken = 0;
  #takenMs: number;
  /** What had been received when the present ten seconds began. */
  #received: number;
  #receivedMs: number;
  #closeMs = Number.POSITIVE_INFINITY;
  #isGone = false;

  /** @param phase 0 to 1: how much of the time to its first sign of life counts as over */
  constructor(transport: Transport, limits: WatchConnectionLimits, nowMs: number, phase = 0) {
    this.#transport = transport;
    this.#limits = limits;
    const direct = transport.direct;
    this.#socket = direct?.socket ?? null;
    this.#bytes = direct?.bytes ?? null;
    this.#pingedMs = nowMs - phase * limits.pingMs;
    this.#takenMs = this.#receivedMs = nowMs;
    this.#received = transport.received;
  }

  onFirsts(firsts: Firsts): void {
    this.#firsts = firsts;
    this.#isCurrent = false;
    this.flush();
  }

  onMessage(message: Message): void {
    const socket = this.#socket;
    if (this.#isCurrent && socket !== null && socket.writableLength === 0 && socket.writable) {
      socket.write(this.#bytes!(message));
      return;
    }
    if (!this.#transport.open) return;
    if (this.#isCurrent && !this.#full) {
      this.#transport.send(message, null);
      return;
    }
    this.#kept ??= new Map();
    // Deleted first: what is kept stays in the order in which it happened.
    this.#kept.delete(message.slot);
    this.#kept.set(message.slot, message);
    this.flush();
  }

  /** The connection has taken something: writes what it may. */
  flush(): void {
    if (!this.#transport.open) return;
    this.#isCurrent = false;
    while (this.#firsts !== null) {
      if (this.#full) return;
      const message = this.#firsts.next();
      if (message === null) this.#firsts = null;
      else this.#transport.send(message, this.#firsts);
    }
    if (this.#kept !== null) {
      for (const [slot, message] of this.#kept) {
        if (this.#full) return;
        this.#kept.delete(slot);
        this.#transport.send(message, null);
      }
      this.#kept = null;
    }
    this.#isCurrent = true;
  }

  /** It is closed at the next look. */
  onEnded(): void {
    this.#isGone = true;
  }

  /** Looked at about once a second: pings, cuts the dead, closes the stuck. */
  check(nowMs: number): void {
    if (nowMs >= this.#closeMs || this.#isFlooding(nowMs)) {
      this.#transport.cut();
      return;
    }
    // 'drain' comes only above the socket's own mark, which may lie higher than ours.
    if (!this.#isCurrent) this.flush();
    if (this.#transport.waiting === 0) this.#takenMs = nowMs;
    else this.#watchDraining(nowMs);
    if (this.#isGone) this.close('gone', nowMs);
    else if (nowMs - this.#takenMs >= this.#limits.drainMs) this.close('too slow', nowMs);
    else if (nowMs - this.#pingedMs >= this.#limits.pingMs) this.#ping(nowMs);
  }

  /** Closes politely; a connection that does not answer is cut soon after. Idempotent. */
  close(why: WatchEnding, nowMs: number): void {
    if (this.#closeMs !== Number.POSITIVE_INFINITY) return;
    this.#closeMs = nowMs + CLOSE_MS;
    this.#firsts = null;
    this.#kept = null;
    this.#isCurrent = false;
    this.#transport.close(why);
  }

  cut(): void {
    this.#transport.cut();
  }

  get #full(): boolean {
    return this.#transport.waiting >= this.#limits.bufferBytes;
  }

  #isFlooding(nowMs: number): boolean {
    const { received, mostReceived } = this.#transport;
    if (received - this.#received > mostReceived) return true;
    if (nowMs - this.#receivedMs >= RECEIVED_MS) {
      this.#received = received;
      this.#receivedMs = nowMs;
    }
    return false;
  }

  #watchDraining(nowMs: number): void {
    const { taken } = this.#transport;
    if (taken !== this.#taken) this.#takenMs = nowMs;
    this.#taken = taken;
  }

  #ping(nowMs: number): void {
    if (!this.#transport.alive) {
      this.#transport.cut();
      return;
    }
    this.#pingedMs = nowMs;
    // A client that takes too little to be sent a sign of life is not asked: drainMs is its measure.
    if (!this.#full) this.#transport.ping();
  }
}
