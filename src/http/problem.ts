/**
 * A refusal as the stranger sees it: RFC 9457 problem+json, with every bad field named (contract, "Errors are…").
 */

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { REFUSALS, Refusal } from '../base/refusal.js';

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';
/** How long what still comes is read and dropped after a refusal on a bare socket. */
const LINGER_MS = 2000;

/** The body: type, title, status, detail and, where fields are at fault, errors. */
export function problemJson(refusal: Refusal): string {
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

/** Turns whatever was thrown into a refusal; what is not one is ours, and says nothing of itself outside. */
export function asRefusal(error: unknown): Refusal {
  return error instanceof Refusal ? error : new Refusal('internal', 'Something went wrong on the server.');
}

/** Answers with a refusal; `heads` are added (CORS on reads). HEAD gets the same head without the body. */
export function sendProblem(
  response: ServerResponse,
  refusal: Refusal,
  heads: Readonly<Record<string, string>> = {},
): void {
  const body = problemJson(refusal);
  response.writeHead(refusal.status, {
    'Content-Type': PROBLEM_TYPE,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    ...heads,
    ...refusal.headers,
  });
  response.end(body);
}

/** What a stranger is told for whom the table of connections has no room (net/connections.ts). */
export function tooManyConnections(): Refusal {
  return new Refusal('unavailable', 'Too many connections to this server.', {
    headers: { Connection: 'close', 'Retry-After': '10' },
  });
}

/**
 * Answers on a bare socket that HTTP's parser has given up, or given away, and closes it. What the other side still sends is
 * dropped for a moment: closing over unread bytes would reset the connection and take the answer with it.
 */
export function endWithProblem(socket: Socket, refusal: Refusal, heads: Readonly<Record<string, string>> = {}): void {
  const body = problemJson(refusal);
  const lines = Object.entries({
    'Content-Type': PROBLEM_TYPE,
    'Content-Length': String(Buffer.byteLength(body)),
    'Cache-Control': 'no-store',
    ...heads,
    ...refusal.headers,
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.removeAllListeners('data').on('data', () => undefined);
  socket.on('error', () => undefined);
  socket.resume();
  socket.end(`HTTP/1.1 ${refusal.status} ${REFUSALS[refusal.kind].title}\r\n${lines.join('')}\r\n${body}`);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** The address has not the role that the path belongs to. */
export function notServed(): Refusal {
  return new Refusal('not-found', 'This address does not serve that.');
}
