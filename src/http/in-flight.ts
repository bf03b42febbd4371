/**
 * Limits the bytes of bodies that unfinished answers refer to, in total and per address. A client that does not read its answer keeps the body in
 * memory until its connection is closed, even if the cache has dropped it.
 *
 * Invariant: a body counts once, from `enter` until the last answer that shares it is closed, for the address that requested it first. Owned by the
 * makers of the bodies: HistoryPages, CoverFiles, HlsService.
 */

import type { ServerResponse } from 'node:http';
import { Tallies } from '../base/tallies.js';
import type { Tally } from '../base/tally.js';

/** A body counts twice: once for itself, once for its compressed forms, which are smaller. */
export const FORMS = 2;

interface CountedBody {
  readonly bytes: number;
}

/** Bytes that a body counts for. */
export function weightOf(body: CountedBody): number {
  return FORMS * body.bytes;
}

export interface InFlightLimits {
  /** By weightOf. A single body is always allowed. */
  readonly bytes: number;
  /** The same for one origin (base/ip.ts). */
  readonly bytesPerAddress: number;
}

interface BodyInFlight {
  readonly origin: string;
  readonly weight: number;
  answers: number;
}

export class InFlight {
  readonly #limits: InFlightLimits;
  readonly #bodies = new Map<object, BodyInFlight>();
  readonly #name: 'history bytes' | 'rewind bytes';
  readonly #all: Tally;
  readonly #bytesOf: Tally;
  #bytes = 0;

  /** @param tallies shared with the other processes @param name the name of this count there */
  constructor(
    limits: InFlightLimits,
    tallies = new Tallies(),
    name: 'history bytes' | 'rewind bytes' = 'history bytes',
  ) {
    this.#limits = limits;
    this.#name = name;
    this.#all = tallies.all;
    this.#bytesOf = tallies.tally(name);
    tallies.onLook(() => this.#all.set(name, this.#bytes));
  }

  /** Sum of the weights (weightOf) of all bodies. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether there is room for a body. @param weight at least 1 */
  fits(weight: number, origin: string): boolean {
    const own = this.#bytesOf.count(origin);
    const inAll = this.#bytes + this.#all.others(this.#name);
    const { bytes, bytesPerAddress } = this.#limits;
    return (inAll === 0 || inAll + weight <= bytes) && (own === 0 || own + weight <= bytesPerAddress);
  }

  /** Counts the body for an answer. False: no room. @param response an open one @param weight at least 1 */
  enter(body: object, weight: number, origin: string, response: ServerResponse): boolean {
    const entry = this.#bodies.get(body);
    if (entry !== undefined) entry.answers++;
    else if (this.fits(weight, origin)) {
      this.#bodies.set(body, { origin, weight, answers: 1 });
      this.#add(weight, origin);
    } else return false;
    response.once('close', () => this.#release(body));
    return true;
  }

  #release(body: object): void {
    const entry = this.#bodies.get(body)!;
    if (--entry.answers > 0) return;
    this.#bodies.delete(body);
    this.#add(-entry.weight, entry.origin);
  }

  #add(weight: number, origin: string): void {
    this.#bytes += weight;
    this.#bytesOf.add(origin, weight);
  }
}
