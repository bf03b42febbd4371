/** One message: a condition has begun to count, or is over. */

import type { Condition } from './condition.js';

export interface Alert extends Condition {
  /** The same in every attempt to deliver it, so that receivers can recognise duplicates. */
  readonly id: string;
  readonly state: 'firing' | 'resolved';
  /** When the condition was first seen, and when this was decided, unix milliseconds. */
  readonly sinceMs: number;
  readonly atMs: number;
  /** How often it began again since the alert before this one, while it was too soon for another. */
  readonly flaps: number;
}
