/**
 * The tape of a channel that is fed Ogg: packets come in, segments of about a second go out, in pages and chain links of our own.
 *
 *    segment 41            segment 42                 open
 *   │ page page page │ … │ page EOS, head of link 2 │ packets …
 *
 * A title ends the link and begins another with the same codec headers and its own comments; so does an encoder's new link and a
 * gap in its stream. Positions (granule) begin anew with each link, as those of every encoder do: players expect it (mpv loses its time
 * where they go on). A decoder of Opus starts anew: a link that goes on begins with the last packets of the one before, to be dropped.
 * Invariants: as of Tape (tape.ts); every segment begins with a page that continues nothing, so all of them can be joined; the open
 * segment is never empty once audio has come, so there is always a page to mark as a link's last.
 */

import { randomInt } from 'node:crypto';
import type { AudioTape } from './audio-tape.js';
import { joinAt } from './burst.js';
import { type Mark, NO_MARKS, type PlacedMark } from './mark.js';
import { LinkHead, type OggLink } from './ogg-link.js';
import { LAST, PageWriter } from './ogg-page.js';
import { OggRendering } from './ogg-rendering.js';
import { OggSegment } from './ogg-segment.js';
import { Phase } from './phase.js';

const SEGMENT_MS = 1000;
const NOTHING = Buffer.alloc(0);
/**
 * A title waits until the open segment is as long. A listener that joins with a shorter one that ends its link gets less than a decoder of
 * Opus has to skip, or so little of Vorbis that ffmpeg finds no time for it.
 */
const LEAST_SEGMENT_MS = 250;
/** Sums of times are not exact. No packet that plays is shorter. */
const LEAST_PACKET_MS = 1;
const OPUS_KHZ = 48;
/** What a decoder of Opus needs to be where another one is (RFC 7845, section 4.2): 80 ms. */
const PREROLL_SAMPLES = 3840;
/** A second of anything that is heard over a network has less. */
const MOST_SEGMENT_BYTES = 512 * 1024;

export class OggTape implements AudioTape {
  readonly metaint: number;
  readonly segmentBytes: number;
  readonly lagMs: number;
  /** Links may follow one another with next to no audio in between, and what plays no time would never grow old. */
  readonly #mostSegments: number;
  tail = 0;
  head = 0;
  isOver = false;
  #fence = 0;
  readonly #segments: OggSegment[] = [];
  #link: OggLink;
  #head: LinkHead;
  #pages: PageWriter;
  #openStartMs = 0;
  #nowMs = 0;
  #granule = 0;
  /** Where the link of a listener begins that joins with the open segment (LinkPlace), and what its decoder does not play of that. */
  #joinGranule = 0;
  #joinPage = 0;
  #unplayedMs = 0;
  /** The latest packets of Opus. */
  readonly #recent: { readonly packet: Buffer; readonly samples: number }[] = [];
  #recentSamples = 0;
  /** In force where the open segment begins, those that take effect in it, and the latest that has. */
  #before: Mark | null;
  #marks: PlacedMark[] = [];
  #mark: Mark | null;
  /** Those whose place is still to come, in order. */
  readonly #ahead: { readonly mark: Mark; readonly atMs: number }[] = [];
  /** The mark that stands in the present link. */
  #linkMark: Mark | null;

  /** @param metaint for listeners that get ICY all the same; @param blocks of metaint bytes in a second, about */
  constructor(link: OggLink, metaint: number, blocks: number, lagMs: number, mark: Mark | null) {
    this.metaint = metaint;
    this.segmentBytes = metaint * blocks;
    this.lagMs = lagMs;
    this.#mostSegments = Math.ceil(lagMs / LEAST_SEGMENT_MS) + 1;
    this.#link = link;
    this.#before = mark;
    this.#mark = mark;
    this.#linkMark = mark;
    this.#head = this.#makeHead(0);
    this.#pages = new PageWriter(this.#head.serial, this.#head.pages, 0);
    this.#open(0);
  }

  get link(): OggLink {
    return this.#link;
  }

  get edgeMs(): number {
    return this.#openStartMs;
  }

  at(seq: number): OggSegment | undefined {
    return this.#segments[seq - this.tail];
  }

  /** Its segments end with whole pages. */
  rest(): Buffer {
    return NOTHING;
  }

  rendering(icy: boolean): OggRendering {
    return new OggRendering(icy ? new Phase(this.metaint) : null);
  }

  get endMs(): number {
    return this.#nowMs;
  }

  /** Its link follows where the open segment is long enough; where the place is known ahead, the segment is long enough there. */
  put(mark: Mark, atMs: number, aheadBytes = 0): void {
    if (aheadBytes > 0 || this.#ahead.length > 0) this.#ahead.push({ mark, atMs });
    else this.#take(mark, atMs);
  }

  #take(mark: Mark, atMs: number): void {
    this.#mark = mark;
    if (this.#pages.bytes === 0) this.#before = mark;
    else this.#marks.push({ mark, atMs, atByte: this.#pages.bytes, blockByte: this.#pages.bytes });
  }

  /** Appends a packet. @param fresh what came before has nothing to do with it */
  write(packet: Buffer, durationMs: number, fresh: boolean, link: OggLink): void {
    while (this.#ahead.length > 0 && this.#ahead[0]!.atMs - this.#nowMs < LEAST_PACKET_MS) {
      const { mark, atMs } = this.#ahead.shift()!;
      this.#take(mark, atMs);
    }
    if (this.#pages.bytes > 0) {
      const isTitled = this.#mark?.block === this.#linkMark?.block;
      const goesOn = !fresh && link === this.#link;
      const openMs = this.#nowMs - this.#openStartMs;
      if (!goesOn || (!isTitled && openMs >= LEAST_SEGMENT_MS)) this.#closeLink(link, goesOn);
      else if (openMs >= this.#segmentMs() || this.#pages.bytes >= MOST_SEGMENT_BYTES) {
        this.#close(null);
        this.#open(0);
      }
    }
    // Durations are samples divided by this very rate.
    const samples = Math.round((durationMs * link.facts.sampleRate) / 1000);
    if (link.facts.codec === 'opus') this.#remember(Buffer.from(packet), samples);
    // A decoder plays a packet of Vorbis with the one before it. Its samples count, or ffmpeg cuts as many off at a link's end.
    else if (link.facts.codec === 'vorbis' && this.#pages.bytes === 0) this.#unplayedMs = durationMs;
    this.#granule += samples;
    this.#nowMs += durationMs;
    this.#pages.packet(packet, this.#granule);
  }

  lastEntry(seq: number): number {
    return seq;
  }

  joinAt(burstMs: number): number {
    return joinAt(this, this.#fence, burstMs);
  }

  fence(): void {
    this.#fence = this.#pages.bytes === 0 ? this.head : this.head + 1;
  }

  end(): void {
    this.isOver = true;
    this.tail = Number.POSITIVE_INFINITY;
    this.#segments.length = 0;
  }

  /** A segment that a title ends soon is not ended just before it: the title's link could not begin at its place. */
  #segmentMs(): number {
    const next = this.#ahead[0];
    return next !== undefined && next.atMs - this.#openStartMs < SEGMENT_MS + LEAST_SEGMENT_MS
      ? SEGMENT_MS + LEAST_SEGMENT_MS
      : SEGMENT_MS;
  }

  #closeLink(link: OggLink, goesOn: boolean): void {
    this.#link = link;
    this.#linkMark = this.#mark;
    if (!goesOn) {
      this.#recent.length = 0;
      this.#recentSamples = 0;
    }
    const head = this.#makeHead(this.#recentSamples);
    this.#close(head);
    this.#pages = new PageWriter(head.serial, head.pages, 0);
    this.#granule = 0;
    this.#head = head;
    this.#open(this.#recentSamples);
    for (const { packet, samples } of this.#recent) this.#pages.packet(packet, (this.#granule += samples));
  }

  /** Begins a segment. @param again samples that a new link has from the one before */
  #open(again: number): void {
    this.#joinGranule = this.#granule;
    this.#joinPage = this.#pages.sequence;
    this.#unplayedMs = (this.#head.preSkip - again) / OPUS_KHZ;
  }

  /** @param next the head of the link that follows; null: the present one goes on */
  #close(next: LinkHead | null): void {
    this.#pages.end(next === null ? 0 : LAST);
    const pages = this.#pages.take();
    const segment = new OggSegment({
      bytes: next === null ? pages : Buffer.concat([pages, next.bytes]),
      linkBytes: next?.bytes.length ?? 0,
      head: this.#head,
      joinPlace: { granule: this.#joinGranule, page: this.#joinPage },
      entryMs: this.#openStartMs + this.#unplayedMs,
      startMs: this.#openStartMs,
      endMs: this.#nowMs,
      before: this.#before,
      marks: this.#marks.length === 0 ? NO_MARKS : this.#marks,
    });
    this.#segments.push(segment);
    this.head++;
    this.#before = this.#mark;
    if (this.#marks.length > 0) this.#marks = [];
    this.#openStartMs = this.#nowMs;
    while (
      this.#segments.length > this.#mostSegments ||
      (this.#segments.length > 1 && this.#nowMs - this.#segments[0]!.endMs > this.lagMs)
    ) {
      this.#segments.shift();
      this.tail++;
    }
  }

  #remember(packet: Buffer, samples: number): void {
    this.#recent.push({ packet, samples });
    this.#recentSamples += samples;
    while (this.#recentSamples - this.#recent[0]!.samples >= PREROLL_SAMPLES) {
      this.#recentSamples -= this.#recent.shift()!.samples;
    }
  }

  #makeHead(preSkip: number): LinkHead {
    return new LinkHead(this.#link, this.#mark?.tags ?? null, preSkip, randomInt(0x1_0000_0000));
  }
}
