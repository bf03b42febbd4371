/** What requests have come to, counted where they are answered (network.ts). */

import type { Counts, Durations } from '../../base/counts.js';

export interface RequestCounts {
  /** By `status channel`; the channel is "" where it was not known. */
  readonly pushes: Counts;
  /** From the arrival of an accepted push until its readers were written to. */
  readonly pushDurations: Durations;
  /** Connections of encoders by status. */
  readonly encoders: Counts;
  /** What became of questions to the listener hook. */
  readonly hookVerdicts: Counts;
  /** The same of the hooks of encoders. */
  readonly encoderHookVerdicts: Counts;
}
