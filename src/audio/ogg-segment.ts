/**
 * A segment of an Ogg tape: whole pages with whole packets, about a second of them, and where a new link follows, that link's head,
 * in the place that an ICY block has on other tapes: the title stands at the segment's end. Never changes; one buffer for everybody.
 *
 *   bytes     │ page page page │                      the link goes on
 *   bytes     │ page page EOS  │ head of the next │   it ends here
 *   entered   │ head │ page page page │               a listener's first; made on first use
 */

import type { Mark, PlacedMark } from './mark.js';
import type { LinkHead } from './ogg-link.js';
import type { AudioSegment } from './segment.js';

export interface OggSegmentFacts {
  readonly bytes: Buffer;
  readonly linkBytes: number;
  /** Of the link to which its pages belong. */
  readonly head: LinkHead;
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
  readonly entryMs: number;
  readonly before: Mark | null;
  readonly mark: Mark | null;
  readonly marks: readonly PlacedMark[];
  readonly #head: LinkHead;
  #entered: Buffer | undefined;

  constructor(facts: OggSegmentFacts) {
    this.bytes = facts.bytes;
    this.linkBytes = facts.linkBytes;
    this.startMs = facts.startMs;
    this.endMs = facts.endMs;
    this.entryMs = facts.startMs;
    this.before = facts.before;
    this.marks = facts.marks;
    this.mark = facts.marks.at(-1)?.mark ?? facts.before;
    this.#head = facts.head;
  }

  get plain(): Buffer {
    return this.bytes;
  }

  get titled(): Buffer {
    return this.bytes;
  }

  entered(): Buffer {
    return (this.#entered ??= Buffer.concat([this.#head.bytes, this.bytes]));
  }
}
