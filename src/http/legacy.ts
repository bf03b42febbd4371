/**
 * The headers in every HTTP answer of an address with the role legacy, which lead authors of clients to the new host (src/http/README.md,
 * "Deprecated host"). Rendered once per address, without any part of the request: the path of a push contains its token.
 */

import type { IncomingMessage } from 'node:http';
import type { LegacyConfig } from '../config/schema.js';
import { WholeResponse } from './whole-response.js';

/** The headers in every answer of one address, by name. */
export type AddressHeaders = Readonly<Record<string, string>>;

export const NO_HEADERS: AddressHeaders = {};

/** Deprecation (RFC 9745: a structured date), Sunset (RFC 8594: an HTTP date), Link (RFC 5829: successor-version). */
export function legacyHeaders({ deprecatedOn, sunsetOn, successor }: LegacyConfig): AddressHeaders {
  return {
    Deprecation: `@${Date.parse(deprecatedOn) / 1000}`,
    Sunset: new Date(sunsetOn).toUTCString(),
    // Serialized, so that no character can close the bracket or the line.
    Link: `<${new URL(successor).href}>; rel="successor-version"`,
  };
}

/** A response class that sets these headers in its constructor: the only way to add them to answers that Node's server itself sends. */
export function responseWith(headers: AddressHeaders): typeof WholeResponse {
  if (headers === NO_HEADERS) return WholeResponse;
  return class<Request extends IncomingMessage> extends WholeResponse<Request> {
    constructor(request: Request) {
      super(request);
      for (const [name, value] of Object.entries(headers)) this.setHeader(name, value);
    }
  };
}
