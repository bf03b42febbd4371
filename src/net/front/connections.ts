/**
 * The table of all connections: limits in all and by address, and what each connection may use.
 *
 *   accepted ─► silent ─► speaking ──a stranger's request──► busy ⇄ idle                at most `connections` − `reserved` strangers
 *                            ├──a request that the reserve is for──► pending ──right secret──► proven     either ─► kept ─► pending …
 *                            └──an encoder is let in──► admitted                        at most `connections` of all
 *
 * At the accept no client is known; the reserve is for requests of encoders, playout systems and operators. If there is no room, a dispensable
 * connection is closed (closable-connections.ts), one of the same address first. Busy, proven and admitted connections are never closed for
 * that.
 *
 * Invariant: every open connection is counted once, in all and for its address. Sockets that were never entered (tests) have no limits.
 * Made by app/worker/guards.ts; fronts enter, acceptors and the router report (src/net/README.md, "Connections"). Processes share the
 * limits: each adds the others' counts to its own, and makes room among its own.
 */

import type { Socket } from 'node:net';
import { originOf, plainAddress } from '../../base/ip.js';
import { Tallies } from '../../base/tallies.js';
import type { Tally } from '../../base/tally.js';
import { ClosableConnections } from './closable-connections.js';
import { type ConnectionOrigin, ENTRY, type Entered, TrackedConnection } from './tracked-connection.js';

/** Why a connection was not served: labels of the metric. */
export type ConnectionRefusal = 'full' | 'reserved' | 'address' | 'files' | 'blocked';

/** Why a connection is closed for what it sent, as logged, with the corresponding HTTP status. */
export const CONNECTION_FAULTS = {
  'too many key updates': 429,
  'a PROXY header, which this address does not read (proxyProtocol)': 400,
  'no PROXY header, which this address must have (proxyProtocol)': 400,
  'not one of proxies.trusted, the only clients allowed on this address (proxyProtocol)': 403,
} as const;

export type ConnectionFault = keyof typeof CONNECTION_FAULTS;

export interface ConnectionLimits {
  /** Connections of all kinds. */
  readonly connections: number;
  /** From one address (IPv6: one /64 network). */
  readonly perAddress: number;
  /** How many of `connections` are not for strangers. */
  readonly reserved: number;
  /** Whether many unrelated clients share the address: it has no limit. */
  isShared(address: string): boolean;
  /** Whether an operator has blocked the address. Absent: none is. */
  isBlocked?(address: string): boolean;
  /** Shared with the other processes; absent: there are none. */
  readonly tallies?: Tallies;
  /** The number of this process; absent: it is the only one. */
  readonly process?: number;
  /** @param address as plainAddress writes it; "": unknown @param connection its id; undefined: it was not accepted */
  onRefused(why: ConnectionRefusal, address: string, connection?: string): void;
  /** Absent: faults are not reported. */
  onFault?(fault: ConnectionFault, address: string, connection?: string): void;
}

export class Connections {
  readonly #limits: ConnectionLimits;
  /** The system's limit for this process. */
  #restricted = Number.POSITIVE_INFINITY;
  readonly #all: Tally;
  readonly #byOrigin: Tally;
  readonly #origins = new Map<string, ConnectionOrigin>();
  readonly #closable: ClosableConnections;
  /** Connections since the start. */
  #entered = 0;
  #count = 0;
  #strangers = 0;
  #madeRoom = 0;
  readonly #refusals: Record<ConnectionRefusal, number> = { full: 0, reserved: 0, address: 0, files: 0, blocked: 0 };
  readonly #onClose: (this: Entered) => void;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
    const tallies = limits.tallies ?? new Tallies();
    this.#all = tallies.all;
    this.#byOrigin = tallies.tally('connections');
    this.#closable = new ClosableConnections(tallies);
    tallies.onLook(() => {
      this.#all.set('connections', this.#count);
      this.#all.set('strangers', this.#strangers);
    });
    const leave = (entry: TrackedConnection) => this.#leave(entry);
    this.#onClose = function () {
      leave(this[ENTRY]!);
    };
  }

  get count(): number {
    return this.#count;
  }

  /** Connections without a request: `idle` ones of strangers, and all others. */
  get loose(): { readonly undecided: number; readonly idle: number } {
    return { undecided: this.#closable.undecided, idle: this.#closable.idle.size };
  }

  /** Connections that were closed to make room. */
  get madeRoom(): number {
    return this.#madeRoom;
  }

  get refusals(): Readonly<Record<ConnectionRefusal, number>> {
    return this.#refusals;
  }

  /** The maximum number of connections from this address. */
  maxFrom(address: string): number {
    return this.#limits.isShared(address) ? Number.POSITIVE_INFINITY : this.#limits.perAddress;
  }

  /** The system allows fewer connections than configured. The reserve is at most half of them. */
  restrict(most: number): void {
    this.#restricted = Math.min(this.#restricted, most);
  }

  /**
   * Enters a connection that was just accepted. False: there is no room, and it was closed.
   * @param address of the peer; null: a proxy that will name the client (`setClient`)
   */
  enter(socket: Socket, address: string | null): boolean {
    const entry = new TrackedConnection(socket, this.#limits.process, ++this.#entered);
    (socket as Entered)[ENTRY] = entry;
    this.#count++;
    this.#closable.move(entry, 'silent');
    socket.on('close', this.#onClose);
    if (address !== null && !this.#claim(entry, address)) return false;
    if (this.#hasRoom || this.#makeRoomFor(entry, address)) return true;
    return this.#refuse(entry, 'full');
  }

  /** The proxy of a connection has named its client. False: there is no room, and it was closed. */
  setClient(socket: Socket, address: string): boolean {
    const entry = (socket as Entered)[ENTRY];
    return entry === undefined || (!entry.isGone && (entry.origin !== null || this.#claim(entry, address)));
  }

  /** The connection continues as its TLS socket. */
  setSecure(bare: Socket, secure: Socket): void {
    const entry = (bare as Entered)[ENTRY];
    if (entry === undefined) return;
    (secure as Entered)[ENTRY] = entry;
    entry.socket = secure;
  }

  /** The first bytes of a connection have come, after PROXY header and TLS. */
  speak(socket: Socket): void {
    const entry = (socket as Entered)[ENTRY];
    if (entry?.state === 'silent') this.#closable.move(entry, 'speaking');
  }

  /**
   * A request has come: the connection is not closed before `end` was called as often, which never happens for a listener. False: there is no room
   * for strangers; answer so and close it. @param isReserved the request may use the reserve: it is pending
   */
  begin(socket: Socket, isReserved = false): boolean {
    const entry = (socket as Entered)[ENTRY];
    if (entry === undefined) return true;
    if (entry.isGone) return false;
    if (!entry.isStranger && !isReserved) {
      if (!this.#hasRoomForStranger && !this.#close(this.#closable.idle.oldest)) {
        return this.#report('reserved', entry.address, entry.id);
      }
      entry.isStranger = true;
      this.#strangers++;
    }
    entry.owed++;
    if (entry.isStranger || entry.isProven) this.#closable.move(entry, null);
    else if (entry.state !== 'pending') this.#closable.move(entry, 'pending');
    return true;
  }

  /** The present request of a connection came with a right secret: it is not closed before the answer. */
  prove(socket: Socket): void {
    const entry = (socket as Entered)[ENTRY];
    if (entry === undefined || entry.isGone || entry.owed === 0) return;
    entry.isProven = true;
    this.#closable.move(entry, null);
  }

  /** A request was answered. */
  end(socket: Socket): void {
    const entry = (socket as Entered)[ENTRY];
    if (entry === undefined || entry.isGone || --entry.owed > 0) return;
    entry.isProven = false;
    this.#closable.move(entry, entry.isStranger ? 'idle' : 'kept');
  }

  /** A request was answered at once: it is now the newest of its queue. */
  touch(socket: Socket): void {
    const entry = (socket as Entered)[ENTRY];
    if (entry !== undefined) this.#closable.renew(entry);
  }

  /** An encoder was admitted: it is not a stranger, and is not closed. */
  admit(socket: Socket): void {
    const entry = (socket as Entered)[ENTRY];
    if (entry !== undefined && !entry.isGone) this.#closable.move(entry, null);
  }

  /** Reports why a connection is about to be closed. */
  fault(socket: Socket, fault: ConnectionFault): void {
    const entry = (socket as Entered)[ENTRY];
    this.#limits.onFault?.(fault, plainAddress(entry?.address || socket.remoteAddress), entry?.id);
  }

  /** The system has no file descriptor left. */
  outOfFiles(): void {
    this.#close(this.#closable.next(this.#reserved));
    this.#report('files', '');
  }

  /** Connections of this process. */
  get #max(): number {
    return Math.min(this.#limits.connections, this.#restricted);
  }

  get #totalReserved(): number {
    return Math.min(this.#limits.reserved, this.#limits.connections);
  }

  get #reserved(): number {
    const reserved = this.#totalReserved;
    return this.#restricted === Number.POSITIVE_INFINITY ? reserved : Math.min(reserved, Math.floor(this.#max / 2));
  }

  get #hasRoom(): boolean {
    return this.#count <= this.#max && this.#count + this.#all.others('connections') <= this.#limits.connections;
  }

  get #hasRoomForStranger(): boolean {
    const inAll = this.#strangers + this.#all.others('strangers');
    return this.#strangers < this.#max - this.#reserved && inAll < this.#limits.connections - this.#totalReserved;
  }

  #claim(entry: TrackedConnection, address: string): boolean {
    entry.address = address;
    if (this.#limits.isBlocked?.(address) === true) return this.#refuse(entry, 'blocked');
    const key = originOf(address);
    let origin = this.#origins.get(key);
    if (origin === undefined) origin = { key, count: 0, loose: null, pending: null };
    // Before it is counted, so that it does not make room for itself.
    const inAll = origin.count + this.#byOrigin.others(key);
    const isFull = inAll >= this.maxFrom(address);
    const hasRoom = !isFull || this.#close(this.#closable.nextOf(origin, this.#limits.perAddress));
    origin.count++;
    this.#byOrigin.add(key, 1);
    this.#origins.set(key, origin);
    entry.origin = origin;
    if (!hasRoom) return this.#refuse(entry, 'address');
    this.#closable.move(entry, entry.state);
    return true;
  }

  #makeRoomFor(entry: TrackedConnection, address: string | null): boolean {
    const own = entry.origin?.loose?.oldest;
    if (own !== undefined && own !== entry && !this.#limits.isShared(address!)) return this.#close(own);
    return this.#close(this.#closable.next(this.#reserved, entry));
  }

  #close(entry: TrackedConnection | undefined): boolean {
    if (entry === undefined) return false;
    this.#leave(entry);
    this.#madeRoom++;
    entry.socket.destroy();
    return true;
  }

  /** Stops counting it, even before its socket has closed. */
  #leave(entry: TrackedConnection): void {
    if (entry.isGone) return;
    this.#closable.move(entry, null);
    entry.isGone = true;
    this.#count--;
    if (entry.isStranger) this.#strangers--;
    const { origin } = entry;
    if (origin === null) return;
    this.#byOrigin.add(origin.key, -1);
    if (--origin.count === 0) this.#origins.delete(origin.key);
  }

  #refuse(entry: TrackedConnection, why: ConnectionRefusal): false {
    this.#leave(entry);
    entry.socket.on('error', () => undefined).destroy();
    return this.#report(why, entry.address, entry.id);
  }

  #report(why: ConnectionRefusal, address: string, connection?: string): false {
    this.#refusals[why]++;
    this.#limits.onRefused(why, plainAddress(address), connection);
    return false;
  }
}
