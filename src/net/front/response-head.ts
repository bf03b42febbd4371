/**
 * Rewrites the head of a response to a request of ours as strict HTTP. Old stream servers answer `ICY 200 OK`, end lines with a bare LF,
 * and put blanks where HTTP/1.1 forbids them, which the HTTP client refuses.
 *
 *   ICY 200 OK⏎              HTTP/1.1 200 ⏎
 *   icy-name :A⏎        ─►   icy-name: A⏎
 *   ⏎                        ⏎              the body after it stays as it is
 *
 * Invariant: the result depends on the bytes only, never on where they were split. Pure functions, used by outbound-connection.ts.
 */

import { trimmedBytes } from '../../base/charset.js';

const STATUS_LINE = /^(?:ICY|HTTP\/\d\.\d)[ \t]+(\d{3})(?:\s|$)/;
/** A line that begins with a blank continues the one before it (RFC 9112, 5.2). */
const FOLD = /\r?\n[ \t]+/g;
const HEADER = /^([!#$%&'*+.^_`|~0-9a-z-]+)[ \t]*:(.*)$/i;
const CONTROLS = /[\u0000-\u001f\u007f]+/g;
const LF = 0x0a;
const CR = 0x0d;
/** Some servers end their lines with CR CR LF. */
const MAX_CR = 2;
/** The only 1xx status that is final (RFC 9110, 15.2). */
const SWITCHING = '101';

export interface ResponseHead {
  /** The head in HTTP/1.1, with the blank line that ends it; null: an interim one, another follows. */
  readonly head: Buffer | null;
  /** Offset of the next head or the body. */
  readonly endAt: number;
}

/**
 * @param bytes all bytes so far, from the first of the head
 * @param seenBytes how many of them were searched before, with the result `more`
 * @returns `more`: incomplete; `wrong`: not HTTP, whatever follows
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

/** The end of the first blank line from this LF on; -1: it has not come. */
function endOf(bytes: Buffer, firstLf: number): number {
  for (let lf = firstLf; lf >= 0; lf = bytes.indexOf(LF, lf + 1)) {
    let at = lf + 1;
    while (at <= lf + MAX_CR && bytes[at] === CR) at++;
    if (bytes[at] === LF) return at + 1;
  }
  return -1;
}

/** @param text all lines after the status line, one character a byte; lines that are not headers are left out */
function strictHead(status: string, text: string): Buffer {
  const headers = text
    .replace(FOLD, ' ')
    .split('\n')
    .map((line) => HEADER.exec(line.replace(CONTROLS, ' ')))
    .filter((found) => found !== null)
    .map(([, name, value]) => [name!, trimmedBytes(value!)] as const);
  // With both headers the length is ignored (RFC 9112, 6.3).
  const isChunked = headers.some(([name]) => name.toLowerCase() === 'transfer-encoding');
  const lines = headers
    .filter(([name]) => !(isChunked && name.toLowerCase() === 'content-length'))
    .map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`HTTP/1.1 ${status} \r\n${lines.join('')}\r\n`, 'latin1');
}
