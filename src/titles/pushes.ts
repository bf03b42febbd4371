/**
 * Pushes, as HTTP hands them on: which token may push to which channel, and what a push changes. Decided on the last committed state, wherever
 * that is committed: the engine is asked, and the answer comes after its commit and after this process's readers.
 */

import { ChannelCounter } from '../base/channel-counter.js';
import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import { Refusal } from '../base/refusal.js';
import type { ChannelRules } from '../channel/rules.js';
import { secretMatches } from '../config/secret.js';
import { type PushInput, withoutEntities } from '../metadata/push-input.js';
import { type ChannelFace, RecordView } from '../metadata/view.js';
import { acceptPush, type Pushed } from '../now-playing/now-playing.js';
import type { Engine } from './engine.js';
import type { Moments } from './moments.js';

export interface PushParts {
  readonly engine: Engine;
  readonly moments: Moments;
  readonly channels: ReadonlyMap<string, ChannelRules>;
  readonly faces: ReadonlyMap<string, ChannelFace>;
  readonly clock: Clock;
  readonly log: Log;
  /** How many pushes of a channel may wait for their time. */
  readonly heldPushes: number;
  /** Whether the readers of a channel get the record with this version later. */
  isWaiting(channel: string, version: number): boolean;
  /** Does what is due on a channel: a held push that is due at this moment comes before a new one. */
  onPush(channel: string): void;
}

export interface AcceptedPush {
  /** The answer's. */
  readonly json: string;
  /** Whether this process's readers were written to: not yet where it waits for its time or they get it later, not at all where it repeats. */
  readonly isPublished: boolean;
}

export class Pushes {
  readonly #parts: PushParts;
  /** Pushes whose time was too far ahead to hold them: the clock of the sender is wrong, or ours. */
  readonly #farAhead: ChannelCounter;
  /** Pushes of which something was not taken. */
  readonly #ignoring: ChannelCounter;

  constructor(parts: PushParts) {
    const { clock, log } = parts;
    this.#parts = parts;
    this.#farAhead = new ChannelCounter(clock, (channel, pushes) =>
      log.warn({ channel, pushes }, 'pushes come with a time too far ahead: it is ignored; is a clock wrong?'),
    );
    this.#ignoring = new ChannelCounter(clock, (channel, pushes, fields) =>
      log.warn({ channel, pushes, fields }, 'fields of pushes are not taken: they are unknown, or cannot be read'),
    );
  }

  /** Whether the token may push to the channel. Finding out takes the same time for an unknown channel. */
  authorizes(channel: string, token: string): boolean {
    const found = this.#parts.channels.get(channel);
    return found === undefined ? secretMatches([], token) : found.authorizesPush(token);
  }

  /** Takes a push; resolves after commit and readers. Rejects with a Refusal. */
  async push(channel: string, input: PushInput): Promise<AcceptedPush> {
    const { engine, moments, channels, faces, heldPushes, isWaiting, onPush } = this.#parts;
    const { titlesFrom, holdSeconds, pushDecodesEntities } = channels.get(channel)!;
    if (!titlesFrom.includes('metapush')) {
      throw new Refusal('invalid', 'This channel takes no pushed titles: metapush is not in its titlesFrom.');
    }
    const rules = { holdSeconds, heldPushes };
    const meant = pushDecodesEntities ? withoutEntities(input) : input;
    onPush(channel);
    let pushed: Pushed | undefined;
    await engine.update(channel, (state) => (pushed = acceptPush(state, meant, moments.of(channel), rules)).change);
    const { answer, change, isFarAhead } = pushed!;
    if (isFarAhead) this.#farAhead.count(channel);
    const record = change?.record ?? null;
    const isPublished = record !== null && !isWaiting(channel, record.version);
    return { json: new RecordView(answer, faces.get(channel)!).pushAnswer(), isPublished };
  }

  /** Of an accepted push some fields were not taken. */
  ignored(channel: string, fields: readonly string[]): void {
    this.#ignoring.count(channel, fields.join(', '));
  }

  /** Channel → how many pushes had fields that were not taken, for metrics. */
  get ignoring(): ReadonlyMap<string, { readonly count: number }> {
    return this.#ignoring.counts;
  }

  /** Channel → how many pushes had a time too far ahead, for metrics. */
  get farAhead(): ReadonlyMap<string, { readonly count: number }> {
    return this.#farAhead.counts;
  }
}
