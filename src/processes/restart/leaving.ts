/** How a process of this program ends, even if a write or a part of the stop hangs. */

import { isClosing } from '../../app/stop-steps.js';
import type { OpenLog } from '../../base/log.js';
import { isWriting } from '../../base/output.js';

/** The pause between two checks for a write to a log or the store at the very end, and the number of checks. */
const MOMENT_MS = 20;
const MOMENTS = 10;

/** EX_SOFTWARE of sysexits.h. */
const BROKEN = 70;
/** How long listeners then get to receive their last bytes; those that connect again must wait for the next start. */
const BROKEN_GRACE_MS = 2000;

export interface Stoppable {
  /** @param graceMs how long the stop may take @returns the errors of what could not be closed */
  stop(graceMs?: number): Promise<readonly unknown[]>;
}

/**
 * Ends this process whatever hangs. `process.exit` would wait forever for a write to a log or the store that never completes. So such a process
 * kills itself, by the signal that asked it to stop, which service managers count as a clean end. A write in progress first gets a moment.
 */
export function leave(code: number, signal: NodeJS.Signals, moments = MOMENTS): void {
  if (!isWriting() && !isClosing()) process.exit(code);
  if (moments > 0) {
    setTimeout(leave, MOMENT_MS, code, signal, moments - 1);
    return;
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/**
 * Stops the process after an uncaught exception, which leaves it in an unknown state: the error is logged at once, listeners are ended after a
 * whole frame if possible, and the supervisor or service manager starts the process again. A second exception ends it immediately.
 */
export function stopWhenBroken({ log, close }: OpenLog, graceMs: number, app: () => Stoppable | null): void {
  let isBroken = false;
  // Unhandled rejections arrive here too.
  process.on('uncaughtException', (error) => {
    if (isBroken) return leave(BROKEN, 'SIGKILL');
    isBroken = true;
    log.fatal({ err: error }, 'uncaught exception: stopping');
    const written = close();
    const stopMs = Math.min(graceMs, BROKEN_GRACE_MS);
    setTimeout(leave, stopMs, BROKEN, 'SIGKILL');
    const stopped = app()
      ?.stop(stopMs)
      .catch(() => undefined);
    void Promise.all([stopped, written]).then(() => leave(BROKEN, 'SIGKILL'));
  });
}
