/**
 * Which tape it is: the process that fed it, and its number there. Two tapes never have one name, so that a worker that comes back never
 * goes on with another tape than the one that it has. Marks and blocks have numbers for the same reason.
 *
 * Where the process that fed it is lost, another one goes on with what it has of it. The lost one may have had more, and so may those who took it
 * from there: from that place on they are two tapes with one beginning. So a name has the places where it forked.
 *
 *   x:  │ 41 │ 42 │ 43 │ 44 │            who has no more than 42 goes on in either
 *   x, forked at 43:   │ 43'│ 44'│       who has 43 goes on in x only
 */

import { randomBytes } from 'node:crypto';
import type { AudioTape } from '../../audio/tape/audio-tape.js';
import type { Mark } from '../../audio/tape/mark.js';

export interface TapeName {
  /** Of the hub that feeds it, since that hub began; `""`: of no tape. */
  readonly hub: string;
  readonly number: number;
  /** In order; the latest MAX_FORKS. */
  readonly forks: readonly TapeFork[];
}

/** Another process went on with it. */
export interface TapeFork {
  /** With this segment. */
  readonly seq: number;
  /** No two are the same. */
  readonly by: string;
}

export const MAX_FORKS = 8;
export const NO_NAME: TapeName = { hub: '', number: 0, forks: [] };

/** Whether all segments with one number are one. */
export function isSameTape(one: TapeName, other: TapeName): boolean {
  return begunTogether(one, other) && one.forks.at(-1)?.by === other.forks.at(-1)?.by;
}

/** Whether who has the segments before `next` of one tape has those of the other one. */
export function canGoOn(there: TapeName, own: TapeName, next: number): boolean {
  if (!begunTogether(there, own)) return false;
  const shared = own.forks.findLastIndex(({ by }) => there.forks.some((fork) => fork.by === by));
  const sharedThere = shared < 0 ? -1 : there.forks.findIndex(({ by }) => by === own.forks[shared]!.by);
  return [...own.forks.slice(shared + 1), ...there.forks.slice(sharedThere + 1)].every(({ seq }) => next <= seq);
}

/** Of a tape that goes on with this segment where the process that fed it is lost. */
export function forkedAt(name: TapeName, seq: number): TapeName {
  const fork = { seq, by: randomBytes(6).toString('hex') };
  return { ...name, forks: [...name.forks, fork].slice(-MAX_FORKS) };
}

function begunTogether(one: TapeName, other: TapeName): boolean {
  return one.hub === other.hub && one.number === other.number;
}

/** Of one hub. */
export class TapeNames {
  readonly #hub = randomBytes(8).toString('hex');
  readonly #names = new WeakMap<AudioTape, TapeName>();
  #last = 0;

  /** That of a tape which has come over a link is what it had there. */
  nameOf(tape: AudioTape & { readonly name?: TapeName }): TapeName {
    if (tape.name !== undefined) return tape.name;
    let name = this.#names.get(tape);
    if (name === undefined) this.#names.set(tape, (name = { hub: this.#hub, number: ++this.#last, forks: [] }));
    return name;
  }

  /** Of a tape that another process fed before: those who have it go on with it. */
  set(tape: AudioTape, name: TapeName): void {
    this.#names.set(tape, name);
  }
}

const blockNumbers = new WeakMap<Buffer, number>();

/** Of a mark's ICY block: that of the first mark with this block. Marks whose title kept the one before it have one block. */
export function blockNumberOf({ block, order }: Mark): number {
  let number = blockNumbers.get(block);
  if (number === undefined) blockNumbers.set(block, (number = order));
  return number;
}

/** Of one that came from another process. */
export function setBlockNumber(block: Buffer, number: number): void {
  blockNumbers.set(block, number);
}
