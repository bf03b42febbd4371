/**
 * A tolerant parser for the head of an encoder's request: encoders end lines with LF, CRLF or CR CR LF, leave out blanks, send names in any
 * charset, and speak protocols that Node's HTTP parser refuses (src/http/ingest/README.md, "What encoders send"). Heads that two parsers could
 * read differently are refused (RFC 9112, 2.2, 3.2, 5.1, 5.2, 6.3), except SHOUTcast's, which frame nothing. The result depends on the
 * bytes only, never on where they were split.
 */

import { pathOf, queryOf } from '../../base/request-target.js';
import { decodeUndeclared, decodeUtf8 } from '../../metadata/text.js';

export interface RequestHeadLimits {
  /** The whole head, with blank lines before it and the one that ends it. */
  readonly headBytes: number;
  /** All lines except the blank one that ends the head. */
  readonly headLines: number;
}

/** The headers after the request line. */
export interface SentHeaders {
  /** Names in lower case, values trimmed. The last of a repeated header counts; those of proxies are joined by commas. */
  readonly headers: ReadonlyMap<string, string>;
  /** The bytes of `icy-` and `ice-` headers whose values are not UTF-8. Absent: there are none. */
  readonly foreign?: ReadonlyMap<string, Buffer> | undefined;
}

export interface RequestHead extends SentHeaders {
  /** As sent: `PUT`, `SOURCE`, `GET`, … */
  readonly method: string;
  /** Not decoded, without the query. */
  readonly path: string;
  /** After the first `?` of the target, or `""`. */
  readonly query: string;
  /** The query with bytes above 0x7F percent-encoded, since the channel decides their charset. Absent: there are none. */
  readonly encodedQuery?: string | undefined;
  /** As sent: `HTTP/1.0`, `HTTP/1.1`, `ICE/1.0`, … */
  readonly protocol: string;
  /** Not exact HTTP: a proxy may have read it differently, and found its end elsewhere. */
  readonly isLoose: boolean;
  /** Bytes of the body that came with the end of the head. */
  readonly rest: Buffer;
}

export interface RequestHeadFault {
  readonly kind: 'too-large' | 'malformed';
  /** For people. Quotes nothing that was sent, which may be a password. */
  readonly message: string;
}

type RequestLine = Pick<RequestHead, 'method' | 'path' | 'query' | 'encodedQuery' | 'protocol'>;

/** Room for a usual head, from Node's pool. */
const FIRST_BYTES = 1024;
const LF = 0x0a;
const CR = 0x0d;
const CONTROLS = /[\u0000-\u001f\u007f]/g;
/** Headers that are one list if repeated (RFC 9110, 5.3; RFC 7239, 7.1). */
const LISTS = new Set(['x-forwarded-for', 'forwarded']);
/** Headers that give the length of a body: at most one of them, once. */
const LENGTHS = new Set(['content-length', 'transfer-encoding']);
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
const EXACT_REQUEST = /^[A-Z]+ [\x21-\x7e]+ HTTP\/1\.[01]$/;
const NOT_ASCII = /[^\0-\x7f]/;
/** Headers about the station. */
const OF_ENCODER = /^ic[ey]-/;
const TAB = 0x09;
const DELETE = 0x7f;
const METHOD = /^[A-Za-z]{1,20}$/;
const PROTOCOL = /^[A-Za-z]{1,10}\/\d\.\d$/;

/** Reads one head: not to be used after any answer but `more`. */
export class RequestHeadParser {
  readonly #limits: RequestHeadLimits;
  #head = Buffer.allocUnsafe(FIRST_BYTES);
  #length = 0;
  #lineStart = 0;
  #lines = 0;
  #request: RequestLine | null;
  /** Refuses control characters and ambiguous framing. */
  readonly #isStrict: boolean;
  #isLoose = false;
  readonly #headers = new Map<string, string>();
  #foreign: Map<string, Buffer> | undefined;

  /** @param request in place of a request line: SHOUTcast's headers follow a password */
  constructor(limits: RequestHeadLimits, request: RequestLine | null = null) {
    this.#limits = limits;
    this.#request = request;
    this.#isStrict = request === null;
  }

  /** A fault is returned at the first byte that causes it. */
  push(chunk: Buffer): RequestHead | 'more' | RequestHeadFault {
    const { headBytes, headLines } = this.#limits;
    for (let i = 0; i < chunk.length; i++) {
      if (this.#length === headBytes) return tooLarge(`${headBytes} bytes`);
      if (this.#length === this.#head.length) this.#grow();
      const byte = chunk[i]!;
      this.#head[this.#length++] = byte;
      if (byte !== LF) continue;

      const start = this.#lineStart;
      const line = this.#takeLine();
      if (line === null) return malformed('contains a control character');
      if (line === '' && this.#request !== null) {
        const isLoose = this.#isLoose || (this.#request.protocol === 'HTTP/1.1' && !this.#headers.has('host'));
        const sent: SentHeaders = { headers: this.#headers, foreign: this.#foreign };
        return { ...this.#request, ...sent, isLoose, rest: chunk.subarray(i + 1) };
      }
      if (++this.#lines > headLines) return tooLarge(`${headLines} lines`);
      if (line === '') continue;
      if (this.#request === null) {
        this.#request = readRequestLine(line);
        if (this.#request === null) return malformed('does not begin with a method, a path and a protocol');
        this.#isLoose ||= !EXACT_REQUEST.test(line);
        if (NOT_ASCII.test(line)) {
          const bytes = this.#head.toString('latin1', start, this.#length);
          const encodedQuery = readRequestLine(bytes.replace(/[\x80-\xff]/g, percentEncoded))?.query;
          this.#request = { ...this.#request, encodedQuery };
        }
      } else {
        const fault = this.#takeHeader(line, start);
        if (fault !== null) return malformed(fault);
      }
    }
    return 'more';
  }

  #grow(): void {
    const bigger = Buffer.allocUnsafe(this.#head.length * 4);
    this.#head.copy(bigger);
    this.#head = bigger;
  }

  /** The line before the LF just stored, without its line end. If it has control characters: null if strict, else with blanks in their place. */
  #takeLine(): string | null {
    let end = this.#length - 1;
    while (end > this.#lineStart && this.#head[end - 1] === CR) end--;
    this.#isLoose ||= this.#length - 1 - end !== 1;
    if (this.#isStrict) for (let i = this.#lineStart; i < end; i++) if (isControl(this.#head[i]!)) return null;
    const line = decodeUndeclared(this.#head.subarray(this.#lineStart, end)).replace(CONTROLS, ' ');
    this.#lineStart = this.#length;
    return line;
  }

  /** Skips a line without a name, such as the second line of a description. @returns its fault, or null */
  #takeHeader(line: string, start: number): string | null {
    const colon = line.indexOf(':');
    const written = line.slice(0, Math.max(colon, 0));
    const name = written.trimEnd().toLowerCase();
    if (this.#isStrict && line.startsWith(' ')) return 'has a header that continues on a second line';
    const isToken = TOKEN.test(name);
    if (this.#isStrict && isToken && name.length !== written.length) return 'has a blank before a colon';
    this.#isLoose ||= !isToken;
    if (!isToken) return null;
    const value = line.slice(colon + 1).trim();
    const before = this.#headers.get(name);
    if (this.#isStrict && LENGTHS.has(name)) {
      for (const length of LENGTHS) if (this.#headers.has(length)) return 'says twice how long its body is';
    }
    if (this.#isStrict && name === 'host' && before !== undefined) return 'has two Hosts';
    if (LISTS.has(name)) this.#headers.set(name, before === undefined ? value : `${before}, ${value}`);
    else {
      this.#isLoose ||= before !== undefined;
      this.#headers.set(name, value);
      if (OF_ENCODER.test(name) && (before !== undefined || NOT_ASCII.test(line)))
        this.#keepBytes(name, this.#head.subarray(start, this.#length));
    }
    return null;
  }

  #keepBytes(name: string, line: Buffer): void {
    if (decodeUtf8(line) !== null) this.#foreign?.delete(name);
    else (this.#foreign ??= new Map()).set(name, Buffer.from(line.subarray(line.indexOf(':') + 1)));
  }
}

/** A tab is a blank in a value (RFC 9110, 5.5). */
function isControl(byte: number): boolean {
  return (byte < 0x20 && byte !== TAB) || byte === DELETE;
}

/** @param byte as a character of Latin-1 */
function percentEncoded(byte: string): string {
  return `%${byte.charCodeAt(0).toString(16)}`;
}

/** Split at the first and the last blank, since some encoders send mounts with blanks in them. */
function readRequestLine(line: string): RequestLine | null {
  const text = line.trim();
  const [first, last] = [text.indexOf(' '), text.lastIndexOf(' ')];
  const [method, protocol] = [text.slice(0, Math.max(first, 0)), text.slice(last + 1)];
  const target = text.slice(first, last).trim();
  if (target === '' || !METHOD.test(method) || !PROTOCOL.test(protocol)) return null;
  return { method, path: pathOf(target), query: queryOf(target), protocol };
}

function malformed(what: string): RequestHeadFault {
  return { kind: 'malformed', message: `The request ${what}` };
}

function tooLarge(limit: string): RequestHeadFault {
  return { kind: 'too-large', message: `The head of the request is larger than ${limit}` };
}

/**
 * The token in an `Authorization: Bearer` header (RFC 6750), or "". Node decodes headers as Latin-1 and trims them; tokens are compared as UTF-8,
 * whose last byte may be a blank in Latin-1.
 */
export function bearerToken(authorization = ''): string {
  const given = /^bearer +/i.exec(authorization);
  return given === null ? '' : Buffer.from(authorization.slice(given[0].length), 'latin1').toString('utf8');
}

/**
 * The user and password in an `Authorization: Basic` header (RFC 7617; UTF-8 if valid, else Windows-1252), split at the first colon.
 * Null: none, or not base64 (padding may be missing).
 */
export function basicCredentials(authorization: string | undefined): { user: string; password: string } | null {
  const token = /^basic +([a-z0-9+/]+)={0,2}$/i.exec(authorization ?? '')?.[1];
  // A single character left over is not a byte.
  if (token === undefined || token.length % 4 === 1) return null;
  const text = decodeUndeclared(Buffer.from(token, 'base64'));
  const colon = text.indexOf(':');
  return colon === -1 ? null : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}
