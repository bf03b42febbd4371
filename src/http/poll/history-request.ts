/**
 * `/metadata/channel/{key}/history.json|.csv?limit=&before=` (src/http/README.md, "Reading"): reads the requested page from the URL, and gives the
 * headers of the answer. poll.ts answers; history-pages.ts renders the page from the store.
 */

import { Refusal } from '../../base/refusal.js';
import { pathOf, queryOf } from '../../base/request-target.js';
import { parseQueryMs } from '../../metadata/time.js';
import type { HistoryForm } from '../../now-playing/history.js';

const PATH = /^\/metadata\/channel\/([^/]+)\/history\.(json|csv)$/;
const DEFAULT_LIMIT = 50;

export interface HistoryTarget {
  readonly channel: string;
  readonly form: HistoryForm;
  readonly query: URLSearchParams;
}

/** A page of a channel: at most `limit` entries, of those that began before `beforeMs` (unix milliseconds). */
export interface HistoryRequest {
  readonly channel: string;
  readonly form: HistoryForm;
  readonly limit: number;
  readonly beforeMs: number | undefined;
}

/** Null: not the path of a history. */
export function readHistoryTarget(url: string): HistoryTarget | null {
  const match = PATH.exec(pathOf(url));
  if (match === null) return null;
  return { channel: match[1]!, form: match[2] as HistoryForm, query: new URLSearchParams(queryOf(url)) };
}

/** The headers of a 200, but for caching and CORS. */
export function historyHeaders({ channel, form }: HistoryTarget): Record<string, string> {
  if (form === 'json') return { 'Content-Type': 'application/json; charset=utf-8' };
  const disposition = `attachment; filename="${channel}-history.csv"`;
  return { 'Content-Type': 'text/csv; charset=utf-8', 'Content-Disposition': disposition };
}

/** @param maxEntries in one answer @throws Refusal invalid (naming the fields) */
export function readHistoryPage({ channel, form, query }: HistoryTarget, maxEntries: number): HistoryRequest {
  const limitText = query.get('limit') || String(Math.min(DEFAULT_LIMIT, maxEntries));
  const beforeText = query.get('before') || undefined;
  const limit = /^\d{1,6}$/.test(limitText) ? Number(limitText) : 0;
  const beforeMs = beforeText === undefined ? undefined : parseQueryMs(beforeText);
  const errors = [];
  if (limit < 1 || limit > maxEntries) errors.push({ field: 'limit', message: `must be 1 to ${maxEntries}` });
  if (beforeMs === null) errors.push({ field: 'before', message: 'must be RFC 3339, such as 2026-11-20T12:37:28Z' });
  if (errors.length > 0 || beforeMs === null) {
    throw new Refusal('invalid', `Look at: ${errors.map(({ field }) => field).join(', ')}`, { errors });
  }
  return { channel, form, limit, beforeMs };
}
