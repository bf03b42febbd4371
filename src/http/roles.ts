/**
 * The roles that an address serves, and to whom. An address without a list of roles serves all but `legacy`, and `ops` and `admin` only to this
 * machine: to loopback peers with a loopback Host and without any header of a proxy (src/http/README.md, "Addresses and roles"). A local proxy that
 * adds no header looks like such a peer: behind one, an address must name its roles. `legacy` serves what the old host served, and its old
 * WebSocket, but neither encoders nor ops nor admin unless the list names them. The pages, the documents, /healthz and /readyz have no role: all
 * addresses serve them.
 */

import type { IncomingMessage } from 'node:http';
import { isLoopback } from '../base/ip.js';
import type { Role } from '../config/addresses/addresses-config.js';
import { type AddressHeaders, NO_HEADERS } from './legacy.js';

/** Served to this machine only, unless the address names them. */
const OPERATORS: readonly Role[] = ['ops', 'admin'];
const OLD_HOST: readonly Role[] = ['push', 'poll', 'watch', 'stream'];

export class Roles {
  readonly #named: ReadonlySet<Role> | null;
  /** Headers in every answer of the address; not empty if it is deprecated. */
  readonly headers: AddressHeaders;
  readonly #isProxied: boolean;

  /**
   * @param named the configured list, or undefined
   * @param isProxied whether a proxy forwards these connections: then a loopback peer is not this machine itself
   */
  constructor(named: readonly Role[] | undefined, headers: AddressHeaders = NO_HEADERS, isProxied = false) {
    this.headers = headers;
    this.#isProxied = isProxied;
    this.#named = named === undefined ? null : new Set(named.includes('legacy') ? [...named, ...OLD_HOST] : named);
  }

  has(role: Role): boolean {
    return this.#named === null ? role !== 'legacy' : this.#named.has(role);
  }

  /** Whether it serves operators on this machine, because no roles are named. */
  get servesThisMachine(): boolean {
    return this.#named === null && !this.#isProxied;
  }

  /** Whether this request may be served under this role. */
  allows(role: Role, request: IncomingMessage): boolean {
    if (this.#named !== null || !OPERATORS.includes(role)) return this.has(role);
    return !this.#isProxied && isDirectLoopback(request);
  }
}

/** Headers that proxies add: RFC 9110 (Via), RFC 7239 (Forwarded), and those in common use. */
const PROXY_HEADERS =
  /^(via|forwarded|x-forwarded-.*|x-real-ip|x-client-ip|x-cluster-client-ip|cf-connecting-ip|true-client-ip)$/;

/**
 * Hosts that can only mean this machine. Any other name may be one that an attacker has pointed at 127.0.0.1 (DNS rebinding), so that a page in a
 * local browser could read the answers. Absent: HTTP/1.0, which no browser speaks.
 */
const LOOPBACK_HOST = /^((.+\.)?localhost\.?|127(\.\d{1,3}){3}|\[::1\])(:\d*)?$/i;

function isDirectLoopback(request: IncomingMessage): boolean {
  const { host } = request.headers;
  if (host !== undefined && !LOOPBACK_HOST.test(host)) return false;
  if (Object.keys(request.headers).some((name) => PROXY_HEADERS.test(name))) return false;
  return isLoopback(request.socket.remoteAddress ?? '');
}
