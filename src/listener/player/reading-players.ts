/**
 * How much audio a player reads before it plays it, where it shows a title when it reads it (README.md, "Players that show what they
 * read"). By the user agent: an option, since players change.
 */

import { ofAgent } from './agent-table.js';

/** How a product in a user agent begins → seconds of audio that such a player reads ahead; `all`: whatever it is sent. */
export type ReadingPlayers = Readonly<Record<string, number | 'all'>>;

/** Milliseconds of audio; +∞: whatever it is sent; 0: it shows titles when it plays them. */
export function readAheadMs(players: ReadingPlayers, agent: string): number {
  const ahead = ofAgent(players, agent) ?? 0;
  return ahead === 'all' ? Number.POSITIVE_INFINITY : ahead * 1000;
}
