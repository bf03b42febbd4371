/**
 * Whose the titles of a channel's source are: a name for each sender from its first frame on air to its last, pauses up to RETURNS_MS included. A
 * title carries that name, so it is known as another's in any process, on any machine (src/now-playing/README.md, "Whose title"). Owned by
 * service.ts.
 */

import type { Clock } from '../base/clock.js';
import { realNow } from '../now-playing/effect.js';
import { RETURNS_MS } from '../now-playing/fallback.js';
import type { ChannelState } from '../now-playing/state.js';
import type { Source } from '../source/source.js';

export interface Speaker {
  readonly name: string;
  /** Since when it is on air, without a pause, monotonic milliseconds. */
  readonly sinceMs: number;
}

interface Known extends Speaker {
  readonly sender: string;
  /** When it went off the air; null: it is there. */
  leftMs: number | null;
  sinceMs: number;
}

export class Speakers {
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();
  /** Channel → when it was last known that another machine feeds it. */
  readonly #lostMs = new Map<string, number>();
  readonly #startedMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedMs = clock.now();
  }

  /** The one on air now. @param onAir the channel's source */
  see(channel: string, onAir: Source | null, state: ChannelState): Speaker | undefined {
    const nowMs = this.#clock.now();
    const known = this.#known.get(channel);
    const sender = onAir?.state === 'up' ? onAir.sender : undefined;
    if (sender === undefined) {
      if (known !== undefined) known.leftMs ??= nowMs;
      return undefined;
    }
    if (known?.sender === sender && (known.leftMs === null || nowMs - known.leftMs <= RETURNS_MS)) {
      if (known.leftMs !== null) known.sinceMs = nowMs;
      known.leftMs = null;
      return known;
    }
    const sinceMs = this.#lostMs.get(channel) ?? this.#startedMs;
    const said = realNow(state)?.saidBy;
    const isBack = known === undefined && said?.startsWith(`${sender}.`) === true && nowMs - sinceMs <= RETURNS_MS;
    const name = isBack ? said : `${sender}.${Math.round(this.#clock.wallMs())}`;
    const speaker = { name, sender, sinceMs: nowMs, leftMs: null };
    this.#known.set(channel, speaker);
    return speaker;
  }

  /** Another machine feeds the channel. */
  lose(channel: string): undefined {
    this.#known.delete(channel);
    this.#lostMs.set(channel, this.#clock.now());
  }

  /** The channel has gone. */
  forget(channel: string): void {
    this.#known.delete(channel);
    this.#lostMs.delete(channel);
  }
}
