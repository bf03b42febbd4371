/** One entry of the table of connections (`connections.ts`): where it stands, and what is counted of its address. */

import type { Socket } from 'node:net';
import type { Queue, QueueLink } from '../limits/queue.js';

/** What is counted of one address. */
export interface ConnectionOrigin {
  readonly key: string;
  count: number;
  /** Those of its connections that may be closed, and those that may be beyond half of what it may have. */
  loose: Queue<TrackedConnection> | null;
  pending: Queue<TrackedConnection> | null;
}

/** Where an entry stands that may be closed; null: it may not. */
export type ConnectionState = 'silent' | 'speaking' | 'kept' | 'idle' | 'pending' | null;

export function sideOf(state: ConnectionState): 'pending' | 'loose' {
  return state === 'pending' ? 'pending' : 'loose';
}

export class TrackedConnection {
  socket: Socket;
  /** The socket as it was accepted; with TLS it is below `socket`. */
  readonly bare: Socket;
  readonly #process: number;
  readonly #number: number;
  origin: ConnectionOrigin | null = null;
  /** As its peer or its proxy says. */
  address = '';
  isStranger = false;
  isGone = false;
  /** It has shown a right secret with what it asks for now. */
  isProven = false;
  /** Answers that it is owed. */
  owed = 0;
  state: ConnectionState = null;
  inAll: QueueLink<TrackedConnection> | null = null;
  inOrigin: QueueLink<TrackedConnection> | null = null;

  /** @param number of this process's connections */
  constructor(socket: Socket, process = 0, number = 0) {
    this.socket = this.bare = socket;
    this.#process = process;
    this.#number = number;
  }

  /** What stands in each line of the log about it: `17`; of the third process `3-17`. */
  get id(): string {
    return this.#process === 0 ? String(this.#number) : `${this.#process}-${this.#number}`;
  }
}

/** Where a socket has its entry. */
export const ENTRY = Symbol('connection');
/** What a connection is called that another process has accepted. */
const NAME = Symbol('connection name');
export type Entered = Socket & { [ENTRY]?: TrackedConnection; [NAME]?: string };

/** What its lines in the log call this connection; undefined: it was never entered. */
export function connectionId(socket: Socket | null): string | undefined {
  const entered = socket as Entered | null;
  return entered?.[ENTRY]?.id ?? entered?.[NAME];
}

/** The socket whose `bytesRead` counts all bytes received on this connection, those of TLS included. */
export function bareOf(socket: Socket): Socket {
  return (socket as Entered)[ENTRY]?.bare ?? socket;
}

/** Another process has accepted it, and calls it this. */
export function nameConnection(socket: Socket, id: string | undefined): void {
  if (id !== undefined && (socket as Entered)[ENTRY] === undefined) (socket as Entered)[NAME] = id;
}
