/**
 * Writes to the store's LMDB file: each save is in one transaction, and resolves when that has been flushed. Saves of one turn of the event loop, and
 * those that come while another is being flushed, share a transaction: all of them succeed or fail. A save that the disk refuses (disk.ts) changes
 * nothing. Owned by lmdb.ts.
 */

import type { RootDatabase } from 'lmdb';
import { Disk } from './disk.js';

/** Writes, and adds the promise of each write to `writes`: none may be left without a handler. */
export type Writing = (writes: Promise<unknown>[]) => void;

/** What one save writes. */
export interface Save {
  /** Length of all texts that are written, UTF-16 code units. */
  readonly units: number;
  readonly write: Writing;
  /**
   * Restores what the save has replaced. lmdb keeps the file open even when it was moved away: once moved back, it must not contain a refused save.
   * Absent: a refused save stays in the file.
   */
  readonly takeBack?: { readonly what: string; readonly write: Writing };
}

/** lmdb reports the reason of a failure in another promise. */
interface CommitFailure {
  readonly commitError?: Promise<never>;
}

export class LmdbTransactions {
  readonly #root: RootDatabase;
  readonly #disk: Disk;
  readonly #underWay = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  /** @param file of the root */
  constructor(root: RootDatabase, file: string) {
    this.#root = root;
    this.#disk = new Disk(file);
  }

  fault(): string | null {
    return this.#disk.fault();
  }

  /** @param prepare called at once. Rejects with what could not be saved, and why */
  async save(what: string, prepare: () => Save): Promise<void> {
    await this.beforeClose(async () => {
      try {
        await this.#save(prepare());
      } catch (error) {
        throw new Error(`${what} cannot be saved: ${(error as Error).message}`, { cause: error });
      }
    });
  }

  /** The file stays open until this work has ended. */
  async beforeClose<T>(work: () => Promise<T>): Promise<T> {
    // After a close lmdb refuses writes to its root database only; others would throw later, where nothing can catch it.
    if (this.#closing !== undefined) throw new Error('The store is closed');
    const result = work();
    this.#underWay.add(result);
    try {
      return await result;
    } finally {
      this.#underWay.delete(result);
    }
  }

  /** Waits for saves under way, which may have to be taken back. */
  close(): Promise<void> {
    this.#closing ??= Promise.allSettled(this.#underWay).then(() => this.#root.close());
    return this.#closing;
  }

  async #save({ units, write, takeBack }: Save): Promise<void> {
    const bytes = this.#disk.begin(units);
    try {
      await this.#transact(write);
      // Also after the commit: a save into a file that was being removed is lost, and must not be reported as a success.
      const fault = this.#disk.faultOfCommit();
      if (fault === null) return;
      if (takeBack !== undefined) {
        await this.#transact(takeBack.write).catch((cause: Error) => {
          const reason = `${takeBack.what} that was refused cannot be undone (${cause.message})`;
          this.#disk.condemn(`${fault}, and then restart: ${reason}`);
        });
      }
      throw new Error(fault);
    } finally {
      this.#disk.end(bytes);
    }
  }

  /** Rejects with lmdb's reason. */
  async #transact(write: Writing): Promise<void> {
    const writes: Promise<unknown>[] = [];
    writes.push(this.#root.batch(() => write(writes)));
    const failed = (await Promise.allSettled(writes)).filter((write) => write.status === 'rejected');
    if (failed.length === 0) {
      this.#disk.ended(null);
      return;
    }
    // No promise may be left without a handler.
    const [cause] = await Promise.all(
      failed.map(({ reason }) => {
        const { commitError } = reason as CommitFailure;
        return commitError === undefined ? reason : commitError.catch((rejected: unknown) => rejected);
      }),
    );
    this.#disk.ended((cause as Error).message);
    throw cause;
  }
}
