/** New files named after titles: names are valid on any file system, and no existing file is overwritten. */

import { closeSync, existsSync, openSync } from 'node:fs';
import { cutBytes } from '../../metadata/text.js';

/** The longest title in a file's name: file systems allow names of 255 bytes. */
const TITLE_BYTES = 120;
const MAX_NAMESAKES = 1000;

/** A title's letters and digits; all else becomes `-`. */
export function fileText(title: string): string {
  const safe = title.normalize('NFC').replace(/[^\p{L}\p{N}]+/gu, '-');
  return cutBytes(safe, TITLE_BYTES).replace(/^-|-$/g, '');
}

export interface NewFile {
  readonly path: string;
  /** Open for writing. */
  readonly fd: number;
}

/**
 * Opens a new file, with a number after its name if that exists.
 * @param base path without the extension @param besides extensions of files to be written beside it, which must not exist either
 */
export function openNew(base: string, ending: string, besides: readonly string[] = []): NewFile {
  for (let number = 1; ; number++) {
    const bare = `${base}${number === 1 ? '' : `-${number}`}`;
    const path = `${bare}.${ending}`;
    if (number < MAX_NAMESAKES && besides.some((each) => existsSync(`${bare}.${each}`))) continue;
    try {
      return { path, fd: openSync(path, 'wx') };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || number >= MAX_NAMESAKES) throw error;
    }
  }
}

/** As openNew, but closes the file. @returns its path */
export function reserveNew(base: string, ending: string): string {
  const { path, fd } = openNew(base, ending);
  closeSync(fd);
  return path;
}
