/**
 * One link of a chained Ogg stream: what a decoder must have before its first packet of audio, as an encoder sent it (OggLink) and as
 * our listeners get it (LinkHead): the same codec headers, with the title in force here, a serial number and page numbers of our own.
 *
 *   page 0   identification            alone on the first page, by every codec's mapping
 *   page 1…  comments, Vorbis' setup   audio begins on a page of its own
 *
 * Values: neither changes after it was made.
 */

import type { Tags } from '../../metadata/icy.js';
import { cleanText } from '../../metadata/text.js';
import { type OggFacts, readIdentification } from './ogg-codec.js';
import { type Comments, commentOf, commentPacket, keptComments, readComments } from './ogg-comment.js';
import { FIRST, PageWriter } from './ogg-page.js';

/** Of Opus' identification (RFC 7845, section 5.1). */
const PRE_SKIP_AT = 10;
/** A number of 16 bits. */
const MAX_PRE_SKIP = 0xffff;

/** Of an encoder's stream. Two links are the same only when they are the same object. */
export class OggLink {
  readonly facts: OggFacts;
  /** What stands in its comments; `""` where it says nothing. */
  readonly artist: string;
  readonly title: string;
  readonly #comments: Comments;
  readonly #identification: Buffer;
  readonly #setup: Buffer | null;

  /** @param headers its header packets, copied; the first one is an identification that is known @param charset see commentOf */
  constructor(headers: readonly Buffer[], charset?: string) {
    const [identification, comments, setup] = headers;
    this.facts = readIdentification(identification!)!;
    const { codec } = this.facts;
    this.#identification = codec === 'flac' ? endlessFlac(identification!) : Buffer.from(identification!);
    const all = readComments(comments!, codec);
    this.#comments = keptComments(all);
    this.#setup = codec === 'vorbis' ? Buffer.from(setup!) : null;
    this.artist = cleanText(commentOf(all, 'ARTIST', charset));
    this.title = cleanText(commentOf(all, 'TITLE', charset));
  }

  /** Its header packets. @param tags the title in force; null: the encoder's own stays @param preSkip see LinkHead */
  packets(tags: Tags | null, preSkip: number): Buffer[] {
    const { codec } = this.facts;
    const identification = preSkip > 0 ? skipping(this.#identification, preSkip) : this.#identification;
    const comments = commentPacket(this.#comments, tags, codec);
    return this.#setup === null ? [identification, comments] : [identification, comments, this.#setup];
  }
}

/** The head of a link that goes to listeners: the same bytes for listeners that were there and for those that join later. */
export class LinkHead {
  readonly serial: number;
  /** What a decoder of Opus drops at the beginning, samples; else 0. */
  readonly preSkip: number;
  readonly bytes: Buffer;
  /** How many pages it takes. */
  readonly pages: number;

  /** @param preSkip of Opus, where the link begins with packets of the one before; 0: what the encoder said */
  constructor(link: OggLink, tags: Tags | null, preSkip: number, serial: number) {
    this.serial = serial;
    const [identification, ...others] = link.packets(tags, preSkip);
    this.preSkip = link.facts.codec === 'opus' ? identification!.readUInt16LE(PRE_SKIP_AT) : 0;
    const writer = new PageWriter(serial, 0, FIRST);
    writer.packet(identification!, 0);
    writer.end();
    for (const packet of others) writer.packet(packet, 0);
    writer.end();
    this.bytes = writer.take();
    this.pages = writer.sequence;
  }
}

function skipping(identification: Buffer, samples: number): Buffer {
  const out = Buffer.from(identification);
  out.writeUInt16LE(Math.min(samples, MAX_PRE_SKIP), PRE_SKIP_AT);
  return out;
}

/**
 * FLAC's first packet without what is true of a whole file only: number of samples and checksum. It is followed by one header packet,
 * the comments; pictures and seek tables are not sent on.
 */
function endlessFlac(identification: Buffer): Buffer {
  const out = Buffer.from(identification);
  out.writeUInt16BE(1, 7);
  out[13] = 0; // STREAMINFO, not the last block
  out[30] = out[30]! & 0xf0;
  out.fill(0, 31, 51);
  return out;
}
