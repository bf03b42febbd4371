/**
 * Which origins of titles a channel believes (`titlesFrom`, best first), and how long a better one keeps the others out (src/now-playing/README.md,
 * "Trust"). Pure; used by the state machine (now-playing.ts).
 *
 *   metapush   outranks those after it for its duration + grace, or for pushHoldSeconds without a duration;
 *              then the title in the stream returns (returnTitle in now-playing.ts)
 *   encoder,   outranks those after it while that source is on air
 *   upstream
 */

import type { TrackRecord } from '../metadata/record.js';

/** The origin of a title, as in the configuration. */
export type TitleOrigin = 'metapush' | 'encoder' | 'upstream';

export interface TrustRules {
  /** In order of trust; others are not believed. */
  readonly titlesFrom: readonly TitleOrigin[];
  /** The origin whose audio is on air; null: a file, or none. */
  readonly originOnAir: TitleOrigin | null;
  /** How long a pushed now without a duration keeps other titles out. */
  readonly pushHoldSeconds: number;
  /** How much longer than its duration a pushed now does. */
  readonly graceSeconds: number;
}

/** How long after its effect a pushed now keeps other titles out, milliseconds. */
export function holdMs(push: TrackRecord, rules: TrustRules): number {
  return (push.durationSeconds > 0 ? push.durationSeconds + rules.graceSeconds : rules.pushHoldSeconds) * 1000;
}

/** Whether a title of this origin may replace the one in force. @param ageMs how long a record has been in force */
export function mayReplace(
  now: TrackRecord | null,
  origin: TitleOrigin,
  ageMs: (now: TrackRecord) => number,
  rules: TrustRules,
): boolean {
  const rank = rules.titlesFrom.indexOf(origin);
  if (rank === -1) return false;
  if (now === null || now.source === 'fallback') return true;
  const rankOfNow = rules.titlesFrom.indexOf(now.source);
  if (rankOfNow === -1 || rank <= rankOfNow) return true;
  if (now.source !== 'metapush') return now.source !== rules.originOnAir;
  return ageMs(now) >= holdMs(now, rules);
}
