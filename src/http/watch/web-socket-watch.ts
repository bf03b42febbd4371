/**
 * Watching by WebSocket in the three scopes: no sub-protocol, no subscribe message, one record per text frame (src/http/README.md, "Watching").
 * In listener scope the client may report by a text frame what its player plays.
 *
 *   /metadata/channel/{key}   /metadata/station/{key}   /metadata/listener/{metaid}[?sync=wire]
 *
 * Unknown channels and stations are refused before the upgrade; a metaid that does not play yet is accepted. `sse`, the other transport, shares
 * the watchers and their limits.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Clock } from '../../base/clock.js';
import type { Feed } from '../../feed/feed.js';
import { type HeardReports, REPORT_BYTES } from '../../listener/sessions/heard-reports.js';
import type { SessionDirectory } from '../../listener/sessions/readable-session.js';
import type { UpgradeService } from '../http-service.js';
import type { AddressHeaders } from '../legacy.js';
import { asRefusal, endWithProblem } from '../problem.js';
import { READ_CORS, readSync, readTarget } from '../reads.js';
import { Sse } from './sse.js';
import { Upgrader } from './upgrader.js';
import { Watchers, type WatchOptions, type WatchRequest } from './watchers.js';
import { WebSocketTransport } from './websocket.js';

export interface WebSocketOptions extends WatchOptions {
  /** Takes players' reports in listener scope; other messages are ignored. */
  readonly reports: Pick<HeardReports, 'take'>;
}

export class Watch implements UpgradeService {
  readonly role = 'watch';
  readonly sse: Sse;
  /** Shared by both transports, and by the old WebSocket. */
  readonly watchers: Watchers;
  readonly #upgrader: Upgrader;
  readonly #options: WebSocketOptions;

  constructor(feed: Feed, sessions: SessionDirectory, clock: Clock, options: WebSocketOptions) {
    this.#options = options;
    this.watchers = new Watchers(feed, sessions, clock, options);
    this.sse = new Sse(this.watchers, options.onError);
    this.#upgrader = new Upgrader(clock, {
      maxBytes: () => REPORT_BYTES,
      frames: () => options.frames,
      onError: options.onError,
    });
  }

  /** Every path: the last service in the list refuses those that cannot be watched. */
  takes(): boolean {
    return true;
  }

  upgrade(request: IncomingMessage, socket: Socket, first: Buffer, headers: AddressHeaders): void {
    socket.on('error', () => undefined);
    try {
      const target = readTarget(request.url ?? '/', false);
      const watch = { target, sync: readSync(target.query) };
      const address = this.watchers.originOf(request);
      this.watchers.checkExists(target);
      this.watchers.checkRoom(address);
      this.#upgrader.take(request, socket, first, headers, (ws) => this.#open(ws, socket, address, watch));
    } catch (error) {
      endWithProblem(socket, asRefusal(error, this.#options.onError), { ...READ_CORS, ...headers });
    }
  }

  #open(ws: WebSocket, socket: Socket, address: string, watch: WatchRequest): void {
    const { reader, onGone } = this.watchers.open(
      new WebSocketTransport(ws, socket, this.#upgrader.maxReceived),
      address,
      watch,
    );
    socket.on('drain', () => reader.flush());
    // ws emits its 'close' only after it has processed all bytes read.
    socket.on('close', onGone);
    const { scope, id } = watch.target;
    if (scope === 'listener') {
      const { reports } = this.#options;
      ws.on('message', (data, isBinary) => {
        // After a close for too many frames ws still emits messages that it had read before.
        if (!isBinary && ws.readyState === ws.OPEN) void reports.take(id, data as Buffer);
      });
    }
  }
}
