/**
 * A tape in another process than the one that feeds it: the closed segments that came over the link, and of the open one its first bytes,
 * with which a stream ends as it began, with a whole frame. What a listener reads of it is what it would read of the tape. Written by one channel's
 * LinkedAudio.
 */

import { OggRendering } from '../../audio/ogg/ogg-rendering.js';
import { OggSegment } from '../../audio/ogg/ogg-segment.js';
import { lastOggEntry, mostOggSegments } from '../../audio/ogg/ogg-tape.js';
import { BaseTape } from '../../audio/tape/base-tape.js';
import { Phase } from '../../audio/tape/phase.js';
import { NOTHING, Segment, type SegmentTitles, withBlocksBytes } from '../../audio/tape/segment.js';
import { WireError } from '../wire/wire.js';
import type { TapeFacts } from './tape-messages.js';
import type { TapeName } from './tape-names.js';

/** 10 Mb/s: no audio has more (source/facts.ts). */
const MAX_BYTES_PER_MS = 1250;
/** On top of that, for short bursts and the heads of Ogg links. */
const SLACK_BYTES = 8 * 1024 * 1024;
/** About what a segment takes beside its audio. */
const SEGMENT_BYTES = 1024;

export class ReplicaTape extends BaseTape<Segment | OggSegment> {
  /** It gets another one where its feeder is lost. */
  name: TapeName;
  readonly isOgg: boolean;
  comesTo: number;
  /** Of all segments on it. */
  #bytes = 0;
  /** The rest of the open segment that is known, without blocks and with them; the former is in a buffer with room for more. */
  #restRoom: Buffer = NOTHING;
  #rest: Buffer = NOTHING;
  #restWithBlocks: Buffer | undefined;

  constructor({ name, metaint, segmentBytes, isOgg, lagMs, first, startMs, head, joinFrom }: TapeFacts) {
    const most = isOgg ? mostOggSegments(lagMs) : Infinity;
    super({ metaint, segmentBytes, lagMs, most, first, startMs });
    this.name = name;
    this.isOgg = isOgg;
    this.comesTo = head;
    this.fenceAt(joinFrom);
  }

  override rest(seq: number, icy: boolean): Buffer {
    if (seq !== this.head) return super.rest(seq, icy);
    return icy ? (this.#restWithBlocks ??= this.#withBlocks(this.#rest)) : this.#rest;
  }

  get openRestBytes(): number {
    return this.#rest.length;
  }

  lastEntry(seq: number): number {
    if (this.isOgg) return lastOggEntry(this, seq);
    const segment = this.at(seq);
    return segment instanceof Segment ? segment.lastEntry : -1;
  }

  rendering(icy: boolean): OggRendering | null {
    return this.isOgg ? new OggRendering(icy ? new Phase(this.metaint) : null) : null;
  }

  /** A segment was closed. @param rest what its end cuts of a frame @throws WireError where it is not the next one */
  append(seq: number, segment: Segment | OggSegment, rest: Buffer): void {
    if (seq !== this.head) throw new WireError(`segment ${seq} in place of ${this.head}`);
    if (segment instanceof OggSegment !== this.isOgg) throw new WireError(`segment ${seq} is of another kind of tape`);
    const { edgeMs } = this;
    if (segment.endMs < edgeMs || segment.startMs > segment.endMs)
      throw new WireError(`segment ${seq} ends before it begins`);
    if (segment instanceof OggSegment) this.#mustGoOn(seq, segment);
    this.#bytes += SEGMENT_BYTES + segment.bytes.length;
    this.add(segment);
    this.#mustFit(seq);
    this.endMs = Math.max(this.endMs, segment.endMs);
    this.#setRest(rest);
  }

  protected override onForgotten({ bytes }: Segment | OggSegment): void {
    this.#bytes -= SEGMENT_BYTES + bytes.length;
  }

  /** Throws where more bytes come than fit into their time: segments are forgotten by time. */
  #mustFit(seq: number): void {
    const { tail, edgeMs, lagMs } = this;
    const keptMs = Math.min(lagMs, edgeMs - this.at(tail)!.startMs);
    if (this.#bytes <= SLACK_BYTES + keptMs * MAX_BYTES_PER_MS) return;
    throw new WireError(`segment ${seq} comes with more audio than fits into its time`);
  }

  /** Throws where pages of one Ogg link do not rise: they are moved back for a listener that joined in it (audio/ogg/ogg-rendering.ts). */
  #mustGoOn(seq: number, { joinPlace: { granule, page }, head }: OggSegment): void {
    const last = this.at(seq - 1);
    if (!(last instanceof OggSegment) || last.linkBytes > 0) return;
    const { joinPlace, head: before } = last;
    if (granule >= joinPlace.granule && page >= joinPlace.page && head.pages === before.pages) return;
    throw new WireError(`segment ${seq} does not go on with its link`);
  }

  /** A title has come late. */
  retitle(seq: number, titles: SegmentTitles): void {
    const segment = this.at(seq);
    if (segment instanceof Segment) segment.retitle(titles);
  }

  /** @param open the number of the open segment @param rest of it, the bytes from `restFrom` on: over another link also those that are there */
  grow(endMs: number, open: number, restFrom: number, rest: Buffer): void {
    if (open !== this.head) throw new WireError(`segment ${open} is not open, but ${this.head}`);
    if (endMs < this.edgeMs) throw new WireError(`the tape ends ${this.edgeMs - endMs} ms before its last segment`);
    this.endMs = endMs;
    if (rest.length === 0) return;
    if (restFrom > this.#rest.length) throw new WireError(`the rest of segment ${open} has a gap`);
    if (restFrom + rest.length > this.segmentBytes)
      throw new WireError(`the rest of segment ${open} is longer than it`);
    this.#addRest(restFrom, rest);
  }

  /** What follows on the tape is there no more: its listeners have fallen off. */
  lose(): void {
    this.tail = Number.POSITIVE_INFINITY;
  }

  #setRest(rest: Buffer): void {
    this.#restRoom = rest;
    this.#rest = rest;
    this.#restWithBlocks = undefined;
  }

  /** In place, so that many small pieces cost no more than a large one. */
  #addRest(from: number, rest: Buffer): void {
    const length = from + rest.length;
    if (length > this.#restRoom.length) {
      const room = Buffer.allocUnsafeSlow(Math.min(this.segmentBytes, 2 * length));
      this.#rest.copy(room, 0, 0, from);
      this.#restRoom = room;
    }
    rest.copy(this.#restRoom, from);
    this.#rest = this.#restRoom.subarray(0, length);
    this.#restWithBlocks = undefined;
  }

  #withBlocks(audio: Buffer): Buffer {
    const { metaint } = this;
    const out = Buffer.alloc(withBlocksBytes(audio.length, metaint));
    for (let at = 0; at < audio.length; at += metaint) audio.copy(out, at + at / metaint, at, at + metaint);
    return out;
  }
}
