/**
 * What the store writes: a state and a history entry as text, each with the number of its format, so that a later version knows what it
 * reads (src/store/README.md, "Layout"). Pure functions, used by lmdb.ts.
 */

import { type ChannelState, EMPTY_STATE, type HistoryEntry } from '../now-playing/state.js';

/** 2 added members to the state, and history; a state of format 1 is read as one that has none of them. */
const FORMAT = 2;

/** Channel, since when (unix milliseconds), version of the record. */
export type HistoryKey = [string, number, number];

/** Throws an Error that names the channel when the text cannot be read. */
export function parseState(channel: string, text: string): ChannelState {
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

export function stateText(state: ChannelState): string {
  return JSON.stringify({ format: FORMAT, state });
}

export function entryText({ wasVersion: _, ...entry }: HistoryEntry): string {
  return JSON.stringify({ format: FORMAT, entry });
}

export function historyKey(channel: string, { fromMs, record }: HistoryEntry): HistoryKey {
  return [channel, fromMs, record.version];
}

/** Of the entry whose place it takes, where that is another one's. */
export function formerKey(channel: string, { fromMs, record, wasVersion }: HistoryEntry): HistoryKey | null {
  return wasVersion === undefined || wasVersion === record.version ? null : [channel, fromMs, wasVersion];
}

/** Null: it is not an entry. */
export function parseEntry(text: string): HistoryEntry | null {
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
