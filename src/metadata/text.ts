/**
 * Bytes to text, and text to the only form that is kept: one line, Unicode NFC, without control characters, without lone surrogates, trimmed.
 * Every text that enters (push, encoder, upstream) is cleaned here once, and trusted from then on. Cleaning takes time in
 * proportion to a text's length, whatever stands in it: runs of combining marks, which normalising sorts, are bounded.
 */

import { isUtf8 } from 'node:buffer';
import { decodeCharset, isCharset, WINDOWS } from '../base/charset.js';

/** What ends a line or tabulates: each run of them is a blank. */
const LINE_ENDS = /[\t-\r\u0085\u2028\u2029]+/g;
/** C0, DEL, C1, and characters that programs have for themselves (Unicode 23.7): ours mark places in shared texts. */
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\ufdd0-\ufdef]/g;
/** Only lone ones: with the `u` flag a pair is one character. */
const LONE_SURROGATES = /\p{Surrogate}/gu;

/** UAX #15, 13: no language writes more than 30 combining marks on one character. What stands behind them is left out. */
const MARKS = /(\p{M}{1,30})\p{M}*/gu;
/** By this factor NFC shortens a text at most, in bytes of UTF-8 (UAX #15, 12): three jamo are one syllable of Hangul. */
const NFC_SHORTENS = 3;

/** Zero width space, both joiners, word joiner. The other blanks, BOM among them, are those of `trim`. */
const UNSEEN_AT_ENDS = '\u200b\u200c\u200d\u2060';

/** src/metadata/README.md, "Text". Idempotent. */
export function cleanText(text: string): string {
  return trimmed(oneLine(text));
}

/** Without what is not seen at both ends. Not a regular expression: from each blank of a run it would look for the run's end. */
export function trimmed(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isUnseen(text[start]!)) start++;
  while (end > start && isUnseen(text[end - 1]!)) end--;
  return text.slice(start, end);
}

function isUnseen(character: string): boolean {
  return character.trim() === '' || UNSEEN_AT_ENDS.includes(character);
}

/**
 * The same with its ends as they are: of a separator, or of a line that is yet to be split. The order matters: without controls, two halves of a
 * character may meet.
 */
export function oneLine(text: string): string {
  const whole = text.replace(LINE_ENDS, ' ').replace(CONTROLS, '').replace(LONE_SURROGATES, '\ufffd');
  // Again behind NFC, which takes some marks apart.
  return fewMarks(fewMarks(whole).normalize('NFC'));
}

function fewMarks(text: string): string {
  return text.replace(MARKS, '$1');
}

/** The clean text, or null where it has more bytes of UTF-8: one that cannot fit is not cleaned at all. */
export function cleanWithin(text: string, mostBytes: number, cleaning = cleanText): string | null {
  if (utf8Bytes(text) > mostBytes * NFC_SHORTENS) return null;
  const clean = cleaning(text);
  return utf8Bytes(clean) <= mostBytes ? clean : null;
}

/** As much of a text as can be within a limit once it is clean (for a caller that cuts it then). */
export function cutUnclean(text: string, mostBytes: number): string {
  return cutBytes(text, mostBytes * NFC_SHORTENS);
}

/** As much of a text as fits into `mostBytes` bytes of UTF-8, cut between code points. */
export function cutBytes(text: string, mostBytes: number): string {
  if (text.length * 3 <= mostBytes || utf8Bytes(text) <= mostBytes) return text;
  // No unit of UTF-16 takes less than a byte.
  const bytes = Buffer.from(text.slice(0, mostBytes + 1), 'utf8');
  let end = mostBytes;
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

/** Limits of texts are in bytes of UTF-8. */
export function utf8Bytes(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

/** Strict UTF-8; null when the bytes are not. */
export function decodeUtf8(bytes: Buffer): string | null {
  return isUtf8(bytes) ? bytes.toString('utf8') : null;
}

/** In the charset that a sender names, such as `windows-1251`; null when the name is unknown. */
export function decodeNamed(bytes: Buffer, charset: string): string | null {
  return isCharset(charset) ? decodeCharset(bytes, charset) : null;
}

/** UTF-8 where it is valid, else Windows-1252: for texts whose charset was not declared (src/metadata/README.md, "Charsets"). */
export function decodeUndeclared(bytes: Buffer): string {
  return decodeUtf8(bytes) ?? decodeCharset(bytes, WINDOWS);
}

/**
 * The same of a title, whose sender may have cut it within a character.
 * @param charset of what is not UTF-8
 */
export function decodeTitle(bytes: Buffer, charset = WINDOWS): string {
  return decodeUtf8(bytes) ?? decodeCutUtf8(bytes) ?? decodeCharset(bytes, charset);
}

/** Without the beginning of a character at its end; null: it is no UTF-8 all the same, or ASCII, which says nothing of the byte behind it. */
function decodeCutUtf8(bytes: Buffer): string | null {
  let end = bytes.length - 1;
  while (end > bytes.length - 3 && (bytes[end]! & 0xc0) === 0x80) end--;
  const isCut = end >= 0 && bytes[end]! >= 0xc2 && bytes[end]! <= 0xf4;
  const whole = bytes.subarray(0, Math.max(end, 0));
  return isCut && whole.some((byte) => byte >= 0x80) ? decodeUtf8(whole) : null;
}
