/** Encoders' sockets on their way to the hub, through the supervisor. Where there is none at the moment they wait for it. */

import type { Socket } from 'node:net';
import { letGo } from '../net/handover.js';
import { withRest } from './encoder-pipe.js';
import type { ManagedProcess } from './managed-process.js';
import type { FromChild } from './messages.js';

/** What may wait, and for how long; an encoder that does not get through comes again. */
const MOST_WAITING = 1000;
const MOST_WAIT_MS = 15_000;

type Letter = Extract<FromChild, { type: 'encoder' | 'connection' }>;

interface WaitingSocket {
  readonly letter: Letter;
  readonly socket: Socket;
  readonly timer: NodeJS.Timeout;
}

export class SocketPost {
  #waiting: WaitingSocket[] = [];
  #isHeld = true;

  /** There is no hub: what comes waits. */
  hold(): void {
    this.#isHeld = true;
  }

  /** Passes it on. @param hub null: none takes it now */
  send(letter: Letter, socket: Socket, hub: ManagedProcess | null): void {
    socket.on('error', () => undefined);
    const held = withAhead(letter, letGo(socket));
    const isLate = hub === null || (this.#isHeld && letter.type === 'encoder');
    if (!isLate) hub.send(held, socket, () => socket.destroy());
    else if (this.#waiting.length >= MOST_WAITING) socket.destroy();
    else {
      const timer = setTimeout(() => socket.destroy(), MOST_WAIT_MS);
      this.#waiting.push({ letter: held, socket, timer });
    }
  }

  /** There is a hub. */
  deliver(hub: ManagedProcess): void {
    this.#isHeld = false;
    for (const { letter, socket, timer } of this.#waiting.splice(0)) {
      clearTimeout(timer);
      if (!socket.destroyed) hub.send(letter, socket, () => socket.destroy());
    }
  }
}

/** @param more read of its socket here */
function withAhead(letter: Letter, more: Buffer): Letter {
  if (more.length === 0) return letter;
  if (letter.type === 'encoder') return { ...letter, encoder: withRest(letter.encoder, more) };
  const { connection } = letter;
  return { ...letter, connection: { ...connection, ahead: Buffer.concat([connection.ahead, more]) } };
}
