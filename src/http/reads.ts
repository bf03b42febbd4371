/**
 * Common to all reads: the paths of the three scopes, CORS, cache headers, ETags, preferences in headers. A path is parsed once, here, into a typed
 * target (src/http/README.md, "Reading").
 */

import { KEY, METAID } from '../base/key.js';
import { invalidField, Refusal } from '../base/refusal.js';
import { pathOf, queryOf, readablePath } from '../base/request-target.js';
import type { Sync } from '../feed/feed.js';
import type { TrackType } from '../metadata/record.js';
import { READ_METHODS } from './allow.js';

export type Scope = 'channel' | 'station' | 'listener';
export type ReadForm = 'json' | 'txt';

export interface ReadTarget {
  readonly scope: Scope;
  readonly id: string;
  /** The ending of the path: `.json`, `.txt`, or none (WebSocket). */
  readonly form: ReadForm | null;
  readonly query: URLSearchParams;
}

export const JSON_TYPE = 'application/json; charset=utf-8';
/** Cache-Control of public records. */
export const SHARED = 'public, max-age=1';

export const READ_ONLY = 'This path can only be read: use GET or HEAD.';

export const READ_CORS: Readonly<Record<string, string>> = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'ETag, Retry-After',
};

export const READ_PREFLIGHT: Readonly<Record<string, string>> = {
  Allow: READ_METHODS,
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': READ_METHODS,
  'Access-Control-Allow-Headers': 'If-None-Match, Last-Event-ID, Cache-Control',
  'Access-Control-Max-Age': '86400',
};

/** 405 for every method but READ_METHODS. */
export function readOnly(): Refusal {
  return new Refusal('method-not-allowed', READ_ONLY, { headers: { Allow: READ_METHODS } });
}

/** All stations and channels; not one of the three scopes. */
export const STATIONS_PATH = '/metadata/stations.json';

const PATH = /^\/metadata\/(channel|station|listener)\/([A-Za-z0-9._~-]{1,134})$/;

const WATCH_PATH = /^\/metadata\/(?:channel|station|listener)\/[^/]+(?<!\.json|\.txt)$/;

/** Whether a path is for a WebSocket. */
export function isWatchPath(path: string): boolean {
  return WATCH_PATH.test(path);
}

/** Whether the text is a well-formed metaid (1–128 of A-Za-z0-9._~-). */
export function isMetaid(text: string): boolean {
  return METAID.test(text);
}

/**
 * Reads a `/metadata/…` address.
 * @param url path and query as requested @param forms whether the path ends in `.json` or `.txt` (polls), or in neither (watchers)
 * @throws Refusal not-found
 */
export function readTarget(url: string, forms: boolean): ReadTarget {
  const match = PATH.exec(readablePath(pathOf(url)));
  if (match === null) throw notFound();
  const scope = match[1] as Scope;
  let id = match[2]!;
  let form: ReadForm | null = null;
  if (forms) {
    if (id.endsWith('.json')) form = 'json';
    else if (id.endsWith('.txt')) form = 'txt';
    if (form !== null) id = id.slice(0, -form.length - 1);
  }
  if (!(scope === 'listener' ? METAID : KEY).test(id)) throw notFound();
  return { scope, id, form, query: new URLSearchParams(queryOf(url)) };
}

export function notFound(detail = 'Nothing is served at this address.'): Refusal {
  return new Refusal('not-found', detail);
}

/** `?type=`: the requested records. @throws Refusal invalid, naming the field */
export function readTypes(query: URLSearchParams, all: boolean): readonly TrackType[] {
  const type = query.get('type') ?? 'now';
  if (type === 'now' || type === 'next') return [type];
  if (all && type === 'all') return ['now', 'next'];
  throw invalidField('type', all ? 'must be now, next or all' : 'must be now or next');
}

/** `?sync=`: when a listener's title is sent. @throws Refusal invalid, naming the field */
export function readSync(query: URLSearchParams): Sync {
  const sync = query.get('sync') ?? 'audio';
  if (sync === 'audio' || sync === 'wire') return sync;
  throw invalidField('sync', 'must be audio or wire');
}

/** Whether If-None-Match has this tag (RFC 9110, 13.1.2: weak comparison; `*` matches any). */
export function matchesTag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

/** Items read of a header such as Accept, which may have thousands. Browsers send fewer than ten. */
const MAX_ITEMS = 32;
const MAX_PARAMETERS = 8;

export interface Weighted {
  /** In lower case. */
  readonly name: string;
  /** 0: not acceptable. */
  readonly q: number;
}

/** The first items of a header such as Accept, in their order, with their weights (RFC 9110, 12.4.2). A weight that cannot be parsed is 0. */
export function weighted(header: string): Weighted[] {
  return header
    .split(',', MAX_ITEMS)
    .map((item) => item.toLowerCase().split(';', 1 + MAX_PARAMETERS))
    .map(([name = '', ...parameters]) => {
      const weight = parameters.find((text) => /^\s*q\s*=/.test(text)) ?? 'q=1';
      return { name: name.trim(), q: Number(/^\s*q\s*=\s*([0-9.]+)\s*$/.exec(weight)?.[1] ?? 0) || 0 };
    });
}
