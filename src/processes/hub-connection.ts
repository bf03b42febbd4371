/** A worker's connection to the hub, which is made again until it holds. There is one at most: the hub says each change once. */

import net, { type Socket } from 'node:net';
import type { WorkerLink } from '../link/worker-link.js';

/** How soon the hub is tried again. */
const RECONNECT_MS = 50;

export class HubConnection {
  readonly #link: Pick<WorkerLink, 'connect' | 'ready' | 'leftAloneMs'>;
  /** Empty: there is none to connect to. */
  #path = '';
  #isClosed = false;
  #socket: Socket | null = null;
  /** Runs while it is to be tried again. */
  #timer: NodeJS.Timeout | undefined;

  constructor(link: Pick<WorkerLink, 'connect' | 'ready' | 'leftAloneMs'>) {
    this.#link = link;
  }

  /** Resolves when there is a connection and the hub has said what it knows. It may be the hub that is being tried already. */
  async open(path: string): Promise<void> {
    if (path !== this.#path && !this.#isClosed) {
      this.#leave(path);
      this.#socket?.destroy();
      this.#connect();
    }
    await this.#link.ready();
  }

  /** The hub there cannot be understood: `open` follows with another one. */
  giveUp(): void {
    this.#leave('');
  }

  close(): void {
    this.#isClosed = true;
    this.#leave('');
    this.#socket?.destroySoon();
  }

  #leave(path: string): void {
    clearTimeout(this.#timer);
    this.#path = path;
  }

  #connect(): void {
    const path = this.#path;
    const socket = net.connect(path);
    this.#socket = socket;
    const again = () => {
      if (this.#socket !== socket || this.#path !== path) return;
      this.#timer = setTimeout(() => this.#connect(), Math.max(RECONNECT_MS, this.#link.leftAloneMs));
    };
    socket.once('error', again).once('connect', () => {
      socket.off('error', again);
      this.#link.connect(socket, again);
    });
  }
}
