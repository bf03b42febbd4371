/**
 * Cuts the pages of one Ogg stream into packets, which may continue from page to page.
 *
 *   lacings   255 255 17 │ 40 │ 255        a packet ends with a value below 255; the last one here continues in the next page
 *   packets   ───────────  ──── ────►
 *
 * Memory is at most MAX_PACKET_BYTES of the packet that continues: a larger one is lost. Owned by one OggFramer.
 */

import { isFilled, type OggPage } from './ogg-page.js';
import type { OggFramerState, OggPageState } from './ogg-state.js';

/** A larger packet is not a stream's audio; of comments with a picture that are larger the beginning is kept, in which the title is. */
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
  /** The page began within the headers, where an empty packet counts. */
  isHead = false;
  /** A packet continues in the next page. */
  isOpen = false;
  /** It is lost: it is too large, or its beginning never arrived. */
  isLost = false;
  /** Bytes of the packet that continues, also if it is lost. */
  openBytes = 0;
  #pieces: Buffer[] = [];
  /** The number of the next lacing value. */
  #lacing = 0;
  /** Offsets in the body: where the next packet begins, and the end of what the lacing values so far cover. */
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

  /** The page is done, or not wanted. */
  drop(): void {
    this.begin(NO_PAGE, false);
  }

  /** Whether part of the page was not taken yet. */
  get hasMore(): boolean {
    return this.#lacing < this.page.lacings.length;
  }

  /** The next packet that ends in the page: all of it, or of a lost one this page's part, within the headers its beginning; null: none. */
  next(): Buffer | null {
    const { lacings, body } = this.page;
    while (this.#lacing < lacings.length) {
      const lacing = lacings[this.#lacing++]!;
      this.#bodyAt += lacing;
      const isEmpty = this.#bodyAt === this.#packetAt && !this.isOpen;
      if (lacing === 255 || (isEmpty && !this.isHead)) continue;
      const end = body.subarray(this.#packetAt, this.#bodyAt);
      this.#packetAt = this.#bodyAt;
      if (this.isLost && this.isHead) return Buffer.concat(this.#pieces);
      return this.isOpen && !this.isLost ? Buffer.concat([...this.#pieces, end]) : end;
    }
    return null;
  }

  /** Keeps the page's part of a packet that continues in the next one. Returns how many bytes of it are lost. */
  keepRest(): number {
    const { lacings, body } = this.page;
    if (lacings.at(-1) !== 255) return 0;
    const piece = body.subarray(this.#packetAt);
    const wasLost = this.isLost;
    this.isOpen = true;
    this.openBytes += piece.length;
    if (this.openBytes > MAX_PACKET_BYTES) this.isLost = true;
    if (!this.isLost) this.#pieces.push(Buffer.from(piece));
    else if (!this.isHead) this.#pieces = [];
    return !this.isLost ? 0 : wasLost ? piece.length : this.openBytes;
  }

  /** Forgets the packet that continues. @param isLost one continues whose beginning never arrived */
  close(isLost = false): void {
    this.isOpen = isLost;
    this.isLost = isLost;
    this.#pieces = [];
    this.openBytes = 0;
  }
}
