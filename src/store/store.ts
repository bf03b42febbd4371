/**
 * The port behind which now, next and history are kept. Implementations: lmdb.ts (default), memory.ts (tests); both pass
 * test/store/contract.ts. The state machine (now-playing/now-playing.ts) owns what is in a ChannelState; a store only keeps it.
 */

import type { ChannelState, HistoryEntry } from '../now-playing/state.js';

/** How much history is kept of each channel. */
export interface HistoryBounds {
  /** An entry that ended longer ago than this is dropped. */
  readonly days: number;
  /** Of more entries the oldest are dropped. */
  readonly entries: number;
}

export interface HistoryPage {
  /** At most this many entries. */
  readonly limit: number;
  /** Only titles that began before this moment, unix milliseconds. */
  readonly beforeMs?: number | undefined;
}

/** What readers need of a store. */
export interface HistoryStore {
  /** What was on air, newest first; nothing that is older than the bounds. Unknown channel: empty. */
  history(channel: string, page: HistoryPage): HistoryEntry[];
}

export interface Store extends HistoryStore {
  /** The last committed state of a channel, or undefined when nothing was ever saved. Read at start. */
  load(channel: string): ChannelState | undefined;
  /**
   * Commits a channel's state and the history entries that come with it as one transaction; resolves when a kill -9 of this process
   * can no longer lose it. An entry takes the place of one with the same `fromMs` and record version. What is past the bounds goes
   * in small steps: a few of the oldest entries with each new one.
   * Rejects when it cannot be made durable; nothing of it is visible then. One save at a time per channel (the caller's duty).
   */
  save(channel: string, state: ChannelState, history?: readonly HistoryEntry[]): Promise<void>;
  /** Why no save can succeed at this moment: the store is not where it was. Null: it is. Some microseconds. */
  fault(): string | null;
  /** Another process that read it was killed: what it held is free again. */
  checkReaders?(): void;
  /** Waits for saves under way, then releases the folder. Idempotent. */
  close(): Promise<void>;
}

/** How many entries go at most with each new one. */
export const PRUNE_STEP = 8;

const DAY_MS = 86_400_000;

/** Whether an entry ended too long ago. @param wallMs unix milliseconds */
export function isTooOld(entry: HistoryEntry, bounds: HistoryBounds, wallMs: number): boolean {
  return entry.toMs !== null && entry.toMs < wallMs - bounds.days * DAY_MS;
}
