/**
 * Bytes to text, and text to the only form that is kept: Unicode NFC, without control characters, without lone surrogates.
 * Every text that enters (push, encoder, upstream) is cleaned here once, and trusted from then on. Cleaning takes time in
 * proportion to a text's length, whatever stands in it: runs of combining marks, which normalising sorts, are bounded.
 *
 * iconv-lite enters through this file: TextDecoder('windows-1252') is wrong for 0x80-0x9F on Node 20, and
 * Buffer.from(text, 'latin1') turns `ħ` into a quote that breaks out of an ICY block.
 */

import { isUtf8 } from 'node:buffer';
import iconv from 'iconv-lite';

/** C0, DEL, C1, and characters that programs have for themselves (Unicode 23.7): ours mark places in shared texts. */
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\ufdd0-\ufdef]/g;
/** Only lone ones: with the `u` flag a pair is one character. */
const LONE_SURROGATES = /\p{Surrogate}/gu;

/** UAX #15, 13: no language writes more than 30 combining marks on one character. What stands behind them is left out. */
const MARKS = /(\p{M}{1,30})\p{M}*/gu;
/** By this factor NFC shortens a text at most, in bytes of UTF-8 (UAX #15, 12): three jamo are one syllable of Hangul. */
const NFC_SHORTENS = 3;

/** src/metadata/README.md, "Text". Idempotent. The order matters: without controls, two halves of a character may meet. */
export function cleanText(text: string): string {
  const whole = text.replace(CONTROLS, '').replace(LONE_SURROGATES, '\ufffd');
  // Again behind NFC, which takes some marks apart.
  return fewMarks(fewMarks(whole).normalize('NFC'));
}

function fewMarks(text: string): string {
  return text.replace(MARKS, '$1');
}

/** The clean text, or null where it has more bytes of UTF-8: one that cannot fit is not cleaned at all. */
export function cleanWithin(text: string, mostBytes: number): string | null {
  if (utf8Bytes(text) > mostBytes * NFC_SHORTENS) return null;
  const clean = cleanText(text);
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

/**
 * ISO 8859-1 with Windows-1252 in 0x80-0x9F (src/metadata/README.md, "Charsets"). The five bytes that Windows-1252 leaves undefined
 * are C1 controls in ISO 8859-1, so they vanish like every control.
 */
export function decodeWindows(bytes: Buffer): string {
  return iconv.decode(bytes, 'windows-1252').replaceAll('\ufffd', '');
}

/** One byte a character; what ISO 8859-1 does not have becomes `?` (latin.ts leaves nothing of that kind). */
export function encodeLatin1(text: string): Buffer {
  return iconv.encode(text, 'iso-8859-1');
}

/** In the charset that a sender names, such as `windows-1251`; null when the name is unknown. */
export function decodeNamed(bytes: Buffer, charset: string): string | null {
  return iconv.encodingExists(charset) ? iconv.decode(bytes, charset) : null;
}

/** UTF-8 where it is valid, else Windows-1252: for titles whose charset was not declared (src/metadata/README.md, "Charsets"). */
export function decodeUndeclared(bytes: Buffer): string {
  return decodeUtf8(bytes) ?? decodeWindows(bytes);
}
