/**
 * Addresses and networks that an operator has blocked for a time. Checked for each connection, and for each request of a trusted
 * proxy. A check costs nothing while there are no blocks.
 */

import { AddressList, plainAddress } from '../../base/ip.js';

export interface BlockedNetwork {
  /** A valid address or network, such as 192.0.2.0/24. */
  readonly network: string;
  /** Unix milliseconds. */
  readonly untilMs: number;
}

export class Blocks {
  readonly #wallMs: () => number;
  #blocked: readonly BlockedNetwork[] = [];
  #list = new AddressList([]);
  #nextEndMs = Number.POSITIVE_INFINITY;

  constructor(wallMs: () => number) {
    this.#wallMs = wallMs;
  }

  /** Replaces all blocks. */
  set(blocked: readonly BlockedNetwork[]): void {
    const nowMs = this.#wallMs();
    this.#blocked = blocked.filter(({ untilMs }) => untilMs > nowMs);
    this.#list = new AddressList(this.#blocked.map(({ network }) => network));
    this.#nextEndMs = Math.min(...this.#blocked.map(({ untilMs }) => untilMs), Number.POSITIVE_INFINITY);
  }

  has(address: string): boolean {
    if (this.#blocked.length === 0) return false;
    if (this.#wallMs() >= this.#nextEndMs) this.set(this.#blocked);
    return this.#list.has(plainAddress(address));
  }
}
