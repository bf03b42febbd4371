/**
 * Another configuration for a server that runs: planned, prepared, and put in force in one step (src/config/README.md, "Reload"). Who is not
 * concerned notices nothing. What cannot be had (a port, a certificate) or not be changed refuses it whole; then all is as before.
 */

import { isDeepStrictEqual } from 'node:util';
import { measured } from '../base/watchdog.js';
import type { ServedChannel } from '../channel/served.js';
import { adoptConfig } from '../config/adopt.js';
import type { LoadedConfig } from '../config/load.js';
import { planReload, planText, type ReloadPlan } from '../config/plan.js';
import type { Addresses } from './addresses/addresses.js';
import type { Core } from './core.js';
import type { Faces } from './faces.js';
import type { Hub } from './hub/hub.js';
import type { MetricRegistry } from './metrics/registry.js';
import { noReloads, observeReloads, type ReloadResults, withApplied, withRefused } from './reload-results.js';
import type { Worker } from './worker/worker.js';

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

export interface ReloadParts {
  readonly core: Core;
  readonly addresses: Addresses;
  readonly faces: Faces;
  readonly hub: Hub;
  readonly worker: Worker;
  /** What clients meet, by key; the same map as the worker's. */
  readonly served: Map<string, ServedChannel>;
  /** Channels that are new, before anything of them is heard. */
  onAdded(channels: readonly string[]): void;
}

export class Reload {
  /** An operator wants the configuration to be read again. Resolves with what that changed; rejects with why it was not put in force. */
  onAsked: () => Promise<string> = () => Promise.reject(new Error('this server has no file to read again'));
  readonly #parts: ReloadParts;
  #results: ReloadResults;
  /** One after the other. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: ReloadParts) {
    this.#parts = parts;
    this.#results = noReloads(parts.core.clock.wallMs() / 1000);
  }

  /** Resolves with what was changed. Rejects with NeedsRestart, or why a port cannot be had. @param next is used up */
  apply(next: LoadedConfig): Promise<ReloadPlan> {
    const turn = this.#last.then(() => this.#apply(next));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** A configuration could not be read, or was refused. */
  refused(): void {
    this.#results = withRefused(this.#results);
  }

  observe(registry: MetricRegistry): void {
    observeReloads(registry, () => this.#results);
  }

  async #apply(next: LoadedConfig): Promise<ReloadPlan> {
    const { core, addresses } = this.#parts;
    const plan = measured('reload', () => planReload(core.config, next));
    if (plan.refused.length > 0) throw new NeedsRestart(plan);
    const takeAddresses = await addresses.prepare(next);
    takeAddresses();
    measured('reload', () => this.#take(next));
    this.#results = withApplied(this.#results, core.clock.wallMs() / 1000);
    return plan;
  }

  #take(next: LoadedConfig): void {
    const { core, faces, hub, worker, served, onAdded } = this.#parts;
    const { isHookChanged } = takeConfig(core, next);
    faces.refresh();
    const changes = hub.refresh();
    served.clear();
    for (const [key, channel] of hub.channels) served.set(key, channel.served);
    onAdded(changes.added);
    worker.refresh(changes, isHookChanged);
  }
}
