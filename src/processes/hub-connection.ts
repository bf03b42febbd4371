/** A worker's connection to the hub, retried until it succeeds. There is one at most, since the hub sends each change once. */

import type { Socket } from 'node:net';
import type { WorkerLink } from '../link/worker-link.js';
import { connectToHub } from './hub-socket.js';

/** The pause before the next attempt, milliseconds. */
const RECONNECT_MS = 50;

export class HubConnection {
  readonly #link: Pick<WorkerLink, 'connect' | 'ready' | 'leftAloneMs'>;
  /** The hub's local socket; empty if there is no hub to connect to. */
  #path = '';
  #isClosed = false;
  #socket: Socket | null = null;
  /** Runs while another attempt is pending. */
  #timer: NodeJS.Timeout | undefined;

  constructor(link: Pick<WorkerLink, 'connect' | 'ready' | 'leftAloneMs'>) {
    this.#link = link;
  }

  /** Connects to a hub, unless it is the present one. Resolves once the hub has sent its state. */
  async open(path: string): Promise<void> {
    if (path !== this.#path && !this.#isClosed) {
      this.#leave(path);
      this.#socket?.destroy();
      this.#connect();
    }
    await this.#link.ready();
  }

  /** Stops trying to reach a hub of another version; `open` follows with the next one. */
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
    const socket = connectToHub(path, 'link');
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
