/** An entry of the table of connections (`connections.ts`): its state, and the counts of its address. */

import type { Socket } from 'node:net';
import type { Queue, QueueLink } from '../limits/queue.js';

/** The counts of one address. */
export interface ConnectionOrigin {
  readonly key: string;
  count: number;
  /** `loose` connections may be closed to make room, `pending` ones only beyond half of the limit. */
  loose: Queue<TrackedConnection> | null;
  pending: Queue<TrackedConnection> | null;
}

/** The queue of a connection that may be closed; null: it may not. */
export type ConnectionState = 'silent' | 'speaking' | 'kept' | 'idle' | 'pending' | null;

export class TrackedConnection {
  socket: Socket;
  /** The socket as it was accepted; with TLS it is below `socket`. */
  readonly bare: Socket;
  readonly #process: number;
  readonly #number: number;
  origin: ConnectionOrigin | null = null;
  /** The client's, as plainAddress writes it. */
  address = '';
  isStranger = false;
  isGone = false;
  /** Its present request came with a right secret. */
  isProven = false;
  /** Requests that were not answered yet. */
  owed = 0;
  state: ConnectionState = null;
  inAll: QueueLink<TrackedConnection> | null = null;
  inOrigin: QueueLink<TrackedConnection> | null = null;

  /** @param number counts this process's connections */
  constructor(socket: Socket, process = 0, number = 0) {
    this.socket = this.bare = socket;
    this.#process = process;
    this.#number = number;
  }

  /** Its name in the log: `17`; of the third process `3-17`. */
  get id(): string {
    return this.#process === 0 ? String(this.#number) : `${this.#process}-${this.#number}`;
  }
}

/** The socket's entry. */
export const ENTRY = Symbol('connection');
/** The id of a connection that another process has accepted. */
const NAME = Symbol('connection name');
export type Entered = Socket & { [ENTRY]?: TrackedConnection; [NAME]?: string };

/** The name of a connection in the log; undefined: it was never entered. */
export function connectionId(socket: Socket | null): string | undefined {
  const entered = socket as Entered | null;
  return entered?.[ENTRY]?.id ?? entered?.[NAME];
}

/** The socket whose `bytesRead` counts all bytes received, including TLS. */
export function bareOf(socket: Socket): Socket {
  return (socket as Entered)[ENTRY]?.bare ?? socket;
}

/** Sets the id under which another process has accepted it. */
export function nameConnection(socket: Socket, id: string | undefined): void {
  if (id !== undefined && (socket as Entered)[ENTRY] === undefined) (socket as Entered)[NAME] = id;
}
