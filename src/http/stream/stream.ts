/**
 * `GET /{mount}`: admits a listener, waits for audio where there is hope of some, and hands its bare socket with the answer's head
 * to the audience. HTTP's part is over then: the body is close-delimited (src/http/stream/README.md, "Answers").
 */

import { READ_BLOCK_BYTES } from '../../audio/burst.js';
import type { AlarmHandler, Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import { type Refusal, retryLater, shuttingDown } from '../../base/refusal.js';
import { parameter } from '../../base/request-target.js';
import type { Mount } from '../../channel/mount.js';
import type { Audience } from '../../listener/audience.js';
import type { ListenerStats } from '../../listener/listener-stats.js';
import { type ReadingPlayers, readAheadMs } from '../../listener/reading-players.js';
import type { Session, Sessions } from '../../listener/sessions.js';
import { StreamHeads } from '../../listener/stream-heads.js';
import { asRefusal } from '../problem.js';
import { isMetaid } from '../reads.js';
import type { Admission, Place } from './admission.js';
import type { StreamRequest } from './stream-request.js';

/** At most this many waiting listeners begin to play in one tick: a crowd that waited for a restart must not block the loop. */
const MOST_PER_TICK = 50;
/** Firefox and Chromium; WebKit's player does not call itself so. */
const BROWSER = /^Mozilla\/.*(Firefox|Chrome)\//;
/** When a player that is refused may come again. */
const RETRY_SECONDS = 5;

export interface StreamOptions {
  readonly burstMs: number;
  readonly startTimeoutMs: number;
  /** Players that show a title when they read it. */
  readonly showsOnReading: ReadingPlayers;
  readonly log: Log;
  /** Called with what went wrong where the client learns only that something did. */
  onError(error: unknown): void;
}

/** A listener for which there is no audio yet. */
interface WaitingListener {
  readonly request: StreamRequest;
  readonly mount: Mount;
  readonly place: Place;
  readonly untilMs: number;
}

export class Stream implements AlarmHandler {
  readonly #audience: Audience;
  readonly #sessions: Sessions;
  readonly #stats: ListenerStats;
  readonly #admission: Admission;
  readonly #clock: Clock;
  readonly #options: StreamOptions;
  readonly #heads = new StreamHeads();
  #waiting: WaitingListener[] = [];
  #closed = false;

  constructor(
    audience: Audience,
    sessions: Sessions,
    stats: ListenerStats,
    admission: Admission,
    clock: Clock,
    options: StreamOptions,
  ) {
    this.#audience = audience;
    this.#admission = admission;
    this.#sessions = sessions;
    this.#stats = stats;
    this.#clock = clock;
    this.#options = options;
    clock.everyTick(this);
  }

  /** Answers GET and HEAD of this mount. */
  handle(request: StreamRequest, mount: Mount): void {
    try {
      if (this.#closed) throw shuttingDown(RETRY_SECONDS);
      if (request.method === 'HEAD') this.#headOnly(request, mount);
      else this.#admit(request, mount);
    } catch (error) {
      this.#refuse(request, error);
    }
  }

  onAlarm(nowMs: number): void {
    if (this.#waiting.length === 0) return;
    let left = this.#closed ? Number.POSITIVE_INFINITY : MOST_PER_TICK;
    this.#waiting = this.#waiting.filter((waiting) => {
      if (left === 0 || !this.#settle(waiting, nowMs)) return true;
      left--;
      return false;
    });
  }

  /** Takes no more listeners; those that wait are refused. */
  close(): void {
    this.#closed = true;
    this.onAlarm(this.#clock.now());
  }

  #admit(request: StreamRequest, mount: Mount): void {
    this.#admission.check(request, mount);
    const place = this.#admission.enter(request, mount);
    if (typeof place === 'string') request.redirect(place);
    else if (mount.access === 'hook') {
      this.#ask(request, mount, place).catch((error: unknown) => this.#options.onError(error));
    } else this.#begin(request, mount, place);
  }

  #refuse(request: StreamRequest, error: unknown): void {
    const refusal = asRefusal(error, this.#options.onError);
    if (!request.gone) request.refuse(refusal);
  }

  async #ask(request: StreamRequest, mount: Mount, place: Place): Promise<void> {
    try {
      request.wait();
      const refusal = await this.#admission.ask(request, place);
      if (refusal !== null) throw refusal;
      if (this.#closed) throw shuttingDown(RETRY_SECONDS);
    } catch (error) {
      this.#turnAway(request, place, error);
      return;
    }
    if (request.gone) place.leave();
    else this.#begin(request, mount, place);
  }

  /** Plays, or waits for audio. Never throws: whatever goes wrong, the place is given back and the other listeners have their turn. */
  #begin(request: StreamRequest, mount: Mount, place: Place): void {
    try {
      if (canBegin(mount) && isHere(mount)) this.#play(request, mount, place);
      else if (isWorthWaiting(mount)) {
        request.wait();
        // A delay line that fills is waited for besides.
        const waitMs = this.#options.startTimeoutMs + mount.audio.delayMs;
        this.#waiting.push({ request, mount, place, untilMs: this.#clock.now() + waitMs });
      } else throw noAudio();
    } catch (error) {
      this.#turnAway(request, place, error);
    }
  }

  #turnAway(request: StreamRequest, place: Place, why: unknown): void {
    place.leave();
    this.#refuse(request, why);
  }

  /** True: it waits no more. */
  #settle({ request, mount, place, untilMs }: WaitingListener, nowMs: number): boolean {
    if (request.gone) place.leave();
    else if (canBegin(mount) && isHere(mount) && !this.#closed) this.#begin(request, mount, place);
    else if (nowMs >= untilMs || !isWorthWaiting(mount) || this.#closed) this.#turnAway(request, place, noAudio());
    else return false;
    return true;
  }

  #play(request: StreamRequest, mount: Mount, place: Place): void {
    const { audio } = mount;
    const metaint = wantsIcy(request) ? audio.metaint : null;
    const icy = metaint !== null;
    const head = this.#heads.head(mount.facts, audio, metaint, request.addressHeaders);
    const session = this.#session(request, mount);
    const counted = this.#stats.join(audio.key, request, session?.metaid ?? null);
    const { burstMs, showsOnReading, log } = this.#options;
    this.#audience.join(request.take(), audio, head, {
      icy,
      burstMs,
      session,
      readAheadMs: readAheadMs(showsOnReading, request.header('user-agent') ?? ''),
      limitMs: place.limitMs,
      onEnd: ({ ending, bytes, lastedMs }) => {
        place.end(lastedMs);
        this.#stats.leave(counted, bytes, lastedMs);
        log.debug({ channel: audio.key, ending, seconds: Math.round(lastedMs / 1000), bytes }, 'listener ended');
      },
    });
  }

  /** It never waits. The hook is not asked about a HEAD: it does not listen. */
  #headOnly(request: StreamRequest, mount: Mount): void {
    this.#admission.check(request, mount);
    // An on-demand source is not woken for a HEAD: its metaint is not known yet.
    if (!canBegin(mount) && !mount.onDemand) throw noAudio();
    const metaint = wantsIcy(request) ? mount.audio.metaint : null;
    request.answer(this.#heads.head(mount.facts, mount.audio, metaint, request.addressHeaders));
  }

  /** A malformed metaid plays, without a session. `sabcsid` is its older name (src/http/README.md, "Deprecated host"). */
  #session(request: StreamRequest, { audio, path }: Mount): Session | null {
    const { url } = request;
    const metaid = parameter(url, 'metaid') ?? parameter(url, 'sabcsid');
    if (metaid === null || !isMetaid(metaid)) return null;
    const blockBytes = BROWSER.test(request.header('user-agent') ?? '') ? READ_BLOCK_BYTES : undefined;
    return this.#sessions.open({ metaid, channel: audio.key, mount: path, blockBytes });
  }
}

/** Whether a listener can be sent a burst. */
function canBegin({ hasAudio, audio }: Mount): boolean {
  return hasAudio && audio.hasSegments;
}

/** Whether the tape is in this process: it comes when the first listener has taken a place. */
function isHere({ audio: { tape } }: Mount): boolean {
  return tape !== undefined && tape.head > tape.tail;
}

/** Whether audio may come. What another process still has comes, though no source does while an encoder is waited for. */
function isWorthWaiting(mount: Mount): boolean {
  return mount.hopeful || canBegin(mount);
}

/** Asked for with a non-zero integer (src/http/stream/README.md, "Answers"). */
function wantsIcy(request: StreamRequest): boolean {
  const value = request.header('icy-metadata');
  return value !== undefined && /^\s*\d+\s*$/.test(value) && Number(value) !== 0;
}

function noAudio(): Refusal {
  return retryLater('unavailable', 'This mount has no audio now.', RETRY_SECONDS);
}
