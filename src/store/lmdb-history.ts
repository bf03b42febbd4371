/**
 * The history in an LMDB file: an entry per title, under [channel, when it began, version]. Reads pages, and knows which entries the next one pushes
 * out. Written by its owner, the store, in the transaction of the state that the titles belong to.
 */

import type { Database, RootDatabase } from 'lmdb';
import type { HistoryEntry } from '../now-playing/state.js';
import { type HistoryBounds, type HistoryPage, isTooOld, PRUNE_STEP } from './store.js';
import { type HistoryKey, isSamePlay, parseEntry } from './stored.js';

/** Sorts after every number. */
const AFTER_ALL = '\uffff';

export class LmdbHistory {
  readonly database: Database<string, HistoryKey>;
  /** Number of a channel's entries, as they were counted or committed last. */
  readonly counts = new Map<string, number>();
  readonly #bounds: HistoryBounds;
  readonly #onError: (error: Error) => void;
  /** Channels whose unreadable entry has been reported. */
  readonly #reported = new Set<string>();

  constructor(root: RootDatabase, bounds: HistoryBounds, onError: (error: Error) => void) {
    this.database = root.openDB({ name: 'history', encoding: 'string' });
    this.#bounds = bounds;
    this.#onError = onError;
  }

  read(channel: string, { limit, beforeMs }: HistoryPage): HistoryEntry[] {
    const wallMs = Date.now();
    const start = beforeMs === undefined ? [channel, AFTER_ALL] : [channel, beforeMs];
    const range = { start: start as unknown as HistoryKey, end: [channel] as unknown as HistoryKey, reverse: true };
    const page: HistoryEntry[] = [];
    for (const { key, value } of this.database.getRange(range)) {
      if (page.length === limit) break;
      // A reverse range begins at its start, which is not wanted.
      if (beforeMs !== undefined && key[1] >= beforeMs) continue;
      const entry = this.#entry(channel, value);
      if (entry === null) continue;
      // An entry that began earlier ended earlier.
      if (isTooOld(entry, this.#bounds, wallMs)) break;
      page.push(entry);
    }
    return page;
  }

  /** The entry of the same play, and its key; undefined: there is none. */
  ofPlay(channel: string, entry: HistoryEntry): readonly [HistoryKey, string, HistoryEntry] | undefined {
    const range = { start: [channel, entry.fromMs], end: [channel, entry.fromMs, AFTER_ALL] };
    for (const { key, value } of this.database.getRange(range as unknown as { start: HistoryKey; end: HistoryKey })) {
      const there = this.#entry(channel, value);
      if (there !== null && isSamePlay(there, entry)) return [key, value, there];
    }
    return undefined;
  }

  count(channel: string): number {
    return this.counts.get(channel) ?? this.database.getKeysCount(allOf(channel));
  }

  /** The oldest entries, as far as they are too many, too old, or cannot be read. @param count of the entries, with those that are about to be stored */
  expired(channel: string, count: number): [HistoryKey, string][] {
    const surplus = count - this.#bounds.entries;
    const expired: [HistoryKey, string][] = [];
    const wallMs = Date.now();
    for (const { key, value } of this.database.getRange({ ...allOf(channel), limit: PRUNE_STEP })) {
      const entry = expired.length < surplus ? null : this.#entry(channel, value);
      if (entry !== null && !isTooOld(entry, this.#bounds, wallMs)) break;
      expired.push([key, value]);
    }
    return expired;
  }

  /** Null: it cannot be read. One damaged entry must not hide the others. */
  #entry(channel: string, text: string): HistoryEntry | null {
    const entry = parseEntry(channel, text);
    if (entry === null && !this.#reported.has(channel)) {
      this.#reported.add(channel);
      this.#onError(new Error(`An entry of the stored history of channel ${channel} cannot be read, and is skipped`));
    }
    return entry;
  }
}

function allOf(channel: string): { start: HistoryKey; end: HistoryKey } {
  return { start: [channel] as unknown as HistoryKey, end: [channel, AFTER_ALL] as unknown as HistoryKey };
}
