/**
 * Authentication and rights at `/admin`: checks a password (Basic) or a bearer token, limited by net/limits/secret-gate.ts, or the cookie of a login
 * (admin-logins.ts), and then the right. Every route calls `require` first. Invariants: no page of another origin can make a browser act with its
 * stored credentials (README.md, "Pages of others"); no answer can be framed, cached, or read from other origins.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { originOf } from '../../base/ip.js';
import { Refusal, tooManyGuesses } from '../../base/refusal.js';
import type { AdminUserConfig, AdminUsers, Right } from '../../config/admin-config.js';
import { secretMatches } from '../../config/secret.js';
import type { Proxies } from '../../net/front/client-address.js';
import { basicCredentials, bearerToken } from '../../net/front/request-head.js';
import { connectionId } from '../../net/front/tracked-connection.js';
import { type Judges, judgeRequest } from '../../net/limits/judge.js';
import { SECRET_REASONS } from '../../net/limits/secret-gate.js';
import type { RouteRole } from '../methods.js';
import { refuseForeign, refuseSimple } from '../origin.js';
import type { AdminLogins, OperatorLogin } from './admin-logins.js';

/** An authenticated user, for one request. */
export interface AdminUser {
  readonly name: string;
  readonly rights: readonly Right[];
  /** The client's. */
  readonly address: string;
  /** Its id. */
  readonly connection: string | undefined;
  /** Absent: the request has a password or token. */
  readonly login?: OperatorLogin | undefined;
}

export interface AdminRefused {
  /** The client's. */
  readonly address: string;
  readonly connection: string | undefined;
  /** One of a small, fixed set of reasons. */
  readonly reason: string;
  readonly status: number;
  /** The requested act; null: a read. */
  readonly act: string | null;
  /** The authenticated user; null: none. */
  readonly user: string | null;
  /** The reason for people. */
  readonly why: string;
}

/** One right, or several that are all needed. */
export type NeededRight = Right | readonly Right[];

export interface AdminGuards extends Judges {
  readonly proxies: Proxies;
  onRefused(refused: AdminRefused): void;
}

/** The role of all routes below /admin. */
export const ADMIN_ROLE: RouteRole = { role: 'admin' };

/** The headers of all answers below /admin. */
export const ADMIN_HEADERS: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

/** Reasons in the log, besides SECRET_REASONS. */
const FOREIGN = 'from another page';
const MISSING_RIGHT = 'missing right';

type AdminRequest = Pick<AdminRefused, 'address' | 'connection' | 'act'>;

const NOBODY: AdminUserConfig = { tokens: [], rights: [] };

export class AdminAccess {
  readonly #guards: AdminGuards;
  readonly #users: () => AdminUsers;
  readonly logins: AdminLogins;

  /** @param users those of the present configuration */
  constructor(guards: AdminGuards, users: () => AdminUsers, logins: AdminLogins) {
    this.#guards = guards;
    this.#users = users;
    this.logins = logins;
  }

  /**
   * Authenticates the user; sets ADMIN_HEADERS. Rejects with 401 (no or wrong credentials), 403 (not the right, or a page of another origin), 404 (no
   * users are configured), 429 (too many wrong secrets). @param act the requested act; null: a read
   */
  require(
    request: FastifyRequest,
    reply: FastifyReply,
    right: NeededRight,
    act: string | null = null,
  ): Promise<AdminUser> {
    return this.#require(request, reply, right, act, refuseSimple);
  }

  /** The same for Icecast's paths, whose acts may be GET or a form: for an act a browser must state this origin. */
  requireIcecast(
    request: FastifyRequest,
    reply: FastifyReply,
    right: Right,
    act: string | null = null,
  ): Promise<AdminUser> {
    return this.#require(request, reply, right, act, act === null ? refuseSimple : refuseForeign);
  }

  /**
   * The user with these credentials, on paths where encoders send theirs too (http/ingest/title-updates.ts), and why that user may not send titles.
   * Null: no user has them. Called within the secret gate; takes the same time for all.
   */
  titleSender(headers: IncomingHttpHeaders): { readonly name: string; readonly refusal: string | null } | null {
    const users = this.#users();
    const name = userOf(users, headers.authorization ?? '');
    if (name === null) return null;
    try {
      refuseForeign({ headers });
    } catch (error) {
      if (error instanceof Refusal) return { name, refusal: error.message };
      throw error;
    }
    return { name, refusal: missingRight(users[name]!, 'titles')?.message ?? null };
  }

  /**
   * Authenticates a user by the login form; needs the right `read`. Rejects as `require` does, but without WWW-Authenticate. The caller checks the
   * origin.
   */
  async logIn(request: FastifyRequest, reply: FastifyReply, user: string, password: string): Promise<AdminUser> {
    reply.headers(ADMIN_HEADERS);
    const users = this.#needUsers();
    const asked = this.#asked(request, 'log in');
    const name = await this.#judge(reply, asked, () => userWith(users, { user, password }), wrongForm);
    return this.#admitted(name, 'read', asked, wrongForm);
  }

  /** A text that differs after a change of the user's rights or secrets; null: an unknown user, one without the right `read`, or logged out. */
  standing({ name, login }: Pick<AdminUser, 'name' | 'login'>): string | null {
    if (login !== undefined && !this.logins.isValid(login)) return null;
    const user = this.#users()[name];
    if (user === undefined || missingRight(user, 'read') !== null) return null;
    const digests = [user.password, ...user.tokens].map((secret) => secret?.sha256.toString('hex') ?? '');
    return JSON.stringify([user.rights, digests]);
  }

  async #require(
    request: FastifyRequest,
    reply: FastifyReply,
    right: NeededRight,
    act: string | null,
    check: (request: FastifyRequest) => void,
  ): Promise<AdminUser> {
    reply.headers(ADMIN_HEADERS);
    const users = this.#needUsers();
    const asked = this.#asked(request, act);
    try {
      check(request);
    } catch (error) {
      this.#refused(asked, null, FOREIGN, error as Refusal);
      throw error;
    }
    const { authorization, cookie } = request.headers;
    const wrong = () => challenge(request, 'The user is unknown or the secret is wrong.');
    if (authorization === undefined) {
      const login = this.logins.of(cookie);
      if (login === null) throw challenge(request, 'Authenticate with a user and password, or a bearer token.');
      return { ...this.#admitted(login.user, right, asked, wrong), login };
    }
    const name = await this.#judge(reply, asked, () => userOf(users, authorization), wrong);
    return this.#admitted(name, right, asked, wrong);
  }

  /** Checks the right. The user may have been removed while the comparison waited for its turn. */
  #admitted(name: string, right: NeededRight, asked: AdminRequest, wrong: () => Refusal): AdminUser {
    const user = this.#users()[name];
    if (user === undefined) throw wrong();
    const refusal = missingRight(user, right);
    if (refusal !== null) {
      this.#refused(asked, name, MISSING_RIGHT, refusal);
      throw refusal;
    }
    return { name, rights: user.rights, address: asked.address, connection: asked.connection };
  }

  #needUsers(): AdminUsers {
    const users = this.#users();
    if (Object.keys(users).length > 0) return users;
    throw new Refusal('not-found', 'No users of the admin interface are configured.');
  }

  #asked({ raw }: FastifyRequest, act: string | null): AdminRequest {
    return { address: this.#guards.proxies.ofRequest(raw), connection: connectionId(raw.socket), act };
  }

  #refused(asked: AdminRequest, user: string | null, reason: string, { status, message: why }: Refusal): void {
    this.#guards.onRefused({ ...asked, user, reason, status, why });
  }

  /** Resolves with the name of the user; never settles if the connection ends meanwhile. @param find compares the secrets; null: no user */
  #judge(reply: FastifyReply, asked: AdminRequest, find: () => string | null, wrong: () => Refusal): Promise<string> {
    return new Promise((resolve, reject) => {
      let name: string | null = null;
      const compare = () => (name = find()) !== null;
      judgeRequest(this.#guards, originOf(asked.address), reply.raw, compare, ({ verdict, retrySeconds }) => {
        if (verdict === 'right') {
          resolve(name!);
          return;
        }
        const refusal =
          verdict === 'wrong' ? wrong() : tooManyGuesses('Too many wrong secrets from this address.', retrySeconds);
        this.#refused(asked, null, SECRET_REASONS[verdict], refusal);
        reject(refusal);
      });
    });
  }
}

export function wrongForm(): Refusal {
  return new Refusal('unauthorized', 'The user is unknown or the password is wrong.');
}

/** Null: the user has all needed rights. */
function missingRight({ rights }: AdminUserConfig, needed: NeededRight): Refusal | null {
  const missing = [needed].flat().find((right) => !rights.includes(right));
  return missing === undefined ? null : new Refusal('not-allowed', `This requires the right ${missing}.`);
}

/** The user with these credentials; null: none. Takes the same time for all. */
function userOf(users: AdminUsers, authorization: string): string | null {
  const token = bearerToken(authorization);
  if (token === '') return userWith(users, basicCredentials(authorization));
  let found: string | null = null;
  for (const [name, { tokens }] of Object.entries(users)) if (secretMatches(tokens, token)) found = name;
  return found;
}

function userWith(
  users: AdminUsers,
  given: { readonly user: string; readonly password: string } | null,
): string | null {
  const isKnown = given !== null && Object.hasOwn(users, given.user);
  const { password } = isKnown ? users[given.user]! : NOBODY;
  return secretMatches(password === undefined ? [] : [password], given?.password ?? '') ? given!.user : null;
}

/** With `X-Requested-With` no Basic: a page's script asks for the password itself, so the browser must not. */
function challenge({ headers }: FastifyRequest, detail: string): Refusal {
  const bearer = 'Bearer realm="airsplice admin"';
  const basic = 'Basic realm="airsplice admin", charset="UTF-8"';
  const isScript = headers['x-requested-with'] !== undefined;
  return new Refusal('unauthorized', detail, {
    headers: { 'WWW-Authenticate': isScript ? bearer : `${basic}, ${bearer}` },
  });
}
