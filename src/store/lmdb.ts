/**
 * The store on disk: one LMDB file in a folder that this process alone may use (lock.ts). A state per channel, as JSON (stored.ts);
 * beside it the history, an entry per title:
 *
 *   channels  jazz → {"format":2,"state":{…}}        history  [jazz, from ms, version] → {"format":2,"entry":{…}}
 *   figures   [kind, scope, ms] → a text of its owner's (lmdb-figures.ts)
 *   documents admin → {…}
 *
 * A save resolves when its transaction has been flushed to the disk. Saves of one turn of the event loop, and those that come while
 * another is being flushed, share a transaction and so its fate.
 */

import { existsSync } from 'node:fs';
import { mkdir, open as openFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import type { Clock } from '../base/clock.js';
import { retryLater } from '../base/refusal.js';
import type { ChannelState, HistoryEntry } from '../now-playing/state.js';
import { Disk } from './disk.js';
import { LmdbFigures } from './lmdb-figures.js';
import { LmdbHistory } from './lmdb-history.js';
import { type FolderLock, lockFolder } from './lock.js';
import {
  type FigureKey,
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
import { entryText, type HistoryKey, historyKey, parseState, stateText } from './stored.js';

/** In the data folder. */
export const FILE = 'airsplice.mdb';
/**
 * overlappingSync off: else a commit resolves before its flush, and what a kill -9 leaves is recovered only where the system has a
 * boot id. The flush was measured at less than 0.2 ms a save.
 * eventTurnBatching off: else lmdb 3.5.6 makes a second promise that has no handler, and a commit that fails (a full disk)
 * ends the process as an unhandled rejection. Saves still share transactions.
 */
const OPTIONS = { noSubdir: true, overlappingSync: false, eventTurnBatching: false, maxDbs: 8 };

const DEFAULT_BOUNDS: HistoryBounds = { days: 30, entries: 10_000 };

type StoreClock = Pick<Clock, 'now' | 'wallMs'>;

/** Of the file that LMDB itself keeps beside each database. */
const LOCK_SUFFIX = '-lock';

/** The text of a channel's state, and of some history entries; undefined: none. */
interface Texts {
  readonly state: string | undefined;
  readonly history: readonly (readonly [HistoryKey, string | undefined])[];
}

/** lmdb reports the reason of a failure in another promise. */
interface CommitFailure {
  readonly commitError?: Promise<never>;
}

/**
 * Opens (or makes) the store in a folder, which is made with mode 0700 where it is missing.
 * Rejects when another process has the folder, when it cannot be written to, and when the file is damaged, empty, or not ours.
 * @param onError called once for each channel whose history has an unreadable entry (it is skipped), for each state that cannot be read as a whole
 * (the rest is
 *   kept), and when the folder had a store that is gone (a new one begins)
 * @param clock by which entries are too old
 * @param signal ends the check of the file, which takes longer the larger it is; rejects then
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
      if (existsSync(file + LOCK_SUFFIX)) onError(new Error(`The store ${file} is gone: a new one begins, empty`));
      await make(file);
    }
    return new LmdbStore(file, lock, bounds, onError, clock);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** Rejects where a file is not a usable store. No process may have it open. */
export async function checkStore(file: string): Promise<void> {
  try {
    await checkFile(file, OPTIONS);
  } finally {
    await rm(file + LOCK_SUFFIX, { force: true });
  }
}

/** The history of a store that another process has open, to read it only. A read throws a Refusal as long as the store is not there. */
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
  readonly #root: RootDatabase;
  readonly #channels: Database<string, string>;
  readonly #documents: Database<string, string>;
  readonly #history: LmdbHistory;
  readonly #figures: LmdbFigures;
  /** Loaded or committed last, for a rollback: the engine's own objects, which are immutable. */
  readonly #committed = new Map<string, ChannelState>();
  readonly #disk: Disk;
  readonly #lock: FolderLock;
  readonly #onError: (error: Error) => void;
  readonly #file: string;
  readonly #underWay = new Set<Promise<void>>();
  #closing: Promise<void> | undefined;

  constructor(
    file: string,
    lock: FolderLock,
    bounds: HistoryBounds,
    onError: (error: Error) => void,
    clock: StoreClock,
  ) {
    this.#root = open({ path: file, ...OPTIONS });
    this.#channels = this.#root.openDB({ name: 'channels', encoding: 'string' });
    this.#documents = this.#root.openDB({ name: 'documents', encoding: 'string' });
    this.#history = new LmdbHistory(this.#root, bounds, onError, clock);
    this.#figures = new LmdbFigures(this.#root);
    this.#disk = new Disk(file);
    this.#lock = lock;
    this.#onError = onError;
    this.#file = file;
  }

  load(channel: string): ChannelState | undefined {
    const text = this.#channels.get(channel);
    if (text === undefined) return undefined;
    const { state, bad } = parseState(channel, text);
    if (bad.length > 0) {
      const reasons = bad.join('; ');
      this.#onError(
        new Error(`Part of the stored state of channel ${channel} cannot be read, and is left out (${reasons})`),
      );
    }
    this.#committed.set(channel, state);
    return state;
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

  async saveFigures(figures: readonly (readonly [FigureKey, string | undefined])[]): Promise<void> {
    await this.#underWayUntil('Figures', () => this.#saveFigures(figures));
  }

  async save(channel: string, state: ChannelState, history: readonly HistoryEntry[] = []): Promise<void> {
    await this.#underWayUntil(`The state of channel ${channel}`, () => this.#save(channel, state, history));
  }

  document(name: string): unknown {
    try {
      return JSON.parse(this.#documents.get(name) ?? '');
    } catch {
      return undefined;
    }
  }

  async saveDocument(name: string, value: unknown): Promise<void> {
    await this.#underWayUntil(`The document ${name}`, () => this.#saveText(name, JSON.stringify(value)));
  }

  fault(): string | null {
    return this.#disk.fault();
  }

  /** A save that the store is not closed before. Rejects with what could not be saved, and why. */
  async #underWayUntil(what: string, save: () => Promise<void>): Promise<void> {
    // lmdb itself forbids it to its root database only; here it would throw later, where nothing can catch it.
    if (this.#closing !== undefined) throw new Error('The store is closed');
    const saved = save();
    this.#underWay.add(saved);
    try {
      await saved;
    } catch (error) {
      throw new Error(`${what} cannot be saved: ${(error as Error).message}`, { cause: error });
    } finally {
      this.#underWay.delete(saved);
    }
  }

  async #save(channel: string, state: ChannelState, history: readonly HistoryEntry[]): Promise<void> {
    const { wanted, former, count } = this.#texts(channel, state, history);
    const bytes = this.#disk.begin(unitsOf(wanted));
    try {
      await this.#commit(channel, wanted);
      // Also after the commit: what went into a file that was being removed is lost, and must not be answered with success.
      const fault = this.#disk.faultOfCommit();
      if (fault !== null) {
        await this.#takeBack(channel, former(), fault);
        throw new Error(fault);
      }
    } finally {
      this.#disk.end(bytes);
    }
    this.#committed.set(channel, state);
    if (count !== undefined) this.#history.counts.set(channel, count);
  }

  /** What was refused is not taken back: figures of a file that is away are better there than nowhere. */
  #saveFigures(figures: readonly (readonly [FigureKey, string | undefined])[]): Promise<void> {
    const units = figures.reduce((sum, [, text = '']) => sum + text.length, 0);
    return this.#put(units, (writes) => {
      for (const [key, text] of figures) writes.push(this.#figures.put(key, text));
    });
  }

  #saveText(name: string, text: string): Promise<void> {
    return this.#put(text.length, (writes) => writes.push(this.#documents.put(name, text)));
  }

  /** @param units of all texts that are written */
  async #put(units: number, write: (writes: Promise<unknown>[]) => void): Promise<void> {
    const bytes = this.#disk.begin(units);
    try {
      await this.#transact(write);
      const fault = this.#disk.faultOfCommit();
      if (fault !== null) throw new Error(fault);
    } finally {
      this.#disk.end(bytes);
    }
  }

  /** lmdb still has the file open, wherever it is now: when it is put back, it must not hold what was refused. */
  #takeBack(channel: string, former: Texts, fault: string): Promise<void> {
    return this.#commit(channel, former).catch((cause: Error) => {
      const reason = `a change of channel ${channel} that was refused cannot be taken back (${cause.message})`;
      this.#disk.condemn(`${fault}, and then restart: ${reason}`);
    });
  }

  /** What to store, and what is stored now: state, entries, and those that they push out; and the count of entries then. */
  #texts(
    channel: string,
    state: ChannelState,
    history: readonly HistoryEntry[],
  ): { readonly wanted: Texts; readonly former: () => Texts; readonly count?: number } {
    const last = this.#committed.get(channel);
    const lastText = last === undefined ? this.#channels.get(channel) : undefined;
    const wanted: [HistoryKey, string | undefined][] = [];
    const stored: [HistoryKey, string | undefined][] = [];
    // The state's text is made only when it is needed.
    const former = () => ({ state: last === undefined ? lastText : stateText(last), history: stored });
    if (history.length === 0) return { wanted: { state: stateText(state), history: wanted }, former };
    let added = 0;
    for (const entry of history) {
      const key = historyKey(channel, entry);
      const [formerly, formerText, former] = this.#history.ofPlay(channel, entry) ?? [];
      if (former !== undefined && former.toMs !== null && entry.toMs === null) continue;
      const text = this.#history.database.get(key);
      // An entry that ends may have been pruned, and is stored again with its end.
      if (text === undefined) added++;
      wanted.push([key, entryText(entry)]);
      stored.push([key, text]);
      if (formerly === undefined || (formerly[2] === key[2] && formerly[3] === key[3])) continue;
      added--;
      wanted.push([formerly, undefined]);
      stored.push([formerly, formerText]);
    }
    const begun = history.findLast(({ toMs }) => toMs === null);
    for (const [was, is] of begun === undefined ? [] : this.#history.fromAhead(channel, begun.fromMs)) {
      const [key, text] = this.#history.ofPlay(channel, was)!;
      wanted.push([key, undefined], [historyKey(channel, is), entryText(is)]);
      stored.push([key, text]);
      if (is.fromMs !== was.fromMs) stored.push([historyKey(channel, is), undefined]);
    }
    const count = this.#history.count(channel) + added;
    const expired = added <= 0 ? [] : this.#history.expired(channel, count);
    for (const [key, text] of expired) {
      wanted.push([key, undefined]);
      stored.push([key, text]);
    }
    return { wanted: { state: stateText(state), history: wanted }, former, count: count - expired.length };
  }

  #commit(channel: string, { state, history }: Texts): Promise<void> {
    return this.#transact((writes) => {
      writes.push(state === undefined ? this.#channels.remove(channel) : this.#channels.put(channel, state));
      for (const [key, text] of history) {
        writes.push(text === undefined ? this.#history.database.remove(key) : this.#history.database.put(key, text));
      }
    });
  }

  /** One transaction. Rejects with lmdb's reason. @param write pushes the promise of each write: none may be left without a handler */
  async #transact(write: (writes: Promise<unknown>[]) => void): Promise<void> {
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

  history(channel: string, page: HistoryPage): HistoryEntry[] {
    return this.#history.read(channel, page);
  }

  hasEntry(channel: string, entry: HistoryEntry): boolean {
    return this.#history.ofPlay(channel, entry)?.[2].toMs === entry.toMs;
  }

  /** Several may be under way: each has a snapshot of its own. */
  backup(): Promise<string> {
    if (this.#closing !== undefined) return Promise.reject(new Error('The store is closed'));
    const copied = copyBeside(dirname(this.#file), this.#file, (path) => this.#root.backup(path, false));
    // It must not be closed meanwhile.
    const ended = copied.then(
      () => undefined,
      () => undefined,
    );
    this.#underWay.add(ended);
    return copied.finally(() => this.#underWay.delete(ended));
  }

  checkReaders(): void {
    this.#root.readerCheck();
  }

  close(): Promise<void> {
    // A save that is under way may have to be rolled back.
    this.#closing ??= Promise.allSettled(this.#underWay)
      .then(() => this.#root.close())
      .then(() => this.#lock.release());
    return this.#closing;
  }
}

/** UTF-16 units of all texts. */
function unitsOf({ state = '', history }: Texts): number {
  let units = state.length;
  for (const [, text] of history) units += text?.length ?? 0;
  return units;
}
