/**
 * What all processes share of logins to the operator page: the key by which their cookies are signed, and those that were ended before their time.
 * Pure. The key is made at the first login and kept in the store, so that logins outlive restarts.
 */

import { randomBytes } from 'node:crypto';

export interface EndedLogin {
  readonly id: string;
  /** When its cookie is invalid by itself, unix milliseconds. */
  readonly untilMs: number;
}

export interface LoginState {
  /** base64url; "": nobody has logged in yet. */
  readonly key: string;
  readonly ended: readonly EndedLogin[];
}

/** To the hub. */
export interface LoginQuestions {
  /** Makes the key where there is none: all processes have it then. */
  beginLogins: { readonly ask: null; readonly answer: null };
  endLogin: { readonly ask: EndedLogin; readonly answer: null };
}

export const NO_LOGINS: LoginState = { key: '', ended: [] };
/** Ended logins that are remembered. With one more, all logins end: a new key. */
export const MAX_ENDED = 1000;

const KEY_BYTES = 32;

/** In what processes share. */
export function changed(make: (logins: LoginState) => LoginState) {
  return <S extends { readonly logins: LoginState }>(state: S): S => ({ ...state, logins: make(state.logins) });
}

export function withKey(state: LoginState): LoginState {
  return state.key === '' ? { key: newKey(), ended: [] } : state;
}

export function withEnded({ key, ended }: LoginState, login: EndedLogin): LoginState {
  const others = ended.filter(({ id }) => id !== login.id);
  return others.length >= MAX_ENDED ? { key: newKey(), ended: [] } : { key, ended: [...others, login] };
}

/** Without those that are invalid by themselves by now. */
export function currentLogins({ key, ended }: LoginState, nowMs: number): LoginState {
  return { key, ended: ended.filter(({ untilMs }) => untilMs > nowMs) };
}

function newKey(): string {
  return randomBytes(KEY_BYTES).toString('base64url');
}
