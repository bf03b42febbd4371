/**
 * The head of a plain poll, the only request that PollConnection answers by itself: an unambiguous HTTP/1.1 GET without a body for the last
 * record of one channel. Invariant: for anything else, and in doubt, the result is null, and Node's parser decides.
 */

/** How it begins; requests for a WebSocket or a history begin so too. */
export const POLL_START = 'GET /metadata/channel/';
/** The largest plain head, with its blank line. Below the smallest limit that can be configured (config/schema.ts), so Node would take it, too. */
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

/** Request line, then headers: a token (RFC 9110, 5.6.2), a colon, a value of visible ASCII and blanks; all lines end in CRLF. */
const HEAD = /^GET (\/[!-~]+) HTTP\/1\.1\r\n((?:[!#$%&'*+.^`|~\w-]+:[ -~]*\r\n)+)\r\n$/;

/** Headers of a request that has a body, expects 100 or offers an upgrade. Node's parser takes the last one for `Connection`. */
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
