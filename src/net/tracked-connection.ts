/** One entry of the table of connections (`connections.ts`): where it stands, and what is counted of its address. */

import type { Socket } from 'node:net';
import type { Queue, QueueLink } from './queue.js';

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

  constructor(socket: Socket) {
    this.socket = socket;
  }
}

/** Where a socket has its entry. */
export const ENTRY = Symbol('connection');
export type Entered = Socket & { [ENTRY]?: TrackedConnection };
