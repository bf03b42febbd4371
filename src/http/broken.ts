/**
 * Requests that Node's parser has given up, and those that it should have: answered in kind, as a problem. Nothing of what came is repeated.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Refusal } from '../base/refusal.js';
import type { AddressHeads } from './legacy.js';
import { endWithProblem } from './problem.js';

/** What Node's parser refused, for a person. */
const BROKEN: Readonly<Record<string, string>> = {
  HPE_INVALID_URL: 'The address holds characters that have to be percent-encoded.',
};

/**
 * What Node's parser takes, and others read in another way: no Host or several (RFC 9112, 3.2), of which Node gives out the first; a
 * transfer coding that is not just `chunked` (6.1), where Node sees no body. Null: nothing of it.
 */
export function brokenHead({ rawHeaders, httpVersion }: IncomingMessage): Refusal | null {
  let [hosts, codings, isChunked] = [0, 0, true];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
    else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') {
      codings++;
      isChunked &&= isChunkedOnly(rawHeaders[i + 1]);
    }
  }
  let why = '';
  if (hosts > 1) why = 'A request has one Host.';
  else if (hosts === 0 && httpVersion === '1.1') why = 'A request in HTTP/1.1 has a Host.';
  else if (codings > 1 || !isChunked) why = 'Of the transfer codings only chunked is known, once.';
  return why === '' ? null : new Refusal('bad-request', why, { headers: { Connection: 'close' } });
}

/** Whether a Transfer-Encoding says no more than that the body is in chunks. */
export function isChunkedOnly(value: string | undefined): boolean {
  return value?.trim().toLowerCase() === 'chunked';
}

/** Answered in kind where the connection can still be written to. */
export function answerBroken(error: NodeJS.ErrnoException, socket: Socket, heads: AddressHeads): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const refusal =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Refusal('head-too-large', 'The request line and heads are too long.')
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new Refusal('timeout', 'The request did not come in time.')
        : new Refusal('bad-request', BROKEN[error.code ?? ''] ?? 'This is not an HTTP request that can be read.');
  endWithProblem(socket, refusal, heads);
}
