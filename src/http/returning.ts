/**
 * An encoder that comes back while its old connection is not known to be dead (a line that was cut on its side only, another network)
 * finds its mount in use, by itself. BUTT takes that answer for good, and the channel is off the air. So who calls itself as the one who
 * is there is not refused at once: it waits until that one has sent something, or is gone, or may be replaced.
 *
 *   comes ──► waits ──► the other has sent something since ──► refused: there are two
 *               ├─────► the mount is free ──► let in
 *               └─────► it goes itself, and comes again
 *
 * Invariant: it waits no longer than the other may be silent (`takeover`, `sources.bodyTimeoutSeconds`). Its secret was right, and what it
 * sends meanwhile is kept up to a bound. Owned by the encoders' door.
 */

import type { Socket } from 'node:net';
import { ReadAhead } from './held-connection.js';

const LOOK_MS = 100;
/** What comes so soon after the newcomer was under way before it: no sign of life. */
const UNDER_WAY_MS = 500;

/** The one who is there. */
export interface Present {
  /** It may not be replaced. */
  readonly busy: boolean;
  /** What it calls itself; "": it does not say, or nobody is there. */
  readonly agent: string;
  /** How long ago bytes of it came over the network last, milliseconds. */
  readonly quietMs: number;
}

/** Whether an encoder with the right password may be the one who is there. */
export function isReturning(agent: string, present: Present): boolean {
  return present.busy && agent !== '' && agent === present.agent;
}

/**
 * Waits until it is clear whether the one who is there lives. The socket is paused, and is so again when `onClear` is called; never when
 * the newcomer has gone by then.
 * @param mostBytes that are read ahead @param onClear with what was read ahead
 */
export function awaitReturn(
  socket: Socket,
  present: Present,
  mostBytes: number,
  onClear: (ahead: Buffer) => void,
): void {
  const startMs = performance.now();
  const ahead = new ReadAhead(socket, mostBytes, () => clearInterval(looking));
  const looking = setInterval(() => {
    const lives = present.quietMs + UNDER_WAY_MS < performance.now() - startMs;
    if (present.busy && !lives) return;
    clearInterval(looking);
    onClear(ahead.stop());
  }, LOOK_MS);
}
