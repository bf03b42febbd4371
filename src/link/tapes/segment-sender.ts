/**
 * Sends the segments of the tape of one subscription, each after the marks and the Ogg link header that it refers to. Owned by a TapeCursor.
 */

import { type LinkPages, OggSegment } from '../../audio/ogg/ogg-segment.js';
import type { LateTitle } from '../../audio/playable-audio.js';
import type { AudioTape } from '../../audio/tape/audio-tape.js';
import type { Mark } from '../../audio/tape/mark.js';
import { type AudioSegment, Segment } from '../../audio/tape/segment.js';
import type { LinkConnection } from '../wire/link-connection.js';
import { FRAMES_SEGMENT, LATE, LINK_HEAD, MARK, OGG_SEGMENT, REVISION } from '../wire/message-types.js';
import type { MessageWriter } from '../wire/message-writer.js';
import { numberOf, SentMarks } from './linked-marks.js';
import { type SegmentCase, writeFramesSegment, writeOggSegment, writeTitles } from './segment-message.js';

export class SegmentSender {
  readonly #id: number;
  readonly #connection: LinkConnection;
  readonly #marks = new SentMarks();
  #head: LinkPages | null = null;
  #headNumber = 0;

  /** @param id of the subscription */
  constructor(id: number, connection: LinkConnection) {
    this.#id = id;
    this.#connection = connection;
  }

  /** Another tape follows, or none. Known marks and links are reset. */
  clear(): void {
    this.#marks.clear();
    this.#head = null;
  }

  /** The tape continues in another audio. */
  resume(): void {
    this.#head = null;
  }

  /** Sends a closed segment with what belongs to it. */
  send(tape: AudioTape, segment: AudioSegment, beside: SegmentCase): void {
    this.#introduceAll(tape, segment);
    if (segment instanceof OggSegment) {
      if (segment.head !== this.#head) this.#sendHead(segment.head);
      writeOggSegment(this.#begin(OGG_SEGMENT), segment, beside, this.#headNumber);
    } else if (segment instanceof Segment) writeFramesSegment(this.#begin(FRAMES_SEGMENT), segment, beside);
    this.#connection.endWith(segment.bytes);
    tape.held();
  }

  /** Sends the titles of a segment that have changed since it was sent. */
  sendTitles(tape: AudioTape, seq: number, segment: Segment): void {
    this.#introduceAll(tape, segment);
    const message = this.#begin(REVISION).whole(seq);
    writeTitles(message, segment);
    message.end();
  }

  /** Sends a late title for sessions. */
  sendLate(tape: AudioTape, { before, mark, atMs }: LateTitle): void {
    this.#introduce(tape, before);
    this.#introduce(tape, mark);
    this.#begin(LATE).whole(numberOf(before)).whole(mark.order).number(atMs).end();
  }

  #sendHead(head: LinkPages): void {
    this.#head = head;
    this.#begin(LINK_HEAD)
      .whole(++this.#headNumber)
      .whole(head.pages);
    this.#connection.endWith(head.bytes);
  }

  /** Sends the marks that a segment refers to. */
  #introduceAll(tape: AudioTape, segment: AudioSegment): void {
    this.#introduce(tape, segment.before);
    if (segment instanceof Segment) this.#introduce(tape, segment.repeats);
    for (let i = 0; i < segment.marks.length; i++) this.#introduce(tape, segment.marks[i]!.mark);
    if (segment instanceof Segment) this.#introduce(tape, segment.following);
  }

  #introduce(tape: AudioTape, mark: Mark | null): void {
    if (mark === null || this.#marks.has(mark)) return;
    if (this.#marks.isLong) this.#forgetMarks(tape, mark);
    const message = this.#begin(MARK);
    this.#marks.write(mark, message);
    message.end();
  }

  /** Drops marks that no segment refers to any more. @param mark the one that is about to be sent */
  #forgetMarks(tape: AudioTape, mark: Mark): void {
    let least = mark.order;
    for (let seq = tape.tail; seq < tape.head; seq++) {
      const { before, marks } = tape.at(seq)!;
      if (before !== null) least = Math.min(least, before.order);
      else for (const placed of marks) least = Math.min(least, placed.mark.order);
    }
    this.#marks.keepFrom(least);
  }

  #begin(type: number): MessageWriter {
    return this.#connection.begin(type).whole(this.#id);
  }
}
