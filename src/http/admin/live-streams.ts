/**
 * Live streams by server-sent events: the channels (a snapshot, then those that have changed, about once a second) and the lines of the log. All
 * streams share one check a second; without streams there is none. A stream that is not read is cut. There are at most `maxStreams`; past that the
 * user with the most loses one. A stream ends when the rights or secrets of its user change; clients reconnect.
 */

import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { ChannelReport } from '../../admin/channel-rows.js';
import type { LogLine } from '../../admin/rows.js';
import { clientGone, retryLater } from '../../base/refusal.js';
import { ADMIN_HEADERS, type AdminUser } from './admin-access.js';
import { LOG } from './bodies.js';
import type { AdminParts } from './parts.js';
import type { AdminRoutes } from './routes.js';

const EVERY_MS = 1000;
/** Maximum of unread bytes from earlier checks in a connection. A single check may exceed it, since it is written at once. */
const MAX_WAITING_BYTES = 1_048_576;
/** Maximum size of the newest lines, which a new reader gets at once. */
const MAX_KNOWN_BYTES = 524_288;
/** How much later than others a process may report its lines; one that hangs for longer is ended. */
const LATE_MS = 5000;
/** An ended stream is cut if its client takes no byte for this time. */
const MAX_ENDING_MS = 2000;
/** After this many checks without news an event shows that the stream is alive: pages cannot see comments. */
const SILENT_CHECKS = 20;
const HEADERS = { ...ADMIN_HEADERS, 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' };
const ALIVE = eventText('alive', {});

interface LiveStream {
  readonly response: ServerResponse;
  readonly user: string;
  readonly login: AdminUser['login'];
  /** The result of AdminAccess.standing when the stream began. */
  readonly standing: string | null;
  /** Bytes of its first message, which do not count as unread. */
  readonly firstBytes: number;
  silentChecks: number;
}

type Who = Pick<AdminUser, 'name' | 'login'>;
type LiveParts = Pick<AdminParts, 'access' | 'channels' | 'queries' | 'maxStreams'>;

export class LiveStreams {
  readonly #parts: LiveParts;
  readonly #events = new Set<LiveStream>();
  readonly #logs = new Set<LiveStream>();
  /** Channel → its JSON as last sent. */
  #sent = new Map<string, string>();
  /** Process → the time of its last line that was sent. */
  readonly #lineMs = new Map<number, number>();
  /** The latest of all. */
  #lastLineMs = 0;
  #timer: NodeJS.Timeout | null = null;
  #isChecking = false;

  constructor(parts: LiveParts) {
    this.#parts = parts;
  }

  get count(): number {
    return this.#events.size + this.#logs.size;
  }

  async events(reply: FastifyReply, who: Who): Promise<void> {
    const { name: user, login } = who;
    this.#checkRoom(user);
    const standing = this.#parts.access.standing(who);
    const all = await this.#parts.channels();
    checkIsThere(reply);
    this.#makeRoom(user);
    if (this.#events.size === 0) this.#sent = new Map(all.map((each) => [each.channel, JSON.stringify(each)]));
    this.#open(reply, this.#events, { user, login, standing }, eventText('snapshot', { channels: all }));
  }

  async log(reply: FastifyReply, who: Who, lines: number): Promise<void> {
    const { name: user, login } = who;
    this.#checkRoom(user);
    const standing = this.#parts.access.standing(who);
    const all = await this.#lines(0);
    checkIsThere(reply);
    this.#makeRoom(user);
    if (this.#logs.size === 0) this.#takeNews(all);
    const known = all.filter(({ process, atMs }) => atMs <= (this.#lineMs.get(process) ?? 0));
    this.#open(reply, this.#logs, { user, login, standing }, newest(lines === 0 ? [] : known.slice(-lines)));
  }

  /** Ends streams of users whose rights, secrets or login have changed. */
  refresh(): void {
    for (const stream of this.#all()) {
      const { user: name, login } = stream;
      if (this.#parts.access.standing({ name, login }) !== stream.standing) this.#end(stream);
    }
  }

  /** Ends all. Idempotent. */
  close(): void {
    for (const stream of this.#all()) this.#end(stream);
  }

  #all(): LiveStream[] {
    return [...this.#events, ...this.#logs];
  }

  /** @throws Refusal unavailable */
  #checkRoom(user: string): void {
    if (this.count < this.#parts.maxStreams() || this.#surplusFor(user) !== null) return;
    throw retryLater('unavailable', 'Too many live streams.', 10);
  }

  #makeRoom(user: string): void {
    this.#checkRoom(user);
    if (this.count < this.#parts.maxStreams()) return;
    this.#end(this.#surplusFor(user)!);
  }

  /** Removes it first, since nothing may be written after the end. */
  #end(stream: LiveStream): void {
    for (const all of [this.#events, this.#logs]) all.delete(stream);
    stream.response.socket?.setTimeout(MAX_ENDING_MS);
    stream.response.end();
  }

  /** The oldest stream of the user with the most, if this user would have fewer even with a new one; null: none. */
  #surplusFor(user: string): LiveStream | null {
    const streams = this.#all();
    const countOf = (name: string) => streams.filter((stream) => stream.user === name).length;
    const most = Math.max(0, ...streams.map((stream) => countOf(stream.user)));
    if (countOf(user) + 1 >= most) return null;
    return streams.find((stream) => countOf(stream.user) === most) ?? null;
  }

  #open(
    reply: FastifyReply,
    all: Set<LiveStream>,
    who: Pick<LiveStream, 'user' | 'login' | 'standing'>,
    first: string,
  ): void {
    reply.hijack();
    const response = reply.raw;
    const stream: LiveStream = { response, ...who, firstBytes: Buffer.byteLength(first), silentChecks: 0 };
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
    this.#timer ??= setInterval(() => void this.#check().catch(() => undefined), EVERY_MS).unref();
    // The user's rights may have changed meanwhile.
    this.refresh();
  }

  async #check(): Promise<void> {
    if (this.#isChecking) return;
    // A login may have expired or been ended.
    this.refresh();
    this.#isChecking = true;
    try {
      if (this.#events.size > 0) this.#sendChanges(await this.#parts.channels());
      if (this.#logs.size > 0) this.#sendLines(await this.#lines(this.#lastLineMs - LATE_MS));
    } finally {
      this.#isChecking = false;
    }
    for (const stream of this.#all()) {
      if (++stream.silentChecks < SILENT_CHECKS) continue;
      stream.silentChecks = 0;
      stream.response.write(ALIVE);
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

  /** Lines that were not sent yet; those of a slow process may be older than lines sent before. @param lines oldest first */
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
  const events =
    'Events `snapshot` ({channels}), then `change` ({channels, gone}) about once a second if something changed; `alive` after 20 seconds without an event.';
  routes.read(
    { url: '/admin/api/events', events },
    { id: 'adminEvents', summary: 'The channels, live' },
    async (request, _, reply) => {
      if (request.method === 'HEAD') await reply.headers(HEADERS).send();
      else await live.events(reply, routes.userOf(request));
    },
  );
  const lines = 'Events `line`: {atMs, process, line}; `alive` after 20 seconds without an event.';
  routes.read(
    { url: '/admin/api/log', query: LOG, events: lines },
    { id: 'adminLog', summary: "The log's lines, live" },
    async (request, { lines }, reply) => {
      if (request.method === 'HEAD') await reply.headers(HEADERS).send();
      else await live.log(reply, routes.userOf(request), lines);
    },
  );
}

/** A closed response no longer emits 'close', so its stream would never end. @throws Refusal unavailable */
function checkIsThere({ raw }: FastifyReply): void {
  if (raw.destroyed) throw clientGone();
}

/** Sends the same bytes to all; cuts those that do not read. */
function send(streams: Iterable<LiveStream>, text: string): void {
  const bytes = Buffer.from(text);
  for (const stream of streams) {
    stream.silentChecks = 0;
    if (stream.response.writableLength > stream.firstBytes + MAX_WAITING_BYTES) stream.response.destroy();
    else stream.response.write(bytes);
  }
}

function eventText(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** The newest lines up to MAX_KNOWN_BYTES, in their order. */
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
