/**
 * What became of reloads, as metrics report it: of the one process, or with workers of all together, where the supervisor has it and the hub reports
 * it.
 */

import type { MetricRegistry } from './metrics/registry.js';

/** Plain data. */
export interface ReloadResults {
  readonly applied: number;
  readonly refused: number;
  /** Whether the last one is in force. */
  readonly isGood: boolean;
  /** Since when the configuration is in force, Unix seconds. */
  readonly appliedAt: number;
}

/** @param at Unix seconds */
export function noReloads(at: number): ReloadResults {
  return { applied: 0, refused: 0, isGood: true, appliedAt: at };
}

/** Another configuration is in force. @param at Unix seconds */
export function withApplied(results: ReloadResults, at: number): ReloadResults {
  return { ...results, applied: results.applied + 1, isGood: true, appliedAt: at };
}

/** A configuration could not be read, or was refused. */
export function withRefused(results: ReloadResults): ReloadResults {
  return { ...results, refused: results.refused + 1, isGood: false };
}

export function observeReloads(registry: MetricRegistry, results: () => ReloadResults): void {
  const total = 'airsplice_config_reloads_total';
  registry.counter(total, 'Configurations that were to be reloaded, by what became of them.', ['result'], (set) => {
    const { applied, refused } = results();
    set({ result: 'applied' }, applied);
    set({ result: 'refused' }, refused);
  });
  registry.gauge('airsplice_config_last_reload_successful', 'Whether the last one is in force.', [], (set) =>
    set({}, results().isGood ? 1 : 0),
  );
  registry.gauge(
    'airsplice_config_last_reload_success_timestamp_seconds',
    'Since when the configuration is in force, Unix seconds.',
    [],
    (set) => set({}, results().appliedAt),
  );
}
