/**
 * Requests to one peer that wait for their answers, by id. Each ends once: by its answer, an error, its time-out or the loss of the peer. An answer
 * for an id that does not wait (late, a second one, unknown) is ignored. Owned by the side that asks.
 */

import { retryLater } from './refusal.js';

/** How many may wait for one peer. */
export const MAX_REQUESTS = 10_000;
const RETRY_SECONDS = 2;

/** The peer did not answer in time: it may have handled the request or not. */
export class RequestTimeout extends Error {
  override readonly name = 'RequestTimeout';
}

export interface RequestOptions {
  /** By what the answer names it, where that is not the number. */
  readonly key?: string;
  /** Absent: as long as the peer is there. */
  readonly timeoutMs?: number;
  /** Checks the answer. @throws where it is malformed; the request goes on waiting */
  read?(answer: unknown): unknown;
}

interface Waiting {
  readonly read: (answer: unknown) => unknown;
  readonly resolve: (answer: never) => void;
  readonly reject: (error: unknown) => void;
  readonly timer: NodeJS.Timeout | undefined;
}

export class Requests {
  readonly #peer: string;
  readonly #waiting = new Map<number | string, Waiting>();
  #last = 0;

  /** @param peer its name in errors */
  constructor(peer = 'it') {
    this.#peer = peer;
  }

  /** Rejects with RequestTimeout, with a Refusal where too many wait, or with what `fail` or `lose` is given. @param send called with its number */
  ask<T>(send: (id: number) => void, options: RequestOptions = {}): Promise<T> {
    if (this.#waiting.size >= MAX_REQUESTS) {
      return Promise.reject(retryLater('unavailable', 'Too many requests wait for an answer.', RETRY_SECONDS));
    }
    const number = ++this.#last;
    const { key: id = number, timeoutMs, read = (answer) => answer } = options;
    return new Promise((resolve, reject) => {
      const late = () => this.fail(id, new RequestTimeout(`${this.#peer} has not answered within ${timeoutMs} ms`));
      const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
      this.#waiting.set(id, { read, resolve, reject, timer });
      send(number);
    });
  }

  /** @throws what `read` throws */
  answer(id: number | string, answer: unknown): void {
    const read = this.#waiting.get(id)?.read(answer);
    this.#take(id)?.resolve(read as never);
  }

  fail(id: number | string, error: unknown): void {
    this.#take(id)?.reject(error);
  }

  /** The peer is gone: all that wait end with this error. */
  lose(error: unknown): void {
    for (const id of [...this.#waiting.keys()]) this.fail(id, error);
  }

  #take(id: number | string): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    clearTimeout(waiting?.timer);
    return waiting;
  }
}
