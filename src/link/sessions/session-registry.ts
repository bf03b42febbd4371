/**
 * The hub's registry of sessions, by metaid: which workers have them, and which follow them. It notifies each worker of the sessions of the others,
 * and forwards the events of the session that comes first (listener/sessions/session-location.ts) to its followers.
 *
 *   metaid → locations      worker 1: plays since 12.0     worker 2: plays since 14.5 ◄── comes first
 *          → followers   worker 1                       it hears of worker 2's session
 *
 * Invariant: a worker gets the events of a session elsewhere only after the notice that it comes first, and before the notice that another one does.
 * The entries of a worker are removed with it. Independent of the wire.
 *
 * Another machine of a cluster counts as a worker, with a number from FIRST_NODE on (cluster/session-bridge.ts). Each machine reports its own workers
 * only, and forwards nothing from one machine to another.
 */

import {
  isSameLocation,
  isSameSession,
  plays,
  precedes,
  type SessionLocation,
  type SessionTimes,
} from '../../listener/sessions/session-location.js';
import type { RelayedType } from './session-messages.js';

/** Other machines have numbers from here on. */
export const FIRST_NODE = 1_000_000_000;

/** Sends to one worker. */
export interface RegistryPort {
  /** The first session of all other workers. */
  notifyFirst(metaid: string, location: SessionLocation | null): void;
  /** Whether others follow its session. */
  follow(metaid: string, isFollowed: boolean): void;
  /** Another worker asks for the state of its session. */
  ask(metaid: string, worker: number): void;
  relay(type: RelayedType, worker: number, metaid: string, sinceMs: number, rest: Buffer): void;
  /** A report received by another worker, with its number there. */
  report(metaid: string, worker: number, id: number, bytes: Buffer): void;
  /** The verdict on a report that it has forwarded. */
  verdict(id: number, verdict: string): void;
}

interface RegisteredMetaid {
  locations: SessionLocation[];
  followers: number[];
}

export class SessionRegistry {
  readonly #metaids = new Map<string, RegisteredMetaid>();
  readonly #ports = new Map<number, RegistryPort>();
  /** By worker: number of its sessions, and of the metaids it follows. */
  readonly #counts = new Map<number, number>();
  readonly #follows = new Map<number, number>();
  readonly #most: () => number;

  /** @param most maximum of either for one worker or machine; further ones are ignored */
  constructor(most: () => number = () => Number.POSITIVE_INFINITY) {
    this.#most = most;
  }

  /** Number of metaids with a session or followers. */
  get count(): number {
    return this.#metaids.size;
  }

  /** A worker has linked: it is sent the sessions of the others. */
  add(worker: number, port: RegistryPort): void {
    // Its former connection may not have ended here yet.
    const before = this.#ports.get(worker);
    if (before !== undefined) this.remove(worker, before);
    for (const [metaid, known] of this.#metaids) {
      const location = first(known.locations, worker);
      if (location !== null) port.notifyFirst(metaid, location);
      if (known.followers.some((follower) => hears(worker, follower))) port.follow(metaid, true);
    }
    this.#ports.set(worker, port);
  }

  /** A worker has ended, unless it has linked again by another port. */
  remove(worker: number, port: RegistryPort): void {
    if (this.#ports.get(worker) !== port) return;
    this.#ports.delete(worker);
    for (const [metaid, { locations, followers }] of this.#metaids) {
      if (followers.includes(worker)) this.follow(worker, metaid, false);
      if (locations.some((location) => location.worker === worker)) this.setFirst(worker, metaid, null);
    }
  }

  /** The session that comes first in this worker; null: none. */
  setFirst(worker: number, metaid: string, times: SessionTimes | null): void {
    const known = this.#known(metaid);
    const old = known.locations.find((location) => location.worker === worker) ?? null;
    if (!this.#count(this.#counts, worker, Number(times !== null) - Number(old !== null))) {
      this.#drop(metaid, known);
      return;
    }
    const location = times && { worker, sinceMs: times.sinceMs, endedMs: times.endedMs };
    known.locations = known.locations.filter((other) => other !== old);
    for (const [other, port] of this.#ports) {
      if (!hears(other, worker)) continue;
      const rest = first(known.locations, other);
      const after = firstOf(rest, location);
      if (!isSameLocation(firstOf(rest, old), after)) port.notifyFirst(metaid, after);
    }
    if (location !== null) known.locations.push(location);
    this.#drop(metaid, known);
  }

  follow(worker: number, metaid: string, isFollowed: boolean): void {
    const known = this.#known(metaid);
    const isSame = known.followers.includes(worker) === isFollowed;
    if (isSame || !this.#count(this.#follows, worker, isFollowed ? 1 : -1)) {
      this.#drop(metaid, known);
      return;
    }
    known.followers = known.followers.filter((other) => other !== worker);
    for (const [other, port] of this.#ports) {
      if (hears(other, worker) && !known.followers.some((follower) => hears(other, follower)))
        port.follow(metaid, isFollowed);
    }
    if (isFollowed) known.followers.push(worker);
    this.#drop(metaid, known);
  }

  /** A worker asks for the whole state of the session that comes first elsewhere. */
  ask(worker: number, metaid: string): void {
    const location = this.#firstRemote(metaid, worker);
    if (location !== null) this.#ports.get(location.worker)?.ask(metaid, worker);
  }

  /** Forwards an event of a worker's session. @param to a worker; 0: all followers */
  relay(type: RelayedType, worker: number, metaid: string, to: number, sinceMs: number, rest: Buffer): void {
    const known = this.#metaids.get(metaid);
    for (const follower of to === 0 ? (known?.followers ?? []) : [to]) {
      if (!hears(follower, worker)) continue;
      const location = this.#firstRemote(metaid, follower);
      if (location === null || !isSameSession(location, { worker, sinceMs })) continue;
      this.#ports.get(follower)?.relay(type, worker, metaid, sinceMs, rest);
    }
  }

  /** Forwards a player's report to the worker of its session. @param id its number in the worker that received it */
  report(worker: number, metaid: string, id: number, bytes: Buffer): void {
    const location = this.#firstRemote(metaid, worker);
    const port = location !== null && plays(location) ? this.#ports.get(location.worker) : undefined;
    if (port !== undefined) port.report(metaid, worker, id, bytes);
    else this.verdict(worker, id, 'not-playing');
  }

  /** @param worker that received the report */
  verdict(worker: number, id: number, verdict: string): void {
    this.#ports.get(worker)?.verdict(id, verdict);
  }

  /** False: it would exceed the limit. */
  #count(counts: Map<number, number>, worker: number, change: number): boolean {
    const count = (counts.get(worker) ?? 0) + change;
    if (change > 0 && count > this.#most()) return false;
    if (count === 0) counts.delete(worker);
    else counts.set(worker, count);
    return true;
  }

  #firstRemote(metaid: string, worker: number): SessionLocation | null {
    const known = this.#metaids.get(metaid);
    return known === undefined ? null : first(known.locations, worker);
  }

  #known(metaid: string): RegisteredMetaid {
    let known = this.#metaids.get(metaid);
    if (known === undefined) this.#metaids.set(metaid, (known = { locations: [], followers: [] }));
    return known;
  }

  #drop(metaid: string, { locations, followers }: RegisteredMetaid): void {
    if (locations.length === 0 && followers.length === 0) this.#metaids.delete(metaid);
  }
}

/** Whether a worker or machine is notified of the sessions of the other one. */
function hears(worker: number, other: number): boolean {
  return worker !== other && (worker < FIRST_NODE || other < FIRST_NODE);
}

/** The first of the sessions that this worker is notified of. */
function first(locations: readonly SessionLocation[], worker: number): SessionLocation | null {
  let found: SessionLocation | null = null;
  for (const location of locations) if (hears(worker, location.worker)) found = firstOf(found, location);
  return found;
}

function firstOf(a: SessionLocation | null, b: SessionLocation | null): SessionLocation | null {
  if (a === null || b === null) return a ?? b;
  return precedes(a, b) ? a : b;
}
