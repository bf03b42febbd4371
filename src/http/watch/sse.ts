/**
 * Watching by server-sent events, for clients without WebSocket: the same three scopes, first messages and changes.
 *
 *   /metadata/sse/channel/{key}   /metadata/sse/station/{key}   /metadata/sse/listener/{metaid}[?sync=wire]
 *
 * A client that reconnects names the last messages that it saw by `Last-Event-ID`, or by `?lastEventId=` if a page makes a new EventSource: in
 * channel and station scope an id of feed/seen.ts, in listener scope `sync.now.next`, with the ids of the last messages of its session.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Sync } from '../../feed/feed.js';
import type { Exchange, HttpService } from '../http-service.js';
import { asRefusal, sendProblem } from '../problem.js';
import { READ_CORS, READ_PREFLIGHT, readOnly, readSync, readTarget } from '../reads.js';
import { beginEvents, EventStream, headOfEvents, type IdFor } from './event-stream.js';
import type { ListenerSeen, Watchers, WatchOptions } from './watchers.js';

const PREFIX = '/metadata/sse/';

export class Sse implements HttpService {
  readonly role = 'watch';
  readonly #watchers: Watchers;
  readonly #onError: WatchOptions['onError'];

  constructor(watchers: Watchers, onError: WatchOptions['onError']) {
    this.#watchers = watchers;
    this.#onError = onError;
  }

  takes(path: string): boolean {
    return path.startsWith(PREFIX);
  }

  handle({ request, response, pipeline }: Exchange): void {
    try {
      if (request.method === 'OPTIONS') response.writeHead(204, READ_PREFLIGHT).end();
      else this.#watch(request, response, () => pipeline.ignoreRest());
    } catch (error) {
      if (response.headersSent) {
        this.#onError(error);
        response.destroy();
      } else sendProblem(response, asRefusal(error, this.#onError), READ_CORS);
    }
  }

  /** @param onOpen called when the endless answer has begun */
  #watch(request: IncomingMessage, response: ServerResponse, onOpen: () => void): void {
    const target = readTarget(`/metadata/${request.url!.slice(PREFIX.length)}`, false);
    if (request.method !== 'GET' && request.method !== 'HEAD') throw readOnly();
    const sync = readSync(target.query);
    this.#watchers.checkExists(target);
    if (request.method === 'HEAD') {
      headOfEvents(response);
      return;
    }
    const address = this.#watchers.originOf(request);
    this.#watchers.checkRoom(address);
    const seen = lastEventId(request) ?? target.query.get('lastEventId') ?? undefined;
    const seenOfListener = readListenerId(seen, sync);
    const ids = target.scope === 'listener' ? listenerIds(sync, seenOfListener) : null;
    const socket = beginEvents(response);
    const transport = new EventStream(response, socket, ids);
    const { reader, onGone } = this.#watchers.open(transport, address, { target, sync, seen, seenOfListener });
    socket.on('drain', () => reader.flush());
    response.on('close', onGone);
    onOpen();
  }
}

/** The ids of one connection, each with the ids of its last now and next. */
function listenerIds(sync: Sync, seen: ListenerSeen): IdFor {
  let { now, next } = seen;
  return (message) => {
    if (message.slot === 'now') now = message.id;
    else next = message.id;
    return `${sync}.${now}.${next}`;
  };
}

/** Ids of the other `sync` are ignored: they do not name messages sent with this one. */
function readListenerId(id: string | undefined, sync: Sync): ListenerSeen {
  const [timing, now, next] = (id ?? '').split('.');
  const read = timing === sync && id!.length <= 256 && !/[^\w.~-]/.test(id!);
  return read ? { now: now ?? '', next: next ?? '' } : { now: '', next: '' };
}

function lastEventId(request: IncomingMessage): string | undefined {
  return request.headers['last-event-id'] as string | undefined;
}
