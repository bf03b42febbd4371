/** An empty history, with a server's limits. */

import type { HistoryOptions } from '../../src/http/poll/history-pages.js';

export const HISTORY: HistoryOptions = {
  read: () => [],
  versionOf: () => 0,
  entries: 1000,
  pageBytes: 2_097_152,
  cacheBytes: 8_388_608,
  bytesInFlight: 33_554_432,
  bytesInFlightPerAddress: 8_388_608,
  waiting: 64,
  waitingPerAddress: 4,
};
