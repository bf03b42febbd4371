/** One call of the operator's hook (hook.ts): its form and answer, as in Icecast's URL authentication, and the key of a remembered answer. */

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
 * The key under which an answer is remembered. Only the operator knows whether the hook judges by the address (`cacheBy`); for a client
 * without credentials the address always counts. A digest has a fixed size, whatever a client sends, and contains no password.
 */
export function keyOf({ mount, user, password, address }: HookListener, cacheBy: 'address' | 'credentials'): string {
  const isAnonymous = user === '' && password === '' && !mount.includes('?');
  const asked = JSON.stringify([mount, user, password, cacheBy === 'address' || isAnonymous ? address : '']);
  return createHash('sha256').update(asked).digest('base64');
}

/** The fields that Icecast 2.4 sends, without the server's name and port. */
export function formOf(action: string, caller: HookListener, client: string, lastedMs?: number): string {
  const { mount, user, password, address, agent } = caller;
  const form = new URLSearchParams({ action, client, mount, user, pass: password, ip: address, agent });
  if (lastedMs !== undefined) form.set('duration', String(Math.round(lastedMs / 1000)));
  return form.toString();
}

/**
 * 2xx with `icecast-auth-user: 1` means yes, and `icecast-auth-timelimit: N` for how many seconds; 2xx without it, 401 and 403 mean no.
 * Any other status, a redirect too, is not an answer, since it may be an error page or a wrong URL: a string that says why.
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
