/**
 * The interface of a store for now, next and history. Implementations: lmdb.ts, and test/kit/memory-store.ts for tests; both pass
 * test/store/contract.ts. The state machine (now-playing/now-playing.ts) decides what is in a ChannelState; a store only keeps it.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.js';
import type { ChannelState, HistoryEntry } from '../now-playing/state.js';

/** How much history is kept of each channel. */
export interface HistoryBounds {
  /** An entry that ended longer ago than this is dropped. */
  readonly days: number;
  /** If there are more, the oldest are dropped. */
  readonly entries: number;
}

export interface HistoryPage {
  /** At most this many entries. */
  readonly limit: number;
  /** Only titles that began before this moment, unix milliseconds. */
  readonly beforeMs?: number | undefined;
}

/** The key of a figure: a text that a store does not interpret (src/statistics/README.md). */
export type FigureKey = readonly [kind: string, scope: string, atMs: number];

/** The figure of one moment or period. */
export interface StoredFigure {
  readonly atMs: number;
  readonly text: string;
}

export interface FigurePage {
  /** Unix milliseconds, inclusive. */
  readonly fromMs: number;
  /** Unix milliseconds, exclusive. */
  readonly beforeMs: number;
  /** At most this many. */
  readonly limit: number;
}

/** What readers need of a store. */
export interface HistoryStore {
  /** The titles that were on air within the bounds, newest first. Unknown channel: empty. */
  history(channel: string, page: HistoryPage): HistoryEntry[];
  /** Oldest first. Unknown kind or scope: empty. */
  figures(kind: string, scope: string, page: FigurePage): StoredFigure[];
}

/** Small JSON documents by name, apart from the channels. */
export interface DocumentStore {
  /** The document saved last, parsed from JSON; undefined: none, or an unreadable one. */
  document(name: string): unknown;
  /** Resolves when a kill -9 can no longer lose it; rejects as `save` does. */
  saveDocument(name: string, value: unknown): Promise<void>;
}

/** A figure with its text; undefined: it is removed. */
export type FigureChange = readonly [FigureKey, string | undefined];

export interface Store extends HistoryStore, DocumentStore {
  /** The scopes of which there are figures of this kind, in order. */
  figureScopes(kind: string): string[];
  /** How many figures there are of a scope. */
  figureCount(kind: string, scope: string): number;
  /**
   * Writes figures, or removes them (undefined), as one transaction: resolves and rejects as `save` does. No key twice in one call; one call at a
   * time (the caller's duty).
   */
  saveFigures(figures: readonly FigureChange[]): Promise<void>;
  /** Whether the history has this entry, or a later one of the same play (isKnown). */
  hasEntry(channel: string, entry: HistoryEntry): boolean;
  /** The last committed state of a channel, as far as it can be read; undefined when nothing was ever saved. Read at start. */
  load(channel: string): ChannelState | undefined;
  /**
   * Commits a channel's state and history as one transaction (README, "Durability"): resolves when a kill -9 can no longer lose it; rejects with
   * nothing visible. The caller must make one save at a time per channel. @param gone entries to remove: of plays that did not take place
   */
  save(
    channel: string,
    state: ChannelState,
    history?: readonly HistoryEntry[],
    gone?: readonly HistoryEntry[],
  ): Promise<void>;
  /** Why no save can succeed now: the file is gone, or the disk full or failing. Null: saves can succeed. Takes some microseconds. */
  fault(): string | null;
  /** Frees what killed processes held as readers. */
  checkReaders?(): void;
  /**
   * Copies all that is saved by now to a file in the store's folder; resolves with its name there. The caller removes it.
   * Absent: the store has no file.
   */
  backup?(): Promise<string>;
  /** Waits for saves under way, then releases the folder. Idempotent. */
  close(): Promise<void>;
}

/** The most entries that are removed with each new one. */
export const PRUNE_STEP = 8;

const DAY_MS = 86_400_000;

/** The clock of a store that is given no other. */
export const OWN_CLOCK: Pick<Clock, 'now' | 'wallMs'> = { now: () => performance.now(), wallMs: () => Date.now() };

/** Whether an entry of the same play says what another one says, or more. A correction of a past title keeps its version. */
export function isKnown(there: HistoryEntry, { record, toMs }: HistoryEntry): boolean {
  if (toMs === null) return there.record.version >= record.version;
  if (there.toMs !== toMs) return false;
  return there.record.version > record.version || isDeepStrictEqual(there.record, record);
}

/** Whether an entry ended too long ago. @param wallMs unix milliseconds (base/steady-time.ts) */
export function isTooOld(entry: HistoryEntry, bounds: HistoryBounds, wallMs: number): boolean {
  // Another machine may have reported an end before the beginning.
  return entry.toMs !== null && Math.max(entry.fromMs, entry.toMs) < wallMs - bounds.days * DAY_MS;
}
