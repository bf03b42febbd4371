/** Looks up a player by its user agent in a table, which is an option since players change. Pure. */

/**
 * The entry for a player; undefined: none.
 * @param table prefix of a product in a user agent → what such a player needs; the longest match counts, whatever its case
 * @param agent the user agent: products with blanks between them (RFC 9110 section 10.1.5)
 */
export function ofAgent<T>(table: Readonly<Record<string, T>>, agent: string): T | undefined {
  const products = ` ${agent.toLowerCase()}`;
  let found = '';
  for (const text of Object.keys(table)) {
    if (text.length > found.length && products.includes(` ${text.toLowerCase()}`)) found = text;
  }
  return found === '' ? undefined : table[found];
}
