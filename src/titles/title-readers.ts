/**
 * Passes committed changes on to the readers of this process: watchers and polls of channels and stations, maybe later than the tape
 * (reader-delay.ts), and a next to listeners' watchers. The tape is up to title-service.ts.
 */

import type { Clock } from '../base/clock.js';
import type { Feed } from '../feed/feed.js';
import type { ListenerFeed } from '../listener/sessions/listener-feed.js';
import type { Sessions } from '../listener/sessions/sessions.js';
import type { TrackRecord } from '../metadata/record.js';
import { type ChannelFace, RecordView } from '../metadata/view.js';
import { agoOf, currentNext, placeMs, realNow } from '../now-playing/effect.js';
import type { Change } from '../now-playing/state.js';
import type { States } from './engine.js';
import type { Moments } from './moments.js';
import { ReaderDelay } from './reader-delay.js';

export interface TitleReaderParts {
  readonly feed: Feed;
  /** Of the listeners here. Absent: there are none. */
  readonly listeners?: { readonly feed: ListenerFeed; readonly sessions: Sessions };
  readonly moments: Moments;
  readonly faces: ReadonlyMap<string, ChannelFace>;
  readonly clock: Clock;
  /** Maximum number of a channel's titles that wait for their readers. */
  readonly max: () => number;
  /** How long after the live edge the readers of a channel and its station get a title, milliseconds. */
  delayMs(channel: string): number;
  /** How long after a title of this origin its audio arrives, milliseconds. */
  offsetMs(channel: string, source: TrackRecord['source']): number;
}

export class TitleReaders {
  readonly #parts: TitleReaderParts;
  readonly #delay: ReaderDelay;

  constructor(parts: TitleReaderParts) {
    this.#parts = parts;
    const { feed, clock, max } = parts;
    const onDropped = (view: RecordView) => this.#sayNext(view);
    this.#delay = new ReaderDelay({ feed, clock, max, onDropped });
  }

  /** Puts the committed titles in force, before there are readers. */
  restore(states: States): void {
    for (const [key, face] of this.#parts.faces) this.#restore(key, face, states);
  }

  #restore(key: string, face: ChannelFace, states: States): void {
    const { feed, clock, moments } = this.#parts;
    const state = states.state(key);
    // A client may have seen a later stamp than those of the records in force.
    feed.sequence.follow(state.stamp ?? 0);
    const real = realNow(state);
    if (real !== null) moments.ageMs(key, real);
    if (state.now !== null) feed.set(key, 'now', new RecordView(state.now, face));
    const next = currentNext(state, clock.wallMs());
    if (next !== null) feed.set(key, 'next', new RecordView(next, face));
  }

  /** Delivers changes that were committed while there was no link. */
  catchUp(states: States): void {
    const { feed, faces, clock } = this.#parts;
    for (const [key, face] of faces) {
      const state = states.state(key);
      for (const record of [state.now, currentNext(state, clock.wallMs())]) {
        if (record === null || this.isWaiting(key, record.version)) continue;
        const last = feed.last(key, record.type)?.record.version ?? 0;
        if (record.version > last) this.deliver(key, { state, record, history: [] }, new RecordView(record, face));
      }
      if (state.next === null && feed.last(key, 'next') != null) this.#delay.dropNext(key);
    }
  }

  /** Delivers a committed change. @param view of its record, if it has one */
  deliver(channel: string, { record, state }: Change, view: RecordView | null): void {
    const { clock, moments, delayMs, offsetMs } = this.#parts;
    const real = realNow(state);
    if (real !== null) moments.ageMs(channel, real);
    const hasNext = state.next !== null;
    if (record === null || view === null) {
      if (!hasNext) this.#delay.dropNext(channel);
    } else if (record.type === 'now') {
      const laterMs = offsetMs(channel, record.source);
      const agoMs = agoOf(placeMs(state, laterMs), clock.wallMs(), laterMs);
      this.#delay.now(view, delayMs(channel) - agoMs, !hasNext);
    } else {
      this.#delay.next(view);
      this.#sayNext(view);
    }
  }

  #sayNext(view: RecordView): void {
    const { listeners } = this.#parts;
    listeners?.feed.next(view, listeners.sessions);
  }

  /** Channels were removed. */
  forget(channels: readonly string[]): void {
    for (const channel of channels) this.#delay.forget(channel);
  }

  /** Channels were added: puts their committed titles in force. */
  begin(channels: readonly string[], states: States): void {
    for (const channel of channels) this.#restore(channel, this.#parts.faces.get(channel)!, states);
  }

  /** Whether the record with this version waits. */
  isWaiting(channel: string, version: number): boolean {
    return this.#delay.isWaiting(channel, version);
  }

  /** Once a second: drops each next whose time has passed. */
  tidy(states: States): void {
    const { feed, faces, clock } = this.#parts;
    for (const channel of faces.keys()) {
      if (feed.last(channel, 'next') == null) continue;
      if (currentNext(states.state(channel), clock.wallMs()) === null) this.#delay.dropNext(channel);
    }
  }
}
