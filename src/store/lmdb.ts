/**
 * The store on disk: one LMDB file in a folder that this process alone may use (lock.ts). A state per channel: JSON, with the
 * number of its format, so that a later version can tell what it reads. Beside it the history, an entry per title:
 *
 *   channels  jazz → {"format":2,"state":{…}}        history  [jazz, from ms, version] → {"format":2,"entry":{…}}
 *
 * A save resolves when its transaction has been flushed to the disk. Saves of one turn of the event loop, and those that come while
 * another is being flushed, share a transaction and so its fate.
 */

import { existsSync } from 'node:fs';
import { mkdir, open as openFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { type ChannelState, EMPTY_STATE, type HistoryEntry } from '../now-playing/state.js';
import { checkFile, mustBeWritable } from './check.js';
import { Disk } from './disk.js';
import { type FolderLock, lockFolder } from './lock.js';
import { type HistoryBounds, type HistoryPage, isTooOld, PRUNE_STEP, type Store } from './store.js';

const FILE = 'airsplice.mdb';
/** 2 added members to the state, and history; a state of format 1 is read as one that has none of them. */
const FORMAT = 2;

/**
 * overlappingSync off: else a commit resolves before its flush, and what a kill -9 leaves is taken up again only where the system
 * tells a boot id. The flush was measured at less than 0.2 ms a save.
 * eventTurnBatching off: else lmdb 3.5.6 makes, beside ours, a promise that nobody holds, and a commit that fails (a full disk)
 * ends the process as an unhandled rejection. Saves still share transactions.
 */
const OPTIONS = { noSubdir: true, overlappingSync: false, eventTurnBatching: false, maxDbs: 4 };

const DEFAULT_BOUNDS: HistoryBounds = { days: 30, entries: 10_000 };

/** LMDB's own, beside each file of its. */
const LOCK_SUFFIX = '-lock';

/** Channel, since when (unix milliseconds), version of the record. */
type HistoryKey = [string, number, number];

/** What a channel has, or shall have: the text of its state, and of some entries; undefined: none. */
interface Texts {
  readonly state: string | undefined;
  readonly history: readonly (readonly [HistoryKey, string | undefined])[];
}

/** lmdb gives the reason of a failure in a promise of its own. */
interface CommitFailure {
  readonly commitError?: Promise<never>;
}

/** Sorts after every number. */
const AFTER_ALL = '\uffff';

/**
 * Opens (or makes) the store in a folder, which is made with mode 0700 where it is missing.
 * Rejects when another process has the folder, when it cannot be written to, and when the file is damaged, empty, or not ours.
 * @param onError told, once for each channel, that an entry of its history cannot be read (the entry is passed over), and that the store
 *   has gone from a folder that had one (a new one begins)
 * @param signal ends the look through the file, which takes longer the larger it is; rejects then
 */
export async function openLmdbStore(
  folder: string,
  bounds: HistoryBounds = DEFAULT_BOUNDS,
  onError: (error: Error) => void = () => undefined,
  signal?: AbortSignal,
): Promise<Store> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const lock = await lockFolder(folder);
  try {
    const file = join(folder, FILE);
    await mustBeWritable(folder, file);
    if (existsSync(file)) await checkFile(file, OPTIONS, signal);
    else {
      if (existsSync(file + LOCK_SUFFIX)) onError(new Error(`The store ${file} is gone: a new one begins, empty`));
      await make(file);
    }
    return new LmdbStore(file, lock, bounds, onError);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** Under another name first, so that a start that is killed never leaves a file that looks like one that was cut to nothing. */
async function make(file: string): Promise<void> {
  const unborn = `${file}-new`;
  await rm(unborn, { force: true });
  await open({ path: unborn, ...OPTIONS }).close();
  const handle = await openFile(unborn, 'r+');
  await handle.sync();
  await handle.close();
  await rm(unborn + LOCK_SUFFIX, { force: true });
  await rename(unborn, file);
}

class LmdbStore implements Store {
  readonly #root: RootDatabase;
  readonly #channels: Database<string, string>;
  readonly #history: Database<string, HistoryKey>;
  /** What was loaded or committed last, to be put back: the engine's own objects, which nobody changes. */
  readonly #committed = new Map<string, ChannelState>();
  /** How many entries a channel has; counted when it is first needed. */
  readonly #counts = new Map<string, number>();
  readonly #bounds: HistoryBounds;
  readonly #disk: Disk;
  readonly #lock: FolderLock;
  readonly #onError: (error: Error) => void;
  /** Channels of which it was told that an entry cannot be read. */
  readonly #reported = new Set<string>();
  readonly #underWay = new Set<Promise<void>>();
  #closing: Promise<void> | undefined;

  constructor(file: string, lock: FolderLock, bounds: HistoryBounds, report: (error: Error) => void) {
    this.#root = open({ path: file, ...OPTIONS });
    this.#channels = this.#root.openDB({ name: 'channels', encoding: 'string' });
    this.#history = this.#root.openDB({ name: 'history', encoding: 'string' });
    this.#bounds = bounds;
    this.#disk = new Disk(file);
    this.#lock = lock;
    this.#onError = report;
  }

  /** Throws an Error that names the channel when what is stored cannot be read. */
  load(channel: string): ChannelState | undefined {
    const text = this.#channels.get(channel);
    if (text === undefined) return undefined;
    const state = parse(channel, text);
    this.#committed.set(channel, state);
    return state;
  }

  async save(channel: string, state: ChannelState, history: readonly HistoryEntry[] = []): Promise<void> {
    // lmdb itself forbids it to its root database only; here it would throw later, where nothing can catch it.
    if (this.#closing !== undefined) throw new Error('The store is closed');
    const saved = this.#save(channel, state, history);
    this.#underWay.add(saved);
    try {
      await saved;
    } catch (error) {
      this.#counts.delete(channel);
      throw new Error(`The state of channel ${channel} cannot be saved: ${(error as Error).message}`, { cause: error });
    } finally {
      this.#underWay.delete(saved);
    }
  }

  fault(): string | null {
    return this.#disk.fault();
  }

  async #save(channel: string, state: ChannelState, history: readonly HistoryEntry[]): Promise<void> {
    const { wanted, former, count } = this.#texts(channel, state, history);
    const bytes = this.#disk.begin(unitsOf(wanted));
    try {
      await this.#commit(channel, wanted);
      // Not only before: what went into a file that was on its way out is lost, and must not be answered for.
      const fault = this.#disk.faultOfCommit();
      if (fault !== null) {
        await this.#takeBack(channel, former(), fault);
        throw new Error(fault);
      }
    } finally {
      this.#disk.end(bytes);
    }
    this.#committed.set(channel, state);
    if (count !== undefined) this.#counts.set(channel, count);
  }

  /** lmdb has the file open still, wherever it is now: when it comes back, it must not tell of what was refused. */
  #takeBack(channel: string, former: Texts, fault: string): Promise<void> {
    return this.#commit(channel, former).catch((cause: Error) => {
      const reason = `a change of channel ${channel} that was refused cannot be taken back (${cause.message})`;
      this.#disk.condemn(`${fault}, and then restart: ${reason}`);
    });
  }

  /** What shall be stored, and what is: state, entries, and those that they push out; the count of entries then, where it was needed. */
  #texts(
    channel: string,
    state: ChannelState,
    history: readonly HistoryEntry[],
  ): { readonly wanted: Texts; readonly former: () => Texts; readonly count?: number } {
    const last = this.#committed.get(channel);
    const lastText = last === undefined ? this.#channels.get(channel) : undefined;
    const wanted: [HistoryKey, string | undefined][] = [];
    const stored: [HistoryKey, string | undefined][] = [];
    // Of the state a text is made only where it is needed.
    const former = () => ({ state: last === undefined ? lastText : textOf(last), history: stored });
    if (history.length === 0) return { wanted: { state: textOf(state), history: wanted }, former };
    let added = 0;
    for (const entry of history) {
      const key = keyOf(channel, entry);
      const text = this.#history.get(key);
      // One that ends may have gone already, and comes back with its end.
      if (text === undefined) added++;
      wanted.push([key, JSON.stringify({ format: FORMAT, entry })]);
      stored.push([key, text]);
    }
    const count = this.#count(channel) + added;
    const goners = added === 0 ? [] : this.#expired(channel, count - this.#bounds.entries);
    for (const [key, text] of goners) {
      wanted.push([key, undefined]);
      stored.push([key, text]);
    }
    return { wanted: { state: textOf(state), history: wanted }, former, count: count - goners.length };
  }

  /** One transaction. Rejects with lmdb's reason. */
  async #commit(channel: string, { state, history }: Texts): Promise<void> {
    // Each has a promise of its own, which must not be left without a handler.
    const writes: Promise<unknown>[] = [];
    writes.push(
      this.#root.batch(() => {
        writes.push(state === undefined ? this.#channels.remove(channel) : this.#channels.put(channel, state));
        for (const [key, text] of history) {
          writes.push(text === undefined ? this.#history.remove(key) : this.#history.put(key, text));
        }
      }),
    );
    const failed = (await Promise.allSettled(writes)).filter((write) => write.status === 'rejected');
    if (failed.length === 0) return;
    // The reasons must not be left without a handler.
    const [cause] = await Promise.all(
      failed.map(({ reason }) => {
        const { commitError } = reason as CommitFailure;
        return commitError === undefined ? reason : commitError.catch((rejected: unknown) => rejected);
      }),
    );
    throw cause;
  }

  /** The oldest entries, as far as they are too many, too old, or cannot be read. */
  #expired(channel: string, surplus: number): [HistoryKey, string][] {
    const range = { start: [channel] as unknown as HistoryKey, end: [channel, AFTER_ALL] as unknown as HistoryKey };
    const goners: [HistoryKey, string][] = [];
    const wallMs = Date.now();
    for (const { key, value } of this.#history.getRange({ ...range, limit: PRUNE_STEP })) {
      const entry = goners.length < surplus ? null : this.#read(channel, value);
      if (entry !== null && !isTooOld(entry, this.#bounds, wallMs)) break;
      goners.push([key, value]);
    }
    return goners;
  }

  #count(channel: string): number {
    const known = this.#counts.get(channel);
    if (known !== undefined) return known;
    const range = { start: [channel] as unknown as HistoryKey, end: [channel, AFTER_ALL] as unknown as HistoryKey };
    return this.#history.getKeysCount(range);
  }

  history(channel: string, { limit, beforeMs }: HistoryPage): HistoryEntry[] {
    const wallMs = Date.now();
    const start = beforeMs === undefined ? [channel, AFTER_ALL] : [channel, beforeMs];
    const range = { start: start as unknown as HistoryKey, end: [channel] as unknown as HistoryKey, reverse: true };
    const page: HistoryEntry[] = [];
    for (const { key, value } of this.#history.getRange(range)) {
      if (page.length === limit) break;
      // A reverse range begins at its start, which is not wanted.
      if (beforeMs !== undefined && key[1] >= beforeMs) continue;
      const entry = this.#read(channel, value);
      if (entry === null) continue;
      // What began earlier has ended earlier.
      if (isTooOld(entry, this.#bounds, wallMs)) break;
      page.push(entry);
    }
    return page;
  }

  /** Null: it cannot be read. One damaged entry must not take the others with it. */
  #read(channel: string, text: string): HistoryEntry | null {
    const entry = parseEntry(text);
    if (entry === null && !this.#reported.has(channel)) {
      this.#reported.add(channel);
      this.#onError(
        new Error(`An entry of the stored history of channel ${channel} cannot be read, and is passed over`),
      );
    }
    return entry;
  }

  close(): Promise<void> {
    // One that is under way may have to be taken back.
    this.#closing ??= Promise.allSettled(this.#underWay)
      .then(() => this.#root.close())
      .then(() => this.#lock.release());
    return this.#closing;
  }
}

function parse(channel: string, text: string): ChannelState {
  const unreadable = `The stored state of channel ${channel} cannot be read`;
  let stored: { format?: unknown; state?: Partial<ChannelState> } | null;
  try {
    stored = JSON.parse(text);
  } catch (cause) {
    throw new Error(`${unreadable}: it is not JSON`, { cause });
  }
  if (stored?.format !== FORMAT && stored?.format !== 1) {
    throw new Error(
      `${unreadable}: its format is ${stored?.format}, this version of airsplice reads formats 1 and ${FORMAT}`,
    );
  }
  if (typeof stored.state?.version !== 'number') throw new Error(`${unreadable}: it has no version`);
  const state = { ...EMPTY_STATE, ...stored.state };
  return stored.format === 1 ? { ...state, onAirSinceMs: state.now?.effectAtMs ?? 0 } : state;
}

/** UTF-16 units of all texts. */
function unitsOf({ state = '', history }: Texts): number {
  let units = state.length;
  for (const [, text] of history) units += text?.length ?? 0;
  return units;
}

function textOf(state: ChannelState): string {
  return JSON.stringify({ format: FORMAT, state });
}

function keyOf(channel: string, { fromMs, record }: HistoryEntry): HistoryKey {
  return [channel, fromMs, record.version];
}

/** Null: it is no entry. */
function parseEntry(text: string): HistoryEntry | null {
  let entry: HistoryEntry | undefined;
  try {
    entry = (JSON.parse(text) as { entry?: HistoryEntry } | null)?.entry;
  } catch {
    return null;
  }
  const toMs = entry?.toMs === null ? 0 : entry?.toMs;
  const numbers = [entry?.fromMs, toMs, entry?.record?.startSeconds, entry?.record?.version];
  return entry !== undefined && numbers.every(Number.isFinite) ? entry : null;
}
