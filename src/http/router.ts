/**
 * The HTTP side of every address. Mounts and reads are answered on the spot (the hot paths), everything else goes through fastify.
 *
 *   front ─► http.Server ─┬─ the services (service.ts): mounts, records, encoders' titles       upgrade ─► WebSockets
 *                         └─ anything else ─► fastify: push, ops, the page
 */

import http from 'node:http';
import type { Socket } from 'node:net';
import fastify, { type FastifyError, type FastifyInstance } from 'fastify';
import { Refusal } from '../base/refusal.js';
import { pathOf, pushTarget } from '../base/request-target.js';
import type { Watchdog } from '../base/watchdog.js';
import type { Connections } from '../net/front/connections.js';
import { ALL_METHODS } from './allow.js';
import { responseWith } from './legacy.js';
import { Pipeline } from './pipeline.js';
import {
  answerBroken,
  brokenHead,
  endWithProblem,
  fastifyRefusal,
  notServed,
  PROBLEM_TYPE,
  problemJson,
  sendProblem,
  tooManyConnections,
} from './problem.js';
import type { Roles } from './roles.js';
import type { HttpService, UpgradeService } from './service.js';
import { continueWithout, wantsWebSocket } from './upgrade-offer.js';

/** A connection that waits for its next request is closed after this time. */
const KEEP_ALIVE_MS = 65_000;
/** How often Node looks for heads and requests that take too long. */
const SWEEP_MS = 2_000;
/** A connection on which nothing moves, such as one whose answer is not read, is closed after this time. */
const IDLE_MS = 120_000;

/** Paths that are served where strangers have no room any more. */
const OPERATORS: ReadonlySet<string> = new Set(['/metrics', '/healthz', '/readyz']);

export interface RouterParts {
  readonly connections: Connections;
  readonly services: readonly HttpService[];
  readonly upgrades: readonly UpgradeService[];
  readonly watchdog: Watchdog;
  /** Whether an operator has blocked the client of this request, whom its proxy names. */
  isBlocked?(request: http.IncomingMessage): boolean;
  readonly headBytes: number;
  readonly headMs: number;
  /** For a whole request, its body too. */
  readonly requestMs: number;
  /** There is nothing at the address that it asks for, or not on this port. */
  onNotFound?(request: http.IncomingMessage, reason: string): void;
  onError(error: unknown): void;
}

const NO_QUERY: Readonly<Record<string, unknown>> = {};

export class Router {
  /** Where routes are registered; made ready by `ready()`. */
  readonly app: FastifyInstance;
  readonly #parts: RouterParts;
  readonly #servers = new Map<http.Server, { connections: number; isRetired: boolean }>();
  readonly #pipelines = new WeakMap<Socket, Pipeline>();
  /** The roles of the address at which a request came in, for fastify's part. */
  readonly #roles = new WeakMap<http.IncomingMessage, Roles>();
  #isLeaving = false;

  constructor(parts: RouterParts) {
    this.#parts = parts;
    this.app = fastify({
      logger: false,
      // As long as a head can be: what is too long for a key or a token is just a wrong one (fastify would answer 414).
      // Queries are read where they are needed (base/request-target.ts), not taken apart for every request.
      routerOptions: { maxParamLength: parts.headBytes, querystringParser: () => NO_QUERY },
      exposeHeadRoutes: false,
      // The engine itself refuses what comes while it closes, as a problem and with Retry-After.
      return503OnClosing: false,
      frameworkErrors: (error, _request, reply) => {
        // Before routing (a path that cannot be decoded): the bare response, as for everything outside fastify.
        reply.hijack();
        // Its own text repeats the path, and a path may hold a token.
        const broken = new Refusal('bad-request', 'The path of the address has a broken percent-encoding.');
        sendProblem(reply.raw, error.code === 'FST_ERR_BAD_URL' ? broken : fastifyRefusal(error, parts.onError));
      },
    });
    // By the route and not by the path: `/%6detrics` and `/metrics#` lead to /metrics too.
    // No promise: it costs a tenth of a push.
    this.app.addHook('onRequest', ({ raw, routeOptions }, _reply, done) => {
      const { role } = routeOptions.config;
      if (role !== undefined && this.#roles.get(raw)?.allows(role, raw) !== true) done(this.#notServed(raw));
      else done();
    });
    this.app.setErrorHandler((error: FastifyError, _request, reply) => {
      const refusal = fastifyRefusal(error, parts.onError);
      return reply
        .code(refusal.status)
        .headers({ 'Content-Type': PROBLEM_TYPE, 'Cache-Control': 'no-store', ...refusal.headers })
        .send(problemJson(refusal));
    });
    this.app.setNotFoundHandler(({ raw }) => {
      throw this.#notFound(raw, new Refusal('not-found', 'There is nothing at this address.'));
    });
  }

  /** Clients are to come again elsewhere: each connection ends with its next answer. */
  leave(): void {
    this.#isLeaving = true;
  }

  /** An HTTP server for one address; it never listens, the front hands it connections. */
  server(roles: Roles): http.Server {
    const server = http.createServer({
      ...(roles.has('legacy') && { ServerResponse: responseWith(roles.headers) }),
      maxHeaderSize: this.#parts.headBytes,
      headersTimeout: this.#parts.headMs,
      // Node demands that a request has no less time than its head.
      requestTimeout: Math.max(this.#parts.requestMs, this.#parts.headMs),
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: SWEEP_MS,
      // Node would answer past the pipeline.
      requireHostHeader: false,
      // Where Node asks (24 and later), it ignores other offers by itself, and no upgrade waits for a body (continueWithout).
      ...({ shouldUpgradeCallback: wantsWebSocket } as http.ServerOptions),
    });
    // An answer that is not read must not keep its connection; streams and WebSockets have taken theirs out by then.
    server.timeout = IDLE_MS;
    const use = { connections: 0, isRetired: false };
    server.on('connection', (socket: Socket) => {
      // It comes again after each upgrade that was offered and not taken.
      if (!this.#pipelines.has(socket)) {
        use.connections++;
        socket.once('close', () => use.connections--);
      }
      this.#pipelines.set(socket, new Pipeline(socket, this.#parts.watchdog));
    });
    server.on('request', (request, response) => {
      if (this.#isLeaving) response.shouldKeepAlive = false;
      if (this.#begins(request, response)) this.#request(request, response, roles);
    });
    server.on('upgrade', (request, socket, head) => {
      this.#pipelines.get(socket as Socket)!.release();
      const broken = brokenHead(request) ?? (this.#parts.isBlocked?.(request) === true ? blocked() : null);
      if (broken !== null) endWithProblem(socket as Socket, broken, roles.headers);
      else if (wantsWebSocket(request)) {
        this.#upgrade(request, socket as Socket, head, roles);
      } else continueWithout(server, request, socket as Socket, head);
    });
    server.on('checkContinue', (request, response) => {
      if (!this.#begins(request, response)) return;
      // Only a push has a body that is read; to an encoder at the wrong address a 100 would say that all is well.
      if (request.method === 'POST') response.writeContinue();
      this.#request(request, response, roles);
    });
    server.on('checkExpectation', (request, response) => {
      if (this.#begins(request, response)) response.writeHead(417, { 'Content-Length': 0 }).end();
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => this.#broken(error, socket as Socket, roles));
    this.#servers.set(server, use);
    return server;
  }

  /** Its address has gone, or has another server: it is closed at a later reload, once it has no connection. */
  retire(server: http.Server): void {
    this.#servers.get(server)!.isRetired = true;
  }

  /** Times are others from now on. */
  refresh(): void {
    for (const [server, { connections, isRetired }] of this.#servers) {
      if (isRetired && connections === 0) {
        // It checks the times of its connections until then.
        server.close();
        this.#servers.delete(server);
        continue;
      }
      server.headersTimeout = this.#parts.headMs;
      server.requestTimeout = Math.max(this.#parts.requestMs, this.#parts.headMs);
    }
  }

  ready(): Promise<void> {
    return Promise.resolve(this.app.ready()).then(() => undefined);
  }

  /** Idle connections are closed; requests under way finish and then close. */
  async close(): Promise<void> {
    for (const server of this.#servers.keys()) {
      server.closeIdleConnections();
      server.keepAliveTimeout = 1;
    }
    await this.app.close();
  }

  /** Cuts the connections that are left, and ends the checks of their times. */
  terminate(): void {
    for (const server of this.#servers.keys()) {
      server.closeAllConnections();
      server.close();
    }
  }

  /** Whether the request is to be answered by us: its connection owes nothing, and no proxy could read it in another way. */
  #begins(request: http.IncomingMessage, response: http.ServerResponse): boolean {
    if (!this.#pipelines.get(request.socket)!.begin(request, response)) return false;
    const refusal = brokenHead(request) ?? (this.#parts.isBlocked?.(request) === true ? blocked() : null);
    if (refusal !== null) sendProblem(response, refusal);
    return refusal === null;
  }

  /** Answered after the answer that is owed; what was given away to a listener is not answered here. */
  #broken(error: NodeJS.ErrnoException, socket: Socket, roles: Roles): void {
    const pipeline = this.#pipelines.get(socket)!;
    const answer = () => answerBroken(error, socket, roles.headers);
    if (pipeline.isOver) socket.destroy();
    else if (error.code?.startsWith('HPE_') || error.code === 'ERR_HTTP_REQUEST_TIMEOUT') pipeline.finish(answer);
    else answer();
  }

  #request(request: http.IncomingMessage, response: http.ServerResponse, roles: Roles): void {
    const url = originForm(request);
    if (url === '*' && request.method === 'OPTIONS') {
      // libshout begins so, and would send its PUT on the same connection, where no encoder's body is taken: it has to come anew.
      response.writeHead(204, { Allow: ALL_METHODS, Connection: 'close' }).end();
      return;
    }
    const path = pathOf(url);
    const takers = this.#parts.services.filter((service) => service.takes(path));
    const { socket } = request;
    if (!this.#parts.connections.begin(socket, isReserved(path, takers))) {
      sendProblem(response, tooManyConnections());
      return;
    }
    response.once('close', () => this.#parts.connections.end(socket));
    if (takers.length === 0) {
      this.#roles.set(request, roles);
      this.app.routing(request, response);
      return;
    }
    const service = takers.find(({ role }) => roles.allows(role, request));
    const pipeline = this.#pipelines.get(socket)!;
    if (service === undefined) sendProblem(response, this.#notServed(request));
    else service.handle({ request, response, pipeline, roles });
  }

  #upgrade(request: http.IncomingMessage, socket: Socket, first: Buffer, roles: Roles): void {
    const path = pathOf(originForm(request));
    if (!this.#parts.connections.begin(socket)) {
      endWithProblem(socket, tooManyConnections(), roles.headers);
      return;
    }
    const service = this.#parts.upgrades.find((each) => each.takes(path) && roles.allows(each.role, request));
    if (service === undefined) endWithProblem(socket, this.#notServed(request), roles.headers);
    else service.upgrade(request, socket, first, roles.headers);
  }

  #notServed(request: http.IncomingMessage): Refusal {
    return this.#notFound(request, notServed());
  }

  #notFound(request: http.IncomingMessage, refusal: Refusal): Refusal {
    this.#parts.onNotFound?.(request, refusal.message);
    return refusal;
  }
}

function blocked(): Refusal {
  return new Refusal('not-allowed', 'This address is blocked for a time.', { headers: { Connection: 'close' } });
}

/** What the reserve of connections is for: playout systems, encoders' titles, operators. */
function isReserved(path: string, takers: readonly HttpService[]): boolean {
  return (
    path.startsWith('/metapush/') ||
    path.startsWith('/admin') ||
    OPERATORS.has(path) ||
    takers.some((service) => service.isReserved)
  );
}

/**
 * The request's address without the host, that of a push with single slashes. RFC 9112, 3.2.2: the absolute form must be understood, and its host
 * counts.
 */
function originForm(request: http.IncomingMessage): string {
  const absolute = /^https?:\/\/([^/?#]*)/i.exec(request.url!);
  if (absolute !== null) {
    request.headers.host = absolute[1]!;
    request.url = request.url!.slice(absolute[0].length) || '/';
  }
  request.url = pushTarget(request.url!);
  return request.url;
}
