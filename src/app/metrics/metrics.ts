/** The metrics of one process: of the process itself, and of what its parts register (hub-metrics.ts, worker-metrics.ts). */

import type { SystemClock } from '../../base/clock.js';
import type { Watchdog } from '../../base/watchdog.js';
import { LoopDelay, QUANTILES } from './loop-delay.js';
import { type Labels, MetricRegistry } from './registry.js';

export class Metrics {
  readonly registry = new MetricRegistry();
  readonly #loop: LoopDelay;

  /** @param name of the process, where it is one of several */
  constructor(clock: Pick<SystemClock, 'lateMicros' | 'watchdog'>, name?: string) {
    this.#loop = new LoopDelay(clock.lateMicros);
    observeProcess(this.registry, clock.watchdog, this.#loop, name);
  }

  /** Called about once a second, so that the event-loop figures cover a minute. */
  turn(): void {
    this.#loop.turn();
  }
}

function observeProcess(registry: MetricRegistry, watchdog: Watchdog, loop: LoopDelay, name?: string): void {
  const own: Labels = name === undefined ? {} : { process: name };
  const names = Object.keys(own);
  const delay = 'Event loop delay in the last minute';
  registry.gauge('airsplice_event_loop_delay_seconds', delay, ['quantile', ...names], (set) => {
    const delays = loop.read();
    for (const [i, quantile] of QUANTILES.entries()) set({ quantile, ...own }, delays[i]!);
  });
  const longest = 'Longest block of the event loop since the start';
  registry.gauge('airsplice_longest_turn_seconds', longest, ['part', ...names], (set) => {
    for (const [part, ms] of Object.entries(watchdog.longestMs)) set({ part, ...own }, ms / 1000);
  });
  registry.counter(
    'airsplice_long_turns_total',
    'Blocks of the event loop of log.longTurnMs or more',
    ['part', ...names],
    (set) => {
      for (const [part, count] of Object.entries(watchdog.long)) set({ part, ...own }, count);
    },
  );
  registry.gauge('process_resident_memory_bytes', 'Resident memory', names, (set) =>
    set(own, process.memoryUsage.rss()),
  );
  registry.counter('process_cpu_seconds_total', 'User and system CPU time', names, (set) => {
    const { user, system } = process.cpuUsage();
    set(own, (user + system) / 1e6);
  });
}
