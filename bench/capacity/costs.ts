/**
 * The costs of a listener, watcher, join, push and channel from `npm run bench`. Each figure names its origin: measured, computed from measured
 * figures, or assumed, with the reason. Pure.
 */

import type { Report } from '../result.js';
import { median } from '../statistics.js';

export type Origin = 'measured' | 'computed' | 'assumed';

export interface Cost {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly origin: Origin;
  /** The row, the formula, or the reason. */
  readonly from: string;
}

export interface Costs {
  /** Cores per listener of a full machine: a part proportional to the number of writes, and a part proportional to bytes. */
  readonly listenerCores: Cost;
  readonly listenerKernelCores: Cost;
  readonly measuredKbps: Cost;
  readonly listenerBytes: Cost;
  readonly processBytes: Cost;
  readonly watcherBytes: Cost;
  readonly deliverySeconds: Cost;
  readonly joinSeconds: Cost;
  readonly pushSeconds: Cost;
  readonly channelCores: Cost;
  readonly channelBytes: Cost;
  readonly redisPushSeconds: Cost;
  readonly logEntryBytes: Cost;
  readonly lastValueBytes: Cost;
  readonly socketBytes: Cost;
  readonly overhead: Cost;
}

function costOf(origin: Cost['origin']) {
  return (name: string, value: number, unit: string, from: string): Cost => ({ name, value, unit, origin, from });
}

/** @param reports of the usual scenarios, and of `cluster` @throws Error that names a missing row */
export function costsOf(reports: readonly Report[]): Costs {
  /** @param wanted as in the table: a name, with a comma and the unit if several rows have that name */
  const row = (scenario: string, wanted: string, target?: string): number => {
    for (const { results } of reports) {
      const result = results.find((each) => each.scenario === scenario);
      const found = result?.rows.find(({ name, unit }) => [name.trim(), `${name.trim()}, ${unit}`].includes(wanted));
      const values = found?.values[target ?? result!.targets[0]!];
      if (values !== undefined) return median(values);
    }
    throw new Error(`the results have no row "${wanted}" of ${scenario}`);
  };
  const [measured, computed, assumed] = [costOf('measured'), costOf('computed'), costOf('assumed')];
  const MIB = 2 ** 20;
  const crowd = row('listeners', '15,000 listeners: CPU per 1,000') / 1000;
  const kernel = row('listeners', 'of it in the kernel, cores (15000)') / 1000;
  const [few, many] = [row('listeners', 'with them, MiB (4000)'), row('listeners', 'with them, MiB (15000)')];
  return {
    listenerCores: measured('a listener', crowd, 'cores', '15,000 listeners of one process'),
    listenerKernelCores: measured('of it in the kernel', kernel, 'cores', 'the same'),
    measuredKbps: measured('at', row('listeners', 'kb/s per listener, (15000)'), 'kb/s', 'the same'),
    listenerBytes: computed('a listener, resident', ((many - few) * MIB) / 11_000, 'bytes', 'between 4,000 and 15,000'),
    processBytes: measured(
      ...(['a process', row('listeners', 'memory without listeners, and, MiB (15000)') * MIB, 'bytes'] as const),
      'without a listener',
    ),
    watcherBytes: assumed('a watcher, resident', 12 * 1024, 'bytes', 'ws: 8 to 12 KB a connection'),
    deliverySeconds: measured(
      ...(['a title to a watcher', row('fanout', 'CPU per delivery, the push included') * 1e-6, 'CPU s'] as const),
      '5,000 readers',
    ),
    joinSeconds: computed(
      ...(['a join', row('joins', 'CPU of the joins and 5 s') / 10_000, 'CPU s'] as const),
      '10,000 joins of a new process, and 5 s behind them',
    ),
    pushSeconds: measured(
      ...(['a push', row('pushing', '1500 a second: CPU per push') * 1e-6, 'CPU s'] as const),
      '1,500 a second, durable',
    ),
    channelCores: measured(
      ...(['a channel that plays', row('channels', 'without a listener: CPU') / 1000, 'cores'] as const),
      '1,000 file channels without a listener',
    ),
    channelBytes: computed(
      'a channel that is heard, its tape too',
      ((row('channels', 'with 10000 listeners: memory') -
        row('channels', 'with 10000 listeners: memory', 'airsplice, 1 × 10000')) *
        MIB) /
        1000,
      'bytes',
      '1,000 × 10 listeners beside 1 × 10,000',
    ),
    redisPushSeconds: measured(
      ...(['a push in Redis', row('cluster', '200 a second: CPU of Redis per push') * 1e-6, 'CPU s'] as const),
      'two machines, appendfsync always',
    ),
    logEntryBytes: assumed(
      'a change in the log of Redis',
      2048,
      'bytes',
      'a state of one title as JSON, with its history',
    ),
    lastValueBytes: assumed('a last value in Redis', 1536, 'bytes', 'the same without history'),
    socketBytes: assumed('kernel memory of a connection', 8 * 1024, 'bytes', 'send queue of a player that keeps up'),
    overhead: assumed(
      'bytes on the wire for each of audio',
      1.05,
      '',
      'TCP/IP headers of 1,448-byte segments, acknowledgements',
    ),
  };
}
