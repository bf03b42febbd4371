/**
 * Pages of history, each rendered once for all clients, and cached until the channel has a new title, up to a total of `cacheBytes`. Pages are
 * rendered a few entries at a time, one page after the other, in a small share of the CPU time. Requests wait in a short queue, with a limit for
 * each address; past it they are refused. Addresses take turns (history-queue.ts).
 *
 *   request ─► cached? ─► else: queued ─► rendered, some entries a step ─► cached ─► in flight until its answers are closed
 *
 * Invariant: a page is never older than the last committed change, a page is rendered only while a client waits for it, and only the first job of
 * the queue has rendered entries. Owned by Poll.
 */

import type { ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import { BOM } from '../../base/csv.js';
import { withGetters } from '../../base/getters.js';
import { clientGone, Refusal, retryLater } from '../../base/refusal.js';
import { Tallies } from '../../base/tallies.js';
import type { Tally } from '../../base/tally.js';
import { isInRanges } from '../../config/number-range.js';
import type { Feed } from '../../feed/feed.js';
import { PiecewiseTag } from '../../metadata/etag.js';
import type { HistoryEntry } from '../../now-playing/state.js';
import { CompressibleBody } from '../compression.js';
import { FORMS, InFlight, weightOf } from '../in-flight.js';
import { notFound } from '../reads.js';
import { HISTORY_FORMS } from './history-forms.js';
import { HistoryQueue } from './history-queue.js';
import type { HistoryRequest } from './history-request.js';

/** How long rendering runs at a time … */
const SLICE_MS = 2;
/** … and pauses for this many times as long: history takes at most a seventh of the time. */
const PAUSE = 6;
/** Entries that are rendered between two checks of the time; the largest take 0.2 ms each. */
const STEP = 8;
/** Limit on entries read for one page, since few of them may have the requested content types. */
export const MAX_LOOKED_THROUGH = 20_000;
/** Lifetime of a cached page: entries expire without a change of the version. */
const FRESH_MS = 10_000;

/** Reads at most `limit` entries, newest first, that began before `beforeMs` (unix milliseconds). */
export type ReadHistory = (
  channel: string,
  page: { readonly limit: number; readonly beforeMs: number | undefined },
) => HistoryEntry[];

export interface HistoryOptions {
  readonly read: ReadHistory;
  /** Changes with each committed change of the channel. */
  versionOf(channel: string): number;
  /** Limit on entries in one answer. */
  readonly entries: number;
  /** Maximum size of one answer, which has at least one entry. */
  readonly pageBytes: number;
  readonly cacheBytes: number;
  /** Limit on pages in the queue. */
  readonly waiting: number;
  readonly waitingPerAddress: number;
  /** Maximum bytes of pages in unfinished answers, with their compressed forms (in-flight.ts). */
  readonly bytesInFlight: number;
  readonly bytesInFlightPerAddress: number;
  /** Shared with the other processes; absent: there are none. */
  readonly tallies?: Tallies;
}

export interface HistoryReader {
  /** The address or network to which limits apply (base/ip.ts). */
  readonly origin: string;
  readonly response: ServerResponse;
}

interface Kept {
  readonly version: number;
  readonly body: CompressibleBody;
}

interface Job {
  /** The name of the page and its version. */
  readonly name: string;
  readonly page: HistoryRequest;
  readonly version: number;
  /** The origin of the first reader. */
  readonly origin: string;
  readonly pieces: Buffer[];
  readonly tag: PiecewiseTag;
  readonly body: Promise<CompressibleBody>;
  bytes: number;
  entries: number;
  lookedThrough: number;
  beforeMs: number | undefined;
  readonly askers: HistoryReader[];
  onDone(body: CompressibleBody): void;
  onFailed(error: unknown): void;
}

export class HistoryPages {
  readonly #feed: Feed;
  readonly #options: HistoryOptions;
  readonly #kept: LRUCache<string, Kept>;
  readonly #inFlight: InFlight;
  readonly #jobs = new HistoryQueue<Job>();
  /** Jobs by origin. */
  readonly #waiting: Tally;
  readonly #all: Tally;
  #pausedUntilMs = 0;
  /** Whether a timer will call #render. */
  #isDue = false;

  constructor(feed: Feed, options: HistoryOptions) {
    this.#feed = feed;
    this.#options = options;
    this.#kept = new LRUCache({
      maxSize: options.cacheBytes,
      sizeCalculation: ({ body }) => weightOf(body),
      ttl: FRESH_MS,
    });
    const { tallies = new Tallies() } = options;
    // A reload changes the options.
    const limits = withGetters({
      bytes: () => options.bytesInFlight,
      bytesPerAddress: () => options.bytesInFlightPerAddress,
    });
    this.#inFlight = new InFlight(limits, tallies);
    this.#waiting = tallies.tally('history pages');
    this.#all = tallies.all;
    tallies.onLook(() => this.#all.set('history pages', this.#jobs.size));
  }

  /**
   * A page of a known channel. Resolves with the body, which counts as in flight until the response is closed. Rejects with Refusal unavailable
   * if too many pages are queued or in flight, or the response is closed; and with errors of the store.
   */
  async of(page: HistoryRequest, asker: HistoryReader): Promise<CompressibleBody> {
    const body = this.#keptOf(page) ?? (await this.#job(page, asker).body);
    // A response that is closed already no longer emits 'close'.
    if (asker.response.destroyed) throw clientGone();
    if (!this.#inFlight.enter(body, weightOf(body), asker.origin, asker.response)) throw tooMany();
    return body;
  }

  #keptOf(page: HistoryRequest): CompressibleBody | undefined {
    const kept = this.#kept.get(nameOf(page));
    return kept?.version === this.#options.versionOf(page.channel) ? kept.body : undefined;
  }

  /** The job that renders the page. @throws Refusal unavailable */
  #job(page: HistoryRequest, asker: HistoryReader): Job {
    const { origin } = asker;
    const version = this.#options.versionOf(page.channel);
    const name = `${nameOf(page)} ${version}`;
    const known = this.#jobs.get(name);
    if (known !== undefined) {
      known.askers.push(asker);
      this.#jobs.add(known, origin);
      return known;
    }
    const isFull = this.#waiting.count(origin) >= this.#options.waitingPerAddress;
    if (isFull || !this.#inFlight.fits(1, origin) || !this.#makeRoom(origin)) throw tooMany();
    const job = makeJob(name, page, version, asker);
    add(job, Buffer.from((page.hasBom ? BOM : '') + HISTORY_FORMS[page.form].open(this.#feed.face(page.channel)!)));
    this.#jobs.add(job, origin);
    this.#waiting.add(origin, 1);
    this.#resume();
    return job;
  }

  /** Makes room in the queue. False: it is full. */
  #makeRoom(origin: string): boolean {
    if (this.#jobs.size + this.#all.others('history pages') < this.#options.waiting) return true;
    const last = this.#jobs.lastOfMost(origin);
    if (last !== null) this.#end(last, () => last.onFailed(tooMany()));
    return last !== null;
  }

  /** Renders when the pause is over. */
  #resume(): void {
    if (this.#isDue) return;
    const waitMs = this.#pausedUntilMs - performance.now();
    this.#isDue = waitMs > 0;
    if (this.#isDue) setTimeout(this.#render, Math.ceil(waitMs));
    else this.#render();
  }

  readonly #render = (): void => {
    this.#isDue = false;
    const startMs = performance.now();
    this.#renderUntil(startMs + SLICE_MS);
    const endMs = performance.now();
    this.#pausedUntilMs = endMs + PAUSE * (endMs - startMs);
    if (this.#jobs.size > 0) this.#resume();
  };

  #renderUntil(untilMs: number): void {
    for (let job = this.#jobs.next(); job !== null; job = this.#jobs.next()) {
      const { onDone, onFailed } = job;
      try {
        if (job.askers.every(({ response }) => response.destroyed)) this.#end(job, () => onFailed(clientGone()));
        else {
          while (!this.#step(job)) if (performance.now() >= untilMs) return;
          const body = bodyOf(job);
          this.#kept.set(nameOf(job.page), { version: job.version, body });
          this.#end(job, () => onDone(body));
        }
      } catch (error) {
        this.#end(job, () => onFailed(error));
      }
      if (performance.now() >= untilMs) return;
    }
  }

  /** Renders some entries. Returns whether the page is complete. */
  #step(job: Job): boolean {
    const { channel, form, limit, fromMs = Number.NEGATIVE_INFINITY, etypes } = job.page;
    const wanted = etypes === undefined ? Math.min(STEP, limit - job.entries) : STEP;
    const entries = this.#options.read(channel, { limit: wanted, beforeMs: job.beforeMs });
    const face = this.#feed.face(channel);
    // A reload has removed the channel meanwhile.
    if (face === undefined) throw notFound();
    job.lookedThrough += entries.length;
    if (etypes !== undefined && job.lookedThrough > MAX_LOOKED_THROUGH) throw tooLong();
    for (const entry of entries) {
      if (entry.fromMs < fromMs || job.entries === limit) return true;
      if (etypes !== undefined && !isInRanges(etypes, entry.record.etype)) continue;
      const line = HISTORY_FORMS[form].line(entry, face);
      const piece = Buffer.from(job.entries === 0 ? line : HISTORY_FORMS[form].separator + line);
      if (job.entries > 0 && job.bytes + piece.length > this.#options.pageBytes) return true;
      add(job, piece);
      job.entries++;
    }
    // Checked early, so that no whole page is rendered in vain.
    const weight = FORMS * job.bytes;
    if (!job.askers.some(({ origin }) => this.#inFlight.fits(weight, origin))) throw tooMany();
    job.beforeMs = entries.at(-1)?.fromMs;
    return entries.length < wanted || job.entries === limit;
  }

  #end(job: Job, settle: () => void): void {
    this.#jobs.remove(job);
    this.#waiting.add(job.origin, -1);
    settle();
  }
}

function nameOf({ channel, form, limit, fromMs, beforeMs, etypes, hasBom }: HistoryRequest): string {
  const types = etypes?.map(({ from, to }) => `${from}-${to}`).join();
  return `${channel} ${form} ${limit} ${fromMs} ${beforeMs} ${types} ${hasBom}`;
}

function makeJob(name: string, page: HistoryRequest, version: number, asker: HistoryReader): Job {
  // Both are set before the constructor of the promise returns.
  let onDone!: Job['onDone'];
  let onFailed!: Job['onFailed'];
  const body = new Promise<CompressibleBody>((resolve, reject) => {
    onDone = resolve;
    onFailed = reject;
  });
  const tag = new PiecewiseTag();
  const { beforeMs } = page;
  const { origin } = asker;
  const job: Job = {
    name,
    page,
    version,
    origin,
    tag,
    body,
    beforeMs,
    onDone,
    onFailed,
    pieces: [],
    bytes: 0,
    entries: 0,
    lookedThrough: 0,
    askers: [asker],
  };
  return job;
}

/** Hashes piece by piece: a large page at once would take too long. */
function add(job: Job, piece: Buffer): void {
  job.pieces.push(piece);
  job.tag.add(piece);
  job.bytes += piece.length;
}

function bodyOf(job: Job): CompressibleBody {
  add(job, Buffer.from(HISTORY_FORMS[job.page.form].close));
  return new CompressibleBody(Buffer.concat(job.pieces), job.tag.tag);
}

function tooMany(): Refusal {
  return retryLater('unavailable', 'Too many requests for pages of history.', 1);
}

function tooLong(): Refusal {
  const message = `must be later: more than ${MAX_LOOKED_THROUGH} titles would have to be searched`;
  return new Refusal('invalid', 'Invalid fields: from', { errors: [{ field: 'from', message }] });
}
