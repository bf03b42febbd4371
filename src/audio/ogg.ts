/**
 * Finds the packets in an Ogg stream that comes in any chunking, and hands on those of its audio, each with its playing time and the
 * link that it belongs to. Follows chains; of streams side by side (a picture, a second language) it follows the first that it knows.
 *
 *     pages   [BOS][comments, setup][packet packet pack│et packet][BOS]…        a packet may go on in the next page
 *     sink                          └─frame┘ └frame┘ └──frame──┘
 *
 * Invariant: every byte that went in belongs to a page that is whole (its CRC says so) or is counted in `skippedBytes` (or still waits
 * in the scratch). Memory is a page and at most MAX_PACKET_BYTES of a packet under way. Owned by one source.
 */

import type { FrameSink } from './frames.js';
import { nextHeader, PacketClock, readIdentification } from './ogg-codec.js';
import { OggLink } from './ogg-link.js';
import {
  CONTINUED,
  FIRST,
  isPage,
  LAST,
  MAX_PAGE_BYTES,
  PAGE_HEAD_BYTES,
  type Page,
  pageBytes,
  readPage,
} from './ogg-page.js';

/** A larger packet is no audio that anybody would stream; comments that hold a picture may come near. */
export const MAX_PACKET_BYTES = 1024 * 1024;

export class OggFramer {
  /** Of the latest link; undefined and 0 before the first. */
  link: OggLink | undefined;
  /** kb/s, the mean of about the last second, rounded. */
  bitrateKbps = 0;
  /** Packets of audio handed on; bytes of nothing known, of damaged pages, and of streams that are not followed. */
  readonly counters = { frames: 0, skippedBytes: 0 };

  readonly #sink: FrameSink;
  readonly #scratch = Buffer.alloc(MAX_PAGE_BYTES);
  #heldBytes = 0;
  #neededBytes = PAGE_HEAD_BYTES;
  /** The stream that is followed (-1: none), and the number of its next page. */
  #serial = -1;
  #sequence = 0;
  /** Its header packets so far; null: they have all come. */
  #headers: Buffer[] | null = null;
  #clock: PacketClock | undefined;
  /** Position in the link behind the last page; -1: not known, since a stream may be joined in its middle. */
  #granule = -1;
  #fresh = true;
  /** A packet goes on in the next page: its pieces, their bytes, and whether it is lost all the same. */
  #isOpen = false;
  #pieces: Buffer[] = [];
  #piecesBytes = 0;
  #isLost = false;
  #windowBytes = 0;
  #windowMs = 0;
  #windowFull = false;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** Forgets all that is held and the stream that was followed, as at the start of a file. Counters and the latest link stay. */
  reset(): void {
    this.counters.skippedBytes += this.#heldBytes;
    this.#heldBytes = 0;
    this.#neededBytes = PAGE_HEAD_BYTES;
    this.#leave();
  }

  /** The next bytes of the stream, in any number. Packets that are complete reach the sink before this returns. */
  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      const copied = chunk.copy(this.#scratch, this.#heldBytes, at, at + this.#neededBytes - this.#heldBytes);
      this.#heldBytes += copied;
      at += copied;
      while (this.#heldBytes >= this.#neededBytes) this.#step();
    }
  }

  /** Takes a page, or asks for more bytes, or passes some that are no page. */
  #step(): void {
    const scratch = this.#scratch;
    if (!isPage(scratch, 0)) {
      this.#pass();
      return;
    }
    const bytes = pageBytes(scratch, this.#heldBytes);
    this.#neededBytes = bytes;
    if (this.#heldBytes < bytes) return;
    const page = readPage(scratch.subarray(0, bytes));
    if (page === null) {
      this.#pass();
      return;
    }
    if (!this.#takes(page)) this.counters.skippedBytes += bytes;
    this.#drop(bytes);
  }

  /** To the next byte that might begin a page. */
  #pass(): void {
    const next = this.#scratch.subarray(0, this.#heldBytes).indexOf(0x4f, 1);
    const passed = next < 0 ? this.#heldBytes : next;
    this.counters.skippedBytes += passed;
    this.#drop(passed);
  }

  #drop(bytes: number): void {
    this.#scratch.copyWithin(0, bytes, this.#heldBytes);
    this.#heldBytes -= bytes;
    this.#neededBytes = PAGE_HEAD_BYTES;
  }

  /** False: the page is none of the stream that is followed. */
  #takes(page: Page): boolean {
    if ((page.flags & FIRST) !== 0) this.#meet(page);
    if (page.serial !== this.#serial) return false;
    const isContinued = (page.flags & CONTINUED) !== 0;
    const isGap = page.sequence !== this.#sequence;
    this.#sequence = (page.sequence + 1) >>> 0;
    if (isGap && this.#headers !== null) {
      this.#leave();
      return false;
    }
    if (isGap || isContinued !== this.#isOpen) {
      // What goes on here began in a page that never came.
      this.#close();
      this.#fresh = true;
      this.#isOpen = isContinued;
      this.#isLost = isContinued;
    }
    this.#packets(page);
    if ((page.flags & LAST) !== 0) this.#leave();
    return true;
  }

  /** A stream begins: it is followed where it is audio, unless it stands beside one that has just begun. */
  #meet(page: Page): void {
    if (this.#headers !== null && this.#headers.length < 2) return;
    if (readIdentification(page.body) === null) return;
    this.#leave();
    this.#serial = page.serial;
    this.#sequence = page.sequence;
    this.#headers = [];
  }

  #leave(): void {
    this.#close();
    this.#serial = -1;
    this.#headers = null;
    this.#granule = -1;
    this.#fresh = true;
  }

  #close(): void {
    this.#isOpen = false;
    this.#isLost = false;
    this.#pieces = [];
    this.#piecesBytes = 0;
  }

  #packets({ flags, granule, lacings, body }: Page): void {
    // At a link's end the position says how much of the last packets is to be played.
    const isTrimmed = (flags & LAST) !== 0 && granule >= 0 && this.#granule >= 0;
    let leftSamples = isTrimmed ? Math.max(0, granule - this.#granule) : Number.POSITIVE_INFINITY;
    let [at, start] = [0, 0];
    for (const lacing of lacings) {
      at += lacing;
      if (lacing === 255) continue;
      leftSamples -= this.#packet(body.subarray(start, at), leftSamples);
      start = at;
    }
    if (lacings.at(-1) === 255) this.#keep(body.subarray(start));
    if (granule >= 0) this.#granule = granule;
  }

  /** A piece of a packet that goes on in the next page. */
  #keep(piece: Buffer): void {
    this.#isOpen = true;
    this.#piecesBytes += piece.length;
    if (this.#piecesBytes > MAX_PACKET_BYTES) this.#isLost = true;
    if (this.#isLost) this.#pieces = [];
    else this.#pieces.push(Buffer.from(piece));
  }

  /** The end of a packet, or all of it. Returns how many samples it plays. */
  #packet(end: Buffer, mostSamples: number): number {
    const isLost = this.#isLost;
    const packet = this.#isOpen && !isLost ? Buffer.concat([...this.#pieces, end]) : end;
    this.#close();
    if (this.#headers !== null) {
      this.#header(isLost ? Buffer.alloc(0) : packet, this.#headers);
      return 0;
    }
    const samples = isLost ? -1 : this.#audio(packet, mostSamples);
    if (samples < 0) this.counters.skippedBytes += packet.length;
    return Math.max(0, samples);
  }

  /** @param packet empty where it was too large: a picture among comments, which nobody needs */
  #header(packet: Buffer, headers: Buffer[]): void {
    if (headers.length === 0) {
      headers.push(Buffer.from(packet));
      return;
    }
    const { codec } = readIdentification(headers[0]!)!;
    const state = nextHeader(codec, headers, packet);
    if (state === 'wrong') this.#leave();
    if (state !== 'complete') return;
    this.#headers = null;
    this.#clock = new PacketClock(codec, headers);
    const link = new OggLink(headers);
    this.link = link;
    if (link.title !== '' || link.artist !== '')
      this.#sink.titled?.({ artist: link.artist, song: link.title, cover: '' });
  }

  /** Samples, or -1: it is none. */
  #audio(packet: Buffer, mostSamples: number): number {
    const { link } = this;
    if (this.#serial === -1 || link === undefined) return -1;
    if (this.#fresh) this.#clock!.cut();
    const whole = this.#clock!.samples(packet);
    if (whole < 0) return -1;
    const samples = Math.min(whole, mostSamples);
    const durationMs = (samples * 1000) / link.facts.sampleRate;
    const fresh = this.#fresh;
    this.#fresh = false;
    this.#count(packet.length, durationMs);
    this.#sink.frame(packet, durationMs, fresh, link);
    return samples;
  }

  #count(bytes: number, durationMs: number): void {
    this.counters.frames++;
    this.#windowBytes += bytes;
    this.#windowMs += durationMs;
    const isFull = this.#windowMs >= 1000;
    if ((isFull || !this.#windowFull) && this.#windowMs > 0) {
      this.bitrateKbps = Math.round((this.#windowBytes * 8) / this.#windowMs);
    }
    if (!isFull) return;
    this.#windowFull = true;
    this.#windowBytes = 0;
    this.#windowMs = 0;
  }
}
