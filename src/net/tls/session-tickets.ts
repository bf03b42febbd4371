/**
 * The keys of TLS session tickets (RFC 5077; RFC 8446, 4.6.1): a client that returns with a ticket of any process, or any machine of a cluster, is
 * spared the full handshake. The process with the channels makes them; others get them over the link, other machines by a lease (shared-turn.ts).
 * They are never written to disk.
 *
 *   turn of another machine ─ heard ─┐
 *   workers of the hub before ─ offer ┼─► the keys in force ─► onKeys: this server's processes     changed every TICKETS_LAST_MS
 *   made here ───────────────────────┘                    └─► say: the other machines
 *
 * Node gives OpenSSL a single set of keys, so each client makes one full handshake after a change.
 *
 * The key of private HLS listeners' tokens, which all processes need as well, is derived from these.
 */

import { hkdfSync, randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.js';
import type { SharedTurn } from '../shared-turn.js';

/** As `tls.Server.setTicketKeys` takes them: a name, and keys for HMAC and AES-128. */
export const TICKET_KEY_BYTES = 48;
/** The keys decrypt recorded TLS 1.2 connections, so they do not live for long. */
export const TICKETS_LAST_MS = 12 * 3_600_000;
/** Another machine's keys are not used past this age: no machine has renewed them, so the others are unreachable. */
const FORGOTTEN_MS = 2 * TICKETS_LAST_MS;
/** For this long after a start, keys of the former process or another machine may still arrive. */
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
  /** These keys are in force from now on. */
  onKeys(keys: TicketKeys): void;
}

export class SessionTickets {
  readonly #parts: SessionTicketsParts;
  readonly #startedMs: number;
  #keys: TicketKeys | null = null;
  /** No keys of others are expected any more. */
  #isSettled = false;

  constructor(parts: SessionTicketsParts) {
    this.#parts = parts;
    this.#startedMs = parts.clock.now();
  }

  /** Called at the start and once a second. */
  look(): void {
    const { turn, clock, isNeeded } = this.#parts;
    if (!isNeeded()) return;
    const heard = this.#heard;
    if (heard !== null) this.#take(heard);
    else if (this.#keys === null || this.#ageMs(this.#keys) >= TICKETS_LAST_MS) this.#take(this.#make());
    this.#isSettled ||= heard !== null || clock.now() - this.#startedMs >= SETTLED_MS;
    if (this.#isSettled) turn?.say(this.#keys!);
  }

  /** A worker has these keys of the former hub: they replace this hub's if they are older. */
  offer(keys: TicketKeys): void {
    if (!this.#parts.isNeeded() || this.#heard !== null || this.#ageMs(keys) >= TICKETS_LAST_MS) return;
    if (this.#keys !== null && this.#keys.madeMs <= keys.madeMs) return;
    this.#isSettled = true;
    this.#take(keys);
  }

  /** The keys of the machine that makes them; null: this one does, or no machine is known to. */
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

  /** If the clock is set, forward or back, keys count as old. */
  #ageMs({ madeMs }: TicketKeys): number {
    return Math.abs(this.#parts.clock.wallMs() - madeMs);
  }
}

/** Keeps this use of the keys apart from that by TLS. */
const TOKEN_LABEL = 'airsplice hls tokens 1';
const TOKEN_KEY_BYTES = 32;

/** The keys that this process uses. */
export class TicketKeysInForce {
  /** Null: none are known yet, and each address has its own. */
  bytes: Buffer | null = null;
  /** As received. */
  text: TicketKeys | null = null;
  /** For the tokens of private HLS listeners (http/stream/hls-private.ts). Null: none is known yet. */
  tokenKey: Buffer | null = null;

  set(keys: TicketKeys): void {
    this.text = keys;
    this.bytes = Buffer.from(keys.keys, 'base64');
    this.tokenKey = Buffer.from(hkdfSync('sha256', this.bytes, '', TOKEN_LABEL, TOKEN_KEY_BYTES));
  }
}
