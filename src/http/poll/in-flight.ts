/**
 * Bodies that answers refer to and no client has taken yet: how many bytes they may be together, and of one address. A client that asks and
 * does not read keeps what it asked for in memory until its connection is closed, whatever a cache has dropped since.
 *
 * Invariant: a body counts once, however many answers share it, from `enter` until the last of them is closed; it counts for the address
 * that had it first. Owned by HistoryPages.
 */

import type { ServerResponse } from 'node:http';
import { Tallies } from '../../base/tallies.js';
import type { Tally } from '../../base/tally.js';
import type { CompressibleBody } from '../compression.js';

/** A body is kept with its compressed forms, which are smaller than itself. */
export const FORMS = 2;

/** What a body weighs, wherever it is kept. */
export function weightOf(body: CompressibleBody): number {
  return FORMS * body.bytes;
}

export interface InFlightLimits {
  /** By weightOf. A single body is always let through. */
  readonly bytes: number;
  /** The same, of one origin (base/ip.ts). */
  readonly bytesPerAddress: number;
}

interface BodyInFlight {
  readonly origin: string;
  answers: number;
}

export class InFlight {
  readonly #limits: InFlightLimits;
  readonly #bodies = new Map<CompressibleBody, BodyInFlight>();
  readonly #all: Tally;
  readonly #bytesOf: Tally;
  #bytes = 0;

  /** @param tallies with the other processes */
  constructor(limits: InFlightLimits, tallies = new Tallies()) {
    this.#limits = limits;
    this.#all = tallies.all;
    this.#bytesOf = tallies.tally('history bytes');
    tallies.onLook(() => this.#all.set('history bytes', this.#bytes));
  }

  /** Of all of them, as they weigh. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether there is room for one of this weight, at least 1. */
  fits(weight: number, origin: string): boolean {
    const own = this.#bytesOf.count(origin);
    const inAll = this.#bytes + this.#all.others('history bytes');
    const { bytes, bytesPerAddress } = this.#limits;
    return (inAll === 0 || inAll + weight <= bytes) && (own === 0 || own + weight <= bytesPerAddress);
  }

  /** The body is about to be answered with, by a response that is open. False: there is no room. */
  enter(body: CompressibleBody, origin: string, response: ServerResponse): boolean {
    const entry = this.#bodies.get(body);
    if (entry !== undefined) entry.answers++;
    else if (this.fits(weightOf(body), origin)) {
      this.#bodies.set(body, { origin, answers: 1 });
      this.#add(weightOf(body), origin);
    } else return false;
    response.once('close', () => this.#release(body));
    return true;
  }

  #release(body: CompressibleBody): void {
    const entry = this.#bodies.get(body)!;
    if (--entry.answers > 0) return;
    this.#bodies.delete(body);
    this.#add(-weightOf(body), entry.origin);
  }

  #add(weight: number, origin: string): void {
    this.#bytes += weight;
    this.#bytesOf.add(origin, weight);
  }
}
