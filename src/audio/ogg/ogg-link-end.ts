/**
 * The last link of an Ogg tape, at the tape's end. Another process that continues the tape ends that link there with an empty page, and begins
 * another (RFC 3533, section 6: a page may hold no packet; its position is that of the page before).
 *
 *   last segment   │ page page page │                      the link of its pages continues
 *   last segment   │ page page EOS  │ head of the next │   the next one has begun, and has no audio yet
 */

import { OggFramer } from './ogg.js';
import type { OggLink } from './ogg-link.js';
import { pageBytes, readPage } from './ogg-page.js';
import type { LinkPages, OggSegment } from './ogg-segment.js';

export interface LinkEnd {
  /** As a source would have sent it, including its title. */
  readonly link: OggLink;
  readonly head: LinkPages;
  readonly serial: number;
  /** The next page's number, and the position before it. */
  readonly page: number;
  readonly granule: number;
}

/** @param last the last segment of the tape */
export function linkEndOf({ bytes, linkBytes, head }: OggSegment): LinkEnd {
  const begun = bytes.subarray(bytes.length - linkBytes);
  const { count, serial, next, granule } = readPages(linkBytes > 0 ? begun : bytes);
  const present = linkBytes > 0 ? { bytes: begun, pages: count } : head;
  return { link: linkOf(present.bytes), head: present, serial, page: next, granule };
}

/** Reads the pages of one link. @returns their number and serial number, the number behind the last page's, and the last position */
function readPages(bytes: Buffer) {
  let [count, serial, next, granule] = [0, 0, 0, 0];
  for (let at = 0; at < bytes.length; count++) {
    const length = pageBytes(bytes, at, bytes.length - at);
    const page = readPage(bytes.subarray(at, at + length))!;
    serial = page.serial;
    next = (page.sequence + 1) >>> 0;
    if (page.granule >= 0) granule = page.granule;
    at += length;
  }
  return { count, serial, next, granule };
}

/** Whether these pages are the whole head of a link. */
export function isLinkHead(head: Buffer): boolean {
  return readLink(head) !== undefined;
}

function linkOf(head: Buffer): OggLink {
  return readLink(head)!;
}

function readLink(head: Buffer): OggLink | undefined {
  const framer = new OggFramer({ onFrame: () => undefined });
  framer.push(head);
  return framer.link;
}
