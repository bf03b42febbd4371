/**
 * The HTTP side of every address. One request listener sends each request down its road: mounts and reads are answered on the spot
 * (the hot paths), everything else goes through fastify.
 *
 *   front ─► http.Server ─┬─ /{mount}      ─► stream.ts
 *                         ├─ /metadata/…   ─► poll.ts        upgrade ─► watch.ts
 *                         └─ anything else ─► fastify: push, ops, the page
 */

import http from 'node:http';
import type { Socket } from 'node:net';
import fastify, { type FastifyError, type FastifyInstance } from 'fastify';
import type { Role } from '../config/schema.js';
import { REFUSALS, Refusal, type RefusalKind } from '../refusal.js';
import type { Poll } from './poll.js';
import { asRefusal, PROBLEM_TYPE, problemJson, sendProblem } from './problem.js';
import type { Roles } from './roles.js';
import type { Mount, Stream } from './stream.js';
import type { Watch } from './watch.js';

/** Idle keep-alive connections and slow requests are closed by Node within these times. */
const KEEP_ALIVE_MS = 65_000;
const REQUEST_MS = 30_000;
const SWEEP_MS = 2_000;
/** Longer than any path of ours may be: a metaid of 128 and its address (fastify answers 414 past it). */
const MOST_PARAM = 256;

export interface RouterParts {
  readonly mounts: ReadonlyMap<string, Mount>;
  readonly stream: Stream;
  readonly poll: Poll;
  readonly watch: Watch;
  readonly headBytes: number;
  readonly headMs: number;
  report(error: unknown): void;
}

/** The role that a path outside mounts and reads belongs to; null: open to all. */
function roleOf(path: string): Role | null {
  if (path.startsWith('/metapush/')) return 'push';
  return path === '/metrics' ? 'ops' : null;
}

export class Router {
  /** Where routes are registered; made ready by `ready()`. */
  readonly app: FastifyInstance;
  readonly #parts: RouterParts;
  readonly #servers: http.Server[] = [];

  constructor(parts: RouterParts) {
    this.#parts = parts;
    this.app = fastify({
      logger: false,
      routerOptions: { maxParamLength: MOST_PARAM },
      exposeHeadRoutes: false,
      frameworkErrors: (error, _request, reply) => {
        // Before routing (a path that cannot be decoded): the bare response, as for everything outside fastify.
        reply.hijack();
        sendProblem(reply.raw, translate(error));
      },
    });
    this.app.setErrorHandler((error: FastifyError, _request, reply) => {
      const refusal = translate(error);
      if (refusal.kind === 'internal') this.#parts.report(error);
      return reply
        .code(refusal.status)
        .headers({ 'Content-Type': PROBLEM_TYPE, 'Cache-Control': 'no-store', ...refusal.headers })
        .send(problemJson(refusal));
    });
    this.app.setNotFoundHandler(() => {
      throw new Refusal('not-found', 'There is nothing at this address.');
    });
  }

  /** An HTTP server for one address; it never listens, the front hands it connections. */
  server(roles: Roles): http.Server {
    const server = http.createServer({
      maxHeaderSize: this.#parts.headBytes,
      headersTimeout: this.#parts.headMs,
      requestTimeout: REQUEST_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: SWEEP_MS,
    });
    server.on('request', (request, response) => this.#request(request, response, roles));
    server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket as Socket, head, roles));
    server.on('checkContinue', (request, response) => {
      response.writeContinue();
      this.#request(request, response, roles);
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => answerBroken(error, socket as Socket));
    this.#servers.push(server);
    return server;
  }

  ready(): Promise<void> {
    return Promise.resolve(this.app.ready()).then(() => undefined);
  }

  /** Idle connections are closed; requests under way finish and then close. */
  async close(): Promise<void> {
    for (const server of this.#servers) {
      server.closeIdleConnections();
      server.keepAliveTimeout = 1;
    }
    await this.app.close();
  }

  #request(request: http.IncomingMessage, response: http.ServerResponse, roles: Roles): void {
    const url = request.url!;
    const mark = url.indexOf('?');
    const path = mark < 0 ? url : url.slice(0, mark);
    if (path.startsWith('/metadata/')) {
      if (roles.allows('poll', request)) this.#parts.poll.handle(request, response);
      else sendProblem(response, notServed());
      return;
    }
    const mount = this.#parts.mounts.get(path);
    if (mount !== undefined) {
      if (roles.allows('stream', request)) this.#parts.stream.handle(request, response, mount);
      else sendProblem(response, notServed());
      return;
    }
    const role = roleOf(path);
    if (role !== null && !roles.allows(role, request)) sendProblem(response, notServed());
    else this.app.routing(request, response);
  }

  #upgrade(request: http.IncomingMessage, socket: Socket, head: Buffer, roles: Roles): void {
    if (roles.allows('watch', request)) this.#parts.watch.upgrade(request, socket, head);
    else answerBroken({ name: 'Error', message: '', code: 'NOT_SERVED' }, socket);
  }
}

function notServed(): Refusal {
  return new Refusal('not-found', 'This address does not serve that.');
}

/** fastify's own errors carry a status: they become the row of our table that has it. */
function translate(error: FastifyError | Error): Refusal {
  if (error instanceof Refusal) return error;
  const status = 'statusCode' in error ? error.statusCode : undefined;
  const kind = (Object.keys(REFUSALS) as RefusalKind[]).find((name) => REFUSALS[name].status === status);
  return kind === undefined || kind === 'internal' ? asRefusal(error) : new Refusal(kind, error.message);
}

/** What Node's parser refused: answered in kind where the connection can still be written to. */
function answerBroken(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const refusal =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Refusal('head-too-large', 'The request line and heads are too long.')
      : error.code === 'NOT_SERVED'
        ? notServed()
        : new Refusal('bad-request', 'This is not an HTTP request that can be read.');
  const body = problemJson(refusal);
  const head = `HTTP/1.1 ${refusal.status} ${REFUSALS[refusal.kind].title}\r\nConnection: close\r\n`;
  socket.end(`${head}Content-Type: ${PROBLEM_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}
