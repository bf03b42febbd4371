/**
 * Listeners of all processes by age, a page of them. Each process first says how old those that fit are, then reports those that the page shows, and
 * no others: a page far back costs what the first one does.
 */

import type { AdminQueries, ListenerFilter, ListenerReport, ProcessQuestions } from '../../admin/admin-reports.js';

/** Of each process by its number. */
type Places = ProcessQuestions['listeners']['ask']['places'];

export interface ListenerPage {
  /** Of those that fit. */
  readonly total: number;
  /** Oldest first. */
  readonly listeners: readonly ListenerReport[];
}

/** @param offset of the first, in all that fit @param limit how many at most */
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
  return { total, listeners: await reportsOf(queries, filter, placesOf(numbers, first, end)) };
}

/** All that fit, oldest first: up to `most`, of which processes report `atOnce` at a time. */
export async function allListeners(
  queries: AdminQueries,
  filter: ListenerFilter,
  most: number,
  atOnce: number,
): Promise<ListenerReport[]> {
  const { total, startedMs, numbers } = await agesOf(queries, filter, most);
  const found: ListenerReport[] = [];
  let from = numbers.map(() => 0);
  for (let passed = 0; passed < Math.min(total, most); passed += atOnce) {
    const to = passOldest(startedMs, from, Math.min(atOnce, most - passed));
    found.push(...(await reportsOf(queries, filter, placesOf(numbers, from, to))));
    from = to;
  }
  return found;
}

async function agesOf(queries: AdminQueries, filter: ListenerFilter, most: number) {
  const ages = await queries.all('ages', { ...filter, most });
  const total = ages.reduce((sum, each) => sum + each.total, 0);
  return { total, startedMs: ages.map((each) => each.startedMs), numbers: ages.map((each) => each.process) };
}

async function reportsOf(queries: AdminQueries, filter: ListenerFilter, places: Places): Promise<ListenerReport[]> {
  if (Object.keys(places).length === 0) return [];
  return (await queries.all('listeners', { ...filter, places })).flat().sort(byAge);
}

/** Those between, by the numbers of the processes. */
function placesOf(numbers: readonly number[], from: readonly number[], to: readonly number[]): Places {
  const between = numbers.map((process, i) => [process, { from: from[i]!, count: to[i]! - from[i]! }] as const);
  return Object.fromEntries(between.filter(([, { count }]) => count > 0));
}

/** How many of each process are passed, once the next `count` oldest are. @param passed how many are already */
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
