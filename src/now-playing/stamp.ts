/** Sets the stamp of the sequence (feed/sequence.ts) on the records of a state that have the version of the change. */

import type { TrackRecord } from '../metadata/record.js';
import type { Change, ChannelState } from './state.js';

export function stampedRecord(record: TrackRecord, version: number, stamp: number): TrackRecord {
  return record.version === version ? { ...record, stamp } : record;
}

export function stampedState<S extends Pick<ChannelState, 'version' | 'now' | 'next' | 'covered'>>(
  state: S,
  stamp: number,
): S {
  const { version, now, next, covered } = state;
  return {
    ...state,
    stamp,
    now: now && stampedRecord(now, version, stamp),
    next: next && stampedRecord(next, version, stamp),
    covered: covered && stampedRecord(covered, version, stamp),
  };
}

export function stampedChange(change: Change, stamp: number): Change {
  return { ...change, record: change.record && { ...change.record, stamp }, state: stampedState(change.state, stamp) };
}
