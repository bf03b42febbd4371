/**
 * Listeners of all processes by age, a page of them. Each process first says how old those that fit are, then reports those that the page shows, and
 * no others: a page far back costs what the first one does.
 */

import type { AdminQueries, ListenerAges, ListenerFilter, ListenerReport } from '../../link/admin-reports.js';

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
  const ages = await queries.all('ages', { ...filter, most: offset + limit });
  const total = ages.reduce((sum, each) => sum + each.total, 0);
  const places = placesOf(ages, offset, limit);
  if (Object.keys(places).length === 0) return { total, listeners: [] };
  const parts = await queries.all('listeners', { ...filter, places });
  return { total, listeners: parts.flat().sort(byAge) };
}

/** What of each process is on the page. */
function placesOf(ages: readonly ListenerAges[], offset: number, limit: number) {
  const places: Record<string, { readonly from: number; readonly count: number }> = {};
  const first = countsBefore(ages, offset);
  const end = countsBefore(ages, offset + limit);
  for (const [i, { process }] of ages.entries()) {
    const [from, to] = [first[i]!, end[i]!];
    if (to > from) places[process] = { from, count: to - from };
  }
  return places;
}

/** How many of the `count` oldest are each process's. */
function countsBefore(ages: readonly ListenerAges[], count: number): number[] {
  const counts = ages.map(() => 0);
  for (let i = 0; i < count; i++) {
    let oldest = -1;
    let oldestMs = Number.POSITIVE_INFINITY;
    for (const [at, { startedMs }] of ages.entries()) {
      const ms = startedMs[counts[at]!];
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
