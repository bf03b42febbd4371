/**
 * The state of logins to the operator page that all processes share: the key that signs their cookies, and the logins that were ended early. Pure.
 * The key is generated at the first login and stored, so that logins outlive restarts.
 */

import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { text } from '../config/field.js';
import { counted, moment, type Plain } from '../metadata/record-schema.js';
import { MAX_ROWS } from './rows.js';

/** Limit on remembered ended logins of a user. One more ends all logins of the user. */
export const MAX_ENDED_OF_USER = 100;
/** Limit on users in `renewed`, removed ones included. One more ends the logins of all users, by a new key. */
export const MAX_RENEWED = 1000;

const KEY_BYTES = 32;

const user = text(1, 64);
export const endedLogin = z.looseObject({
  id: z.string().regex(/^[\w-]{22}$/),
  /** Absent: ended by an older version. */
  user: user.optional(),
  /** When its cookie expires anyway, unix milliseconds. */
  untilMs: moment,
});
export type EndedLogin = Plain<z.output<typeof endedLogin>>;

export const loginState = z.looseObject({
  /** base64url; "": no operator has logged in yet. */
  key: z.string().regex(/^[\w-]{0,64}$/),
  ended: z.array(endedLogin).max(MAX_ROWS),
  /** Users whose logins have all been ended at once, and how often; absent: none. */
  renewed: z
    .array(z.looseObject({ user, times: counted }))
    .max(MAX_RENEWED)
    .optional(),
});
export type LoginState = Plain<z.output<typeof loginState>>;

export const NO_LOGINS: LoginState = { key: '', ended: [] };

/** Changes the logins in a larger state. */
export function changed(make: (logins: LoginState) => LoginState) {
  return <S extends { readonly logins: LoginState }>(state: S): S => ({ ...state, logins: make(state.logins) });
}

export function withKey(state: LoginState): LoginState {
  return state.key === '' ? { key: newKey(), ended: [] } : state;
}

export function withEnded(state: LoginState, login: EndedLogin): LoginState {
  const { user } = login;
  const others = state.ended.filter(({ id }) => id !== login.id);
  const rest = others.filter((other) => other.user !== user);
  if (others.length - rest.length < MAX_ENDED_OF_USER) return { ...state, ended: [...others, login] };
  const renewed = (state.renewed ?? []).filter((other) => other.user !== user);
  // An older version did not report the user.
  if (user === undefined || renewed.length >= MAX_RENEWED) return { key: newKey(), ended: [] };
  return { ...state, ended: rest, renewed: [...renewed, { user, times: timesRenewed(state, user) + 1 }] };
}

/** How often all logins of a user were ended. */
export function timesRenewed({ renewed = [] }: LoginState, user: string): number {
  return renewed.find((other) => other.user === user)?.times ?? 0;
}

/** The state without logins that have expired anyway. */
export function currentLogins(state: LoginState, nowMs: number): LoginState {
  return { ...state, ended: state.ended.filter(({ untilMs }) => untilMs > nowMs) };
}

function newKey(): string {
  return randomBytes(KEY_BYTES).toString('base64url');
}
