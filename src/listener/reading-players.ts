/**
 * How much audio a player reads before it plays it, where it shows a title when it reads it (README.md, "Players that show what they
 * read"). By the user agent: an option, since players change.
 */

/** How a product in a user agent begins → seconds of audio that such a player reads ahead; `all`: whatever it is sent. */
export type ReadingPlayers = Readonly<Record<string, number | 'all'>>;

/**
 * Milliseconds of audio; +∞: whatever it is sent; 0: it shows titles when it plays them.
 * @param agent the user agent: products with blanks between them (RFC 9110 section 10.1.5); the longest text with which one of them begins
 *   counts, in any case of letters
 */
export function readAheadMs(players: ReadingPlayers, agent: string): number {
  const products = ` ${agent.toLowerCase()}`;
  let found = '';
  for (const text of Object.keys(players)) {
    if (text.length > found.length && products.includes(` ${text.toLowerCase()}`)) found = text;
  }
  const ahead = found === '' ? 0 : players[found]!;
  return ahead === 'all' ? Number.POSITIVE_INFINITY : ahead * 1000;
}
