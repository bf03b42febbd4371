/** Checks a chain of Ogg links, page by page. */

import { LAST, type OggPage, PAGE_HEADER_BYTES, pageBytes, readPage } from '../../src/audio/ogg/ogg-page.js';

/** The complete pages; null: a page with a wrong CRC. */
export function pagesOf(bytes: Buffer): (OggPage | null)[] {
  const pages: (OggPage | null)[] = [];
  for (let at = 0; bytes.length - at >= PAGE_HEADER_BYTES; ) {
    const length = pageBytes(bytes, at, bytes.length - at);
    if (bytes.length - at < length) break;
    pages.push(readPage(bytes.subarray(at, at + length)));
    at += length;
  }
  return pages;
}

/** The number of links that begin in it, and a fault of its pages; '': none. */
export function chainOf(bytes: Buffer): { readonly links: number; readonly fault: string } {
  let [links, serial, next, isOver] = [0, -1, 0, true];
  for (const page of pagesOf(bytes)) {
    if (page === null) return { links, fault: 'a wrong CRC' };
    if (isOver !== (page.serial !== serial))
      return { links, fault: 'a link that does not end, or goes on behind its end' };
    if (isOver) {
      [serial, next] = [page.serial, 0];
      links++;
    }
    if (page.sequence !== next++) return { links, fault: `page ${page.sequence} in place of ${next - 1}` };
    isOver = (page.flags & LAST) !== 0;
  }
  return { links, fault: '' };
}
