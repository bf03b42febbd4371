/** The results of a simulation as tables and as a plot. Pure. */

import { plot } from '../plot.js';
import { aligned } from '../table.js';
import { type Cluster, type ClusterPlan, type RedisLoad, redisLoad, type Storm, simulate, storm } from './cluster.js';
import type { Cost, Costs } from './costs.js';
import { capacity, firstLimit, type MachinePlan } from './machine.js';

export const KBPS = [64, 96, 128, 192, 256, 320] as const;
const GBPS = [1, 10, 25] as const;
/** Interval of a channel's titles: three minutes; and at the top of the hour, all of them within a second. */
const CHANGE_SECONDS = 180;
const LOG_CHANGES = 20_000;
const GIB = 2 ** 30;

export interface CapacityPlan {
  readonly machine: MachinePlan;
  readonly cluster: ClusterPlan;
  readonly burstSeconds: number;
}

export interface CapacityReport {
  readonly plan: CapacityPlan;
  readonly costs: Costs;
  /** Listeners per core, per GB, and per 1, 10 and 25 Gb/s, by bitrate. */
  readonly units: readonly (readonly [kbps: number, core: number, gigabyte: number, ...gigabits: number[]])[];
  /** By number of edges. */
  readonly clusters: readonly {
    readonly edges: number;
    readonly busiest: Cluster['edges'][number];
    readonly originBits: number;
    readonly storm: Storm;
    readonly limit: string;
    readonly isEnough: boolean;
  }[];
  readonly redis: readonly { readonly when: string; readonly load: RedisLoad }[];
}

export function capacityReport(costs: Costs, plan: CapacityPlan): CapacityReport {
  const { machine, cluster, burstSeconds } = plan;
  const one = (cores: number, memoryBytes: number, bitsPerSecond: number) => ({
    cores,
    memoryBytes,
    bitsPerSecond,
    useShare: 1,
  });
  const units = KBPS.map((kbps) => {
    const of = (gigabits: number) => capacity(costs, one(1, GIB, gigabits * 1e9), kbps, 0);
    const { cores, memory } = of(1);
    return [kbps, cores, memory, ...GBPS.map((gigabits) => of(gigabits).network)] as const;
  });
  const counts = [...new Set([0.5, 1, 2, 4].map((factor) => Math.max(2, Math.round(cluster.edges * factor))))];
  const clusters = counts.map((edges) => {
    const made = simulate(costs, { ...cluster, edges });
    const busiest = made.edges.reduce((most, edge) => (edge.listeners > most.listeners ? edge : most));
    const carried = capacity(costs, machine, cluster.kbps, busiest.channels);
    const each = { coresOfEach: machine.cores, bitsOfEach: machine.bitsPerSecond, burstSeconds };
    return {
      edges,
      busiest,
      originBits: made.originBits,
      limit: firstLimit(carried),
      storm: storm(costs, made, cluster, each),
      isEnough: busiest.listeners <= Math.min(carried.cores, carried.memory, carried.network),
    };
  });
  const often = cluster.channels / CHANGE_SECONDS;
  const redis = [
    { when: `a title of each channel every ${CHANGE_SECONDS} s`, load: redisLoad(costs, cluster, often, LOG_CHANGES) },
    { when: 'all channels within one second', load: redisLoad(costs, cluster, cluster.channels, LOG_CHANGES) },
  ];
  return { plan, costs, units, clusters, redis };
}

export function capacityText({ plan, costs, units, clusters, redis }: CapacityReport): string {
  const { machine, cluster } = plan;
  const whole = (value: number) => Math.round(value).toLocaleString('en');
  const costRows = Object.values(costs as unknown as Record<string, Cost>).map(
    ({ name, value, unit, origin, from }) => [...[name, Number(value.toPrecision(3)).toString(), unit, origin, from]],
  );
  const unitRows = units.map((row) => row.map(whole));
  const clusterRows = clusters.map(({ edges, busiest, originBits, storm: lost, limit, isEnough }) => [
    ...[whole(edges), whole(busiest.listeners), whole(busiest.channels), busiest.cores.toFixed(1)],
    ...[(busiest.bytes / GIB).toFixed(1), (busiest.outBits / 1e9).toFixed(2), (busiest.inBits / 1e9).toFixed(3)],
    ...[(originBits / 1e9).toFixed(2), isEnough ? 'yes' : 'no', limit],
    ...[whole(lost.joins), Math.max(lost.cpuSeconds, lost.networkSeconds).toFixed(1), lost.limit],
  ]);
  const redisRows = redis.map(({ when, load }) => [
    ...[when, load.changesPerSecond.toFixed(1), load.cores.toFixed(3)],
    ...[(load.outBytesPerSecond / 1e6).toFixed(2), (load.memoryBytes / 1e6).toFixed(0)],
  ]);
  const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
    aligned([[...head], ...rows.map((row) => [...row])]);
  return [
    'What one costs\n',
    table(['', 'value', 'unit', 'is', 'of'], costRows),
    '\nListeners for each (computed)\n',
    table(['kb/s', 'core', 'GB', ...GBPS.map((gigabits) => `${gigabits} Gb/s`)], unitRows),
    `\n${whole(cluster.listeners)} listeners of ${whole(cluster.channels)} channels (Zipf ${cluster.exponent}) at ${cluster.kbps} kb/s, on edges of ${machine.cores} cores, ${machine.memoryBytes / GIB} GB, ${machine.bitsPerSecond / 1e9} Gb/s, of which ${machine.useShare * 100} % are used (simulated, seed ${cluster.seed})\n`,
    table(
      [
        ...['edges', 'listeners', 'channels', 'cores', 'GB', 'Gb/s out', 'Gb/s in', 'all owners', 'enough', 'limit'],
        ...['storm', 'seconds', 'by'],
      ],
      clusterRows,
    ),
    '\nof the busiest edge; storm: the listeners of the busiest are lost and come to the others, which have served them after so many seconds with what they have left',
    '\nRedis (computed)\n',
    table(['', 'changes/s', 'cores', 'MB/s out', 'MB kept'], redisRows),
    '',
  ].join('\n');
}

/** Maximum listeners of one machine, by bitrate and limiting resource. */
export function capacityPlot({ plan, costs }: CapacityReport): string {
  const { machine, cluster } = plan;
  const carried = KBPS.map((kbps) => capacity(costs, machine, kbps, Math.min(cluster.channels, 200)));
  const line = (name: string, limit: 'cores' | 'memory' | 'network') => ({
    name,
    points: KBPS.map((kbps, i) => [kbps, carried[i]![limit]] as const),
  });
  return plot({
    title: 'Listeners of one machine, by what would limit them',
    subtitle: `${machine.cores} cores, ${machine.memoryBytes / GIB} GB, ${machine.bitsPerSecond / 1e9} Gb/s, ${machine.useShare * 100} % of each used, 200 channels; computed of measured costs`,
    x: 'kb/s of a stream',
    y: 'listeners',
    hasLogY: true,
    series: [line('by its cores', 'cores'), line('by its memory', 'memory'), line('by its network', 'network')],
  });
}
