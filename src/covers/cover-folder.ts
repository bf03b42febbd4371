/**
 * Pictures of a folder, named by the ids of titles: `ID.jpg`, `.png` and so on. An id comes with a push, so it names a file of this folder or
 * none: it is short, and has no slash and no dot at its beginning.
 */

import { stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Content types by ending, in the order of the search. */
export const PICTURE_TYPES: ReadonlyMap<string, string> = new Map([
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['png', 'image/png'],
  ['webp', 'image/webp'],
  ['avif', 'image/avif'],
  ['gif', 'image/gif'],
]);

/** Larger ones are not served. */
export const MAX_PICTURE_BYTES = 2 * 1024 * 1024;

const ID = /^[A-Za-z0-9_~-][A-Za-z0-9._~ -]{0,127}$/;
const FILE = /^(.+)\.([a-z]{3,4})$/;

export interface Picture {
  readonly path: string;
  readonly type: string;
}

/** The picture of this file name; null: it is not the name of one. */
export function pictureAt(folder: string, name: string): Picture | null {
  const [, id, ending] = FILE.exec(name) ?? [];
  const type = PICTURE_TYPES.get(ending ?? '');
  return id !== undefined && type !== undefined && ID.test(id) ? { path: join(folder, name), type } : null;
}

/** The file name of an id's picture; null: there is none. Never rejects. */
export async function pictureOf(folder: string, id: string): Promise<string | null> {
  if (!ID.test(id)) return null;
  for (const ending of PICTURE_TYPES.keys()) {
    const name = `${id}.${ending}`;
    const found = await stat(join(folder, name)).catch(() => null);
    if (found?.isFile() === true && found.size > 0 && found.size <= MAX_PICTURE_BYTES) return name;
  }
  return null;
}

/** The URL at which this server serves a picture. @param publicUrl of the server */
export function pictureUrlOf(publicUrl: string, channel: string, name: string): string {
  return `${publicUrl.replace(/\/+$/, '')}/metadata/channel/${channel}/cover/${encodeURIComponent(name)}`;
}
