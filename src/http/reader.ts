/**
 * One connection that watches, by whatever transport. A slow one is never waited for: while `bufferBytes` wait in its buffer nothing
 * is written, the first messages stay where they come from, and of the others only the newest per channel and type is kept for it;
 * when nothing has drained for `drainMs` it is told to go.
 *
 * Invariant: what it is told comes in the order in which it happened, the first messages before all.
 */

import type { Firsts, Message, Watcher } from '../metadata/feed.js';

/** How long a connection has to answer a goodbye before it is cut. */
const CLOSE_MS = 2000;

export interface ReaderLimits {
  readonly pingMs: number;
  readonly bufferBytes: number;
  readonly drainMs: number;
}

export type Goodbye = 'shutdown' | 'too slow';

/** How a reader is written to: websocket.ts, event-stream.ts. */
export interface Transport {
  readonly open: boolean;
  /** Bytes that wait to be taken, and those that have been. */
  readonly waiting: number;
  readonly taken: number;
  /** @param firsts where it is one of the first messages: where it came from */
  send(message: Message, firsts: Firsts | null): void;
  /** False: the other side has not answered the last sign of life. */
  readonly alive: boolean;
  ping(): void;
  /** Politely: the other side may still take what waits. */
  close(why: Goodbye): void;
  cut(): void;
}

export class Reader implements Watcher {
  readonly #transport: Transport;
  readonly #limits: ReaderLimits;
  #firsts: Firsts | null = null;
  /** What waits for a slow connection: slot → newest message. */
  readonly #kept = new Map<string, Message>();
  #pingedMs: number;
  #taken = 0;
  #takenMs: number;
  #closeMs = Number.POSITIVE_INFINITY;

  constructor(transport: Transport, limits: ReaderLimits, nowMs: number) {
    this.#transport = transport;
    this.#limits = limits;
    this.#pingedMs = nowMs;
    this.#takenMs = nowMs;
  }

  begin(firsts: Firsts): void {
    this.#firsts = firsts;
    this.flush();
  }

  tell(message: Message): void {
    if (!this.#transport.open) return;
    if (this.#firsts === null && this.#kept.size === 0 && !this.#full) this.#transport.send(message, null);
    else {
      // Deleted first: what is kept stays in the order in which it happened.
      this.#kept.delete(message.slot);
      this.#kept.set(message.slot, message);
      this.flush();
    }
  }

  /** The connection has taken something: writes what it may. */
  flush(): void {
    if (!this.#transport.open) return;
    while (this.#firsts !== null) {
      if (this.#full) return;
      const message = this.#firsts.next();
      if (message === null) this.#firsts = null;
      else this.#transport.send(message, this.#firsts);
    }
    for (const [slot, message] of this.#kept) {
      if (this.#full) return;
      this.#kept.delete(slot);
      this.#transport.send(message, null);
    }
  }

  /** Looked at about once a second: pings, gives up the dead, tells the stuck to go. */
  check(nowMs: number): void {
    if (nowMs >= this.#closeMs) {
      this.#transport.cut();
      return;
    }
    // 'drain' is told only above the socket's own mark, which may lie higher than ours.
    this.flush();
    const { waiting, taken } = this.#transport;
    if (waiting === 0 || taken !== this.#taken) this.#takenMs = nowMs;
    this.#taken = taken;
    if (nowMs - this.#takenMs >= this.#limits.drainMs) this.close('too slow', nowMs);
    else if (nowMs - this.#pingedMs >= this.#limits.pingMs) this.#ping(nowMs);
  }

  /** Says goodbye; a connection that does not answer is cut soon after. Idempotent. */
  close(why: Goodbye, nowMs: number): void {
    if (this.#closeMs !== Number.POSITIVE_INFINITY) return;
    this.#closeMs = nowMs + CLOSE_MS;
    this.#firsts = null;
    this.#kept.clear();
    this.#transport.close(why);
  }

  cut(): void {
    this.#transport.cut();
  }

  get #full(): boolean {
    return this.#transport.waiting >= this.#limits.bufferBytes;
  }

  #ping(nowMs: number): void {
    if (!this.#transport.alive) {
      this.#transport.cut();
      return;
    }
    this.#pingedMs = nowMs;
    // Who takes too little to be sent a sign of life is not asked: drainMs is the measure for him.
    if (!this.#full) this.#transport.ping();
  }
}
