/**
 * The history in an LMDB file: an entry per title, under [channel, beginning, version, id]. Reads pages, and computes what a new entry replaces and
 * which old ones it displaces. Its owner, the store, writes them in the transaction of the state that the titles belong to.
 */

import type { Database, RangeOptions, RootDatabase } from 'lmdb';
import type { Clock } from '../base/clock.js';
import { FIRST_PLAUSIBLE_MS, SteadyTime } from '../base/steady-time.js';
import type { HistoryEntry } from '../now-playing/state.js';
import { areFromAhead, begunIn, LastBegun, MAX_FROM_AHEAD, putBefore } from './from-ahead.js';
import { type HistoryBounds, type HistoryPage, isKnown, isTooOld, PRUNE_STEP } from './store.js';
import { entryText, type HistoryKey, historyKey, isSamePlay, parseEntry } from './stored.js';

/** An entry as it is stored; without a text it is removed. */
export type HistoryText = readonly [HistoryKey, string | undefined];

/** What a change of a channel writes, what that replaces, and how many entries the channel has then (undefined: as many as before). */
interface HistoryChange {
  readonly wanted: readonly HistoryText[];
  readonly former: readonly HistoryText[];
  readonly count?: number;
}

/** The longest time between two titles. An entry after a longer one was written while the clock was ahead. */
const NEXT_WITHIN_MS = 86_400_000;
/** Sorts after every number. */
const AFTER_ALL = '\uffff';

export class LmdbHistory {
  readonly #database: Database<string, HistoryKey>;
  /** Number of a channel's entries, as they were counted or committed last. */
  readonly counts = new Map<string, number>();
  /** The time by which an entry is too old. */
  readonly #time: SteadyTime;
  readonly #clock: Pick<Clock, 'now' | 'wallMs'>;
  readonly #begun = new LastBegun();
  /** The oldest entry of each channel whose entries were found to be neither too many nor too old. */
  readonly #oldest = new Map<string, HistoryEntry>();
  readonly #bounds: HistoryBounds;
  readonly #onError: (error: Error) => void;
  /** Channels whose unreadable entry has been reported. */
  readonly #reported = new Set<string>();

  constructor(
    root: RootDatabase,
    bounds: HistoryBounds,
    onError: (error: Error) => void,
    clock: Pick<Clock, 'now' | 'wallMs'>,
  ) {
    this.#database = root.openDB({ name: 'history', encoding: 'string' });
    this.#clock = clock;
    this.#time = new SteadyTime(clock, this.#knownMs(clock.wallMs()));
    this.#bounds = bounds;
    this.#onError = onError;
  }

  read(channel: string, { limit, beforeMs }: HistoryPage): HistoryEntry[] {
    const wallMs = this.#time.ms();
    const start = beforeMs === undefined ? [channel, AFTER_ALL] : [channel, beforeMs];
    const page: HistoryEntry[] = [];
    for (const { key, value } of this.#database.getRange({ start, end: [channel], reverse: true })) {
      if (page.length === limit) break;
      // A reverse range of lmdb includes its start.
      if (beforeMs !== undefined && key[1] >= beforeMs) continue;
      const entry = this.#entry(channel, value);
      if (entry === null) continue;
      // An entry that began earlier ended earlier.
      if (isTooOld(entry, this.#bounds, wallMs)) break;
      page.push(entry);
    }
    return page;
  }

  has(channel: string, entry: HistoryEntry): boolean {
    const there = this.#ofPlay(channel, entry)?.[2];
    return there !== undefined && isKnown(there, entry);
  }

  /**
   * What storing these entries changes: they take the place of those of the same plays, and push out the oldest.
   * @param onAirSinceMs since when the title in force is on air: entries in the future are moved only when it begins
   */
  change(
    channel: string,
    entries: readonly HistoryEntry[],
    gone: readonly HistoryEntry[],
    onAirSinceMs: number,
  ): HistoryChange {
    const wanted: HistoryText[] = [];
    const former: HistoryText[] = [];
    if (entries.length + gone.length === 0) return { wanted, former };
    let added = 0;
    for (const entry of gone) {
      const [key, text] = this.#ofPlay(channel, entry) ?? [];
      if (key === undefined) continue;
      this.#oldest.delete(channel);
      added--;
      wanted.push([key, undefined]);
      former.push([key, text]);
    }
    for (const entry of entries) {
      const key = historyKey(channel, entry);
      const isBehindAll = entry.fromMs > this.#begun.latestMs(channel);
      this.#begun.include(channel, entry.fromMs);
      const text = isBehindAll ? undefined : this.#database.get(key);
      // A play has one entry: the one under the same key needs no search.
      const isReplaced = text !== undefined && entry.toMs !== null;
      const [thereKey, thereText, there] = isBehindAll || isReplaced ? [] : (this.#ofPlay(channel, entry) ?? []);
      if (there !== undefined && there.toMs !== null && entry.toMs === null) continue;
      if (!isBehindAll && entry.fromMs <= (this.#oldest.get(channel)?.fromMs ?? 0)) this.#oldest.delete(channel);
      // An entry that ends may have been pruned, and is stored again with its end.
      if (text === undefined) added++;
      wanted.push([key, entryText(entry)]);
      former.push([key, text]);
      if (thereKey === undefined || (thereKey[2] === key[2] && thereKey[3] === key[3])) continue;
      added--;
      wanted.push([thereKey, undefined]);
      former.push([thereKey, thereText]);
    }
    const begun = begunIn(entries, onAirSinceMs);
    for (const [was, is] of begun === undefined ? [] : this.#fromAhead(channel, begun.fromMs)) {
      const [key, text] = this.#ofPlay(channel, was)!;
      this.#oldest.delete(channel);
      wanted.push([key, undefined], [historyKey(channel, is), entryText(is)]);
      former.push([key, text]);
      if (is.fromMs !== was.fromMs) former.push([historyKey(channel, is), undefined]);
    }
    const count = (this.counts.get(channel) ?? this.#database.getKeysCount(allOf(channel))) + added;
    const expired = added <= 0 ? [] : this.#expired(channel, count);
    for (const [key, text] of expired) {
      wanted.push([key, undefined]);
      former.push([key, text]);
    }
    return { wanted, former, count: count - expired.length };
  }

  /** Within a transaction of lmdb.ts. */
  put([key, text]: HistoryText): Promise<boolean> {
    return text === undefined ? this.#database.remove(key) : this.#database.put(key, text);
  }

  /** The entry of the same play, with its key and text; undefined: there is none. */
  #ofPlay(channel: string, entry: HistoryEntry): readonly [HistoryKey, string, HistoryEntry] | undefined {
    const range = { start: [channel, entry.fromMs], end: [channel, entry.fromMs, AFTER_ALL] };
    for (const { key, value } of this.#database.getRange(range)) {
      const there = this.#entry(channel, value);
      if (there !== null && isSamePlay(there, entry)) return [key, value, there];
    }
    return undefined;
  }

  /**
   * The oldest entries, as far as they are too many, too old, or cannot be read. @param count of entries, including those about to be stored
   */
  #expired(channel: string, count: number): [HistoryKey, string][] {
    const surplus = count - this.#bounds.entries;
    const expired: [HistoryKey, string][] = [];
    const wallMs = this.#time.ms();
    const oldest = surplus > 0 ? undefined : this.#oldest.get(channel);
    if (oldest !== undefined && !isTooOld(oldest, this.#bounds, wallMs)) return expired;
    for (const { key, value } of this.#database.getRange({ ...allOf(channel), limit: PRUNE_STEP })) {
      const entry = expired.length < surplus ? null : this.#entry(channel, value);
      if (entry !== null && !isTooOld(entry, this.#bounds, wallMs)) {
        if (expired.length === 0) this.#oldest.set(channel, entry);
        break;
      }
      expired.push([key, value]);
    }
    return expired;
  }

  /**
   * Entries in the future, which came while the clock was ahead, and the one before them: as they are, and as they should be.
   * @param fromMs when a title begins that is about to be stored
   */
  #fromAhead(channel: string, fromMs: number): readonly (readonly [was: HistoryEntry, is: HistoryEntry])[] {
    if (fromMs >= this.#begun.latestMs(channel)) {
      this.#begun.note(channel, fromMs, this.#clock.now());
      return [];
    }
    const after = { start: [channel, fromMs, AFTER_ALL], end: [channel, AFTER_ALL] };
    const above = this.#entries(channel, { ...after, limit: MAX_FROM_AHEAD + 1 });
    this.#begun.includeAll(channel, fromMs, above);
    const nowMs = this.#clock.now();
    const isMoved = areFromAhead(above, fromMs, this.#time);
    const agoMs = isMoved ? this.#begun.agoMs(channel, above.at(-1)!.fromMs, nowMs) : 0;
    this.#begun.note(channel, fromMs, nowMs);
    if (!isMoved) return [];
    const before = { start: [channel, fromMs], end: [channel], reverse: true, limit: 2 };
    const below = this.#entries(channel, before).find((entry) => entry.fromMs < fromMs);
    const placed = putBefore(above, below, fromMs, agoMs);
    const moved = above.map((entry, i) => [entry, placed.above[i]!] as const);
    return below === placed.below ? moved : [[below!, placed.below!], ...moved];
  }

  #entries(channel: string, range: RangeOptions): HistoryEntry[] {
    return [...this.#database.getRange(range)].flatMap(({ value }) => this.#entry(channel, value) ?? []);
  }

  /**
   * The last moment that is known to have passed: when the last title of any channel began. Titles ahead of the clock count only if each follows the
   * one before it within NEXT_WITHIN_MS: then the clock is behind.
   */
  #knownMs(wallMs: number): number {
    let knownMs = Number.NEGATIVE_INFINITY;
    let channel: string | undefined = this.#lastKey([AFTER_ALL])?.[0];
    while (channel !== undefined) {
      // A clock that is before the date of this program is certainly behind.
      let lastMs =
        this.#lastKey([channel, wallMs])?.[1] ?? (wallMs < FIRST_PLAUSIBLE_MS ? Number.POSITIVE_INFINITY : wallMs);
      for (const [, fromMs] of this.#database.getKeys({
        start: [channel, wallMs],
        end: [channel, AFTER_ALL],
      })) {
        if (fromMs - lastMs > NEXT_WITHIN_MS) break;
        lastMs = fromMs;
      }
      if (lastMs !== Number.POSITIVE_INFINITY) knownMs = Math.max(knownMs, lastMs);
      channel = this.#lastKey([channel])?.[0];
    }
    return knownMs === Number.NEGATIVE_INFINITY ? wallMs : knownMs;
  }

  /** The last key before this one, in the same channel; if it has no moment, in a channel before it. */
  #lastKey(before: [string] | [string, number]): HistoryKey | undefined {
    const end = before.length > 1 ? { end: [before[0]] } : {};
    // A reverse range of lmdb includes its start.
    return [...this.#database.getKeys({ start: before, ...end, reverse: true, limit: 2 })].find(
      (key) => before.length > 1 || key[0] !== before[0],
    );
  }

  /** Null: it cannot be read. One damaged entry must not hide the others. */
  #entry(channel: string, text: string): HistoryEntry | null {
    const entry = parseEntry(channel, text);
    if (entry === null && !this.#reported.has(channel)) {
      this.#reported.add(channel);
      this.#onError(new Error(`An entry of the stored history of channel ${channel} is unreadable: skipping it`));
    }
    return entry;
  }
}

function allOf(channel: string): RangeOptions {
  return { start: [channel], end: [channel, AFTER_ALL] };
}
