/**
 * Notices when standard output fails: its reader has gone (`airsplice record … | head`), or the disk of its file is full. The command is then stopped
 * as by a signal, so that it closes its files. Owned by runCommand.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';

export class OwnOutput {
  readonly #broken = new AbortController();

  constructor() {
    process.stdout.on('error', (error) => this.#broken.abort(error));
    // It cannot be reported anywhere.
    process.stderr.on('error', () => undefined);
  }

  /** Aborted as soon as standard output fails. */
  get signal(): AbortSignal {
    return this.#broken.signal;
  }

  /** Why output was lost; null: none was, or the reader has gone, which is not a fault. Call it after the command has ended. */
  async fault(): Promise<string | null> {
    // The error of the last write arrives in a later turn of the loop.
    await nextTurn();
    if (!this.signal.aborted) return null;
    const { code, message } = this.signal.reason as NodeJS.ErrnoException;
    return code === 'EPIPE' ? null : `standard output cannot be written (${code ?? message})`;
  }
}
