/**
 * Registers routes of the admin interface: checks the right before a body is read, logs every act, done or refused (who, from where, what, outcome),
 * and answers 405 to other methods of a path. Requests without the right are logged by admin-access.ts, at the limited rate of all refusals.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type * as z from 'zod';
import type { Log } from '../../base/log.js';
import { Refusal } from '../../base/refusal.js';
import { type ActShape, actDocs, type OperationTexts, type ReadShape, readDocs } from '../../docs/admin-docs.js';
import { auditDone, auditRefused } from '../audit.js';
import { described, refuseOthers } from '../methods.js';
import { JSON_TYPE } from '../reads.js';
import { ADMIN_ROLE, type AdminAccess, type AdminUser, type NeededRight } from './admin-access.js';
import { bodyOf, parametersOf } from './bodies.js';

const BODY_BYTES = 65_536;
const JSON_HEADERS = { 'Content-Type': JSON_TYPE };

/** The result of an act. */
export interface Done {
  /** Details for the log, without secrets. */
  readonly what: Readonly<Record<string, unknown>>;
  /** Absent: 204. */
  readonly answer?: unknown;
}

export interface AdminRead<Query extends z.ZodType> extends ReadShape<Query> {
  readonly url: string;
}

export interface Act<Body extends z.ZodType> extends ActShape<Body> {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly right: NeededRight;
  /** Its name in the log. */
  readonly act: string;
}

export class AdminRoutes {
  readonly #app: FastifyInstance;
  readonly #access: AdminAccess;
  readonly #log: Log;
  readonly #users = new WeakMap<FastifyRequest, AdminUser>();
  /** Path → its methods. */
  readonly #methods = new Map<string, string[]>();

  constructor(app: FastifyInstance, access: AdminAccess, log: Log) {
    this.#app = app;
    this.#access = access;
    this.#log = log;
  }

  /** The authenticated user. */
  userOf(request: FastifyRequest): AdminUser {
    return this.#users.get(request)!;
  }

  /** @param answer returns the value to send as JSON, or undefined if it has sent the answer itself */
  read<Query extends z.ZodType>(
    read: AdminRead<Query>,
    texts: OperationTexts,
    answer: (request: FastifyRequest, query: z.output<Query>, reply: FastifyReply) => unknown,
  ): void {
    const { url, query } = read;
    this.#addMethods(url, ['GET', 'HEAD']);
    this.#app.route({
      method: ['GET', 'HEAD'],
      url,
      config: described(readDocs(read, texts), ADMIN_ROLE),
      preParsing: async (request, reply) => this.#authorize(request, reply, 'read', null),
      handler: async (request, reply) => {
        const body = await answer(request, (query && parametersOf(query, request)) as z.output<Query>, reply);
        if (body !== undefined) await reply.headers(JSON_HEADERS).send(JSON.stringify(body));
        return reply;
      },
    });
  }

  /** @param perform gets a function that reads the body, since an unknown channel is refused before a bad body */
  act<Body extends z.ZodType>(
    route: Act<Body>,
    texts: OperationTexts,
    perform: (request: FastifyRequest, user: AdminUser, body: () => z.output<Body>) => Promise<Done>,
  ): void {
    const { method, url, right, act, body, created } = route;
    this.#addMethods(url, [method]);
    this.#app.route({
      method,
      url,
      config: described(actDocs(route, texts), ADMIN_ROLE),
      bodyLimit: BODY_BYTES,
      preParsing: async (request, reply) => this.#authorize(request, reply, right, act),
      handler: async (request, reply) => {
        const user = this.userOf(request);
        const { what, answer } = await this.audited(user, act, request.params as object, () =>
          perform(request, user, () => bodyOf(body!, request)),
        );
        if (answer === undefined) return reply.code(204).send();
        return reply
          .code(created === undefined ? 200 : 201)
          .headers(JSON_HEADERS)
          .send(JSON.stringify(answer ?? what));
      },
    });
  }

  /** Performs an act and logs it. @param asked logged if the act is refused */
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

  /** Called after all routes are registered: refuses all other methods. */
  finish(): void {
    for (const [url, methods] of this.#methods) {
      refuseOthers(this.#app, url, methods.join(', '), 'This path does not support this method.', ADMIN_ROLE);
    }
  }

  async #authorize(
    request: FastifyRequest,
    reply: FastifyReply,
    right: NeededRight,
    act: string | null,
  ): Promise<undefined> {
    this.#users.set(request, await this.#access.require(request, reply, right, act));
  }

  #addMethods(url: string, methods: readonly string[]): void {
    this.#methods.set(url, [...(this.#methods.get(url) ?? []), ...methods]);
  }
}
