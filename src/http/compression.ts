/**
 * Compression where it pays: bodies of JSON over about 2 KiB, made for many (station, history); never single records or streams.
 * A CompressibleBody compresses itself once per coding, off the main thread, and shares the outcome with all requests.
 *
 * Invariant: every coding has an ETag of its own (RFC 9110, 8.8.3.3), and it is known before anything is compressed.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { contentTag } from '../metadata/etag.js';
import { matchesTag } from './reads.js';

/** Below this the headers outweigh what is saved. */
const MIN_BYTES = 2048;

/** In order of preference. */
const CODINGS = ['br', 'gzip'] as const;
type Coding = (typeof CODINGS)[number];

const withBrotli = promisify(brotliCompress) as (content: Buffer | string, options: object) => Promise<Buffer>;
const withGzip = promisify(gzip) as (content: Buffer | string) => Promise<Buffer>;

/** A text to be answered, perhaps many times: who keeps the body keeps its compressed forms. */
export class CompressibleBody {
  /** Encoded once where it is long; a short text goes out with its head in one piece. */
  readonly content: Buffer | string;
  readonly bytes: number;
  readonly #tag: string;
  #br: Promise<Buffer> | undefined;
  #gzip: Promise<Buffer> | undefined;

  /** @param tag contentTag's, where it is known */
  constructor(content: string | Buffer, tag?: string) {
    this.bytes = Buffer.byteLength(content);
    if (this.bytes < MIN_BYTES) this.content = content.toString();
    else this.content = typeof content === 'string' ? Buffer.from(content) : content;
    this.#tag = tag ?? contentTag(this.content);
  }

  /** Strong and quoted. @param coding null: as it is */
  etag(coding: Coding | null): string {
    return coding === null ? `"${this.#tag}"` : `"${this.#tag}-${coding}"`;
  }

  coded(coding: Coding): Promise<Buffer> {
    if (coding === 'gzip') return (this.#gzip ??= withGzip(this.content));
    // 11, the default, takes a hundred times as long for a tenth less.
    return (this.#br ??= withBrotli(this.content, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }));
  }
}

export interface Compressed {
  readonly etag: string;
  /** `Vary`, and `Content-Encoding` where there is one. */
  readonly headers: Readonly<Record<string, string>>;
  /** What is sent; only this compresses. */
  bytes(): Promise<Buffer | string>;
}

/** A body in the form that this request prefers. */
export function compressed(request: IncomingMessage, body: CompressibleBody): Compressed {
  const coding = body.bytes < MIN_BYTES ? null : preferred(request.headers['accept-encoding']);
  return {
    etag: body.etag(coding),
    headers: { Vary: 'Accept-Encoding', ...(coding === null ? {} : { 'Content-Encoding': coding }) },
    bytes: async () => (coding === null ? body.content : body.coded(coding)),
  };
}

/**
 * Answers a GET or HEAD with a body in the form that it prefers, or with 304.
 * @param headers Content-Type, Cache-Control and whatever else belongs to a 200
 * Rejects when the body cannot be compressed; then nothing was answered.
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
 * What Accept-Encoding asks for (RFC 9110, 12.5.3): the greatest q, of equal ones ours; null: as it is.
 * Nothing said means "as it is": a client that can decode says so.
 */
export function preferred(accept: string | string[] | undefined): Coding | null {
  if (accept === undefined) return null;
  const weights = new Map<string, number>();
  for (const item of String(accept).toLowerCase().split(',')) {
    const [name, ...parameters] = item.split(';');
    const q = /^\s*q\s*=\s*([0-9.]+)\s*$/.exec(parameters.find((text) => /^\s*q\s*=/.test(text)) ?? 'q=1')?.[1];
    weights.set(name!.trim(), Number(q ?? 0) || 0);
  }
  const weight = (coding: string) => weights.get(coding) ?? weights.get('*') ?? 0;
  let best: Coding | null = null;
  let most = weights.get('identity') ?? 0;
  // An identity that is named outweighs us only where it is preferred; not named, it is the last resort.
  for (const coding of CODINGS) {
    if (weight(coding) > 0 && (weight(coding) > most || (best === null && weight(coding) === most))) {
      best = coding;
      most = weight(coding);
    }
  }
  return best;
}
