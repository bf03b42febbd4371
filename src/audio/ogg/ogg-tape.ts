/**
 * The tape of a channel with an Ogg source: packets come in, segments of about a second go out, in pages and chain links of our own.
 *
 *    segment 41            segment 42                 open
 *   │ page page page │ … │ page EOS, head of link 2 │ packets …
 *
 * A title ends the link and begins another with the same codec headers and its own comments; so does an encoder's new link, and a gap in its
 * stream. Positions (granule) restart with each link, as players expect (mpv loses its time otherwise). A decoder of Opus restarts too: a link that
 * continues the audio begins with the last packets of the one before, to be dropped.
 * Invariants: as of Tape (tape.ts); every segment begins with a page that continues nothing, so all of them can be joined; the open
 * segment is never empty once audio has arrived, so there is always a page to mark as a link's last.
 */

import { randomInt } from 'node:crypto';
import type { AudioTape, WritableTape } from '../tape/audio-tape.js';
import { BaseTape, type TapeBeginning } from '../tape/base-tape.js';
import { type Mark, NO_MARKS, type PlacedMark } from '../tape/mark.js';
import { Phase } from '../tape/phase.js';
import { LinkHead, type OggLink } from './ogg-link.js';
import { linkEndOf } from './ogg-link-end.js';
import { PageWriter } from './ogg-page.js';
import { OggRendering } from './ogg-rendering.js';
import { type LinkPages, OggSegment } from './ogg-segment.js';

const SEGMENT_MS = 1000;
const NOTHING = Buffer.alloc(0);
/**
 * A title waits until the open segment is this long. A listener that joins at a shorter one whose link ends would get less than a decoder of Opus
 * must skip, or too little Vorbis for ffmpeg to find its time.
 */
const MIN_SEGMENT_MS = 250;
/** Tolerance for sums of times, which are not exact. No packet that plays is shorter. */
const MIN_PACKET_MS = 1;
const OPUS_KHZ = 48;
/** What a decoder of Opus needs before its output equals that of another one (RFC 7845, section 4.2): 80 ms. */
const PREROLL_SAMPLES = 3840;
/** Four times the maximum of 80 ms of stereo: of larger packets, which are padded, a link repeats fewer. */
const MAX_PREROLL_BYTES = 256 * 1024;
/** More than a second of any stream heard over a network. */
const MAX_SEGMENT_BYTES = 512 * 1024;

/** Maximum number of segments: links may follow one another almost without audio, and segments that play no time would never grow old. */
export function maxOggSegments(lagMs: number): number {
  return Math.ceil(lagMs / MIN_SEGMENT_MS) + 1;
}

/** A packet, and the samples that it plays. */
interface RecentPacket {
  readonly packet: Buffer;
  readonly samples: number;
}

/** What another process needs beside the closed segments to continue without a gap. */
export interface OpenOgg {
  /** The latest packets of Opus. */
  readonly recent: readonly RecentPacket[];
  /** Titles whose audio has not been written yet, in order. */
  readonly ahead: readonly TitleAhead[];
}

interface TitleAhead {
  readonly mark: Mark;
  readonly atMs: number;
}

/** As AudioTape.lastEntry: a listener cannot begin with a segment under MIN_SEGMENT_MS. */
export function lastOggEntry(tape: AudioTape, seq: number): number {
  let found = seq;
  for (let at = tape.at(found); at !== undefined && at.endMs - at.startMs < MIN_SEGMENT_MS - MIN_PACKET_MS; ) {
    at = tape.at(--found);
  }
  return found;
}

export class OggTape extends BaseTape<OggSegment> implements WritableTape {
  #link: OggLink;
  #head: LinkPages;
  #preSkip: number;
  #pages: PageWriter;
  #granule = 0;
  /** The LinkPlace of a listener that joins with the open segment. */
  #joinGranule = 0;
  #joinPage = 0;
  /** How much of it that listener's decoder does not play. */
  #unplayedMs = 0;
  /** The latest packets of Opus. */
  readonly #recent: RecentPacket[] = [];
  #recentSamples = 0;
  #recentBytes = 0;
  /** The mark in force where the open segment begins. */
  #before: Mark | null;
  /** Those that take effect in it. */
  #marks: PlacedMark[] = [];
  /** The latest that has taken effect. */
  #mark: Mark | null;
  /** Titles whose audio has not been written yet, in order. */
  readonly #ahead: TitleAhead[] = [];
  /** The mark in the present link's comments. */
  #linkMark: Mark | null;
  /** The link was made by another process: it ends with this one's first packet. */
  #isTakenOver = false;

  /** @param metaint for listeners that get ICY in Ogg @param blocks number of metaint bytes in about a second */
  constructor(
    link: OggLink,
    metaint: number,
    blocks: number,
    lagMs: number,
    mark: Mark | null,
    begin: TapeBeginning = {},
  ) {
    super({ metaint, segmentBytes: metaint * blocks, lagMs, most: maxOggSegments(lagMs), ...begin });
    this.#link = link;
    this.#before = mark;
    this.#mark = mark;
    this.#linkMark = mark;
    const head = this.#makeHead(0);
    this.#head = head;
    this.#preSkip = head.preSkip;
    this.#pages = new PageWriter(head.serial, head.pages, 0);
    this.#open(0);
  }

  /**
   * A tape that continues that of another process with another link, behind its closed segments (at least one).
   * @param open what that process has left (`leave`), if known
   */
  static adopt(from: AudioTape, open?: OpenOgg): OggTape {
    const { metaint, segmentBytes, lagMs, tail, head } = from;
    const last = from.at(head - 1) as OggSegment;
    const end = linkEndOf(last);
    const begin = { first: tail, startMs: from.at(tail)!.startMs };
    const tape = new OggTape(end.link, metaint, segmentBytes / metaint, lagMs, last.mark, begin);
    tape.addAll(from);
    tape.#head = end.head;
    tape.#pages = new PageWriter(end.serial, end.page, 0);
    tape.#granule = end.granule;
    tape.#open(0);
    for (const { packet, samples } of open?.recent ?? []) tape.#remember(packet, samples);
    tape.#ahead.push(...(open?.ahead ?? []));
    tape.#isTakenOver = true;
    return tape;
  }

  get link(): OggLink {
    return this.#link;
  }

  readonly openRestBytes = 0;

  /** Its segments end with whole pages. */
  override rest(): Buffer {
    return NOTHING;
  }

  rendering(icy: boolean): OggRendering {
    return new OggRendering(icy ? new Phase(this.metaint) : null);
  }

  /** Closes the open segment, for another process to continue behind it. Nothing is written any more. */
  leave(): OpenOgg {
    if (this.#pages.bytes > 0) this.#close(null);
    return { recent: this.#recent, ahead: this.#ahead };
  }

  /** The last title on it, and its audio time. */
  get lastTitle(): { readonly mark: Mark | null; readonly atMs: number } {
    const last = this.#ahead.at(-1) ?? this.#marks.at(-1);
    return { mark: last?.mark ?? this.#mark, atMs: last?.atMs ?? this.lastPlaced?.atMs ?? 0 };
  }

  /** The title's link begins once the open segment is long enough; at a place known ahead, it is. */
  put(mark: Mark, atMs: number, aheadBytes = 0): void {
    if (aheadBytes > 0 || this.#ahead.length > 0) this.#ahead.push({ mark, atMs });
    else this.#take(mark, atMs);
  }

  #take(mark: Mark, atMs: number): void {
    this.#mark = mark;
    if (this.#pages.bytes === 0) this.#before = mark;
    else this.#marks.push({ mark, atMs, atByte: this.#pages.bytes, blockByte: this.#pages.bytes });
  }

  /** Appends a packet. @param fresh it does not continue the one before it */
  write(packet: Buffer, durationMs: number, fresh: boolean, link: OggLink): void {
    while (this.#ahead.length > 0 && this.#ahead[0]!.atMs - this.endMs < MIN_PACKET_MS) {
      const { mark, atMs } = this.#ahead.shift()!;
      this.#take(mark, atMs);
    }
    if (this.#isTakenOver) {
      this.#isTakenOver = false;
      this.#closeLink(link, !fresh);
    } else if (this.#pages.bytes > 0) {
      const isTitled = this.#mark?.tags === this.#linkMark?.tags;
      const goesOn = !fresh && link === this.#link;
      const openMs = this.endMs - this.edgeMs;
      if (!goesOn || (!isTitled && openMs >= MIN_SEGMENT_MS)) this.#closeLink(link, goesOn);
      else if (openMs >= this.#segmentMs() || this.#pages.bytes >= MAX_SEGMENT_BYTES) {
        this.#close(null);
        this.#open(0);
      }
    }
    // Durations are samples divided by this same rate.
    const samples = Math.round((durationMs * link.facts.sampleRate) / 1000);
    if (link.facts.codec === 'opus') this.#remember(Buffer.from(packet), samples);
    // A Vorbis packet is decoded together with the one before it. The first one's samples count, or ffmpeg cuts as many off at a link's end.
    else if (link.facts.codec === 'vorbis' && this.#pages.bytes === 0) this.#unplayedMs = durationMs;
    this.#granule += samples;
    this.endMs += durationMs;
    this.#pages.packet(packet, this.#granule);
  }

  lastEntry(seq: number): number {
    return lastOggEntry(this, seq);
  }

  fence(): void {
    this.fenceAt(this.#pages.bytes === 0 ? this.head : this.head + 1);
  }

  /** A segment does not end just before a title: the next one would be too short for the title's link to begin at its place. */
  #segmentMs(): number {
    const next = this.#ahead[0];
    return next !== undefined && next.atMs - this.edgeMs < SEGMENT_MS + MIN_SEGMENT_MS
      ? SEGMENT_MS + MIN_SEGMENT_MS
      : SEGMENT_MS;
  }

  #closeLink(link: OggLink, goesOn: boolean): void {
    this.#link = link;
    this.#linkMark = this.#mark;
    if (!goesOn) {
      this.#recent.length = 0;
      this.#recentSamples = this.#recentBytes = 0;
    }
    const head = this.#makeHead(this.#recentSamples);
    this.#close(head);
    this.#pages = new PageWriter(head.serial, head.pages, 0);
    this.#granule = 0;
    this.#head = head;
    this.#preSkip = head.preSkip;
    this.#open(this.#recentSamples);
    for (const { packet, samples } of this.#recent) this.#pages.packet(packet, (this.#granule += samples));
  }

  /** Begins a segment. @param again samples that a new link repeats of the one before */
  #open(again: number): void {
    this.#joinGranule = this.#granule;
    this.#joinPage = this.#pages.sequence;
    this.#unplayedMs = (this.#preSkip - again) / OPUS_KHZ;
  }

  /** @param next the head of the link that follows; null: the present one continues */
  #close(next: LinkHead | null): void {
    if (next === null) this.#pages.end();
    else this.#pages.finish(this.#granule);
    const pages = this.#pages.take();
    const segment = new OggSegment({
      bytes: next === null ? pages : Buffer.concat([pages, next.bytes]),
      linkBytes: next?.bytes.length ?? 0,
      head: this.#head,
      linkStart: { granule: this.#joinGranule, page: this.#joinPage },
      entryMs: this.edgeMs + this.#unplayedMs,
      startMs: this.edgeMs,
      endMs: this.endMs,
      before: this.#before,
      marks: this.#marks.length === 0 ? NO_MARKS : this.#marks,
    });
    this.add(segment);
    this.#before = this.#mark;
    if (this.#marks.length > 0) this.#marks = [];
  }

  #remember(packet: Buffer, samples: number): void {
    this.#recent.push({ packet, samples });
    this.#recentSamples += samples;
    this.#recentBytes += packet.length;
    for (let first = this.#recent[0]; first !== undefined; first = this.#recent[0]) {
      if (this.#recentSamples - first.samples < PREROLL_SAMPLES && this.#recentBytes <= MAX_PREROLL_BYTES) break;
      this.#recent.shift();
      this.#recentSamples -= first.samples;
      this.#recentBytes -= first.packet.length;
    }
  }

  #makeHead(preSkip: number): LinkHead {
    return new LinkHead(this.#link, this.#mark?.tags ?? null, preSkip, randomInt(0x1_0000_0000));
  }
}
