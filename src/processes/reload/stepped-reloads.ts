/**
 * A reload with workers: all processes put another text in force in one step, or none does (README.md, "Reload"). Each says of every step whether it
 * can be; what is decided is decided here, in the process that outlives the others, so that a process that ends is started with one text or the
 * other. Owned by the supervisor.
 *
 *   prepare: hub, workers ──► listen: hub, workers ──► decided ──► commit: hub ──► commit: workers
 *                     └────── one refuses ─────┴──► discard ──► restore
 */

import { type ReloadStep, stepKey } from '../messages.js';
import type { ManagedProcess } from '../supervisor/managed-process.js';
import type { ConfigSource } from './configuration.js';

/** How long a step may take: a large text is read in it. */
const STEP_MS = 10_000;
const HUB_ENDED = 'the hub has ended meanwhile';

/** Those that know the steps. */
export interface ReloadedProcesses {
  readonly hub: ManagedProcess;
  readonly workers: readonly ManagedProcess[];
  /** Of before a restart. */
  readonly draining: readonly ManagedProcess[];
}

export class SteppedReloads {
  #last = 0;

  /**
   * Rejects with why one of them refuses; then the text before stays in force in all. Resolves when all have put it in force: one that could not is
   * killed. Workers that end meanwhile are left out.
   * @param onDecided from here on it is in force, whatever ends
   */
  async reload({ hub, workers, draining }: ReloadedProcesses, source: ConfigSource, onDecided: () => void) {
    const id = ++this.#last;
    const all = [hub, ...workers, ...draining];
    const willing = this.#willing(draining, id, source);
    try {
      await this.#together([hub, ...workers], id, { step: 'prepare', source });
      await this.#together([hub], id, { step: 'listen' });
      await this.#together(workers, id, { step: 'listen' });
      if (hub.hasEnded) throw new Error(HUB_ENDED);
    } catch (error) {
      await this.#giveUp(all, id);
      throw error;
    }
    const others = await willing;
    onDecided();
    // First of all what is new is known where it is made.
    await this.#commit([hub], id, source);
    await this.#commit([...workers, ...others], id, source);
  }

  /** Brings a worker that was started with another text to the one in force; one that cannot be is killed. */
  async bring(worker: ManagedProcess, source: ConfigSource): Promise<void> {
    const id = ++this.#last;
    try {
      await this.#together([worker], id, { step: 'prepare', source });
      await this.#together([worker], id, { step: 'listen' });
      await this.#commit([worker], id, source);
    } catch {
      worker.kill();
    }
  }

  /** Workers of before a restart may have been started with what this one cannot change: those go on with their own text until they end. */
  async #willing(workers: readonly ManagedProcess[], id: number, source: ConfigSource) {
    const reasons = await Promise.all(workers.map((worker) => this.#ask(worker, id, { step: 'prepare', source })));
    return workers.filter((_, i) => reasons[i] === null);
  }

  /** Rejects with the first reason, when all have answered. */
  async #together(children: readonly ManagedProcess[], id: number, step: ReloadStep): Promise<void> {
    const reasons = await Promise.all(children.map((child) => this.#ask(child, id, step)));
    const reason = reasons.find((each) => each !== null);
    if (reason !== undefined) throw new Error(reason);
  }

  async #commit(children: readonly ManagedProcess[], id: number, source: ConfigSource): Promise<void> {
    const commit = async (child: ManagedProcess): Promise<void> => {
      child.source = source;
      // It is started again, with this text.
      if ((await this.#ask(child, id, { step: 'commit' })) !== null) child.kill();
    };
    await Promise.all(children.map(commit));
  }

  async #giveUp(children: readonly ManagedProcess[], id: number): Promise<void> {
    for (const step of ['discard', 'restore'] as const) {
      await Promise.all(children.map((child) => this.#ask(child, id, { step })));
    }
  }

  /** Resolves with why the step cannot be, also where there is no answer; null: it is done, or a worker has ended. */
  async #ask(child: ManagedProcess, id: number, step: ReloadStep): Promise<string | null> {
    try {
      if (!child.hasEnded) {
        const send = () => child.send({ type: 'reloadStep', id, step });
        return await child.requests.ask<string | null>(send, { key: stepKey(id, step.step), timeoutMs: STEP_MS });
      }
    } catch (error) {
      if (!child.hasEnded) return (error as Error).message;
    }
    return child.role === 'hub' ? HUB_ENDED : null;
  }
}
