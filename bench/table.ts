/**
 * The figures of a benchmark as a table: a column for each target, a row for each figure. Costs and times are medians over the rounds, faults
 * are sums, delays are the worst. Pure; owned by bench/run.ts.
 */

import type { Measurement } from './measure.js';
import { type CrowdReport, total } from './report.js';

/** `names` in the order of the columns; the one named `floor` is what the others' CPU is divided by. */
export function table(names: readonly string[], measurements: readonly Measurement[]): string {
  const columns = names.map((name) => column(measurements.filter(({ party }) => party === name)));
  const floor = columns[names.indexOf('floor')]!.coresPer1000;
  const rows: [string, (one: Column) => string][] = [
    ['CPU cores per 1,000 listeners', (one) => one.coresPer1000.toFixed(4)],
    ['  ratio to the floor', (one) => (one.coresPer1000 / floor).toFixed(2)],
    ['  of it, in the kernel', (one) => one.systemCoresPer1000.toFixed(4)],
    ['  CPU cores without listeners', (one) => one.idleCores.toFixed(4)],
    ['memory per listener, KiB', (one) => (one.bytesPerListener / 1024).toFixed(1)],
    ['  memory without listeners, MiB', (one) => (one.idleBytes / 2 ** 20).toFixed(1)],
    [
      'event-loop delay p99.9, ms',
      (one) => (one.delaySeconds === undefined ? '-' : (one.delaySeconds * 1000).toFixed(1)),
    ],
    ['connect ms, p50 / p99 / max', (one) => times(one, (crowd) => crowd.connectMs)],
    ['first byte ms, p50 / p99 / max', (one) => times(one, (crowd) => crowd.firstByteMs)],
    ['joined per second', (one) => median(one.crowds.map((c) => c.opened / c.joinSeconds)).toFixed(0)],
    ['kb/s per listener', (one) => median(one.crowds.map((c) => c.kbitPerSecond)).toFixed(1)],
    ['connected, fewest', (one) => String(Math.min(...one.crowds.map((c) => c.connected)))],
    ['refused', (one) => String(sum(one.crowds.map((c) => total(c.refused))))],
    ['dropped', (one) => String(sum(one.crowds.map((c) => total(c.dropped))))],
    ['ICY errors', (one) => String(sum(one.crowds.map((c) => c.icyErrors)))],
    ['continuity breaks', (one) => String(sum(one.crowds.map((c) => c.breaks)))],
    ['began within a frame', (one) => String(sum(one.crowds.map((c) => c.partialFirstFrames)))],
    ["the crowd's own CPU cores", (one) => median(one.crowds.map((c) => c.ownCores)).toFixed(3)],
  ];
  const cells = [['', ...names], ...rows.map(([name, cell]) => [name, ...columns.map(cell)])];
  const widths = cells[0]!.map((_, index) => Math.max(...cells.map((row) => row[index]!.length)));
  const lines = cells.map((row) =>
    row.map((cell, index) => (index === 0 ? cell.padEnd(widths[index]!) : cell.padStart(widths[index]!))).join('   '),
  );
  const faults = columns.flatMap(({ name, crowds }) =>
    crowds.flatMap((crowd) => reasons(crowd).map((reason) => `${name}: ${reason}`)),
  );
  return [...lines, ...(faults.length > 0 ? ['', ...new Set(faults)] : [])].join('\n');
}

interface Column {
  readonly name: string;
  readonly coresPer1000: number;
  readonly systemCoresPer1000: number;
  readonly idleCores: number;
  readonly bytesPerListener: number;
  readonly idleBytes: number;
  readonly delaySeconds: number | undefined;
  readonly crowds: readonly CrowdReport[];
}

function column(rounds: readonly Measurement[]): Column {
  const first = rounds[0]!;
  const delays = rounds.map((round) => round.eventLoopDelaySeconds).filter((delay) => delay !== undefined);
  return {
    name: first.party,
    coresPer1000: median(rounds.map((round) => (round.cores / round.crowd.connected) * 1000)),
    systemCoresPer1000: median(rounds.map((round) => (round.systemCores / round.crowd.connected) * 1000)),
    idleCores: first.idleCores,
    // Before the first round only: a process does not give back at once what a crowd has cost it.
    bytesPerListener: median(rounds.map((round) => (round.bytes - first.idleBytes) / round.crowd.connected)),
    idleBytes: first.idleBytes,
    delaySeconds: delays.length > 0 ? Math.max(...delays) : undefined,
    crowds: rounds.map((round) => round.crowd),
  };
}

function times(one: Column, of: (crowd: CrowdReport) => { p50: number; p99: number; max: number }): string {
  const each = one.crowds.map(of);
  return [each.map((e) => e.p50), each.map((e) => e.p99), each.map((e) => e.max)]
    .map((ms) => median(ms).toFixed(1))
    .join(' / ');
}

function reasons(crowd: CrowdReport): string[] {
  const counted = Object.entries({ ...crowd.refused, ...crowd.dropped });
  return [...counted.map(([reason, count]) => `${count} × ${reason}`), ...crowd.faults];
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
