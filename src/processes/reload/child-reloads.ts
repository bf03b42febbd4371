/**
 * A reload in a child process: the steps that the supervisor asks for, one after the other, each answered (stepped-reloads.ts has the other end).
 * Owned by child.ts.
 */

import { NeedsRestart } from '../../app/reload.js';
import { measured } from '../../base/watchdog.js';
import type { LoadedConfig } from '../../config/load.js';
import { planReload } from '../../config/plan.js';
import type { FromChild, ReloadStep, ToChild } from '../messages.js';
import { readConfig } from './configuration.js';

/** What a hub or a worker does in each step. Owned by its process. */
export interface ReloadSteps {
  /** Makes what can fail. Throws why it cannot be made; then all is as before. */
  prepare(next: LoadedConfig): void;
  /** Takes ports that are new, or sees whether they can be had. Rejects where not. */
  listen(): Promise<void>;
  /** In force. @param next is used up */
  commit(next: LoadedConfig): Promise<void>;
  /** What was prepared does not come into force. */
  discard(): void;
  /** What was let go of for it is taken again. */
  restore(): Promise<void>;
}

export class ChildReloads {
  readonly #config: LoadedConfig;
  readonly #steps: ReloadSteps;
  readonly #send: (message: FromChild) => void;
  readonly #onCommitted: () => void;
  /** What is prepared, and may be committed. */
  #prepared: { readonly id: number; readonly next: LoadedConfig } | null = null;
  #last: Promise<void> = Promise.resolve();

  /** @param config the one in force @param send to the supervisor */
  constructor(
    config: LoadedConfig,
    steps: ReloadSteps,
    send: (message: FromChild) => void,
    onCommitted: () => void = () => undefined,
  ) {
    this.#config = config;
    this.#steps = steps;
    this.#send = send;
    this.#onCommitted = onCommitted;
  }

  onMessage({ id, step }: Extract<ToChild, { type: 'reloadStep' }>): void {
    this.#last = this.#last.then(async () => {
      const reason = await this.#take(id, step).then(
        () => null,
        (error: Error) => error.message,
      );
      this.#send({ type: 'reloadStep', id, step: step.step, reason });
    });
  }

  async #take(id: number, step: ReloadStep): Promise<void> {
    if (step.step === 'prepare') {
      const next = readConfig(step.source);
      const plan = measured('reload', () => planReload(this.#config, next));
      if (plan.refused.length > 0) throw new NeedsRestart(plan);
      this.#steps.prepare(next);
      this.#prepared = { id, next };
      return;
    }
    const prepared = this.#prepared;
    // It has refused what the others have prepared.
    if (prepared?.id !== id) return;
    if (step.step === 'listen') await this.#steps.listen();
    else if (step.step === 'discard') this.#steps.discard();
    else {
      this.#prepared = null;
      if (step.step === 'restore') await this.#steps.restore();
      else {
        await this.#steps.commit(prepared.next);
        this.#onCommitted();
      }
    }
  }
}
