/**
 * A reload with workers: all processes put another text in force in one step, or none does (README.md, "Reload"). Each says of every step whether it can
 * be; what is decided is decided here, in the process that outlives the others, so that a process that ends is started with one text or the other. Owned by
 * the supervisor.
 *
 *   prepare: hub, workers ──► listen: hub, workers ──► decided ──► commit: hub ──► commit: workers
 *                     └────── one refuses ─────┴──► discard ──► restore
 */

import type { ConfigSource } from './configuration.js';
import type { ManagedProcess } from './managed-process.js';
import type { FromChild, ReloadStep } from './messages.js';

/** How long a step may take: a large text is read in it. */
const STEP_MS = 10_000;

/** What a process makes of a step. */
type StepAnswer = { readonly isGone: boolean; readonly reason: string | null };

/** Those that know the steps. */
export interface ReloadedProcesses {
  readonly hub: ManagedProcess;
  readonly workers: readonly ManagedProcess[];
  /** Of before a restart. */
  readonly draining: readonly ManagedProcess[];
}

export class SteppedReloads {
  #last = 0;
  /** By child, number and step. */
  readonly #waiting = new Map<string, (answer: StepAnswer) => void>();

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
      if (hub.hasEnded) throw new Error('the hub has ended meanwhile');
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

  /** It answers no more. */
  onEnded({ number }: ManagedProcess): void {
    for (const [key, end] of this.#waiting) if (key.startsWith(`${number} `)) end({ isGone: true, reason: null });
  }

  onAnswer(child: ManagedProcess, { id, step, reason }: Extract<FromChild, { type: 'reloadStep' }>): void {
    this.#waiting.get(keyOf(child, id, step))?.({ isGone: false, reason });
  }

  /** Workers of before a restart may have been started with what this one cannot change: those go on with their own text until they end. */
  async #willing(workers: readonly ManagedProcess[], id: number, source: ConfigSource) {
    const answers = await Promise.all(workers.map((worker) => this.#ask(worker, id, { step: 'prepare', source })));
    return workers.filter((_, i) => answers[i]!.reason === null);
  }

  /** Rejects with the first reason, when all have answered. */
  async #together(children: readonly ManagedProcess[], id: number, step: ReloadStep): Promise<void> {
    const answers = await Promise.all(children.map((child) => this.#ask(child, id, step)));
    const refusal = answers.find(({ isGone, reason }) => !isGone && reason !== null);
    if (refusal !== undefined) throw new Error(refusal.reason!);
    if (answers.some(({ isGone }, i) => isGone && children[i]!.role === 'hub')) {
      throw new Error('the hub has ended meanwhile');
    }
  }

  async #commit(children: readonly ManagedProcess[], id: number, source: ConfigSource): Promise<void> {
    const commit = async (child: ManagedProcess): Promise<void> => {
      child.source = source;
      const { isGone, reason } = await this.#ask(child, id, { step: 'commit' });
      // It is started again, with this text.
      if (!isGone && reason !== null) child.kill();
    };
    await Promise.all(children.map(commit));
  }

  async #giveUp(children: readonly ManagedProcess[], id: number): Promise<void> {
    for (const step of ['discard', 'restore'] as const) {
      await Promise.all(children.map((child) => this.#ask(child, id, { step })));
    }
  }

  /** Resolves with what becomes of the step there: also where the process ends, or does not answer. */
  #ask(child: ManagedProcess, id: number, step: ReloadStep): Promise<StepAnswer> {
    const key = keyOf(child, id, step.step);
    return new Promise((resolve) => {
      const end = (answer: StepAnswer) => {
        clearTimeout(timer);
        this.#waiting.delete(key);
        resolve(answer);
      };
      const late = `${child.role} ${child.number} has not answered`;
      const timer = setTimeout(end, STEP_MS, { isGone: false, reason: late });
      this.#waiting.set(key, end);
      if (child.hasEnded) end({ isGone: true, reason: null });
      else child.send({ type: 'reloadStep', id, step });
    });
  }
}

function keyOf({ number }: ManagedProcess, id: number, step: string): string {
  return `${number} ${id} ${step}`;
}
