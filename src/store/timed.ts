/** A store that reports slow saves, so that the log names the disk when titles come late. */

import type { ChannelState, HistoryEntry } from '../now-playing/state.js';
import type { HistoryPage, Store } from './store.js';

/** A flush takes milliseconds; a disk that others keep busy was seen to take seconds. */
const SLOW_MS = 1000;

/** @param onSlow called for each save that took `slowMs` or longer, once it has ended, well or not */
export function timed(store: Store, onSlow: (channel: string, tookMs: number) => void, slowMs = SLOW_MS): Store {
  return {
    load: (channel: string) => store.load(channel),
    save: async (channel: string, state: ChannelState, history?: readonly HistoryEntry[]) => {
      const startMs = performance.now();
      try {
        await store.save(channel, state, history);
      } finally {
        const tookMs = performance.now() - startMs;
        if (tookMs >= slowMs) onSlow(channel, Math.round(tookMs));
      }
    },
    history: (channel: string, page: HistoryPage) => store.history(channel, page),
    fault: () => store.fault(),
    close: () => store.close(),
  };
}
