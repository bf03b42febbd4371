/**
 * The table of all connections of this process: how many there may be, how many from one address, and who goes when there is no room.
 *
 *   accepted ─► undecided ──a stranger's request──► stranger: busy ⇄ idle          at most `connections` − `reserved` strangers
 *                   └──────an encoder is let in───► encoder                        at most `connections` of all
 *
 * Nobody can be known at the accept: whoever comes is undecided, which all of `connections` but the strangers' part is for, and stays
 * so for as long as it says nothing, sends a head, or asks only for what encoders, playout systems and operators ask for.
 * Undecided and idle connections are closed to make room, oldest first; an address makes room for itself first. Busy strangers
 * (listeners and watchers are busy all their life) and encoders are never closed from here.
 *
 * Invariant: every connection that was accepted and has not closed is counted once, in all and for its address. No step looks at more
 * than a few entries. Sockets that were never entered (tests) may do anything. Made by network.ts; fronts enter, doors and router say.
 */

import type { Socket } from 'node:net';
import { type Link, Queue } from './queue.js';
import { originOf } from './rate.js';

/** Why a connection was not served: labels of the metric. */
export const CONNECTION_REFUSALS = ['full', 'reserved', 'address', 'files'] as const;
export type ConnectionRefusal = (typeof CONNECTION_REFUSALS)[number];

export interface ConnectionLimits {
  /** Of all kinds. */
  readonly connections: number;
  /** From one address (IPv6: one /64 network). */
  readonly perAddress: number;
  /** How many of `connections` strangers cannot have. */
  readonly reserved: number;
  /** Whether many who have nothing to do with each other come from there: it is not limited. */
  isShared(address: string): boolean;
  /** @param address "" where it is not known */
  onRefused(why: ConnectionRefusal, address: string): void;
}

/** What is counted of one address. */
interface Origin {
  readonly key: string;
  count: number;
  /** Those of its connections that may be closed. */
  loose: Queue<Entry> | null;
}

class Entry {
  socket: Socket;
  origin: Origin | null = null;
  isStranger = false;
  isGone = false;
  /** Answers that it is owed. */
  owed = 0;
  /** Where it stands among those that may be closed: in all, and of its address. Null: it may not. */
  inAll: Link<Entry> | null = null;
  inOrigin: Link<Entry> | null = null;

  constructor(socket: Socket) {
    this.socket = socket;
  }
}

const ENTRY = Symbol('connection');
type Entered = Socket & { [ENTRY]?: Entry };

export class Connections {
  readonly #limits: ConnectionLimits;
  #most: number;
  #reserved: number;
  readonly #origins = new Map<string, Origin>();
  readonly #undecided = new Queue<Entry>();
  readonly #idle = new Queue<Entry>();
  #count = 0;
  #strangers = 0;
  #madeRoom = 0;
  readonly #refusals: Record<ConnectionRefusal, number> = { full: 0, reserved: 0, address: 0, files: 0 };
  readonly #onClose: (this: Entered) => void;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
    this.#most = limits.connections;
    this.#reserved = Math.min(limits.reserved, limits.connections);
    const leave = (entry: Entry) => this.#leave(entry);
    this.#onClose = function () {
      leave(this[ENTRY]!);
    };
  }

  get count(): number {
    return this.#count;
  }

  /** Those that have not said yet that they are strangers', and those of strangers without a request. */
  get loose(): { readonly undecided: number; readonly idle: number } {
    return { undecided: this.#undecided.size, idle: this.#idle.size };
  }

  /** Connections that were closed so that others could come. */
  get madeRoom(): number {
    return this.#madeRoom;
  }

  get refusals(): Readonly<Record<ConnectionRefusal, number>> {
    return this.#refusals;
  }

  /** Fewer than configured, since the system allows no more. The reserve is at most half of them. */
  restrict(most: number): void {
    this.#most = Math.min(this.#most, most);
    this.#reserved = Math.min(this.#reserved, Math.floor(this.#most / 2));
  }

  /**
   * Enters a connection that was just accepted. False: there is no room for it, and it was closed.
   * @param address of the peer; null: a proxy's, who will tell whose it is (`comesFrom`)
   */
  enter(socket: Socket, address: string | null): boolean {
    const entry = new Entry(socket);
    (socket as Entered)[ENTRY] = entry;
    this.#count++;
    entry.inAll = this.#undecided.add(entry);
    socket.on('close', this.#onClose);
    if (address !== null && !this.#claim(entry, address)) return false;
    if (this.#count <= this.#most || this.#makeRoomFor(entry, address)) return true;
    return this.#refuse(entry, 'full', address ?? '');
  }

  /** It comes from this address, as its proxy has told. False: there is no room for it, and it was closed. */
  comesFrom(socket: Socket, address: string): boolean {
    const entry = (socket as Entered)[ENTRY];
    return entry === undefined || (!entry.isGone && (entry.origin !== null || this.#claim(entry, address)));
  }

  /** The same connection, from here on by another object: what TLS made of it. */
  continues(bare: Socket, secure: Socket): void {
    const entry = (bare as Entered)[ENTRY];
    if (entry === undefined) return;
    (secure as Entered)[ENTRY] = entry;
    entry.socket = secure;
  }

  /**
   * It has asked for something, and is not closed until as many `end` have come; a listener has none.
   * False: there is no room for strangers, and it is to be told so and closed.
   * @param isReserved it asks for what the reserve is for: it may be served beyond the strangers' part, but stays undecided
   */
  begin(socket: Socket, isReserved = false): boolean {
    const entry = (socket as Entered)[ENTRY];
    if (entry === undefined) return true;
    if (entry.isGone) return false;
    if (!entry.isStranger && !isReserved) {
      if (this.#strangers >= this.#most - this.#reserved && !this.#close(this.#idle.oldest)) {
        return this.#tell('reserved', entry.origin?.key ?? '');
      }
      this.#hold(entry);
      entry.isStranger = true;
      this.#strangers++;
    }
    entry.owed++;
    if (entry.isStranger) this.#hold(entry);
    else this.#renew(entry);
    return true;
  }

  /** What it asked for it has. */
  end(socket: Socket): void {
    const entry = (socket as Entered)[ENTRY];
    if (entry === undefined || entry.isGone || --entry.owed > 0 || !entry.isStranger) return;
    entry.inAll = this.#idle.add(entry);
    this.#loosenOrigin(entry);
  }

  /** It has asked and got something at once: of those that may be closed it is the newest. */
  touch(socket: Socket): void {
    const entry = (socket as Entered)[ENTRY];
    if (entry !== undefined) this.#renew(entry);
  }

  /** An encoder that was let in: it is no stranger, and is not closed. */
  admit(socket: Socket): void {
    const entry = (socket as Entered)[ENTRY];
    if (entry !== undefined) this.#hold(entry);
  }

  /** The system has no descriptor left for another one. */
  outOfFiles(): void {
    this.#makeRoom();
    this.#tell('files', '');
  }

  #claim(entry: Entry, address: string): boolean {
    const key = originOf(address);
    let origin = this.#origins.get(key);
    if (origin === undefined) this.#origins.set(key, (origin = { key, count: 0, loose: null }));
    // Before it is one of them, so that it does not make room for itself.
    const isFull = origin.count >= this.#limits.perAddress && !this.#limits.isShared(address);
    const hasRoom = !isFull || this.#close(origin.loose?.oldest);
    origin.count++;
    this.#origins.set(key, origin);
    entry.origin = origin;
    if (!hasRoom) return this.#refuse(entry, 'address', address);
    if (entry.inAll !== null) this.#loosenOrigin(entry);
    return true;
  }

  /** A silent crowd must not drive out the idle connections of others: beyond the reserve it makes room itself. */
  #makeRoom(except?: Entry): boolean {
    const undecided = this.#undecided.oldest;
    const silent = undecided === except ? undefined : undecided;
    return this.#undecided.size > this.#reserved
      ? this.#close(silent) || this.#close(this.#idle.oldest)
      : this.#close(this.#idle.oldest) || this.#close(silent);
  }

  #makeRoomFor(entry: Entry, address: string | null): boolean {
    const own = entry.origin?.loose?.oldest;
    if (own !== undefined && own !== entry && !this.#limits.isShared(address!)) return this.#close(own);
    return this.#makeRoom(entry);
  }

  #close(entry: Entry | undefined): boolean {
    if (entry === undefined) return false;
    this.#leave(entry);
    this.#madeRoom++;
    entry.socket.destroy();
    return true;
  }

  /** From here on it may not be closed. */
  #hold(entry: Entry): void {
    if (entry.inAll === null) return;
    (entry.isStranger ? this.#idle : this.#undecided).remove(entry.inAll);
    entry.inAll = null;
    const { origin } = entry;
    if (origin === null || entry.inOrigin === null) return;
    origin.loose!.remove(entry.inOrigin);
    if (origin.loose!.size === 0) origin.loose = null;
    entry.inOrigin = null;
  }

  #loosenOrigin(entry: Entry): void {
    if (entry.origin !== null) entry.inOrigin = (entry.origin.loose ??= new Queue()).add(entry);
  }

  #renew(entry: Entry): void {
    if (entry.inAll !== null) (entry.isStranger ? this.#idle : this.#undecided).renew(entry.inAll);
    if (entry.inOrigin !== null) entry.origin!.loose!.renew(entry.inOrigin);
  }

  /** Not counted any more, whenever its socket closes. */
  #leave(entry: Entry): void {
    if (entry.isGone) return;
    this.#hold(entry);
    entry.isGone = true;
    this.#count--;
    if (entry.isStranger) this.#strangers--;
    const { origin } = entry;
    if (origin !== null && --origin.count === 0) this.#origins.delete(origin.key);
  }

  #refuse(entry: Entry, why: ConnectionRefusal, address: string): false {
    this.#leave(entry);
    entry.socket.on('error', () => undefined).destroy();
    return this.#tell(why, address);
  }

  #tell(why: ConnectionRefusal, address: string): false {
    this.#refusals[why]++;
    this.#limits.onRefused(why, address);
    return false;
  }
}
