/** Offers to upgrade a connection: recognises a WebSocket's handshake, and makes Node ignore other offers. */

import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/** A WebSocket's handshake has no body (RFC 6455, 4.1). */
export function wantsWebSocket(request: IncomingMessage): boolean {
  return request.headers.upgrade?.toLowerCase() === 'websocket' && !hasBody(request);
}

/** Whether a request has a body, by its head. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/**
 * Ignores an offer of a protocol other than WebSocket (RFC 9110, 7.8): the request is parsed again without it. Java's HTTP client offers
 * h2c with its first request, and Node emits 'upgrade' for every offer.
 */
export function continueWithout(server: Server, request: IncomingMessage, socket: Socket, rest: Buffer): void {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    const name = request.rawHeaders[i]!;
    if (!/^(upgrade|http2-settings|connection)$/i.test(name)) lines.push(`${name}: ${request.rawHeaders[i + 1]}`);
  }
  if (/\bclose\b/i.test(request.headers.connection ?? '')) lines.push('Connection: close');
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), rest]));
  // Left over from Node's parser.
  socket.removeAllListeners('resume').removeAllListeners('pause');
  server.emit('connection', socket);
  socket.resume();
}
