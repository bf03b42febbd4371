/** Refuses a connection with a last answer. What the client still sends is dropped, so that the answer is not lost in a reset. */

import type { Socket } from 'node:net';

const REFUSED_MS = 2000;

/** Nothing else may read or write the connection from here on. */
export function refuse(socket: Socket, text: string): void {
  socket.on('error', () => undefined);
  socket.resume();
  socket.end(text);
  const deadline = setTimeout(() => socket.destroy(), REFUSED_MS);
  socket.once('close', () => clearTimeout(deadline));
}
