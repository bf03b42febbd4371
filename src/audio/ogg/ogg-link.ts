/**
 * One link of a chained Ogg stream: what a decoder must have before its first packet of audio, as an encoder sent it (OggLink) and as
 * our listeners get it (LinkHead): the same codec headers, with the title in force here, a serial number and page numbers of our own.
 *
 *   page 0   identification            alone on the first page, by every codec's mapping
 *   page 1…  comments, Vorbis' setup   audio begins on a page of its own
 *
 * Both are immutable.
 */

import type { Tags } from '../../metadata/icy.js';
import { cleanText, cutBytes } from '../../metadata/text.js';
import { splitTitle } from '../../metadata/title.js';
import { type OggFacts, readIdentification } from './ogg-codec.js';
import { type Comments, commentPacket, commentsOf, keptComments, readComments } from './ogg-comment.js';
import { FIRST, PageWriter } from './ogg-page.js';

/** In Opus' identification (RFC 7845, section 5.1). */
const PRE_SKIP_AT = 10;
/** A number of 16 bits. */
const MAX_PRE_SKIP = 0xffff;

/** All artists of a title. */
const MAX_ARTIST_BYTES = 4096;

/** A title as the comments of a link say it. Both parts "": none. */
export interface SaidTitle {
  readonly artist: string;
  readonly song: string;
  readonly separator?: string;
  readonly cover: string;
  readonly album: string;
}

/** A link of an encoder's stream. Two links are the same only if they are the same object. */
export class OggLink {
  readonly facts: OggFacts;
  /** The artists in its comments; `""`: none. */
  readonly artist: string;
  readonly title: string;
  readonly album: string;
  readonly #comments: Comments;
  readonly #identification: Buffer;
  readonly #setup: Buffer | null;

  /** @param headers its header packets, which are copied; the first one is a known identification @param charset see commentOf */
  constructor(headers: readonly Buffer[], charset?: string) {
    const [identification, comments, setup] = headers;
    this.facts = readIdentification(identification!)!;
    const { codec } = this.facts;
    this.#identification = codec === 'flac' ? endlessFlac(identification!) : Buffer.from(identification!);
    const all = readComments(comments!, codec);
    this.#comments = keptComments(all);
    this.#setup = codec === 'vorbis' ? Buffer.from(setup!) : null;
    const first = (name: string) => cleanText(commentsOf(all, name, charset)[0] ?? '');
    this.artist = cleanText(cutBytes(commentsOf(all, 'ARTIST', charset).join(', '), MAX_ARTIST_BYTES));
    this.title = first('TITLE');
    this.album = first('ALBUM');
  }

  /** Whether its comments name a title or an artist. */
  get isTitled(): boolean {
    return this.title !== '' || this.artist !== '';
  }

  /** Without an artist its title is a line: what updates call `song` Icecast writes so. */
  get saidTitle(): SaidTitle {
    const { artist, title, album } = this;
    return { ...(artist === '' ? splitTitle(title) : { artist, song: title }), cover: '', album };
  }

  /** Its header packets. @param tags the title in force; null: the encoder's own stays @param preSkip see LinkHead */
  packets(tags: Tags | null, preSkip: number): Buffer[] {
    const { codec } = this.facts;
    const identification = preSkip > 0 ? skipping(this.#identification, preSkip) : this.#identification;
    const comments = commentPacket(this.#comments, tags, codec);
    return this.#setup === null ? [identification, comments] : [identification, comments, this.#setup];
  }
}

/** The head of a link for listeners: the same bytes for present ones and for those that join later. */
export class LinkHead {
  readonly serial: number;
  /** Samples that a decoder of Opus drops at the beginning; else 0. */
  readonly preSkip: number;
  readonly bytes: Buffer;
  readonly pages: number;

  /** @param preSkip of Opus, if the link begins with packets of the one before; 0: the encoder's */
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
 * FLAC's first packet without facts of a whole file: number of samples and checksum. One header packet follows, the comments; pictures and seek
 * tables are not sent on.
 */
function endlessFlac(identification: Buffer): Buffer {
  const out = Buffer.from(identification);
  out.writeUInt16BE(1, 7);
  out[13] = 0; // STREAMINFO, not the last block
  out[30] = out[30]! & 0xf0;
  out.fill(0, 31, 51);
  return out;
}
