/**
 * Standard output and error of a command, when they break: the reader of standard output has gone (`airsplice record … | head`), or the disk of its file is full.
 * The command is stopped then, as by a signal, so that what it has open is closed. Owned by runCommand.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';

export class OwnOutput {
  readonly #broken = new AbortController();

  constructor() {
    process.stdout.on('error', (error) => this.#broken.abort(error));
    // There is nowhere to say it.
    process.stderr.on('error', () => undefined);
  }

  /** Aborted as soon as standard output takes nothing any more. */
  get signal(): AbortSignal {
    return this.#broken.signal;
  }

  /** Why not all could be written, once all has been tried; null: it could. A reader that has gone wants no more: that is not a fault. */
  async fault(): Promise<string | null> {
    // The error of a write comes behind it.
    await nextTurn();
    if (!this.signal.aborted) return null;
    const { code, message } = this.signal.reason as NodeJS.ErrnoException;
    return code === 'EPIPE' ? null : `standard output cannot be written (${code ?? message})`;
  }
}
