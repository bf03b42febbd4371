/** Reads the title from the parameters of an encoder's update. Pure. */

import { decodeCharset, isCharset, isUtf8Name } from '../../base/charset.js';
import { pictureUrl } from '../../metadata/image-url.js';
import { isUnfilled } from '../../metadata/placeholder.js';
import { cleanWithin, decodeTitle, decodeUndeclared, oneLine } from '../../metadata/text.js';
import { cutTitle, splitTitle } from '../../metadata/title.js';
import type { SourceTitle } from '../../source/source.js';

export type Fields = ReadonlyMap<string, Buffer>;

export interface TitleLimits {
  /** A longer artist or song is cut, since no encoder reads a refusal. */
  readonly textBytes: number;
  /** A longer URL is ignored. */
  readonly urlBytes: number;
}

/** A title, and the names of ignored fields. */
export interface ReadTitle {
  /** Null: none was sent, or only placeholders. */
  readonly title: SourceTitle | null;
  /** An unknown `charset`, and fields with placeholders that were not filled in. */
  readonly ignored: readonly string[];
}

/**
 * Artist and title if both are present, else `song`, else `title` (Liquidsoap sends all three), else the artist alone.
 * @param fallback the charset of texts that name none and are not UTF-8
 */
export function titleOf(fields: Fields, { textBytes, urlBytes }: TitleLimits, fallback: string): ReadTitle {
  const named = textOf(fields, 'charset').trim();
  const charset = isCharset(named) ? named : '';
  const ignored = named === charset ? [] : ['charset'];
  // Some encoders always name UTF-8, even for texts that are not.
  const isSure = charset !== '' && !isUtf8Name(charset);
  const read = (name: string) => {
    const bytes = fields.get(name) ?? NOTHING;
    return isSure ? decodeCharset(bytes, charset) : decodeTitle(bytes, fallback);
  };
  const filled = (name: string) => {
    const text = read(name);
    if (!isUnfilled(text)) return text;
    ignored.push(name);
    return '';
  };
  const clean = (text: string) => cutTitle(text, textBytes);
  const [artist, title, song] = [clean(filled('artist')), filled('title'), filled('song')];
  const line = song || title;
  const isArtists = artist !== '' && (clean(title) !== '' || line === '');
  // A cover alone leaves the title unchanged; an empty title clears it.
  const isSent = ['artist', 'title', 'song'].some((name) => fields.has(name));
  const isUnfilledLine = line === '' && ignored.some((name) => name !== 'charset');
  if (!isArtists && (!isSent || isUnfilledLine)) return { title: null, ignored };
  const cover = pictureUrl(cleanWithin(read('url'), urlBytes) ?? '');
  const album = clean(filled('album'));
  if (isArtists) return { title: { artist, song: clean(title), cover, album }, ignored };
  const parts = splitTitle(oneLine(line));
  return {
    title: { artist: clean(parts.artist), song: clean(parts.song), separator: parts.separator, cover, album },
    ignored,
  };
}

const NOTHING = Buffer.alloc(0);

/** A field that is not part of a title; `""` if it is missing. */
export function textOf(fields: Fields, name: string): string {
  return decodeUndeclared(fields.get(name) ?? NOTHING);
}
