/**
 * Logins to the operator page: a cookie with the user, an expiry time and an id, signed with the key that all processes share and the digest of the
 * user's password. None is stored here. One ends at its expiry time, by logging out, and with the user or the password.
 *
 *   airsplice-admin = base64url(user) . untilMs . id . HMAC-SHA256(key, user, untilMs, id, digest of the password, times renewed)
 */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { type LoginState, NO_LOGINS, timesRenewed } from '../../admin/logins.js';
import type { Clock } from '../../base/clock.js';
import type { AdminUsers } from '../../config/admin-config.js';

export interface OperatorLogin {
  readonly user: string;
  readonly id: string;
  /** Unix milliseconds. */
  readonly untilMs: number;
  /** How often all logins of the user had been ended before it began. */
  readonly times: number;
}

/** The present configuration. */
export interface LoginConfig {
  readonly admin: { readonly users: AdminUsers; readonly loginHours: number };
}

export const LOGIN_COOKIE = 'airsplice-admin';
const HOUR_MS = 3_600_000;
const ID_BYTES = 16;
const MAX_COOKIES = 100;
const FORM = /^([\w-]{1,88})\.(\d{1,15})\.([\w-]{22})\.([\w-]{43})$/;

export class AdminLogins {
  readonly #config: LoginConfig;
  readonly #clock: Pick<Clock, 'wallMs'>;
  #state = NO_LOGINS;
  #ended: ReadonlySet<string> = new Set();

  constructor(config: LoginConfig, clock: Pick<Clock, 'wallMs'>) {
    this.#config = config;
    this.#clock = clock;
  }

  /** The longest life of a login. */
  get #lifeMs(): number {
    return this.#config.admin.loginHours * HOUR_MS;
  }

  /** Whether there is a key, so that a login can begin. */
  get isReady(): boolean {
    return this.#state.key !== '';
  }

  set(state: LoginState): void {
    this.#state = state;
    this.#ended = new Set(state.ended.map(({ id }) => id));
  }

  /** The value of the cookie, and how long it is valid; null: the user has no password (any more), or there is no key. */
  begin(user: string): { readonly value: string; readonly seconds: number } | null {
    const lifeMs = this.#lifeMs;
    const id = randomBytes(ID_BYTES).toString('base64url');
    const login = { user, id, untilMs: this.#clock.wallMs() + lifeMs, times: timesRenewed(this.#state, user) };
    const mac = this.#mac(login);
    if (mac === null) return null;
    const value = [Buffer.from(user).toString('base64url'), login.untilMs, id, mac.toString('base64url')].join('.');
    return { value, seconds: Math.round(lifeMs / 1000) };
  }

  /** The first valid login in a request's cookies; null: none. There may be several, since other servers of this host set theirs too. */
  of(cookies: string | undefined): OperatorLogin | null {
    for (const cookie of (cookies ?? '').split(';', MAX_COOKIES)) {
      const at = cookie.indexOf('=');
      if (at === -1 || cookie.slice(0, at).trim() !== LOGIN_COOKIE) continue;
      const login = this.#read(cookie.slice(at + 1).trim());
      if (login !== null) return login;
    }
    return null;
  }

  /** Whether the login has neither expired nor been ended. */
  isValid({ id, user, untilMs, times }: OperatorLogin): boolean {
    const leftMs = untilMs - this.#clock.wallMs();
    const isEnded = this.#ended.has(id) || times !== timesRenewed(this.#state, user);
    return leftMs > 0 && leftMs <= this.#lifeMs && !isEnded;
  }

  #read(value: string): OperatorLogin | null {
    const [, name, until, id, mac] = FORM.exec(value) ?? [];
    if (name === undefined) return null;
    const user = Buffer.from(name, 'base64url').toString();
    const login = { user, id: id!, untilMs: Number(until), times: timesRenewed(this.#state, user) };
    const expected = this.#mac(login);
    if (expected === null) return null;
    const given = Buffer.from(mac!, 'base64url');
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
    return this.isValid(login) ? login : null;
  }

  /** Null: there is no key, or no such user with a password. */
  #mac({ user, id, untilMs, times }: OperatorLogin): Buffer | null {
    const users = this.#config.admin.users;
    const password = Object.hasOwn(users, user) ? users[user]!.password : undefined;
    if (password === undefined || this.#state.key === '') return null;
    const hmac = createHmac('sha256', Buffer.from(this.#state.key, 'base64url'));
    const signed = ['login', user, untilMs, id, password.sha256.toString('hex'), ...(times > 0 ? [times] : [])];
    return hmac.update(JSON.stringify(signed)).digest();
  }
}
