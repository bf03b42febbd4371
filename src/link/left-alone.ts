/**
 * Who has said what it should not: such a peer is left alone for a time that doubles with each link that it ends so, and is forgotten after minutes without
 * one. Owned by what makes or takes the links.
 */

import type { Clock } from '../base/clock.js';
import { LinkLie } from './connection.js';

const FIRST_MS = 1000;
const MAX_MS = 300_000;
/** Behind its pause, without another one. */
const GOOD_MS = 300_000;
/** Those that lied longest ago are forgotten. */
const MAX_PEERS = 1000;

interface Liar {
  pauseMs: number;
  /** Monotonic milliseconds. */
  untilMs: number;
}

export class LeftAlone {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #liars = new Map<string, Liar>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** Why a link was closed: only what its peer has said counts. */
  note(error: unknown): void {
    if (!(error instanceof LinkLie)) return;
    const { peer } = error;
    const nowMs = this.#clock.now();
    const before = this.#liars.get(peer);
    const isAgain = before !== undefined && nowMs - before.untilMs < GOOD_MS;
    const pauseMs = isAgain ? Math.min(MAX_MS, 2 * before.pauseMs) : FIRST_MS;
    this.#liars.delete(peer);
    this.#liars.set(peer, { pauseMs, untilMs: nowMs + pauseMs });
    if (this.#liars.size > MAX_PEERS) this.#liars.delete(this.#liars.keys().next().value!);
  }

  /** How long it is left alone from now on, milliseconds; 0: it is not. */
  leftMs(peer: string): number {
    return Math.max(0, (this.#liars.get(peer)?.untilMs ?? 0) - this.#clock.now());
  }

  has(peer: string): boolean {
    return this.leftMs(peer) > 0;
  }
}

/** Another machine, by its name or by where it is: as links call it. */
export function machineOf(node: string): string {
  return `machine ${node}`;
}

export function machineAt(url: string): string {
  return `machine at ${new URL(url).host}`;
}
