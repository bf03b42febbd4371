/**
 * Makes WebSockets of upgrade requests: no sub-protocol is chosen and nothing is compressed. The answer carries the heads of its
 * address; one that ws refuses is answered as a problem like any other.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { Refusal } from '../refusal.js';
import type { AddressHeads } from './legacy.js';
import { endWithProblem } from './problem.js';

export class Upgrader {
  readonly #server: WebSocketServer;
  readonly #heads = new WeakMap<IncomingMessage, AddressHeads>();

  /** @param mostBytes a longer message closes the connection with 1009 */
  constructor(mostBytes: number) {
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: mostBytes,
    });
    this.#server.on('headers', (lines, request) => {
      for (const [name, value] of Object.entries(this.#headsOf(request))) lines.push(`${name}: ${value}`);
    });
    this.#server.on('wsClientError', (error, socket, request) => {
      const refusal =
        request.method === 'GET'
          ? // RFC 6455, 4.4: who asked for another version is told which there are.
            new Refusal('bad-request', `${error.message}.`, { headers: { 'Sec-WebSocket-Version': '13, 8' } })
          : new Refusal('method-not-allowed', 'A WebSocket begins with GET.', { headers: { Allow: 'GET' } });
      endWithProblem(socket as Socket, refusal, this.#headsOf(request));
    });
  }

  /** Opens, or answers with a problem. `open` is called before this returns, or never. */
  take(
    request: IncomingMessage,
    socket: Socket,
    head: Buffer,
    heads: AddressHeads,
    open: (ws: WebSocket) => void,
  ): void {
    this.#heads.set(request, heads);
    this.#server.handleUpgrade(request, socket, head, open);
  }

  #headsOf(request: IncomingMessage): AddressHeads {
    return this.#heads.get(request)!;
  }
}
