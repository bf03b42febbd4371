/**
 * Whom a channel believes: which tellers of titles it takes at all (`titlesFrom`, best first), and how long the word of a better one
 * keeps the lesser ones out. Pure; the state machine asks (now-playing.ts), and so does the door where a push has to be refused.
 *
 *   metapush   silences those behind it for its duration + grace, or for pushHoldSeconds when it has none;
 *              then the title that stands in the stream returns (returnTitle in now-playing.ts)
 *   encoder,   silences those behind it for as long as that source is heard
 *   upstream
 */

import type { TrackRecord } from '../metadata/record.js';

/** Who can tell a channel a title, as the configuration names them. */
export type TitleOrigin = 'metapush' | 'encoder' | 'upstream';

export interface TrustRules {
  /** In order of trust; one that is left out is not believed at all. */
  readonly titlesFrom: readonly TitleOrigin[];
  /** The teller whose audio is heard at this moment; null where it is a file's, or nothing is. */
  readonly heard: TitleOrigin | null;
  /** How long a pushed now without a duration keeps other titles out. */
  readonly pushHoldSeconds: number;
  /** How much longer than its duration a pushed now does. */
  readonly graceSeconds: number;
}

/** For how long from its effect a pushed now keeps other titles out, milliseconds. */
export function holdMs(push: TrackRecord, rules: TrustRules): number {
  return (push.durationSeconds > 0 ? push.durationSeconds + rules.graceSeconds : rules.pushHoldSeconds) * 1000;
}

/** Whether a title of this teller may take the place of the one in force. @param ageMs for how long this one has been */
export function mayReplace(
  now: TrackRecord | null,
  from: TitleOrigin,
  ageMs: (now: TrackRecord) => number,
  rules: TrustRules,
): boolean {
  const rank = rules.titlesFrom.indexOf(from);
  if (rank === -1) return false;
  if (now === null || now.source === 'fallback') return true;
  const rankOfNow = rules.titlesFrom.indexOf(now.source);
  if (rankOfNow === -1 || rank <= rankOfNow) return true;
  if (now.source !== 'metapush') return now.source !== rules.heard;
  return ageMs(now) >= holdMs(now, rules);
}
