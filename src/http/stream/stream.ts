/**
 * `GET /{mount}`: admits a listener, waits for audio where there is hope of some, and hands its bare socket with the answer's head
 * to the audience. HTTP's part is over then: the body is close-delimited (src/http/stream/README.md, "Answers").
 */

import { type Format, formatOf } from '../../audio/frames/format.js';
import { Phase } from '../../audio/tape/phase.js';
import { NOTHING } from '../../audio/tape/segment.js';
import type { AlarmHandler, Clock } from '../../base/clock.js';
import { type Refusal, retryLater, shuttingDown } from '../../base/refusal.js';
import type { Mount } from '../../channel/mount.js';
import type { Audience } from '../../listener/cursor/audience.js';
import { StreamHeads } from '../../listener/cursor/stream-heads.js';
import type { ListenerStats } from '../../listener/listener-stats.js';
import { ofAgent } from '../../listener/player/agent-table.js';
import { type ReadingPlayers, readAheadMs } from '../../listener/player/reading-players.js';
import type { Session, Sessions } from '../../listener/sessions/sessions.js';
import { asRefusal } from '../problem.js';
import type { Admission, Place } from './admission.js';
import { clientOf, metaidOf, metaintOf, readBytesOf } from './player-request.js';
import { Players, type PlayersOptions } from './players.js';
import { answerProbe, firstBytes, probedBytes } from './probe.js';
import { canBegin, isHere, isThere, isWorthWaiting } from './stay.js';
import type { StreamRequest } from './stream-request.js';

/** At most this many waiting listeners begin to play in one tick: a crowd that waited for a restart must not block the loop. */
const MAX_PER_TICK = 50;
/** When a player that is refused may come again. */
const RETRY_SECONDS = 5;

export interface StreamOptions extends PlayersOptions {
  /** Players that show a title when they read it. */
  readonly showsOnReading: ReadingPlayers;
  /** Players that cannot go on where sample rate or channels change: how a product in their user agent begins → in what. */
  readonly endsOnFormatChange: Readonly<Record<string, readonly Format[]>>;
  /** Called with what went wrong where the client learns only that something did. */
  onError(error: unknown): void;
}

/** A listener for which there is no audio yet. */
interface WaitingListener {
  readonly request: StreamRequest;
  /** What it asked for, and what it is to play: that, or what stands in for it. */
  readonly home: Mount;
  mount: Mount;
  readonly place: Place;
  untilMs: number;
  /** A source on demand has not come in time. */
  hasWoken: boolean;
}

export class Stream implements AlarmHandler {
  readonly #sessions: Sessions;
  readonly #stats: ListenerStats;
  readonly #admission: Admission;
  readonly #clock: Clock;
  readonly #options: StreamOptions;
  readonly #heads = new StreamHeads();
  readonly #players: Players;
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
    this.#admission = admission;
    this.#sessions = sessions;
    this.#stats = stats;
    this.#clock = clock;
    this.#options = options;
    this.#players = new Players(audience, sessions, stats, clock, options);
    clock.everyTick(this);
  }

  /** Answers GET and HEAD of this mount. */
  handle(request: StreamRequest, mount: Mount): void {
    try {
      if (this.#closed) throw shuttingDown(RETRY_SECONDS);
      if (request.method === 'HEAD') this.#admitHead(request, mount);
      else this.#admit(request, mount);
    } catch (error) {
      this.#refuse(request, error);
    }
  }

  onAlarm(nowMs: number): void {
    this.#players.onAlarm(nowMs);
    if (this.#waiting.length === 0) return;
    let left = this.#closed ? Number.POSITIVE_INFINITY : MAX_PER_TICK;
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
  #begin(request: StreamRequest, home: Mount, place: Place): void {
    try {
      const mount = this.#where(home);
      place.moveTo(mount.audio);
      if (canBegin(mount) && isHere(mount)) this.#play(request, mount, place, home);
      else if (isWorthWaiting(mount)) {
        request.wait();
        this.#options.log.debug(
          { connection: request.connection, channel: mount.audio.key },
          'listener waits for audio',
        );
        // A delay line that fills is waited for besides.
        const waitMs = this.#options.startTimeoutMs + mount.audio.delayMs;
        const untilMs = this.#clock.now() + waitMs;
        this.#waiting.push({ request, home, mount, place, untilMs, hasWoken: false });
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
  #settle(waiting: WaitingListener, nowMs: number): boolean {
    const { request, home, place } = waiting;
    if (!request.gone && !this.#closed) this.#look(waiting, nowMs);
    const { mount, untilMs } = waiting;
    if (request.gone) place.leave();
    else if (canBegin(mount) && isHere(mount) && !this.#closed) this.#tryPlay(request, mount, place, home);
    else if (nowMs >= untilMs || !isWorthWaiting(mount) || this.#closed) this.#turnAway(request, place, noAudio());
    else return false;
    return true;
  }

  /** What it is to play may be another one by now. */
  #look(waiting: WaitingListener, nowMs: number): void {
    const { home, place } = waiting;
    const isLate = nowMs >= waiting.untilMs && !waiting.hasWoken;
    if (isLate && home.onDemand) waiting.hasWoken = true;
    const mount = this.#where(home, waiting);
    if (mount === waiting.mount) return;
    waiting.mount = mount;
    place.moveTo(mount.audio);
    if (isLate) waiting.untilMs = nowMs + this.#options.startTimeoutMs;
  }

  /** A mount, or what stands in for it while it has no audio. @param waiting has a place already, and may have woken a source that has not come */
  #where(home: Mount, { hasWoken, mount: own }: Partial<WaitingListener> = {}): Mount {
    if (isThere(home) || (home.onDemand && hasWoken !== true)) return home;
    const standIns = this.#options.fallbacks?.of(home.audio.key) ?? [];
    return standIns.find((mount) => isThere(mount) && (mount === own || this.#admission.hasRoom(mount))) ?? home;
  }

  #tryPlay(request: StreamRequest, mount: Mount, place: Place, home: Mount): void {
    try {
      this.#play(request, mount, place, home);
    } catch (error) {
      this.#turnAway(request, place, error);
    }
  }

  /** @param home what it asked for */
  #play(request: StreamRequest, mount: Mount, place: Place, home: Mount): void {
    const { audio } = mount;
    const metaint = metaintOf(request, audio);
    const head = this.#heads.head(mount.facts, audio, metaint, request.addressHeaders);
    const probed = probedBytes(request);
    if (probed > 0) {
      place.leave();
      answerProbe(request.take(), Buffer.concat([head, firstBytes(audio.tape!, metaint !== null, probed)]));
      return;
    }
    const session = this.#session(request, mount);
    const { burstMs, showsOnReading, endsOnFormatChange, log } = this.#options;
    const agent = request.header('user-agent') ?? '';
    const { contentType, sampleRate, channels } = audio;
    const endsOn = ofAgent(endsOnFormatChange, agent)?.some((format) => format === formatOf(contentType));
    const { connection } = request;
    log.debug(
      { connection, address: request.address, channel: audio.key, mount: mount.path, icy: metaint !== null },
      'listener joined',
    );
    this.#players.join(request.take(), head, burstMs, {
      audio,
      home,
      contentType,
      metaint,
      place,
      session,
      cut: NOTHING,
      phase: metaint === null || metaint === audio.metaint ? null : new Phase(metaint),
      connection,
      client: clientOf(request, mount),
      playbackSession: request.header('x-playback-session-id'),
      counted: this.#stats.join(audio.key, request, session?.metaid ?? null),
      readAheadMs: readAheadMs(showsOnReading, agent),
      format: endsOn ? { sampleRate, channels } : null,
      endMs: this.#clock.now() + place.limitMs,
    });
  }

  /** As a GET would be, without a place of its own. */
  #admitHead(request: StreamRequest, mount: Mount): void {
    this.#admission.check(request, mount);
    const elsewhere = this.#admission.room(request, mount);
    if (elsewhere !== null) request.redirect(elsewhere);
    else if (mount.access === 'hook')
      this.#askForHead(request, mount).catch((error: unknown) => this.#options.onError(error));
    else this.#headOnly(request, mount);
  }

  /** The hook hears that it has gone again. */
  async #askForHead(request: StreamRequest, mount: Mount): Promise<void> {
    const asking: Pick<Place, 'limitMs' | 'onEnd'> = { limitMs: Number.POSITIVE_INFINITY, onEnd: null };
    try {
      request.wait();
      const refusal = await this.#admission.ask(request, asking);
      asking.onEnd?.(0);
      if (refusal !== null) throw refusal;
      if (this.#closed) throw shuttingDown(RETRY_SECONDS);
      if (!request.gone) this.#headOnly(request, mount);
    } catch (error) {
      this.#refuse(request, error);
    }
  }

  /** It never waits. */
  #headOnly(request: StreamRequest, home: Mount): void {
    const mount = this.#where(home);
    // An on-demand source is not woken for a HEAD: its metaint is not known yet.
    if (!canBegin(mount) && !mount.onDemand) throw noAudio();
    const metaint = metaintOf(request, mount.audio);
    request.answer(this.#heads.head(mount.facts, mount.audio, metaint, request.addressHeaders));
  }

  #session(request: StreamRequest, { audio, path }: Mount): Session | null {
    const metaid = metaidOf(request);
    if (metaid === null) return null;
    return this.#sessions.open({ metaid, channel: audio.key, mount: path, blockBytes: readBytesOf(request) });
  }
}

function noAudio(): Refusal {
  return retryLater('unavailable', 'This mount has no audio now.', RETRY_SECONDS);
}
