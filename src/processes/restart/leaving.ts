/** How a process of this program ends, whatever hangs. */

import { isClosing } from '../../app/stop-steps.js';
import type { OpenLog } from '../../base/log.js';
import { isWriting } from '../../base/output.js';

/** How long a write on its way to a log or the store is waited for at the very end. */
const MOMENT_MS = 20;
const MOMENTS = 10;

/** EX_SOFTWARE of sysexits.h. */
const BROKEN = 70;
/** What listeners get to take their last bytes then: who listens again is answered by the next start only. */
const BROKEN_GRACE_MS = 2000;

/** What can be stopped politely. */
export interface Stoppable {
  /** @param graceMs how long it may take @returns why something could not be closed */
  stop(graceMs?: number): Promise<readonly unknown[]>;
}

/**
 * Out, whatever hangs. Node's own exit would wait for ever for a write that the system does not end, of a log or the store: then by the
 * signal itself, which supervisors count as a clean end where it asked for one. A write that is only on its way gets a moment.
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
 * An uncaught exception leaves a state that is not known: its reason becomes the log's last line at once, listeners are let go
 * with a whole frame as far as that goes, and a supervisor starts anew. A second one ends it where it is.
 */
export function stopWhenBroken({ log, close }: OpenLog, graceMs: number, app: () => Stoppable | null): void {
  let isBroken = false;
  // Unhandled rejections come here too.
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
