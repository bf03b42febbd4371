/**
 * Reloads in a child process: takes the steps that the supervisor asks for, one after the other, and answers each (stepped-reloads.ts has the other
 * end). Owned by hub-process.ts or worker-process.ts.
 */

import type { ReloadSteps } from '../../app/reload.js';
import type { LoadedConfig } from '../../config/load.js';
import type { FromChild, ToChild } from '../messages.js';
import { configOf } from './configuration.js';

type StepMessage = Extract<ToChild, { type: 'reloadStep' }>;

export class ChildReloads {
  readonly #steps: ReloadSteps;
  readonly #send: (message: FromChild) => void;
  readonly #onCommitted: () => void;
  /** The configuration that is prepared and may be committed. */
  #prepared: { readonly id: number; readonly next: LoadedConfig } | null = null;
  #last: Promise<void> = Promise.resolve();

  /** @param send to the supervisor */
  constructor(steps: ReloadSteps, send: (message: FromChild) => void, onCommitted: () => void) {
    this.#steps = steps;
    this.#send = send;
    this.#onCommitted = onCommitted;
  }

  onMessage(message: StepMessage): void {
    const { id, step } = message;
    this.#last = this.#last.then(async () => {
      const reason = await this.#take(message).then(
        () => null,
        (error: Error) => error.message,
      );
      this.#send({ type: 'reloadStep', id, step, reason });
    });
  }

  async #take({ id, step, source }: StepMessage): Promise<void> {
    if (source !== undefined) {
      const next = configOf(source);
      await this.#steps.prepare(next);
      this.#prepared = { id, next };
      return;
    }
    const prepared = this.#prepared;
    // This process has refused to prepare.
    if (prepared?.id !== id) return;
    if (step === 'commit' || step === 'restore') this.#prepared = null;
    await this.#steps[step](prepared.next);
    if (step === 'commit') this.#onCommitted();
  }
}
