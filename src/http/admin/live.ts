/**
 * Live streams by server-sent events: the channels (a snapshot, then those that have changed, about once a second) and the log's lines. One look a second for
 * all who watch, none while nobody does. Bounded: a stream that is not read is cut, and there are at most `streams` of them.
 */

import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { retryLater } from '../../base/refusal.js';
import type { ChannelReport, LogLine } from '../../link/admin-reports.js';
import { ADMIN_HEADERS } from './access.js';
import { LOG, parametersOf } from './bodies.js';
import type { AdminParts } from './parts.js';
import type { AdminRoutes } from './routes.js';

const EVERY_MS = 1000;
/** What may wait in a connection. */
const MOST_WAITING_BYTES = 1_048_576;
/** A comment after this many looks without news. */
const SILENT_LOOKS = 20;
const HEADERS = { ...ADMIN_HEADERS, 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' };

interface LiveStream {
  readonly response: ServerResponse;
  silentLooks: number;
}

export class LiveStreams {
  readonly #parts: Pick<AdminParts, 'channels' | 'queries' | 'mostStreams'>;
  readonly #events = new Set<LiveStream>();
  readonly #logs = new Set<LiveStream>();
  /** Of each channel as it was sent last. */
  #sent = new Map<string, string>();
  #logAfterMs = 0;
  #timer: NodeJS.Timeout | null = null;
  #isLooking = false;

  constructor(parts: Pick<AdminParts, 'channels' | 'queries' | 'mostStreams'>) {
    this.#parts = parts;
  }

  get count(): number {
    return this.#events.size + this.#logs.size;
  }

  async events(reply: FastifyReply): Promise<void> {
    this.#checkRoom();
    const all = await this.#parts.channels();
    this.#checkRoom();
    if (this.#events.size === 0) this.#sent = new Map(all.map((each) => [each.channel, JSON.stringify(each)]));
    const stream = this.#open(reply, this.#events);
    send(stream, 'snapshot', { channels: all });
  }

  async log(reply: FastifyReply, lines: number): Promise<void> {
    this.#checkRoom();
    const all = await this.#lines(0);
    this.#checkRoom();
    if (this.#logs.size === 0) this.#logAfterMs = all.at(-1)?.atMs ?? 0;
    const stream = this.#open(reply, this.#logs);
    const known = all.filter(({ atMs }) => atMs <= this.#logAfterMs);
    for (const line of lines === 0 ? [] : known.slice(-lines)) send(stream, 'line', line);
  }

  /** Ends all. Idempotent. */
  close(): void {
    for (const { response } of [...this.#events, ...this.#logs]) response.end();
  }

  #checkRoom(): void {
    if (this.count >= this.#parts.mostStreams()) throw retryLater('unavailable', 'Too many live streams.', 10);
  }

  #open(reply: FastifyReply, all: Set<LiveStream>): LiveStream {
    reply.hijack();
    const response = reply.raw;
    const stream = { response, silentLooks: 0 };
    response.writeHead(200, HEADERS);
    response.socket?.setTimeout(0);
    response.write('retry: 3000\n\n');
    all.add(stream);
    response.on('close', () => {
      all.delete(stream);
      if (this.count > 0 || this.#timer === null) return;
      clearInterval(this.#timer);
      this.#timer = null;
    });
    this.#timer ??= setInterval(() => void this.#look().catch(() => undefined), EVERY_MS).unref();
    return stream;
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      if (this.#events.size > 0) this.#sendChanges(await this.#parts.channels());
      if (this.#logs.size > 0) this.#sendLines(await this.#lines(this.#logAfterMs));
    } finally {
      this.#isLooking = false;
    }
    for (const stream of [...this.#events, ...this.#logs]) {
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
    for (const stream of this.#events) send(stream, 'change', { channels: changed, gone });
  }

  #sendLines(lines: readonly LogLine[]): void {
    this.#logAfterMs = lines.at(-1)?.atMs ?? this.#logAfterMs;
    for (const stream of this.#logs) for (const line of lines) send(stream, 'line', line);
  }

  async #lines(afterMs: number): Promise<LogLine[]> {
    return (await this.#parts.queries.all('log', { afterMs })).flat().sort((a, b) => a.atMs - b.atMs);
  }
}

export function registerLive(routes: AdminRoutes, live: LiveStreams): void {
  routes.read('/admin/api/events', async ({ method }, reply) => {
    if (method === 'HEAD') await reply.headers(HEADERS).send();
    else await live.events(reply);
  });
  routes.read('/admin/api/log', async (request, reply) => {
    const { lines } = parametersOf(LOG, request);
    if (request.method === 'HEAD') await reply.headers(HEADERS).send();
    else await live.log(reply, lines);
  });
}

function send(stream: LiveStream, event: string, data: unknown): void {
  const { response } = stream;
  stream.silentLooks = 0;
  if (response.writableLength > MOST_WAITING_BYTES) response.destroy();
  else response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}
