/**
 * `GET /{mount}`: admits a listener, waits for audio where there is hope of some, writes the head and hands the bare socket to the
 * audience. HTTP's part is over then: the body is close-delimited (protocol.md, "Listeners").
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Channel } from '../audio/channel.js';
import type { Clock, Ringer } from '../clock.js';
import type { Audience } from '../listener/audience.js';
import { type HeadFacts, PREFLIGHT_HEADS, streamHead } from '../listener/head.js';
import type { Session, Sessions } from '../listener/sessions.js';
import { Refusal } from '../refusal.js';
import { asRefusal, sendProblem } from './problem.js';
import { isMetaid } from './reads.js';

/** How often waiting listeners are looked at. */
const WAIT_MS = 100;
const CORS = { 'Access-Control-Allow-Origin': '*' };

/** A mount as a listener meets it. */
export interface Mount {
  readonly path: string;
  readonly channel: Channel;
  readonly facts: HeadFacts;
  readonly maxListeners: number;
  /** Whether audio is being heard now, and whether waiting for some makes sense. */
  readonly hasAudio: boolean;
  readonly hopeful: boolean;
}

export interface StreamOptions {
  readonly burstMs: number;
  readonly startTimeoutMs: number;
  readonly listeners: number;
}

/** A listener for whom there is no audio yet. */
interface Waiting {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly mount: Mount;
  readonly untilMs: number;
  gone: boolean;
}

export class Stream implements Ringer {
  readonly #audience: Audience;
  readonly #sessions: Sessions;
  readonly #clock: Clock;
  readonly #options: StreamOptions;
  #waiting: Waiting[] = [];
  #closed = false;

  constructor(audience: Audience, sessions: Sessions, clock: Clock, options: StreamOptions) {
    this.#audience = audience;
    this.#sessions = sessions;
    this.#clock = clock;
    this.#options = options;
    clock.alarm(clock.now() + WAIT_MS, this);
  }

  /** Answers any request for this mount. */
  handle(request: IncomingMessage, response: ServerResponse, mount: Mount): void {
    try {
      if (request.method === 'OPTIONS') response.writeHead(204, Object.fromEntries(PREFLIGHT_HEADS)).end();
      else if (request.method === 'GET') this.#admit(request, response, mount);
      else if (request.method === 'HEAD') this.#headOnly(request, response, mount);
      else
        throw new Refusal('method-not-allowed', 'A mount can only be heard.', {
          headers: { Allow: 'GET, HEAD, OPTIONS' },
        });
    } catch (error) {
      sendProblem(response, asRefusal(error), CORS);
    }
  }

  ring(nowMs: number): void {
    if (this.#waiting.length > 0) this.#waiting = this.#waiting.filter((waiting) => !this.#settle(waiting, nowMs));
    this.#clock.alarm(nowMs + WAIT_MS, this);
  }

  /** Takes no more listeners; those who wait are sent away. */
  close(): void {
    this.#closed = true;
    this.ring(this.#clock.now());
  }

  #admit(request: IncomingMessage, response: ServerResponse, mount: Mount): void {
    const { channel } = mount;
    if (this.#closed) throw unavailable('The server is shutting down.', 5);
    if (this.#audience.count >= this.#options.listeners)
      throw unavailable('This server has no room for more listeners.', 30);
    if (channel.listeners >= mount.maxListeners) throw unavailable('This channel has no room for more listeners.', 30);
    this.#audience.enter(channel);
    if (mount.hasAudio && channel.hasSegments) this.#play(request, response, mount);
    else if (mount.hopeful) this.#wait(request, response, mount);
    else {
      this.#audience.leave(channel);
      throw noAudio();
    }
  }

  #wait(request: IncomingMessage, response: ServerResponse, mount: Mount): void {
    const untilMs = this.#clock.now() + this.#options.startTimeoutMs;
    const waiting: Waiting = { request, response, mount, untilMs, gone: false };
    response.once('close', () => {
      waiting.gone = true;
    });
    this.#waiting.push(waiting);
  }

  /** True: it waits no more. */
  #settle(waiting: Waiting, nowMs: number): boolean {
    const { request, response, mount } = waiting;
    if (waiting.gone) this.#audience.leave(mount.channel);
    else if (mount.hasAudio && mount.channel.hasSegments && !this.#closed) this.#play(request, response, mount);
    else if (nowMs >= waiting.untilMs || !mount.hopeful || this.#closed) {
      this.#audience.leave(mount.channel);
      sendProblem(response, noAudio(), CORS);
    } else return false;
    return true;
  }

  #play(request: IncomingMessage, response: ServerResponse, mount: Mount): void {
    const { channel } = mount;
    const icy = wantsIcy(request);
    const head = streamHead(mount.facts, channel, icy ? channel.tape!.metaint : null);
    const session = this.#session(request, mount);
    const socket = takeSocket(request, response);
    socket.cork();
    socket.write(head);
    this.#audience.join(socket, channel, { icy, burstMs: this.#options.burstMs, session });
    socket.uncork();
  }

  #headOnly(request: IncomingMessage, response: ServerResponse, mount: Mount): void {
    if (!mount.hasAudio) throw noAudio();
    const metaint = wantsIcy(request) ? (mount.channel.tape?.metaint ?? null) : null;
    const head = streamHead(mount.facts, mount.channel, metaint);
    takeSocket(request, response).end(head);
  }

  /** A malformed metaid plays, without a session. `sabcsid` is its older name (contract, "Deprecated host"). */
  #session(request: IncomingMessage, mount: Mount): Session | null {
    const url = request.url!;
    const mark = url.indexOf('?');
    if (mark < 0) return null;
    const query = new URLSearchParams(url.slice(mark + 1));
    const metaid = query.get('metaid') ?? query.get('sabcsid');
    return metaid !== null && isMetaid(metaid) ? this.#sessions.open(metaid, mount.channel.key, mount.path) : null;
  }
}

/** Asked for with a non-zero integer (protocol.md, "ICY metadata"). */
function wantsIcy(request: IncomingMessage): boolean {
  const value = request.headers['icy-metadata'];
  return typeof value === 'string' && /^\s*\d+\s*$/.test(value) && Number(value) !== 0;
}

/** Takes the connection out of HTTP's hands: what is written from here on goes out as it is. */
function takeSocket(request: IncomingMessage, response: ServerResponse): Socket {
  const socket = request.socket;
  response.detachSocket(socket);
  socket.setTimeout(0);
  return socket;
}

function unavailable(detail: string, retrySeconds: number): Refusal {
  return new Refusal('unavailable', detail, { headers: { 'Retry-After': String(retrySeconds) } });
}

function noAudio(): Refusal {
  return unavailable('This mount has no audio now.', 5);
}
