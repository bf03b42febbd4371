/**
 * Pending requests to one peer, by id. Each ends once: by its answer, an error, a timeout or the loss of the peer. An answer without a pending
 * request (late, repeated, unknown) is ignored. Owned by the side that asks.
 */

import { retryLater } from './refusal.js';

/** Maximum of pending requests to one peer. */
export const MAX_REQUESTS = 10_000;
const RETRY_SECONDS = 2;

/** The peer did not answer in time; it may or may not have handled the request. */
export class RequestTimeout extends Error {
  override readonly name = 'RequestTimeout';
}

export interface RequestOptions {
  /** The id in the answer, if that is not the request's number. */
  readonly key?: string;
  /** Absent: waits until the peer is lost. */
  readonly timeoutMs?: number;
  /** Parses the answer. Throws if it is malformed; the request then stays pending. */
  read?(answer: unknown): unknown;
}

interface Waiting {
  readonly read: (answer: unknown) => unknown;
  readonly resolve: (answer: unknown) => void;
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

  /** Rejects with RequestTimeout, with a Refusal if too many are pending, or with the error of `fail` or `lose`. @param send gets its number */
  ask<T>(send: (id: number) => void, options: RequestOptions = {}): Promise<T> {
    if (this.#waiting.size >= MAX_REQUESTS) {
      return Promise.reject(retryLater('unavailable', 'Too many requests are pending.', RETRY_SECONDS));
    }
    const number = ++this.#last;
    const { key: id = number, timeoutMs, read = (answer) => answer } = options;
    return new Promise((resolve, reject) => {
      const late = () => this.fail(id, new RequestTimeout(`${this.#peer} did not answer within ${timeoutMs} ms`));
      const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
      this.#waiting.set(id, { read, resolve: (answer) => resolve(answer as T), reject, timer });
      send(number);
    });
  }

  /** Throws the error of `read`. */
  answer(id: number | string, answer: unknown): void {
    const read = this.#waiting.get(id)?.read(answer);
    this.#take(id)?.resolve(read);
  }

  fail(id: number | string, error: unknown): void {
    this.#take(id)?.reject(error);
  }

  /** The peer is gone: rejects all pending requests with this error. */
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
