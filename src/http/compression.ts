/**
 * Compresses JSON bodies over about 2 KiB that many clients read (stations, history); never single records or streams.
 * A CompressibleBody compresses itself once per coding, off the main thread, and shares the result with all requests.
 *
 * Invariant: every coding has an ETag of its own (RFC 9110, 8.8.3.3), known before anything is compressed.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { contentTag } from '../metadata/etag.js';
import { matchesTag, weighted } from './reads.js';

/** Below this, compression saves less than its headers cost. */
const MIN_BYTES = 2048;

/** In order of preference. */
const CODINGS = ['br', 'gzip'] as const;
type Coding = (typeof CODINGS)[number];

const withBrotli = promisify(brotliCompress) as (content: Buffer | string, options: object) => Promise<Buffer>;
const withGzip = promisify(gzip) as (content: Buffer | string) => Promise<Buffer>;

/** The body of one or many answers, with its compressed forms. */
export class CompressibleBody {
  /** A long text is encoded once; a short one stays a string, which Node writes together with the head. */
  readonly content: Buffer | string;
  readonly bytes: number;
  /** Shorter bodies are sent uncompressed. */
  readonly minBytes: number;
  readonly #tag: string;
  #br: Promise<Buffer> | undefined;
  #gzip: Promise<Buffer> | undefined;

  /** @param tag the result of contentTag, if known */
  constructor(content: string | Buffer, tag?: string, minBytes = MIN_BYTES) {
    this.minBytes = minBytes;
    this.bytes = Buffer.byteLength(content);
    if (this.bytes < MIN_BYTES) this.content = content.toString();
    else this.content = typeof content === 'string' ? Buffer.from(content) : content;
    this.#tag = tag ?? contentTag(this.content);
  }

  /** Strong and quoted. @param coding null: not compressed */
  etag(coding: Coding | null): string {
    return coding === null ? `"${this.#tag}"` : `"${this.#tag}-${coding}"`;
  }

  coded(coding: Coding): Promise<Buffer> {
    if (coding === 'gzip') return (this.#gzip ??= withGzip(this.content));
    // The default, 11, takes a hundred times as long to save another tenth.
    return (this.#br ??= withBrotli(this.content, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }));
  }
}

export interface Compressed {
  readonly etag: string;
  /** `Vary`, and `Content-Encoding` if it is compressed. */
  readonly headers: Readonly<Record<string, string>>;
  /** The bytes to send. Compresses only when called. */
  bytes(): Promise<Buffer | string>;
}

/** The body in the coding that this request prefers. */
export function compressed(request: IncomingMessage, body: CompressibleBody): Compressed {
  const coding = body.bytes < body.minBytes ? null : preferred(request.headers['accept-encoding']);
  return {
    etag: body.etag(coding),
    headers: { Vary: 'Accept-Encoding', ...(coding === null ? {} : { 'Content-Encoding': coding }) },
    bytes: async () => (coding === null ? body.content : body.coded(coding)),
  };
}

/**
 * Answers a GET or HEAD with the body in the coding that it prefers, or with 304. Rejects, before it answers, if compression fails.
 * @param headers all of a 200
 */
export async function sendCompressed(
  request: IncomingMessage,
  response: ServerResponse,
  body: CompressibleBody,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const form = compressed(request, body);
  if (matchesTag(request.headers['if-none-match'], form.etag)) {
    const { 'Content-Type': _type, ...kept } = headers;
    response.writeHead(304, { ...kept, Vary: 'Accept-Encoding', ETag: form.etag }).end();
    return;
  }
  const bytes = await form.bytes();
  response.writeHead(200, {
    ...headers,
    ...form.headers,
    ETag: form.etag,
    'Content-Length': Buffer.byteLength(bytes),
  });
  response.end(bytes);
}

/**
 * The coding that Accept-Encoding prefers (RFC 9110, 12.5.3): the one with the highest q, of equal ones the first in CODINGS. Null: none, also
 * without the header.
 */
export function preferred(accept: string | string[] | undefined): Coding | null {
  if (accept === undefined) return null;
  const weights = new Map(weighted(String(accept)).map(({ name, q }) => [name, q]));
  const weight = (coding: string) => weights.get(coding) ?? weights.get('*') ?? 0;
  let best: Coding | null = null;
  let highest = weights.get('identity') ?? 0;
  // A named identity wins only with a higher q; an unnamed one is the last resort.
  for (const coding of CODINGS) {
    if (weight(coding) > 0 && (weight(coding) > highest || (best === null && weight(coding) === highest))) {
      best = coding;
      highest = weight(coding);
    }
  }
  return best;
}
