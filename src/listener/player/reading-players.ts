/** How far ahead a player reads that shows titles when it reads them (README.md, "Players that show what they read"), by its user agent. */

import { ofAgent } from './agent-table.js';

/** Prefix of a product in a user agent → seconds of audio that such a player reads ahead; `all`: everything that it is sent. */
export type ReadingPlayers = Readonly<Record<string, number | 'all'>>;

/** Milliseconds of audio; +∞: everything that it is sent; 0: it shows titles when it plays them. */
export function readAheadMs(players: ReadingPlayers, agent: string): number {
  const ahead = ofAgent(players, agent) ?? 0;
  return ahead === 'all' ? Number.POSITIVE_INFINITY : ahead * 1000;
}
