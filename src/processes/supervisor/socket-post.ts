/** Passes encoders' sockets through the supervisor to the hub. While there is none, they wait for the next. */

import type { Socket } from 'node:net';
import { detach } from '../../net/front/handover.js';
import type { SocketLetter } from '../messages.js';
import type { ManagedProcess } from './managed-process.js';

/** How many sockets may wait, and for how long; an encoder that does not get through connects again. */
const MAX_WAITING = 1000;
const MAX_WAIT_MS = 15_000;

interface WaitingSocket {
  readonly letter: SocketLetter;
  readonly socket: Socket;
  readonly timer: NodeJS.Timeout;
}

export class SocketPost {
  #waiting: WaitingSocket[] = [];
  /** Null: sockets wait. */
  #hub: ManagedProcess | null = null;

  /** Called when the hub has ended: sockets wait from now on. */
  hold(): void {
    this.#hub = null;
  }

  /** Passes a socket on. @param next a hub that takes it even before it is ready; null: the present one */
  send(letter: SocketLetter, socket: Socket, next: ManagedProcess | null): void {
    socket.on('error', () => undefined);
    this.#pass(withAhead(letter, detach(socket)), socket, next ?? this.#hub);
  }

  /** Called when a hub is ready: passes on what has waited. */
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
        // The hub has ended.
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

/** Adds bytes that this process has read from the socket. */
function withAhead(letter: SocketLetter, more: Buffer): SocketLetter {
  if (more.length === 0) return letter;
  return { ...letter, ahead: Buffer.concat([Buffer.from(letter.ahead, 'base64'), more]).toString('base64') };
}
