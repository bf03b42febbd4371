/**
 * What happens once a second for the whole server: listeners of a channel without audio are let go, tapes that nothing needs are
 * dropped, stale nexts and sessions are forgotten, and what else is asked for.
 */

import type { Alarm, AlarmHandler, Clock } from '../base/clock.js';
import type { Channel } from '../channel/channel.js';
import type { Audience } from '../listener/audience.js';
import type { Sessions } from '../listener/sessions.js';
import type { TitleService } from '../titles/service.js';

const SECOND_MS = 1000;

export interface HousekeepingParts {
  readonly clock: Clock;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly audience: Audience;
  readonly sessions: Sessions;
  readonly titles: TitleService;
  /** A listener that has had no audio for this long is let go. */
  readonly silenceMs: number;
}

export class Housekeeping implements AlarmHandler {
  readonly #parts: HousekeepingParts;
  readonly #tasks: readonly (() => void)[];
  #alarm: Alarm;

  /** @param tasks what else is due once a second */
  constructor(parts: HousekeepingParts, tasks: readonly (() => void)[]) {
    this.#parts = parts;
    this.#tasks = tasks;
    this.#alarm = parts.clock.alarm(parts.clock.now() + SECOND_MS, this);
  }

  stop(): void {
    this.#alarm.cancel();
  }

  onAlarm(nowMs: number): void {
    const { clock, channels, audience, sessions, titles, silenceMs } = this.#parts;
    for (const { key, audio, silentSinceMs } of channels.values()) {
      const silentMs = nowMs - silentSinceMs;
      if (silentMs > silenceMs && audio.playing > 0) audience.endAll('silence', key);
      if (silentMs > SECOND_MS) audio.release();
    }
    titles.tidy();
    sessions.purge();
    for (const task of this.#tasks) task();
    this.#alarm = clock.alarm(nowMs + SECOND_MS, this);
  }
}
