/**
 * Parses a query or a form into fields as bytes, since their charset is known only once `encoding` has been read. `+` is a blank, `%2B` a
 * plus; a `%` without two hexadecimal digits is a `%`; of a repeated field the last counts (src/metadata/README.md, "Query syntax"). Their number is
 * bounded, since each costs an entry and two buffers, and takes one byte to send.
 */

/** Runs of `%u` and the four digits of a UTF-16 unit, as JavaScript's old `escape()` writes characters outside of Latin-1. */
const WIDE = /((?:%u[0-9a-f]{4})+)/i;

/**
 * @param rawQuery the text after `?`, or a form's body; undecoded, each byte a character up to U+00FF
 * @returns name in lower case → undecoded value. Null: more than `maxFields`, including repeated ones
 */
export function queryFields(rawQuery: string, maxFields: number): Map<string, string> | null {
  const fields = new Map<string, string>();
  let count = 0;
  for (let end = -1; end < rawQuery.length; ) {
    const start = end + 1;
    end = rawQuery.indexOf('&', start);
    if (end === -1) end = rawQuery.length;
    if (start === end) continue;
    if (++count > maxFields) return null;
    const pair = rawQuery.slice(start, end);
    const equals = pair.indexOf('=');
    const name = percentDecode(equals === -1 ? pair : pair.slice(0, equals));
    fields.set(name.toString('utf8').toLowerCase(), equals === -1 ? '' : pair.slice(equals + 1));
  }
  return fields;
}

/** The same with values as bytes. */
export function queryBytes(rawQuery: string, maxFields: number): Map<string, Buffer> | null {
  const fields = queryFields(rawQuery, maxFields);
  return fields === null ? null : new Map(Array.from(fields, ([name, value]) => [name, percentDecode(value)]));
}

/**
 * The text of a value.
 * @param decode decodes a charset; null: the bytes are invalid in it. Not called for characters written as `%u`
 */
export function queryText(value: string, decode: (bytes: Buffer) => string | null): string | null {
  let text = '';
  // Every other piece is a run of escapes.
  for (const [i, piece] of value.split(WIDE).entries()) {
    const read = i % 2 === 0 ? decode(percentDecode(piece)) : wideDecode(piece);
    if (read === null) return null;
    text += read;
  }
  return text;
}

/** Byte by byte into a buffer: a run may be longer than a call has arguments. */
function wideDecode(escapes: string): string {
  return Buffer.from(escapes.replace(/%u/gi, ''), 'hex').swap16().toString('utf16le');
}

function percentDecode(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  let length = 0;
  for (let i = 0; i < bytes.length; i++) {
    let code = bytes[i]!;
    if (code === 0x2b) code = 0x20;
    else if (code === 0x25) {
      const encoded = hexDigit(bytes[i + 1]) * 16 + hexDigit(bytes[i + 2]);
      if (encoded >= 0) {
        code = encoded;
        i += 2;
      }
    }
    bytes[length++] = code;
  }
  return bytes.subarray(0, length);
}

/** NaN: not a digit. */
function hexDigit(code = 0): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : Number.NaN;
}
