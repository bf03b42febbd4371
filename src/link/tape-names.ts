/**
 * Which tape it is: the process that fed it, and its number there. Two tapes never have one name, so that a worker that comes back never
 * goes on with another tape than the one that it has. Marks and blocks have numbers for the same reason.
 */

import { randomBytes } from 'node:crypto';
import type { AudioTape } from '../audio/audio-tape.js';
import type { Mark } from '../audio/mark.js';

export interface TapeName {
  /** Of the hub that feeds it, since that hub began; `""`: of no tape. */
  readonly hub: string;
  readonly number: number;
}

export const NO_NAME: TapeName = { hub: '', number: 0 };

export function isSameTape(one: TapeName, other: TapeName): boolean {
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
    if (name === undefined) this.#names.set(tape, (name = { hub: this.#hub, number: ++this.#last }));
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
