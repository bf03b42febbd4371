/**
 * Asks a program of the station for the cover of a song: once for each artist and song. A limited number of answers is cached.
 *
 *   GET hook?artist=&song=&channelkey=  ─► 200 { "cover": "https://…" }: that    204, 404, or another 200: none    else: asked again in a minute
 *
 * Owned by covers.ts. Its URL may hold a secret: it is in no log line.
 */

import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.js';
import type { CoversConfig } from '../config/covers-config.js';
import { imageUrl } from '../metadata/image-url.js';
import { cleanText } from '../metadata/text.js';
import { boundedAnswer } from '../net/outbound/bounded-answer.js';
import { Target } from '../net/outbound/target.js';

export type CoverOutcome = 'found' | 'none' | 'failed' | 'dropped';

export interface CoverHookOutput {
  /** Called for the first failure in a row. @param reason without any part of the URL */
  onTrouble(reason: string): void;
  onRecovered(): void;
}

interface Song {
  readonly artist: string;
  readonly song: string;
}

interface Remembered {
  /** `''`: none; null: it could not be found out. */
  readonly cover: string | null;
  readonly untilMs: number;
}

const LIMITS = { ca: undefined, headBytes: 16 * 1024, bodyBytes: 16 * 1024 };
/** Concurrent questions; further ones are dropped. */
const MAX_ASKED = 4;
/** The pause after a failure. */
export const AGAIN_MS = 60_000;
const NONE: ReadonlySet<number> = new Set([204, 404]);

export class CoverHook {
  readonly counts: Record<CoverOutcome, number> = { found: 0, none: 0, failed: 0, dropped: 0 };
  readonly #channel: string;
  readonly #config: CoversConfig & { readonly hook: string };
  readonly #urlBytes: () => number;
  readonly #clock: Clock;
  readonly #output: CoverHookOutput;
  readonly #remembered: LRUCache<string, Remembered>;
  readonly #asking = new Map<string, Promise<string | null>>();
  readonly #closing = new AbortController();
  #isFailing = false;

  /** @param urlBytes the longest URL of a cover */
  constructor(
    channel: string,
    config: CoversConfig & { readonly hook: string },
    urlBytes: () => number,
    clock: Clock,
    output: CoverHookOutput,
  ) {
    this.#channel = channel;
    this.#config = config;
    this.#urlBytes = urlBytes;
    this.#clock = clock;
    this.#output = output;
    this.#remembered = new LRUCache({ max: config.cacheEntries });
  }

  /** Never rejects. @returns `''`: there is none; null: it cannot be found out now */
  async coverOf({ artist, song }: Song): Promise<string | null> {
    const name = `${artist}\n${song}`;
    const known = this.#remembered.get(name);
    if (known !== undefined && this.#clock.now() < known.untilMs) return known.cover;
    const asking = this.#asking.get(name);
    if (asking !== undefined) return asking;
    if (this.#asking.size >= MAX_ASKED) {
      this.counts.dropped++;
      return null;
    }
    const asked = this.#ask({ artist, song }, name);
    this.#asking.set(name, asked);
    return asked.finally(() => this.#asking.delete(name));
  }

  /** Aborts all questions. Idempotent. */
  close(): void {
    this.#closing.abort();
  }

  async #ask(song: Song, name: string): Promise<string | null> {
    const { cacheSeconds } = this.#config;
    const answer = await this.#request(song);
    if (this.#closing.signal.aborted) return '';
    const isFailed = answer instanceof Error;
    const found = isFailed ? null : imageUrl(answer);
    const cover = found === null || Buffer.byteLength(found) <= this.#urlBytes() ? found : '';
    this.counts[cover === null ? 'failed' : cover === '' ? 'none' : 'found']++;
    this.#remembered.set(name, { cover, untilMs: this.#clock.now() + (isFailed ? AGAIN_MS : cacheSeconds * 1000) });
    if (isFailed && !this.#isFailing) this.#output.onTrouble(answer.message);
    if (!isFailed && this.#isFailing) this.#output.onRecovered();
    this.#isFailing = isFailed;
    return cover;
  }

  /** Never rejects. @returns `''`: there is none; an error: why the question failed, without any part of the URL */
  async #request({ artist, song }: Song): Promise<string | Error> {
    const url = new URL(this.#config.hook);
    for (const [field, value] of Object.entries({ artist, song, channelkey: this.#channel })) {
      url.searchParams.set(field, value);
    }
    const target = Target.named(url.href, undefined, true);
    const headers = { Accept: 'application/json', 'User-Agent': 'airsplice' };
    const timeoutMs = this.#config.timeoutSeconds * 1000;
    try {
      const limits = { ...LIMITS, timeoutMs, signal: this.#closing.signal };
      const { status, body } = await boundedAnswer({ target, method: 'GET', headers }, limits);
      if (status === 200) return coverIn(body.toString());
      return NONE.has(status) ? '' : new Error(`status ${status}`);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      return new Error(code ?? message);
    }
  }
}

/** The member `cover` of an object in JSON, cleaned like any input; `''`: there is none. */
function coverIn(text: string): string {
  try {
    const { cover } = JSON.parse(text) as { readonly cover?: unknown };
    return typeof cover === 'string' ? cleanText(cover) : '';
  } catch {
    return '';
  }
}
