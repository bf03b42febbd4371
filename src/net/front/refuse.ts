/** Refuses a connection with a last answer. What the client still sends is dropped, so that the answer is not lost in a reset. */

import type { Socket } from 'node:net';

const REFUSED_MS = 2000;

/** Answers 400 with this sentence, for operators whose proxy is misconfigured. */
export function refuseWords(socket: Socket, reason: string): void {
  const body = `${reason}\n`;
  const head = `Content-Type: text/plain; charset=utf-8\r\nContent-Length: ${body.length}\r\nConnection: close`;
  refuse(socket, `HTTP/1.1 400 Bad Request\r\n${head}\r\n\r\n${body}`);
}

/** Nothing else may read or write the connection from here on. */
export function refuse(socket: Socket, text: string): void {
  socket.on('error', () => undefined);
  socket.resume();
  socket.end(text);
  const deadline = setTimeout(() => socket.destroy(), REFUSED_MS);
  socket.once('close', () => clearTimeout(deadline));
}
