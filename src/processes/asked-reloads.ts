/** Reloads that an operator has asked this worker for: the supervisor makes them. Owned by the worker's process. */

import type { FromChild, ToChild } from './messages.js';

interface WaitingReload {
  readonly resolve: (plan: string) => void;
  readonly reject: (error: Error) => void;
}

export class AskedReloads {
  readonly #send: (message: FromChild) => void;
  readonly #waiting = new Map<number, WaitingReload>();
  #last = 0;

  /** @param send to the supervisor */
  constructor(send: (message: FromChild) => void) {
    this.#send = send;
  }

  /** Resolves with what was changed; rejects with why it was not. */
  ask(): Promise<string> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send({ type: 'reload', id });
    });
  }

  onAnswer({ id, plan, reason }: Extract<ToChild, { type: 'reloaded' }>): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (plan !== null) waiting?.resolve(plan);
    else waiting?.reject(new Error(reason ?? 'not reloaded'));
  }
}
