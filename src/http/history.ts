/**
 * What was on air, for reports: `/metadata/channel/{key}/history.json|.csv?limit=&before=` (contract, "history"). Answered by poll.ts
 * like any other read, from the store.
 */

import type { Feed } from '../metadata/feed.js';
import { historyCsv, historyJson } from '../metadata/history.js';
import type { HistoryEntry } from '../metadata/state.js';
import { parseQueryMs } from '../metadata/time.js';
import { Refusal } from '../refusal.js';
import { notFound } from './reads.js';

const PATH = /^\/metadata\/channel\/([^/]+)\/history\.(json|csv)$/;
const DEFAULT_LIMIT = 50;

export interface HistoryTarget {
  readonly channel: string;
  readonly form: 'json' | 'csv';
  readonly query: URLSearchParams;
}

/** Newest first; at most `limit`, of those that began before `beforeMs` (unix milliseconds). */
export type ReadHistory = (
  channel: string,
  page: { readonly limit: number; readonly beforeMs: number | undefined },
) => HistoryEntry[];

/** Reads an address of history; null: it is none. */
export function readHistoryTarget(url: string): HistoryTarget | null {
  const mark = url.indexOf('?');
  const match = PATH.exec(mark < 0 ? url : url.slice(0, mark));
  if (match === null) return null;
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
  return { channel: match[1]!, form: match[2] as HistoryTarget['form'], query };
}

/** @param most entries in one answer @throws Refusal not-found, invalid (naming the fields) */
export function answerHistory(target: HistoryTarget, feed: Feed, read: ReadHistory, most: number) {
  const { channel, form, query } = target;
  const face = feed.face(channel);
  if (face === undefined) throw notFound('There is no channel with this key.');
  const entries = read(channel, readPage(query, most));
  if (form === 'json') {
    return { body: historyJson(entries, face), type: 'application/json; charset=utf-8', heads: {} };
  }
  const heads = { 'Content-Disposition': `attachment; filename="${channel}-history.csv"` };
  return { body: historyCsv(entries), type: 'text/csv; charset=utf-8', heads };
}

function readPage(query: URLSearchParams, most: number): { limit: number; beforeMs: number | undefined } {
  const limitText = query.get('limit') || String(Math.min(DEFAULT_LIMIT, most));
  const beforeText = query.get('before') || undefined;
  const limit = /^\d{1,6}$/.test(limitText) ? Number(limitText) : 0;
  const beforeMs = beforeText === undefined ? undefined : parseQueryMs(beforeText);
  const errors = [];
  if (limit < 1 || limit > most) errors.push({ field: 'limit', message: `must be 1 to ${most}` });
  if (beforeMs === null) errors.push({ field: 'before', message: 'must be RFC 3339, such as 2026-11-20T12:37:28Z' });
  if (errors.length > 0 || beforeMs === null) {
    throw new Refusal('invalid', `Look at: ${errors.map(({ field }) => field).join(', ')}`, { errors });
  }
  return { limit, beforeMs };
}
