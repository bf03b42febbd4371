/** A tape's open segment as plain data: from the hub that stops feeding it to the one that goes on. The marks of closed segments are there already. */

import type { AudioTape } from '../audio/audio-tape.js';
import { Mark } from '../audio/mark.js';
import type { OpenOgg } from '../audio/ogg-tape.js';
import { Segment } from '../audio/segment.js';
import type { OpenSegment } from '../audio/tape.js';
import type { Tags } from '../metadata/icy.js';
import type { TrackRecord } from '../metadata/record.js';
import { type ChannelFace, RecordView } from '../metadata/view.js';
import { blockNumberOf, setBlockNumber } from './tape-names.js';

interface PlainMark {
  readonly order: number;
  readonly record: TrackRecord;
  readonly channel: ChannelFace;
  readonly tags: Tags;
  readonly blockNumber: number;
  /** In base64. */
  readonly block: string;
}

interface PlainPlace {
  readonly order: number;
  readonly atMs: number;
  readonly atByte: number;
  readonly blockByte: number;
}

export interface PlainOpenFrames {
  /** In base64. */
  readonly audio: string;
  readonly endMs: number;
  readonly entry: number;
  readonly entryMs: number;
  /** By their numbers; 0: none. */
  readonly before: number;
  readonly repeats: number;
  readonly places: readonly PlainPlace[];
  /** All that are named. */
  readonly marks: readonly PlainMark[];
}

export interface PlainOpenOgg {
  /** Packets in base64. */
  readonly recent: readonly { readonly packet: string; readonly samples: number }[];
  readonly ahead: readonly Pick<PlainPlace, 'order' | 'atMs'>[];
  readonly marks: readonly PlainMark[];
}

export type PlainOpenSegment = PlainOpenFrames | PlainOpenOgg;

export function plainOpenSegment(open: OpenSegment | OpenOgg): PlainOpenSegment {
  const marks = openMarks(open).map(plainMark);
  if ('recent' in open) {
    return {
      recent: open.recent.map(({ packet, samples }) => ({ packet: packet.toString('base64'), samples })),
      ahead: open.ahead.map(({ mark, atMs }) => ({ order: mark.order, atMs })),
      marks,
    };
  }
  const { audio, endMs, entry, entryMs, before, repeats } = open;
  return {
    ...{ audio: audio.toString('base64'), endMs, entry, entryMs },
    before: before?.order ?? 0,
    repeats: repeats?.order ?? 0,
    places: open.marks.map(({ mark, ...place }) => ({ order: mark.order, ...place })),
    marks,
  };
}

/** @param tape whose closed segments came before */
export function readOpenSegment(plain: PlainOpenSegment, tape: AudioTape): OpenSegment | OpenOgg {
  const known = marksOf(tape);
  const blocks = new Map([...known.values()].map((mark) => [blockNumberOf(mark), mark.block]));
  for (const { order, record, channel, tags, blockNumber, block } of plain.marks) {
    if (known.has(order)) continue;
    const bytes = blocks.get(blockNumber) ?? Buffer.from(block, 'base64');
    setBlockNumber(bytes, blockNumber);
    blocks.set(blockNumber, bytes);
    known.set(order, new Mark(new RecordView(record, channel), bytes, tags, order));
  }
  if ('recent' in plain) {
    return {
      recent: plain.recent.map(({ packet, samples }) => ({ packet: Buffer.from(packet, 'base64'), samples })),
      ahead: plain.ahead.map(({ order, atMs }) => ({ mark: known.get(order)!, atMs })),
    };
  }
  const { audio, endMs, entry, entryMs, before, repeats, places } = plain;
  return {
    ...{ audio: Buffer.from(audio, 'base64'), endMs, entry, entryMs },
    before: known.get(before) ?? null,
    repeats: known.get(repeats) ?? null,
    marks: places.map(({ order, ...place }) => ({ mark: known.get(order)!, ...place })),
  };
}

/** The marks that it names, each once. */
export function openMarks(open: OpenSegment | OpenOgg): Mark[] {
  const named =
    'recent' in open
      ? open.ahead.map(({ mark }) => mark)
      : [open.before, open.repeats, ...open.marks.map(({ mark }) => mark)];
  return [...new Set(named.filter((mark) => mark !== null))];
}

function plainMark(mark: Mark): PlainMark {
  return {
    ...{ order: mark.order, record: mark.view.record, channel: mark.view.channel, tags: mark.tags },
    ...{ blockNumber: blockNumberOf(mark), block: mark.block.toString('base64') },
  };
}

/** The marks that a tape's closed segments name, by number. */
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
