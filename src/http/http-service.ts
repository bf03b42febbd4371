/**
 * The services to which the router (router.ts) passes requests: protocols that answer their paths without fastify, each in a folder of its own.
 * app/ makes the list. The first service that has the path, and whose role the address has, answers.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Role } from '../config/addresses/addresses-config.js';
import type { AddressHeaders } from './legacy.js';
import type { Pipeline } from './pipeline.js';
import type { Roles } from './roles.js';

/** A request whose head Node's HTTP server has parsed, with its connection. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** That of its connection; used by endless answers, and by those that detach the connection. */
  readonly pipeline: Pipeline;
  /** Those of the address; answers that bypass `response` must add their headers. */
  readonly roles: Roles;
}

export interface HttpService {
  /** Only addresses with this role serve it. */
  readonly role: Role;
  /** Whether its clients may use the reserve of connections. */
  readonly isReserved?: boolean;
  /** @param path without the query */
  takes(path: string): boolean;
  /** Answers every request for its paths. */
  handle(exchange: Exchange): void;
}

export interface UpgradeService {
  readonly role: Role;
  /** @param path without the query */
  takes(path: string): boolean;
  /** Accepts an upgrade to WebSocket, or answers with a problem. @param first bytes after the head @param headers to add to every answer */
  upgrade(request: IncomingMessage, socket: Socket, first: Buffer, headers: AddressHeaders): void;
}
