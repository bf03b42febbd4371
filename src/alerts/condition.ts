/** Something that is wrong at this moment, as conditions.ts finds it. */

import type { AlertEvent } from '../config/alerts-config.js';

export interface Condition {
  readonly event: AlertEvent;
  /** Distinguishes it from others of this event: a channel, a limit, an address; "": there is only one. Never a client's text. */
  readonly subject: string;
  /** The channel's key; undefined: it is not about a channel. */
  readonly channel?: string;
  readonly severity: 'warning' | 'critical';
  /** One line for people, of printable ASCII, without titles, addresses of clients, or secrets. */
  readonly summary: string;
  /** Its details for programs. */
  readonly fields: Readonly<Record<string, string | number | null>>;
}

/** Identifies a condition as long as it lasts. */
export function keyOf({ event, subject }: Pick<Condition, 'event' | 'subject'>): string {
  return `${event} ${subject}`;
}
