/** Encoders' sockets on their way to the hub, through the supervisor. Where there is none at the moment they wait for it. */

import type { Socket } from 'node:net';
import { detach } from '../../net/front/handover.js';
import { withRest } from '../encoder-pipe.js';
import type { FromChild } from '../messages.js';
import type { ManagedProcess } from './managed-process.js';

/** What may wait, and for how long; an encoder that does not get through comes again. */
const MAX_WAITING = 1000;
const MAX_WAIT_MS = 15_000;

type Letter = Extract<FromChild, { type: 'encoder' | 'connection' }>;

interface WaitingSocket {
  readonly letter: Letter;
  readonly socket: Socket;
  readonly timer: NodeJS.Timeout;
}

export class SocketPost {
  #waiting: WaitingSocket[] = [];
  /** Null: what comes waits. */
  #hub: ManagedProcess | null = null;

  /** There is no hub. */
  hold(): void {
    this.#hub = null;
  }

  /** Passes it on. @param next takes it before it is ready; null: the hub that there is */
  send(letter: Letter, socket: Socket, next: ManagedProcess | null): void {
    socket.on('error', () => undefined);
    this.#pass(withAhead(letter, detach(socket)), socket, next ?? this.#hub);
  }

  /** There is a hub. */
  deliver(hub: ManagedProcess): void {
    this.#hub = hub;
    for (const { letter, socket, timer } of this.#waiting.splice(0)) {
      clearTimeout(timer);
      if (!socket.destroyed) this.#pass(letter, socket, hub);
    }
  }

  #pass(letter: Letter, socket: Socket, hub: ManagedProcess | null): void {
    if (hub === null) this.#keep(letter, socket);
    else {
      hub.send(letter, socket, (isSent) => {
        if (isSent) socket.destroy();
        // That one has ended.
        else this.#pass(letter, socket, this.#hub === hub ? null : this.#hub);
      });
    }
  }

  #keep(letter: Letter, socket: Socket): void {
    if (this.#waiting.length >= MAX_WAITING) {
      socket.destroy();
      return;
    }
    const timer = setTimeout(() => socket.destroy(), MAX_WAIT_MS);
    this.#waiting.push({ letter, socket, timer });
  }
}

/** @param more read of its socket here */
function withAhead(letter: Letter, more: Buffer): Letter {
  if (more.length === 0) return letter;
  if (letter.type === 'encoder') return { ...letter, encoder: withRest(letter.encoder, more) };
  const { connection } = letter;
  return { ...letter, connection: { ...connection, ahead: Buffer.concat([connection.ahead, more]) } };
}
