/**
 * The head of an answer to a request of ours, made strict. Old stream servers answer `ICY 200 OK`, end lines with a bare LF, and leave
 * out or put in blanks where HTTP/1.1 does not; the HTTP client behind reads none of that.
 *
 *   ICY 200 OK⏎              HTTP/1.1 200 ⏎
 *   icy-name :A⏎        ─►   icy-name: A⏎
 *   ⏎                        ⏎              what stands behind the blank line is the body, and stays as it is
 *
 * Invariant: what comes out depends on the bytes only, never on where they were split. Pure functions; net/outbound/outbound-connection.ts feeds
 * them.
 */

const STATUS_LINE = /^(?:ICY|HTTP\/\d\.\d)[ \t]+(\d{3})(?:\s|$)/;
/** A line that begins with a blank continues the one before it (RFC 9112, 5.2). */
const FOLD = /\r?\n[ \t]+/g;
const HEADER = /^([!#$%&'*+.^_`|~0-9a-z-]+)[ \t]*:(.*)$/i;
const CONTROLS = /[\u0000-\u001f\u007f]+/g;
const LF = 0x0a;
const CR = 0x0d;
/** Before the LF of a blank line: some servers end their lines with CR CR LF. */
const MAX_CR = 2;
/** The one interim answer (RFC 9110, 15.2) behind which no other comes. */
const SWITCHING = '101';

export interface ResponseHead {
  /** The head in HTTP/1.1, with the blank line that ends it; null: it is an interim answer's, and another head follows. */
  readonly head: Buffer | null;
  /** Where in the bytes the next head or the body begins. */
  readonly endAt: number;
}

/**
 * Reads a head from all that has come of it.
 * @param bytes from the first one of the head
 * @param seenBytes how many of them were `more` already: a head that trickles is not searched anew each time
 * @returns `more`: it is not whole; `wrong`: it is not HTTP, whatever follows
 */
export function readResponseHead(bytes: Buffer, seenBytes = 0): ResponseHead | 'more' | 'wrong' {
  let from = 0;
  while (bytes[from] === LF || bytes[from] === CR) from++;
  const lineEnd = bytes.indexOf(LF, from);
  if (lineEnd < 0) return 'more';
  const status = STATUS_LINE.exec(bytes.toString('latin1', from, lineEnd))?.[1];
  if (status === undefined) return 'wrong';
  const lastLf = seenBytes > 0 ? bytes.lastIndexOf(LF, seenBytes - 1) : -1;
  const endAt = endOf(bytes, Math.max(lineEnd, lastLf));
  if (endAt < 0) return 'more';
  const isInterim = /^1/.test(status) && status !== SWITCHING;
  return { head: isInterim ? null : strictHead(status, bytes.toString('latin1', lineEnd + 1, endAt)), endAt };
}

/** Where the first blank line at or behind this LF ends; -1: it has not come. */
function endOf(bytes: Buffer, firstLf: number): number {
  for (let lf = firstLf; lf >= 0; lf = bytes.indexOf(LF, lf + 1)) {
    let at = lf + 1;
    while (at <= lf + MAX_CR && bytes[at] === CR) at++;
    if (bytes[at] === LF) return at + 1;
  }
  return -1;
}

/** @param text all lines behind the status line, one character a byte; what is not a header is left out */
function strictHead(status: string, text: string): Buffer {
  const headers = text
    .replace(FOLD, ' ')
    .split('\n')
    .map((line) => HEADER.exec(line.replace(CONTROLS, ' ')))
    .filter((found) => found !== null)
    .map(([, name, value]) => [name!, value!.trim()] as const);
  // Where both are there the length counts for nothing (RFC 9112, 6.3).
  const isChunked = headers.some(([name]) => name.toLowerCase() === 'transfer-encoding');
  const lines = headers
    .filter(([name]) => !(isChunked && name.toLowerCase() === 'content-length'))
    .map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`HTTP/1.1 ${status} \r\n${lines.join('')}\r\n`, 'latin1');
}
