/**
 * What happens once a second for the whole house: listeners of a channel without audio are let go, tapes nobody needs are
 * dropped, stale nexts and sessions are forgotten. And what metrics see when somebody scrapes.
 */

import type { Alarm, AlarmHandler, Clock } from '../base/clock.js';
import type { Channel } from '../channel/channel.js';
import type { Audience } from '../listener/audience.js';
import type { ListenerStats } from '../listener/listener-stats.js';
import type { Sessions } from '../listener/sessions.js';
import type { TitleService } from '../titles/service.js';
import type { ConnectionFigures, Figures } from './metrics.js';

const SECOND_MS = 1000;

export interface HousekeepingParts {
  readonly clock: Clock;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly audience: Audience;
  readonly listenerStats: ListenerStats;
  readonly sessions: Sessions;
  readonly titles: TitleService;
  /** A listener who has had no audio for this long is let go. */
  readonly silenceMs: number;
}

export class Housekeeping implements AlarmHandler {
  readonly #parts: HousekeepingParts;
  readonly #also: (() => void)[] = [];
  #alarm: Alarm;

  constructor(parts: HousekeepingParts) {
    this.#parts = parts;
    this.#alarm = parts.clock.alarm(parts.clock.now() + SECOND_MS, this);
  }

  /** Something else that is due once a second. */
  everySecond(task: () => void): void {
    this.#also.push(task);
  }

  stop(): void {
    this.#alarm.cancel();
  }

  onAlarm(nowMs: number): void {
    const { clock, channels: programmes, audience, sessions, titles: door, silenceMs } = this.#parts;
    for (const { key, audio: channel, silentSinceMs } of programmes.values()) {
      const silentMs = nowMs - silentSinceMs;
      if (silentMs > silenceMs && channel.listeners > 0) audience.endAll('silence', key);
      if (silentMs > SECOND_MS) channel.release();
    }
    door.tidy();
    sessions.purge();
    for (const task of this.#also) task();
    this.#alarm = clock.alarm(nowMs + SECOND_MS, this);
  }

  figures(watchers: () => number, connections: () => ConnectionFigures, secretsWaiting: () => number): Figures {
    const { channels: programmes, audience, listenerStats, sessions, titles: door } = this.#parts;
    return {
      channels: () =>
        [...programmes.values()].map((programme) => ({
          channel: programme.key,
          listeners: programme.audio.listeners,
          unique: listenerStats.counts(programme.key).listeners,
          audioSeconds: programme.audio.audioMs / 1000,
          sources: programme.switch.sources.map((source, place) => ({
            kind: source.kind,
            up: source.state === 'up',
            heard: programme.switch.heard === source,
            health: programme.switch.healths[place]!,
          })),
        })),
      bytesByChannel: () => audience.bytesByChannel(),
      endings: () => audience.endings,
      watchers,
      connections,
      secretsWaiting,
      sessions: () => sessions.count,
      farAhead: () => door.farAhead,
      heldTitles: () => door.heldTitles,
      kernel: audience.backlog,
      lostLines: () => listenerStats.lostLines,
    };
  }
}
