/** Reads ID3v2.4 tags, independently of the code under test. */

/** The tag at the start, by names of frames (for TXXX, its value), and where it ends. */
export function readTag(bytes: Buffer): { readonly tag: Readonly<Record<string, string>>; readonly end: number } {
  if (bytes.toString('latin1', 0, 5) !== 'ID3\x04\0') throw new Error('there is no tag');
  const size = (at: number) => bytes.subarray(at, at + 4).reduce((sum, byte) => sum * 128 + byte, 0);
  const end = 10 + size(6);
  const tag: Record<string, string> = {};
  for (let at = 10; at < end; ) {
    const name = bytes.toString('latin1', at, at + 4);
    const body = bytes.subarray(at + 10, at + 10 + size(at + 4));
    at += 10 + body.length;
    if (name === 'PRIV') tag[name] = String(body.readBigUInt64BE(body.length - 8));
    else {
      const text = body.toString('utf8', 1).replace(/\0$/, '');
      tag[name] = name === 'TXXX' ? text.replace(/^id\0/, '') : text;
    }
  }
  return { tag, end };
}
