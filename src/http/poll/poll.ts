/**
 * Polls: the last records as JSON or text, rendered once and served from memory (src/http/README.md, "Reading").
 *
 *   /metadata/channel/{key}.json|.txt    /metadata/station/{key}.json    /metadata/listener/{metaid}.json
 *   /metadata/channel/{key}/history.json|.csv|.rss    (history-request.ts; read from the store)
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Refusal } from '../../base/refusal.js';
import type { Feed } from '../../feed/feed.js';
import type { ReadableSession, SessionDirectory } from '../../listener/sessions/readable-session.js';
import { contentTag } from '../../metadata/etag.js';
import type { Proxies } from '../../net/front/client-address.js';
import { CompressibleBody, sendCompressed } from '../compression.js';
import type { Exchange, HttpService } from '../http-service.js';
import { asRefusal, sendProblem } from '../problem.js';
import {
  isWatchPath,
  JSON_TYPE,
  matchesTag,
  notFound,
  READ_CORS,
  READ_PREFLIGHT,
  type ReadTarget,
  readOnly,
  readSync,
  readTarget,
  readTypes,
  SHARED,
  STATIONS_PATH,
} from '../reads.js';
import { headersOf, type PlainAnswer, recordAnswer } from './answer.js';
import { type HistoryOptions, HistoryPages } from './history-pages.js';
import { type HistoryTarget, historyHeaders, readHistoryPage, readHistoryTarget } from './history-request.js';

/** The path of players' reports (http/heard-route.ts). */
const HEARD = /^\/metadata\/listener\/[^/]+\/heard$/;
const PRIVATE = 'private, no-cache';

/** A body that may be compressed, with an ETag for each coding. */
interface CompressedAnswer {
  readonly body: CompressibleBody;
  readonly type: string;
  readonly cache: string;
}

type ReadAnswer = PlainAnswer | CompressedAnswer;

export interface PollOptions {
  readonly history: HistoryOptions;
  readonly proxies: Proxies;
  /** Gets the error that caused a 500. */
  onError(error: unknown): void;
}

export class Poll implements HttpService {
  readonly role = 'poll';
  /** For addresses without polls: a plain request for a WebSocket's path gets 426 there too. */
  readonly unwatched: HttpService = { role: 'watch', takes: isWatchPath, handle: (exchange) => this.handle(exchange) };
  readonly #feed: Feed;
  readonly #sessions: SessionDirectory;
  readonly #history: HistoryPages;
  readonly #options: PollOptions;
  /** Station and types → the last rendering, and the number of changes that it includes. */
  readonly #stations = new Map<string, { readonly changes: number; readonly body: CompressibleBody }>();

  constructor(feed: Feed, sessions: SessionDirectory, options: PollOptions) {
    this.#feed = feed;
    this.#sessions = sessions;
    this.#history = new HistoryPages(feed, options.history);
    this.#options = options;
  }

  takes(path: string): boolean {
    return path.startsWith('/metadata/') && !HEARD.test(path) && path !== STATIONS_PATH;
  }

  handle({ request, response }: Pick<Exchange, 'request' | 'response'>): void {
    try {
      const method = request.method;
      if (method === 'OPTIONS') {
        response.writeHead(204, READ_PREFLIGHT).end();
        return;
      }
      const target = readHistoryTarget(request.url!) ?? readTarget(request.url!, true);
      if (method !== 'GET' && method !== 'HEAD') throw readOnly();
      if (!('scope' in target)) void this.#sendHistory(request, response, target);
      else {
        const answer = this.#answer(target);
        if (answer instanceof Promise) void this.#sendLater(request, response, answer);
        else this.#send(request, response, answer);
      }
    } catch (error) {
      this.#refuse(response, error);
    }
  }

  #refuse(response: ServerResponse, error: unknown): void {
    sendProblem(response, asRefusal(error, this.#options.onError), READ_CORS);
  }

  /** A promise if the session is in another process. */
  #answer(target: ReadTarget): ReadAnswer | Promise<ReadAnswer> {
    if (target.form === null) {
      if (target.scope !== 'listener') this.#checkExists(target);
      throw new Refusal('upgrade-required', 'Connect by WebSocket, or append .json to poll.', {
        headers: { Upgrade: 'websocket', Connection: 'Upgrade' },
      });
    }
    if (target.form === 'txt' && target.scope !== 'channel') throw notFound('Text is available for channels only.');
    if (target.scope === 'channel') return this.#channel(target);
    return target.scope === 'station' ? this.#station(target) : this.#listener(target);
  }

  #channel(target: ReadTarget): ReadAnswer {
    this.#checkExists(target);
    const [type] = readTypes(target.query, false);
    return recordAnswer(this.#feed.last(target.id, type!) ?? null, target.form!);
  }

  #station(target: ReadTarget): ReadAnswer {
    this.#checkExists(target);
    const types = readTypes(target.query, true);
    const key = `${target.id} ${types.join()}`;
    const changes = this.#feed.changesOfStation(target.id);
    let kept = this.#stations.get(key);
    if (kept?.changes !== changes) {
      const views = this.#feed.lastOfStation(target.id, types);
      kept = { changes, body: new CompressibleBody(`[${views.map((view) => view.json).join(',')}]`) };
      this.#stations.set(key, kept);
    }
    return { body: kept.body, type: JSON_TYPE, cache: SHARED };
  }

  #listener(target: ReadTarget): ReadAnswer | Promise<ReadAnswer> {
    const session = this.#sessions.get(target.id);
    return session instanceof Promise
      ? session.then((found) => this.#listenerAnswer(found, target))
      : this.#listenerAnswer(session, target);
  }

  #listenerAnswer(session: ReadableSession | undefined, target: ReadTarget): ReadAnswer {
    if (session === undefined) throw notFound('No listener has played with this metaid recently.');
    const [type] = readTypes(target.query, false);
    const sync = readSync(target.query);
    const next = type === 'next' ? this.#feed.last(session.channel, 'next') : undefined;
    const message = type === 'next' ? next && session.nextMessage(next) : session.now(sync);
    const body = message?.json ?? null;
    return { body, type: JSON_TYPE, etag: body === null ? '' : tagOf(body), cache: PRIVATE };
  }

  async #sendLater(request: IncomingMessage, response: ServerResponse, answer: Promise<ReadAnswer>): Promise<void> {
    try {
      this.#send(request, response, await answer);
    } catch (error) {
      this.#refuse(response, error);
    }
  }

  async #sendHistory(request: IncomingMessage, response: ServerResponse, target: HistoryTarget): Promise<void> {
    try {
      if (this.#feed.face(target.channel) === undefined) throw notFound('There is no channel with this key.');
      const page = readHistoryPage(target, this.#options.history.entries);
      const body = await this.#history.of(page, { origin: this.#options.proxies.originOf(request), response });
      const headers = { ...READ_CORS, ...historyHeaders(target), 'Cache-Control': SHARED };
      await sendCompressed(request, response, body, headers);
    } catch (error) {
      this.#refuse(response, error);
    }
  }

  #checkExists(target: ReadTarget): void {
    const known =
      target.scope === 'channel' ? this.#feed.face(target.id) !== undefined : this.#feed.hasStation(target.id);
    if (!known) throw notFound(`There is no ${target.scope} with this key.`);
  }

  #send(request: IncomingMessage, response: ServerResponse, answer: ReadAnswer): void {
    if (!('etag' in answer)) {
      const headers = { ...READ_CORS, 'Content-Type': answer.type, 'Cache-Control': answer.cache };
      sendCompressed(request, response, answer.body, headers).catch((error) => this.#refuse(response, error));
    } else if (answer.body === null) response.writeHead(204, headersOf(answer, 204)).end();
    else if (matchesTag(request.headers['if-none-match'], answer.etag))
      response.writeHead(304, headersOf(answer, 304)).end();
    else response.writeHead(200, headersOf(answer, 200)).end(answer.body);
  }
}

function tagOf(body: string): string {
  return `"${contentTag(body)}"`;
}
