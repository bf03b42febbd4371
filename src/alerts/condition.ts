/** Something that is wrong at this moment, as conditions.ts finds it. */

import type { AlertEvent } from '../config/alerts-config.js';

export interface Condition {
  readonly event: AlertEvent;
  /** What distinguishes it from others of this event: a channel, a limit, an address; "": there is only one. Never what a client sent. */
  readonly subject: string;
  /** Undefined: it is not about a channel. */
  readonly channel?: string;
  readonly severity: 'warning' | 'critical';
  /** One line for people, of printable ASCII. No title, address of a client or secret stands in it. */
  readonly summary: string;
  /** The same for programs. */
  readonly fields: Readonly<Record<string, string | number | null>>;
}

/** The same one as long as it lasts. */
export function keyOf({ event, subject }: Pick<Condition, 'event' | 'subject'>): string {
  return `${event} ${subject}`;
}
