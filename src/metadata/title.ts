/**
 * Renders title lines as ICY blocks, and splits lines into artist and song. A block is one byte L and L × 16 bytes of text padded
 * with NUL; players do not unescape, so a value never contains the pair that ends it (src/metadata/README.md, "ICY blocks").
 *
 *   02 │ S t r e a m T i t l e = ' … ' ; NUL NUL …
 */

import { decodeHTMLStrict } from 'entities/decode';
import { encodeLatin1 } from '../base/charset.js';
import { latin } from './latin.js';
import { DEFAULT_SEPARATOR } from './record.js';
import { cleanText, cutBytes, cutUnclean, oneLine, trimmed, utf8Bytes } from './text.js';

const BEFORE = "StreamTitle='";
const AFTER = "';";
/** The unit of an ICY block's first byte. */
export const BLOCK_UNIT_BYTES = 16;
/** 255 × 16, the maximum of one length byte. */
const MAX_TEXT_BYTES = 4080;
const MAX_TITLE_BYTES = MAX_TEXT_BYTES - BEFORE.length - AFTER.length;

/** How a channel's blocks are written. */
export interface BlockOptions {
  readonly charset: 'utf-8' | 'iso-8859-1';
  /** `typographic`: no `'` in titles, for players that end them there. */
  readonly apostrophe: 'keep' | 'typographic';
  /** The second field, `StreamUrl`; `""`: none now; undefined: left out. */
  readonly url?: string | undefined;
}

const AS_IT_IS: BlockOptions = { charset: 'utf-8', apostrophe: 'keep' };

/**
 * The block that sets a title, 17 to 4081 bytes; `""` clears it. `';` in it gets a blank between, and a leading `;` one before it (ffmpeg searches
 * from the opening quote on). A long title is cut between graphemes. A URL that does not fit beside the title is empty, or left out.
 */
export function icyBlock(title: string, options: BlockOptions = AS_IT_IS): Buffer {
  const isLatin = options.charset === 'iso-8859-1';
  const clean = isLatin ? latin(oneLine(title)) : oneLine(title);
  const quoted = options.apostrophe === 'keep' ? clean : clean.replaceAll("'", isLatin ? '\u00b4' : '\u2019');
  const safe = quoted.replace(/^;/, ' ;').replaceAll("';", "' ;");
  // In ISO 8859-1 a grapheme is a byte.
  const value = isLatin ? safe.slice(0, MAX_TITLE_BYTES) : cutText(safe, MAX_TITLE_BYTES);
  const field = BEFORE + value + AFTER;
  const fieldBytes = isLatin ? field.length : utf8Bytes(field);
  const text = field + urlField(options.url, MAX_TEXT_BYTES - fieldBytes);
  const bytes = isLatin ? encodeLatin1(text) : Buffer.from(text);
  const length = Math.ceil(bytes.length / BLOCK_UNIT_BYTES);
  const block = Buffer.alloc(1 + length * BLOCK_UNIT_BYTES);
  block[0] = length;
  bytes.copy(block, 1);
  return block;
}

/** Percent-encoded to ASCII without `'`, so that nothing in a URL can end its field. */
function urlField(url: string | undefined, roomBytes: number): string {
  if (url === undefined) return '';
  const safe = cleanText(url).replace(/[^!-~]|'/gu, (character) =>
    character === "'" ? '%27' : encodeURIComponent(character),
  );
  return [`StreamUrl='${safe}';`, "StreamUrl='';"].find((field) => field.length <= roomBytes) ?? '';
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Cuts a clean text to `maxBytes` bytes of UTF-8, between graphemes. */
export function cutText(value: string, maxBytes: number): string {
  const whole = cutBytes(value, maxBytes);
  if (whole.length === value.length) return value;
  // The next code point decides whether a grapheme ends here. A grapheme longer than a block is cut between code points: no update is dropped.
  const start = graphemes.segment(value.slice(0, whole.length + 2)).containing(whole.length)!.index;
  return start === 0 ? whole : value.slice(0, start);
}

/** Cleans and cuts an artist or a song of a source, which would not read a refusal. */
export function cutTitle(text: string, maxBytes: number): string {
  return trimmed(cutText(cleanText(cutUnclean(text, maxBytes)), maxBytes));
}

/** Separators of artist and song in a line: a hyphen, else an en dash. */
export const SEPARATORS = [DEFAULT_SEPARATOR, ' \u2013 '];

/** Splits a line at the first separator; without one the line is the song. Joining the parts gives the line again. */
export function splitTitle(line: string): { artist: string; song: string; separator: string } {
  const separator = SEPARATORS.find((each) => line.includes(each));
  if (separator === undefined) return { artist: '', song: line, separator: DEFAULT_SEPARATOR };
  const at = line.indexOf(separator);
  return { artist: line.slice(0, at), song: line.slice(at + separator.length), separator };
}

/** Decodes numeric and named entities once, only those with a semicolon (not `R&B`, `AT&T`). The result has to be cleaned again. */
export function readEntities(text: string): string {
  return text.includes('&') ? decodeHTMLStrict(text) : text;
}
