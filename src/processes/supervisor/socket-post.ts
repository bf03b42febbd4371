/** Encoders' sockets on their way to the hub, through the supervisor. Where there is none at the moment they wait for it. */

import type { Socket } from 'node:net';
import { detach } from '../../net/front/handover.js';
import type { SocketLetter } from '../messages.js';
import type { ManagedProcess } from './managed-process.js';

/** What may wait, and for how long; an encoder that does not get through comes again. */
const MAX_WAITING = 1000;
const MAX_WAIT_MS = 15_000;

interface WaitingSocket {
  readonly letter: SocketLetter;
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
  send(letter: SocketLetter, socket: Socket, next: ManagedProcess | null): void {
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

  #pass(letter: SocketLetter, socket: Socket, hub: ManagedProcess | null): void {
    if (hub === null) this.#keep(letter, socket);
    else {
      hub.send(letter, socket, (isSent) => {
        if (isSent) socket.destroy();
        // That one has ended.
        else this.#pass(letter, socket, this.#hub === hub ? null : this.#hub);
      });
    }
  }

  #keep(letter: SocketLetter, socket: Socket): void {
    if (this.#waiting.length >= MAX_WAITING) {
      socket.destroy();
      return;
    }
    const timer = setTimeout(() => socket.destroy(), MAX_WAIT_MS);
    this.#waiting.push({ letter, socket, timer });
  }
}

/** @param more read of its socket here */
function withAhead(letter: SocketLetter, more: Buffer): SocketLetter {
  if (more.length === 0) return letter;
  return { ...letter, ahead: Buffer.concat([Buffer.from(letter.ahead, 'base64'), more]).toString('base64') };
}
