/**
 * Requests that wait for what may come: a first segment, a file that is cut in another process, a listener that was admitted in one. There is a
 * limit to their number, and an end to each.
 */

import type { ServerResponse } from 'node:http';
import type { Alarm, AlarmHandler, Clock } from '../base/clock.js';

export class WaitingRequests {
  readonly #clock: Clock;
  readonly #max: () => number;
  readonly #waiting = new Set<WaitingRequest>();
  #isClosed = false;

  /** @param max at a time */
  constructor(clock: Clock, max: () => number) {
    this.#clock = clock;
    this.#max = max;
  }

  get count(): number {
    return this.#waiting.size;
  }

  /** Whether the server stops. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Null: too many wait. @param onEnd called once: when it is ended, its time is over, its client has gone, or the server stops */
  hold(response: ServerResponse, waitMs: number, onEnd: () => void): WaitingRequest | null {
    if (this.#isClosed || this.#waiting.size >= this.#max()) return null;
    const waiting = new WaitingRequest(this.#clock, waitMs, () => {
      this.#waiting.delete(waiting);
      onEnd();
    });
    this.#waiting.add(waiting);
    response.once('close', () => waiting.end());
    return waiting;
  }

  /** All are sent away, and no more of them wait. */
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
