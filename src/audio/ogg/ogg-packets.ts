/**
 * Cuts the pages of one Ogg stream into packets, which may go on from page to page.
 *
 *   lacings   255 255 17 │ 40 │ 255        a packet ends with a value below 255; the last one here goes on in the next page
 *   packets   ───────────  ──── ────►
 *
 * Memory is at most MAX_PACKET_BYTES of the packet that goes on: a larger one is lost. Owned by one OggFramer.
 */

import { isFilled, type OggPage } from './ogg-page.js';
import type { OggFramerState, OggPageState } from './ogg-state.js';

/** A larger packet is not a stream's audio; comments that hold a picture may come near. */
export const MAX_PACKET_BYTES = 1024 * 1024;

const NO_PAGE: OggPage = {
  flags: 0,
  granule: -1,
  serial: -1,
  sequence: 0,
  lacings: Buffer.alloc(0),
  body: Buffer.alloc(0),
};

export class OggPackets {
  /** The page whose packets are being taken. */
  page = NO_PAGE;
  /** The page ended because it was full. */
  isFilled = false;
  /** The page began within the headers, of which one may be empty. */
  isHead = false;
  /** A packet continues in the next page; and it is lost: it is too large, or its beginning never came. */
  isOpen = false;
  isLost = false;
  /** Bytes of the packet that continues, also if it is lost. */
  openBytes = 0;
  /** Its pieces. */
  #pieces: Buffer[] = [];
  /** The next lacing value; where its packet began in the body, and where it has come to. */
  #lacing = 0;
  #packetAt = 0;
  #bodyAt = 0;

  get pageState(): Pick<OggPageState, keyof OggPage | 'lacing' | 'packetAt' | 'bodyAt' | 'isHead'> {
    return {
      ...this.page,
      lacings: Buffer.from(this.page.lacings),
      body: Buffer.from(this.page.body),
      lacing: this.#lacing,
      packetAt: this.#packetAt,
      bodyAt: this.#bodyAt,
      isHead: this.isHead,
    };
  }

  get openState(): OggFramerState['open'] {
    return this.isOpen ? { piece: Buffer.concat(this.#pieces), bytes: this.openBytes, isLost: this.isLost } : null;
  }

  adopt(page: OggPageState, open: OggFramerState['open']): void {
    this.begin(page, page.isHead);
    this.#lacing = page.lacing;
    this.#packetAt = page.packetAt;
    this.#bodyAt = page.bodyAt;
    if (open === null) return;
    this.isOpen = true;
    this.#pieces = [open.piece];
    this.openBytes = open.bytes;
    this.isLost = open.isLost;
  }

  /** The next page. */
  begin(page: OggPage, isHead: boolean): void {
    this.page = page;
    this.isFilled = isFilled(page.lacings);
    this.isHead = isHead;
    this.#lacing = this.#packetAt = this.#bodyAt = 0;
  }

  /** The page is through, or none of it is wanted. */
  drop(): void {
    this.begin(NO_PAGE, false);
  }

  /** Whether something of the page was not taken. */
  get hasMore(): boolean {
    return this.#lacing < this.page.lacings.length;
  }

  /** The next packet that ends in the page: all of it, or what the page has of a lost one; null: none does. */
  next(): Buffer | null {
    const { lacings, body } = this.page;
    while (this.#lacing < lacings.length) {
      const lacing = lacings[this.#lacing++]!;
      this.#bodyAt += lacing;
      const isEmpty = this.#bodyAt === this.#packetAt && !this.isOpen;
      if (lacing === 255 || (isEmpty && !this.isHead)) continue;
      const end = body.subarray(this.#packetAt, this.#bodyAt);
      this.#packetAt = this.#bodyAt;
      return this.isOpen && !this.isLost ? Buffer.concat([...this.#pieces, end]) : end;
    }
    return null;
  }

  /** Keeps what the page has of a packet that goes on in the next one. Returns how many bytes are lost of it. */
  keepRest(): number {
    const { lacings, body } = this.page;
    if (lacings.at(-1) !== 255) return 0;
    const piece = body.subarray(this.#packetAt);
    const wasLost = this.isLost;
    this.isOpen = true;
    this.openBytes += piece.length;
    if (this.openBytes > MAX_PACKET_BYTES) this.isLost = true;
    if (this.isLost) this.#pieces = [];
    else this.#pieces.push(Buffer.from(piece));
    return !this.isLost ? 0 : wasLost ? piece.length : this.openBytes;
  }

  /** Forgets the packet that continues. @param isLost one continues whose beginning never came */
  close(isLost = false): void {
    this.isOpen = isLost;
    this.isLost = isLost;
    this.#pieces = [];
    this.openBytes = 0;
  }
}
