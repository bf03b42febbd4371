/** Answers to encoders that speak HTTP: a head, and in a refusal a line of text. */

import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { refuse } from '../../net/front/refuse.js';
import type { EncoderRefusal } from './verdict.js';

/** @param server the value of the Server header */
export function answerHead(server: string, status: number, headers: Readonly<Record<string, string>> = {}): string {
  const all = { Server: server, Connection: 'close', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.0 ${status} ${STATUS_CODES[status]}`, ...lines, '', ''].join('\r\n');
}

/** Answers with the reason, and closes. */
export function answerRefusal(socket: Socket, server: string, refusal: EncoderRefusal): void {
  const { status, why, text = why, headers } = refusal;
  const body = `${text}\n`;
  const content = { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': String(Buffer.byteLength(body)) };
  refuse(socket, answerHead(server, status, { ...content, ...headers }) + body);
}

/** Delays writes to the end of this turn, so that an admitted encoder gets its answer no sooner than the processes of its listeners know. */
export function corkTurn(socket: Socket): void {
  socket.cork();
  process.nextTick(() => socket.uncork());
}
