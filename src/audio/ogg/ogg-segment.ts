/**
 * A segment of an Ogg tape: whole pages with whole packets, about a second of them, and where a new link follows, that link's head,
 * in the place that an ICY block has on other tapes: the title stands at the segment's end. Never changes; one buffer for everybody.
 *
 *   bytes     │ page page page │                      the link goes on
 *   bytes     │ page page EOS  │ head of the next │   it ends here
 *   entered   │ head │ page page page │               a listener's first, with positions from 0; made on first use
 */

import type { Mark, PlacedMark } from '../tape/mark.js';
import { type AudioSegment, NOTHING } from '../tape/segment.js';
import { headerBytes, moveBack } from './ogg-page.js';

/** Where a listener's own link begins, as the pages of the shared one count: the position that becomes 0, and the number of its first page. */
export interface LinkPlace {
  readonly granule: number;
  readonly page: number;
}

/** The head of a link, and how many pages it takes. */
export interface LinkPages {
  readonly bytes: Buffer;
  readonly pages: number;
}

export interface OggSegmentFacts {
  readonly bytes: Buffer;
  readonly linkBytes: number;
  /** Of the link to which its pages belong. */
  readonly head: LinkPages;
  /** Where the link of a listener begins that joins here, and the audio time of the first sample that its decoder plays. */
  readonly joinPlace: LinkPlace;
  readonly entryMs: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly before: Mark | null;
  readonly marks: readonly PlacedMark[];
}

export class OggSegment implements AudioSegment {
  readonly bytes: Buffer;
  readonly linkBytes: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly entry = 0;
  readonly late = null;
  readonly entryMs: number;
  readonly before: Mark | null;
  readonly mark: Mark | null;
  readonly marks: readonly PlacedMark[];
  readonly joinPlace: LinkPlace;
  readonly head: LinkPages;
  #entered: Buffer | undefined;

  constructor(facts: OggSegmentFacts) {
    this.bytes = facts.bytes;
    this.linkBytes = facts.linkBytes;
    this.startMs = facts.startMs;
    this.endMs = facts.endMs;
    this.entryMs = facts.entryMs;
    this.joinPlace = facts.joinPlace;
    this.before = facts.before;
    this.marks = facts.marks;
    this.mark = facts.marks.at(-1)?.mark ?? facts.before;
    this.head = facts.head;
  }

  get plain(): Buffer {
    return this.bytes;
  }

  get passing(): Buffer {
    return this.bytes;
  }

  get titled(): Buffer {
    return this.bytes;
  }

  titledFor(): Buffer {
    return this.bytes;
  }

  /** It ends with whole pages. */
  rest(): Buffer {
    return NOTHING;
  }

  /** Nobody comes from another tape: players do not go on with another codec's head. */
  enteredBehind(): null {
    return null;
  }

  entered(): Buffer {
    return (this.#entered ??= Buffer.concat([this.head.bytes, ...this.movedBack(this.joinPlace)]));
  }

  /** In pieces, with its pages as if the link had begun at this place: each header made anew, each body shared. */
  movedBack({ granule, page }: LinkPlace): Buffer[] {
    const { bytes } = this;
    const pages = page - this.head.pages;
    if (granule === 0 && pages === 0) return [bytes];
    const pieces: Buffer[] = [];
    const end = bytes.length - this.linkBytes;
    for (let at = 0; at < end; ) {
      const header = Buffer.from(bytes.subarray(at, at + headerBytes(bytes, at)));
      const next = at + moveBack(header, granule, pages);
      pieces.push(header, bytes.subarray(at + header.length, next < end ? next : bytes.length));
      at = next;
    }
    return pieces;
  }
}
