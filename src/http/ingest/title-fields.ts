/** The title in the parameters of an encoder's update. Pure. */

import { imageUrl } from '../../metadata/image-url.js';
import { cleanWithin, decodeNamed, decodeUndeclared } from '../../metadata/text.js';
import { cutTitle, splitTitle } from '../../metadata/title.js';
import type { SourceTitle } from '../../source/source.js';

export type Fields = ReadonlyMap<string, Buffer>;

export interface TitleLimits {
  /** A longer artist or song is cut, since no encoder reads a refusal. */
  readonly textBytes: number;
  /** A longer URL is ignored. */
  readonly urlBytes: number;
}

const IMAGE = /^https?:\/\/[^?#]+\.(jpe?g|png|gif|webp|avif|svg|bmp)([?#]|$)/i;

/** Artist and title where both are there, else `song`, else `title` (Liquidsoap sends all three). */
export function titleOf(fields: Fields, { textBytes, urlBytes }: TitleLimits): SourceTitle {
  const charset = textOf(fields, 'charset');
  const read = (name: string) => {
    const bytes = fields.get(name) ?? Buffer.alloc(0);
    return (charset === '' ? null : decodeNamed(bytes, charset)) ?? decodeUndeclared(bytes);
  };
  const clean = (text: string) => cutTitle(text, textBytes);
  const [artist, title] = [clean(read('artist')), clean(read('title'))];
  // An encoder's url is often the station's page: only an image is a cover.
  const url = cleanWithin(read('url'), urlBytes) ?? '';
  const cover = IMAGE.test(url) ? imageUrl(url) : '';
  if (artist !== '' && title !== '') return { artist, song: title, cover };
  const parts = splitTitle(read('song') || read('title'));
  return { artist: clean(parts.artist), song: clean(parts.song), separator: parts.separator, cover };
}

/** A field that is not part of a title; `""` where it is missing or cannot be read. */
export function textOf(fields: Fields, name: string): string {
  return decodeUndeclared(fields.get(name) ?? Buffer.alloc(0));
}
