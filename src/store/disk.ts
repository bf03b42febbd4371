/**
 * Whether a save would reach the file at the store's path, and fit: the file is the one that was opened (identity.ts), and the
 * disk has room for all saves under way. Checked before and after each commit. The system is asked once in a turn of the event loop, and
 * once in the tick in which the saves of a transaction end. Owned by lmdb-transactions.ts.
 */

import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { FileIdentity } from './identity.js';

/**
 * Below this much free space a save is refused before lmdb tries it: if the system refuses a write, lmdb 3.5.6 puts a text of
 * up to 120 bytes into 100 (mdb.c, "Attempting to write page"), and a full disk would end the process.
 */
const MIN_FREE_BYTES = 8 * 1024 * 1024;
/** What a transaction writes besides the texts of a save: copies of the tree's pages down to them. 13 KB were measured. */
const PAGES_BYTES = 32 * 1024;
/** Bytes on disk for a UTF-16 unit: its UTF-8, and pages that are not full. */
const BYTES_A_UNIT = 4;

export class Disk {
  readonly #folder: string;
  readonly #identity: FileIdentity;
  /** Set once: until a restart nothing is saved. */
  #lastingFault: string | null = null;
  /** Found in this turn of the event loop; null: not checked yet. */
  #freeBytes: number | null = null;
  /** Found in this tick; undefined: not checked yet. */
  #faultOfTick: string | null | undefined;
  #underWayBytes = 0;
  /** Size of the largest save that was refused for lack of room; 0 once it would fit. */
  #refusedBytes = 0;
  /** Why the last transaction failed; null: it did not. */
  #failure: string | null = null;

  /** @param file must exist */
  constructor(file: string) {
    this.#folder = dirname(file);
    this.#identity = new FileIdentity(file);
  }

  /** What the operator has to repair before a save can succeed; null: nothing. Takes some microseconds. */
  fault(): string | null {
    return this.#folderFault() ?? this.#roomFault() ?? this.#failure;
  }

  /** A transaction has ended; one that failed is a fault until one succeeds. @param failure null: it succeeded */
  ended(failure: string | null): void {
    this.#failure = failure === null ? null : `saving to the disk of ${this.#folder} fails (${failure})`;
  }

  #folderFault(): string | null {
    return this.#lastingFault ?? this.#identity.fault();
  }

  /** Whether `begin` would refuse a small save, or the largest that it has refused, for lack of room. */
  #roomFault(): string | null {
    if (this.#readFreeBytes() - Math.max(PAGES_BYTES, this.#refusedBytes) < MIN_FREE_BYTES) return this.#full();
    this.#refusedBytes = 0;
    return null;
  }

  #readFreeBytes(): number {
    const { bavail, bsize } = statfsSync(this.#folder);
    return bavail * bsize;
  }

  #full(): string {
    return `the disk of ${this.#folder} is full`;
  }

  /** A save begins. @param units of all its texts @returns what `end` takes. @throws Error what the operator has to repair */
  begin(units: number): number {
    if (this.#freeBytes === null) {
      const fault = this.#folderFault();
      if (fault !== null) throw new Error(fault);
      this.#freeBytes = this.#readFreeBytes();
      setImmediate(this.#forgetTurn);
    }
    const bytes = PAGES_BYTES + units * BYTES_A_UNIT;
    if (this.#freeBytes - this.#underWayBytes - bytes < MIN_FREE_BYTES) {
      this.#refusedBytes = Math.max(this.#refusedBytes, bytes);
      throw new Error(this.#full());
    }
    this.#underWayBytes += bytes;
    return bytes;
  }

  /** The save has ended, well or not. */
  end(bytes: number): void {
    this.#underWayBytes -= bytes;
  }

  /** Why the saves just committed are not in the file at the store's path; null: they are. Saves of one tick share a transaction. */
  faultOfCommit(): string | null {
    if (this.#faultOfTick === undefined) {
      this.#faultOfTick = this.#folderFault();
      process.nextTick(this.#forgetTick);
    }
    return this.#faultOfTick;
  }

  /** The file contains a refused save: no save may succeed until a restart. */
  condemn(reason: string): void {
    this.#lastingFault = reason;
    this.#forgetTurn();
    this.#forgetTick();
  }

  readonly #forgetTurn = (): void => {
    this.#freeBytes = null;
  };

  readonly #forgetTick = (): void => {
    this.#faultOfTick = undefined;
  };
}
