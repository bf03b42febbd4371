/** One call of the operator's hook (hook.ts): its form and answer, as in Icecast's URL authentication, and the key of a cached answer. */

import { createHash } from 'node:crypto';
import type { Outbound } from '../../net/outbound/outbound.js';

/** Data that the hook gets only about an encoder. */
export interface HookEncoder {
  /** The host name or address of this server, to which it has connected. */
  readonly server: string;
  readonly port: number;
  /** Whether it sends a title, not audio. */
  readonly isTitle: boolean;
}

/** A listener, or an encoder. */
export interface HookListener {
  /** Absent: a listener. */
  readonly encoder?: HookEncoder;
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
 * The key of a cached answer. Only the operator knows whether the hook's answer depends on the address (`cacheBy`); for a client without
 * credentials the address always counts. A digest has a fixed size, whatever a client sends, and contains no password.
 */
export function keyOf(caller: HookListener, cacheBy: 'address' | 'credentials'): string {
  const { mount, user, password, address, encoder } = caller;
  const isAnonymous = user === '' && password === '' && !mount.includes('?');
  const kind = encoder === undefined ? 'listener' : encoder.isTitle ? 'title' : 'encoder';
  const asked = JSON.stringify([kind, mount, user, password, cacheBy === 'address' || isAnonymous ? address : '']);
  return createHash('sha256').update(asked).digest('base64');
}

/** The fields that Icecast 2.4 sends, without the server's name and port. */
export function formOf(action: string, caller: HookListener, client: string, lastedMs?: number): string {
  const { mount, user, password, address, agent } = caller;
  const form = new URLSearchParams({ action, client, mount, user, pass: password, ip: address, agent });
  if (lastedMs !== undefined) form.set('duration', String(Math.round(lastedMs / 1000)));
  return form.toString();
}

/** The question about this client. @param client the number of a listener; encoders have none */
export function questionOf(caller: HookListener, client: string): string {
  const { mount, user, password, address, agent, encoder } = caller;
  if (encoder === undefined) return formOf('listener_add', caller, client);
  const { server, port, isTitle } = encoder;
  const fields = { action: 'stream_auth', mount, ip: address, server, port: String(port), user, pass: password, agent };
  return new URLSearchParams({ ...fields, ...(isTitle && { admin: '1' }) }).toString();
}

/**
 * 2xx with `icecast-auth-user: 1` means yes, and `icecast-auth-timelimit: N` for how many seconds; 2xx without it, 401 and 403 mean no.
 * Any other status, even a redirect, is not an answer, since it may be an error page or a wrong URL: returns the reason.
 */
export function answerOf({ status, headers }: Pick<Outbound, 'status' | 'headers'>): HookAnswer | string {
  if (status === 401 || status === 403) return DENIED;
  if (status < 200 || status > 299) return `status ${status}`;
  if (headers.get('icecast-auth-user') !== '1') return DENIED;
  const limit = headers.get('icecast-auth-timelimit');
  if (limit === undefined) return { allowed: true, limitMs: Number.POSITIVE_INFINITY };
  if (!/^\d{1,9}$/.test(limit)) return 'an invalid time limit';
  return Number(limit) === 0 ? DENIED : { allowed: true, limitMs: Number(limit) * 1000 };
}
