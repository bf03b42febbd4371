/** A slot for a process: the hub, or one of the workers. A process that ends is restarted at once, and after growing pauses while it keeps ending. */

import type { ProcessRole } from '../messages.js';
import type { ManagedProcess } from './managed-process.js';

/** The pause before a restart, milliseconds; doubled each time, unless the child lived for STEADY_MS. */
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 10_000;
const STEADY_MS = 10_000;

export class ProcessSlot {
  readonly role: ProcessRole;
  readonly #start: () => ManagedProcess;
  child: ManagedProcess | null = null;
  /** How often a process was restarted here. */
  restarts = 0;
  #startedMs = 0;
  /** Doubled before its first use. */
  #pauseMs = FIRST_PAUSE_MS / 2;
  #timer: NodeJS.Timeout | undefined;

  constructor(role: ProcessRole, start: () => ManagedProcess) {
    this.role = role;
    this.#start = start;
  }

  /** Whether it has no process, and no restart is pending. */
  get isEmpty(): boolean {
    return this.child === null && this.#timer === undefined;
  }

  start(): void {
    this.#startedMs = performance.now();
    this.child = this.#start();
  }

  /** Puts a process that runs already into the slot. */
  fill(child: ManagedProcess): void {
    this.close();
    this.child = child;
    this.#startedMs = performance.now();
    this.#pauseMs = FIRST_PAUSE_MS / 2;
  }

  /** Restarts the process after a pause. @returns the pause, milliseconds */
  again(onAgain: () => void): number {
    const livedMs = performance.now() - this.#startedMs;
    this.#pauseMs = livedMs >= STEADY_MS ? FIRST_PAUSE_MS : Math.min(MAX_PAUSE_MS, 2 * this.#pauseMs);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.restarts++;
      onAgain();
      this.start();
    }, this.#pauseMs);
    return this.#pauseMs;
  }

  /** Cancels a pending restart. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
