/**
 * The name of a tape: the process that fed it, and its number there. Two tapes never have one name, so that a worker that reconnects never continues
 * with another tape than its own. Marks and blocks have numbers for the same reason.
 *
 * If the process that fed it is lost, another one continues the part that it has. The lost one may have had more, and so may those who took it from
 * there: from that position on these are two tapes with a common beginning. So a name has the positions where it forked.
 *
 *   x:  │ 41 │ 42 │ 43 │ 44 │            a process with no more than 42 may continue with either
 *   x, forked at 43:   │ 43'│ 44'│       a process with 43 continues with x only
 */

import { randomBytes } from 'node:crypto';
import type { AudioTape } from '../../audio/tape/audio-tape.js';
import type { Mark } from '../../audio/tape/mark.js';

export interface TapeName {
  /** Random id of the hub that feeds it, since its start; `""`: no tape. */
  readonly hub: string;
  readonly number: number;
  /** In order; the latest MAX_FORKS. */
  readonly forks: readonly TapeFork[];
}

/** Another process has continued it. */
export interface TapeFork {
  /** The first segment after the fork. */
  readonly seq: number;
  /** Random, unique. */
  readonly by: string;
}

export const MAX_FORKS = 8;
export const NO_NAME: TapeName = { hub: '', number: 0, forks: [] };

/** Whether equal segment numbers mean equal segments. */
export function isSameTape(one: TapeName, other: TapeName): boolean {
  return begunTogether(one, other) && one.forks.at(-1)?.by === other.forks.at(-1)?.by;
}

/** Whether the segments before `next` are the same on both tapes. */
export function canGoOn(there: TapeName, own: TapeName, next: number): boolean {
  if (!begunTogether(there, own)) return false;
  const shared = own.forks.findLastIndex(({ by }) => there.forks.some((fork) => fork.by === by));
  const sharedThere = shared < 0 ? -1 : there.forks.findIndex(({ by }) => by === own.forks[shared]!.by);
  return [...own.forks.slice(shared + 1), ...there.forks.slice(sharedThere + 1)].every(({ seq }) => next <= seq);
}

/** The name of a tape that continues with this segment after the loss of its feeder. */
export function forkedAt(name: TapeName, seq: number): TapeName {
  const fork = { seq, by: randomBytes(6).toString('hex') };
  return { ...name, forks: [...name.forks, fork].slice(-MAX_FORKS) };
}

function begunTogether(one: TapeName, other: TapeName): boolean {
  return one.hub === other.hub && one.number === other.number;
}

/** The names of the tapes of one hub. */
export class TapeNames {
  readonly #hub = randomBytes(8).toString('hex');
  readonly #names = new WeakMap<AudioTape, TapeName>();
  #last = 0;

  /** A tape taken over a link keeps its name. */
  nameOf(tape: AudioTape & { readonly name?: TapeName }): TapeName {
    if (tape.name !== undefined) return tape.name;
    let name = this.#names.get(tape);
    if (name === undefined) this.#names.set(tape, (name = { hub: this.#hub, number: ++this.#last, forks: [] }));
    return name;
  }

  /** Sets the name of a tape that another process fed before, so that its readers continue. */
  set(tape: AudioTape, name: TapeName): void {
    this.#names.set(tape, name);
  }
}

const blockNumbers = new WeakMap<Buffer, number>();

/** The number of a mark's ICY block: that of the first mark with this block, as marks may share one. */
export function blockNumberOf({ block, order }: Mark): number {
  let number = blockNumbers.get(block);
  if (number === undefined) blockNumbers.set(block, (number = order));
  return number;
}

/** Sets the number of a block from another process. */
export function setBlockNumber(block: Buffer, number: number): void {
  blockNumbers.set(block, number);
}
