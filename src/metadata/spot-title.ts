/**
 * Extracts artist, song and cover from titles of iHeart's streams, which consist of members of its advertising system. Pure.
 *
 *   Artist - text="Song" song_spot="M" MediaBaseId="1" amgArtworkURL="https://…" length="00:03:45"
 *   title="Song",artist="Artist",url="song_spot="M" MediaBaseId="1" …"
 */

import { imageUrl } from './image-url.js';

/** A value may contain quotes: it ends before another member, or at the end. */
const END = '"(?=[ ,]{1,3}\\w{1,32}=\\\\?"|[ ,"]{0,3}$)';
const TEXT = new RegExp(`^(?:(.*?) ?- )?(?:\\w{1,32}="[^"]*" )?text="(.*?)${END}`);
const TITLE = new RegExp(
  `^(?:title="(.*?)${END}[ ,]{1,3}artist="(.*?)${END}|artist="(.*?)${END}[ ,]{1,3}title="(.*?)${END})`,
);
/** Members that identify such a title. */
const MEMBER = /[ ,"](?:song_spot|spotInstanceId|MediaBaseId|TPID|TAID|cartcutId|length)=\\?"/;
const ARTWORK = /[ "]amgArtworkURL=\\?"(https?:[^"\\]*)/;

export interface SpotTitle {
  readonly artist: string;
  readonly song: string;
  /** "": none. */
  readonly cover: string;
}

/** Null: an ordinary line. @param line with its entities decoded */
export function readSpotTitle(line: string): SpotTitle | null {
  if (!MEMBER.test(line)) return null;
  const cover = imageUrl(ARTWORK.exec(line)?.[1] ?? '');
  const text = TEXT.exec(line);
  if (text !== null) return { artist: text[1] ?? '', song: text[2]!, cover };
  const title = TITLE.exec(line);
  return title === null ? null : { artist: title[2] ?? title[3]!, song: title[1] ?? title[4]!, cover };
}
