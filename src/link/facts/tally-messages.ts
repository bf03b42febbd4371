/** What processes say to each other of what they count together (base/tallies.ts), as control messages of a link, both ways. */

import type { TallyRows } from '../../base/tallies.js';

export interface TallyMessage {
  readonly type: 'tallies';
  /** From a worker: of what it has itself. From the hub: of what all other processes have. */
  readonly rows: TallyRows;
  /** From the hub: the first of this link. */
  readonly isFirst: boolean;
}

/** From a worker that is about to end: its metrics, as prom-client makes them. */
export interface LastMetrics {
  readonly type: 'metrics';
  readonly metrics: unknown;
}

/** How often a worker says what has changed; the hub passes it on at its next look. Together well below a second. */
export const TALLY_MS = 125;
export const TALLY_PASS_MS = 80;
/**
 * How many rows one message has, about (2 to 3 ms at both ends): 10,000 addresses that come within a second, each in three tallies, are said in that
 * second.
 */
export const MAX_TALLY_ROWS = 4096;
