/** The history entries that follow when one state of a channel replaces another: one entry for each play. */

import { isSamePlay, playId } from '../../metadata/record.js';
import { isTitle } from '../../now-playing/effect.js';
import type { ChannelState, HistoryEntry } from '../../now-playing/state.js';
import { isBegun } from './merge.js';
import { isBegunTwice, saysTheSame, type Unsent } from './ordered.js';

/** Key of one play of a title, the same on every node. */
export function playOf({ record, fromMs }: HistoryEntry): string {
  return `${fromMs} ${playId(record)}`;
}

/** History entries that follow when another state replaces the one in force. */
export function rowsBetween(before: ChannelState, after: ChannelState): HistoryEntry[] {
  const [was, is] = [openRow(before), openRow(after)];
  if (was !== null && is !== null && playOf(was) === playOf(is)) return saysTheSame(was.record, is.record) ? [] : [is];
  const ended = was === null ? [] : [{ ...was, toMs: Math.max(was.fromMs, after.onAirSinceMs) }];
  return is === null ? ended : [...ended, is];
}

/**
 * The entry of a title that was begun here alone, if the cluster has its play from another node, with another beginning (merge.ts).
 * @param one the change that may have begun it @param sent its history as it was merged @param state common to all, after it
 */
export function begunTwice(one: Unsent, sent: readonly HistoryEntry[], state: ChannelState): HistoryEntry[] {
  const begun = one.history.find((row) => isBegun(row, one));
  // A correction begins no play.
  if (begun === undefined || (one.onNow !== null && isSamePlay(one.onNow, begun.record))) return [];
  const common = [...sent, openRow(state)].map((row) => row && playOf(row));
  return common.includes(playOf(begun)) ? [] : [begun];
}

/**
 * Whether a play that this change has begun, or corrected, and that is over, has an entry from another node as well. The common state knows the last
 * plays only (merge.ts).
 * @param others the entries of that time that are not of this node's unsent changes
 */
export function isKeptTwice(
  row: HistoryEntry,
  one: Unsent,
  others: (row: HistoryEntry) => readonly HistoryEntry[],
): boolean {
  const begun = one.history.find((own) => isBegun(own, one));
  if (begun === undefined || row.toMs === null || playOf(row) !== playOf(begun)) return false;
  return others(row).some((other) => playOf(other) !== playOf(row) && isBegunTwice(row.record, other.record));
}

function openRow({ now, onAirSinceMs }: ChannelState): HistoryEntry | null {
  return now === null || !isTitle(now) ? null : { record: now, fromMs: onAirSinceMs, toMs: null };
}
