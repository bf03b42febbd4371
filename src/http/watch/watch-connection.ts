/**
 * One watcher's connection, by either transport. A slow one is never waited for: while its buffer holds `bufferBytes`, nothing is written,
 * first messages are not fetched, and of the others only the newest per channel and type is kept. It is closed if nothing has drained for
 * `drainMs`. Invariant: messages are sent in the order in which they happened, the first messages before all others.
 *
 * Sending a message to a crowd costs little more than the system calls. The rest is fetching each reader's objects from memory, since a
 * crowd's objects are never in the CPU's cache; so `onMessage` touches only the reader and its socket.
 */

import type { Firsts, Message, Watcher } from '../../feed/feed.js';

/** The period of Transport.maxReceived. The upgrader limits the number of frames. */
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
 * The fast path to a reader that keeps up: its socket is writable and has nothing buffered. Such a connection is not closing either: after a
 * close frame has been written the socket is ended before the next event.
 */
export interface Direct {
  readonly socket: { readonly writable: boolean; readonly writableLength: number; write(bytes: Buffer): boolean };
  /** The shared bytes of a message; the same function for all readers of a transport. */
  readonly bytes: (message: Message) => Buffer;
}

/** The connection under a reader: websocket.ts, event-stream.ts. */
export interface Transport {
  /** Null: all messages go through `send`. */
  readonly direct: Direct | null;
  readonly open: boolean;
  /** Buffered bytes. */
  readonly waiting: number;
  /** Bytes that the kernel took. */
  readonly taken: number;
  /** Bytes received, with TLS and frames. */
  readonly received: number;
  /** In ten seconds. */
  readonly maxReceived: number;
  /** @param firsts the source of the message, if it is one of the first messages */
  send(message: Message, firsts: Firsts | null): void;
  /** False: the client has not answered the last ping. */
  readonly alive: boolean;
  ping(): void;
  /** Closes after the buffered bytes are sent. */
  close(why: WatchEnding): void;
  cut(): void;
}

export class WatchConnection implements Watcher {
  // First, so that they share a cache line with the object's header.
  readonly #socket: Direct['socket'] | null;
  readonly #bytes: Direct['bytes'] | null;
  /** No earlier message is pending, so the fast path may be used. */
  #isCurrent = true;
  readonly #transport: Transport;
  readonly #limits: WatchConnectionLimits;
  #firsts: Firsts | null = null;
  /** Pending messages of a slow connection: slot → the newest one. */
  #kept: Map<string, Message> | null = null;
  #pingedMs: number;
  #taken = 0;
  #takenMs: number;
  /** Bytes received when the present period began. */
  #received: number;
  #receivedMs: number;
  #closeMs = Number.POSITIVE_INFINITY;
  #isGone = false;

  /** @param phase 0 to 1: the share of pingMs that counts as elapsed at the start */
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
    // Deleted first, so that the map keeps the order of the messages.
    this.#kept.delete(message.slot);
    this.#kept.set(message.slot, message);
    this.flush();
  }

  /** Writes pending messages while there is room. */
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

  /** The topic has ended: closes at the next check. */
  onEnded(): void {
    this.#isGone = true;
  }

  /** Called about once a second: pings, cuts dead connections, closes stuck ones. */
  check(nowMs: number): void {
    if (nowMs >= this.#closeMs || this.#isFlooding(nowMs)) {
      this.#transport.cut();
      return;
    }
    // 'drain' is emitted only if the socket's own high-water mark was reached, which may be above bufferBytes.
    if (!this.#isCurrent) this.flush();
    if (this.#transport.waiting === 0) this.#takenMs = nowMs;
    else this.#watchDraining(nowMs);
    if (this.#isGone) this.close('gone', nowMs);
    else if (nowMs - this.#takenMs >= this.#limits.drainMs) this.close('too slow', nowMs);
    else if (nowMs - this.#pingedMs >= this.#limits.pingMs) this.#ping(nowMs);
  }

  /** Starts to close; a client that does not answer is cut after CLOSE_MS. Idempotent. */
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
    const { received, maxReceived } = this.#transport;
    if (received - this.#received > maxReceived) return true;
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
    // With a full buffer a ping would not get through: drainMs decides.
    if (!this.#full) this.#transport.ping();
  }
}
