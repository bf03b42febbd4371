/**
 * The head of a plain poll, the only request that PollConnection itself answers: an unambiguous HTTP/1.1 GET without a body for the last
 * record of one channel. Invariant: for anything else, and in doubt, the result is null, and Node's parser decides.
 */

/** A plain poll begins with this; so do requests for a WebSocket or a history. */
export const POLL_START = 'GET /metadata/channel/';
/** Maximum size of a plain head, with its blank line: less than any configurable limit (config/schema.ts), so Node would accept it too. */
export const PLAIN_BYTES = 1024;

export interface PollHead {
  /** The whole head, one character a byte. */
  readonly text: string;
  /** Path and query as requested. */
  readonly target: string;
  readonly ifNoneMatch: string | undefined;
  /** Whether it has `Connection: close`. */
  readonly closes: boolean;
}

/** The request line, then headers: a token (RFC 9110, 5.6.2), a colon, a value of visible ASCII and blanks; all lines end in CRLF. */
const HEAD = /^GET (\/[!-~]+) HTTP\/1\.1\r\n((?:[!#$%&'*+.^`|~\w-]+:[ -~]*\r\n)+)\r\n$/;

/** In requests with a body, an expectation or an upgrade. Node's parser treats `proxy-connection` as `Connection`. */
const NOT_PLAIN = new Set(['content-length', 'transfer-encoding', 'expect', 'upgrade', 'proxy-connection']);

/** Null: not a plain poll. @param text one head with its blank line, one character a byte */
export function readPollHead(text: string): PollHead | null {
  if (text.length > PLAIN_BYTES) return null;
  const match = HEAD.exec(text);
  if (match === null) return null;
  let host: string | undefined;
  let connection: string | undefined;
  let ifNoneMatch: string | undefined;
  for (const line of match[2]!.split('\r\n')) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (NOT_PLAIN.has(name)) return null;
    if (name === 'host') {
      if (host !== undefined || value === '') return null;
      host = value;
    } else if (name === 'connection') {
      if (connection !== undefined) return null;
      connection = value.toLowerCase();
    } else if (name === 'if-none-match') {
      if (ifNoneMatch !== undefined) return null;
      ifNoneMatch = value;
    }
  }
  const closes = connection === 'close';
  if (host === undefined || !(closes || connection === undefined || connection === 'keep-alive')) return null;
  return { text, target: match[1]!, ifNoneMatch, closes };
}
