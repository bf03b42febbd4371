/** Whether two records are of one title, however each of them came here. */

import type { ChannelRecord } from '../types.js';

/** Characters of a text that are compared. */
const COMPARED = 200;

/** A correction is another title. A playlist has no straight quotes, and of a long text its beginning. */
export function isSameTitle(a: ChannelRecord | null, b: ChannelRecord | null): boolean {
  const words = ({ artist, song }: ChannelRecord) =>
    [artist, song].map((text) => text.replaceAll('"', '”').slice(0, COMPARED)).join('\n');
  return a === b || (a !== null && b !== null && a.id === b.id && words(a) === words(b));
}
