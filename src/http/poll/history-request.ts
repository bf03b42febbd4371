/**
 * `/metadata/channel/{key}/history.json|.csv|.rss?limit=&before=&from=&to=&etype=` (src/http/README.md, "Reading"): parses the URL, and gives the
 * headers of the answer. poll.ts answers; history-pages.ts renders the page from the store.
 */

import { Refusal } from '../../base/refusal.js';
import { pathOf, queryOf, readablePath } from '../../base/request-target.js';
import { type NumberRange, numberRange } from '../../config/number-range.js';
import { parseQueryMs } from '../../metadata/time.js';
import { HISTORY_FORMS, type HistoryForm } from './history-forms.js';

const PATH = /^\/metadata\/channel\/([^/]+)\/history\.(json|csv|rss)$/;
const DEFAULT_LIMIT = 50;
/** Limit for `etype`, separated by commas. */
const MAX_RANGES = 16;

export interface HistoryTarget {
  readonly channel: string;
  readonly form: HistoryForm;
  readonly query: URLSearchParams;
}

/** A page of a channel: at most `limit` entries that began at or after `fromMs`, and before `beforeMs` (unix milliseconds). */
export interface HistoryRequest {
  readonly channel: string;
  readonly form: HistoryForm;
  readonly limit: number;
  readonly fromMs: number | undefined;
  readonly beforeMs: number | undefined;
  /** The requested content types; undefined: all. */
  readonly etypes: readonly NumberRange[] | undefined;
  /** Whether it begins with a byte order mark. */
  readonly hasBom: boolean;
}

/** Null: not the path of a history. */
export function readHistoryTarget(url: string): HistoryTarget | null {
  const match = PATH.exec(readablePath(pathOf(url)));
  if (match === null) return null;
  return { channel: match[1]!, form: match[2] as HistoryForm, query: new URLSearchParams(queryOf(url)) };
}

/** The headers of a 200, except for caching and CORS. */
export function historyHeaders({ channel, form }: HistoryTarget): Record<string, string> {
  const { type } = HISTORY_FORMS[form];
  if (form !== 'csv') return { 'Content-Type': type };
  return { 'Content-Type': type, 'Content-Disposition': `attachment; filename="${channel}-history.csv"` };
}

/** @param maxEntries maximum in one answer @throws Refusal invalid (naming the fields) */
export function readHistoryPage({ channel, form, query }: HistoryTarget, maxEntries: number): HistoryRequest {
  const errors: { readonly field: string; readonly message: string }[] = [];
  const must = (field: string, message: string) => void errors.push({ field, message });
  const limitText = query.get('limit') || String(Math.min(DEFAULT_LIMIT, maxEntries));
  const limit = /^\d{1,6}$/.test(limitText) ? Number(limitText) : 0;
  if (limit < 1 || limit > maxEntries) must('limit', `must be 1 to ${maxEntries}`);
  const timeOf = (field: string): number | undefined => {
    const text = query.get(field) || undefined;
    const ms = text === undefined ? undefined : parseQueryMs(text);
    if (ms === null) must(field, 'must be RFC 3339, such as 2026-11-20T12:37:28Z');
    return ms ?? undefined;
  };
  const [beforeMs, fromMs, toMs] = [timeOf('before'), timeOf('from'), timeOf('to')];
  if (fromMs !== undefined && toMs !== undefined && fromMs >= toMs) must('to', 'must be later than from');
  const etypeText = query.get('etype') || undefined;
  const etypes = etypeText?.split(',', MAX_RANGES + 1).map(numberRange);
  const areRanges = etypes === undefined || (etypes.length <= MAX_RANGES && !etypes.includes(undefined));
  if (!areRanges) must('etype', `must be up to ${MAX_RANGES} ids or ranges such as 1001-1008, separated by commas`);
  const bom = query.get('bom') || '0';
  if (bom !== '0' && bom !== '1') must('bom', 'must be 0 or 1');
  if (errors.length > 0) {
    throw new Refusal('invalid', `Invalid fields: ${errors.map(({ field }) => field).join(', ')}`, { errors });
  }
  const ends = [beforeMs, toMs].filter((ms) => ms !== undefined);
  const end = ends.length === 0 ? undefined : Math.min(...ends);
  const hasBom = bom === '1' && form === 'csv';
  return { channel, form, limit, fromMs, beforeMs: end, etypes: etypes as readonly NumberRange[] | undefined, hasBom };
}
