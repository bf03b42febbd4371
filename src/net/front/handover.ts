/**
 * A socket on its way to another process: nothing may be read of it here any more, and what was read must go along.
 *
 *   paused ──► let go: no reading, buffered bytes taken ──► sent ──► its other end takes it, half-open as fronts accept it
 */

import type { Socket } from 'node:net';

/** Node offers no public way to stop reading a paused socket: it reads ahead into its buffer. */
interface Readable {
  readonly _handle?: { readStop(): number; reading?: boolean } | null;
  server?: unknown;
}

const NOTHING = Buffer.alloc(0);

/**
 * Stops reading a paused socket, for good: in this turn it must be sent to another process (`process.send`), or destroyed.
 * @returns what was read of it and not taken
 */
export function detach(socket: Socket): Buffer {
  const ahead: Buffer[] = [];
  for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) ahead.push(chunk as Buffer);
  const inner = socket as unknown as Readable;
  if (inner._handle) {
    inner._handle.readStop();
    inner._handle.reading = false;
  }
  // Else Node would count it, and wait with the server's end until the other process has closed it.
  inner.server = null;
  return ahead.length === 0 ? NOTHING : Buffer.concat(ahead);
}

/** Takes a socket from another process, as a front would have accepted it; it is paused. @returns what was read of it on the way */
export function takeOver(socket: Socket): void {
  socket.allowHalfOpen = true;
  socket.setNoDelay(true);
  socket.pause();
}
