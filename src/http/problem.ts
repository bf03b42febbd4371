/**
 * Renders refusals as problem+json (RFC 9457) that names every bad field (src/http/README.md, "Errors"). Also refuses requests that Node's parser
 * cannot parse, and ambiguous heads. No answer repeats any part of the request.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError } from 'fastify';
import { REFUSALS, Refusal, type RefusalKind } from '../base/refusal.js';
import { refuse } from '../net/front/refuse.js';
import type { RequestHeadFault } from '../net/front/request-head.js';
import type { AddressHeaders } from './legacy.js';
import { type AskedFor, type ErrorPage, errorPage } from './page/error-page.js';

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

/** The body: type, title, status, detail and, for bad fields, errors. */
function problemJson(refusal: Refusal): string {
  const { status, title } = REFUSALS[refusal.kind];
  const problem: Record<string, unknown> = {
    type: `urn:airsplice:problem:${refusal.kind}`,
    title,
    status,
    detail: refusal.message,
  };
  if (refusal.errors.length > 0) problem['errors'] = refusal.errors;
  return JSON.stringify(problem);
}

/** Turns a thrown value into a refusal. All other values are faults of the server: `onError` gets them, and the client gets a plain 500. */
export function asRefusal(error: unknown, onError: (error: unknown) => void): Refusal {
  if (error instanceof Refusal) return error;
  onError(error);
  return new Refusal('internal', 'Something went wrong on the server.');
}

/** Turns an error of fastify into the refusal with the same status code. */
export function fastifyRefusal(error: FastifyError | Error, onError: (error: unknown) => void): Refusal {
  if (error instanceof Refusal) return error;
  const status = 'statusCode' in error ? error.statusCode : undefined;
  const kind = (Object.keys(REFUSALS) as RefusalKind[]).find((name) => REFUSALS[name].status === status);
  if (kind !== undefined && kind !== 'internal') return new Refusal(kind, error.message);
  return status !== undefined && status < 500 ? new Refusal('bad-request', error.message) : asRefusal(error, onError);
}

/** The answer for a refusal: problem+json, or a page in words if a person has opened the address in a browser. */
export function refusalAnswer(refusal: Refusal, asked: AskedFor): ErrorPage {
  const problem = { 'Content-Type': PROBLEM_TYPE, 'Cache-Control': 'no-store' };
  return errorPage(refusal, asked) ?? { body: problemJson(refusal), headers: problem };
}

/** Answers with a refusal. Node omits the body for HEAD. @param headers to add (CORS of reads) */
export function sendProblem(
  response: ServerResponse,
  refusal: Refusal,
  headers: Readonly<Record<string, string>> = {},
): void {
  const { body, headers: own } = refusalAnswer(refusal, response.req.headers);
  response.writeHead(refusal.status, {
    ...own,
    'Content-Length': Buffer.byteLength(body),
    ...headers,
    ...refusal.headers,
  });
  response.end(body);
}

/** The answer when the table of connections is full (net/front/connections.ts). */
export function tooManyConnections(): Refusal {
  return new Refusal('unavailable', 'Too many connections to this server.', {
    headers: { Connection: 'close', 'Retry-After': '10' },
  });
}

/** Answers on a bare socket, after the HTTP parser has failed or was detached, and closes it. @param asked headers of the request, if known */
export function endWithProblem(
  socket: Socket,
  refusal: Refusal,
  headers: Readonly<Record<string, string>> = {},
  asked: AskedFor = {},
): void {
  const { body, headers: own } = refusalAnswer(refusal, asked);
  const lines = Object.entries({
    ...own,
    'Content-Length': String(Buffer.byteLength(body)),
    ...headers,
    ...refusal.headers,
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.removeAllListeners('data');
  refuse(socket, `HTTP/1.1 ${refusal.status} ${REFUSALS[refusal.kind].title}\r\n${lines.join('')}\r\n${body}`);
}

/** An operator has blocked the client. */
export function blocked(): Refusal {
  return new Refusal('not-allowed', 'This address is blocked for a while.', { headers: { Connection: 'close' } });
}

/** The address does not have the role of the path. */
export function notServed(): Refusal {
  return new Refusal('not-found', 'This address does not serve this path.');
}

/** Node's parser keeps this many; later ones are lost. Browsers send about twenty. */
export const MAX_HEADERS = 1000;

/** Codes of errors of Node's parser → detail of the problem. */
const BROKEN: Readonly<Record<string, string>> = {
  HPE_INVALID_URL: 'The URL contains characters that must be percent-encoded.',
};

/**
 * Refuses heads that Node accepts but a proxy may read otherwise: no Host or several (RFC 9112, 3.2), a transfer coding other than `chunked` (6.1),
 * for which Node reads no body, and more headers than Node keeps, of which the last may be a proxy's. Null: the head is unambiguous.
 */
export function brokenHead({ rawHeaders, httpVersion }: IncomingMessage): Refusal | null {
  if (rawHeaders.length >= 2 * MAX_HEADERS) {
    const headers = { Connection: 'close' };
    return new Refusal('head-too-large', `A request must have fewer than ${MAX_HEADERS} headers.`, { headers });
  }
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
  if (hosts > 1) why = 'A request must have exactly one Host header.';
  else if (hosts === 0 && httpVersion === '1.1') why = 'An HTTP/1.1 request must have a Host header.';
  else if (codings > 1 || !isChunked) why = 'The only supported transfer coding is chunked, once.';
  return why === '' ? null : new Refusal('bad-request', why, { headers: { Connection: 'close' } });
}

/** Whether a Transfer-Encoding is `chunked` and nothing more. */
export function isChunkedOnly(value: string | undefined): boolean {
  return value?.trim().toLowerCase() === 'chunked';
}

/** Answers a request that could not be parsed, if the connection is still writable. */
export function answerBroken(error: NodeJS.ErrnoException, socket: Socket, headers: AddressHeaders): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const refusal =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Refusal('head-too-large', 'The request line and headers are too long.')
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new Refusal('timeout', 'The request did not arrive in time.')
        : new Refusal('bad-request', BROKEN[error.code ?? ''] ?? 'The HTTP request is malformed.');
  endWithProblem(socket, refusal, headers);
}

/** For a head that cannot be parsed (net/front/request-head.ts). */
export function headRefusal({ kind, message }: RequestHeadFault): Refusal {
  return new Refusal(kind === 'too-large' ? 'head-too-large' : 'bad-request', `${message}.`);
}
