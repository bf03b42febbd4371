/**
 * Those who play: joins them to the audience, and lets them go on at another channel on the same connection, where an operator moves them, or while
 * theirs has no audio and another one stands in for it (fallbacks.ts).
 *
 *   home has audio ──► silent, and its tape heard to the end ──► first stand-in with audio whose stream their head fits
 *          ▲                                                        │
 *          └── home's tape grows again ◄────────────────────────────┘        no such one: they stay where they are
 *
 * Invariant: a listener that moves has a place where it goes before it leaves, and stands at the end of a segment.
 */

import type { Socket } from 'node:net';
import { NOTHING } from '../../audio/tape/segment.js';
import type { AlarmHandler, Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import type { Mount } from '../../channel/mount.js';
import type { Audience } from '../../listener/cursor/audience.js';
import type { Listener, ListenerClient } from '../../listener/cursor/listener.js';
import type { ListenerRequest, ListenerStats } from '../../listener/listener-stats.js';
import type { Sessions } from '../../listener/sessions/sessions.js';
import type { Fallbacks } from './fallbacks.js';
import { canBegin, fits, isReady, type MovingListener, NOT_MOVED, type Stay, type Where } from './stay.js';

/** How often it is looked for listeners whose channel has no audio, or has some again. */
const LOOK_MS = 200;
/** A source may be replaced at once; and what came last may still be on its way from another process. */
const SILENT_MS = 500;
/** As many are moved in one look: a crowd must not block the loop. The next look comes at once then. */
const MAX_PER_LOOK = 200;
/**
 * Who goes on with another tape of its channel has heard its last one to the edge, but for what was open there: it gets as much, with no burst too.
 */
const OPEN_MS = 1000;

export interface PlayersOptions {
  /** What listeners begin with, and have ahead. */
  readonly burstMs: number;
  /** How long a tape is waited for that is in another process. */
  readonly startTimeoutMs: number;
  readonly log: Log;
  /** Where listeners can be moved, by path. Absent: nowhere. */
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
  /** Those who are not where they are at home. */
  readonly #away = new Map<Listener, Stay>();
  /** Channels with a fallback and without audio → since when, as it was seen here. */
  readonly #silentSinceMs = new Map<string, number>();
  #lookMs = 0;

  constructor(audience: Audience, sessions: Sessions, stats: ListenerStats, clock: Clock, options: PlayersOptions) {
    this.#audience = audience;
    this.#sessions = sessions;
    this.#stats = stats;
    this.#clock = clock;
    this.#options = options;
  }

  /** The audience has counted it where it plays (its place). */
  join(socket: Socket, head: Buffer, burstMs: number, stay: Stay, from?: Listener): void {
    const { audio, home, metaint, phase, place, session, connection } = stay;
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
        place.end(before.lastedMs + lastedMs);
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
    if (this.#moving.size > 0) this.#moveThose(nowMs);
    if (nowMs < this.#lookMs) return;
    this.#lookMs = nowMs + LOOK_MS;
    let left = this.#lookAway(MAX_PER_LOOK);
    for (const key of this.#options.fallbacks?.channels ?? []) left = this.#lookAt(key, nowMs, left);
    if (left === 0) this.#lookMs = nowMs;
  }

  /** Of a channel that has lost its audio. Returns how many more may be moved now. */
  #lookAt(key: string, nowMs: number, most: number): number {
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
    for (const listener of this.#thoseOf(key)) {
      if (left === 0) break;
      if (this.#away.has(listener) || this.#moving.has(listener)) continue;
      // It hears its channel to the end.
      listener.heldBackMs = 0;
      if (listener.isAtEdge && standIns.some(({ path }) => listener.move(path, true))) left--;
    }
    return left;
  }

  #thoseOf(channel: string): Listener[] {
    const found: Listener[] = [];
    for (const listener of this.#audience.all()) if (listener.channel === channel) found.push(listener);
    return found;
  }

  /** Of those who are away: home has audio again, or what stands in for it is another one now. Returns how many more may be moved now. */
  #lookAway(most: number): number {
    let left = most;
    for (const [listener, stay] of this.#away) {
      if (left === 0) break;
      if (listener.slot < 0) this.#away.delete(listener);
      else if (!this.#moving.has(listener) && this.#goesOn(listener, stay)) left--;
    }
    return left;
  }

  #goesOn(listener: Listener, stay: Stay): boolean {
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

  /** @param comesBack when its home has audio */
  #move(listener: Listener, path: string, stay: Stay, comesBack: boolean): boolean {
    const mount = this.#options.mounts?.get(path);
    if (mount === undefined || !canBegin(mount)) return false;
    // It is there already, away from home.
    if (!comesBack && mount.audio === stay.audio && stay.home.audio !== stay.audio) {
      this.#away.delete(listener);
      stay.home = mount;
      return true;
    }
    if (mount.audio === stay.audio || !fits(stay, mount.audio)) return false;
    this.#moveTo(listener, mount, comesBack ? stay : { ...stay, home: mount }, false);
    return true;
  }

  /** Its channel has another tape: of two machines that fed it apart, or of a process that has lost the one before. */
  #resume(listener: Listener, stay: Stay): boolean {
    if (this.#moving.has(listener)) return true;
    const { audio, client } = stay;
    if ((audio.tape === undefined && audio.isComing !== true) || !fits(stay, audio)) return false;
    this.#moveTo(listener, { audio, path: client.mount }, stay, false);
    return true;
  }

  /** Takes a place where it goes. Where the tape is in another process it moves when that has come, or stays where it is. */
  #moveTo(listener: Listener, mount: Where, stay: Stay, isGrowing: boolean): void {
    this.#giveUp(listener);
    // At its own channel it has one.
    if (mount.audio !== stay.audio) this.#audience.enter(mount.audio);
    const untilMs = this.#clock.now() + this.#options.startTimeoutMs + mount.audio.delayMs;
    const moving: MovingListener = { mount, stay, untilMs, seen: isGrowing ? { tape: undefined, head: 0 } : null };
    if (isReady(moving)) this.#moveNow(listener, moving);
    else this.#moving.set(listener, moving);
  }

  #moveThose(nowMs: number): void {
    for (const [listener, moving] of this.#moving) {
      if (listener.slot >= 0 && nowMs < moving.untilMs && !isReady(moving)) continue;
      if (listener.slot < 0 || !isReady(moving)) {
        this.#giveUp(listener);
        // Where it was nothing comes any more.
        if (moving.mount.audio === moving.stay.audio) listener.end('format');
      } else {
        this.#moving.delete(listener);
        this.#moveNow(listener, moving);
      }
    }
  }

  #giveUp(listener: Listener): void {
    const moving = this.#moving.get(listener);
    if (moving === undefined) return;
    this.#moving.delete(listener);
    if (moving.mount.audio !== moving.stay.audio) this.#audience.leave(moving.mount.audio);
  }

  /** Its stream stands at the end of a segment, which is where a block ends: there the other tape begins. */
  #moveNow(listener: Listener, { mount: { audio, path }, stay, seen }: MovingListener): void {
    if (audio === stay.audio) this.#audience.enter(audio);
    const end = fits(stay, audio) ? listener.release() : null;
    if (end === null) {
      this.#audience.leave(audio);
      if (audio === stay.audio) listener.end('format');
      return;
    }
    this.#away.delete(listener);
    const before = stay.before ?? NOT_MOVED;
    const [bytes, countedMs] = [before.bytes + end.bytes, before.countedMs + end.lastedMs];
    const lastedMs = before.lastedMs + end.lastedMs;
    // With another tape of its channel it is the same listener of that.
    const isSame = audio === stay.audio;
    if (!isSame) this.#stats.leave(stay.counted, bytes, countedMs);
    if (stay.session !== null) this.#sessions.move(stay.session, audio.key, path);
    const client = { ...stay.client, mount: path };
    // What lies on a tape that grows again is from before.
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

/** As if it had asked for it. */
function requestOf({ mount, address, agent, referer }: ListenerClient, playbackSession?: string): ListenerRequest {
  const headers = { 'user-agent': agent, referer, 'x-playback-session-id': playbackSession };
  return { method: 'GET', url: mount, address, header: (name) => headers[name as keyof typeof headers] };
}
