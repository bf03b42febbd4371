/** Copies of the store that a supervisor has asked its hub for. Owned by the supervisor. */

import type { ManagedProcess } from './managed-process.js';
import type { FromChild } from './messages.js';

interface Waiting {
  readonly hub: ManagedProcess;
  readonly resolve: (name: string) => void;
  readonly reject: (error: Error) => void;
}

export class HubBackups {
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;

  /** Resolves with the copy's name in the data folder. @param hub null, or not ready: there is none at this moment */
  ask(hub: ManagedProcess | null): Promise<string> {
    if (hub === null || !hub.isReady) return Promise.reject(new Error('the hub is being started: try again'));
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { hub, resolve, reject });
      hub.send({ type: 'backup', id });
    });
  }

  onAnswer({ id, name, reason }: Extract<FromChild, { type: 'backedUp' }>): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (name !== null) waiting?.resolve(name);
    else waiting?.reject(new Error(reason ?? 'no backup'));
  }

  onEnded(hub: ManagedProcess): void {
    for (const [id, waiting] of this.#waiting) {
      if (waiting.hub !== hub) continue;
      this.#waiting.delete(id);
      waiting.reject(new Error('the hub has ended meanwhile: try again'));
    }
  }
}
