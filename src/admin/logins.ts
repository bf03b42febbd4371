/**
 * What all processes share of logins to the operator page: the key by which their cookies are signed, and those that were ended before their time.
 * Pure. The key is made at the first login and kept in the store, so that logins outlive restarts.
 */

import { randomBytes } from 'node:crypto';

export interface EndedLogin {
  readonly id: string;
  /** Absent: ended by an older version. */
  readonly user?: string | undefined;
  /** When its cookie is invalid by itself, unix milliseconds. */
  readonly untilMs: number;
}

export interface LoginState {
  /** base64url; "": nobody has logged in yet. */
  readonly key: string;
  readonly ended: readonly EndedLogin[];
  /** Users all of whose logins were ended, and how often; absent: none. */
  readonly renewed?: readonly RenewedUser[] | undefined;
}

export interface RenewedUser {
  readonly user: string;
  readonly times: number;
}

/** To the hub. */
export interface LoginQuestions {
  /** Makes the key where there is none: all processes have it then. */
  beginLogins: { readonly ask: null; readonly answer: null };
  endLogin: { readonly ask: EndedLogin; readonly answer: null };
}

export const NO_LOGINS: LoginState = { key: '', ended: [] };
/** Ended logins of a user that are remembered. With one more, all of the user's logins end. */
export const MAX_ENDED_OF_USER = 100;
/** Users whose logins were all ended, also those who are gone. With one more, everybody's end: a new key. */
export const MAX_RENEWED = 1000;

const KEY_BYTES = 32;

/** In what processes share. */
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
  // An older version did not say whose login it was.
  if (user === undefined || renewed.length >= MAX_RENEWED) return { key: newKey(), ended: [] };
  return { ...state, ended: rest, renewed: [...renewed, { user, times: timesRenewed(state, user) + 1 }] };
}

/** How often all logins of a user were ended. */
export function timesRenewed({ renewed = [] }: LoginState, user: string): number {
  return renewed.find((other) => other.user === user)?.times ?? 0;
}

/** Without those that are invalid by themselves by now. */
export function currentLogins(state: LoginState, nowMs: number): LoginState {
  return { ...state, ended: state.ended.filter(({ untilMs }) => untilMs > nowMs) };
}

function newKey(): string {
  return randomBytes(KEY_BYTES).toString('base64url');
}
