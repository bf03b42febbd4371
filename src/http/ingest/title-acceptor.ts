/**
 * Takes connections that begin with an encoder's title: parses the head as tolerantly as those of audio (old encoders and scripts send lines that end
 * in LF, blanks in the address, no Host), and unshifts it in a form that Node's parser accepts. The HTTP server answers the request
 * (title-updates.ts). Later requests on the same connection are ordinary HTTP; after a head that was not exact HTTP the connection is closed, since a
 * proxy that passed it on may have seen its end somewhere else.
 */

import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { targetOf } from '../../base/request-target.js';
import { type HeadLimits, HeadReader } from '../../net/front/head-reader.js';
import type { RequestHead } from '../../net/front/request-head.js';
import type { AddressHeaders } from '../legacy.js';
import { endWithProblem, headRefusal } from '../problem.js';

/** A valid header name (RFC 9110, 5.6.2). */
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
/** The headers that a title's request needs. Of a head that was not exact HTTP only these are passed on. */
const NEEDED = new Set([
  ...['authorization', 'content-length', 'content-type', 'expect', 'forwarded', 'host', 'transfer-encoding'],
  'x-forwarded-for',
]);
/** Characters that must be encoded in an address. */
const NOT_IN_ADDRESS = /[^\x21-\x7e]+/g;

export class TitleUpdateAcceptor {
  readonly #heads: HeadReader;

  constructor(limits: HeadLimits) {
    this.#heads = new HeadReader(limits);
  }

  /** The function that takes them at one address. */
  at(http: Server, headers: AddressHeaders): (socket: Socket, first: Buffer) => void {
    return (socket, first) =>
      this.#heads.read(socket, first, (result) => {
        if ('kind' in result) {
          endWithProblem(socket, headRefusal(result), headers);
          return;
        }
        socket.unshift(Buffer.concat([Buffer.from(asHttp(result)), result.rest]));
        http.emit('connection', socket);
        socket.resume();
      });
  }

  close(): void {
    this.#heads.close();
  }
}

function asHttp(head: RequestHead): string {
  const { method, path, query, encodedQuery = query, protocol, headers, isLoose } = head;
  const target = targetOf({ path, query: encodedQuery }).replace(NOT_IN_ADDRESS, encodeURIComponent);
  const kept = [...headers].filter(([name]) => NAME.test(name) && (!isLoose || NEEDED.has(name)));
  if (isLoose) kept.push(['connection', 'close']);
  if (!headers.has('host')) kept.push(['host', '']);
  const lines = [`${method} ${target} ${protocol === 'HTTP/1.1' ? protocol : 'HTTP/1.0'}`];
  return [...lines, ...kept.map(([name, value]) => `${name}: ${value}`), '', ''].join('\r\n');
}
