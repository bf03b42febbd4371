/** Copies of the store that the hub makes. A restart waits for them, since a hub could not hand over in time meanwhile. Owned by the supervisor. */

import type { ManagedProcess } from './managed-process.js';

/** How long a copy of the store may take: it may have gigabytes, on a slow disk. */
const BACKUP_MS = 600_000;

export class Backups {
  readonly #copies = new Set<Promise<unknown>>();

  /** Resolves with the copy's name in the data folder. Rejects while there is no hub. */
  make(hub: ManagedProcess | null): Promise<string> {
    if (!hub?.isReady) return Promise.reject(new Error('the hub is starting: try again'));
    const copied = hub.requests.ask<string>((id) => hub.send({ type: 'backup', id }), { timeoutMs: BACKUP_MS });
    this.#copies.add(copied);
    const forget = () => this.#copies.delete(copied);
    copied.then(forget, forget);
    return copied;
  }

  /** Resolves when no copy is being made. */
  async done(): Promise<void> {
    await Promise.allSettled(this.#copies);
  }
}
