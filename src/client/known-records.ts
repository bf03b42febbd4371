/**
 * The records in force on each channel of a topic, from the messages of all its connections.
 *
 *   message ─► known already? ─► now ─► onNow      next: spent by its own now, or by the second other one ─► onNext(null)
 *
 * Invariant: no record is reported twice in a row, however often new connections send it.
 */

import { readRecord } from './channel-record.js';
import type { ChannelRecord, RecordHandlers } from './types.js';

interface KnownChannel {
  session: string;
  nowJson: string;
  now: ChannelRecord | null;
  nextJson: string;
  next: ChannelRecord | null;
  nowsSinceNext: number;
  /** No `now` has come by this connection yet (for a listener: of this session). */
  isFirst: boolean;
  /** A `next` has come before the first `now`; else no `next` is in force. */
  nextCame: boolean;
}

export class KnownRecords {
  readonly #handlers: RecordHandlers;
  readonly #channels = new Map<string, KnownChannel>();

  constructor(handlers: RecordHandlers) {
    this.#handlers = handlers;
  }

  /** A connection has opened: it first sends the records in force, each next before its now. */
  begin(): void {
    for (const state of this.#channels.values()) expectFirst(state);
  }

  /** @param json a message; ignored if it is not a record */
  take(json: string): void {
    const record = readRecord(json);
    if (record === null) return;
    const state = this.#stateOf(record.channelkey);
    if (record.session !== state.session) {
      state.session = record.session;
      expectFirst(state);
    }
    if (record.type === 'next') this.#takeNext(state, record, json);
    else this.#takeNow(state, record, json);
  }

  #stateOf(channelkey: string): KnownChannel {
    let state = this.#channels.get(channelkey);
    if (state === undefined) {
      state = { session: '', nowJson: '', now: null, nextJson: '', next: null, nowsSinceNext: 0, ...FIRST };
      this.#channels.set(channelkey, state);
    }
    return state;
  }

  #takeNext(state: KnownChannel, record: ChannelRecord, json: string): void {
    // Without text: it was dropped.
    if (record.title === '') {
      if (state.next !== null) this.#handlers.onNext?.(null, record.channelkey);
      state.next = null;
      return;
    }
    state.nextCame = state.isFirst;
    if (state.next !== null && json === state.nextJson) return;
    state.nowsSinceNext = 0;
    state.nextJson = json;
    state.next = record;
    this.#handlers.onNext?.(record, record.channelkey);
  }

  #takeNow(state: KnownChannel, record: ChannelRecord, json: string): void {
    const { isFirst, nextCame, now, next } = state;
    state.isFirst = false;
    state.nextCame = false;
    if (!isFirst && !(now !== null && isSameTrack(now, record))) state.nowsSinceNext++;
    // It was played, or skipped (src/now-playing/README.md, "Next").
    const isSpent =
      next !== null && ((isFirst && !nextCame) || isSameTrack(next, record) || state.nowsSinceNext >= SKIPPED_NOWS);
    if (isSpent) state.next = null;
    const isKnown = json === state.nowJson;
    state.nowJson = json;
    state.now = record;
    if (!isKnown) this.#handlers.onNow?.(record, !isFirst);
    if (isSpent) this.#handlers.onNext?.(null, record.channelkey);
  }
}

const FIRST = { isFirst: true, nextCame: false };
const SKIPPED_NOWS = 2;

function expectFirst(state: KnownChannel): void {
  Object.assign(state, FIRST);
}

function isSameTrack(a: ChannelRecord, b: ChannelRecord): boolean {
  return a.id === b.id || (a.artist === b.artist && a.song === b.song);
}
