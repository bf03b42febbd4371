/**
 * The channel's own title, for when nobody has a better one: after the duration of the title on air, and (where the channel says
 * so) while its first source is not heard. Pure functions; who watches clock and sources is src/titles/scheduler.ts.
 *
 *   lost:  now ──► covered, the fallback title becomes now; pushes go to covered     found:  covered ──► now
 *
 * Owner of the rules: contract.md, "after the duration is over" and "while a fallback source plays".
 */

import type { TrackRecord } from '../metadata/record.js';
import { air, type Moment, realNow, silently } from './effect.js';
import { DEFAULTS } from './repeat.js';
import type { Change, ChannelState } from './state.js';

/** Clean text (metadata/text.ts). */
export interface FallbackTitle {
  readonly artist: string;
  readonly song: string;
}

/** The title that a channel has of its own, and when it shows it. */
export interface FallbackRules {
  readonly title: FallbackTitle;
  /** How much longer than its duration a title stands. */
  readonly graceSeconds: number;
  readonly whenSourceLost: boolean;
}

/** The title that took effect at `effectAtMs` has run out. Null: another has come since. */
export function runOut(state: ChannelState, effectAtMs: number, title: FallbackTitle, at: Moment): Change | null {
  if (realNow(state)?.effectAtMs !== effectAtMs) return null;
  return state.lost ? silently(state, { covered: null }) : air(state, fallbackRecord(state, title, at), at);
}

/** The channel has been given another title of its own since this one came to stand. Null: it has not, or none stands. */
export function reword(state: ChannelState, title: FallbackTitle, at: Moment): Change | null {
  const { now } = state;
  if (now?.source !== 'fallback' || (now.artist === title.artist && now.song === title.song)) return null;
  return air(state, fallbackRecord(state, title, at), at);
}

/** The channel's own source is not heard any more. Null: that was known. */
export function sourceLost(state: ChannelState, title: FallbackTitle, at: Moment): Change | null {
  if (state.lost) return null;
  const lost = { lost: true, covered: realNow(state) };
  if (state.now?.source === 'fallback') return silently(state, lost);
  return air({ ...state, ...lost }, fallbackRecord(state, title, at), at);
}

/** It is heard again: the last real title returns, unless it has run out (then the fallback title stays). Null: it was not lost. */
export function sourceFound(state: ChannelState, at: Moment): Change | null {
  if (!state.lost) return null;
  const { covered } = state;
  if (covered === null) return silently(state, { lost: false });
  return air({ ...state, lost: false, covered: null }, { ...covered, version: state.version + 1 }, at);
}

function fallbackRecord(state: ChannelState, title: FallbackTitle, at: Moment): TrackRecord {
  return {
    ...DEFAULTS,
    ...title,
    id: at.newId(),
    type: 'now',
    source: 'fallback',
    startSeconds: Math.floor(at.wallMs / 1000),
    channel: at.channel,
    version: state.version + 1,
    effectAtMs: at.wallMs,
  };
}
