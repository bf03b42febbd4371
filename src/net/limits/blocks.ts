/**
 * Addresses and networks that an operator has blocked, each for a time. Asked about each connection as it comes, and of each request where a trusted
 * proxy names the client. Invariant: what has ended blocks nobody, and while nothing is blocked a question costs nothing.
 */

import { AddressList, plainAddress } from '../../base/ip.js';

export interface BlockedNetwork {
  /** 192.0.2.1 or 192.0.2.0/24; a valid one. */
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

  /** These and no others. */
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
