/**
 * `GET /{mount}`: admits a listener, waits for audio where there is hope of some, and hands its bare socket with the answer's head
 * to the audience. HTTP's part is over then: the body is close-delimited (protocol.md, "Listeners").
 */

import type { Channel } from '../audio/channel.js';
import type { Clock, Ringer } from '../clock.js';
import type { Audience } from '../listener/audience.js';
import { type HeadFacts, PREFLIGHT_HEADS, streamHead } from '../listener/head.js';
import type { Session, Sessions } from '../listener/sessions.js';
import { Refusal } from '../refusal.js';
import { asRefusal } from './problem.js';
import { isMetaid } from './reads.js';
import type { Visit } from './visit.js';

/** So many waiting listeners begin to play in one tick: a crowd that waited for a restart must not block the loop. */
const MOST_PER_TICK = 50;

/** A mount as a listener meets it. */
export interface Mount {
  readonly path: string;
  readonly channel: Channel;
  readonly facts: HeadFacts;
  readonly maxListeners: number;
  /** Whether audio is being heard now, and whether waiting for some makes sense. */
  readonly hasAudio: boolean;
  readonly hopeful: boolean;
  /** Whether a listener would wake a source. */
  readonly onDemand: boolean;
}

export interface StreamOptions {
  readonly burstMs: number;
  readonly startTimeoutMs: number;
  readonly listeners: number;
}

/** A listener for whom there is no audio yet. */
interface Waiting {
  readonly visit: Visit;
  readonly mount: Mount;
  readonly untilMs: number;
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
    clock.onTick(this);
  }

  /** Answers any request for this mount. */
  handle(visit: Visit, mount: Mount): void {
    try {
      const { method } = visit;
      if (method === 'GET') this.#admit(visit, mount);
      else if (method === 'HEAD') this.#headOnly(visit, mount);
      else if (method === 'OPTIONS') visit.allow(PREFLIGHT_HEADS);
      else
        throw new Refusal('method-not-allowed', 'A mount can only be heard.', {
          headers: { Allow: 'GET, HEAD, OPTIONS' },
        });
    } catch (error) {
      visit.refuse(asRefusal(error));
    }
  }

  ring(nowMs: number): void {
    if (this.#waiting.length === 0) return;
    let budget = this.#closed ? Number.POSITIVE_INFINITY : MOST_PER_TICK;
    this.#waiting = this.#waiting.filter((waiting) => budget === 0 || !this.#settle(waiting, nowMs) || budget-- === 0);
  }

  /** Takes no more listeners; those who wait are sent away. */
  close(): void {
    this.#closed = true;
    this.ring(this.#clock.now());
  }

  #admit(visit: Visit, mount: Mount): void {
    const { channel } = mount;
    if (this.#closed) throw unavailable('The server is shutting down.', 5);
    if (this.#audience.count >= this.#options.listeners) {
      throw unavailable('This server has no room for more listeners.', 30);
    }
    if (channel.listeners >= mount.maxListeners) {
      throw unavailable('This channel has no room for more listeners.', 30);
    }
    this.#audience.enter(channel);
    if (mount.hasAudio && channel.hasSegments) this.#play(visit, mount);
    else if (mount.hopeful) {
      this.#waiting.push({ visit, mount, untilMs: this.#clock.now() + this.#options.startTimeoutMs });
    } else {
      this.#audience.leave(channel);
      throw noAudio();
    }
  }

  /** True: it waits no more. */
  #settle({ visit, mount, untilMs }: Waiting, nowMs: number): boolean {
    if (visit.gone) this.#audience.leave(mount.channel);
    else if (mount.hasAudio && mount.channel.hasSegments && !this.#closed) this.#play(visit, mount);
    else if (nowMs >= untilMs || !mount.hopeful || this.#closed) {
      this.#audience.leave(mount.channel);
      visit.refuse(noAudio());
    } else return false;
    return true;
  }

  #play(visit: Visit, mount: Mount): void {
    const { channel } = mount;
    const icy = wantsIcy(visit);
    const head = streamHead(mount.facts, channel, icy ? channel.tape!.metaint : null, visit.heads);
    const socket = visit.take();
    const session = this.#session(visit, mount);
    this.#audience.join(socket, channel, head, { icy, burstMs: this.#options.burstMs, session });
  }

  #headOnly(visit: Visit, mount: Mount): void {
    // An on-demand source is not woken for a head: its metaint is not known yet.
    if (!mount.hasAudio && !mount.onDemand) throw noAudio();
    const metaint = wantsIcy(visit) ? (mount.channel.tape?.metaint ?? null) : null;
    visit.answer(streamHead(mount.facts, mount.channel, metaint, visit.heads));
  }

  /** A malformed metaid plays, without a session. `sabcsid` is its older name (contract, "Deprecated host"). */
  #session({ url }: Visit, mount: Mount): Session | null {
    const mark = url.indexOf('?');
    if (mark < 0) return null;
    const query = new URLSearchParams(url.slice(mark + 1));
    const metaid = query.get('metaid') ?? query.get('sabcsid');
    return metaid !== null && isMetaid(metaid) ? this.#sessions.open(metaid, mount.channel.key, mount.path) : null;
  }
}

/** Asked for with a non-zero integer (protocol.md, "ICY metadata"). */
function wantsIcy(visit: Visit): boolean {
  const value = visit.head('icy-metadata');
  return value !== undefined && /^\s*\d+\s*$/.test(value) && Number(value) !== 0;
}

function unavailable(detail: string, retrySeconds: number): Refusal {
  return new Refusal('unavailable', detail, { headers: { 'Retry-After': String(retrySeconds) } });
}

function noAudio(): Refusal {
  return unavailable('This mount has no audio now.', 5);
}
