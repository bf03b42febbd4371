/**
 * Pushes from HTTP: which token may push to which channel, and the answer of a push. Its effect is decided where the engine is (push-decider.ts).
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
  /** Whether the channel's readers get the record with this version later. */
  isWaiting(channel: string, version: number): boolean;
}

export interface AcceptedPush {
  /** The body of the answer. */
  readonly json: string;
  /** Whether this process's readers were written to: not if the push is held or a repeat, or the readers are delayed. */
  readonly isPublished: boolean;
}

/** The record in force. */
export interface InForce {
  readonly record: TrackRecord;
  /** Whether a push with its id corrects it; else that is another play. */
  readonly isCorrectable: boolean;
}

export class Pushes {
  readonly #parts: PushParts;
  /** Pushes whose time was too far ahead to be held: a clock is wrong. */
  readonly #farAhead: ChannelCounter;
  /** Pushes with ignored fields. */
  readonly #ignoring: ChannelCounter;

  constructor(parts: PushParts) {
    const { clock, log } = parts;
    this.#parts = parts;
    this.#farAhead = new ChannelCounter(clock, (channel, pushes) =>
      log.warn({ channel, pushes }, 'pushes name a time too far ahead, which is ignored: is a clock wrong?'),
    );
    this.#ignoring = new ChannelCounter(clock, (channel, pushes, fields) =>
      log.warn({ channel, pushes, fields }, 'fields of pushes were ignored: unknown or unreadable'),
    );
  }

  /** Whether the token may push to the channel. Takes the same time for an unknown channel. */
  authorizes(channel: string, token: string): boolean {
    const { channels, madeTokens } = this.#parts;
    const rules = channels.get(channel)?.rules;
    const sha256 = createHash('sha256').update(token, 'utf8').digest();
    // Both are always checked.
    const isMade = madeTokens?.has(channel, sha256) ?? false;
    const isConfigured = rules === undefined ? secretMatches([], sha256) : rules.authorizesPush(sha256);
    if (isConfigured) madeTokens?.use(`${channel} config-${rules!.placeOfToken(sha256)}`);
    return isConfigured || (isMade && rules !== undefined);
  }

  /** Resolves after commit and readers. Rejects with a Refusal. @param connection its id, for the log */
  async push(channel: string, input: PushInput, connection?: string): Promise<AcceptedPush> {
    const { decisions, faces, isWaiting } = this.#parts;
    const face = faces.get(channel);
    // It was removed since the token was checked.
    if (face === undefined) throw new Refusal('not-found', 'This channel was removed.');
    const { answer, isFarAhead, version } = await decisions.push(channel, input, connection);
    if (isFarAhead) this.#farAhead.count(channel);
    const isPublished = version !== null && !isWaiting(channel, version);
    return { json: new RecordView(answer, face).pushAnswer(), isPublished };
  }

  /** Withdraws a held push, or the next. False: there is none. Rejects with a Refusal. */
  withdraw(channel: string, what: Withdrawal): Promise<boolean> {
    return this.#parts.decisions.withdraw(channel, what);
  }

  /** Held pushes, earliest first. */
  held(channel: string): readonly Track[] {
    return this.#parts.states.state(channel).held;
  }

  /** The committed record, even if readers get it later; null: none yet. */
  inForce(channel: string): InForce | null {
    const { states, moments } = this.#parts;
    const state = states.state(channel);
    const { now: record } = state;
    if (record === null) return null;
    // Only the real now has an age.
    const isReal = record === realNow(state);
    return { record, isCorrectable: isReal && takesCorrection(record, moments.ageMs(channel, record)) };
  }

  /** Some fields of an accepted push were ignored. */
  ignored(channel: string, fields: readonly string[]): void {
    this.#ignoring.count(channel, fields.join(', '));
  }

  /** Channel → pushes with ignored fields, for metrics. */
  get ignoring(): ReadonlyMap<string, { readonly count: number }> {
    return this.#ignoring.counts;
  }

  /** Channel → pushes with a time too far ahead, for metrics. */
  get farAhead(): ReadonlyMap<string, { readonly count: number }> {
    return this.#farAhead.counts;
  }
}
