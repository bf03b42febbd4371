/**
 * Decides pushes and withdrawals on the last committed state, where the engine is. Workers call it over their link
 * (link/worker-titles.ts).
 */

import type { Log } from '../base/log.js';
import { Refusal } from '../base/refusal.js';
import type { ChannelRules } from '../channel/rules.js';
import { type PushInput, withoutEntities } from '../metadata/push-input.js';
import { type TrackRecord, titleLine } from '../metadata/record.js';
import { changeSilently, dropNext } from '../now-playing/effect.js';
import { acceptPush, type Pushed } from '../now-playing/now-playing.js';
import type { Change } from '../now-playing/state.js';
import type { Engine } from './engine.js';
import type { Moments } from './moments.js';

export interface DecidedPush {
  /** The record for the answer: in force, or to come. */
  readonly answer: TrackRecord;
  readonly isFarAhead: boolean;
  /** Of the record that readers get; null: the push is held, repeats, or corrects a past title. */
  readonly version: number | null;
}

/** A held push by its id, or the next. */
export type Withdrawal = { readonly held: string } | 'next';

/** Both resolve once the change is committed and this server's readers have been written to; reject with a Refusal. */
export interface PushDecisions {
  /** @param connection its id, for the log */
  push(channel: string, input: PushInput, connection?: string): Promise<DecidedPush>;
  /** False: there was nothing to withdraw. */
  withdraw(channel: string, what: Withdrawal): Promise<boolean>;
}

type PushRules = Pick<ChannelRules, 'titlesFrom' | 'holdSeconds' | 'pushDecodesEntities'>;

export interface PushDeciderParts {
  readonly engine: Engine;
  readonly moments: Moments;
  readonly log: Log;
  /** Undefined: the channel was removed. */
  rulesOf(channel: string): PushRules | undefined;
  /** Maximum number of held pushes of a channel. */
  readonly heldPushes: () => number;
  /** Applies what is due on a channel, so that a held push due now precedes a new one. */
  check(channel: string): void;
  /** Whether the change fits a message to workers. Absent: there are none. */
  fits?(change: Change): boolean;
}

export class PushDecider implements PushDecisions {
  readonly #parts: PushDeciderParts;

  constructor(parts: PushDeciderParts) {
    this.#parts = parts;
  }

  async push(channel: string, input: PushInput, connection?: string): Promise<DecidedPush> {
    const { engine, moments, heldPushes, check, fits } = this.#parts;
    const { titlesFrom, holdSeconds, pushDecodesEntities } = this.#rulesOf(channel);
    if (!titlesFrom.includes('metapush')) {
      throw new Refusal('invalid', 'This channel accepts no pushed titles: metapush is not in its titlesFrom.');
    }
    const rules = { holdSeconds, heldPushes: heldPushes() };
    const meant = pushDecodesEntities ? withoutEntities(input) : input;
    check(channel);
    let pushed: Pushed | undefined;
    await engine.update(channel, (state) => {
      pushed = acceptPush(state, meant, moments.of(channel), rules);
      const { change } = pushed;
      if (change === null) return null;
      if (fits?.(change) === false) {
        throw new Refusal(
          'too-large',
          "The channel's titles would exceed what one process can pass to another. Nothing was applied.",
        );
      }
      return { ...change, connection };
    });
    const { answer, change, isFarAhead } = pushed!;
    if (change?.record == null) this.#logUnpublished(channel, answer, change, connection);
    return { answer, isFarAhead, version: change?.record?.version ?? null };
  }

  async withdraw(channel: string, what: Withdrawal): Promise<boolean> {
    this.#rulesOf(channel);
    const change = await this.#parts.engine.update(channel, (state) => {
      if (what === 'next') return state.next === null ? null : dropNext(state);
      const held = state.held.filter(({ id }) => id !== what.held);
      return held.length === state.held.length ? null : changeSilently(state, { held });
    });
    return change !== null;
  }

  /** @throws Refusal if the channel was removed since its token was checked */
  #rulesOf(channel: string): PushRules {
    const rules = this.#parts.rulesOf(channel);
    if (rules === undefined) throw new Refusal('not-found', 'This channel was removed.');
    return rules;
  }

  #logUnpublished(channel: string, answer: TrackRecord, change: Change | null, connection: string | undefined): void {
    const fields = { channel, connection, title: titleLine(answer), startSeconds: answer.startSeconds };
    if (change === null) this.#parts.log.debug(fields, 'a push repeats a known title');
    else if (change.history.length > 0) this.#parts.log.debug(fields, 'a push corrects a past title');
    else this.#parts.log.debug(fields, 'a push waits for its time');
  }
}
