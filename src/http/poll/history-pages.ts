/**
 * Pages of history, rendered once for all that ask: kept while the channel says nothing new, up to a number of bytes in all. What is not kept
 * is rendered a little at a time, one page after the other, and never for more than a small part of the time. Pages that are asked for
 * faster than that wait in a short queue, of which an address has a few places, past which they are refused.
 *
 *   asked for ─► kept? ─► else: waits ─► rendered, some entries a step ─► kept ─► in flight until its answers are taken
 *
 * Invariant: a page is never older than the last committed change, none is rendered that no client waits for, and of those that are being
 * rendered only the first has anything yet. Owned by Poll.
 */

import type { ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import { Refusal, retryLater } from '../../base/refusal.js';
import { Tallies } from '../../base/tallies.js';
import type { Tally } from '../../base/tally.js';
import type { Feed } from '../../feed/feed.js';
import { PiecewiseTag } from '../../metadata/etag.js';
import { HISTORY_FORMS } from '../../now-playing/history.js';
import type { HistoryEntry } from '../../now-playing/state.js';
import { CompressibleBody } from '../compression.js';
import type { HistoryRequest } from './history.js';
import { FORMS, InFlight, weightOf } from './in-flight.js';

/** How long rendering goes on at a time … */
const SLICE_MS = 2;
/** … and rests this many times as long as it took: a seventh of the time is for history, however much of it is asked for. */
const REST = 6;
/** Entries that are read and rendered between two looks at the time; the largest that can be pushed take 0.2 ms each. */
const STEP = 8;
/** Entries grow too old without a change that says so. */
const FRESH_MS = 10_000;

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
  /** Of one answer: it ends before the entry that would be too much, unless that is its first. */
  readonly pageBytes: number;
  readonly cacheBytes: number;
  /** Pages that wait to be rendered. */
  readonly waiting: number;
  readonly waitingPerAddress: number;
  /** Of pages that answers hold, with their compressed forms (in-flight.ts). */
  readonly bytesInFlight: number;
  readonly bytesInFlightPerAddress: number;
  /** With the other processes; absent: there are none. */
  readonly tallies?: Tallies;
}

/** A client that asks. */
export interface HistoryReader {
  /** What is counted for it (base/ip.ts). */
  readonly origin: string;
  readonly response: ServerResponse;
}

interface Kept {
  readonly version: number;
  readonly body: CompressibleBody;
}

interface Job {
  readonly page: HistoryRequest;
  readonly version: number;
  /** Of the first that asked. */
  readonly origin: string;
  readonly pieces: Buffer[];
  readonly tag: PiecewiseTag;
  readonly body: Promise<CompressibleBody>;
  bytes: number;
  entries: number;
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
  /** By the page's name and version, in the order in which they are rendered. */
  readonly #jobs = new Map<string, Job>();
  /** By origin, how many of the jobs. */
  readonly #waiting: Tally;
  readonly #all: Tally;
  #restsUntilMs = 0;
  /** A timer will call #render. */
  #isDue = false;

  constructor(feed: Feed, options: HistoryOptions) {
    this.#feed = feed;
    this.#options = options;
    this.#kept = new LRUCache({
      maxSize: options.cacheBytes,
      sizeCalculation: ({ body }) => weightOf(body),
      ttl: FRESH_MS,
    });
    const { bytesInFlight, bytesInFlightPerAddress, tallies = new Tallies() } = options;
    this.#inFlight = new InFlight({ bytes: bytesInFlight, bytesPerAddress: bytesInFlightPerAddress }, tallies);
    this.#waiting = tallies.tally('history pages');
    this.#all = tallies.all;
    tallies.onLook(() => this.#all.set('history pages', this.#jobs.size));
  }

  /**
   * A page of a known channel: resolves with what is to be answered, which counts as in flight from then until the response is closed.
   * Rejects with Refusal unavailable when too many pages wait or are in flight, or the response is closed; with whatever the store throws.
   */
  async of(page: HistoryRequest, asker: HistoryReader): Promise<CompressibleBody> {
    const body = this.#keptOf(page) ?? (await this.#job(page, asker).body);
    // A response that is closed already would never say so again.
    if (asker.response.destroyed) throw clientGone();
    if (!this.#inFlight.enter(body, asker.origin, asker.response)) throw tooMany();
    return body;
  }

  #keptOf(page: HistoryRequest): CompressibleBody | undefined {
    const kept = this.#kept.get(nameOf(page));
    return kept?.version === this.#options.versionOf(page.channel) ? kept.body : undefined;
  }

  /** The one that renders the page; throws Refusal where there is no room for it. */
  #job(page: HistoryRequest, asker: HistoryReader): Job {
    const { origin } = asker;
    const version = this.#options.versionOf(page.channel);
    const name = `${nameOf(page)} ${version}`;
    const known = this.#jobs.get(name);
    if (known !== undefined) {
      known.askers.push(asker);
      return known;
    }
    const { waiting, waitingPerAddress } = this.#options;
    const inAll = this.#jobs.size + this.#all.others('history pages');
    const isFull = inAll >= waiting || this.#waiting.count(origin) >= waitingPerAddress;
    if (isFull || !this.#inFlight.fits(1, origin)) throw tooMany();
    const job = makeJob(page, version, asker);
    this.#jobs.set(name, job);
    this.#waiting.add(origin, 1);
    this.#resume();
    return job;
  }

  /** Renders as soon as it has rested. */
  #resume(): void {
    if (this.#isDue) return;
    const waitMs = this.#restsUntilMs - performance.now();
    this.#isDue = waitMs > 0;
    if (this.#isDue) setTimeout(this.#render, Math.ceil(waitMs));
    else this.#render();
  }

  readonly #render = (): void => {
    this.#isDue = false;
    const startMs = performance.now();
    this.#renderUntil(startMs + SLICE_MS);
    const endMs = performance.now();
    this.#restsUntilMs = endMs + REST * (endMs - startMs);
    if (this.#jobs.size > 0) this.#resume();
  };

  #renderUntil(untilMs: number): void {
    for (const [name, job] of this.#jobs) {
      try {
        if (job.askers.every(({ response }) => response.destroyed))
          this.#end(name, job, () => job.onFailed(clientGone()));
        else {
          while (!this.#step(job)) if (performance.now() >= untilMs) return;
          const body = bodyOf(job);
          this.#kept.set(nameOf(job.page), { version: job.version, body });
          this.#end(name, job, () => job.onDone(body));
        }
      } catch (error) {
        this.#end(name, job, () => job.onFailed(error));
      }
      if (performance.now() >= untilMs) return;
    }
  }

  /** Renders some entries. True: those were the last. */
  #step(job: Job): boolean {
    const { channel, form, limit } = job.page;
    const wanted = Math.min(STEP, limit - job.entries);
    const entries = this.#options.read(channel, { limit: wanted, beforeMs: job.beforeMs });
    const face = this.#feed.face(channel)!;
    for (const entry of entries) {
      const line = HISTORY_FORMS[form].line(entry, face);
      const piece = Buffer.from(job.entries === 0 ? line : HISTORY_FORMS[form].separator + line);
      if (job.entries > 0 && job.bytes + piece.length > this.#options.pageBytes) return true;
      add(job, piece);
      job.entries++;
    }
    // Before all of it is made, and thrown away.
    const weight = FORMS * job.bytes;
    if (!job.askers.some(({ origin }) => this.#inFlight.fits(weight, origin))) throw tooMany();
    job.beforeMs = entries.at(-1)?.fromMs;
    return entries.length < wanted || job.entries === limit;
  }

  #end(name: string, job: Job, settle: () => void): void {
    this.#jobs.delete(name);
    this.#waiting.add(job.origin, -1);
    settle();
  }
}

function nameOf({ channel, form, limit, beforeMs }: HistoryRequest): string {
  return `${channel} ${form} ${limit} ${beforeMs}`;
}

function makeJob(page: HistoryRequest, version: number, asker: HistoryReader): Job {
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
    askers: [asker],
  };
  add(job, Buffer.from(HISTORY_FORMS[page.form].open));
  return job;
}

/** Each on its own, since a large page takes long to be hashed at once. */
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
  return retryLater('unavailable', 'Too many pages of history are asked for.', 1);
}

function clientGone(): Refusal {
  return new Refusal('unavailable', 'Nobody waits for this page any more.');
}
