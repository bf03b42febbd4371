/**
 * Pushes, as HTTP hands them on: which token may push to which channel, and what a push is answered. What it changes is decided where the engine is
 * (push-decider.ts).
 */

import { createHash } from 'node:crypto';
import { ChannelCounter } from '../base/channel-counter.js';
import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import { Refusal } from '../base/refusal.js';
import type { ChannelRules } from '../channel/rules.js';
import { secretMatches } from '../config/secret.js';
import type { PushInput } from '../metadata/push-input.js';
import type { Track, TrackRecord } from '../metadata/record.js';
import { type ChannelFace, RecordView } from '../metadata/view.js';
import { realNow } from '../now-playing/effect.js';
import { takesCorrection } from '../now-playing/repeat.js';
import type { States } from './engine.js';
import type { MadeTokens } from './made-tokens.js';
import type { Moments } from './moments.js';
import type { PushDecisions, Withdrawal } from './push-decider.js';

export interface PushParts {
  readonly decisions: PushDecisions;
  readonly states: States;
  readonly moments: Moments;
  readonly channels: ReadonlyMap<string, { readonly rules: ChannelRules }>;
  readonly faces: ReadonlyMap<string, ChannelFace>;
  readonly clock: Clock;
  readonly log: Log;
  /** Tokens that operators have made. Absent: there are none. */
  readonly madeTokens?: MadeTokens;
  /** Whether the readers of a channel get the record with this version later. */
  isWaiting(channel: string, version: number): boolean;
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
    const { decisions, faces, isWaiting } = this.#parts;
    const face = faces.get(channel);
    // It has gone since the token was read.
    if (face === undefined) throw new Refusal('not-found', 'This channel has gone.');
    const { answer, isFarAhead, version } = await decisions.push(channel, input, connection);
    if (isFarAhead) this.#farAhead.count(channel);
    const isPublished = version !== null && !isWaiting(channel, version);
    return { json: new RecordView(answer, face).pushAnswer(), isPublished };
  }

  /** Takes back what waits for its time, or what follows. False: there is none. Rejects with a Refusal. */
  withdraw(channel: string, what: Withdrawal): Promise<boolean> {
    return this.#parts.decisions.withdraw(channel, what);
  }

  /** What waits for its time, earliest first. */
  held(channel: string): readonly Track[] {
    return this.#parts.states.state(channel).held;
  }

  /** As it is committed, also where readers get it later; null: nothing has come yet. */
  inForce(channel: string): InForce | null {
    const { states, moments } = this.#parts;
    const state = states.state(channel);
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
