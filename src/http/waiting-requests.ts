/**
 * Requests that wait for an event: a first segment, a file that is cut in another process, a listener admitted there. Their number is limited, in
 * total and from one address, and so is the time that each waits.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Alarm, AlarmHandler, Clock } from '../base/clock.js';
import { originOf } from '../base/ip.js';
import { Tally } from '../base/tally.js';

/** Limits of simultaneously waiting requests. */
export interface WaitingLimits {
  most(): number;
  /** From one address (IPv6: one /64 network). */
  maxFrom(address: string): number;
  addressOf(request: IncomingMessage): string;
}

export class WaitingRequests {
  readonly #clock: Clock;
  readonly #limits: WaitingLimits;
  readonly #waiting = new Set<WaitingRequest>();
  /** Their numbers by origin. */
  readonly #byOrigin = new Tally();
  #isClosed = false;

  constructor(clock: Clock, limits: WaitingLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  get count(): number {
    return this.#waiting.size;
  }

  /** Whether the server stops. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Null: too many wait. @param onEnd called once, when it is ended, its time is over, its client has gone, or the server stops */
  hold(response: ServerResponse, waitMs: number, onEnd: () => void): WaitingRequest | null {
    if (this.#isClosed || this.#waiting.size >= this.#limits.most()) return null;
    const address = this.#limits.addressOf(response.req);
    const origin = originOf(address);
    if (this.#byOrigin.own(origin) >= this.#limits.maxFrom(address)) return null;
    const waiting = new WaitingRequest(this.#clock, waitMs, () => {
      this.#waiting.delete(waiting);
      this.#byOrigin.add(origin, -1);
      onEnd();
    });
    this.#waiting.add(waiting);
    this.#byOrigin.add(origin, 1);
    response.once('close', () => waiting.end());
    return waiting;
  }

  /** Ends all, and accepts no more. */
  close(): void {
    this.#isClosed = true;
    for (const waiting of [...this.#waiting]) waiting.end();
  }
}

/** Ends once. */
export class WaitingRequest implements AlarmHandler {
  readonly #alarm: Alarm;
  readonly #onEnd: () => void;
  #isOver = false;

  constructor(clock: Clock, waitMs: number, onEnd: () => void) {
    this.#onEnd = onEnd;
    this.#alarm = clock.alarm(clock.now() + waitMs, this);
  }

  onAlarm(): void {
    this.end();
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#alarm.cancel();
    this.#onEnd();
  }
}
