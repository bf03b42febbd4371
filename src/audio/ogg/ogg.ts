/**
 * Finds the packets in an Ogg stream of any chunking, and hands on those of its audio, each with its playing time and its link. Follows chains; of
 * parallel streams (a picture, a second language) it follows the first known one.
 *
 *     pages   [BOS][comments, setup][packet packet pack│et packet][BOS]…        a packet may continue in the next page
 *     sink                          └─frame┘ └frame┘ └──frame──┘
 *
 * Invariant: every byte of the followed pages (ogg-pages.ts) belongs to a packet handed on or to headers, or is counted in
 * `skippedBytes`. Memory is a page and an incomplete packet (ogg-packets.ts). Owned by one source.
 */

import { firstFrame } from '../frames/frame.js';
import type { FrameSink } from '../frames/framer.js';
import { MeanBitrate } from '../frames/mean-bitrate.js';
import { KnownLinks } from './known-links.js';
import { nextHeader, PacketClock, readIdentification } from './ogg-codec.js';
import { OggLink } from './ogg-link.js';
import { OggPackets } from './ogg-packets.js';
import { CONTINUED, FIRST, LAST, MAX_LACINGS, type OggPage, PAGE_HEADER_BYTES } from './ogg-page.js';
import { OggPages, type PageSink } from './ogg-pages.js';
import type { OggFramerState } from './ogg-state.js';

/** Maximum of header pages before the first audio. No stream has more; a picture of some MB fits. */
export const MAX_HEADER_BYTES = 8 * 1024 * 1024;
/** The longest is that of Opus with a table of 255 channels (RFC 7845, section 5.1). It is sent to every listener with every title. */
const MAX_IDENTIFICATION_BYTES = 21 + 255;

export class OggFramer implements PageSink {
  /** The latest link; undefined before the first. */
  link: OggLink | undefined;
  /** How much audio the page behind the latest packet's may hold, milliseconds, if pages end when they are full; 0: they do not. */
  pageMs = 0;
  /**
   * Packets of audio handed on; bytes that are unrecognized, of damaged or empty pages, or of streams that are not followed or have no audio; links
   * whose headers were read; bytes over which a CRC was computed.
   */
  readonly counters = { frames: 0, skippedBytes: 0, links: 0, checkedBytes: 0 };

  readonly #sink: FrameSink;
  readonly #known: KnownLinks;
  /** The serial number of the latest link; -1: there was none. */
  #linkSerial = -1;
  readonly #pages = new OggPages(this, this.counters);
  readonly #packets = new OggPackets();
  /** Of the present page: samples that may still be played (+∞: all), and the counters before it. */
  #leftSamples = 0;
  #framesBefore = 0;
  #skippedBefore = 0;
  /** The serial number of the followed stream (-1: none), and the number of its next page. */
  #serial = -1;
  #sequence = 0;
  /** Its header packets so far; null: all have arrived. */
  #headers: Buffer[] | null = null;
  /** Bytes of its pages, before its first audio. */
  #headerBytes = 0;
  #clock: PacketClock | undefined;
  /** Position in the link behind the last page; -1: unknown, since a stream may be joined in its middle. */
  #granule = -1;
  /** The latest packet; `fresh` is already that of the next one. */
  readonly #frame = firstFrame();
  /** The longest packet of the link. */
  #packetMs = 0;
  readonly #mean = new MeanBitrate();

  /** @param known links of streams that may begin in their middle */
  constructor(sink: FrameSink, known = new KnownLinks()) {
    this.#sink = sink;
    this.#known = known;
  }

  /** Forgets incomplete input and the followed stream, as at the start of a file. Counters and the latest link stay. */
  reset(): void {
    this.#pages.reset();
    this.#packets.drop();
    this.#leave();
  }

  get state(): OggFramerState {
    const { frames, skippedBytes } = this.counters;
    return {
      format: 'ogg',
      pages: this.#pages.state,
      page: {
        ...this.#packets.pageState,
        leftSamples: this.#leftSamples,
        frames: frames - this.#framesBefore,
        skipped: skippedBytes - this.#skippedBefore,
      },
      stream: {
        serial: this.#serial,
        sequence: this.#sequence,
        granule: this.#granule,
        fresh: this.#frame.fresh,
        isFilled: this.#packets.isFilled,
        packetMs: this.#packetMs,
        pageMs: this.pageMs,
        headers: this.#headers,
        headerBytes: this.#headerBytes,
      },
      link: this.link?.packets(null, 0) ?? null,
      lastSize: this.#clock?.lastSize ?? 0,
      open: this.#packets.openState,
      bitrateKbps: this.#frame.bitrateKbps,
      mean: this.#mean.state,
    };
  }

  /** Resumes where another framer stopped. Before the first `push`. */
  adopt({ pages, page, stream, link, lastSize, open, bitrateKbps, mean }: OggFramerState): void {
    this.#pages.adopt(pages);
    this.#packets.adopt(page, open);
    this.#leftSamples = page.leftSamples;
    this.#framesBefore = -page.frames;
    this.#skippedBefore = -page.skipped;
    this.#serial = stream.serial;
    this.#sequence = stream.sequence;
    this.#granule = stream.granule;
    this.#frame.fresh = stream.fresh;
    this.#packetMs = stream.packetMs;
    this.pageMs = stream.pageMs;
    this.#headers = stream.headers === null ? null : [...stream.headers];
    this.#headerBytes = stream.headerBytes;
    if (link !== null) {
      this.link = new OggLink(link);
      this.#clock = new PacketClock(this.link.facts.codec, link);
      this.#clock.lastSize = lastSize;
      if (stream.headers === null && stream.serial >= 0) this.#know(this.link);
    }
    this.#frame.bitrateKbps = bitrateKbps;
    this.#mean.adopt(mean);
  }

  /** Called by the sink: nothing more is handed on until the next `push`. */
  pause(): void {
    this.#pages.isPaused = true;
  }

  /** As Framer.push; after a pause an empty chunk resumes it too. */
  push(chunk: Buffer): number {
    return this.#pages.push(chunk);
  }

  /** As in PageSink. */
  onPage(page: OggPage, bytes: number): boolean {
    if ((page.flags & FIRST) !== 0) this.#meet(page);
    else if (this.link === undefined && this.#serial === -1) this.#resume(page);
    if (page.serial !== this.#serial) return false;
    const isContinued = (page.flags & CONTINUED) !== 0;
    const isGap = page.sequence !== this.#sequence;
    this.#sequence = (page.sequence + 1) >>> 0;
    if (this.#headers !== null && (isGap || this.#headerBytes + bytes > MAX_HEADER_BYTES)) {
      this.#leave();
      return false;
    }
    if (isGap || isContinued !== this.#packets.isOpen) {
      // What continues here began in a page that never arrived, and an open packet never ends.
      this.#abandon();
      this.#frame.fresh = true;
      this.#packets.close(isContinued);
    }
    if (this.#headers !== null) this.#headerBytes += bytes;
    this.#begin(page);
    return true;
  }

  /** A stream begins: it is followed if it is audio, unless it is parallel to one that has just begun. */
  #meet(page: OggPage): void {
    if (this.#headers !== null && this.#headers.length < 2) return;
    if (readIdentification(page.body) === null) return;
    this.#leave();
    this.#serial = page.serial;
    this.#sequence = page.sequence;
    this.#headers = [];
  }

  /** A stream that began on another connection continues here. */
  #resume({ serial, sequence }: OggPage): void {
    const link = this.#known.of(serial);
    if (link === undefined) return;
    this.#serial = serial;
    this.#sequence = sequence;
    this.#follow(link, link.packets(null, 0));
  }

  #leave(): void {
    this.counters.skippedBytes += this.#headerBytes;
    this.#headerBytes = 0;
    this.#abandon();
    this.#serial = -1;
    this.#headers = null;
    this.#granule = -1;
    this.#frame.fresh = true;
  }

  /** Headers are counted by `#leave`, and a lost packet was counted piece by piece. */
  #abandon(): void {
    if (this.#headers === null && !this.#packets.isLost) this.counters.skippedBytes += this.#packets.openBytes;
    this.#packets.close();
  }

  #begin(page: OggPage): void {
    this.#packets.begin(page, this.#headers !== null);
    // At a link's end the position says how much of the last packets to play.
    const isTrimmed = (page.flags & LAST) !== 0 && page.granule >= 0 && this.#granule >= 0;
    this.#leftSamples = isTrimmed ? Math.max(0, page.granule - this.#granule) : Number.POSITIVE_INFINITY;
    this.#framesBefore = this.counters.frames;
    this.#skippedBefore = this.counters.skippedBytes;
  }

  /** As in PageSink. */
  resume(): boolean {
    const packets = this.#packets;
    const { flags, granule, lacings, body } = packets.page;
    for (;;) {
      if (this.#pages.isPaused && packets.hasMore) return false;
      const packet = packets.next();
      if (packet === null) break;
      const { isLost } = packets;
      packets.close();
      this.#leftSamples -= this.#packet(packet, isLost);
    }
    // A header packet that is too large is not an error.
    const lostBytes = packets.keepRest();
    if (this.#headers === null) this.counters.skippedBytes += lostBytes;
    if (!packets.isHead && lacings.at(-1) !== 255 && this.counters.frames === this.#framesBefore) {
      const pageBytes = PAGE_HEADER_BYTES + lacings.length + body.length;
      this.counters.skippedBytes = Math.max(this.counters.skippedBytes, this.#skippedBefore + pageBytes);
    }
    if (granule >= 0) this.#granule = granule;
    packets.drop();
    if ((flags & LAST) !== 0) this.#leave();
    return true;
  }

  /** Returns how many samples it plays. @param isLost of audio: only its end is known */
  #packet(packet: Buffer, isLost: boolean): number {
    if (this.#headers !== null) {
      this.#header(packet, this.#headers);
      return 0;
    }
    const samples = isLost ? -1 : this.#audio(packet);
    if (samples < 0) this.counters.skippedBytes += packet.length;
    return Math.max(0, samples);
  }

  /** @param packet of one that is too large its beginning: comments with a picture, which is not needed */
  #header(packet: Buffer, headers: Buffer[]): void {
    if (headers.length === 0) {
      // The page began like one, but the packet may be shorter, or never end.
      if (packet.length > MAX_IDENTIFICATION_BYTES || readIdentification(packet) === null) this.#leave();
      else headers.push(Buffer.from(packet));
      return;
    }
    const { codec } = readIdentification(headers[0]!)!;
    const state = nextHeader(codec, headers, packet);
    if (state === 'wrong') this.#leave();
    if (state !== 'complete') return;
    this.#headers = null;
    this.#follow(new OggLink(headers, this.#sink.charset), headers);
  }

  /** Packets belong to this link from now on. Without a title it ends that of the link before. */
  #follow(link: OggLink, headers: readonly Buffer[]): void {
    const before = this.link;
    this.#clock = new PacketClock(link.facts.codec, headers);
    this.counters.links++;
    this.#packetMs = 0;
    this.link = link;
    this.#know(link);
    if (link.isTitled || before?.isTitled === true) this.#sink.onTitle?.(link.saidTitle);
  }

  #know(link: OggLink): void {
    this.#known.add(this.#serial, link, this.#linkSerial);
    this.#linkSerial = this.#serial;
  }

  /** Hands on a packet of audio. Returns its samples; -1: it is not audio. */
  #audio(packet: Buffer): number {
    const { link } = this;
    if (this.#serial === -1 || link === undefined) return -1;
    const frame = this.#frame;
    if (frame.fresh) this.#clock!.cut();
    const whole = this.#clock!.samples(packet);
    if (whole < 0) return -1;
    const samples = Math.min(whole, this.#leftSamples);
    const durationMs = (samples * 1000) / link.facts.sampleRate;
    this.#headerBytes = 0;
    this.#packetMs = Math.max(this.#packetMs, durationMs);
    this.pageMs = this.#packets.isFilled ? MAX_LACINGS * this.#packetMs : 0;
    this.counters.frames++;
    frame.bytes = packet;
    frame.durationMs = durationMs;
    frame.bitrateKbps = this.#mean.count(packet.length, durationMs, frame.bitrateKbps);
    frame.link = link;
    this.#sink.onFrame(frame);
    frame.fresh = false;
    return samples;
  }
}
