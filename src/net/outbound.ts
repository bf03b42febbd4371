/**
 * One request to an upstream: one answer or one failure comes of it. Where it may go, what it proves who it is by, and how far a
 * sloppy answer is taken for HTTP all end here; redirects and playlists are source/upstream.ts's business.
 *
 * By Node's own client: undici 7 throws where nobody can catch it when a stream ends whose body is held back (its issue 5360).
 */

import http from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { isPrivate, PRIVATE_REASON, publicOnly } from './private-address.js';
import type { Target } from './target.js';

const ICY = Buffer.from('ICY ');
const HTTP = Buffer.from('HTTP/1.0 ');

export interface Terms {
  /** How an upstream's name becomes addresses; asked once for each connection. */
  readonly lookup: LookupFunction;
  /** PEM of the authorities that an upstream's certificate may be from; undefined: those that Node knows. */
  readonly ca: Buffer | undefined;
  /** Longest response head. */
  readonly headBytes: number;
}

export interface Told {
  answered(response: http.IncomingMessage): void;
  /** May come more than once, and after an answer or an abort. The reason never holds a URL. */
  failed(reason: string): void;
}

/** Asks for a stream. Ends with `signal`, body and all; `told` may be called before this returns. */
export function ask(target: Target, terms: Terms, signal: AbortSignal, told: Told): void {
  const { url, host, authorization, mayBePrivate } = target;
  // of an address nothing is looked up
  if (!mayBePrivate && isIP(host) !== 0 && isPrivate(host)) {
    told.failed(PRIVATE_REASON);
    return;
  }
  const request = (url.protocol === 'https:' ? https : http).get({
    host,
    port: url.port === '' ? undefined : Number(url.port),
    path: url.pathname + url.search,
    headers: {
      ...{ host: url.host, 'icy-metadata': '1', 'user-agent': 'airsplice', accept: '*/*', connection: 'close' },
      ...(authorization === undefined ? {} : { authorization }),
    },
    lookup: mayBePrivate ? terms.lookup : publicOnly(terms.lookup),
    agent: false,
    signal,
    maxHeaderSize: terms.headBytes,
    insecureHTTPParser: true, // some end their lines with a bare LF
    ...(terms.ca === undefined ? {} : { ca: terms.ca }),
  });
  request.on('socket', readIcyAsHttp);
  request.on('error', (error: NodeJS.ErrnoException) => told.failed(reasonOf(error)));
  request.on('response', (response) => {
    response.on('error', (error) => told.failed(reasonOf(error)));
    told.answered(response);
  });
}

/** What Node says of several addresses that all failed is empty but for its code. */
function reasonOf(error: NodeJS.ErrnoException): string {
  return error.message || error.code || 'the connection failed';
}

/** Old servers answer `ICY 200 OK`, which is no HTTP (protocol.md, "Pulled sources"): the first bytes are read as if it were. */
function readIcyAsHttp(socket: Socket): void {
  const push = socket.push;
  let first = Buffer.alloc(0);
  socket.push = (chunk: Buffer | null) => {
    if (chunk !== null) first = Buffer.concat([first, chunk]);
    const mayBeIcy = first.subarray(0, ICY.length).equals(ICY.subarray(0, first.length));
    if (chunk !== null && mayBeIcy && first.length < ICY.length) return true;
    socket.push = push;
    if (first.length > 0) {
      const isIcy = mayBeIcy && first.length >= ICY.length;
      const more = socket.push(isIcy ? Buffer.concat([HTTP, first.subarray(ICY.length)]) : first);
      if (chunk !== null) return more;
    }
    return socket.push(chunk);
  };
}
