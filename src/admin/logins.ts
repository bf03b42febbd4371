/**
 * The state of logins to the operator page that all processes share: the key that signs their cookies, and the logins that were ended early. Pure.
 * The key is generated at the first login and stored, so that logins outlive restarts.
 */

import { randomBytes } from 'node:crypto';

export interface EndedLogin {
  readonly id: string;
  /** Absent: ended by an older version. */
  readonly user?: string | undefined;
  /** When its cookie expires anyway, unix milliseconds. */
  readonly untilMs: number;
}

export interface LoginState {
  /** base64url; "": no operator has logged in yet. */
  readonly key: string;
  readonly ended: readonly EndedLogin[];
  /** Users whose logins have all been ended at once, and how often; absent: none. */
  readonly renewed?: readonly RenewedUser[] | undefined;
}

export interface RenewedUser {
  readonly user: string;
  readonly times: number;
}

/** Questions to the hub. */
export interface LoginQuestions {
  /** Generates the key if there is none, and resolves once all processes have it. */
  beginLogins: { readonly ask: null; readonly answer: null };
  endLogin: { readonly ask: EndedLogin; readonly answer: null };
}

export const NO_LOGINS: LoginState = { key: '', ended: [] };
/** Limit on remembered ended logins of a user. One more ends all logins of the user. */
export const MAX_ENDED_OF_USER = 100;
/** Limit on users in `renewed`, removed ones included. One more ends the logins of all users, by a new key. */
export const MAX_RENEWED = 1000;

const KEY_BYTES = 32;

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
