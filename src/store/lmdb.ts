/**
 * The store on disk: one LMDB file in a folder that this process alone may use (lock.ts). A state per channel, as JSON (stored.ts);
 * beside it the history, an entry per title:
 *
 *   channels  jazz → {"format":2,"state":{…}}        history  [jazz, from ms, version, id] → {"format":2,"entry":{…}}
 *   figures   [kind, scope, ms] → a text that the store does not interpret (lmdb-figures.ts)
 *   documents admin → {…}
 *
 * A save resolves when its transaction has been flushed to the disk (lmdb-transactions.ts).
 */

import { existsSync } from 'node:fs';
import { mkdir, open as openFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import type { Clock } from '../base/clock.js';
import { retryLater } from '../base/refusal.js';
import { parse } from '../metadata/codec.js';
import type { ChannelState, HistoryEntry } from '../now-playing/state.js';
import { LmdbFigures } from './lmdb-figures.js';
import { type HistoryText, LmdbHistory } from './lmdb-history.js';
import { LmdbTransactions } from './lmdb-transactions.js';
import { type FolderLock, lockFolder } from './lock.js';
import {
  type FigureChange,
  type FigurePage,
  type HistoryBounds,
  type HistoryPage,
  type HistoryStore,
  OWN_CLOCK,
  type Store,
  type StoredFigure,
} from './store.js';
import { checkFile, mustBeWritable } from './store-check.js';
import { copyBeside } from './store-copy.js';
import { parseState, stateText } from './stored.js';

/** The file's name in the data folder. */
export const FILE = 'airsplice.mdb';
/** overlappingSync and eventTurnBatching: README, "Durability". Saves share transactions without the latter, too. */
const OPTIONS = { noSubdir: true, overlappingSync: false, eventTurnBatching: false, maxDbs: 8 };

const DEFAULT_BOUNDS: HistoryBounds = { days: 30, entries: 10_000 };

type StoreClock = Pick<Clock, 'now' | 'wallMs'>;

/** The ending of the file that LMDB itself keeps beside each database. */
const LOCK_SUFFIX = '-lock';

/**
 * Opens (or makes) the store in a folder, which is made with mode 0700 if it is missing.
 * Rejects if another process has the folder, if it cannot be written to, and if the file is damaged, empty, or not ours.
 * @param onError called once for each channel whose history has an unreadable entry (it is skipped), for each state that cannot be read completely
 * (the rest is kept), and if the folder had a store that is gone (a new one begins)
 * @param signal aborts the check of the file, which takes longer the larger it is; rejects then
 * @param clock says which entries are too old
 */
export async function openLmdbStore(
  folder: string,
  bounds: HistoryBounds = DEFAULT_BOUNDS,
  onError: (error: Error) => void = () => undefined,
  signal?: AbortSignal,
  clock: StoreClock = OWN_CLOCK,
): Promise<Store> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, FILE);
  await mustBeWritable(folder, file);
  const lock = await lockFolder(folder);
  try {
    if (existsSync(file)) await checkFile(file, OPTIONS, signal);
    else {
      if (existsSync(file + LOCK_SUFFIX))
        onError(new Error(`The store ${file} is gone: starting with a new, empty one`));
      await make(file);
    }
    return new LmdbStore(file, lock, bounds, onError, clock);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** Rejects if a file is not a usable store. No process may have it open. */
export async function checkStore(file: string): Promise<void> {
  try {
    await checkFile(file, OPTIONS);
  } finally {
    await rm(file + LOCK_SUFFIX, { force: true });
  }
}

/** The history of a store that another process has open, for reading only. A read throws a Refusal while there is no store. */
export function openLmdbHistory(
  folder: string,
  bounds: HistoryBounds = DEFAULT_BOUNDS,
  onError: (error: Error) => void = () => undefined,
  clock: StoreClock = OWN_CLOCK,
): HistoryStore & { close(): Promise<void> } {
  let root: RootDatabase | null = null;
  let history: LmdbHistory | null = null;
  let figures: LmdbFigures | null = null;
  const opened = <T>(make: (root: RootDatabase) => T): T => {
    try {
      root ??= open({ path: join(folder, FILE), ...OPTIONS, readOnly: true });
      return make(root);
    } catch (error) {
      onError(error as Error);
      throw retryLater('unavailable', 'The store cannot be read.', RETRY_SECONDS);
    }
  };
  return {
    history: (channel, page) => {
      history ??= opened((root) => new LmdbHistory(root, bounds, onError, clock));
      return history.read(channel, page);
    },
    figures: (kind, scope, page) => {
      figures ??= opened((root) => new LmdbFigures(root));
      return figures.read(kind, scope, page);
    },
    close: async () => root?.close(),
  };
}

const RETRY_SECONDS = 2;

/** Under another name first: a start that is killed must not leave a file that looks truncated. */
async function make(file: string): Promise<void> {
  const fresh = `${file}-new`;
  await rm(fresh, { force: true });
  await open({ path: fresh, ...OPTIONS }).close();
  const handle = await openFile(fresh, 'r+');
  await handle.sync();
  await handle.close();
  await rm(fresh + LOCK_SUFFIX, { force: true });
  await rename(fresh, file);
}

class LmdbStore implements Store {
  readonly #file: string;
  readonly #lock: FolderLock;
  readonly #onError: (error: Error) => void;
  readonly #root: RootDatabase;
  readonly #transactions: LmdbTransactions;
  readonly #channels: Database<string, string>;
  readonly #documents: Database<string, string>;
  readonly #history: LmdbHistory;
  readonly #figures: LmdbFigures;
  /** The states loaded or committed last, for a rollback: the engine's own objects, which are immutable. */
  readonly #committed = new Map<string, ChannelState>();
  #closing: Promise<void> | undefined;

  constructor(
    file: string,
    lock: FolderLock,
    bounds: HistoryBounds,
    onError: (error: Error) => void,
    clock: StoreClock,
  ) {
    this.#file = file;
    this.#lock = lock;
    this.#onError = onError;
    this.#root = open({ path: file, ...OPTIONS });
    this.#transactions = new LmdbTransactions(this.#root, file);
    this.#channels = this.#root.openDB({ name: 'channels', encoding: 'string' });
    this.#documents = this.#root.openDB({ name: 'documents', encoding: 'string' });
    this.#history = new LmdbHistory(this.#root, bounds, onError, clock);
    this.#figures = new LmdbFigures(this.#root);
  }

  load(channel: string): ChannelState | undefined {
    const text = this.#channels.get(channel);
    if (text === undefined) return undefined;
    const { state, bad } = parseState(channel, text);
    if (bad.length > 0) {
      const reasons = bad.join('; ');
      this.#onError(
        new Error(`Part of the stored state of channel ${channel} is unreadable: ignoring it (${reasons})`),
      );
    }
    this.#committed.set(channel, state);
    return state;
  }

  async save(
    channel: string,
    state: ChannelState,
    history: readonly HistoryEntry[] = [],
    gone: readonly HistoryEntry[] = [],
  ): Promise<void> {
    let count: number | undefined;
    await this.#transactions.save(`The state of channel ${channel}`, () => {
      const change = this.#history.change(channel, history, gone, state.onAirSinceMs);
      count = change.count;
      const text = stateText(state);
      const last = this.#committed.get(channel);
      const lastText = last === undefined ? this.#channels.get(channel) : undefined;
      return {
        units: change.wanted.reduce((sum, [, entry = '']) => sum + entry.length, text.length),
        write: (writes) => this.#put(writes, channel, text, change.wanted),
        takeBack: {
          what: `a change of channel ${channel}`,
          // The former text is made only when it is needed.
          write: (writes) => this.#put(writes, channel, last === undefined ? lastText : stateText(last), change.former),
        },
      };
    });
    this.#committed.set(channel, state);
    if (count !== undefined) this.#history.counts.set(channel, count);
  }

  #put(writes: Promise<unknown>[], channel: string, state: string | undefined, history: readonly HistoryText[]): void {
    writes.push(state === undefined ? this.#channels.remove(channel) : this.#channels.put(channel, state));
    for (const entry of history) writes.push(this.#history.put(entry));
  }

  history(channel: string, page: HistoryPage): HistoryEntry[] {
    return this.#history.read(channel, page);
  }

  hasEntry(channel: string, entry: HistoryEntry): boolean {
    return this.#history.has(channel, entry);
  }

  figures(kind: string, scope: string, page: FigurePage): StoredFigure[] {
    return this.#figures.read(kind, scope, page);
  }

  figureScopes(kind: string): string[] {
    return this.#figures.scopes(kind);
  }

  figureCount(kind: string, scope: string): number {
    return this.#figures.count(kind, scope);
  }

  /** A refused save is not taken back: if the file comes back, its figures are better than none. */
  async saveFigures(figures: readonly FigureChange[]): Promise<void> {
    await this.#transactions.save('Figures', () => ({
      units: figures.reduce((sum, [, text = '']) => sum + text.length, 0),
      write: (writes) => {
        for (const [key, text] of figures) writes.push(this.#figures.put(key, text));
      },
    }));
  }

  document(name: string): unknown {
    try {
      return parse(this.#documents.get(name) ?? '');
    } catch {
      return undefined;
    }
  }

  async saveDocument(name: string, value: unknown): Promise<void> {
    const text = JSON.stringify(value);
    await this.#transactions.save(`The document ${name}`, () => ({
      units: text.length,
      write: (writes) => writes.push(this.#documents.put(name, text)),
    }));
  }

  fault(): string | null {
    return this.#transactions.fault();
  }

  /** Several may be under way: each has a snapshot of its own. */
  backup(): Promise<string> {
    return this.#transactions.beforeClose(() =>
      copyBeside(dirname(this.#file), this.#file, (path) => this.#root.backup(path, false)),
    );
  }

  checkReaders(): void {
    this.#root.readerCheck();
  }

  close(): Promise<void> {
    this.#closing ??= this.#transactions.close().then(() => this.#lock.release());
    return this.#closing;
  }
}
