/**
 * Watching by WebSocket on the three scopes: no sub-protocol, no subscribe message, one record per text frame (contract, "WebSocket").
 *
 *   /metadata/channel/{key}   /metadata/station/{key}   /metadata/listener/{metaid}[?sync=wire]
 *
 * Unknown channels and stations are refused before the upgrade; a metaid need not play yet, it waits.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Clock, Ringer } from '../clock.js';
import type { Sessions } from '../listener/sessions.js';
import { type Feed, Message, type Sync } from '../metadata/feed.js';
import { Refusal } from '../refusal.js';
import { asRefusal, endWithProblem } from './problem.js';
import { GOING_AWAY, Reader, type ReaderLimits } from './reader.js';
import { notFound, READ_CORS, readSync, readTarget, type Target } from './reads.js';

const CHECK_MS = 1000;
/** Readers have nothing to say; whatever is longer closes the connection with 1009. */
const MOST_PAYLOAD = 4096;

export interface WatchOptions extends ReaderLimits {
  readonly watchers: number;
  readonly watchersPerAddress: number;
}

export class Watch implements Ringer {
  readonly #feed: Feed;
  readonly #sessions: Sessions;
  readonly #clock: Clock;
  readonly #options: WatchOptions;
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MOST_PAYLOAD,
  });
  readonly #readers = new Set<Reader>();
  readonly #byAddress = new Map<string, number>();
  #closed = false;

  constructor(feed: Feed, sessions: Sessions, clock: Clock, options: WatchOptions) {
    this.#feed = feed;
    this.#sessions = sessions;
    this.#clock = clock;
    this.#options = options;
    clock.alarm(clock.now() + CHECK_MS, this);
  }

  get count(): number {
    return this.#readers.size;
  }

  /** Takes an upgrade request, or answers it with a problem. */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    socket.on('error', () => undefined);
    try {
      const target = readTarget(request.url ?? '/', false);
      const sync = readSync(target.query);
      this.#known(target);
      const address = request.socket.remoteAddress ?? '';
      this.#admit(address);
      this.#server.handleUpgrade(request, socket, head, (ws) => this.#open(ws, socket, address, target, sync));
    } catch (error) {
      endWithProblem(socket, asRefusal(error), READ_CORS);
    }
  }

  ring(nowMs: number): void {
    for (const reader of this.#readers) reader.check(nowMs);
    this.#clock.alarm(nowMs + CHECK_MS, this);
  }

  /** Takes nobody any more and says 1001 to everybody; those that do not answer are cut within seconds by `ring`. */
  close(): void {
    this.#closed = true;
    for (const reader of this.#readers) reader.close(GOING_AWAY, 'shutting down', this.#clock.now());
  }

  /** Cuts whoever is left. */
  terminate(): void {
    for (const reader of this.#readers) reader.terminate();
  }

  #known(target: Target): void {
    if (target.scope === 'channel' && this.#feed.face(target.id) === undefined)
      throw notFound('There is no such channel.');
    if (target.scope === 'station' && !this.#feed.hasStation(target.id)) throw notFound('There is no such station.');
  }

  #admit(address: string): void {
    if (this.#closed) throw busy('The server is shutting down.');
    if (this.#readers.size >= this.#options.watchers) throw busy('Too many watchers on this server.');
    if ((this.#byAddress.get(address) ?? 0) >= this.#options.watchersPerAddress) {
      throw busy('Too many watchers from this address.');
    }
  }

  #open(ws: WebSocket, socket: Socket, address: string, target: Target, sync: Sync): void {
    const reader = new Reader(ws, socket, address, this.#options, this.#clock.now());
    this.#readers.add(reader);
    this.#byAddress.set(address, (this.#byAddress.get(address) ?? 0) + 1);
    const unsubscribe = this.#subscribe(reader, target, sync);
    ws.on('error', () => undefined);
    ws.on('close', () => {
      unsubscribe();
      this.#readers.delete(reader);
      const left = (this.#byAddress.get(address) ?? 1) - 1;
      if (left > 0) this.#byAddress.set(address, left);
      else this.#byAddress.delete(address);
    });
  }

  #subscribe(reader: Reader, target: Target, sync: Sync): () => void {
    if (target.scope === 'channel') return this.#feed.watchChannel(target.id, reader);
    if (target.scope === 'station') return this.#feed.watchStation(target.id, reader);
    this.#firstOfListener(reader, target.id, sync);
    return this.#feed.watchListener(target.id, sync, reader);
  }

  /** What this listener has coming and what it hears (or was sent) now. */
  #firstOfListener(reader: Reader, metaid: string, sync: Sync): void {
    const session = this.#sessions.playing(metaid);
    if (session === undefined) return;
    const next = this.#feed.last(session.channel, 'next');
    if (next != null) reader.tell(new Message('next', '', next.listenerJson(session.id, '', session.mount)));
    const told = sync === 'audio' ? session.lastHeard : session.lastWritten;
    if (told !== null) reader.tell(new Message('now', '', session.json(told)));
  }
}

function busy(detail: string): Refusal {
  return new Refusal('unavailable', detail, { headers: { 'Retry-After': '10' } });
}
