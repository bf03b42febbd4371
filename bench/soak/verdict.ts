/**
 * Judges whether figures are flat. Pure. Memory and open files are judged by the minimum of each window, so that busy moments do not count, and by
 * the growth of these minima over the last three quarters: the first quarter is for caches, pools and compiled code. The slope is the median of the
 * slopes between all pairs of windows (Theil and Sen), which an outlier does not change. Loop delay is judged by the medians of the first and the
 * last quarter, compared with that of the load's process: on a shared machine both are late.
 */

import { median } from '../statistics.js';
import type { ProcessSample, Sample } from './samples.js';

/** Shorter runs are not judged, since a process needs some ten minutes to warm up. */
export const MIN_MINUTES = 30;
export const WINDOWS = 12;
const MIB = 2 ** 20;

/** Allowed growth per hour: the larger of a share of the first judged window and an absolute figure. */
const GROWTH = {
  residentBytes: { name: 'resident memory', unit: 'MiB', divisor: MIB, share: 0.03, least: 5 * MIB },
  anonymousBytes: { name: 'of it not mapped files', unit: 'MiB', divisor: MIB, share: 0.03, least: 5 * MIB },
  heapBytes: { name: 'heap', unit: 'MiB', divisor: MIB, share: 0.03, least: 2 * MIB },
  externalBytes: { name: 'outside the heap', unit: 'MiB', divisor: MIB, share: 0.03, least: 2 * MIB },
  files: { name: 'open files', unit: '', divisor: 1, share: 0.05, least: 5 },
  handles: { name: 'handles, timers, requests', unit: '', divisor: 1, share: 0.05, least: 5 },
} as const;
type Grown = keyof typeof GROWTH;

/** Loop delay of the last quarter: at most this many times the first quarter's, or the load's own, plus DELAY_MS. */
const DELAY_FACTOR = 1.5;
const DELAY_MS = 3;
/** Open files that each process may have more after the load than before, since some are opened on first use. */
const IDLE_FILES = 4;
const IDLE_HANDLES = 6;

export interface Judgement {
  readonly process: string;
  readonly name: string;
  readonly unit: string;
  /** In `unit`: the first judged window, or quarter. */
  readonly first: number;
  /** In `unit`: the last judged window, or quarter. */
  readonly last: number;
  /** In `unit` per hour; undefined for loop delay. */
  readonly perHour?: number;
  /** The limit of `perHour`, or else of `last`. */
  readonly most: number;
  readonly isFlat: boolean;
}

/** The minimum of each of `WINDOWS` windows of equal length, with its middle in hours. */
export function minima(samples: readonly Sample[], of: (sample: Sample) => number): [hours: number, least: number][] {
  const end = (samples.at(-1)?.seconds ?? 0) + 1e-9;
  const windows = new Map<number, number>();
  for (const sample of samples) {
    const window = Math.floor((sample.seconds / end) * WINDOWS);
    const value = of(sample);
    if (Number.isFinite(value)) windows.set(window, Math.min(windows.get(window) ?? Number.POSITIVE_INFINITY, value));
  }
  return [...windows].map(([window, least]) => [((window + 0.5) * end) / WINDOWS / 3600, least]);
}

/** The median of the slopes of all pairs; NaN for less than two points. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const slopes = points.flatMap(([x1, y1], i) => points.slice(i + 1).map(([x2, y2]) => (y2 - y1) / (x2 - x1)));
  return median(slopes);
}

/** @param samples under load */
export function judgements(samples: readonly Sample[]): Judgement[] {
  const names = Object.keys(samples[0]?.processes ?? {});
  return names.flatMap((process) => [
    ...(Object.keys(GROWTH) as Grown[]).map((figure) => growth(samples, process, figure)),
    ...delay(samples, process),
  ]);
}

function growth(samples: readonly Sample[], process: string, figure: Grown): Judgement {
  const { name, unit, divisor, share, least } = GROWTH[figure];
  const judged = minima(samples, ({ processes }) => processes[process]?.[figure] ?? Number.NaN).slice(WINDOWS / 4);
  const first = judged[0]?.[1] ?? Number.NaN;
  const perHour = slope(judged);
  const most = Math.max(share * first, least);
  return {
    process,
    name,
    unit,
    first: first / divisor,
    last: (judged.at(-1)?.[1] ?? Number.NaN) / divisor,
    perHour: perHour / divisor,
    most: most / divisor,
    isFlat: perHour <= most,
  };
}

function delay(samples: readonly Sample[], process: string): Judgement[] {
  const [first, last] = quarters(samples, ({ processes }) => processes[process]?.loopP99Ms ?? Number.NaN);
  // The supervisor does not have this figure.
  if (Number.isNaN(first)) return [];
  const [ownFirst, ownLast] = quarters(samples, ({ ownLoopP99Ms }) => ownLoopP99Ms);
  const most = first * DELAY_FACTOR * Math.max(1, ownLast / ownFirst) + DELAY_MS;
  return [{ process, name: 'loop delay, p99', unit: 'ms', first, last, most, isFlat: last <= most }];
}

/** Medians of the first and the last quarter. */
function quarters(samples: readonly Sample[], of: (sample: Sample) => number): [first: number, last: number] {
  const end = samples.at(-1)?.seconds ?? 0;
  const within = (from: number, to: number) =>
    median(
      samples
        .filter(({ seconds }) => seconds >= from * end && seconds <= to * end)
        .map(of)
        .filter((value) => Number.isFinite(value)),
    );
  return [within(0, 0.25), within(0.75, 1)];
}

/** Resources that remain after the load, in words; empty: none. */
export function leftovers(before: Sample, after: Sample): string[] {
  const left: string[] = [];
  for (const [name, count] of Object.entries(after.counts))
    if (count > before.counts[name as keyof Sample['counts']]) left.push(`${count} ${name}`);
  for (const [process, { files, handles }] of Object.entries(after.processes)) {
    const was: ProcessSample | undefined = before.processes[process];
    if (was === undefined) left.push(`a new process, ${process}`);
    else if (files > was.files + IDLE_FILES) left.push(`${process}: ${files} open files, ${was.files} before`);
    else if (handles > was.handles + IDLE_HANDLES) left.push(`${process}: ${handles} handles, ${was.handles} before`);
  }
  return left;
}
