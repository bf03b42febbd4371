/**
 * Takes connections whose first bytes request a channel's record directly from the front, and answers plain polls without Node's HTTP
 * objects, which cost more than the rest of a poll. At its first other request a connection goes to the HTTP server of the address
 * (poll-connection.ts).
 */

import type { Server as HttpServer } from 'node:http';
import type { Socket } from 'node:net';
import type { Alarm, AlarmHandler, Clock } from '../../base/clock.js';
import { nextWhole } from '../../base/whole-time.js';
import type { Feed } from '../../feed/feed.js';
import type { Connections } from '../../net/front/connections.js';
import type { AddressHeaders } from '../legacy.js';
import { endWithProblem, tooManyConnections } from '../problem.js';
import { PollAnswers } from './answer.js';
import { PollConnection, type PollConnectionParts } from './poll-connection.js';
import { POLL_START } from './poll-head.js';

const SECOND_MS = 1000;

export class PollAcceptor implements AlarmHandler {
  readonly #feed: Feed;
  readonly #clock: Clock;
  readonly #connections: Connections;
  /** Connection → how many seconds it may be idle. */
  readonly #pollers = new Map<PollConnection, number>();
  #alarm: Alarm;
  #closed = false;

  constructor(feed: Feed, clock: Clock, connections: Connections) {
    this.#feed = feed;
    this.#connections = connections;
    this.#clock = clock;
    this.#alarm = clock.alarm(nextWhole(SECOND_MS, clock.now()), this);
  }

  /**
   * The function that an address calls with a connection's first bytes. It returns false if they do not begin with POLL_START.
   * @param http gets connections with other requests; its keepAliveTimeout applies here too @param headers those of the address
   */
  at(http: HttpServer, headers: AddressHeaders): (socket: Socket, first: Buffer) => boolean {
    const keepSeconds = http.keepAliveTimeout / SECOND_MS;
    const parts: PollConnectionParts = {
      answers: new PollAnswers(this.#feed, headers, http.keepAliveTimeout),
      clock: this.#clock,
      connections: this.#connections,
      onHandOver: (socket) => {
        http.emit('connection', socket);
        socket.resume();
      },
      onGone: (poller) => this.#pollers.delete(poller),
    };
    return (socket, first) => {
      if (this.#closed || first.toString('latin1', 0, POLL_START.length) !== POLL_START) return false;
      if (!this.#connections.begin(socket)) {
        endWithProblem(socket, tooManyConnections(), headers);
        return true;
      }
      // Every poll is answered at once, so its connection always counts as idle.
      this.#connections.end(socket);
      socket.unshift(first);
      this.#pollers.set(new PollConnection(socket, parts), keepSeconds);
      return true;
    };
  }

  /** Open connections. */
  get count(): number {
    return this.#pollers.size;
  }

  /** Called once a second: closes connections that have sent or read nothing for too long. */
  onAlarm(nowMs: number): void {
    for (const [poller, keepSeconds] of this.#pollers) if (++poller.idleSeconds > keepSeconds) poller.drop();
    this.#alarm = this.#clock.alarm(nextWhole(SECOND_MS, nowMs), this);
  }

  /** Takes no more connections, and ends open ones once their answers are written. */
  close(): void {
    this.#closed = true;
    this.#alarm.cancel();
    for (const poller of this.#pollers.keys()) poller.end();
  }
}
