/** What an encoder that speaks HTTP is answered: a head, and where it is refused a line of text. */

import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { refuse } from '../../net/front/refuse.js';
import type { EncoderRefusal } from './verdict.js';

/** @param server as the Server header says */
export function answerHead(server: string, status: number, headers: Readonly<Record<string, string>> = {}): string {
  const all = { Server: server, Connection: 'close', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.0 ${status} ${STATUS_CODES[status]}`, ...lines, '', ''].join('\r\n');
}

/** Says why, and closes. */
export function answerRefusal(socket: Socket, server: string, refusal: EncoderRefusal): void {
  const { status, why, text = why, headers } = refusal;
  const body = `${text}\n`;
  const content = { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': String(Buffer.byteLength(body)) };
  refuse(socket, answerHead(server, status, { ...content, ...headers }) + body);
}

/** What is written goes out at the end of this turn: an encoder that is let in learns it no sooner than those who serve its listeners. */
export function corkTurn(socket: Socket): void {
  socket.cork();
  process.nextTick(() => socket.uncork());
}
