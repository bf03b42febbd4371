/** Files that a command makes of what a server sends: names that any file system takes, and never over another file. */

import { closeSync, openSync } from 'node:fs';
import { cutBytes } from '../../metadata/text.js';

/** Letters and digits of a title in a file's name, in bytes: file systems take names of 255. */
const TITLE_BYTES = 120;
const MAX_NAMESAKES = 1000;

/** Letters and digits, which any file system takes; all else is a `-`. */
export function fileText(title: string): string {
  const safe = title.normalize('NFC').replace(/[^\p{L}\p{N}]+/gu, '-');
  return cutBytes(safe, TITLE_BYTES).replace(/^-|-$/g, '');
}

export interface NewFile {
  readonly path: string;
  /** Open for writing. */
  readonly fd: number;
}

/** A file that is there already, of a title with the same name or of another program, stays. @param base without the ending */
export function openNew(base: string, ending: string): NewFile {
  for (let number = 1; ; number++) {
    const path = `${base}${number === 1 ? '' : `-${number}`}.${ending}`;
    try {
      return { path, fd: openSync(path, 'wx') };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || number >= MAX_NAMESAKES) throw error;
    }
  }
}

/** As openNew does, and closed. @returns its path */
export function reserveNew(base: string, ending: string): string {
  const { path, fd } = openNew(base, ending);
  closeSync(fd);
  return path;
}
