/**
 * A tape in a process that does not feed it: the closed segments that have arrived, and the first bytes of the open one, with which a stream ends
 * after a whole frame. Listeners read the same bytes as from the original. Written by one channel's LinkedAudio.
 */

import { OggRendering } from '../../audio/ogg/ogg-rendering.js';
import { OggSegment } from '../../audio/ogg/ogg-segment.js';
import { lastOggEntry, maxOggSegments } from '../../audio/ogg/ogg-tape.js';
import { BaseTape } from '../../audio/tape/base-tape.js';
import { Phase } from '../../audio/tape/phase.js';
import { NOTHING, Segment, type SegmentTitles, withBlocksBytes } from '../../audio/tape/segment.js';
import { WireError } from '../wire/wire.js';
import type { TapeFacts } from './tape-messages.js';
import type { TapeName } from './tape-names.js';

/** 10 Mb/s: the maximum bitrate (audio/frames/mean-bitrate.ts). */
const MAX_BYTES_PER_MS = 1250;
/** Added to that, for short bursts and the headers of Ogg links. */
const SLACK_BYTES = 8 * 1024 * 1024;
/** Approximate size of a segment without its audio. */
const SEGMENT_BYTES = 1024;

export class ReplicaTape extends BaseTape<Segment | OggSegment> {
  /** Changes when its feeder is lost. */
  name: TapeName;
  readonly isOgg: boolean;
  comesTo: number;
  /** Size of all segments on it. */
  #bytes = 0;
  /** The known bytes of the open segment, without blocks and with them; the former in a buffer with spare room. */
  #restRoom: Buffer = NOTHING;
  #rest: Buffer = NOTHING;
  #restWithBlocks: Buffer | undefined;

  constructor({ name, metaint, segmentBytes, isOgg, lagMs, first, startMs, head, joinFrom }: TapeFacts) {
    const most = isOgg ? maxOggSegments(lagMs) : Infinity;
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

  /** Appends a closed segment. @param rest the rest of a frame that its end cuts @throws WireError if it is not the next one */
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

  /** Throws if the bytes exceed the maximum bitrate, as segments are dropped by time. */
  #mustFit(seq: number): void {
    const { tail, edgeMs, lagMs } = this;
    const keptMs = Math.min(lagMs, edgeMs - this.at(tail)!.startMs);
    if (this.#bytes <= SLACK_BYTES + keptMs * MAX_BYTES_PER_MS) return;
    throw new WireError(`segment ${seq} comes with more audio than fits into its time`);
  }

  /** Throws if page numbers of one Ogg link do not rise: they are shifted for a listener that joined in it (audio/ogg/ogg-rendering.ts). */
  #mustGoOn(seq: number, { linkStart: { granule, page }, head }: OggSegment): void {
    const last = this.at(seq - 1);
    if (!(last instanceof OggSegment) || last.linkBytes > 0) return;
    const { linkStart, head: before } = last;
    if (granule >= linkStart.granule && page >= linkStart.page && head.pages === before.pages) return;
    throw new WireError(`segment ${seq} does not go on with its link`);
  }

  /** Applies a late title. */
  retitle(seq: number, titles: SegmentTitles): void {
    const segment = this.at(seq);
    if (segment instanceof Segment) segment.retitle(titles);
  }

  /** @param open the number of the open segment @param rest its bytes from `restFrom` on; over a new link also known ones */
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

  /** The next segment is not on the tape any more: its listeners have fallen off. */
  lose(): void {
    this.tail = Number.POSITIVE_INFINITY;
  }

  #setRest(rest: Buffer): void {
    this.#restRoom = rest;
    this.#rest = rest;
    this.#restWithBlocks = undefined;
  }

  /** Appends in place, so that many small pieces cost no more than a large one. */
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
