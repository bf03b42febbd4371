/**
 * Classifies a connection by its first bytes, after PROXY header and TLS (opening.ts). A pure function, so that tests can try every
 * prefix. Invariant: more bytes never change a verdict; `more` is returned only for a prefix of a known word.
 *
 *   GET, HEAD, POST …; PUT to a path of our own ─► http
 *   PUT, SOURCE                                 ─► encoder
 *   GET or POST of an encoder's title           ─► title: may have headers that HTTP does not allow (http/ingest/title-acceptor.ts)
 *   a PROXY header (proxy-protocol.ts)          ─► proxied: not read at this address, or a second one
 *   any other line of text                      ─► shoutcast: its first line may be a password (http/ingest/shoutcast-password.ts)
 *   a control character                         ─► unknown
 */

import { beginsProxied } from './proxy-protocol.js';

export type ConnectionKind = 'http' | 'encoder' | 'title' | 'shoutcast' | 'proxied' | 'more' | 'unknown';

const ENCODER = ['PUT ', 'SOURCE '];
/** No mount begins like these paths (src/http/README.md, "Paths"): a PUT there is a mistake, which the HTTP server answers. */
const OURS = ['PUT /metapush/', 'PUT /metadata/', 'PUT /admin/api/'];
const TITLE = ['GET /admin/metadata', 'GET /admin.cgi', 'POST /admin/metadata', 'POST /admin.cgi'];
const HTTP = ['GET ', 'HEAD ', 'POST ', 'OPTIONS ', 'DELETE ', 'PATCH ', 'TRACE ', 'CONNECT ', ...OURS];
const WORDS = [...ENCODER, ...TITLE, ...HTTP];
const LONGEST = Math.max(...WORDS.map((word) => word.length));
/** Blank lines before a request that are ignored (RFC 9112, 2.2). */
const MAX_BLANKS = 16;
const CONTROL = /^[\u0000-\u001f\u007f]/;

export function verdict(first: Buffer): ConnectionKind {
  const isProxied = beginsProxied(first);
  if (isProxied !== false) return isProxied === true ? 'proxied' : 'more';
  let at = 0;
  while (at < first.length && (first[at] === 0x0d || first[at] === 0x0a)) at++;
  if (at >= MAX_BLANKS) return 'unknown';
  const word = first.toString('latin1', at, at + LONGEST);
  if (TITLE.some((start) => word.startsWith(start))) return 'title';
  if (TITLE.some((start) => start.startsWith(word))) return 'more';
  if (HTTP.some((method) => word.startsWith(method))) return 'http';
  if (OURS.some((start) => start.startsWith(word))) return 'more';
  if (ENCODER.some((method) => word.startsWith(method))) return 'encoder';
  if (WORDS.some((known) => known.startsWith(word))) return 'more';
  return CONTROL.test(word) ? 'unknown' : 'shoutcast';
}
