/**
 * The titles of one play that were written and are not heard yet, at their places on the media clock.
 *
 *   position ─ of its session, from that one's first byte          media time = anchor + position
 *
 * A session that begins while the element already plays (the browser has asked for the stream again by itself) begins where what was
 * received ends: there is its anchor. Invariant: titles leave in the order of their places, each once.
 */

import type { ChannelRecord } from './channel-record.js';

interface QueuedTitle {
  readonly record: ChannelRecord;
  readonly atMs: number;
}

export class TitleQueue {
  #session = '';
  #anchorMs = 0;
  #places: QueuedTitle[] = [];
  /** Of the last that left. */
  #heardMs = Number.NEGATIVE_INFINITY;

  /** Of the newest title; "": none has come. */
  get session(): string {
    return this.#session;
  }

  /** Milliseconds of media time at which the session's first byte sounds. */
  get anchorMs(): number {
    return this.#anchorMs;
  }

  /** @param receivedMs media time of the end of what the element has received; 0: it does not play yet */
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

  /** The same for a title that lies before those that came, unless it is known, or one after it was heard. */
  addEarlier(record: ChannelRecord): void {
    const atMs = this.#anchorMs + (record.positionMs ?? 0);
    const first = this.#places[0];
    const isNew = atMs > this.#heardMs && (first === undefined || atMs < first.atMs);
    if (record.session === this.#session && isNew) this.#places.unshift({ record, atMs });
  }

  /** Takes what is heard by then. */
  take(mediaMs: number): ChannelRecord[] {
    const count = this.#places.findIndex(({ atMs }) => atMs > mediaMs);
    const heard = this.#places.splice(0, count < 0 ? this.#places.length : count);
    this.#heardMs = Math.max(this.#heardMs, heard.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY);
    return heard.map(({ record }) => record);
  }

  /** The media time of the next one; null: none waits. */
  get nextMs(): number | null {
    return this.#places[0]?.atMs ?? null;
  }
}
