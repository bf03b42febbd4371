/**
 * The head of a plain poll: the one form of request that PollConnection answers by itself. It is HTTP/1.1, GET, without a body, and
 * about the last record of one channel; nothing in it could be read in two ways.
 *
 * Invariant: whatever is not exactly of this form is not judged here. In doubt it is null, and Node's parser decides.
 */

/** How a request of this form begins; also where a WebSocket or a history is asked for. */
export const POLL_START = 'GET /metadata/channel/';
/** With the blank line. Less than any configured head may have (config/schema.ts), so that Node would never refuse it for its size. */
export const PLAIN_BYTES = 1024;

export interface PollHead {
  /** All of it, one character a byte: the same text again means the same. */
  readonly text: string;
  /** Path and query as requested. */
  readonly target: string;
  readonly ifNoneMatch: string | undefined;
  /** `Connection: close` was asked for. */
  readonly closes: boolean;
}

/** Request line, then headers: a name of RFC 9110's characters (5.6.2), a colon, a value of visible ASCII and blanks; all with CRLF. */
const HEAD = /^GET (\/[!-~]+) HTTP\/1\.1\r\n((?:[!#$%&'*+.^`|~\w-]+:[ -~]*\r\n)+)\r\n$/;

/** A request with one of these has a body, waits for something, or wants to leave HTTP. Node's parser takes the last for `Connection`. */
const NOT_PLAIN = new Set(['content-length', 'transfer-encoding', 'expect', 'upgrade', 'proxy-connection']);

/** @param text one head up to and with its blank line, one character a byte */
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
