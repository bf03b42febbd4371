/**
 * The deprecated host: what every HTTP answer of an address with the role legacy says beside its own headers, so that a client's
 * author finds the new host (src/http/README.md, "Deprecated host"). Rendered once per address; never a part of the request, since the path
 * of a push holds its token.
 */

import { type IncomingMessage, ServerResponse } from 'node:http';
import type { LegacyConfig } from '../config/schema.js';

/** Headers that every answer of one address has, by name. */
export type AddressHeaders = Readonly<Record<string, string>>;

export const NO_HEADERS: AddressHeaders = {};

/** Deprecation (RFC 9745: a structured date), Sunset (RFC 8594: an HTTP date), Link (RFC 5829: successor-version). */
export function legacyHeaders({ deprecatedOn, sunsetOn, successor }: LegacyConfig): AddressHeaders {
  return {
    Deprecation: `@${Date.parse(deprecatedOn) / 1000}`,
    Sunset: new Date(sunsetOn).toUTCString(),
    // As a URL is written on the wire: nothing of it can close the bracket or the line.
    Link: `<${new URL(successor).href}>; rel="successor-version"`,
  };
}

/** Node's answer with these headers from its making: the one way to reach those that Node's server gives by itself. */
export function responseWith(headers: AddressHeaders): typeof ServerResponse {
  return class<Request extends IncomingMessage> extends ServerResponse<Request> {
    constructor(request: Request) {
      super(request);
      for (const [name, value] of Object.entries(headers)) this.setHeader(name, value);
    }
  };
}
