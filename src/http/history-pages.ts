/**
 * Pages of history, rendered once for all who ask: kept while the channel says nothing new, up to so many bytes in all. What is not kept
 * is rendered a little at a time, one page after the other, and never for more than half of the time: a page costs the loop the same
 * 2 ms whether it has ten entries or all. Pages that are asked for faster than that wait in a short queue, past which they are refused.
 *
 * Invariant: a page is never older than the last committed change, and none is rendered that nobody waits for. Owned by Poll.
 */

import { LRUCache } from 'lru-cache';
import type { Feed } from '../metadata/feed.js';
import { HISTORY_FORMS } from '../metadata/history.js';
import type { HistoryEntry } from '../metadata/state.js';
import { Refusal } from '../refusal.js';
import { Body } from './compression.js';
import type { HistoryPage } from './history.js';

/** Rendering goes on for so long at a time, and rests as long. */
const SLICE_MS = 2;
/** Entries that are read and rendered between two looks at the time. */
const STEP = 16;
/** Entries grow too old without anybody saying so. */
const FRESH_MS = 10_000;
/** A page is kept with its compressed forms, which are smaller than itself. */
const FORMS = 2;

/** Newest first; at most `limit`, of those that began before `beforeMs` (unix milliseconds). */
export type ReadHistory = (
  channel: string,
  page: { readonly limit: number; readonly beforeMs: number | undefined },
) => HistoryEntry[];

export interface HistoryOptions {
  readonly read: ReadHistory;
  /** Another number with each committed change of the channel. */
  versionOf(channel: string): number;
  /** Entries in one answer. */
  readonly entries: number;
  readonly cacheBytes: number;
  /** Pages that wait to be rendered. */
  readonly waiting: number;
}

interface Kept {
  readonly version: number;
  readonly body: Body;
}

interface Job {
  readonly page: HistoryPage;
  readonly version: number;
  readonly lines: string[];
  readonly body: Promise<Body>;
  beforeMs: number | undefined;
  /** Each says whether it still waits. */
  readonly askers: (() => boolean)[];
  done(body: Body): void;
  failed(error: unknown): void;
}

export class HistoryPages {
  readonly #feed: Feed;
  readonly #options: HistoryOptions;
  readonly #kept: LRUCache<string, Kept>;
  /** By the page's name, in the order in which they are rendered. */
  readonly #jobs = new Map<string, Job>();
  #restsUntilMs = 0;
  /** Somebody will call #render. */
  #isDue = false;

  constructor(feed: Feed, options: HistoryOptions) {
    this.#feed = feed;
    this.#options = options;
    this.#kept = new LRUCache({
      maxSize: options.cacheBytes,
      sizeCalculation: ({ body }) => FORMS * body.bytes,
      ttl: FRESH_MS,
    });
  }

  /**
   * @param page of a known channel @param waits whether whoever asks still does
   * @throws Refusal unavailable, when too many pages wait. Rejects with whatever the store throws.
   */
  of(page: HistoryPage, waits: () => boolean): Body | Promise<Body> {
    const name = `${page.channel} ${page.form} ${page.limit} ${page.beforeMs}`;
    const version = this.#options.versionOf(page.channel);
    const kept = this.#kept.get(name);
    if (kept?.version === version) return kept.body;
    const known = this.#jobs.get(name);
    if (known?.version === version) {
      known.askers.push(waits);
      return known.body;
    }
    if (this.#jobs.size >= this.#options.waiting) {
      throw new Refusal('unavailable', 'Too many pages of history are asked for.', { headers: { 'Retry-After': '1' } });
    }
    const job = makeJob(page, version, waits);
    // One that has begun before the change goes on under another name: some wait for it.
    if (known !== undefined) this.#rename(name, known);
    this.#jobs.set(name, job);
    this.#goOn();
    return job.body;
  }

  /** Renders as soon as it has rested. */
  #goOn(): void {
    if (this.#isDue) return;
    const waitMs = this.#restsUntilMs - performance.now();
    this.#isDue = waitMs > 0;
    if (this.#isDue) setTimeout(this.#render, Math.ceil(waitMs));
    else this.#render();
  }

  readonly #render = (): void => {
    this.#isDue = false;
    this.#renderUntil(performance.now() + SLICE_MS);
    this.#restsUntilMs = performance.now() + SLICE_MS;
    if (this.#jobs.size > 0) this.#goOn();
  };

  #renderUntil(untilMs: number): void {
    for (const [name, job] of this.#jobs) {
      try {
        if (!job.askers.some((waits) => waits())) this.#end(name, () => job.failed(new Error('nobody waits')));
        else {
          while (!this.#step(job)) if (performance.now() >= untilMs) return;
          const body = new Body(HISTORY_FORMS[job.page.form].join(job.lines));
          this.#kept.set(name, { version: job.version, body });
          this.#end(name, () => job.done(body));
        }
      } catch (error) {
        this.#end(name, () => job.failed(error));
      }
      if (performance.now() >= untilMs) return;
    }
  }

  /** Renders some entries. True: those were the last. */
  #step(job: Job): boolean {
    const { channel, form, limit } = job.page;
    const wanted = Math.min(STEP, limit - job.lines.length);
    const entries = this.#options.read(channel, { limit: wanted, beforeMs: job.beforeMs });
    const face = this.#feed.face(channel)!;
    for (const entry of entries) job.lines.push(HISTORY_FORMS[form].line(entry, face));
    job.beforeMs = entries.at(-1)?.fromMs;
    return entries.length < wanted || job.lines.length === limit;
  }

  #end(name: string, tell: () => void): void {
    this.#jobs.delete(name);
    tell();
  }

  #rename(name: string, job: Job): void {
    this.#jobs.delete(name);
    this.#jobs.set(`${name} ${job.version}`, job);
  }
}

function makeJob(page: HistoryPage, version: number, waits: () => boolean): Job {
  let done!: Job['done'];
  let failed!: Job['failed'];
  const body = new Promise<Body>((resolve, reject) => {
    done = resolve;
    failed = reject;
  });
  return { page, version, lines: [], body, beforeMs: page.beforeMs, askers: [waits], done, failed };
}
