/**
 * The results of reloads for the metrics. With workers there is one count for all processes, which the supervisor keeps and the hub reports.
 */

import type { MetricRegistry } from './metrics/registry.js';

/** Plain data. */
export interface ReloadResults {
  readonly applied: number;
  readonly refused: number;
  /** Whether the last reload was applied. */
  readonly isGood: boolean;
  /** Since when the configuration has been in force, Unix seconds. */
  readonly appliedAt: number;
}

/** Returns the results at the start. @param at Unix seconds */
export function noReloads(at: number): ReloadResults {
  return { applied: 0, refused: 0, isGood: true, appliedAt: at };
}

/** Adds a reload that was applied. @param at Unix seconds */
export function withApplied(results: ReloadResults, at: number): ReloadResults {
  return { ...results, applied: results.applied + 1, isGood: true, appliedAt: at };
}

/** Adds a configuration that could not be read, or was refused. */
export function withRefused(results: ReloadResults): ReloadResults {
  return { ...results, refused: results.refused + 1, isGood: false };
}

export function observeReloads(registry: MetricRegistry, results: () => ReloadResults): void {
  const total = 'airsplice_config_reloads_total';
  registry.counter(total, 'Attempted reloads of the configuration, by result.', ['result'], (set) => {
    const { applied, refused } = results();
    set({ result: 'applied' }, applied);
    set({ result: 'refused' }, refused);
  });
  registry.gauge('airsplice_config_last_reload_successful', 'Whether the last reload succeeded.', [], (set) =>
    set({}, results().isGood ? 1 : 0),
  );
  registry.gauge(
    'airsplice_config_last_reload_success_timestamp_seconds',
    'When the current configuration was applied, Unix seconds.',
    [],
    (set) => set({}, results().appliedAt),
  );
}
