/**
 * A title line as an ICY block, and what an upstream's block says as a title line. A block is one byte L and L × 16 bytes of text padded
 * with NUL; players do not unescape, so the pair that ends a value never stands inside one (src/metadata/README.md, "ICY blocks").
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
/** What the first byte of an ICY block counts. */
export const BLOCK_UNIT_BYTES = 16;
/** 255 × 16, what one length byte can say. */
const MAX_TEXT_BYTES = 4080;
const MAX_TITLE_BYTES = MAX_TEXT_BYTES - BEFORE.length - AFTER.length;

/** How a channel's blocks are written. */
export interface BlockOptions {
  readonly charset: 'utf-8' | 'iso-8859-1';
  /** `typographic`: no `'` in a title, for players that end it there. */
  readonly apostrophe: 'keep' | 'typographic';
  /** The second field, `StreamUrl`; `""` says that there is none now, undefined says nothing. */
  readonly url?: string | undefined;
}

const AS_IT_IS: BlockOptions = { charset: 'utf-8', apostrophe: 'keep' };

/**
 * The block that sets a title, 17 to 4081 bytes; `""` clears it. A `';` inside gets a blank between, as does a `;` right
 * after the opening quote (ffmpeg looks for the end from that quote on). A title too long is cut where a reader sees a character end.
 * A URL that does not fit beside the title is left empty, or out.
 */
export function icyBlock(title: string, options: BlockOptions = AS_IT_IS): Buffer {
  const isLatin = options.charset === 'iso-8859-1';
  const clean = isLatin ? latin(oneLine(title)) : oneLine(title);
  const quoted = options.apostrophe === 'keep' ? clean : clean.replaceAll("'", isLatin ? '\u00b4' : '\u2019');
  const safe = quoted.replace(/^;/, ' ;').replaceAll("';", "' ;");
  // In ISO 8859-1 a character is a byte, and no accent stands alone.
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

/** Percent-encoded down to ASCII and without `'`: nothing in a URL can end its field. */
function urlField(url: string | undefined, roomBytes: number): string {
  if (url === undefined) return '';
  const safe = cleanText(url).replace(/[^!-~]|'/gu, (character) =>
    character === "'" ? '%27' : encodeURIComponent(character),
  );
  return [`StreamUrl='${safe}';`, "StreamUrl='';"].find((field) => field.length <= roomBytes) ?? '';
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** As much of a clean text as fits into `mostBytes` bytes of UTF-8, without half a character as a reader sees it. */
export function cutText(value: string, mostBytes: number): string {
  const whole = cutBytes(value, mostBytes);
  if (whole.length === value.length) return value;
  // Whether a grapheme ends there is said by what stands before and by one code point more. A single one may be longer than a
  // block: it is cut between code points then, since an update is never dropped.
  const start = graphemes.segment(value.slice(0, whole.length + 2)).containing(whole.length)!.index;
  return start === 0 ? whole : value.slice(0, start);
}

/** An artist or a song of a source, clean and cut: its sender would not read a refusal. */
export function cutTitle(text: string, maxBytes: number): string {
  return trimmed(cutText(cleanText(cutUnclean(text, maxBytes)), maxBytes));
}

/** What separates artist and song in a line, in order of trust: a hyphen, or an en dash where there is none. */
export const SEPARATORS = [DEFAULT_SEPARATOR, ' \u2013 '];

/** At the first separator; a line without one is all song. Joined with it, both parts give the line again. */
export function splitTitle(line: string): { artist: string; song: string; separator: string } {
  const separator = SEPARATORS.find((each) => line.includes(each));
  if (separator === undefined) return { artist: '', song: line, separator: DEFAULT_SEPARATOR };
  const at = line.indexOf(separator);
  return { artist: line.slice(0, at), song: line.slice(at + separator.length), separator };
}

/** A text with its numeric and named entities decoded once, to be cleaned again; without a semicolon they are none (`R&B`, `AT&T`). */
export function readEntities(text: string): string {
  return text.includes('&') ? decodeHTMLStrict(text) : text;
}
