/**
 * Notices that standard output fails: its reader has gone (`airsplice record … | head`), or the disk of its file is full. Then the command is stopped
 * as by a signal, so that it closes what it has open. Owned by runCommand.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';

export class OwnOutput {
  readonly #broken = new AbortController();

  constructor() {
    process.stdout.on('error', (error) => this.#broken.abort(error));
    // There is nowhere to report that.
    process.stderr.on('error', () => undefined);
  }

  /** Aborted as soon as standard output fails. */
  get signal(): AbortSignal {
    return this.#broken.signal;
  }

  /** Why not all could be written; null: it could, or the reader has gone, which is not a fault. Called when the command has ended. */
  async fault(): Promise<string | null> {
    // The error of the last write comes in a later turn.
    await nextTurn();
    if (!this.signal.aborted) return null;
    const { code, message } = this.signal.reason as NodeJS.ErrnoException;
    return code === 'EPIPE' ? null : `standard output cannot be written (${code ?? message})`;
  }
}
