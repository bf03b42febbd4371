/**
 * What the router (router.ts) hands requests to: the protocols that answer their own paths themselves, each in a folder of its own.
 * They are made and listed where the server is put together; the first in the list that takes a path and is served at the address
 * answers.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Role } from '../config/schema.js';
import type { AddressHeaders } from './legacy.js';
import type { Pipeline } from './pipeline.js';
import type { Roles } from './roles.js';

/** A request that Node's HTTP server has read, and what it came on. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Of its connection; to be called where an answer has no end, or takes the connection away. */
  readonly pipeline: Pipeline;
  /** Of the address; what is written past `response` must have its headers. */
  readonly roles: Roles;
}

export interface HttpService {
  /** An address serves it only in this role. */
  readonly role: Role;
  /** Its clients may use the connections that are kept for encoders and operators. */
  readonly isReserved?: boolean;
  /** @param path without the query */
  takes(path: string): boolean;
  /** Answers any request for a path that it takes. */
  handle(exchange: Exchange): void;
}

export interface UpgradeService {
  readonly role: Role;
  /** @param path without the query */
  takes(path: string): boolean;
  /** Takes an upgrade to WebSocket, or answers it with a problem. @param headers of the address, in every answer */
  upgrade(request: IncomingMessage, socket: Socket, first: Buffer, headers: AddressHeaders): void;
}
