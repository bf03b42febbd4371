/**
 * Peers that sent a bad message: for a pause that doubles with each further one, no link to such a peer is opened and none from it is accepted. After
 * five minutes without a bad message the peer is forgotten. Owned by the side that opens or accepts the links.
 */

import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.js';
import { plainAddress } from '../../base/ip.js';
import { BadMessage } from './link-connection.js';

/** The first pause, and the longest. */
const FIRST_MS = 1000;
const MAX_MS = 300_000;
/** A peer is forgotten after this time without a bad message, counted from the end of its pause. */
const GOOD_MS = 300_000;
/** Past it, the peer whose bad message is oldest is forgotten. */
const MAX_PEERS = 1000;

interface BadPeer {
  pauseMs: number;
  /** Monotonic milliseconds. */
  untilMs: number;
}

export class LeftAlone {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #peers = new Map<string, BadPeer>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** @param error why a link was closed; only a bad message of the peer counts */
  note(error: unknown): void {
    if (!(error instanceof BadMessage)) return;
    const { peer } = error;
    const nowMs = this.#clock.now();
    const before = this.#peers.get(peer);
    const isAgain = before !== undefined && nowMs - before.untilMs < GOOD_MS;
    const pauseMs = isAgain ? Math.min(MAX_MS, 2 * before.pauseMs) : FIRST_MS;
    this.#peers.delete(peer);
    this.#peers.set(peer, { pauseMs, untilMs: nowMs + pauseMs });
    if (this.#peers.size > MAX_PEERS) this.#peers.delete(this.#peers.keys().next().value!);
  }

  /** The remaining pause, milliseconds; 0: none. */
  leftMs(peer: string): number {
    return Math.max(0, (this.#peers.get(peer)?.untilMs ?? 0) - this.#clock.now());
  }

  has(peer: string): boolean {
    return this.leftMs(peer) > 0;
  }
}

/**
 * Names of the other end in errors: a machine, a worker, the tape of a channel. A machine has one name, whichever end has connected. Its address is
 * part of it, so that a bad message sent under the name of another machine does not count against that machine.
 */
export function machineOf(node: string, stream: Duplex): string {
  return `machine ${node} (${plainAddress((stream as Partial<Socket>).remoteAddress)})`;
}

/** An origin whose name is unknown. */
export function machineAt(url: string): string {
  return `machine at ${new URL(url).host}`;
}

export function workerOf(number: number): string {
  return `worker ${number}`;
}

export function hlsOf(channel: string): string {
  return `the HLS of ${channel}`;
}

export function tapeOf(channel: string): string {
  return `the tape of ${channel}`;
}
