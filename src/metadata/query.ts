/**
 * The query string of a GET push, down to bytes: which charset they are in is only known once `encoding` has been read.
 * `+` is a blank in both encodings, `%2B` a plus; of a repeated parameter the last counts (src/metadata/README.md, "Query syntax"). How many there may
 * be is bounded, since each costs an entry and two buffers, and takes one byte to send.
 */

/**
 * @param rawQuery the text after `?`, undecoded
 * @returns name → bytes of its value; null where the percent-encoding is broken (a broken name stands as it was sent). Null: there
 * are more than `mostParameters`, repeated ones counted each; nothing is read behind them
 */
export function queryBytes(rawQuery: string, mostParameters: number): Map<string, Buffer | null> | null {
  const parameters = new Map<string, Buffer | null>();
  let count = 0;
  for (let end = -1; end < rawQuery.length; ) {
    const start = end + 1;
    end = rawQuery.indexOf('&', start);
    if (end === -1) end = rawQuery.length;
    if (start === end) continue;
    if (++count > mostParameters) return null;
    const pair = rawQuery.slice(start, end);
    const equals = pair.indexOf('=');
    const rawName = equals === -1 ? pair : pair.slice(0, equals);
    const name = percentDecode(rawName);
    if (name === null) parameters.set(rawName, null);
    else parameters.set(name.toString('utf8'), percentDecode(equals === -1 ? '' : pair.slice(equals + 1)));
  }
  return parameters;
}

/**
 * Null when a `%` is not followed by two hexadecimal digits. A request line's bytes above 0x7F reach us as one character each
 * (Node's parser does that), so bytes that were not encoded are understood too; any higher character came from elsewhere.
 */
function percentDecode(text: string): Buffer | null {
  const bytes = Buffer.allocUnsafe(text.length);
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    let code = text.charCodeAt(i);
    if (code > 0xff) return null;
    if (code === 0x2b) code = 0x20;
    else if (code === 0x25) {
      code = hexDigit(text.charCodeAt(++i)) * 16 + hexDigit(text.charCodeAt(++i));
      if (!(code >= 0)) return null;
    }
    bytes[length++] = code;
  }
  return bytes.subarray(0, length);
}

/** NaN: it is none. */
function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : Number.NaN;
}
