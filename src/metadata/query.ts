/**
 * The query string of a GET push, down to bytes: which charset they are in is only known once `encoding` has been read.
 * `+` is a blank in both encodings, `%2B` a plus; of a repeated parameter the last counts (contract, "query syntax").
 */

/**
 * @param rawQuery the text after `?`, undecoded
 * @returns name → bytes of its value; null where the percent-encoding is broken (a broken name stands as it was sent)
 */
export function queryBytes(rawQuery: string): Map<string, Buffer | null> {
  const parameters = new Map<string, Buffer | null>();
  for (const pair of rawQuery.split('&')) {
    if (pair === '') continue;
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
 * (Node's parser does that), so a sender who did not encode them is understood too; any higher character came from elsewhere.
 */
function percentDecode(text: string): Buffer | null {
  const bytes = Buffer.alloc(text.length);
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    let code = text.charCodeAt(i);
    if (code > 0xff) return null;
    if (code === 0x2b) code = 0x20;
    else if (code === 0x25) {
      const digits = text.slice(i + 1, i + 3);
      if (!/^[0-9A-Fa-f]{2}$/.test(digits)) return null;
      code = Number.parseInt(digits, 16);
      i += 2;
    }
    bytes[length++] = code;
  }
  return bytes.subarray(0, length);
}
