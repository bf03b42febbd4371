/**
 * The HTTP side of every address. Mounts and reads, the hot paths, are answered by services; everything else goes through fastify.
 *
 *   front ─► http.Server ─┬─ the services (http-service.ts): mounts, records, encoders' titles       upgrade ─► WebSockets
 *                         └─ anything else ─► fastify: push, ops, the page
 */

import http from 'node:http';
import type { Socket } from 'node:net';
import fastify, { type FastifyError, type FastifyInstance } from 'fastify';
import { Refusal } from '../base/refusal.js';
import { originForm, pathOf } from '../base/request-target.js';
import type { Watchdog } from '../base/watchdog.js';
import type { LoadedConfig } from '../config/load.js';
import type { Connections } from '../net/front/connections.js';
import { adminElsewhere } from './admin-elsewhere.js';
import { ALL_METHODS } from './allow.js';
import type { HttpService, UpgradeService } from './http-service.js';
import { responseWith } from './legacy.js';
import { APP_OPTIONS } from './methods.js';
import { Pipeline } from './pipeline.js';
import {
  answerBroken,
  blocked,
  brokenHead,
  endWithProblem,
  fastifyRefusal,
  MAX_HEADERS,
  notServed,
  refusalAnswer,
  sendProblem,
  tooManyConnections,
} from './problem.js';
import type { Roles } from './roles.js';
import { continueWithout, wantsWebSocket } from './upgrade-offer.js';

/** A connection that waits for its next request is closed after this time. */
const KEEP_ALIVE_MS = 65_000;
/** How often Node checks for heads and requests that take too long. */
const SWEEP_MS = 2_000;
/** A connection without traffic, such as one whose answer is not read, is closed after this time. */
const IDLE_MS = 120_000;

const OPERATORS: ReadonlySet<string> = new Set(['/metrics', '/healthz', '/readyz']);

export interface RouterParts {
  readonly connections: Connections;
  readonly services: readonly HttpService[];
  readonly upgrades: readonly UpgradeService[];
  readonly watchdog: Watchdog;
  /** Whether an operator has blocked the client of this request, behind trusted proxies too. */
  isBlocked?(request: http.IncomingMessage): boolean;
  readonly headBytes: number;
  /** The limits in force. */
  readonly limits: Pick<LoadedConfig['limits'], 'headSeconds' | 'requestSeconds' | 'answerSeconds'>;
  /** Called if nothing is served at this path, or not at this address. */
  onNotFound?(request: http.IncomingMessage, reason: string): void;
  onError(error: unknown): void;
}

/** Paths of the operator page. */
const OPERATOR_PAGE = new Set(['/admin', '/admin/']);
const NOTHING = 'Nothing is served at this address.';
const NO_QUERY: Readonly<Record<string, unknown>> = {};

export class Router {
  /** Routes are registered here; `ready()` makes it ready. */
  readonly app: FastifyInstance;
  readonly #parts: RouterParts;
  readonly #servers = new Map<http.Server, { connections: number; isRetired: boolean }>();
  readonly #pipelines = new WeakMap<Socket, Pipeline>();
  /** The pipelines of open connections. */
  readonly #open = new Set<Pipeline>();
  /** The roles of the address at which a request arrived, for requests that fastify answers. */
  readonly #roles = new WeakMap<http.IncomingMessage, Roles>();
  #isLeaving = false;

  constructor(parts: RouterParts) {
    this.#parts = parts;
    this.app = fastify({
      ...APP_OPTIONS,
      // An overlong key or token is a wrong one (fastify would answer 414). Queries are parsed when they are needed (base/request-target.ts).
      routerOptions: { maxParamLength: parts.headBytes, querystringParser: () => NO_QUERY },
      frameworkErrors: (error, _request, reply) => {
        // Before routing: a path that cannot be decoded. fastify's text repeats the path, and a path may hold a token.
        reply.hijack();
        const broken = new Refusal('bad-request', 'The path of the URL has an invalid percent-encoding.');
        sendProblem(reply.raw, error.code === 'FST_ERR_BAD_URL' ? broken : fastifyRefusal(error, parts.onError));
      },
    });
    // Checks the route, not the path: `/%6detrics` and `/metrics#` lead to /metrics too. A callback: a promise would cost a tenth of a push.
    this.app.addHook('onRequest', ({ raw, routeOptions }, _reply, done) => {
      const { role } = routeOptions.config;
      const roles = this.#roles.get(raw);
      if (role === undefined || roles?.allows(role, raw) === true) done();
      else if (roles === undefined || !OPERATOR_PAGE.has(routeOptions.url ?? '')) done(this.#notServed(raw));
      else done(this.notFound(raw, adminElsewhere(raw, roles)));
    });
    this.app.setErrorHandler((error: FastifyError, request, reply) => {
      const refusal = fastifyRefusal(error, parts.onError);
      const { body, headers } = refusalAnswer(refusal, request.headers);
      return reply
        .code(refusal.status)
        .headers({ ...headers, ...refusal.headers })
        .send(body);
    });
    this.app.setNotFoundHandler(({ raw }) => {
      throw this.notFound(raw);
    });
  }

  /** Closes each connection after its next answer, so that clients reconnect to another process. */
  leave(): void {
    this.#isLeaving = true;
  }

  /** An HTTP server for one address. It never listens: the front passes connections to it. */
  server(roles: Roles): http.Server {
    const server = http.createServer({
      ServerResponse: responseWith(roles.headers),
      maxHeaderSize: this.#parts.headBytes,
      ...this.#timeouts,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: SWEEP_MS,
      // Otherwise Node itself answers, bypassing the pipeline.
      requireHostHeader: false,
      // Node 24 and later call this, and ignore other offers themselves; for older versions continueWithout does.
      ...({ shouldUpgradeCallback: wantsWebSocket } as http.ServerOptions),
    });
    // Node drops further headers.
    server.maxHeadersCount = MAX_HEADERS;
    // Closes connections whose answer is not read; streams and WebSockets clear it on theirs.
    server.timeout = IDLE_MS;
    const use = { connections: 0, isRetired: false };
    server.on('connection', (socket: Socket) => {
      // The event is emitted again after each ignored upgrade offer (continueWithout).
      const before = this.#pipelines.get(socket);
      const pipeline = new Pipeline(socket, this.#parts.watchdog);
      this.#pipelines.set(socket, pipeline);
      this.#open.add(pipeline);
      if (before !== undefined) this.#open.delete(before);
      else {
        use.connections++;
        socket.once('close', () => {
          use.connections--;
          this.#open.delete(this.#pipelines.get(socket)!);
        });
      }
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
      // Only the body of a POST is read; an encoder at the wrong address must not get a 100.
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

  /** The server's address was removed, or has a new server: a later reload closes it, once it has no connections. */
  retire(server: http.Server): void {
    this.#servers.get(server)!.isRetired = true;
  }

  /** Applies changed time limits, and closes retired servers without connections. */
  refresh(): void {
    for (const [server, { connections, isRetired }] of this.#servers) {
      if (isRetired && connections === 0) {
        server.close(); // until then it checks the time limits of its connections
        this.#servers.delete(server);
        continue;
      }
      Object.assign(server, this.#timeouts);
    }
  }

  /** Called once a second: closes connections whose answers are not read in time. */
  tidy(nowMs: number): void {
    const answerMs = this.#parts.limits.answerSeconds * 1000;
    for (const pipeline of this.#open) pipeline.tidy(nowMs, answerMs);
  }

  /** Node requires that requestTimeout is not less than headersTimeout. */
  get #timeouts() {
    const { headSeconds, requestSeconds } = this.#parts.limits;
    return { headersTimeout: headSeconds * 1000, requestTimeout: Math.max(requestSeconds, headSeconds) * 1000 };
  }

  async ready(): Promise<void> {
    await this.app.ready();
  }

  /** Closes idle connections; others close after the answers to their present requests. */
  async close(): Promise<void> {
    for (const server of this.#servers.keys()) {
      server.closeIdleConnections();
      server.keepAliveTimeout = 1;
    }
    await this.app.close();
  }

  /** Cuts the remaining connections, and stops the checks of their time limits. */
  terminate(): void {
    for (const server of this.#servers.keys()) {
      server.closeAllConnections();
      server.close();
    }
  }

  /** Whether the request may be answered: no answer is pending on its connection, its head is unambiguous, and its client is not blocked. */
  #begins(request: http.IncomingMessage, response: http.ServerResponse): boolean {
    if (!this.#pipelines.get(request.socket)!.begin(request, response)) return false;
    const refusal = brokenHead(request) ?? (this.#parts.isBlocked?.(request) === true ? blocked() : null);
    if (refusal !== null) sendProblem(response, refusal);
    return refusal === null;
  }

  /** Answers after the pending answer. A detached connection is destroyed without one. */
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
      // libshout starts with this, and would send its PUT on the same connection, where encoders are not served: it must reconnect.
      response.writeHead(204, { Allow: ALL_METHODS, Connection: 'close' }).end();
      return;
    }
    const path = pathOf(url);
    const services = this.#parts.services.filter((service) => service.takes(path));
    const { socket } = request;
    if (!this.#parts.connections.begin(socket, isReserved(path, services))) {
      sendProblem(response, tooManyConnections());
      return;
    }
    response.once('close', () => this.#parts.connections.end(socket));
    if (services.length === 0) {
      this.#roles.set(request, roles);
      this.app.routing(request, response);
      return;
    }
    const service = services.find(({ role }) => roles.allows(role, request));
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
    return this.notFound(request, notServed());
  }

  /** Reports the request, and returns the refusal. */
  notFound(request: http.IncomingMessage, refusal = new Refusal('not-found', NOTHING)): Refusal {
    this.#parts.onNotFound?.(request, refusal.message);
    return refusal;
  }
}

/** Whether it may use the reserve of connections: playout systems, encoders' titles, operators may. */
function isReserved(path: string, services: readonly HttpService[]): boolean {
  return (
    path.startsWith('/metapush/') ||
    path.startsWith('/admin') ||
    OPERATORS.has(path) ||
    services.some((service) => service.isReserved)
  );
}
