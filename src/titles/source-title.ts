/** Titles of sources, in their streams or beside them, as the state machine takes them. Pure. */

import { cleanText } from '../metadata/text.js';
import { cutText, readEntities, splitTitle } from '../metadata/title.js';
import type { PlainTitle } from '../now-playing/now-playing.js';
import type { Source, SourceTitle } from '../source/source.js';

/** A source's title, each part cut at `textBytes`; null: sources of this kind have none. */
export function plainTitle(sourceTitle: SourceTitle, source: Source, textBytes: number): PlainTitle | null {
  const origin = titleOriginOf(source);
  if (origin === null) return null;
  // Icecast writes as entities what its Latin-1 does not have.
  const read = origin === 'upstream' ? readEntities : (text: string) => text;
  const title =
    typeof sourceTitle === 'string'
      ? splitTitle(read(cleanText(sourceTitle)))
      : { ...sourceTitle, artist: read(sourceTitle.artist), song: read(sourceTitle.song) };
  const [artist, song] = [cutText(title.artist, textBytes), cutText(title.song, textBytes)];
  return { ...title, artist, song, source: origin };
}

/** The origin of this source's titles; null: sources of this kind have none. */
export function titleOriginOf(source: Source): PlainTitle['source'] | null {
  if (source.kind === 'file') return null;
  return source.kind === 'pull' ? 'upstream' : 'encoder';
}
