/**
 * The keys of TLS session tickets (RFC 5077; RFC 8446, 4.6.1): a client that comes back with a ticket of any process, or any machine of a cluster, is
 * spared the full handshake. Made where the channels are; other processes get them over the link, other machines by their turn. They are on no disk.
 *
 *   turn of another machine ─ heard ─┐
 *   workers of the hub before ─ offer ┼─► the keys in force ─► onKeys: this server's processes     changed every TICKETS_LAST_MS
 *   made here ───────────────────────┘                    └─► say: the other machines
 *
 * Node gives OpenSSL one set of keys, and has no callback that could know two: after a change each client makes one full handshake.
 *
 * The tokens of private HLS listeners, which all processes make alike too, have a key that is derived from these.
 */

import { hkdfSync, randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.js';
import type { SharedTurn } from '../shared-turn.js';

/** As `tls.Server.setTicketKeys` takes them: a name, and keys for HMAC and AES-128. */
export const TICKET_KEY_BYTES = 48;
/** Who has the keys can read what was recorded of connections of TLS 1.2: so they do not live for long. */
export const TICKETS_LAST_MS = 12 * 3_600_000;
/** What another machine has said that long ago is not used any more: it is away, and so is what all machines have in common. */
const FORGOTTEN_MS = 2 * TICKETS_LAST_MS;
/** After the start keys of the process before, or of another machine, may be still to come. */
const SETTLED_MS = 3000;

/** Plain data, for the link and for other machines. */
export interface TicketKeys {
  readonly madeMs: number;
  /** TICKET_KEY_BYTES, as base64. */
  readonly keys: string;
}

export interface SessionTicketsParts {
  readonly clock: Clock;
  /** Null: no other machine has them. */
  readonly turn: SharedTurn<TicketKeys> | null;
  /** Whether any address speaks TLS, or any channel has HLS. */
  isNeeded(): boolean;
  /** They are in force from now on. */
  onKeys(keys: TicketKeys): void;
}

export class SessionTickets {
  readonly #parts: SessionTicketsParts;
  readonly #startedMs: number;
  #keys: TicketKeys | null = null;
  /** No others are expected. */
  #isSettled = false;

  constructor(parts: SessionTicketsParts) {
    this.#parts = parts;
    this.#startedMs = parts.clock.now();
  }

  /** At the start, and once a second. */
  look(): void {
    const { turn, clock, isNeeded } = this.#parts;
    if (!isNeeded()) return;
    const heard = this.#heard;
    if (heard !== null) this.#take(heard);
    else if (this.#keys === null || this.#ageMs(this.#keys) >= TICKETS_LAST_MS) this.#take(this.#make());
    this.#isSettled ||= heard !== null || clock.now() - this.#startedMs >= SETTLED_MS;
    if (this.#isSettled) turn?.say(this.#keys!);
  }

  /** A worker has these, of the hub before this one: they go on if they are older than those here, which are new then. */
  offer(keys: TicketKeys): void {
    if (!this.#parts.isNeeded() || this.#heard !== null || this.#ageMs(keys) >= TICKETS_LAST_MS) return;
    if (this.#keys !== null && this.#keys.madeMs <= keys.madeMs) return;
    this.#isSettled = true;
    this.#take(keys);
  }

  /** What the machine that makes them has said; null: this one does, or nobody is known to. */
  get #heard(): TicketKeys | null {
    const { turn } = this.#parts;
    const heard = turn === null || turn.isOwn ? null : turn.heard();
    return heard !== null && this.#ageMs(heard) < FORGOTTEN_MS ? heard : null;
  }

  #take(keys: TicketKeys): void {
    if (this.#keys?.keys === keys.keys) return;
    this.#keys = keys;
    this.#parts.onKeys(keys);
  }

  #make(): TicketKeys {
    return { madeMs: this.#parts.clock.wallMs(), keys: randomBytes(TICKET_KEY_BYTES).toString('base64') };
  }

  /** A clock that was set makes them old, whichever way. */
  #ageMs({ madeMs }: TicketKeys): number {
    return Math.abs(this.#parts.clock.wallMs() - madeMs);
  }
}

/** Keeps this use of the keys apart from that by TLS. */
const TOKEN_LABEL = 'airsplice hls tokens 1';
const TOKEN_KEY_BYTES = 32;

/** Those that this process uses. */
export class TicketKeysInForce {
  /** Null: none are known yet, and each address has its own. */
  bytes: Buffer | null = null;
  /** As they came. */
  text: TicketKeys | null = null;
  /** For the tokens of private HLS listeners (http/stream/hls-private.ts). Null: none is known yet. */
  tokenKey: Buffer | null = null;

  set(keys: TicketKeys): void {
    this.text = keys;
    this.bytes = Buffer.from(keys.keys, 'base64');
    this.tokenKey = Buffer.from(hkdfSync('sha256', this.bytes, '', TOKEN_LABEL, TOKEN_KEY_BYTES));
  }
}
