/**
 * Hands a socket over to another process, with the bytes that were read ahead.
 *
 *   paused ──► detach: reading stops, buffered bytes are taken ──► sent ──► attach: half-open, as fronts accept sockets
 */

import type { Socket } from 'node:net';

/** Node has no public way to stop a paused socket from reading ahead. */
interface Readable {
  readonly _handle?: { readStop(): number; reading?: boolean } | null;
  server?: unknown;
}

const NOTHING = Buffer.alloc(0);

/**
 * Stops reading a paused socket for good: it must be sent to another process (`process.send`), or destroyed, in this turn of the loop.
 * @returns bytes read ahead
 */
export function detach(socket: Socket): Buffer {
  const ahead: Buffer[] = [];
  for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) ahead.push(chunk as Buffer);
  const inner = socket as Readable;
  if (inner._handle) {
    inner._handle.readStop();
    inner._handle.reading = false;
  }
  // Else closing the server would wait until the other process has closed the socket.
  inner.server = null;
  return ahead.length === 0 ? NOTHING : Buffer.concat(ahead);
}

/** Prepares a socket from another process as a front would have accepted it, paused. */
export function attach(socket: Socket): void {
  socket.allowHalfOpen = true;
  socket.setNoDelay(true);
  socket.pause();
}
