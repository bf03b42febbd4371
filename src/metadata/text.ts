/**
 * Bytes to text, and text to the only form that is kept: Unicode NFC, without control characters, without lone surrogates.
 * Every text that enters (push, encoder, upstream) is cleaned here once; behind this door texts are trusted.
 *
 * iconv-lite enters through this file: TextDecoder('windows-1252') is wrong for 0x80-0x9F on Node 20, and
 * Buffer.from(text, 'latin1') turns `ħ` into a quote that breaks out of an ICY block.
 */

import { isUtf8 } from 'node:buffer';
import iconv from 'iconv-lite';

/** C0, DEL and C1. */
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]/g;
/** Only lone ones: with the `u` flag a pair is one character. */
const LONE_SURROGATES = /\p{Surrogate}/gu;

/** Contract, "text". Idempotent. The order matters: without controls, two halves of a character may meet. */
export function cleanText(text: string): string {
  return text.replace(CONTROLS, '').replace(LONE_SURROGATES, '\ufffd').normalize('NFC');
}

/** The limits of the contract are in bytes of UTF-8. */
export function utf8Bytes(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

/** Strict UTF-8; null when the bytes are not. */
export function decodeUtf8(bytes: Buffer): string | null {
  return isUtf8(bytes) ? bytes.toString('utf8') : null;
}

/**
 * ISO 8859-1 with Windows-1252 in 0x80-0x9F (contract, `encoding=windows`). The five bytes that Windows-1252 leaves undefined
 * are C1 controls in ISO 8859-1, so they vanish like every control.
 */
export function decodeWindows(bytes: Buffer): string {
  return iconv.decode(bytes, 'windows-1252').replaceAll('\ufffd', '');
}

/** One byte a character; what ISO 8859-1 does not have becomes `?` (latin.ts leaves nothing of that kind). */
export function encodeLatin1(text: string): Buffer {
  return iconv.encode(text, 'iso-8859-1');
}

/** In the charset that a sender names, such as `windows-1251`; null when nobody knows that name. */
export function decodeNamed(bytes: Buffer, charset: string): string | null {
  return iconv.encodingExists(charset) ? iconv.decode(bytes, charset) : null;
}

/** UTF-8 where it is valid, else Windows-1252: for titles whose charset nobody declared (protocol.md, ICY and updinfo). */
export function decodeUndeclared(bytes: Buffer): string {
  return decodeUtf8(bytes) ?? decodeWindows(bytes);
}
