/**
 * Pushes, as HTTP hands them on: which token may push to which channel, and what a push changes. Decided on the last committed state, wherever
 * that is committed: the engine is asked, and the answer comes after its commit and after this process's readers.
 */

import { createHash } from 'node:crypto';
import { ChannelCounter } from '../base/channel-counter.js';
import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import { Refusal } from '../base/refusal.js';
import type { ChannelRules } from '../channel/rules.js';
import { secretMatches } from '../config/secret.js';
import { type PushInput, withoutEntities } from '../metadata/push-input.js';
import { type Track, type TrackRecord, titleLine } from '../metadata/record.js';
import { type ChannelFace, RecordView } from '../metadata/view.js';
import { changeSilently, dropNext, realNow } from '../now-playing/effect.js';
import { acceptPush, type Pushed } from '../now-playing/now-playing.js';
import { takesCorrection } from '../now-playing/repeat.js';
import type { Engine } from './engine.js';
import type { MadeTokens } from './made-tokens.js';
import type { Moments } from './moments.js';

export interface PushParts {
  readonly engine: Engine;
  readonly moments: Moments;
  readonly channels: ReadonlyMap<string, { readonly rules: ChannelRules }>;
  readonly faces: ReadonlyMap<string, ChannelFace>;
  readonly clock: Clock;
  readonly log: Log;
  /** Tokens that operators have made. Absent: there are none. */
  readonly madeTokens?: MadeTokens;
  /** How many pushes of a channel may wait for their time. */
  readonly heldPushes: () => number;
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

/** The record in force. */
export interface InForce {
  readonly record: TrackRecord;
  /** Whether a push with its id corrects it; otherwise that push is another play. */
  readonly isCorrectable: boolean;
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
    const { channels, madeTokens } = this.#parts;
    const rules = channels.get(channel)?.rules;
    const sha256 = createHash('sha256').update(token, 'utf8').digest();
    // Both are always asked.
    const isMade = madeTokens?.has(channel, sha256) ?? false;
    const isConfigured = rules === undefined ? secretMatches([], sha256) : rules.authorizesPush(sha256);
    if (isConfigured) madeTokens?.use(`${channel} config-${rules!.placeOfToken(sha256)}`);
    return isConfigured || (isMade && rules !== undefined);
  }

  /** Takes a push; resolves after commit and readers. Rejects with a Refusal. @param connection its id, for the log */
  async push(channel: string, input: PushInput, connection?: string): Promise<AcceptedPush> {
    const { engine, moments, heldPushes, isWaiting, onPush, log } = this.#parts;
    const face = this.#faceOf(channel);
    const { titlesFrom, holdSeconds, pushDecodesEntities } = this.#parts.channels.get(channel)!.rules;
    if (!titlesFrom.includes('metapush')) {
      throw new Refusal('invalid', 'This channel takes no pushed titles: metapush is not in its titlesFrom.');
    }
    const rules = { holdSeconds, heldPushes: heldPushes() };
    const meant = pushDecodesEntities ? withoutEntities(input) : input;
    onPush(channel);
    let pushed: Pushed | undefined;
    await engine.update(channel, (state) => {
      pushed = acceptPush(state, meant, moments.of(channel), rules);
      return pushed.change === null ? null : { ...pushed.change, connection };
    });
    const { answer, change, isFarAhead } = pushed!;
    if (isFarAhead) this.#farAhead.count(channel);
    const record = change?.record ?? null;
    if (record === null) {
      const title = titleLine(answer);
      const isOver = change !== null && change.history.length > 0;
      const what = isOver ? 'a push corrects a title that is over' : 'a push waits for its time';
      log.debug(
        { channel, connection, title, startSeconds: answer.startSeconds },
        change === null ? 'a push repeats what is known' : what,
      );
    }
    const isPublished = record !== null && !isWaiting(channel, record.version);
    return { json: new RecordView(answer, face).pushAnswer(), isPublished };
  }

  /** @throws Refusal where the channel has gone since its token was read */
  #faceOf(channel: string): ChannelFace {
    const face = this.#parts.faces.get(channel);
    if (face === undefined) throw new Refusal('not-found', 'This channel has gone.');
    return face;
  }

  /** Takes back what waits for its time, or what follows. False: there is no such. Rejects with a Refusal. @param id of a held push */
  async withdraw(channel: string, what: { readonly held: string } | 'next'): Promise<boolean> {
    const change = await this.#parts.engine.update(channel, (state) => {
      if (what === 'next') return state.next === null ? null : dropNext(state);
      const held = state.held.filter(({ id }) => id !== what.held);
      return held.length === state.held.length ? null : changeSilently(state, { held });
    });
    return change !== null;
  }

  /** What waits for its time, earliest first. */
  held(channel: string): readonly Track[] {
    return this.#parts.engine.state(channel).held;
  }

  /** As it is committed, also where readers get it later; null: nothing has come yet. */
  inForce(channel: string): InForce | null {
    const { engine, moments } = this.#parts;
    const state = engine.state(channel);
    const { now: record } = state;
    if (record === null) return null;
    // Ages are of the real now.
    const isReal = record === realNow(state);
    return { record, isCorrectable: isReal && takesCorrection(record, moments.ageMs(channel, record)) };
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
