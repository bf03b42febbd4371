/**
 * Names the sender of a channel's titles: a source has one name from its first frame on air to its last, including pauses up to RETURNS_MS. Titles
 * carry that name, by which any process or machine tells one source's titles from another's (src/now-playing/README.md, "Whose title"). Owned by
 * title-service.ts.
 */

import type { Clock } from '../base/clock.js';
import { realNow } from '../now-playing/effect.js';
import { RETURNS_MS } from '../now-playing/fallback.js';
import type { ChannelState } from '../now-playing/state.js';
import type { Source } from '../source/source.js';

export interface Speaker {
  readonly name: string;
  /** When its present time on air began, monotonic milliseconds. */
  readonly sinceMs: number;
}

interface Known extends Speaker {
  readonly sender: string;
  /** When it went off the air; null: it is on air. */
  leftMs: number | null;
  sinceMs: number;
}

const MAX_NAMES = 8;

export class Speakers {
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();
  /** Channel → when another machine was last known to feed it. */
  readonly #lostMs = new Map<string, number>();
  readonly #startedMs: number;
  /** Channel → the last names of its sources in this process. */
  readonly #names = new Map<string, readonly string[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedMs = clock.now();
  }

  /** The present speaker. @param onAir the channel's source */
  update(channel: string, onAir: Source | null, state: ChannelState): Speaker | undefined {
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
    this.#names.set(channel, [name, ...(this.#names.get(channel) ?? [])].slice(0, MAX_NAMES));
    return speaker;
  }

  /** Whether a source of the channel has, or had, this name in this process. */
  isOwn(channel: string, name: string): boolean {
    return this.#names.get(channel)?.includes(name) ?? false;
  }

  /** Another machine feeds the channel. */
  lose(channel: string): undefined {
    this.#known.delete(channel);
    this.#lostMs.set(channel, this.#clock.now());
  }

  /** The channel was removed. */
  forget(channel: string): void {
    this.#known.delete(channel);
    this.#lostMs.delete(channel);
    this.#names.delete(channel);
  }
}
