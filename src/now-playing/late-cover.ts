/** The cover of a title, found after it took effect: a correction, as a push with a late cover is (src/now-playing/README.md). Pure. */

import { isSamePlay, isSameWords, type TrackRecord } from '../metadata/record.js';
import { correctNow, type Moment, realNow } from './effect.js';
import type { Change, ChannelState } from './state.js';

/** @param record the one for which it was found @returns null: another title is in force, or it has a picture by now */
export function giveCover(state: ChannelState, record: TrackRecord, cover: string, at: Moment): Change | null {
  const now = realNow(state);
  if (now === null || !isSamePlay(now, record) || !isSameWords(now, record)) return null;
  return now.cover === '' && now.images === null ? correctNow(state, { ...now, cover }, at) : null;
}
