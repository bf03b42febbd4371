/**
 * A reload in steps, so that either all processes put another configuration in force or none does (README.md, "Reload"). Each process accepts or
 * refuses every step. The decision is made here, in the process that outlives the others, so that a process that ends meanwhile is started again
 * with the configuration that was decided on. A server in one process is a hub without workers.
 *
 *   prepare: hub, workers ──► listen: hub, workers ──► decided ──► commit: hub ──► commit: workers
 *                     └────── one refuses ─────┴──► discard ──► restore
 */

import type { ReloadSteps } from '../../app/reload.js';
import type { LoadedConfig } from '../../config/load.js';
import type { ReloadStep } from '../messages.js';
import type { ConfigSource } from './configuration.js';

/** A process that takes the steps. */
export interface ReloadParticipant {
  readonly hasEnded: boolean;
  /** Rejects with the reason if the process refuses or does not answer, or if a hub has ended. Resolves for a worker that has ended. */
  takeStep(id: number, step: ReloadStep, source: ConfigSource): Promise<void>;
  /** Ends a process that cannot put the decided configuration in force, so that it starts again with that. */
  kill(why: unknown): void;
}

export interface ReloadParticipants {
  readonly hub: ReloadParticipant;
  readonly workers: readonly ReloadParticipant[];
  /** Workers that a restart has replaced. */
  readonly draining: readonly ReloadParticipant[];
}

export class SteppedReloads {
  #last = 0;

  /**
   * Resolves when it is in force in all; kills a process that fails to commit. Rejects, and changes nothing, if the hub or a worker refuses, unless
   * that drains or has ended. @param onDecided called once all have agreed: from then on the new configuration counts, whatever process ends
   */
  async reload(
    { hub, workers, draining }: ReloadParticipants,
    source: ConfigSource,
    onDecided: () => void = () => undefined,
  ) {
    const id = ++this.#last;
    const willing = Promise.allSettled(draining.map((worker) => worker.takeStep(id, 'prepare', source)));
    try {
      await together([hub, ...workers], id, 'prepare', source);
      await together([hub], id, 'listen', source);
      await together(workers, id, 'listen', source);
      if (hub.hasEnded) throw new Error('the hub has ended in the meantime');
    } catch (error) {
      const all = [hub, ...workers, ...draining];
      for (const step of ['discard', 'restore'] as const) {
        await Promise.allSettled(all.map((each) => each.takeStep(id, step, source)));
      }
      throw error;
    }
    const prepared = await willing;
    onDecided();
    // The hub first, since workers get new channels from it.
    await commit([hub], id, source);
    await commit([...workers, ...draining.filter((_, i) => prepared[i]!.status === 'fulfilled')], id, source);
  }

  /** Takes a worker that was started with another configuration through all steps; kills it if it refuses one. */
  async bring(worker: ReloadParticipant, source: ConfigSource): Promise<void> {
    const id = ++this.#last;
    try {
      for (const step of ['prepare', 'listen', 'commit'] as const) await worker.takeStep(id, step, source);
    } catch (error) {
      worker.kill(error);
    }
  }
}

/** Returns a server in one process as a participant. @param next must not be used afterwards */
export function ownSteps(steps: ReloadSteps, next: LoadedConfig): ReloadParticipant {
  return {
    hasEnded: false,
    takeStep: async (_id, step) => await steps[step](next),
    kill: (why) => {
      throw why;
    },
  };
}

/** Resolves when all have taken the step; rejects once all have answered, with the first reason. */
async function together(all: readonly ReloadParticipant[], id: number, step: ReloadStep, source: ConfigSource) {
  const answers = await Promise.allSettled(all.map((each) => each.takeStep(id, step, source)));
  for (const answer of answers) if (answer.status === 'rejected') throw answer.reason;
}

async function commit(all: readonly ReloadParticipant[], id: number, source: ConfigSource): Promise<void> {
  await Promise.all(all.map((each) => each.takeStep(id, 'commit', source).catch((error) => each.kill(error))));
}
