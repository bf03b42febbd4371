/**
 * How a route of the admin interface is registered: who may, before anything of a body is read; the line that every act leaves in the log, done or
 * refused
 * (who, from where, what, what became of it); and 405 for methods that its path does not take. Who may not is logged by access.ts, at the pace of all
 * refusals.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../../base/log.js';
import { Refusal } from '../../base/refusal.js';
import { auditDone, auditRefused } from '../audit.js';
import { refuseOthers } from '../methods.js';
import { ADMIN_ROLE, type AdminAccess, type AdminUser, type NeededRight } from './access.js';

const BODY_BYTES = 65_536;
const JSON_HEADERS = { 'Content-Type': 'application/json; charset=utf-8' };

/** What an act did, for the log, and the answer: null is 204. */
export interface Done {
  /** Without secrets. */
  readonly what: Readonly<Record<string, unknown>>;
  readonly answer?: unknown;
  readonly status?: number;
}

export interface Act {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly right: NeededRight;
  /** In the log. */
  readonly act: string;
}

export class AdminRoutes {
  readonly #app: FastifyInstance;
  readonly #access: AdminAccess;
  readonly #log: Log;
  readonly #users = new WeakMap<FastifyRequest, AdminUser>();
  /** By path. */
  readonly #methods = new Map<string, string[]>();

  constructor(app: FastifyInstance, access: AdminAccess, log: Log) {
    this.#app = app;
    this.#access = access;
    this.#log = log;
  }

  /** The user that was let in. */
  userOf(request: FastifyRequest): AdminUser {
    return this.#users.get(request)!;
  }

  /** @param answer JSON, or undefined where it answers by itself */
  read(url: string, answer: (request: FastifyRequest, reply: FastifyReply) => unknown): void {
    this.#take(url, ['GET', 'HEAD']);
    this.#app.route({
      method: ['GET', 'HEAD'],
      url,
      config: ADMIN_ROLE,
      preParsing: async (request, reply) => this.#let(request, reply, 'read', null),
      handler: async (request, reply) => {
        const body = await answer(request, reply);
        if (body !== undefined) await reply.headers(JSON_HEADERS).send(JSON.stringify(body));
        return reply;
      },
    });
  }

  act({ method, url, right, act }: Act, perform: (request: FastifyRequest, user: AdminUser) => Promise<Done>): void {
    this.#take(url, [method]);
    this.#app.route({
      method,
      url,
      config: ADMIN_ROLE,
      bodyLimit: BODY_BYTES,
      preParsing: async (request, reply) => this.#let(request, reply, right, act),
      handler: async (request, reply) => {
        const user = this.userOf(request);
        const { what, answer, status } = await this.audited(user, act, request.params as object, () =>
          perform(request, user),
        );
        if (answer === undefined) return reply.code(status ?? 204).send();
        return reply
          .code(status ?? 200)
          .headers(JSON_HEADERS)
          .send(JSON.stringify(answer ?? what));
      },
    });
  }

  /** Performs it, and logs it. @param asked is logged where it is refused */
  async audited(user: AdminUser, act: string, asked: object, perform: () => Promise<Done>): Promise<Done> {
    try {
      const done = await perform();
      auditDone(this.#log, user, act, done.what);
      return done;
    } catch (error) {
      const why = error instanceof Refusal ? { outcome: error.kind, why: error.message } : { outcome: 'internal' };
      auditRefused(this.#log, user, act, asked, why);
      throw error;
    }
  }

  /** Behind the last one: other methods are refused. */
  finish(): void {
    for (const [url, methods] of this.#methods) {
      refuseOthers(this.#app, url, methods.join(', '), 'This path takes other methods.', ADMIN_ROLE);
    }
  }

  async #let(request: FastifyRequest, reply: FastifyReply, right: NeededRight, act: string | null): Promise<undefined> {
    this.#users.set(request, await this.#access.require(request, reply, right, act));
  }

  #take(url: string, methods: readonly string[]): void {
    this.#methods.set(url, [...(this.#methods.get(url) ?? []), ...methods]);
  }
}
