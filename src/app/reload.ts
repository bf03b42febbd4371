/**
 * The steps that put another configuration in force in a running process (src/processes/README.md, "Reload"). Connections that a change does not
 * concern notice nothing.
 */

import { isDeepStrictEqual } from 'node:util';
import { adoptConfig } from '../config/adopt.js';
import type { LoadedConfig } from '../config/load.js';
import { planText, type ReloadPlan } from '../config/plan.js';
import type { Core } from './core.js';

/** The steps of one process; all processes take a step before the next one begins. Each is given the next configuration. */
export interface ReloadSteps {
  /** Prepares everything that can fail. Throws the reason; then nothing has changed. */
  prepare(next: LoadedConfig): void;
  /** Listens at new ports, or checks that they can be had. Rejects if not. */
  listen(next: LoadedConfig): Promise<void>;
  /** Puts the configuration in force. @param next must not be used afterwards */
  commit(next: LoadedConfig): Promise<void> | void;
  /** Discards what was prepared. */
  discard(next: LoadedConfig): void;
  /** Listens again at ports that were closed for the reload. */
  restore(next: LoadedConfig): Promise<void> | void;
}

/** Thrown if options cannot be changed in a running process. The message names them. */
export class NeedsRestart extends Error {
  readonly plan: ReloadPlan;

  /** @param advice how to change them nevertheless */
  constructor(plan: ReloadPlan, advice?: string) {
    const lines = planText({ ...plan, changes: plan.refused });
    super(`these options need a restart; nothing was changed:\n${lines}${advice === undefined ? '' : `\n${advice}`}`);
    this.name = 'NeedsRestart';
    this.plan = plan;
  }
}

/** Adopts the next configuration, and updates what every process derives from it. @param next must not be used afterwards */
export function takeConfig({ config, clock, secrets }: Core, next: LoadedConfig): { readonly isHookChanged: boolean } {
  const isHookChanged = !isDeepStrictEqual(config.listenerHook, next.listenerHook);
  adoptConfig(config, next);
  secrets.change(config.log.secretNames);
  clock.watchdog.longMs = config.log.longTurnMs;
  return { isHookChanged };
}
