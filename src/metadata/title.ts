/**
 * A title line as an ICY block, and an upstream's block as a title line. A block is one byte L and L × 16 bytes of text padded
 * with NUL; nobody escapes, so the pair that ends a value never stands inside one (protocol.md, "ICY metadata").
 *
 *   02 │ S t r e a m T i t l e = ' … ' ; NUL NUL …
 */

import { bytesOfSingleByteText, cleanText, decodeUndeclared } from './text.js';

const BEFORE = "StreamTitle='";
const AFTER = "';";
/** 255 × 16, what one length byte can say. */
const MAX_TEXT_BYTES = 4080;
const MAX_TITLE_BYTES = MAX_TEXT_BYTES - BEFORE.length - AFTER.length;

/** The block that says "title unchanged": one zero byte, to be shared and never written to. */
export const NO_CHANGE: Buffer = Buffer.from([0]);

/**
 * The block that sets a title, UTF-8, 17 to 4081 bytes; `""` clears it. A `';` inside gets a blank between, as does a `;` right
 * after the opening quote (ffmpeg looks for the end from that quote on). A title too long is cut where a reader sees a character end.
 */
export function icyBlock(title: string): Buffer {
  const value = cut(cleanText(title).replace(/^;/, ' ;').replaceAll("';", "' ;"));
  const textBytes = BEFORE.length + Buffer.byteLength(value) + AFTER.length;
  const length = Math.ceil(textBytes / 16);
  const block = Buffer.alloc(1 + length * 16);
  block[0] = length;
  block.write(BEFORE + value + AFTER, 1, 'utf8');
  return block;
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

function cut(value: string): string {
  const bytes = Buffer.from(value);
  if (bytes.length <= MAX_TITLE_BYTES) return value;
  let end = MAX_TITLE_BYTES;
  while ((bytes[end]! & 0xc0) === 0x80) end--; // inside a code point
  const whole = bytes.toString('utf8', 0, end);
  // A single grapheme may be longer than a block: it is cut between code points then, since an update is never dropped.
  const start = graphemes.segment(value).containing(whole.length)!.index;
  return start === 0 ? whole : value.slice(0, start);
}

/** `StreamTitle` or `StreamUrl`; the value ends at `';`, or where the block does if somebody left that out. */
const FIELD = /(StreamTitle|StreamUrl)='(.*?)(?:';|'?;?$)/gis;

/**
 * What the text of an upstream's block says (without its length byte; NUL padding is fine). A field that is not there is left
 * out; an empty title is `""`. UTF-8 where valid, else Windows-1252.
 */
export function parseIcyText(text: Buffer): { title?: string; url?: string } {
  const padding = text.indexOf(0);
  const line = decodeUndeclared(padding === -1 ? text : text.subarray(0, padding));
  const fields: { title?: string; url?: string } = {};
  for (const [, name, value] of line.matchAll(FIELD)) {
    if (name!.toLowerCase() === 'streamtitle') fields.title ??= cleanText(value!);
    else fields.url ??= cleanText(value!);
  }
  return fields;
}

/** A value that was read with a TextDecoder for `iso-8859-1` (byte for byte), in its real charset: see parseIcyText. */
export function decodeIcyText(read: string): string {
  return cleanText(decodeUndeclared(bytesOfSingleByteText(read)));
}

/** At the first ` - `; a line without one is all song. Joined with the default separator, both parts give the line again. */
export function splitTitle(line: string): { artist: string; song: string } {
  const at = line.indexOf(' - ');
  return at === -1 ? { artist: '', song: line } : { artist: line.slice(0, at), song: line.slice(at + 3) };
}
