/**
 * Takes connections that begin by asking for a channel's record straight off the front, and answers plain polls
 * without Node's HTTP objects, which cost more than all the rest of a poll. Whatever else comes on such a connection, then or later,
 * goes to the HTTP server of the address (connection.ts): what is not plain is not decided here.
 */

import type { Server as HttpServer } from 'node:http';
import type { Socket } from 'node:net';
import type { Alarm, AlarmHandler, Clock } from '../../base/clock.js';
import type { Feed } from '../../feed/feed.js';
import type { Connections } from '../../net/front/connections.js';
import type { AddressHeaders } from '../legacy.js';
import { endWithProblem, tooManyConnections } from '../problem.js';
import { PollAnswers } from './answer.js';
import { PollConnection, type PollConnectionParts } from './connection.js';
import { POLL_START } from './head.js';

const SECOND_MS = 1000;

export class PollAcceptor implements AlarmHandler {
  readonly #feed: Feed;
  readonly #clock: Clock;
  readonly #connections: Connections;
  /** Each with how long it may be idle, seconds. */
  readonly #pollers = new Map<PollConnection, number>();
  #alarm: Alarm;
  #closed = false;

  constructor(feed: Feed, clock: Clock, connections: Connections) {
    this.#feed = feed;
    this.#connections = connections;
    this.#clock = clock;
    this.#alarm = clock.alarm(clock.now() + SECOND_MS, this);
  }

  /**
   * What an address does with the first bytes of a connection: takes it when they ask for a channel; false: they do not.
   * @param http what it is handed over to; also says how long an idle connection is kept @param headers of the address
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
      // Whatever it asks is answered at once: it is idle all the time.
      this.#connections.end(socket);
      socket.unshift(first);
      this.#pollers.set(new PollConnection(socket, parts), keepSeconds);
      return true;
    };
  }

  /** Connections that poll and nothing else. */
  get count(): number {
    return this.#pollers.size;
  }

  /** Once a second: those that have asked nothing, or read nothing, for too long are closed. */
  onAlarm(nowMs: number): void {
    for (const [poller, keepSeconds] of this.#pollers) if (++poller.idleSeconds > keepSeconds) poller.drop();
    this.#alarm = this.#clock.alarm(nowMs + SECOND_MS, this);
  }

  /** Takes no more; open connections end as soon as they have their answers. */
  close(): void {
    this.#closed = true;
    this.#alarm.cancel();
    for (const poller of this.#pollers.keys()) poller.end();
  }
}
