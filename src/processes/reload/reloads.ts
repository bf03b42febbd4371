/**
 * Applies configurations one after the other: each is planned once, put in force in all processes or in none, and counted. Owned by the supervisor,
 * or in one process by run.ts.
 */

import type { App } from '../../app/app.js';
import { NeedsRestart } from '../../app/reload.js';
import { noReloads, type ReloadResults, withApplied, withRefused } from '../../app/reload-results.js';
import { SerialQueue } from '../../base/serial-queue.js';
import { measured } from '../../base/watchdog.js';
import type { LoadedConfig } from '../../config/load.js';
import { planReload, type ReloadPlan } from '../../config/plan.js';
import type { NextConfig } from './configuration.js';
import { ownSteps, SteppedReloads } from './stepped-reloads.js';

export interface ReloadsParts {
  /** The configuration in force. */
  readonly config: LoadedConfig;
  /**
   * Puts another configuration in force. Rejects with NeedsRestart, or with the reason of a refusal; then nothing has changed.
   * @param next must not be used afterwards @param byRestart whether changes that need new processes may restart them
   */
  put(next: NextConfig, plan: ReloadPlan, byRestart: boolean): Promise<void>;
  onResults(results: ReloadResults): void;
}

export class Reloads {
  readonly #parts: ReloadsParts;
  #results = noReloads(Date.now() / 1000);
  readonly #turns = new SerialQueue();

  constructor(parts: ReloadsParts) {
    this.#parts = parts;
  }

  /** Returns the reloads of a server in one process, which takes all steps itself. */
  static ofOne(config: LoadedConfig, app: Pick<App, 'steps' | 'onReloads'>): Reloads {
    const stepped = new SteppedReloads();
    return new Reloads({
      config,
      put: async ({ config: next, source }, plan) => {
        if (plan.refused.length > 0) throw new NeedsRestart(plan);
        await stepped.reload({ hub: ownSteps(app.steps, next), workers: [], draining: [] }, source);
      },
      onResults: (results) => app.onReloads(results),
    });
  }

  get results(): ReloadResults {
    return this.#results;
  }

  /** Resolves with what has changed; rejects as `put` does. */
  apply(next: NextConfig, byRestart = false): Promise<ReloadPlan> {
    return this.inTurn(async () => {
      const plan = measured('reload', () => planReload(this.#parts.config, next.config));
      await this.#parts.put(next, plan, byRestart);
      this.#count(withApplied(this.#results, Date.now() / 1000));
      return plan;
    });
  }

  /** Counts a configuration that could not be read or was refused. */
  refused(): void {
    this.#count(withRefused(this.#results));
  }

  /** Runs `work` after all earlier reloads. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#turns.run(work);
  }

  #count(results: ReloadResults): void {
    this.#results = results;
    this.#parts.onResults(results);
  }
}
