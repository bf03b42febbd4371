/** An entry of the log in Redis, and the last value of a channel there, as text and as they are used (scripts.ts). */

import type { TrackRecord } from '../metadata/record.js';
import type { HistoryEntry } from '../now-playing/state.js';
import type { Ordered } from './ordered.js';
import type { Reply } from './shared-log.js';

export interface LogEntry {
  readonly seq: number;
  readonly channel: string;
  readonly id: string;
  readonly node: string;
  /** 0: it has no record. */
  readonly stamp: number;
  readonly ordered: Ordered;
  readonly history: readonly HistoryEntry[];
}

/** Who feeds what has changed: not a change of a channel. */
export interface LogBell {
  readonly seq: number;
  readonly channel: '';
  readonly id: string;
}

/** Throws an Error where it is not one of ours. */
export function readEntry(reply: Reply): LogEntry | LogBell {
  const [id, list] = reply as readonly [string, readonly string[]];
  const field = (name: string): string => {
    const place = list.indexOf(name);
    if (place === -1 || place % 2 !== 0) throw new Error(`entry ${id} of the log in Redis has no ${name}`);
    return list[place + 1]!;
  };
  const seq = Number(id.split('-')[0]);
  if (field('c') === '') return { seq, channel: '', id: field('p') };
  const stamp = Number(field('s'));
  const ordered = withStamp(JSON.parse(field('o')) as Ordered, stamp);
  const history = (JSON.parse(field('h')) as HistoryEntry[]).map((entry) => ({
    ...entry,
    record: stampedRecord(entry.record, ordered.state.version, stamp),
  }));
  return { seq, channel: field('c'), id: field('p'), node: field('n'), stamp, ordered, history };
}

/** `stamp JSON`. Throws an Error where it is none. */
export function readLast(text: string): Ordered {
  const space = text.indexOf(' ');
  return withStamp(JSON.parse(text.slice(space + 1)) as Ordered, Number(text.slice(0, space)));
}

/** The stamp is Redis's to give, so it stands beside the text. */
function withStamp(ordered: Ordered, stamp: number): Ordered {
  if (stamp === 0) return ordered;
  const { state } = ordered;
  const { version } = state;
  return {
    ...ordered,
    state: {
      ...state,
      stamp,
      now: state.now && stampedRecord(state.now, version, stamp),
      next: state.next && stampedRecord(state.next, version, stamp),
      covered: state.covered && stampedRecord(state.covered, version, stamp),
    },
  };
}

function stampedRecord(record: TrackRecord, version: number, stamp: number): TrackRecord {
  return stamp !== 0 && record.version === version ? { ...record, stamp } : record;
}
