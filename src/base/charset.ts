/**
 * Charsets by name, as configurations, encoders and pushes name them. iconv-lite enters through this file: TextDecoder('windows-1252') is wrong for
 * 0x80-0x9F on Node 20, and Buffer.from(text, 'latin1') turns `ħ` into a quote that breaks out of an ICY block.
 */

import iconv from 'iconv-lite';

/** The charset of text without a known one. */
export const WINDOWS = 'windows-1252';
/** Names that mean Windows-1252 in practice (WHATWG Encoding, 4.2), since text has no use for C1 controls. */
const OF_WINDOWS = new Set(['ascii', 'usascii', 'latin1', 'iso88591', 'windows', 'windows1252', 'cp1252']);
/** Names that iconv-lite knows, but which are ways to write bytes as text. */
const NO_CHARSETS = new Set(['base64', 'binary', 'hex']);

export function isCharset(name: string): boolean {
  const plain = plainName(name);
  return OF_WINDOWS.has(plain) || (!NO_CHARSETS.has(plain) && iconv.encodingExists(name));
}

export function isUtf8Name(name: string): boolean {
  return plainName(name) === 'utf8';
}

/**
 * Decodes text. Drops the five bytes that Windows-1252 leaves undefined, which are C1 controls in ISO 8859-1. In other charsets, invalid bytes
 * become U+FFFD, and a truncated last character is left out.
 * @param charset one for which isCharset is true
 */
export function decodeCharset(bytes: Buffer, charset: string): string {
  if (OF_WINDOWS.has(plainName(charset))) return iconv.decode(bytes, WINDOWS).replaceAll('\ufffd', '');
  return iconv.decode(bytes, charset).replace(/\ufffd$/, '');
}

/** One byte per character; a character outside ISO 8859-1 becomes `?` (metadata/latin.ts has replaced those before). */
export function encodeLatin1(text: string): Buffer {
  return iconv.encode(text, 'iso-8859-1');
}

/**
 * Bytes of a text of one byte per character, without blanks, tabs and line ends at both ends. Not `trim`, which removes A0: in UTF-8 it may be the
 * last byte of a letter (`à` is C3 A0). Not a regular expression, which would take quadratic time for runs of blanks.
 */
export function trimmedBytes(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}

function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}
