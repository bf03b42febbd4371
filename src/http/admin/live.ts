/**
 * Live streams by server-sent events: the channels (a snapshot, then those that have changed, about once a second) and the log's lines. One look a
 * second for all who watch, none while nobody does. Bounded: a stream that is not read is cut, and there are at most `streams` of them; where that is
 * not enough for all, the user with the most gives one up. A stream ends when its user's rights or secrets change: who may still look comes again.
 */

import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { ChannelReport, LogLine } from '../../admin/admin-reports.js';
import { retryLater } from '../../base/refusal.js';
import { ADMIN_HEADERS } from './access.js';
import { LOG, parametersOf } from './bodies.js';
import type { AdminParts } from './parts.js';
import type { AdminRoutes } from './routes.js';

const EVERY_MS = 1000;
/** What may wait in a connection of earlier looks: what comes in one look waits all together, however well it is read. */
const MAX_WAITING_BYTES = 1_048_576;
/** Of lines that a new reader is sent at once: the newest. */
const MAX_KNOWN_BYTES = 524_288;
/** How much later than others a process may say its lines: one that hangs for longer is ended. */
const LATE_MS = 5000;
/** Of what still waits for a reader when its stream ends: without a byte taken for as long it is cut. */
const MAX_ENDING_MS = 2000;
/** A comment after this many looks without news. */
const SILENT_LOOKS = 20;
const HEADERS = { ...ADMIN_HEADERS, 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' };

interface LiveStream {
  readonly response: ServerResponse;
  readonly user: string;
  /** As AdminAccess.standing has it. */
  readonly standing: string | null;
  /** Bytes that it is sent at the beginning, however many. */
  readonly firstBytes: number;
  silentLooks: number;
}

type LiveParts = Pick<AdminParts, 'access' | 'channels' | 'queries' | 'mostStreams'>;

export class LiveStreams {
  readonly #parts: LiveParts;
  readonly #events = new Set<LiveStream>();
  readonly #logs = new Set<LiveStream>();
  /** Of each channel as it was sent last. */
  #sent = new Map<string, string>();
  /** Process → when its last line was logged that was sent; and of all of them. */
  readonly #lineMs = new Map<number, number>();
  #lastLineMs = 0;
  #timer: NodeJS.Timeout | null = null;
  #isLooking = false;

  constructor(parts: LiveParts) {
    this.#parts = parts;
  }

  get count(): number {
    return this.#events.size + this.#logs.size;
  }

  async events(reply: FastifyReply, user: string): Promise<void> {
    this.#checkRoom(user);
    const standing = this.#parts.access.standing(user);
    const all = await this.#parts.channels();
    this.#makeRoom(user);
    if (this.#events.size === 0) this.#sent = new Map(all.map((each) => [each.channel, JSON.stringify(each)]));
    this.#open(reply, this.#events, { user, standing }, eventText('snapshot', { channels: all }));
  }

  async log(reply: FastifyReply, user: string, lines: number): Promise<void> {
    this.#checkRoom(user);
    const standing = this.#parts.access.standing(user);
    const all = await this.#lines(0);
    this.#makeRoom(user);
    if (this.#logs.size === 0) this.#takeNews(all);
    const known = all.filter(({ process, atMs }) => atMs <= (this.#lineMs.get(process) ?? 0));
    this.#open(reply, this.#logs, { user, standing }, newest(lines === 0 ? [] : known.slice(-lines)));
  }

  /** Users, or what they may, have changed: streams of those that are concerned end. */
  refresh(): void {
    for (const stream of this.#all()) {
      if (this.#parts.access.standing(stream.user) !== stream.standing) this.#end(stream);
    }
  }

  /** Ends all. Idempotent. */
  close(): void {
    for (const stream of this.#all()) this.#end(stream);
  }

  #all(): LiveStream[] {
    return [...this.#events, ...this.#logs];
  }

  /** Throws a Refusal. */
  #checkRoom(user: string): void {
    if (this.count < this.#parts.mostStreams() || this.#surplusFor(user) !== null) return;
    throw retryLater('unavailable', 'Too many live streams.', 10);
  }

  #makeRoom(user: string): void {
    this.#checkRoom(user);
    if (this.count < this.#parts.mostStreams()) return;
    this.#end(this.#surplusFor(user)!);
  }

  /** Nothing may be written behind the end, and who does not read it keeps no connection. */
  #end(stream: LiveStream): void {
    for (const all of [this.#events, this.#logs]) all.delete(stream);
    stream.response.socket?.setTimeout(MAX_ENDING_MS);
    stream.response.end();
  }

  /** The oldest stream of who has the most, where this user would not have more than that afterwards; null: there is none. */
  #surplusFor(user: string): LiveStream | null {
    const streams = this.#all();
    const countOf = (name: string) => streams.filter((stream) => stream.user === name).length;
    const most = Math.max(0, ...streams.map((stream) => countOf(stream.user)));
    if (countOf(user) + 1 >= most) return null;
    return streams.find((stream) => countOf(stream.user) === most) ?? null;
  }

  /** @param first what it is sent at once: it has not had the time to read it */
  #open(reply: FastifyReply, all: Set<LiveStream>, who: Pick<LiveStream, 'user' | 'standing'>, first: string): void {
    reply.hijack();
    const response = reply.raw;
    const stream: LiveStream = { response, ...who, firstBytes: Buffer.byteLength(first), silentLooks: 0 };
    response.writeHead(200, HEADERS);
    response.socket?.setTimeout(0);
    response.write(`retry: 3000\n\n${first}`);
    all.add(stream);
    response.on('close', () => {
      all.delete(stream);
      if (this.count > 0 || this.#timer === null) return;
      clearInterval(this.#timer);
      this.#timer = null;
    });
    this.#timer ??= setInterval(() => void this.#look().catch(() => undefined), EVERY_MS).unref();
    // What the user may can have changed while this was gathered.
    this.refresh();
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      if (this.#events.size > 0) this.#sendChanges(await this.#parts.channels());
      if (this.#logs.size > 0) this.#sendLines(await this.#lines(this.#lastLineMs - LATE_MS));
    } finally {
      this.#isLooking = false;
    }
    for (const stream of this.#all()) {
      if (++stream.silentLooks < SILENT_LOOKS) continue;
      stream.silentLooks = 0;
      stream.response.write(':\n\n');
    }
  }

  #sendChanges(all: readonly ChannelReport[]): void {
    const changed = all.filter((each) => this.#sent.get(each.channel) !== JSON.stringify(each));
    const known = new Set(all.map(({ channel }) => channel));
    const gone = [...this.#sent.keys()].filter((channel) => !known.has(channel));
    if (changed.length + gone.length === 0) return;
    this.#sent = new Map(all.map((each) => [each.channel, JSON.stringify(each)]));
    send(this.#events, eventText('change', { channels: changed, gone }));
  }

  #sendLines(lines: readonly LogLine[]): void {
    const news = this.#takeNews(lines);
    if (news.length > 0) send(this.#logs, news.map((line) => eventText('line', line)).join(''));
  }

  /** Those that were not sent yet: a process that was late says them when others have gone on. @param lines oldest first */
  #takeNews(lines: readonly LogLine[]): LogLine[] {
    const news = lines.filter(({ process, atMs }) => atMs > (this.#lineMs.get(process) ?? 0));
    for (const { process, atMs } of news) this.#lineMs.set(process, atMs);
    this.#lastLineMs = Math.max(this.#lastLineMs, news.at(-1)?.atMs ?? 0);
    return news;
  }

  async #lines(afterMs: number): Promise<LogLine[]> {
    return (await this.#parts.queries.all('log', { afterMs })).flat().sort((a, b) => a.atMs - b.atMs);
  }
}

export function registerLive(routes: AdminRoutes, live: LiveStreams): void {
  routes.read('/admin/api/events', async (request, reply) => {
    if (request.method === 'HEAD') await reply.headers(HEADERS).send();
    else await live.events(reply, routes.userOf(request).name);
  });
  routes.read('/admin/api/log', async (request, reply) => {
    const { lines } = parametersOf(LOG, request);
    if (request.method === 'HEAD') await reply.headers(HEADERS).send();
    else await live.log(reply, routes.userOf(request).name, lines);
  });
}

/** The same bytes to all. */
function send(streams: Iterable<LiveStream>, text: string): void {
  const bytes = Buffer.from(text);
  for (const stream of streams) {
    stream.silentLooks = 0;
    if (stream.response.writableLength > stream.firstBytes + MAX_WAITING_BYTES) stream.response.destroy();
    else stream.response.write(bytes);
  }
}

function eventText(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** The newest lines, in their order, as far as a new reader is sent them. */
function newest(lines: readonly LogLine[]): string {
  const texts: string[] = [];
  let bytes = 0;
  for (const line of [...lines].reverse()) {
    const text = eventText('line', line);
    bytes += Buffer.byteLength(text);
    if (bytes > MAX_KNOWN_BYTES) break;
    texts.push(text);
  }
  return texts.reverse().join('');
}
