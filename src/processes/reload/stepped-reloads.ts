/**
 * A reload: all processes put another configuration in force in one step, or none does (README.md, "Reload"). Each says of every step whether it can
 * be; what is decided is decided here, in the process that outlives the others, so that one that ends is started with one configuration or the other.
 * One process by itself is a hub without workers.
 *
 *   prepare: hub, workers ──► listen: hub, workers ──► decided ──► commit: hub ──► commit: workers
 *                     └────── one refuses ─────┴──► discard ──► restore
 */

import type { ReloadSteps } from '../../app/reload.js';
import type { LoadedConfig } from '../../config/load.js';
import type { ReloadStep } from '../messages.js';
import type { ConfigSource } from './configuration.js';

/** One that takes the steps. */
export interface ReloadParticipant {
  readonly hasEnded: boolean;
  /** Rejects with why the step cannot be, also where there is no answer, or a hub has ended. A worker that ends is left out. */
  takeStep(id: number, step: ReloadStep, source: ConfigSource): Promise<void>;
  /** It could not put in force what is decided: it is started again, with that. */
  kill(why: unknown): void;
}

export interface ReloadParticipants {
  readonly hub: ReloadParticipant;
  readonly workers: readonly ReloadParticipant[];
  /** Of before a restart. */
  readonly draining: readonly ReloadParticipant[];
}

export class SteppedReloads {
  #last = 0;

  /**
   * Rejects with why one of them refuses; then what was before stays in force in all. Resolves when all have put it in force: one that could not is
   * killed. Workers that end meanwhile are left out; so are draining ones that refuse, which go on with what they have until they end.
   * @param onDecided from here on it is in force, whatever ends
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
      if (hub.hasEnded) throw new Error('the hub has ended meanwhile');
    } catch (error) {
      const all = [hub, ...workers, ...draining];
      for (const step of ['discard', 'restore'] as const) {
        await Promise.allSettled(all.map((each) => each.takeStep(id, step, source)));
      }
      throw error;
    }
    const prepared = await willing;
    onDecided();
    // First of all what is new is known where it is made.
    await commit([hub], id, source);
    await commit([...workers, ...draining.filter((_, i) => prepared[i]!.status === 'fulfilled')], id, source);
  }

  /** Brings a worker that was started with another configuration to the one in force; one that cannot be is killed. */
  async bring(worker: ReloadParticipant, source: ConfigSource): Promise<void> {
    const id = ++this.#last;
    try {
      for (const step of ['prepare', 'listen', 'commit'] as const) await worker.takeStep(id, step, source);
    } catch (error) {
      worker.kill(error);
    }
  }
}

/** The one process as a participant. @param next is used up */
export function ownSteps(steps: ReloadSteps, next: LoadedConfig): ReloadParticipant {
  return {
    hasEnded: false,
    takeStep: async (_id, step) => await steps[step](next),
    kill: (why) => {
      throw why;
    },
  };
}

/** Rejects with the first reason, when all have answered. */
async function together(all: readonly ReloadParticipant[], id: number, step: ReloadStep, source: ConfigSource) {
  const answers = await Promise.allSettled(all.map((each) => each.takeStep(id, step, source)));
  for (const answer of answers) if (answer.status === 'rejected') throw answer.reason;
}

async function commit(all: readonly ReloadParticipant[], id: number, source: ConfigSource): Promise<void> {
  await Promise.all(all.map((each) => each.takeStep(id, 'commit', source).catch((error) => each.kill(error))));
}
