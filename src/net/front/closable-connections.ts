/**
 * The connections that may be closed to make room, in queues for the whole server and for each address, and which one is closed next.
 *
 * The oldest of the largest of three queues is closed: silent, speaking (incomplete head), kept; while all three fit into the reserve, the oldest
 * idle stranger. Undecided ones must not displace idle ones: beyond the reserve they make room themselves. Pending ones (a secret or a body is
 * awaited) are closed only beyond half of the reserve, or of an address's limit, so that strangers cannot fill it.
 *
 * Invariant: while a connection has a state, it is in one queue of the server, and in one of its address. No step looks at more than a few entries.
 * Owned by connections.ts.
 */

import type { Tallies } from '../../base/tallies.js';
import type { Tally } from '../../base/tally.js';
import { Queue } from '../limits/queue.js';
import type { ConnectionOrigin, ConnectionState, TrackedConnection } from './tracked-connection.js';

export class ClosableConnections {
  readonly #queues: Readonly<Record<Exclude<ConnectionState, null>, Queue<TrackedConnection>>> = {
    silent: new Queue(),
    speaking: new Queue(),
    kept: new Queue(),
    idle: new Queue(),
    pending: new Queue(),
  };
  readonly #all: Tally;
  readonly #pendingByOrigin: Tally;

  constructor(tallies: Tallies) {
    this.#all = tallies.all;
    this.#pendingByOrigin = tallies.tally('pending connections');
    tallies.onLook(() => {
      this.#all.set('undecided', this.undecided);
      this.#all.set('pending', this.#queues.pending.size);
    });
  }

  /** Number of connections that are silent, speaking or kept. */
  get undecided(): number {
    const { silent, speaking, kept } = this.#queues;
    return silent.size + speaking.size + kept.size;
  }

  /** Connections of strangers, without a request. */
  get idle(): Queue<TrackedConnection> {
    return this.#queues.idle;
  }

  /** Moves a connection to the end of the queues for this state. @param state null: it may not be closed, and is in no queue */
  move(entry: TrackedConnection, state: ConnectionState): void {
    const { origin } = entry;
    if (entry.inOrigin !== null) {
      const side = sideOf(entry.state);
      const queue = origin![side]!;
      queue.remove(entry.inOrigin);
      if (queue.size === 0) origin![side] = null;
      if (side === 'pending') this.#pendingByOrigin.add(origin!.key, -1);
      entry.inOrigin = null;
    }
    if (entry.inAll !== null) this.#queues[entry.state!].remove(entry.inAll);
    entry.inAll = state === null ? null : this.#queues[state].add(entry);
    entry.state = state;
    if (state === null || origin === null) return;
    entry.inOrigin = (origin[sideOf(state)] ??= new Queue()).add(entry);
    if (state === 'pending') this.#pendingByOrigin.add(origin.key, 1);
  }

  /** Makes a connection the newest in its queues. */
  renew(entry: TrackedConnection): void {
    if (entry.inAll === null) return;
    this.#queues[entry.state!].renew(entry.inAll);
    if (entry.inOrigin !== null) entry.origin![sideOf(entry.state)]!.renew(entry.inOrigin);
  }

  /** The connection to close next for an address at its own limit. @param most its maximum number of connections */
  nextOf({ key, loose, pending }: ConnectionOrigin, most: number): TrackedConnection | undefined {
    return loose?.oldest ?? (this.#pendingByOrigin.count(key) > most / 2 ? pending?.oldest : undefined);
  }

  /** The connection to close next in the whole server. @param reserved places that strangers cannot take @param except the one that needs room */
  next(reserved: number, except?: TrackedConnection): TrackedConnection | undefined {
    const { silent, speaking, kept, idle, pending } = this.#queues;
    const largest = [silent, speaking, kept].reduce((most, queue) => (queue.size > most.size ? queue : most));
    const undecided = largest.oldest === except ? (speaking.oldest ?? kept.oldest) : largest.oldest;
    const isCrowd = this.undecided + this.#all.others('undecided') > reserved;
    const loose = isCrowd ? (undecided ?? idle.oldest) : (idle.oldest ?? undecided);
    if (loose !== undefined) return loose;
    return pending.size + this.#all.others('pending') > reserved / 2 ? pending.oldest : undefined;
  }
}

function sideOf(state: ConnectionState): 'pending' | 'loose' {
  return state === 'pending' ? 'pending' : 'loose';
}
