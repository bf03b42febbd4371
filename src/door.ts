/**
 * The one door: every change of metadata, whoever sends it, is decided by the state machine, committed by the engine, and comes
 * back through `deliver` to the tape and to the readers. Commit, then readers, then the answer (contract, "what 200 promises").
 */

import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from './clock.js';
import { type Secret, secretMatches } from './config/secret.js';
import type { Change, Engine } from './engine/engine.js';
import type { Sessions } from './listener/sessions.js';
import type { Log } from './log.js';
import { type Feed, Message } from './metadata/feed.js';
import { acceptPush, acceptTitle, currentNext, type Moment, type TitleRules } from './metadata/now-playing.js';
import type { PushInput } from './metadata/push-input.js';
import type { TrackRecord } from './metadata/record.js';
import { cleanText } from './metadata/text.js';
import { splitTitle } from './metadata/title.js';
import { RecordView } from './metadata/view.js';
import type { Programme } from './programme.js';
import type { Source } from './source/source.js';

/** 256 random bits that no text is known to hash to. */
const NOBODYS: Secret = { sha256: randomBytes(32), demo: false };

export interface DoorParts {
  readonly engine: Engine;
  readonly feed: Feed;
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly log: Log;
  readonly programmes: ReadonlyMap<string, Programme>;
  readonly rules: TitleRules;
}

export class Door {
  readonly #parts: DoorParts;

  constructor(parts: DoorParts) {
    this.#parts = parts;
  }

  /** Puts what was committed before back in force, on the tapes and for readers. Before anybody can read. */
  restore(): void {
    const { engine, feed, programmes, clock } = this.#parts;
    for (const [channel, programme] of programmes) {
      const state = engine.state(channel);
      if (state.now !== null) {
        const view = this.#view(state.now);
        feed.set(channel, 'now', view);
        programme.channel.title(view);
      }
      const next = currentNext(state, clock.wallMs());
      if (next !== null) feed.set(channel, 'next', this.#view(next));
    }
  }

  /** Whether the token may push to the channel. For an unknown one a token that nobody has is compared, which takes the same time. */
  authorizes(channel: string, token: string): boolean {
    const programme = this.#parts.programmes.get(channel);
    return programme === undefined ? secretMatches([NOBODYS], token) : programme.authorizesPush(token);
  }

  /** Takes a push; resolves with the answer's JSON after commit and readers. Rejects with a Refusal. */
  async push(channel: string, input: PushInput): Promise<string> {
    const change = await this.#parts.engine.update(channel, (state) => acceptPush(state, input, this.#moment(channel)));
    return this.#view(change!.record!).pushAnswer();
  }

  /** Takes a title out of the stream of a source. Never rejects: such a title has nobody to answer to. */
  readonly streamTitle = async (channel: string, line: string, source: Source): Promise<void> => {
    if (source.kind === 'file') return;
    const from = source.kind === 'pull' ? 'upstream' : 'encoder';
    const title = { ...splitTitle(cleanText(line)), source: from } as const;
    try {
      await this.#parts.engine.update(channel, (state) =>
        acceptTitle(state, title, this.#moment(channel), this.#parts.rules),
      );
    } catch (error) {
      this.#parts.log.warn({ channel, err: error }, 'a title from the stream was not taken');
    }
  };

  /** A committed change takes effect here: the tape first, then the readers. */
  deliver(channel: string, change: Change): void {
    const { feed, programmes, sessions, log } = this.#parts;
    if (change.state.next === null) feed.set(channel, 'next', null);
    if (change.record === null) return;
    const view = this.#view(change.record);
    const { type, source } = change.record;
    if (type === 'now') programmes.get(channel)!.channel.title(view);
    feed.publish(view);
    if (type === 'next') this.#tellListeners(view, sessions, feed);
    log.info({ channel, type, source, title: view.title }, 'title');
  }

  /** Drops a next whose time has passed. */
  tidy(): void {
    const { engine, feed, programmes, clock } = this.#parts;
    for (const channel of programmes.keys()) {
      if (feed.last(channel, 'next') == null) continue;
      if (currentNext(engine.state(channel), clock.wallMs()) === null) feed.set(channel, 'next', null);
    }
  }

  /** A `next` is told to listeners on arrival, without a position. */
  #tellListeners(view: RecordView, sessions: Sessions, feed: Feed): void {
    for (const session of sessions.onChannel(view.record.channel)) {
      const audio = feed.isWatched(session.metaid, 'audio');
      const wire = feed.isWatched(session.metaid, 'wire');
      if (!audio && !wire) continue;
      const message = new Message('next', '', view.listenerJson(session.id, '', session.mount));
      if (audio) feed.publishListener(session.metaid, 'audio', message);
      if (wire) feed.publishListener(session.metaid, 'wire', message);
    }
  }

  #view(record: TrackRecord): RecordView {
    return new RecordView(record, this.#parts.feed.face(record.channel)!);
  }

  #moment(channel: string): Moment {
    return { channel, wallMs: this.#parts.clock.wallMs(), newId: randomUUID };
  }
}
