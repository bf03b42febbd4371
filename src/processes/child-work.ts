/** The work of a child process: that of the hub (hub-process.ts) or of a worker (worker-process.ts). */

import type { Socket } from 'node:net';
import type { OpenLog } from '../base/log.js';
import type { LoadedConfig } from '../config/load.js';
import type { Boot, FromChild, ToChild } from './messages.js';
import type { Stoppable } from './restart/leaving.js';

/** What a child needs to start its work. */
export interface ChildParts {
  readonly boot: Boot;
  readonly config: LoadedConfig;
  readonly opened: OpenLog;
  /** Passes on the messages that arrive from now on, until the work has started; without it, they are dropped and their sockets closed. */
  receive(onMessage: ChildWork['onMessage']): void;
  /** Sends a message to the supervisor. @param onSent called when the socket has left this process */
  send(message: FromChild, socket?: Socket, onSent?: () => void): void;
  /** Ends this process as if the supervisor had asked it to stop. */
  end(): void;
}

/** The work of a child once it has started. */
export interface ChildWork extends Stoppable {
  onMessage(message: ToChild, socket: Socket | undefined): void;
}
