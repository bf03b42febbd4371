/**
 * One call of the operator's hook (hook.ts): its form and its answer, as Icecast's URL authentication has them, and the key of a remembered answer.
 */

import { createHash } from 'node:crypto';
import type { Outbound } from '../../net/outbound/outbound.js';

/** A client that wants to listen. */
export interface HookListener {
  /** The mount with its query, as requested. */
  readonly mount: string;
  readonly user: string;
  readonly password: string;
  readonly address: string;
  readonly agent: string;
}

export interface HookAnswer {
  readonly allowed: boolean;
  /** +∞: no limit. */
  readonly limitMs: number;
}

const DENIED: HookAnswer = { allowed: false, limitMs: 0 };

/**
 * What an answer holds for. The hook gets the address and may judge by it, and the query of a public link is not a credential: only the
 * operator knows whether the address matters. A client that sends no credentials at all has only its address. As a digest it takes
 * the same memory whatever a client sends, and contains no password.
 */
export function keyOf({ mount, user, password, address }: HookListener, cacheBy: 'address' | 'credentials'): string {
  const isAnonymous = user === '' && password === '' && !mount.includes('?');
  const asked = JSON.stringify([mount, user, password, cacheBy === 'address' || isAnonymous ? address : '']);
  return createHash('sha256').update(asked).digest('base64');
}

/** The fields that Icecast 2.4 sends, but for the server's own name and port. */
export function formOf(action: string, caller: HookListener, client: string, lastedMs?: number): string {
  const { mount, user, password, address, agent } = caller;
  const form = new URLSearchParams({ action, client, mount, user, pass: password, ip: address, agent });
  if (lastedMs !== undefined) form.set('duration', String(Math.round(lastedMs / 1000)));
  return form.toString();
}

/**
 * 2xx with `icecast-auth-user: 1` is yes, and `icecast-auth-timelimit: N` says for how many seconds; 2xx without it, 401 and 403 are no.
 * All else, a redirect too, is not an answer (a string that says why): an error page or a wrong URL decides nothing.
 */
export function answerOf({ status, headers }: Pick<Outbound, 'status' | 'headers'>): HookAnswer | string {
  if (status === 401 || status === 403) return DENIED;
  if (status < 200 || status > 299) return `status ${status}`;
  if (headers.get('icecast-auth-user') !== '1') return DENIED;
  const limit = headers.get('icecast-auth-timelimit');
  if (limit === undefined) return { allowed: true, limitMs: Number.POSITIVE_INFINITY };
  if (!/^\d{1,9}$/.test(limit)) return 'a time limit that cannot be read';
  return Number(limit) === 0 ? DENIED : { allowed: true, limitMs: Number(limit) * 1000 };
}
