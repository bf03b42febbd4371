/**
 * Configurations that are to come into force, one after the other: each is planned once, put in force in all processes or in none, and counted. Owned
 * by what puts them in force: the supervisor, or the run of the one process.
 */

import type { App } from '../../app/app.js';
import { NeedsRestart } from '../../app/reload.js';
import { noReloads, type ReloadResults, withApplied, withRefused } from '../../app/reload-results.js';
import { measured } from '../../base/watchdog.js';
import type { LoadedConfig } from '../../config/load.js';
import { planReload, type ReloadPlan } from '../../config/plan.js';
import type { NextConfig } from './configuration.js';
import { ownSteps, SteppedReloads } from './stepped-reloads.js';

export interface ReloadsParts {
  /** The one in force. */
  readonly config: LoadedConfig;
  /**
   * Puts another one in force. Rejects with NeedsRestart, or with why it cannot be; then all is as before. @param next is used up
   * @param byRestart what needs new processes gets them
   */
  put(next: NextConfig, plan: ReloadPlan, byRestart: boolean): Promise<void>;
  onResults(results: ReloadResults): void;
}

export class Reloads {
  readonly #parts: ReloadsParts;
  #results = noReloads(Date.now() / 1000);
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: ReloadsParts) {
    this.#parts = parts;
  }

  /** Of the one process: it takes the steps by itself. */
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

  /** Resolves with what was changed; rejects as `put` does. */
  apply(next: NextConfig, byRestart = false): Promise<ReloadPlan> {
    return this.inTurn(async () => {
      const plan = measured('reload', () => planReload(this.#parts.config, next.config));
      await this.#parts.put(next, plan, byRestart);
      this.#count(withApplied(this.#results, Date.now() / 1000));
      return plan;
    });
  }

  /** One could not be read, or was refused. */
  refused(): void {
    this.#count(withRefused(this.#results));
  }

  /** Behind the reloads that were asked for before. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  #count(results: ReloadResults): void {
    this.#results = results;
    this.#parts.onResults(results);
  }
}
