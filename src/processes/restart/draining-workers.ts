/** Workers that a restart has replaced: they accept no more connections, and serve those that they have until a deadline. Owned by the supervisor. */

import type { Log } from '../../base/log.js';
import type { LoadedConfig } from '../../config/load.js';
import type { ManagedProcess } from '../supervisor/managed-process.js';

export class DrainingWorkers {
  readonly #times: LoadedConfig['shutdown'];
  readonly #log: Log;
  /** Each with the timer that ends it, once it drains. */
  readonly #workers = new Map<ManagedProcess, NodeJS.Timeout | undefined>();

  constructor(times: LoadedConfig['shutdown'], log: Log) {
    this.#times = times;
    this.#log = log;
  }

  get all(): Iterable<ManagedProcess> {
    return this.#workers.keys();
  }

  /** Adds a worker whose successor has taken its place. */
  add(worker: ManagedProcess): void {
    this.#workers.set(worker, undefined);
  }

  /** Lets a worker drain; it is ended after `drainSeconds` at the latest. */
  drain(worker: ManagedProcess): void {
    if (!this.#workers.has(worker)) return;
    worker.send({ type: 'drain' });
    this.#workers.set(
      worker,
      setTimeout(() => this.end(worker), this.#times.drainSeconds * 1000),
    );
  }

  /** Stops a worker whose time is over, or whose last connection has ended. */
  end(worker: ManagedProcess): void {
    if (!this.#workers.has(worker) || worker.isStopping) return;
    clearTimeout(this.#workers.get(worker));
    void worker.stop(this.#times.graceSeconds * 1000);
  }

  /** Called when a process has ended. */
  delete(worker: ManagedProcess): void {
    if (!this.#workers.has(worker)) return;
    clearTimeout(this.#workers.get(worker));
    this.#workers.delete(worker);
    this.#log.info({ number: worker.number, pid: worker.pid }, 'a worker from before the restart has ended');
  }
}
