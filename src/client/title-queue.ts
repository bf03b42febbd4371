/**
 * The titles of a play that were written and are not heard yet, at their places on the media clock.
 *
 *   position: from the first byte of its session          media time = anchor + position
 *
 * A session that begins while the element plays (the browser has requested the stream again by itself) begins at the end of the received
 * audio: that is its anchor. Invariant: titles leave in the order of their places, each once.
 */

import type { ChannelRecord } from './types.js';

interface QueuedTitle {
  readonly record: ChannelRecord;
  readonly atMs: number;
}

export class TitleQueue {
  #session = '';
  #anchorMs = 0;
  #places: QueuedTitle[] = [];
  /** The place of the last title that left. */
  #heardMs = Number.NEGATIVE_INFINITY;

  /** The session of the newest title; "": none yet. */
  get session(): string {
    return this.#session;
  }

  /** Media time of the session's first byte, milliseconds. */
  get anchorMs(): number {
    return this.#anchorMs;
  }

  /** @param receivedMs media time of the end of the received audio; 0: it does not play yet */
  add(record: ChannelRecord, receivedMs: number): void {
    if (this.#session === '') this.#session = record.session;
    if (record.session !== this.#session) {
      this.#session = record.session;
      this.#anchorMs = receivedMs;
      this.#places = this.#places.filter(({ atMs }) => atMs < receivedMs);
      this.#heardMs = Number.NEGATIVE_INFINITY;
    }
    const place = { record, atMs: this.#anchorMs + (record.positionMs ?? 0) };
    const after = this.#places.findIndex(({ atMs }) => atMs > place.atMs);
    this.#places.splice(after < 0 ? this.#places.length : after, 0, place);
  }

  /** Adds a title before the known ones, unless it is known, or a later one has already been reached. */
  addEarlier(record: ChannelRecord): void {
    const atMs = this.#anchorMs + (record.positionMs ?? 0);
    const first = this.#places[0];
    const isNew = atMs > this.#heardMs && (first === undefined || atMs < first.atMs);
    if (record.session === this.#session && isNew) this.#places.unshift({ record, atMs });
  }

  /** Takes the titles heard by then. */
  take(mediaMs: number): ChannelRecord[] {
    const count = this.#places.findIndex(({ atMs }) => atMs > mediaMs);
    const heard = this.#places.splice(0, count < 0 ? this.#places.length : count);
    this.#heardMs = Math.max(this.#heardMs, heard.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY);
    return heard.map(({ record }) => record);
  }

  /** The media time of the next title; null: none waits. */
  get nextMs(): number | null {
    return this.#places[0]?.atMs ?? null;
  }
}
