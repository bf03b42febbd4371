/** The bytes that listeners of an Ogg tape receive. */

import type { OggTape } from '../../src/audio/ogg/ogg-tape.js';

/** The bytes for a listener without ICY who joins at segment `from`, up to segment `to`, exclusive. */
export function joinedAt(tape: OggTape, from: number, to = tape.head): Buffer {
  const rendering = tape.rendering(false);
  const parts: Buffer[] = [];
  for (let seq = from; seq < to; seq++) {
    const segment = tape.at(seq)!;
    parts.push(...rendering.next(seq === from ? segment.entered() : segment.plain, segment));
  }
  return Buffer.concat(parts);
}
