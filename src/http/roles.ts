/**
 * What an address serves, and to whom. An address without a list of roles serves all but `legacy`, and there `ops` is for
 * this machine only: loopback peers that come directly, not through a proxy (contract, "Addresses").
 */

import type { IncomingMessage } from 'node:http';
import type { Role } from '../config/schema.js';

export class Roles {
  readonly #named: ReadonlySet<Role> | null;

  /** @param named the configured list, or undefined */
  constructor(named: readonly Role[] | undefined) {
    this.#named = named === undefined ? null : new Set(named);
  }

  has(role: Role): boolean {
    return this.#named === null || this.#named.has(role);
  }

  /** Whether this request may be served in this role. */
  allows(role: Role, request: IncomingMessage): boolean {
    if (this.#named !== null) return this.#named.has(role);
    return role !== 'ops' || isDirectLoopback(request);
  }
}

function isDirectLoopback(request: IncomingMessage): boolean {
  if (request.headers['x-forwarded-for'] !== undefined || request.headers['forwarded'] !== undefined) return false;
  const peer = request.socket.remoteAddress ?? '';
  return peer === '::1' || peer.startsWith('127.') || peer.startsWith('::ffff:127.');
}
