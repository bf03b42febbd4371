/**
 * What an address serves, and to whom. An address without a list of roles serves all but `legacy`, and there `ops` and `admin` are for
 * this machine only: loopback peers that ask for a loopback name and whose request has no trace of a proxy (src/http/README.md, "Addresses
 * and roles"). A proxy on this machine that leaves no trace looks like such a peer: behind one, an address names its roles. `legacy` serves what the
 * old host served, and its old WebSocket: not encoders, ops or admin, unless they are named too. The page, the documents, /healthz and /readyz have
 * no role: every address has them.
 */

import type { IncomingMessage } from 'node:http';
import { isLoopback } from '../base/ip.js';
import type { Role } from '../config/schema.js';
import { type AddressHeaders, NO_HEADERS } from './legacy.js';

/** For this machine only, where an address does not name them. */
const OPERATORS: readonly Role[] = ['ops', 'admin'];
const OLD_HOST: readonly Role[] = ['push', 'poll', 'watch', 'stream'];

export class Roles {
  readonly #named: ReadonlySet<Role> | null;
  /** What every answer of the address has among its headers: something where it is deprecated. */
  readonly headers: AddressHeaders;
  readonly #isProxied: boolean;

  /**
   * @param named the configured list, or undefined
   * @param isProxied whether a proxy names the clients of these connections: then no peer is known to be this machine's own
   */
  constructor(named: readonly Role[] | undefined, headers: AddressHeaders = NO_HEADERS, isProxied = false) {
    this.headers = headers;
    this.#isProxied = isProxied;
    this.#named = named === undefined ? null : new Set(named.includes('legacy') ? [...named, ...OLD_HOST] : named);
  }

  has(role: Role): boolean {
    return this.#named === null ? role !== 'legacy' : this.#named.has(role);
  }

  /** Whether this request may be served in this role. */
  allows(role: Role, request: IncomingMessage): boolean {
    if (this.#named !== null || !OPERATORS.includes(role)) return this.has(role);
    return !this.#isProxied && isDirectLoopback(request);
  }
}

/** Headers that proxies add: RFC 9110 (Via), RFC 7239 (Forwarded), and what is in use beside them. */
const PROXYS =
  /^(via|forwarded|x-forwarded-.*|x-real-ip|x-client-ip|x-cluster-client-ip|cf-connecting-ip|true-client-ip)$/;

/**
 * A host that only this machine itself has. Any other name may be one that a page has had pointed at 127.0.0.1, so that a browser
 * on this machine reads for it what is not meant for it. Absent: HTTP/1.0, which no browser speaks.
 */
const LOOPBACK_HOST = /^((.+\.)?localhost\.?|127(\.\d{1,3}){3}|\[::1\])(:\d*)?$/i;

function isDirectLoopback(request: IncomingMessage): boolean {
  const { host } = request.headers;
  if (host !== undefined && !LOOPBACK_HOST.test(host)) return false;
  if (Object.keys(request.headers).some((name) => PROXYS.test(name))) return false;
  return isLoopback(request.socket.remoteAddress ?? '');
}
