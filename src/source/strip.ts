/**
 * Removes the ICY blocks from an upstream's bytes: audio and titles come out in their order in the stream. Each byte is read once,
 * whatever `metaint` is and whatever a block contains. Invariant: the output depends on the bytes only, never on where they were split;
 * memory is one block and one slice. Owned by an intake.
 *
 *   audio × metaint │ L │ L × 16 bytes: StreamTitle='…';StreamUrl='…'; NUL NUL │ audio × metaint │ 0 │ audio …
 */

import { pictureUrl } from '../metadata/image-url.js';
import { readSpotTitle } from '../metadata/spot-title.js';
import { decodeTitle, oneLine } from '../metadata/text.js';
import { BLOCK_UNIT_BYTES, splitTitle } from '../metadata/title.js';
import type { PieceSink, StreamBody } from './body.js';
import { SLICE_BYTES } from './pacer.js';
import type { SourceTitle } from './source.js';

/** 255 × 16: the maximum that one length byte can state. */
const MAX_BLOCK_BYTES = 4080;
/** Text after the number is ignored; with a fraction or an exponent it is another number. */
const WHOLE_NUMBER = /^\s*(\d{1,9})(?![\d.e])/i;
const QUOTE_BEFORE = "='";
const QUOTE_AFTER = "';";

export class IcyStripper implements StreamBody {
  readonly state = 'more';
  /** 0: it sends no blocks. */
  readonly #metaint: number;
  readonly #charset: () => string | undefined;
  /** Bytes that are left: of audio, then of the length, then of a block. */
  #audioLeft: number;
  #blockLeft = 0;
  readonly #block = Buffer.alloc(MAX_BLOCK_BYTES);
  #blockBytes = 0;
  /** Audio from between several blocks, if they are close together. */
  readonly #gathered = Buffer.alloc(SLICE_BYTES);

  /**
   * @param header the upstream's `icy-metaint`; anything but a whole number above 0: it sends no blocks
   * @param charset of titles that are not UTF-8
   */
  constructor(header: unknown, charset: () => string | undefined = () => undefined) {
    this.#charset = charset;
    this.#metaint = Number(WHOLE_NUMBER.exec(String(header))?.[1] ?? 0);
    this.#audioLeft = this.#metaint > 0 ? this.#metaint : Number.POSITIVE_INFINITY;
  }

  /** Of all of it. */
  read(bytes: Buffer, sink: PieceSink): void {
    for (let at = 0; at < bytes.length; ) at += this.push(bytes.subarray(at), sink);
  }

  push(bytes: Buffer, sink: PieceSink): number {
    const end = Math.min(bytes.length, SLICE_BYTES);
    const gathers = this.#metaint > 0 && this.#metaint < SLICE_BYTES;
    let gatheredBytes = 0;
    let hasAudio = false;
    let title: SourceTitle | undefined;
    let at = 0;
    while (at < end && title === undefined) {
      if (this.#audioLeft > 0) {
        const from = at;
        at = Math.min(end, from + this.#audioLeft);
        this.#audioLeft -= at - from;
        hasAudio = true;
        if (gathers) gatheredBytes += bytes.copy(this.#gathered, gatheredBytes, from, at);
        else sink.onAudio(bytes.subarray(from, at));
      } else if (this.#blockLeft === 0) {
        if (hasAudio && bytes[at] !== 0) break;
        this.#blockLeft = bytes[at++]! * BLOCK_UNIT_BYTES;
        this.#blockBytes = 0;
        if (this.#blockLeft === 0) this.#audioLeft = this.#metaint;
      } else {
        const copied = bytes.copy(this.#block, this.#blockBytes, at, Math.min(end, at + this.#blockLeft));
        at += copied;
        this.#blockBytes += copied;
        this.#blockLeft -= copied;
        if (this.#blockLeft > 0) break;
        this.#audioLeft = this.#metaint;
        title = titleIn(this.#block.subarray(0, this.#blockBytes), this.#charset());
      }
    }
    if (gatheredBytes > 0) sink.onAudio(this.#gathered.subarray(0, gatheredBytes));
    if (title !== undefined) sink.onTitle(title);
    return at;
  }
}

/**
 * The title that a block sets, as one line, or with its cover, if its StreamUrl is a picture; undefined: it sets none. A field ends with a quote and
 * a semicolon; the last one may lack either.
 */
function titleIn(block: Buffer, charset: string | undefined): SourceTitle | undefined {
  const end = block.indexOf(0);
  // One character for each byte: the charset is determined from the bytes of the value.
  const text = block.toString('latin1', 0, end < 0 ? block.length : end);
  let title: string | undefined;
  let url = '';
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf(QUOTE_BEFORE, at);
    if (quote < 0) break;
    const from = quote + QUOTE_BEFORE.length;
    const close = text.indexOf(QUOTE_AFTER, from);
    const value = close < 0 ? text.slice(from).replace(/'?;?$/, '') : text.slice(from, close);
    // Some put a blank or a line end between fields.
    const name = text.slice(at, quote).trim().toLowerCase();
    if (name === 'streamtitle') title = value;
    else if (name === 'streamurl') url = value;
    at = close < 0 ? text.length : close + QUOTE_AFTER.length;
  }
  if (title === undefined) return undefined;
  const decoded = (value: string) => oneLine(decodeTitle(Buffer.from(value, 'latin1'), charset));
  const line = decoded(title);
  const cover = url === '' ? '' : pictureUrl(decoded(url));
  // Titles of advertising systems may have a picture of their own.
  return cover === '' || line === '' || readSpotTitle(line) !== null ? line : { ...splitTitle(line), cover };
}
