/** A place that a process fills: the hub's, or one worker's. What ends there is started again: at once, and later each time while it keeps ending. */

import type { ProcessRole } from '../messages.js';
import type { ManagedProcess } from './managed-process.js';

/** When a child that has ended is started again; twice as late each time, unless it lived for STEADY_MS. */
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 10_000;
const STEADY_MS = 10_000;

export class ProcessPlace {
  readonly role: ProcessRole;
  readonly #start: () => ManagedProcess;
  child: ManagedProcess | null = null;
  /** How often one was started again. */
  restarts = 0;
  #startedMs = 0;
  /** Doubled before its first use. */
  #pauseMs = FIRST_PAUSE_MS / 2;
  #timer: NodeJS.Timeout | undefined;

  constructor(role: ProcessRole, start: () => ManagedProcess) {
    this.role = role;
    this.#start = start;
  }

  /** Nobody is here, and nobody is about to be. */
  get isEmpty(): boolean {
    return this.child === null && this.#timer === undefined;
  }

  begin(): void {
    this.#startedMs = performance.now();
    this.child = this.#start();
  }

  /** Another one takes it, which runs already. */
  fill(child: ManagedProcess): void {
    this.close();
    this.child = child;
    this.#startedMs = performance.now();
    this.#pauseMs = FIRST_PAUSE_MS / 2;
  }

  /** It has ended, and is started again after a pause. @returns the pause in milliseconds */
  again(onAgain: () => void): number {
    const livedMs = performance.now() - this.#startedMs;
    this.#pauseMs = livedMs >= STEADY_MS ? FIRST_PAUSE_MS : Math.min(MAX_PAUSE_MS, 2 * this.#pauseMs);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.restarts++;
      onAgain();
      this.begin();
    }, this.#pauseMs);
    return this.#pauseMs;
  }

  /** Nobody is started here any more. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
