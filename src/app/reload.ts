/**
 * Another configuration for a process that runs, put in force in steps (src/processes/README.md, "Reload"). Who is not concerned notices nothing.
 */

import { isDeepStrictEqual } from 'node:util';
import { adoptConfig } from '../config/adopt.js';
import type { LoadedConfig } from '../config/load.js';
import { planText, type ReloadPlan } from '../config/plan.js';
import type { Core } from './core.js';

/** What a process does in each step, where all of them take it before the next one. Each is given the next configuration. */
export interface ReloadSteps {
  /** Makes what can fail. Throws why it cannot be made; then all is as before. */
  prepare(next: LoadedConfig): void;
  /** Takes ports that are new, or sees whether they can be had. Rejects where not. */
  listen(next: LoadedConfig): Promise<void>;
  /** In force. @param next is used up */
  commit(next: LoadedConfig): Promise<void> | void;
  /** What was prepared does not come into force. */
  discard(next: LoadedConfig): void;
  /** What was let go of for it is taken again. */
  restore(next: LoadedConfig): Promise<void> | void;
}

/** Some options cannot be changed while the process lives. Its message names them. */
export class NeedsRestart extends Error {
  readonly plan: ReloadPlan;

  /** @param advice how they can be changed all the same */
  constructor(plan: ReloadPlan, advice?: string) {
    const lines = planText({ ...plan, changes: plan.refused });
    super(`these options need a restart, nothing was changed:\n${lines}${advice === undefined ? '' : `\n${advice}`}`);
    this.name = 'NeedsRestart';
    this.plan = plan;
  }
}

/** The next configuration is in force: what every process has made of the one before is made anew. @param next is used up */
export function takeConfig({ config, clock, secrets }: Core, next: LoadedConfig): { readonly isHookChanged: boolean } {
  const isHookChanged = !isDeepStrictEqual(config.listenerHook, next.listenerHook);
  adoptConfig(config, next);
  secrets.change(config.log.secretNames);
  clock.watchdog.longMs = config.log.longTurnMs;
  return { isHookChanged };
}
