/**
 * `GET /{mount}`: admits a listener, waits for audio if some may come, and passes its socket and the answer's head to the audience. The
 * body is close-delimited, without any HTTP objects (src/http/stream/README.md, "Answers").
 */

import { type Format, formatOf } from '../../audio/frames/format.js';
import { Phase } from '../../audio/tape/phase.js';
import { NOTHING } from '../../audio/tape/segment.js';
import type { AlarmHandler, Clock, Ticker } from '../../base/clock.js';
import { type Refusal, retryLater, shuttingDown } from '../../base/refusal.js';
import type { Mount } from '../../channel/mount.js';
import type { Audience } from '../../listener/cursor/audience.js';
import { StreamHeads } from '../../listener/cursor/stream-heads.js';
import type { ListenerStats } from '../../listener/listener-stats.js';
import { ofAgent } from '../../listener/player/agent-table.js';
import { type ReadingPlayers, readAheadMs } from '../../listener/player/reading-players.js';
import type { Session } from '../../listener/sessions/session.js';
import type { Sessions } from '../../listener/sessions/sessions.js';
import { asRefusal } from '../problem.js';
import type { Admission, Admitted } from './admission.js';
import { clientOf, metaidOf, metaintOf, readBytesOf } from './player-request.js';
import { Players, type PlayersOptions } from './players.js';
import { answerProbe, firstBytes, probedBytes } from './probe.js';
import { canBegin, hasAudioSoon, isTapeHere, isWorthWaiting } from './stay.js';
import type { StreamRequest } from './stream-request.js';

/** Limits the starts in one tick, so that a crowd does not block the event loop after a restart. */
const MAX_PER_TICK = 50;
/** Retry-After of a refused listener. */
const RETRY_SECONDS = 5;

export interface StreamOptions extends PlayersOptions {
  /** Players that show a title as soon as they read it. */
  readonly showsOnReading: ReadingPlayers;
  /** Players that cannot follow a change of sample rate or channels: the beginning of a product in their User-Agent → formats. */
  readonly endsOnFormatChange: Readonly<Record<string, readonly Format[]>>;
  /** Gets the error that caused a 500. */
  onError(error: unknown): void;
}

interface WaitingListener {
  readonly request: StreamRequest;
  /** As requested. */
  readonly home: Mount;
  /** `home` or a fallback. */
  mount: Mount;
  readonly admitted: Admitted;
  untilMs: number;
  /** Whether a source on demand was started but has not delivered in time. */
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
  readonly #ticker: Ticker;
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
    this.#ticker = clock.everyTick(this);
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
    if (this.#waiting.length === 0) {
      if (this.#players.isIdle) this.#ticker.rest();
      return;
    }
    let left = this.#closed ? Number.POSITIVE_INFINITY : MAX_PER_TICK;
    this.#waiting = this.#waiting.filter((waiting) => {
      if (left === 0 || !this.#settle(waiting, nowMs)) return true;
      left--;
      return false;
    });
  }

  /** Takes no more listeners, and refuses waiting ones. */
  close(): void {
    this.#closed = true;
    this.onAlarm(this.#clock.now());
  }

  #admit(request: StreamRequest, mount: Mount): void {
    this.#admission.check(request, mount);
    const admitted = this.#admission.enter(request, mount);
    if (typeof admitted === 'string') {
      this.#options.log.debug({ connection: request.connection, mount: mount.path }, 'listener sent to the overflow');
      request.redirect(admitted);
    } else if (mount.access === 'hook') {
      this.#ask(request, mount, admitted).catch((error: unknown) => this.#options.onError(error));
    } else this.#begin(request, mount, admitted);
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

  async #ask(request: StreamRequest, mount: Mount, admitted: Admitted): Promise<void> {
    try {
      request.wait();
      const refusal = await this.#admission.ask(request, admitted);
      if (refusal !== null) throw refusal;
      if (this.#closed) throw shuttingDown(RETRY_SECONDS);
    } catch (error) {
      this.#turnAway(request, admitted, error);
      return;
    }
    if (request.gone) admitted.leave();
    else this.#begin(request, mount, admitted);
  }

  /** Plays, or waits for audio. Never throws: on an error the listener is refused and no longer counted. */
  #begin(request: StreamRequest, home: Mount, admitted: Admitted): void {
    try {
      const mount = this.#playable(home);
      admitted.moveTo(mount.audio);
      if (canBegin(mount) && isTapeHere(mount)) this.#play(request, mount, admitted, home);
      else if (isWorthWaiting(mount)) {
        request.wait();
        this.#options.log.debug(
          { connection: request.connection, channel: mount.audio.key },
          'listener waits for audio',
        );
        // A delay line may have to fill.
        const untilMs = this.#clock.now() + this.#options.startTimeoutMs + mount.audio.delayMs;
        this.#ticker.run();
        this.#waiting.push({ request, home, mount, admitted, untilMs, hasWoken: false });
      } else throw noAudio();
    } catch (error) {
      this.#turnAway(request, admitted, error);
    }
  }

  #turnAway(request: StreamRequest, admitted: Admitted, why: unknown): void {
    admitted.leave();
    this.#refuse(request, why);
  }

  /** Returns whether its wait is over. */
  #settle(waiting: WaitingListener, nowMs: number): boolean {
    const { request, home, admitted } = waiting;
    if (!request.gone && !this.#closed) this.#update(waiting, nowMs);
    const { mount, untilMs } = waiting;
    if (request.gone) admitted.leave();
    else if (canBegin(mount) && isTapeHere(mount) && !this.#closed) this.#tryPlay(request, mount, admitted, home);
    else if (nowMs >= untilMs || !isWorthWaiting(mount) || this.#closed) this.#turnAway(request, admitted, noAudio());
    else return false;
    return true;
  }

  /** Chooses the mount to play again. */
  #update(waiting: WaitingListener, nowMs: number): void {
    const { home, admitted } = waiting;
    const isLate = nowMs >= waiting.untilMs && !waiting.hasWoken;
    if (isLate && home.onDemand) waiting.hasWoken = true;
    const mount = this.#playable(home, waiting);
    if (mount === waiting.mount) return;
    waiting.mount = mount;
    admitted.moveTo(mount.audio);
    if (isLate) waiting.untilMs = nowMs + this.#options.startTimeoutMs;
  }

  /** The mount, or a fallback while it has no audio. @param waiting counted already; may have started a source in vain */
  #playable(home: Mount, { hasWoken, mount: own }: Partial<WaitingListener> = {}): Mount {
    if (hasAudioSoon(home) || (home.onDemand && hasWoken !== true)) return home;
    const standIns = this.#options.fallbacks?.of(home.audio.key);
    const open = (standIns ?? []).filter((mount) => mount === own || this.#admission.hasRoom(mount));
    return open.find(hasAudioSoon) ?? open.find(({ onDemand }) => onDemand) ?? home;
  }

  #tryPlay(request: StreamRequest, mount: Mount, admitted: Admitted, home: Mount): void {
    try {
      this.#admission.checkAddress(request.address);
      this.#play(request, mount, admitted, home);
    } catch (error) {
      this.#turnAway(request, admitted, error);
    }
  }

  #play(request: StreamRequest, mount: Mount, admitted: Admitted, home: Mount): void {
    const { audio } = mount;
    const metaint = metaintOf(request, audio);
    const head = this.#heads.head(mount.facts, audio, metaint, request.addressHeaders);
    const probed = probedBytes(request);
    if (probed > 0) {
      admitted.leave();
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
    this.#ticker.run();
    this.#players.join(request.take(), head, burstMs, {
      audio,
      home,
      contentType,
      metaint,
      admitted,
      session,
      cut: NOTHING,
      phase: metaint === null || metaint === audio.metaint ? null : new Phase(metaint),
      connection,
      client: clientOf(request, mount),
      playbackSession: request.header('x-playback-session-id'),
      counted: this.#stats.join(audio.key, request, session?.metaid ?? null),
      readAheadMs: readAheadMs(showsOnReading, agent),
      format: endsOn ? { sampleRate, channels } : null,
      endMs: this.#clock.now() + admitted.limitMs,
    });
  }

  /** Answers like a GET, without counting the listener. */
  #admitHead(request: StreamRequest, mount: Mount): void {
    this.#admission.check(request, mount);
    const overflow = this.#admission.room(request, mount);
    if (overflow !== null) request.redirect(overflow);
    else if (mount.access === 'hook')
      this.#askForHead(request, mount).catch((error: unknown) => this.#options.onError(error));
    else this.#headOnly(request, mount);
  }

  async #askForHead(request: StreamRequest, mount: Mount): Promise<void> {
    try {
      request.wait();
      const refusal = await this.#admission.askForHead(request);
      if (refusal !== null) throw refusal;
      if (this.#closed) throw shuttingDown(RETRY_SECONDS);
      if (!request.gone) this.#headOnly(request, mount);
    } catch (error) {
      this.#refuse(request, error);
    }
  }

  /** Answers at once, even without audio if a source may start on demand. */
  #headOnly(request: StreamRequest, home: Mount): void {
    const mount = this.#playable(home);
    // A HEAD starts no source on demand, whose metaint is unknown until it runs.
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
  return retryLater('unavailable', 'This mount has no audio at the moment.', RETRY_SECONDS);
}
