/**
 * A closed segment as a message: all its facts, then what is left of a frame that its end cuts, then its bytes as they lie on the tape. 72 bytes
 * and 20 for each title, beside that rest (src/link/README.md). The titles of a segment that was closed before a late one came are
 * sent again by themselves.
 */

import type { Mark, PlacedMark } from '../audio/mark.js';
import { NO_MARKS } from '../audio/mark.js';
import type { LinkPages } from '../audio/ogg-segment.js';
import { OggSegment } from '../audio/ogg-segment.js';
import { Segment, type SegmentTitles } from '../audio/segment.js';
import { type LinkedMarks, numberOf } from './linked-marks.js';
import type { MessageWriter } from './message-writer.js';
import { type MessageReader, WireError } from './wire.js';

const MOST_MARKS = 10_000;

/** What comes with a segment, beside itself. */
export interface SegmentCase {
  readonly seq: number;
  /** When its audio had come in, unix milliseconds. */
  readonly arrivedMs: number;
  /** What is left, behind it, of a frame that its end cuts. */
  readonly rest: Buffer;
}

/** All fields; the segment's bytes go behind them. */
export function writeFramesSegment(
  message: MessageWriter,
  segment: Segment,
  { seq, arrivedMs, rest }: SegmentCase,
): void {
  const { startMs, endMs, entry, entryMs, lastEntry, before, following } = segment;
  message.whole(seq).number(arrivedMs).number(startMs).number(endMs);
  message.signed(entry).number(entryMs).signed(lastEntry);
  message.whole(numberOf(before)).whole(numberOf(following));
  writeTitles(message, segment);
  message.blob(rest);
}

export function writeOggSegment(
  message: MessageWriter,
  segment: OggSegment,
  { seq, arrivedMs }: SegmentCase,
  headNumber: number,
): void {
  const { startMs, endMs, entryMs, linkBytes, joinPlace, before, marks } = segment;
  message.whole(seq).number(arrivedMs).number(startMs).number(endMs).number(entryMs);
  message.whole(linkBytes).whole(headNumber).number(joinPlace.granule).whole(joinPlace.page);
  message.whole(numberOf(before));
  writeMarks(message, marks);
}

/** What of its titles may change after it was closed. */
export function writeTitles(message: MessageWriter, { repeats, late, marks }: SegmentTitles): void {
  message.whole(numberOf(repeats)).whole(numberOf(late));
  writeMarks(message, marks);
}

function writeMarks(message: MessageWriter, marks: readonly PlacedMark[]): void {
  message.whole(marks.length);
  for (let i = 0; i < marks.length; i++) {
    const { mark, atMs, atByte, blockByte } = marks[i]!;
    message.whole(mark.order).number(atMs).whole(atByte).whole(blockByte);
  }
}

/** A segment that has come. */
export interface CameSegment<S> extends SegmentCase {
  readonly segment: S;
}

/** @param metaint, segmentBytes of its tape */
export function readFramesSegment(
  message: MessageReader,
  known: LinkedMarks,
  { metaint, segmentBytes }: { readonly metaint: number; readonly segmentBytes: number },
): CameSegment<Segment> {
  const [seq, arrivedMs, startMs, endMs] = [message.whole(), message.number(), message.number(), message.number()];
  const [entry, entryMs, lastEntry] = [message.signed(), message.number(), message.signed()];
  const [before, following] = [known.at(message.whole()), known.at(message.whole())];
  const { repeats, late, marks } = readTitles(message, known);
  const rest = message.blob(segmentBytes);
  const bytes = message.rest(2 * segmentBytes);
  if (bytes.length !== segmentBytes + segmentBytes / metaint) throw new WireError(`a segment of ${bytes.length} bytes`);
  if (entry < -1 || entry >= segmentBytes || lastEntry > seq) throw new WireError(`an entry at ${entry}`);
  const segment = new Segment({
    ...{ bytes, metaint, startMs, endMs, entry, entryMs, lastEntry },
    ...{ before, marks, following, repeats },
  });
  segment.late = late;
  return { seq, arrivedMs, rest, segment };
}

const NOTHING = Buffer.alloc(0);
/** What a tape closes a segment at, with a packet behind it, and the head of a link with its comments (audio/ogg-tape.ts). */
const MOST_OGG_BYTES = 4 * 1024 * 1024;

/** @param headOf the head of the link with this number; it throws where none came */
export function readOggSegment(
  message: MessageReader,
  known: LinkedMarks,
  headOf: (number: number) => LinkPages,
): CameSegment<OggSegment> {
  const [seq, arrivedMs, startMs, endMs] = [message.whole(), message.number(), message.number(), message.number()];
  const [entryMs, linkBytes] = [message.number(), message.whole()];
  const head = headOf(message.whole());
  const joinPlace = { granule: message.number(), page: message.whole() };
  const before = known.at(message.whole());
  const marks = readMarks(message, known);
  const bytes = message.rest(MOST_OGG_BYTES);
  if (linkBytes > bytes.length) throw new WireError(`a head of ${linkBytes} bytes`);
  const segment = new OggSegment({ bytes, linkBytes, head, joinPlace, entryMs, startMs, endMs, before, marks });
  return { seq, arrivedMs, rest: NOTHING, segment };
}

export function readTitles(message: MessageReader, known: LinkedMarks): SegmentTitles {
  const repeats: Mark | null = known.at(message.whole());
  const late = known.at(message.whole());
  return { repeats, late, marks: readMarks(message, known) };
}

function readMarks(message: MessageReader, known: LinkedMarks): readonly PlacedMark[] {
  const count = message.whole();
  if (count === 0) return NO_MARKS;
  if (count > MOST_MARKS) throw new WireError(`${count} titles in a segment`);
  const marks: PlacedMark[] = [];
  for (let i = 0; i < count; i++) {
    const mark = known.known(message.whole());
    marks.push({ mark, atMs: message.number(), atByte: message.whole(), blockByte: message.whole() });
  }
  return marks;
}
