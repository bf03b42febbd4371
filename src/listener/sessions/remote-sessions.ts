/**
 * The metaids that have a session in another process, as the hub reports, and whether readers get that session or the one of this process. Entries
 * survive the loss of the hub; those that the next hub does not confirm within SETTLE_MS are forgotten. Owned by SharedSessions.
 */

import type { Alarm, Clock } from '../../base/clock.js';
import type { ReportBudget } from './heard-reports.js';
import type { Session } from './session.js';
import { isSameSession, precedes, type SessionLocation } from './session-location.js';
import type { Sessions } from './sessions.js';

/** After this time with a new hub, sessions that it has not confirmed are forgotten. */
const SETTLE_MS = 2000;

/** A metaid's first session in the other processes. */
export interface RemoteSession extends ReportBudget {
  readonly location: SessionLocation;
  /** Whether the present hub has reported it. */
  isConfirmed: boolean;
}

export interface RemoteSessionsParts {
  /** The number of this process. */
  readonly worker: number;
  sessions(): Pick<Sessions, 'get'>;
  readonly clock: Clock;
}

export class RemoteSessions {
  readonly #parts: RemoteSessionsParts;
  readonly #onForgotten: (metaid: string) => void;
  readonly #first = new Map<string, RemoteSession>();
  #settling: Alarm | null = null;

  constructor(parts: RemoteSessionsParts, onForgotten: (metaid: string) => void) {
    this.#parts = parts;
    this.#onForgotten = onForgotten;
  }

  /** Number of metaids with a session in another process, playing or ended. */
  get count(): number {
    return this.#first.size;
  }

  /** @param location null: there is none any more */
  set(metaid: string, location: SessionLocation | null): void {
    if (location === null) {
      this.#first.delete(metaid);
      return;
    }
    const known = this.#first.get(metaid);
    const isKnown = known !== undefined && isSameSession(known.location, location);
    const reportableMs = isKnown ? known.reportableMs : Number.NEGATIVE_INFINITY;
    this.#first.set(metaid, { location, isConfirmed: true, reportableMs });
  }

  /** The other process's session, if readers get it; null: they get the session of this process. */
  ahead(metaid: string): RemoteSession | null {
    const remote = this.#first.get(metaid);
    if (remote === undefined) return null;
    const own = this.#parts.sessions().get(metaid);
    return own === undefined || precedes(remote.location, this.#location(own)) ? remote : null;
  }

  /** Whether readers get another process's session instead of this one. */
  outranks(own: Session): boolean {
    const location = this.#first.get(own.metaid)?.location;
    return location !== undefined && precedes(location, this.#location(own));
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
    for (const remote of this.#first.values()) remote.isConfirmed = false;
  }

  #location({ sinceMs, endedMs }: Session): SessionLocation {
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
