/**
 * The metaids that have a session in another process, as the hub reports, and whether readers get that session or the one of this process. Entries
 * survive the loss of the hub; those that the next hub does not confirm within SETTLE_MS are forgotten. Owned by SharedSessions.
 */

import type { Alarm, Clock } from '../../base/clock.js';
import type { ReportBudget } from './heard-reports.js';
import type { Session } from './session.js';
import { isSameSession, precedes, type SessionPlace } from './session-place.js';
import type { Sessions } from './sessions.js';

/** After this time with a new hub, sessions that it has not confirmed are forgotten. */
const SETTLE_MS = 2000;

/** A metaid's first session in the other processes. */
export interface Elsewhere extends ReportBudget {
  readonly place: SessionPlace;
  /** Whether the present hub has reported it. */
  isConfirmed: boolean;
}

export interface SessionsElsewhereParts {
  /** The number of this process. */
  readonly worker: number;
  readonly sessions: Pick<Sessions, 'get'>;
  readonly clock: Clock;
}

export class SessionsElsewhere {
  readonly #parts: SessionsElsewhereParts;
  readonly #onForgotten: (metaid: string) => void;
  readonly #first = new Map<string, Elsewhere>();
  #settling: Alarm | null = null;

  constructor(parts: SessionsElsewhereParts, onForgotten: (metaid: string) => void) {
    this.#parts = parts;
    this.#onForgotten = onForgotten;
  }

  /** Number of metaids with a session in another process, playing or ended. */
  get count(): number {
    return this.#first.size;
  }

  /** @param place null: there is none any more */
  set(metaid: string, place: SessionPlace | null): void {
    if (place === null) {
      this.#first.delete(metaid);
      return;
    }
    const known = this.#first.get(metaid);
    const isKnown = known !== undefined && isSameSession(known.place, place);
    const reportableMs = isKnown ? known.reportableMs : Number.NEGATIVE_INFINITY;
    this.#first.set(metaid, { place, isConfirmed: true, reportableMs });
  }

  /** The other process's session, if readers get that one; null: they get the session of this process. */
  ahead(metaid: string): Elsewhere | null {
    const elsewhere = this.#first.get(metaid);
    if (elsewhere === undefined) return null;
    const own = this.#parts.sessions.get(metaid);
    return own === undefined || precedes(elsewhere.place, this.#place(own)) ? elsewhere : null;
  }

  /** Whether readers get another process's session instead of this one. */
  outranks(own: Session): boolean {
    const place = this.#first.get(own.metaid)?.place;
    return place !== undefined && precedes(place, this.#place(own));
  }

  /** Connected to a hub, which will report the sessions of the other processes. */
  onLinked(): void {
    if (this.#first.size === 0) return;
    const { clock } = this.#parts;
    this.#settling = clock.alarm(clock.now() + SETTLE_MS, { onAlarm: () => this.#forgetUnconfirmed() });
  }

  /** The hub is lost. */
  onLost(): void {
    // A new alarm is set when the next hub is linked.
    this.#settling?.cancel();
    for (const elsewhere of this.#first.values()) elsewhere.isConfirmed = false;
  }

  #place({ sinceMs, endedMs }: Session): SessionPlace {
    return { worker: this.#parts.worker, sinceMs, endedMs };
  }

  #forgetUnconfirmed(): void {
    for (const [metaid, { isConfirmed }] of this.#first) {
      if (isConfirmed) continue;
      this.#first.delete(metaid);
      this.#onForgotten(metaid);
    }
  }
}
