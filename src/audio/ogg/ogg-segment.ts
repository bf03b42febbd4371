/**
 * A segment of an Ogg tape: whole pages of whole packets, about a second, then the head of the next link if one follows, in the place of an ICY
 * block on other tapes: the title is at the segment's end. Immutable; one buffer for all listeners.
 *
 *   bytes     │ page page page │                      the link continues
 *   bytes     │ page page EOS  │ head of the next │   it ends here
 *   entered   │ head │ page page page │               a listener's first, with positions from 0; made on first use
 */

import type { Mark, PlacedMark } from '../tape/mark.js';
import { type AudioSegment, NOTHING } from '../tape/segment.js';
import { headerBytes, moveBack } from './ogg-page.js';

/** The beginning of a listener's own link, as the shared link counts: the position that becomes 0, and the number of its first page. */
export interface LinkStart {
  readonly granule: number;
  readonly page: number;
}

/** The head of a link, and the number of its pages. */
export interface LinkPages {
  readonly bytes: Buffer;
  readonly pages: number;
}

type OggSegmentFacts = Pick<
  OggSegment,
  'bytes' | 'linkBytes' | 'head' | 'linkStart' | 'entryMs' | 'startMs' | 'endMs' | 'before' | 'marks'
>;

export class OggSegment implements AudioSegment {
  readonly bytes: Buffer;
  readonly linkBytes: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly entry = 0;
  readonly late = null;
  /** The audio time of the first sample that its decoder plays. */
  readonly entryMs: number;
  readonly before: Mark | null;
  readonly mark: Mark | null;
  readonly marks: readonly PlacedMark[];
  /** The beginning of the link of a listener that joins here. */
  readonly linkStart: LinkStart;
  /** The head of the link to which its pages belong. */
  readonly head: LinkPages;
  #entered: Buffer | undefined;

  constructor(facts: OggSegmentFacts) {
    this.bytes = facts.bytes;
    this.linkBytes = facts.linkBytes;
    this.startMs = facts.startMs;
    this.endMs = facts.endMs;
    this.entryMs = facts.entryMs;
    this.linkStart = facts.linkStart;
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

  /** No listener comes from another tape: players cannot continue with the head of another codec. */
  enteredBehind(): null {
    return null;
  }

  entered(): Buffer {
    return (this.#entered ??= Buffer.concat([this.head.bytes, ...this.movedBack(this.linkStart)]));
  }

  /** Its bytes, with pages as if the link had begun at this place: in pieces, with new headers and shared bodies. */
  movedBack({ granule, page }: LinkStart): Buffer[] {
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
