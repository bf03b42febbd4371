/** What an operator has to see in the log: a store that cannot be used, and an event loop that was blocked. Asked once a second. */

import type { Log } from '../base/log.js';
import type { Watchdog } from '../base/watchdog.js';
import type { Store } from '../store/store.js';

/** Logs when the store is not where it was, and when it is again. */
export function storeWatch(store: Store, log: Log): () => void {
  let last: string | null = null;
  return () => {
    const fault = store.fault();
    if (fault !== last && fault !== null) log.error({ fault }, 'the store cannot be used: titles are refused');
    if (fault === null && last !== null) log.info('the store can be used again');
    last = fault;
  };
}

/** Logs the longest turn of the event loop that was too long. */
export function turnWatch(watchdog: Watchdog, log: Log): () => void {
  return () => {
    const turn = watchdog.take();
    if (turn !== null) log.warn({ ...turn, tookMs: Math.round(turn.tookMs) }, 'the event loop was held for too long');
  };
}
