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
  /** When it went off the air; null: it is on air. */
  leftMs: number | null;
  sinceMs: number;
}

/** Senders of a channel that are remembered. */
const MAX_KNOWN = 16;

export class Speakers {
  readonly #clock: Clock;
  /** Channel → sender → what is known of it; the one that was on air last is the last. */
  readonly #known = new Map<string, Map<string, Known>>();
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
    let known = this.#known.get(channel);
    const sender = onAir?.state === 'up' ? onAir.sender : undefined;
    const present = sender === undefined ? undefined : known?.get(sender);
    if (present?.leftMs === null) return present;
    // Another one is on air, or none.
    for (const one of known?.values() ?? []) one.leftMs ??= nowMs;
    if (sender === undefined) return undefined;
    if (known === undefined) this.#known.set(channel, (known = new Map()));
    const isBack = present !== undefined && nowMs - present.leftMs! <= RETURNS_MS;
    const name = isBack ? present.name : this.#nameOf(channel, sender, present === undefined ? state : null);
    const speaker = { name, sinceMs: nowMs, leftMs: null };
    known.delete(sender);
    known.set(sender, speaker);
    if (known.size > MAX_KNOWN) known.delete(known.keys().next().value!);
    const names = this.#names.get(channel) ?? [];
    if (!names.includes(name)) this.#names.set(channel, [name, ...names].slice(0, MAX_KNOWN));
    return speaker;
  }

  /** Whether a source of the channel has, or had, this name in this process. */
  isOwn(channel: string, name: string): boolean {
    return this.#names.get(channel)?.includes(name) ?? false;
  }

  /** @param state by which it may be known after a start; null: it is known to be a new one */
  #nameOf(channel: string, sender: string, state: ChannelState | null): string {
    const sinceMs = this.#lostMs.get(channel) ?? this.#startedMs;
    const said = state === null ? undefined : this.#saidBy(sender, state);
    const isKnown = said !== undefined && this.#clock.now() - sinceMs <= RETURNS_MS;
    return isKnown ? said : `${sender}.${Math.round(this.#clock.wallMs())}`;
  }

  /** Its name in the title in force, or in one that another source has ended since. */
  #saidBy(sender: string, state: ChannelState): string | undefined {
    const afterMs = this.#clock.wallMs() - RETURNS_MS;
    const recent = (state.ended ?? []).filter(({ toMs }) => toMs >= afterMs).map(({ record }) => record);
    return [realNow(state) ?? state.now, ...recent].find((one) => one?.saidBy?.startsWith(`${sender}.`))?.saidBy;
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
