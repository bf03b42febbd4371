/**
 * `GET /{mount}`: admits a listener, waits for audio where there is hope of some, and hands its bare socket with the answer's head
 * to the audience. HTTP's part is over then: the body is close-delimited (src/http/stream/README.md, "Answers").
 */

import type { Socket } from 'node:net';
import { READ_BLOCK_BYTES } from '../../audio/burst.js';
import type { PlayableAudio } from '../../audio/playable-audio.js';
import type { AlarmHandler, Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import { type Refusal, retryLater, shuttingDown } from '../../base/refusal.js';
import { parameter } from '../../base/request-target.js';
import type { Mount } from '../../channel/mount.js';
import type { Audience } from '../../listener/audience.js';
import type { Listener, ListenerClient } from '../../listener/listener.js';
import type { CountedListener, ListenerRequest, ListenerStats } from '../../listener/listener-stats.js';
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
/** Of what a listener says of itself as much is kept while it plays. */
const CLIENT_CHARACTERS = 200;
const NOTHING = Buffer.alloc(0);
/** When a player that is refused may come again. */
const RETRY_SECONDS = 5;

export interface StreamOptions {
  readonly burstMs: number;
  readonly startTimeoutMs: number;
  /** Players that show a title when they read it. */
  readonly showsOnReading: ReadingPlayers;
  readonly log: Log;
  /** Where listeners can be moved, by path. Absent: nowhere. */
  readonly mounts?: ReadonlyMap<string, Mount>;
  /** Called with what went wrong where the client learns only that something did. */
  onError(error: unknown): void;
}

/** A listener while it plays, as far as it goes with it to another channel. */
interface Stay {
  readonly audio: PlayableAudio;
  /** As its head has said; null: without titles. */
  readonly metaint: number | null;
  readonly place: Place;
  readonly session: Session | null;
  /** For the log. */
  readonly connection: StreamRequest['connection'];
  readonly client: ListenerClient;
  readonly counted: CountedListener;
  readonly readAheadMs: number;
  /** When it has listened for as long as it may. */
  readonly endMs: number;
}

/** A listener that goes to a channel whose tape is not here yet. */
interface MovingListener {
  readonly listener: Listener;
  readonly mount: Mount;
  readonly stay: Stay;
  readonly untilMs: number;
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
  #moving: MovingListener[] = [];
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
    if (this.#moving.length > 0) this.#moveThose(nowMs);
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
    if (typeof place === 'string') {
      this.#options.log.debug({ connection: request.connection, mount: mount.path }, 'listener sent to the overflow');
      request.redirect(place);
    } else if (mount.access === 'hook') {
      this.#ask(request, mount, place).catch((error: unknown) => this.#options.onError(error));
    } else this.#begin(request, mount, place);
  }

  #refuse(request: StreamRequest, error: unknown): void {
    const refusal = asRefusal(error, this.#options.onError);
    const { connection, address } = request;
    this.#options.log.debug(
      { connection, address, status: refusal.status, reason: refusal.message },
      'listener refused',
    );
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
        this.#options.log.debug(
          { connection: request.connection, channel: mount.audio.key },
          'listener waits for audio',
        );
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

  #moveThose(nowMs: number): void {
    this.#moving = this.#moving.filter(({ listener, mount, stay, untilMs }) => {
      if (isHere(mount)) this.#moveNow(listener, mount, stay);
      else if (nowMs < untilMs) return true;
      else this.#audience.leave(mount.audio);
      return false;
    });
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
    const head = this.#heads.head(mount.facts, audio, metaint, request.addressHeaders);
    const session = this.#session(request, mount);
    const { burstMs, showsOnReading, log } = this.#options;
    const { connection } = request;
    log.debug(
      { connection, address: request.address, channel: audio.key, mount: mount.path, icy: metaint !== null },
      'listener joined',
    );
    const stay: Stay = {
      ...{ audio, metaint, place, session, connection, client: clientOf(request, mount) },
      counted: this.#stats.join(audio.key, request, session?.metaid ?? null),
      readAheadMs: readAheadMs(showsOnReading, request.header('user-agent') ?? ''),
      endMs: this.#clock.now() + place.limitMs,
    };
    this.#join(request.take(), head, burstMs, stay);
  }

  #join(socket: Socket, head: Buffer, burstMs: number, stay: Stay): void {
    const { audio, metaint, place, session, connection, client, counted, readAheadMs, endMs } = stay;
    this.#audience.join(socket, audio, head, {
      icy: metaint !== null,
      burstMs,
      session,
      readAheadMs,
      limitMs: endMs - this.#clock.now(),
      client,
      onEnd: ({ ending, bytes, lastedMs }) => {
        place.end(lastedMs);
        this.#stats.leave(counted, bytes, lastedMs);
        const seconds = Math.round(lastedMs / 1000);
        this.#options.log.debug({ connection, channel: audio.key, ending, seconds, bytes }, 'listener ended');
      },
      onMove: (listener, path) => this.#move(listener, path, stay),
    });
  }

  /** Takes a place where it goes. Where the tape is in another process it moves when that has come, or stays where it is. */
  #move(listener: Listener, path: string, stay: Stay): boolean {
    const mount = this.#options.mounts?.get(path);
    if (mount === undefined || !canBegin(mount) || !mayMove(stay, mount.audio)) return false;
    this.#audience.enter(mount.audio);
    if (isHere(mount)) this.#moveNow(listener, mount, stay);
    else {
      const untilMs = this.#clock.now() + this.#options.startTimeoutMs;
      this.#moving.push({ listener, mount, stay, untilMs });
    }
    return true;
  }

  /** Its stream stands at the end of a segment, which is where a block ends: there the other tape begins. */
  #moveNow(listener: Listener, mount: Mount, stay: Stay): void {
    const { audio, path } = mount;
    const end = mayMove(stay, audio) ? listener.release() : null;
    if (end === null) {
      this.#audience.leave(audio);
      return;
    }
    this.#stats.leave(stay.counted, end.bytes, end.lastedMs);
    const metaid = stay.session?.metaid ?? null;
    const client = { ...stay.client, mount: path };
    this.#join(listener.socket, NOTHING, 0, {
      ...stay,
      ...{ audio, client },
      session: metaid === null ? null : this.#sessions.open({ metaid, channel: audio.key, mount: path }),
      counted: this.#stats.join(audio.key, requestOf(client), metaid),
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

/** What an operator is shown of it. */
function clientOf(request: StreamRequest, { path: mount }: Mount): ListenerClient {
  const text = (name: string) => (request.header(name) ?? '').slice(0, CLIENT_CHARACTERS);
  return { mount, address: request.address, agent: text('user-agent'), referer: text('referer') };
}

/** The head of its stream holds there too: it has said a type, and bytes between two blocks. Ogg begins with what only its own head has. */
function mayMove({ audio, metaint }: Stay, to: PlayableAudio): boolean {
  if (to === audio || to.contentType !== audio.contentType || to.contentType === 'audio/ogg') return false;
  return metaint === null || to.metaint === metaint;
}

/** As if it had asked for it. */
function requestOf({ mount, address, agent, referer }: ListenerClient): ListenerRequest {
  const headers: Readonly<Record<string, string>> = { 'user-agent': agent, referer };
  return { method: 'GET', url: mount, address, header: (name) => headers[name] };
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
