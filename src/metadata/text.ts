/**
 * Decodes bytes, and cleans text to its only form: one line, Unicode NFC, without control characters or lone surrogates, trimmed.
 * Every text that enters (push, encoder, upstream) is cleaned here once, and trusted from then on. Cleaning takes linear time: runs of combining
 * marks, which normalising sorts, are bounded.
 */

import { isUtf8 } from 'node:buffer';
import { decodeCharset, isCharset, WINDOWS } from '../base/charset.js';

/** A text that needs no cleaning: no control characters, and NFC leaves characters before the first combining mark (U+0300) unchanged. */
const CLEAN = /^[ -~\u00a0-\u02ff]*$/;
/** Line ends and tabs: each run becomes a blank. */
const LINE_ENDS = /[\t-\r\u0085\u2028\u2029]+/g;
/** C0, DEL, C1, and the noncharacters (Unicode 23.7) that mark places in shared texts. */
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\ufdd0-\ufdef]/g;
/** Only lone ones: with the `u` flag a pair is one character. */
const LONE_SURROGATES = /\p{Surrogate}/gu;

/** No language has more than 30 combining marks on a character (UAX #15, 13): further ones are removed. */
const MARKS = /(\p{M}{1,30})\p{M}*/gu;
/** NFC shortens a text by this factor at most, in bytes of UTF-8 (UAX #15, 12): three jamo become one syllable of Hangul. */
const NFC_SHORTENS = 3;

/** Zero width space, both joiners, word joiner. Other blanks, including the BOM, are known to `trim`. */
const UNSEEN_AT_ENDS = '\u200b\u200c\u200d\u2060';

/** src/metadata/README.md, "Text". Idempotent. */
export function cleanText(text: string): string {
  return trimmed(oneLine(text));
}

/** Trims invisible characters. Not a regular expression, which would take quadratic time for runs of blanks. */
export function trimmed(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isUnseen(text[start]!)) start++;
  while (end > start && isUnseen(text[end - 1]!)) end--;
  return text.slice(start, end);
}

function isUnseen(character: string): boolean {
  return character.trim() === '' || UNSEEN_AT_ENDS.includes(character);
}

/** cleanText without trimming, for a separator, or a line to be split. Controls go first, as one may separate the halves of a character. */
export function oneLine(text: string): string {
  if (CLEAN.test(text)) return text;
  const whole = text.replace(LINE_ENDS, ' ').replace(CONTROLS, '').replace(LONE_SURROGATES, '\ufffd');
  // Again after NFC, which decomposes some marks.
  return limitMarks(limitMarks(whole).normalize('NFC'));
}

function limitMarks(text: string): string {
  return text.replace(MARKS, '$1');
}

/** The clean text; null: longer than `maxBytes` of UTF-8. A text that cannot fit is not cleaned. */
export function cleanWithin(text: string, maxBytes: number, cleaning = cleanText): string | null {
  if (utf8Bytes(text) > maxBytes * NFC_SHORTENS) return null;
  const clean = cleaning(text);
  return utf8Bytes(clean) <= maxBytes ? clean : null;
}

/** Cuts a text before cleaning; it may have to be cut again after it. */
export function cutUnclean(text: string, maxBytes: number): string {
  return cutBytes(text, maxBytes * NFC_SHORTENS);
}

/** Cuts a text to `maxBytes` bytes of UTF-8, between code points. */
export function cutBytes(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes || utf8Bytes(text) <= maxBytes) return text;
  // A unit of UTF-16 takes at least a byte.
  const bytes = Buffer.from(text.slice(0, maxBytes + 1), 'utf8');
  let end = maxBytes;
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

/** The length of a text in bytes of UTF-8. */
export function utf8Bytes(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

/** Null: not valid UTF-8. */
export function decodeUtf8(bytes: Buffer): string | null {
  return isUtf8(bytes) ? bytes.toString('utf8') : null;
}

/** Decodes a charset by its name, such as `windows-1251`; null: unknown. */
export function decodeNamed(bytes: Buffer, charset: string): string | null {
  return isCharset(charset) ? decodeCharset(bytes, charset) : null;
}

/** UTF-8 if valid, else Windows-1252, for texts without a declared charset (src/metadata/README.md, "Charsets"). */
export function decodeUndeclared(bytes: Buffer): string {
  return decodeUtf8(bytes) ?? decodeCharset(bytes, WINDOWS);
}

/**
 * The same for a title, which its sender may have cut within a character.
 * @param charset if it is not UTF-8
 */
export function decodeTitle(bytes: Buffer, charset = WINDOWS): string {
  return decodeUtf8(bytes) ?? decodeCutUtf8(bytes) ?? decodeCharset(bytes, charset);
}

/** Without a partial character at its end; null: still not UTF-8, or only ASCII before it, which proves nothing. */
function decodeCutUtf8(bytes: Buffer): string | null {
  let end = bytes.length - 1;
  while (end > bytes.length - 3 && (bytes[end]! & 0xc0) === 0x80) end--;
  const isCut = end >= 0 && bytes[end]! >= 0xc2 && bytes[end]! <= 0xf4;
  const whole = bytes.subarray(0, Math.max(end, 0));
  return isCut && whole.some((byte) => byte >= 0x80) ? decodeUtf8(whole) : null;
}
