/**
 * The last thing said to an encoder, or a proxy, that may not come in. What it still sends is read and dropped, so that the answer is not lost in a
 * reset; one that goes on sending is cut.
 */

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
