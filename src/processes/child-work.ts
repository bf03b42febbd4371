/** What a child process does: the hub's work (hub-process.ts) or a worker's (worker-process.ts). */

import type { Socket } from 'node:net';
import type { OpenLog } from '../base/log.js';
import type { LoadedConfig } from '../config/load.js';
import type { Boot, FromChild, ToChild } from './messages.js';
import type { Stoppable } from './restart/leaving.js';

/** What a child is given to begin with. */
export interface ChildParts {
  readonly boot: Boot;
  readonly config: LoadedConfig;
  readonly opened: OpenLog;
  /** What comes before the work has begun goes here; by default its socket is closed. */
  readonly inbox: { onMessage: ChildWork['onMessage'] };
  /** To the supervisor. @param onSent when the socket is no longer here */
  send(message: FromChild, socket?: Socket, onSent?: () => void): void;
  /** Ends this process as if it was asked to stop. */
  end(): void;
}

/** What a child does, once it has begun. */
export interface ChildWork extends Stoppable {
  onMessage(message: ToChild, socket: Socket | undefined): void;
}
