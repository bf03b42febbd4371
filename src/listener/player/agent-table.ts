/** What is known of players by their user agents: tables that are options, since players change. Pure. */

/**
 * What a table says of a player; undefined: nothing.
 * @param table how a product in a user agent begins → what such a player needs
 * @param agent the user agent: products with blanks between them (RFC 9110 section 10.1.5); the longest text with which one of them begins
 *   counts, in any case of letters
 */
export function ofAgent<T>(table: Readonly<Record<string, T>>, agent: string): T | undefined {
  const products = ` ${agent.toLowerCase()}`;
  let found = '';
  for (const text of Object.keys(table)) {
    if (text.length > found.length && products.includes(` ${text.toLowerCase()}`)) found = text;
  }
  return found === '' ? undefined : table[found];
}
