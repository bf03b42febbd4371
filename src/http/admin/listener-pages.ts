/**
 * Pages of the listeners of all processes, oldest first. Each process first sends the ages of matching listeners, then reports only those on the
 * page, so that few reports are made for a late page.
 */

import type { AdminQueries } from '../../admin/admin-queries.js';
import type { ListenerFilter, ProcessQuestions } from '../../admin/admin-schema.js';
import type { ListenerReport } from '../../admin/rows.js';

/** By the number of the process. */
type Ranges = ProcessQuestions['listeners']['ask']['ranges'];

export interface ListenerPage {
  /** The number of all matching listeners. */
  readonly total: number;
  /** Oldest first. */
  readonly listeners: readonly ListenerReport[];
}

/** @param offset the first one's, among all matching listeners @param limit maximum number on the page */
export async function listenerPage(
  queries: AdminQueries,
  filter: ListenerFilter,
  offset: number,
  limit: number,
): Promise<ListenerPage> {
  const { total, startedMs, numbers } = await agesOf(queries, filter, offset + limit);
  const first = passOldest(
    startedMs,
    numbers.map(() => 0),
    offset,
  );
  const end = passOldest(startedMs, first, limit);
  return { total, listeners: await reportsOf(queries, filter, rangesOf(numbers, first, end)) };
}

/** All matching listeners, oldest first: at most `max`, fetched `atOnce` at a time. */
export async function allListeners(
  queries: AdminQueries,
  filter: ListenerFilter,
  max: number,
  atOnce: number,
): Promise<ListenerReport[]> {
  const { total, startedMs, numbers } = await agesOf(queries, filter, max);
  const found: ListenerReport[] = [];
  let from = numbers.map(() => 0);
  for (let passed = 0; passed < Math.min(total, max); passed += atOnce) {
    const to = passOldest(startedMs, from, Math.min(atOnce, max - passed));
    found.push(...(await reportsOf(queries, filter, rangesOf(numbers, from, to))));
    from = to;
  }
  return found;
}

async function agesOf(queries: AdminQueries, filter: ListenerFilter, most: number) {
  const ages = await queries.all('ages', { ...filter, most });
  const total = ages.reduce((sum, each) => sum + each.total, 0);
  return { total, startedMs: ages.map((each) => each.startedMs), numbers: ages.map((each) => each.process) };
}

async function reportsOf(queries: AdminQueries, filter: ListenerFilter, ranges: Ranges): Promise<ListenerReport[]> {
  if (Object.keys(ranges).length === 0) return [];
  return (await queries.all('listeners', { ...filter, ranges })).flat().sort(byAge);
}

/** The ranges of positions between two, without empty ones. */
function rangesOf(numbers: readonly number[], from: readonly number[], to: readonly number[]): Ranges {
  const between = numbers.map((process, i) => [process, { from: from[i]!, count: to[i]! - from[i]! }] as const);
  return Object.fromEntries(between.filter(([, { count }]) => count > 0));
}

/** Skips the `count` next oldest. @param passed how many of each process were skipped before @returns how many are now */
function passOldest(startedMs: readonly (readonly number[])[], passed: readonly number[], count: number): number[] {
  const counts = [...passed];
  for (let i = 0; i < count; i++) {
    let oldest = -1;
    let oldestMs = Number.POSITIVE_INFINITY;
    for (const [at, all] of startedMs.entries()) {
      const ms = all[counts[at]!];
      if (ms === undefined || ms >= oldestMs) continue;
      oldest = at;
      oldestMs = ms;
    }
    if (oldest < 0) break;
    counts[oldest]!++;
  }
  return counts;
}

function byAge(a: ListenerReport, b: ListenerReport): number {
  return a.sinceMs - b.sinceMs || (a.id < b.id ? -1 : 1);
}
