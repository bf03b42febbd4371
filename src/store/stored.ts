/**
 * What the store writes: a state and a history entry as text, each with the number of its format, so that a later version knows what it
 * reads (src/store/README.md, "Layout"). Pure functions, used by lmdb.ts.
 */

import { printable } from '../base/printable.js';
import { parse } from '../metadata/codec.js';
import { contentTag } from '../metadata/etag.js';
import { playId } from '../metadata/record.js';
import { type ChannelState, EMPTY_STATE, type HistoryEntry } from '../now-playing/state.js';
import { readEntry, type SalvagedState, salvageState } from '../now-playing/state-schema.js';

/** 2 added members to the state, and history; a state of format 1 is read as one that has none of them. */
const FORMAT = 2;

/**
 * Channel, beginning (unix milliseconds), version of the record, and the play's id, or a digest of a long or unusual one: two machines that were
 * apart may have begun different titles at one moment. Entries of earlier versions have a digest in any case, or no fourth member.
 */
export type HistoryKey =
  | [channel: string, fromMs: number, version: number, tag: string]
  | [channel: string, fromMs: number, version: number];

/** Ids that LMDB keeps in a key unchanged: ours, and most others. A digest would cost more than the rest of the key. */
const PLAIN_ID = /^[\w-]{1,64}$/;

/** Reads a stored state as far as possible; `bad` says what cannot be read. The channel goes on with the rest. */
export function parseState(channel: string, text: string): SalvagedState {
  let stored: { format?: unknown; state?: unknown } | null;
  try {
    stored = parse(text) as typeof stored;
  } catch (error) {
    return { state: EMPTY_STATE, bad: [(error as Error).message] };
  }
  const { state, bad } = salvageState(channel, stored?.state);
  if (stored?.format === FORMAT) return { state, bad };
  if (stored?.format === 1) return { state: { ...state, onAirSinceMs: state.now?.effectAtMs ?? 0 }, bad };
  return {
    state,
    bad: [`its format is ${printable(`${stored?.format}`)}, this version of airsplice reads 1 and ${FORMAT}`, ...bad],
  };
}

export function stateText(state: ChannelState): string {
  return JSON.stringify({ format: FORMAT, state });
}

export function entryText(entry: HistoryEntry): string {
  return JSON.stringify({ format: FORMAT, entry });
}

export function historyKey(channel: string, { fromMs, record }: HistoryEntry): HistoryKey {
  const id = playId(record);
  return [channel, fromMs, record.version, PLAIN_ID.test(id) ? id : contentTag(id)];
}

/** Whether both entries are of one play. */
export function isSamePlay(one: HistoryEntry, other: HistoryEntry): boolean {
  return one.fromMs === other.fromMs && playId(one.record) === playId(other.record);
}

/** Null: it is malformed, or of another channel. */
export function parseEntry(channel: string, text: string): HistoryEntry | null {
  try {
    return readEntry(channel, (parse(text) as { entry?: unknown } | null)?.entry);
  } catch {
    return null;
  }
}
