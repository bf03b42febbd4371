/**
 * Requests that Node's parser has given up: answered in kind, as a problem. Nothing of what came is repeated. Used by the server only.
 */

import type { Socket } from 'node:net';
import { Refusal } from '../refusal.js';
import type { AddressHeads } from './legacy.js';
import { endWithProblem } from './problem.js';

/** What Node's parser refused, for a person. */
const BROKEN: Readonly<Record<string, string>> = {
  HPE_INVALID_URL: 'The address holds characters that have to be percent-encoded.',
};

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
