/**
 * `/metadata/channel/{key}/cover/{name}`: pictures from a channel's folder of covers (src/covers). They are read on request, and cached up to
 * KEPT_BYTES, so that a crowd shares one.
 */

import { readFile, stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import { retryLater } from '../../base/refusal.js';
import { pathOf, readablePath } from '../../base/request-target.js';
import { MAX_PICTURE_BYTES, type Picture, pictureAt } from '../../covers/cover-folder.js';
import { contentTag } from '../../metadata/etag.js';
import type { Proxies } from '../../net/front/client-address.js';
import type { Exchange, HttpService } from '../http-service.js';
import { InFlight, weightOf } from '../in-flight.js';
import { asRefusal, sendProblem } from '../problem.js';
import { matchesTag, notFound, READ_CORS, READ_PREFLIGHT, readOnly } from '../reads.js';

const PATH = /^\/metadata\/channel\/([^/]+)\/cover\/([^/]+)$/;
const CACHE_CONTROL = 'public, max-age=3600';
const KEPT_BYTES = 16 * 1024 * 1024;
/** Limits of pictures in unfinished answers, as in-flight.ts counts them. */
const IN_FLIGHT = { bytes: 64 * 1024 * 1024, bytesPerAddress: 16 * 1024 * 1024 };
/** Limit on files read simultaneously. */
const MAX_READING = 16;

interface KeptPicture {
  readonly content: Buffer;
  readonly bytes: number;
  readonly etag: string;
}

export interface CoverFilesParts {
  readonly proxies: Proxies;
  /** The folder of a channel's covers; undefined: none. */
  folderOf(channel: string): string | undefined;
  /** Gets the error that caused a 500. */
  onError(error: unknown): void;
}

export class CoverFiles implements HttpService {
  readonly role = 'poll';
  readonly #parts: CoverFilesParts;
  readonly #kept = new LRUCache<string, KeptPicture>({ maxSize: KEPT_BYTES, sizeCalculation: ({ bytes }) => bytes });
  readonly #reading = new Map<string, Promise<KeptPicture | null>>();
  readonly #inFlight = new InFlight(IN_FLIGHT);

  constructor(parts: CoverFilesParts) {
    this.#parts = parts;
  }

  takes(path: string): boolean {
    return PATH.test(path);
  }

  handle({ request, response }: Pick<Exchange, 'request' | 'response'>): void {
    this.#answer(request, response).catch((error) =>
      sendProblem(response, asRefusal(error, this.#parts.onError), READ_CORS),
    );
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method } = request;
    if (method === 'OPTIONS') {
      response.writeHead(204, READ_PREFLIGHT).end();
      return;
    }
    const picture = this.#picture(request.url!);
    if (method !== 'GET' && method !== 'HEAD') throw readOnly();
    const kept = picture === null ? null : await this.#read(picture);
    if (picture === null || kept === null) throw notFound('There is no such picture.');
    if (response.destroyed) return;
    const { etag, content, bytes } = kept;
    const headers = { ...READ_CORS, ETag: etag, 'Cache-Control': CACHE_CONTROL };
    if (matchesTag(request.headers['if-none-match'], etag)) {
      response.writeHead(304, headers).end();
      return;
    }
    if (
      method === 'GET' &&
      !this.#inFlight.enter(kept, weightOf(kept), this.#parts.proxies.originOf(request), response)
    )
      throw tooMany();
    const safe = { 'X-Content-Type-Options': 'nosniff', 'Content-Security-Policy': "default-src 'none'; sandbox" };
    response.writeHead(200, { ...headers, ...safe, 'Content-Type': picture.type, 'Content-Length': bytes });
    response.end(method === 'HEAD' ? undefined : content);
  }

  #picture(url: string): Picture | null {
    const [, channel, name] = PATH.exec(pathOf(url)) ?? [];
    const folder = this.#parts.folderOf(readablePath(channel ?? ''));
    if (folder === undefined) return null;
    try {
      return pictureAt(folder, decodeURIComponent(name!));
    } catch {
      return null;
    }
  }

  /** Null: there is no such picture. */
  async #read({ path }: Picture): Promise<KeptPicture | null> {
    const found = await stat(path).catch(() => null);
    if (found === null || !found.isFile() || found.size === 0 || found.size > MAX_PICTURE_BYTES) return null;
    const version = `${path} ${found.mtimeMs} ${found.size}`;
    const kept = this.#kept.get(version);
    if (kept !== undefined) return kept;
    const known = this.#reading.get(version);
    if (known !== undefined) return known;
    if (this.#reading.size >= MAX_READING || this.#inFlight.bytes + weightOf({ bytes: found.size }) > IN_FLIGHT.bytes) {
      throw tooMany();
    }
    const reading = readFile(path).then((content) => {
      // It is being written, and caches would keep the incomplete picture.
      if (content.length !== found.size) throw retryLater('unavailable', 'The picture is being written.', 1);
      const made: KeptPicture = { content, bytes: content.length, etag: `"${contentTag(content)}"` };
      this.#kept.set(version, made);
      return made;
    }, gone);
    this.#reading.set(version, reading);
    return reading.finally(() => this.#reading.delete(version));
  }
}

/** It was removed after its size was read. */
function gone(error: NodeJS.ErrnoException): null {
  if (error.code !== 'ENOENT') throw error;
  return null;
}

function tooMany() {
  return retryLater('unavailable', 'Too many requests for pictures at once.', 1);
}
