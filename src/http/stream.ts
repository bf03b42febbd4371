/**
 * `GET /{mount}`: admits a listener, waits for audio where there is hope of some, and hands its bare socket with the answer's head
 * to the audience. HTTP's part is over then: the body is close-delimited (protocol.md, "Listeners").
 */

import type { Channel } from '../audio/channel.js';
import type { Clock, Ringer } from '../clock.js';
import type { Audience } from '../listener/audience.js';
import type { Guests } from '../listener/guests.js';
import { type HeadFacts, PREFLIGHT_HEADS, streamHead } from '../listener/head.js';
import type { Session, Sessions } from '../listener/sessions.js';
import { Refusal } from '../refusal.js';
import { type Admission, type Place, type Policy, unavailable } from './admission.js';
import { parameter } from './parameter.js';
import { asRefusal } from './problem.js';
import { isMetaid } from './reads.js';
import type { Visit } from './visit.js';

/** So many waiting listeners begin to play in one tick: a crowd that waited for a restart must not block the loop. */
const MOST_PER_TICK = 50;

/** A mount as a listener meets it. */
export interface Mount extends Policy {
  readonly path: string;
  readonly channel: Channel;
  readonly facts: HeadFacts;
  /** Whether audio is being heard now, and whether waiting for some makes sense. */
  readonly hasAudio: boolean;
  readonly hopeful: boolean;
  /** Whether a listener would wake a source. */
  readonly onDemand: boolean;
}

export interface StreamOptions {
  readonly burstMs: number;
  readonly startTimeoutMs: number;
}

/** A listener for whom there is no audio yet. */
interface Waiting {
  readonly visit: Visit;
  readonly mount: Mount;
  readonly place: Place;
  readonly untilMs: number;
}

export class Stream implements Ringer {
  readonly #audience: Audience;
  readonly #sessions: Sessions;
  readonly #guests: Guests;
  readonly #admission: Admission;
  readonly #clock: Clock;
  readonly #options: StreamOptions;
  #waiting: Waiting[] = [];
  #closed = false;

  constructor(
    audience: Audience,
    sessions: Sessions,
    guests: Guests,
    admission: Admission,
    clock: Clock,
    options: StreamOptions,
  ) {
    this.#audience = audience;
    this.#admission = admission;
    this.#sessions = sessions;
    this.#guests = guests;
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
    if (this.#closed) throw unavailable('The server is shutting down.', 5);
    this.#admission.check(visit, mount);
    const place = this.#admission.enter(visit, mount);
    if (typeof place === 'string') visit.redirect(place);
    else if (mount.access === 'hook') {
      visit.wait();
      void this.#ask(visit, mount, place);
    } else this.#begin(visit, mount, place);
  }

  async #ask(visit: Visit, mount: Mount, place: Place): Promise<void> {
    const refusal = await this.#admission.ask(visit, place);
    if (!visit.gone && refusal === null && !this.#closed) this.#begin(visit, mount, place);
    else {
      place.leave();
      if (!visit.gone) visit.refuse(refusal ?? unavailable('The server is shutting down.', 5));
    }
  }

  #begin(visit: Visit, mount: Mount, place: Place): void {
    if (mount.hasAudio && mount.channel.hasSegments) this.#play(visit, mount, place);
    else if (mount.hopeful) {
      visit.wait();
      this.#waiting.push({ visit, mount, place, untilMs: this.#clock.now() + this.#options.startTimeoutMs });
    } else {
      place.leave();
      visit.refuse(noAudio());
    }
  }

  /** True: it waits no more. */
  #settle({ visit, mount, place, untilMs }: Waiting, nowMs: number): boolean {
    if (visit.gone) place.leave();
    else if (mount.hasAudio && mount.channel.hasSegments && !this.#closed) this.#play(visit, mount, place);
    else if (nowMs >= untilMs || !mount.hopeful || this.#closed) {
      place.leave();
      visit.refuse(noAudio());
    } else return false;
    return true;
  }

  #play(visit: Visit, mount: Mount, place: Place): void {
    const { channel } = mount;
    const metaint = wantsIcy(visit) ? channel.metaint : null;
    const icy = metaint !== null;
    const head = streamHead(mount.facts, channel, metaint, visit.heads);
    const session = this.#session(visit, mount);
    const guest = this.#guests.arrive(channel.key, visit, session?.metaid ?? null);
    const socket = visit.take();
    this.#audience.join(socket, channel, head, {
      ...{ icy, burstMs: this.#options.burstMs, session, guest },
      ...{ limitMs: place.limitMs, left: place.ended },
    });
  }

  /** The hook is not asked about a head: nobody listens to it. */
  #headOnly(visit: Visit, mount: Mount): void {
    this.#admission.check(visit, mount);
    // An on-demand source is not woken for a head: its metaint is not known yet.
    if (!mount.hasAudio && !mount.onDemand) throw noAudio();
    const metaint = wantsIcy(visit) ? mount.channel.metaint : null;
    visit.answer(streamHead(mount.facts, mount.channel, metaint, visit.heads));
  }

  /** A malformed metaid plays, without a session. `sabcsid` is its older name (contract, "Deprecated host"). */
  #session({ url }: Visit, mount: Mount): Session | null {
    const metaid = parameter(url, 'metaid') ?? parameter(url, 'sabcsid');
    return metaid !== null && isMetaid(metaid) ? this.#sessions.open(metaid, mount.channel.key, mount.path) : null;
  }
}

/** Asked for with a non-zero integer (protocol.md, "ICY metadata"). */
function wantsIcy(visit: Visit): boolean {
  const value = visit.head('icy-metadata');
  return value !== undefined && /^\s*\d+\s*$/.test(value) && Number(value) !== 0;
}

function noAudio(): Refusal {
  return unavailable('This mount has no audio now.', 5);
}
