/** Workers of before a restart: they take no more connections and serve those that they have, for a time. Owned by the supervisor. */

import type { Log } from '../../base/log.js';
import type { LoadedConfig } from '../../config/load.js';
import type { ManagedProcess } from '../supervisor/managed-process.js';

export class DrainingWorkers {
  readonly #times: LoadedConfig['shutdown'];
  readonly #log: Log;
  /** With what ends each of them. */
  readonly #workers = new Map<ManagedProcess, NodeJS.Timeout | undefined>();

  constructor(times: LoadedConfig['shutdown'], log: Log) {
    this.#times = times;
    this.#log = log;
  }

  get all(): Iterable<ManagedProcess> {
    return this.#workers.keys();
  }

  /** Its successor is there. */
  add(worker: ManagedProcess): void {
    this.#workers.set(worker, undefined);
  }

  drain(worker: ManagedProcess): void {
    if (!this.#workers.has(worker)) return;
    worker.send({ type: 'drain' });
    this.#workers.set(
      worker,
      setTimeout(() => this.end(worker), this.#times.drainSeconds * 1000),
    );
  }

  /** Its time is over, or it has nobody left. */
  end(worker: ManagedProcess): void {
    if (!this.#workers.has(worker) || worker.isStopping) return;
    clearTimeout(this.#workers.get(worker));
    void worker.stop(this.#times.graceSeconds * 1000);
  }

  /** It has ended. */
  delete(worker: ManagedProcess): void {
    if (!this.#workers.has(worker)) return;
    clearTimeout(this.#workers.get(worker));
    this.#workers.delete(worker);
    this.#log.info({ number: worker.number, pid: worker.pid }, 'a worker of before the restart has ended');
  }
}
