/**
 * Playing listeners: adds them to the audience, and moves them to another channel on the same connection when an operator requests it, or while
 * their channel has a fallback and no audio (fallbacks.ts).
 *
 *   home has audio ──► silent, and its tape played to the end ──► first fallback with audio that fits their head
 *          ▲                                                        │
 *          └── home's tape grows again ◄────────────────────────────┘        without a fallback they stay
 *
 * Invariant: a moving listener is counted at its destination before it leaves, and moves at the end of a segment.
 */

import type { Socket } from 'node:net';
import type { PlayableAudio } from '../../audio/playable-audio.js';
import { NOTHING } from '../../audio/tape/segment.js';
import type { AlarmHandler, Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import type { Mount } from '../../channel/mount.js';
import type { Audience } from '../../listener/cursor/audience.js';
import type { Listener } from '../../listener/cursor/listener.js';
import type { ListenerClient } from '../../listener/cursor/listener-start.js';
import type { ListenerRequest, ListenerStats } from '../../listener/listener-stats.js';
import type { Sessions } from '../../listener/sessions/sessions.js';
import type { Fallbacks } from './fallbacks.js';
import {
  canBegin,
  type Destination,
  fits,
  hasAudioSoon,
  isReady,
  type MovingListener,
  NOT_MOVED,
  type Stay,
} from './stay.js';

/** How often listeners are moved to fallbacks, and back. */
const CHECK_MS = 200;
/** Listeners move after this silence: another source may follow sooner, or audio may be on its way from another process. */
const SILENT_MS = 500;
/** Limits the moves in one check, so that a crowd does not block the event loop. Then the next check follows at once. */
const MAX_PER_CHECK = 200;
/** Minimum burst on another tape of the same channel: the last tape was played to its end, except the open segment. */
const OPEN_MS = 1000;

export interface PlayersOptions {
  /** The burst of new listeners. */
  readonly burstMs: number;
  /** How long to wait for a tape from another process. */
  readonly startTimeoutMs: number;
  readonly log: Log;
  /** The mounts to which listeners can be moved, by path. Absent: none. */
  readonly mounts?: ReadonlyMap<string, Mount>;
  readonly fallbacks?: Fallbacks;
}

export class Players implements AlarmHandler {
  readonly #audience: Audience;
  readonly #sessions: Sessions;
  readonly #stats: ListenerStats;
  readonly #clock: Clock;
  readonly #options: PlayersOptions;
  readonly #moving = new Map<Listener, MovingListener>();
  /** Listeners that are not at their home channel. */
  readonly #away = new Map<Listener, Stay>();
  /** Channels that have a fallback and no audio → when this was first observed. */
  readonly #silentSinceMs = new Map<string, number>();
  /** On-demand channels with listeners away from them. Each counts as one listener there, since otherwise its source would never run again. */
  readonly #missed = new Set<PlayableAudio>();
  #checkMs = 0;

  constructor(audience: Audience, sessions: Sessions, stats: ListenerStats, clock: Clock, options: PlayersOptions) {
    this.#audience = audience;
    this.#sessions = sessions;
    this.#stats = stats;
    this.#clock = clock;
    this.#options = options;
  }

  /** Adds a listener, which is counted at its channel already (`stay.admitted`). */
  join(socket: Socket, head: Buffer, burstMs: number, stay: Stay, from?: Listener): void {
    const { audio, home, metaint, phase, admitted, session, connection } = stay;
    // No check has run since the last listener left.
    if (this.#audience.playing === 0) this.#silentSinceMs.clear();
    const { client, counted, readAheadMs, format, endMs, cut, before = NOT_MOVED } = stay;
    const listener = this.#audience.join(socket, audio, head, {
      icy: metaint !== null,
      burstMs,
      session,
      readAheadMs,
      endsOnFormatChange: format !== null,
      limitMs: endMs - this.#clock.now(),
      client,
      cut,
      phase,
      ...(from !== undefined && { before: from }),
      onEnd: ({ ending, bytes, lastedMs }) => {
        admitted.end(before.lastedMs + lastedMs);
        this.#stats.leave(counted, before.bytes + bytes, before.countedMs + lastedMs);
        const seconds = Math.round(lastedMs / 1000);
        this.#options.log.debug({ connection, channel: audio.key, ending, seconds, bytes }, 'listener ended');
      },
      onMove: (listener, path, comesBack) => this.#move(listener, path, stay, comesBack),
      onOver: (listener) => this.#resume(listener, stay),
    });
    if (home.audio !== audio) this.#away.set(listener, stay);
  }

  onAlarm(nowMs: number): void {
    if (this.#moving.size > 0) this.#moveWaiting(nowMs);
    if (nowMs < this.#checkMs) return;
    this.#checkMs = nowMs + CHECK_MS;
    let left = this.#moveFromFallbacks(MAX_PER_CHECK);
    this.#wantHomes();
    for (const key of this.#options.fallbacks?.channels ?? []) left = this.#moveToFallback(key, nowMs, left);
    if (left === 0) this.#checkMs = nowMs;
  }

  /** Whether `onAlarm` has nothing to do before a listener joins. */
  get isIdle(): boolean {
    return this.#audience.playing === 0 && this.#moving.size === 0 && this.#away.size === 0 && this.#missed.size === 0;
  }

  /** Moves the listeners of a channel that has lost its audio. Returns how many more may be moved now. */
  #moveToFallback(key: string, nowMs: number, most: number): number {
    const home = this.#options.mounts?.get(`/${key}`);
    if (home === undefined || canBegin(home)) {
      this.#silentSinceMs.delete(key);
      return most;
    }
    const sinceMs = this.#silentSinceMs.get(key) ?? nowMs;
    this.#silentSinceMs.set(key, sinceMs);
    if (nowMs - sinceMs < SILENT_MS || home.audio.playing === 0) return most;
    const standIns = this.#options.fallbacks!.of(key).filter(canBegin);
    if (standIns.length === 0) return most;
    let left = most;
    for (const listener of this.#listenersOf(key)) {
      if (left === 0) break;
      if (this.#away.has(listener) || this.#moving.has(listener)) continue;
      // It plays the rest of its tape first.
      listener.heldBackMs = 0;
      if (listener.isAtEdge && standIns.some(({ path }) => listener.move(path, true))) left--;
    }
    return left;
  }

  #listenersOf(channel: string): Listener[] {
    const found: Listener[] = [];
    for (const listener of this.#audience.all()) if (listener.channel === channel) found.push(listener);
    return found;
  }

  /** Moves listeners back home if it has audio again, or to another fallback. Returns how many more may be moved now. */
  #moveFromFallbacks(most: number): number {
    let left = most;
    for (const [listener, stay] of this.#away) {
      if (left === 0) break;
      if (listener.slot < 0) this.#away.delete(listener);
      else if (!this.#moving.has(listener) && this.#moveOn(listener, stay)) left--;
    }
    return left;
  }

  #wantHomes(): void {
    const missed = new Set<PlayableAudio>();
    for (const { home } of this.#away.values()) if (home.onDemand) missed.add(home.audio);
    for (const audio of this.#missed) {
      if (missed.has(audio)) continue;
      this.#missed.delete(audio);
      this.#audience.leave(audio);
    }
    for (const audio of missed) {
      if (this.#missed.has(audio)) continue;
      this.#missed.add(audio);
      this.#audience.enter(audio);
    }
  }

  #moveOn(listener: Listener, stay: Stay): boolean {
    const { home, audio } = stay;
    for (const mount of [home, ...(this.#options.fallbacks?.of(home.audio.key) ?? [])]) {
      if (!canBegin(mount)) continue;
      if (mount.audio === audio) return false;
      if (fits(stay, mount.audio)) {
        this.#moveTo(listener, mount, stay, true);
        return true;
      }
    }
    return false;
  }

  /** @param comesBack whether it returns when its home has audio */
  #move(listener: Listener, path: string, stay: Stay, comesBack: boolean): boolean {
    const mount = this.#options.mounts?.get(path);
    // The first listener to arrive wakes a channel at rest; the others wait for the same burst.
    if (mount === undefined || !hasAudioSoon(mount)) return false;
    // The destination is the fallback that it plays already, which becomes its home.
    if (!comesBack && mount.audio === stay.audio && stay.home.audio !== stay.audio) {
      this.#away.delete(listener);
      stay.home = mount;
      return true;
    }
    if (mount.audio === stay.audio || !fits(stay, mount.audio)) return false;
    this.#moveTo(listener, mount, comesBack ? stay : { ...stay, home: mount }, false);
    return true;
  }

  /** Its channel has another tape: from another node, or from a process that has lost the previous one. */
  #resume(listener: Listener, stay: Stay): boolean {
    if (this.#moving.has(listener)) return true;
    const { audio, client } = stay;
    if ((audio.tape === undefined && audio.isComing !== true) || !fits(stay, audio)) return false;
    this.#moveTo(listener, { audio, path: client.mount }, stay, false);
    return true;
  }

  /** Counts the listener at its destination. If that tape is in another process, it moves once the tape has arrived, or stays. */
  #moveTo(listener: Listener, mount: Destination, stay: Stay, isGrowing: boolean): void {
    this.#cancelMove(listener);
    // It is counted at its own channel already.
    if (mount.audio !== stay.audio) this.#audience.enter(mount.audio);
    const untilMs = this.#clock.now() + this.#options.startTimeoutMs + mount.audio.delayMs;
    const moving: MovingListener = { mount, stay, untilMs, seen: isGrowing ? { tape: undefined, head: 0 } : null };
    if (isReady(moving)) this.#moveNow(listener, moving);
    else this.#moving.set(listener, moving);
  }

  #moveWaiting(nowMs: number): void {
    for (const [listener, moving] of this.#moving) {
      if (listener.slot >= 0 && nowMs < moving.untilMs && !isReady(moving)) continue;
      if (listener.slot < 0 || !isReady(moving)) {
        this.#cancelMove(listener);
        // Its old tape has ended.
        if (moving.mount.audio === moving.stay.audio) listener.end('format');
      } else {
        this.#moving.delete(listener);
        this.#moveNow(listener, moving);
      }
    }
  }

  #cancelMove(listener: Listener): void {
    const moving = this.#moving.get(listener);
    if (moving === undefined) return;
    this.#moving.delete(listener);
    if (moving.mount.audio !== moving.stay.audio) this.#audience.leave(moving.mount.audio);
  }

  /** Its stream is at the end of a segment, after an ICY block, where the other tape can continue it. */
  #moveNow(listener: Listener, { mount: { audio, path }, stay, seen }: MovingListener): void {
    if (audio === stay.audio) this.#audience.enter(audio);
    const end = fits(stay, audio) ? listener.owner!.release() : null;
    if (end === null) {
      this.#audience.leave(audio);
      if (audio === stay.audio) listener.end('format');
      return;
    }
    this.#away.delete(listener);
    const before = stay.before ?? NOT_MOVED;
    const [bytes, countedMs] = [before.bytes + end.bytes, before.countedMs + end.lastedMs];
    const lastedMs = before.lastedMs + end.lastedMs;
    // On another tape of its own channel it counts as the same listener.
    const isSame = audio === stay.audio;
    if (!isSame) this.#stats.leave(stay.counted, bytes, countedMs);
    if (stay.session !== null) this.#sessions.move(stay.session, audio.key, path);
    const client = { ...stay.client, mount: path };
    // No burst from a tape that grows again, since its audio is old.
    const burstMs = seen === null ? Math.max(this.#options.burstMs, isSame ? OPEN_MS : 0) : 0;
    const next: Stay = {
      ...stay,
      before: isSame ? { lastedMs, countedMs, bytes } : { lastedMs, countedMs: 0, bytes: 0 },
      audio,
      client,
      cut: end.cut,
      counted: isSame
        ? stay.counted
        : this.#stats.join(audio.key, requestOf(client, stay.playbackSession), stay.session?.metaid ?? null),
    };
    this.join(listener.socket, NOTHING, burstMs, next, listener);
  }
}

/** The request that the listener would have sent for its destination. */
function requestOf({ mount, address, agent, referer }: ListenerClient, playbackSession?: string): ListenerRequest {
  const headers = { 'user-agent': agent, referer, 'x-playback-session-id': playbackSession };
  return { method: 'GET', url: mount, address, header: (name) => headers[name as keyof typeof headers] };
}
