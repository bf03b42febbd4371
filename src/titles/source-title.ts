/** Converts titles of sources, in their streams or beside them, for the state machine. Pure. */

import { isUnfilled } from '../metadata/placeholder.js';
import { readSpotTitle } from '../metadata/spot-title.js';
import { oneLine } from '../metadata/text.js';
import { cutTitle, readEntities, SEPARATORS, splitTitle } from '../metadata/title.js';
import type { PlainTitle } from '../now-playing/now-playing.js';
import type { Source, SourceTitle } from '../source/source.js';

/**
 * A source's title, each part cut at `textBytes`. Null: sources of this kind have no titles, or all parts are unfilled.
 * @param onUnfilled called with a part that consists of placeholders
 */
export function plainTitle(
  sourceTitle: SourceTitle,
  source: Source,
  textBytes: number,
  onUnfilled: (part: string) => void = () => undefined,
): PlainTitle | null {
  const origin = titleOriginOf(source);
  if (origin === null) return null;
  // Icecast writes characters that Latin-1 lacks as entities.
  const read = source.kind === 'pull' ? readEntities : (text: string) => text;
  const title =
    typeof sourceTitle === 'string'
      ? partsOf(oneLine(read(sourceTitle)), origin)
      : {
          ...sourceTitle,
          artist: read(sourceTitle.artist),
          song: read(sourceTitle.song),
          album: cutTitle(read(sourceTitle.album ?? ''), textBytes),
        };
  let unfilled = 0;
  const [artist, song] = [title.artist, title.song].map((part) => {
    const text = cutTitle(part, textBytes);
    if (!isUnfilled(text)) return text;
    unfilled++;
    onUnfilled(text);
    return '';
  }) as [string, string];
  if (unfilled > 0 && artist === '' && song === '') return null;
  return { ...title, artist, song: withoutArtist(song, artist), source: origin };
}

function partsOf(
  line: string,
  origin: PlainTitle['source'],
): Pick<PlainTitle, 'artist' | 'song' | 'separator' | 'cover'> {
  return (origin === 'upstream' ? readSpotTitle(line) : null) ?? splitTitle(line);
}

/** For encoders that repeat the artist in the title: `artist=A`, `title=A - B`. */
function withoutArtist(song: string, artist: string): string {
  if (artist === '' || song.slice(0, artist.length).toLowerCase() !== artist.toLowerCase()) return song;
  const rest = song.slice(artist.length);
  const separator = SEPARATORS.find((each) => rest.startsWith(each));
  return separator === undefined ? song : rest.slice(separator.length).trim() || song;
}

/** The origin of a source's titles; null: it has none. Those of a file are at their place in what is played, as those of an upstream are. */
export function titleOriginOf(source: Source): PlainTitle['source'] | null {
  if (source.kind === 'encoder') return 'encoder';
  return source.kind === 'pull' || source.sender !== undefined ? 'upstream' : null;
}
