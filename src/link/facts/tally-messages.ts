/** The control messages by which processes share their counts (base/tallies.ts), in both directions of a link. */

import type { TallyRows } from '../../base/tallies.js';

export interface TallyMessage {
  readonly type: 'tallies';
  /** From a worker: its own counts. From the hub: the counts of all other processes. */
  readonly rows: TallyRows;
  /** From the hub: whether it is the first on this link. */
  readonly isFirst: boolean;
}

/** The last metrics of a worker that is about to exit, in the format of prom-client. */
export interface LastMetrics {
  readonly type: 'metrics';
  readonly metrics: unknown;
}

/** Interval at which a worker sends changed counts, and at which the hub forwards them, as long as they change. Together well below a second. */
export const TALLY_MS = 125;
export const TALLY_PASS_MS = 80;
/** Interval at which changes are looked for while none is noticed. */
export const LOOK_MS = 1000;
/**
 * Approximate number of rows in one message (2 to 3 ms at both ends). 10,000 addresses that connect within a second, each in three tallies, are sent
 * within that second.
 */
export const MAX_TALLY_ROWS = 4096;
