/**
 * A tape's open segment as plain data, from the hub that stops feeding it to the next one, which has the marks of closed segments already.
 */

import type { OpenOgg } from '../../audio/ogg/ogg-tape.js';
import type { AudioTape } from '../../audio/tape/audio-tape.js';
import { Mark } from '../../audio/tape/mark.js';
import { Segment } from '../../audio/tape/segment.js';
import type { OpenSegment } from '../../audio/tape/tape.js';
import { RecordView } from '../../metadata/view.js';
import { WireError } from '../wire/wire.js';
import { readMark } from './mark-schema.js';
import type { PlainMark, PlainOpenSegment } from './offer-schema.js';
import { blockNumberOf, setBlockNumber } from './tape-names.js';

/** Maximum duration of an open segment: 64 KiB between two blocks play for 66 s at 8 kb/s. */
const MAX_OPEN_MS = 120_000;

export function plainOpenSegment(open: OpenSegment | OpenOgg): PlainOpenSegment {
  const marks = openMarks(open).map(plainMark);
  if ('recent' in open) {
    return {
      recent: open.recent,
      ahead: open.ahead.map(({ mark, atMs }) => ({ order: mark.order, atMs })),
      marks,
    };
  }
  const { audio, endMs, entry, entryMs, before, repeats } = open;
  return {
    audio,
    endMs,
    entry,
    entryMs,
    before: before?.order ?? 0,
    repeats: repeats?.order ?? 0,
    markPositions: open.marks.map(({ mark, ...placed }) => ({ order: mark.order, ...placed })),
    marks,
  };
}

/** @param tape with the closed segments @throws WireError, CheckError if it cannot follow them */
export function readOpenSegment(channel: string, plain: PlainOpenSegment, tape: AudioTape): OpenSegment | OpenOgg {
  const isOgg = tape.rendering(false) !== null;
  if ('recent' in plain !== isOgg) throw new WireError('an open segment of another kind of tape');
  const known = marksOf(tape);
  const blocks = new Map([...known.values()].map((mark) => [blockNumberOf(mark), mark.block]));
  for (const { order, record, channel: face, tags, blockNumber, block } of plain.marks) {
    if (known.has(order)) continue;
    const read = readMark(channel, { record, channel: face, tags }, block);
    const bytes = blocks.get(blockNumber) ?? block;
    setBlockNumber(bytes, blockNumber);
    blocks.set(blockNumber, bytes);
    known.set(order, new Mark(new RecordView(read.record, read.channel), bytes, read.tags, order));
  }
  const markOf = (order: number): Mark => {
    const mark = known.get(order);
    if (mark === undefined) throw new WireError(`mark ${order} is not known`);
    return mark;
  };
  if ('recent' in plain) {
    return { recent: plain.recent, ahead: plain.ahead.map(({ order, atMs }) => ({ mark: markOf(order), atMs })) };
  }
  const { audio, endMs, entry, entryMs, before, repeats, markPositions } = plain;
  const isRoom = audio.length <= tape.segmentBytes && entry <= audio.length;
  const isInTime = endMs >= tape.edgeMs && endMs - tape.edgeMs <= MAX_OPEN_MS;
  if (!isRoom || !isInTime || (entry >= 0 && (entryMs < tape.edgeMs || entryMs > endMs))) {
    throw new WireError(`an open segment of ${audio.length} bytes up to ${endMs} ms, behind ${tape.edgeMs} ms`);
  }
  return {
    audio,
    endMs,
    entry,
    entryMs,
    before: before === 0 ? null : markOf(before),
    repeats: repeats === 0 ? null : markOf(repeats),
    marks: markPositions.map(({ order, ...placed }) => ({ mark: markOf(order), ...placed })),
  };
}

/** The marks that it refers to, each once. */
export function openMarks(open: OpenSegment | OpenOgg): Mark[] {
  const named =
    'recent' in open
      ? open.ahead.map(({ mark }) => mark)
      : [open.before, open.repeats, ...open.marks.map(({ mark }) => mark)];
  return [...new Set(named.filter((mark) => mark !== null))];
}

function plainMark(mark: Mark): PlainMark {
  return {
    order: mark.order,
    record: mark.view.record,
    channel: mark.view.channel,
    tags: mark.tags,
    blockNumber: blockNumberOf(mark),
    block: mark.block,
  };
}

/** The marks that a tape's closed segments refer to, by number. */
export function marksOf(tape: AudioTape): Map<number, Mark> {
  const marks = new Map<number, Mark>();
  const add = (mark: Mark | null) => mark !== null && marks.set(mark.order, mark);
  for (let seq = tape.tail; seq < tape.head; seq++) {
    const segment = tape.at(seq)!;
    add(segment.before);
    for (const { mark } of segment.marks) add(mark);
    if (segment instanceof Segment) {
      add(segment.repeats);
      add(segment.following);
    }
  }
  return marks;
}
