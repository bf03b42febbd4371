/**
 * A closed segment as a message: its facts, then the rest of a frame that its end cuts, then its bytes as on the tape. Without these it has 72
 * bytes, and 20 for each title (src/link/README.md). If a title arrives late, the titles of a closed segment are sent again by
 * themselves.
 */

import { ADTS_HEADER_BYTES } from '../../audio/frames/adts.js';
import { isAdts } from '../../audio/frames/header.js';
import { isLinkHead } from '../../audio/ogg/ogg-link-end.js';
import { pagesIn } from '../../audio/ogg/ogg-page.js';
import type { LinkPages } from '../../audio/ogg/ogg-segment.js';
import { OggSegment } from '../../audio/ogg/ogg-segment.js';
import type { LateTitle } from '../../audio/playable-audio.js';
import type { PlacedMark } from '../../audio/tape/mark.js';
import { NO_MARKS } from '../../audio/tape/mark.js';
import { NOTHING, Segment, type SegmentTitles } from '../../audio/tape/segment.js';
import { MAX_MOMENT_MS } from '../../metadata/record-schema.js';
import {
  blob,
  group,
  list,
  type MemberTable,
  number,
  readAll,
  readMembers,
  rest,
  signed,
  whole,
} from '../wire/members.js';
import type { MessageWriter } from '../wire/message-writer.js';
import { MAX_WHOLE, type MessageReader, WireError } from '../wire/wire.js';
import { type LinkedMarks, MAX_MARKS, numberOf } from './linked-marks.js';
import { LIMITS } from './tape-messages.js';

/** By how much the first frame of a segment may play outside it. */
const ENTRY_SLACK_MS = 2000;

/** What is sent with a segment. */
export interface SegmentCase {
  readonly seq: number;
  /** When its audio arrived, unix milliseconds. */
  readonly arrivedMs: number;
  /** The rest of the frame that its end cuts. */
  readonly rest: Buffer;
}

/** All fields; the segment's bytes follow. */
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
  const { startMs, endMs, entryMs, linkBytes, linkStart, before, marks } = segment;
  message.whole(seq).number(arrivedMs).number(startMs).number(endMs).number(entryMs);
  message.whole(linkBytes).whole(headNumber).number(linkStart.granule).whole(linkStart.page);
  message.whole(numberOf(before));
  writeMarks(message, marks);
}

/** The facts of its titles that may change after it was closed. */
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

/** A segment that has arrived. */
export interface CameSegment<S> extends SegmentCase {
  readonly segment: S;
}

/** Whether a segment has the whole header of the AAC frame with which a listener may begin (audio/tape/entry.ts). */
function isWholeEntry(bytes: Buffer, metaint: number, entry: number, segmentBytes: number): boolean {
  if (entry <= 0) return true;
  const byteAt = (at: number) => bytes[at + Math.floor(at / metaint)]!;
  return segmentBytes - entry >= ADTS_HEADER_BYTES || !isAdts(Buffer.of(byteAt(entry), byteAt(entry + 1)), 0);
}

/** Where one title takes effect on the tape. */
interface CamePosition {
  readonly mark: number;
  readonly atMs: number;
  readonly atByte: number;
  readonly blockByte: number;
}

/** Its byte may be past the segment, since a title may be sent before the segment in which it takes effect. */
const CAME_MARKS = list<CamePosition>(
  { mark: whole(), atMs: number(), atByte: whole(MAX_WHOLE), blockByte: whole(MAX_WHOLE) },
  MAX_MARKS,
);

/** Numbers of marks; NO_MARK: none. */
interface CameTitles {
  readonly repeats: number;
  readonly late: number;
  readonly marks: readonly CamePosition[];
}

const TITLES_MEMBERS: MemberTable<CameTitles> = { repeats: whole(), late: whole(), marks: CAME_MARKS };

/** The facts of a closed segment of any tape. */
const CLOSED = { seq: whole(), arrivedMs: number(0, MAX_MOMENT_MS), startMs: number(0), endMs: number(0) };

export const FRAMES_SEGMENT_MEMBERS: MemberTable<
  Omit<SegmentCase, 'rest'> &
    Pick<Segment, 'startMs' | 'endMs' | 'entry' | 'entryMs' | 'lastEntry'> & {
      readonly before: number;
      readonly following: number;
      readonly titles: CameTitles;
      readonly rest: Buffer;
      readonly bytes: Buffer;
    }
> = {
  ...CLOSED,
  entry: signed(-1, LIMITS.segmentBytes),
  entryMs: number(0),
  lastEntry: signed(-1, MAX_WHOLE),
  before: whole(),
  following: whole(),
  titles: group(TITLES_MEMBERS),
  rest: blob(LIMITS.segmentBytes),
  bytes: rest(2 * LIMITS.segmentBytes),
};

/** @param metaint, segmentBytes of its tape */
export function readFramesSegment(
  message: MessageReader,
  known: LinkedMarks,
  { metaint, segmentBytes }: { readonly metaint: number; readonly segmentBytes: number },
): CameSegment<Segment> {
  const came = readMembers(message, FRAMES_SEGMENT_MEMBERS);
  const { seq, arrivedMs, startMs, endMs, entry, entryMs, lastEntry, rest, bytes } = came;
  if (bytes.length !== segmentBytes + segmentBytes / metaint) throw new WireError(`a segment of ${bytes.length} bytes`);
  for (let at = metaint; at < bytes.length; at += metaint + 1) {
    if (bytes[at] !== 0) throw new WireError(`a block at ${at} in a segment`);
  }
  if (entry >= segmentBytes || lastEntry > seq) throw new WireError(`an entry at ${entry}`);
  if (entry >= 0) mustBeWithin(entryMs, came);
  if (!isWholeEntry(bytes, metaint, entry, segmentBytes)) throw new WireError(`a frame cut at its entry, ${entry}`);
  if (rest.length > segmentBytes) throw new WireError(`a rest of ${rest.length} bytes`);
  const [before, following] = [known.at(came.before), known.at(came.following)];
  const { repeats, late, marks } = titlesOf(came.titles, known);
  const segment = new Segment({
    bytes,
    metaint,
    startMs,
    endMs,
    entry,
    entryMs,
    lastEntry,
    before,
    marks,
    following,
    repeats,
  });
  segment.late = late;
  return { seq, arrivedMs, rest, segment };
}

/** Maximum size of a segment: the size at which a tape closes it, one more packet, and the head of a link (audio/ogg/ogg-tape.ts). */
const MAX_OGG_BYTES = 4 * 1024 * 1024;

export const OGG_SEGMENT_MEMBERS: MemberTable<
  Omit<SegmentCase, 'rest'> &
    Pick<OggSegment, 'startMs' | 'endMs' | 'entryMs' | 'linkBytes' | 'bytes'> & {
      readonly head: number;
      readonly granule: number;
      readonly page: number;
      readonly before: number;
      readonly marks: readonly CamePosition[];
    }
> = {
  ...CLOSED,
  // The samples that a decoder of Opus drops precede the first segment.
  entryMs: number(),
  linkBytes: whole(MAX_OGG_BYTES),
  head: whole(),
  granule: number(0),
  page: whole(),
  before: whole(),
  marks: CAME_MARKS,
  bytes: rest(MAX_OGG_BYTES),
};

/** @param headOf returns the head of the link with this number; throws if none has arrived */
export function readOggSegment(
  message: MessageReader,
  known: LinkedMarks,
  headOf: (number: number) => LinkPages,
): CameSegment<OggSegment> {
  const came = readMembers(message, OGG_SEGMENT_MEMBERS);
  const { seq, arrivedMs, startMs, endMs, entryMs, linkBytes, bytes } = came;
  const head = headOf(came.head);
  const linkStart = { granule: came.granule, page: came.page };
  mustBeWithin(entryMs, came);
  if (linkBytes > bytes.length) throw new WireError(`a head of ${linkBytes} bytes`);
  mustBePages(bytes.subarray(0, bytes.length - linkBytes), head.pages, linkStart);
  if (linkBytes > 0) mustBeHead(bytes.subarray(bytes.length - linkBytes));
  const [before, marks] = [known.at(came.before), placedMarks(came.marks, known)];
  const segment = new OggSegment({ bytes, linkBytes, head, linkStart, entryMs, startMs, endMs, before, marks });
  return { seq, arrivedMs, rest: NOTHING, segment };
}

export const LINK_HEAD_MEMBERS: MemberTable<{ readonly number: number } & LinkPages> = {
  number: whole(),
  pages: whole(MAX_OGG_BYTES),
  bytes: rest(MAX_OGG_BYTES),
};

/** The head of an Ogg link, by its number. */
export function readLinkHead(message: MessageReader): { readonly number: number; readonly pages: LinkPages } {
  const { number, ...pages } = readMembers(message, LINK_HEAD_MEMBERS);
  if (mustBeHead(pages.bytes) !== pages.pages) throw new WireError(`a head of ${pages.pages} pages`);
  return { number, pages };
}

export const REVISION_MEMBERS: MemberTable<{ readonly seq: number } & CameTitles> = { seq: whole(), ...TITLES_MEMBERS };

/** A late title has changed those of a segment. */
export function readRevision(
  message: MessageReader,
  known: LinkedMarks,
): Pick<SegmentCase, 'seq'> & { readonly titles: SegmentTitles } {
  const { seq, ...titles } = readAll(message, REVISION_MEMBERS);
  return { seq, titles: titlesOf(titles, known) };
}

export const LATE_MEMBERS: MemberTable<{ readonly before: number; readonly mark: number; readonly atMs: number }> = {
  before: whole(),
  mark: whole(),
  atMs: number(),
};

/** A late title, for sessions. */
export function readLate(message: MessageReader, known: LinkedMarks): LateTitle {
  const { before, mark, atMs } = readAll(message, LATE_MEMBERS);
  return { before: known.at(before), mark: known.known(mark), atMs };
}

function titlesOf({ repeats, late, marks }: CameTitles, known: LinkedMarks): SegmentTitles {
  return { repeats: known.at(repeats), late: known.at(late), marks: placedMarks(marks, known) };
}

function placedMarks(came: readonly CamePosition[], known: LinkedMarks): readonly PlacedMark[] {
  return came.length === 0 ? NO_MARKS : came.map((one) => ({ ...one, mark: known.known(one.mark) }));
}

/** When its first frame plays; a decoder of Opus does not play the first samples. */
function mustBeWithin(entryMs: number, { startMs, endMs }: Pick<Segment, 'startMs' | 'endMs'>): void {
  if (entryMs >= startMs - ENTRY_SLACK_MS && entryMs <= endMs + ENTRY_SLACK_MS) return;
  throw new WireError(`an entry at ${entryMs} ms in a segment from ${startMs} to ${endMs} ms`);
}

function mustBeHead(bytes: Buffer): number {
  const count = mustBePages(bytes);
  if (!isLinkHead(bytes)) throw new WireError('a head of an unknown codec');
  return count;
}

/**
 * Checks the pages, since they are read by the length that they state, and shifted (audio/ogg/ogg-segment.ts).
 * @param headPages, start where a listener joins: no page precedes that
 */
function mustBePages(bytes: Buffer, headPages = 0, start?: OggSegment['linkStart']): number {
  const count = pagesIn(
    bytes,
    start === undefined ? undefined : { granule: start.granule, page: start.page - headPages },
  );
  if (count === null) throw new WireError('not whole pages of Ogg that go on');
  return count;
}
