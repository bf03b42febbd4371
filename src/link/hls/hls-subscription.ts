/**
 * One worker's copy of a channel's window, at the hub: a cursor, and what has changed since it was sent. Titles are sent before their segment, so
 * that no list has it without them.
 *
 *   segments   91 … 101 │ 102 …        sent up to the cursor, which waits while the link is blocked; titles and list are then sent once
 *
 * Owned by an HlsSender.
 */

import type { ChannelHls } from '../../hls/channel-hls.js';
import type { WindowObserver } from '../../hls/window.js';
import type { LinkConnection } from '../wire/link-connection.js';
import { HLS_IS_WHOLE, HLS_NONE } from '../wire/message-types.js';
import { type HlsSubscribe, writeHlsList, writeHlsSegment, writeHlsTitle } from './hls-messages.js';

export interface HlsSubscriptionParts {
  readonly connection: LinkConnection;
  /** There is something to send. */
  onDue(): void;
}

export class HlsSubscription implements WindowObserver {
  readonly channel: ChannelHls;
  readonly #id: number;
  readonly #parts: HlsSubscriptionParts;
  /** The number of the segment that is sent next, at least. */
  #next = 0;
  #isFresh = true;
  #isListDue = true;
  /** Titles from this time on are due, unix milliseconds; +∞: none. */
  #titlesMs = Number.NEGATIVE_INFINITY;
  /** Number of its questions that are to be answered with HLS_IS_WHOLE. */
  #questions = 0;
  #hasBegun = false;
  #isOver = false;
  /** The write of a segment that it waits for; null: none. */
  #written: Promise<void> | null = null;
  #isClosed = false;

  constructor(id: number, channel: ChannelHls, subscribe: HlsSubscribe, parts: HlsSubscriptionParts) {
    this.#id = id;
    this.channel = channel;
    this.#parts = parts;
    if (channel.isRestoring) void channel.restored().then(() => this.#begin(subscribe));
    else this.#begin(subscribe);
  }

  /** Whether the worker was, or is about to be, notified that nothing is kept any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  onSegment(): void {
    this.#parts.onDue();
  }

  onTitles(fromMs: number): void {
    this.#titlesMs = Math.min(this.#titlesMs, fromMs);
    this.#parts.onDue();
  }

  onList(): void {
    this.#isListDue = true;
    this.#parts.onDue();
  }

  onCleared(): void {
    if (this.channel.isAtRest) this.#isOver = true;
    this.#isFresh = true;
    this.#isListDue = true;
    this.#titlesMs = Number.NEGATIVE_INFINITY;
    this.#next = 0;
    this.#parts.onDue();
  }

  /** Answered once the worker has everything that there is now. */
  question(): void {
    const whole = this.channel.follow();
    if (whole === null) this.#answer();
    else void whole.then(() => this.#answer());
  }

  #answer(): void {
    this.#questions++;
    this.#parts.onDue();
  }

  /** Called between `cork` and `uncork`. False: the rest has to wait, for the link or the disk. */
  send(): boolean {
    const { connection } = this.#parts;
    if (!this.#hasBegun) return true;
    if (connection.isFull || this.#isHeldBack()) return false;
    if (this.#isOver) connection.begin(HLS_NONE).whole(this.#id).end();
    else if (!this.#sendWindow(connection)) return false;
    for (; this.#questions > 0; this.#questions--) connection.begin(HLS_IS_WHOLE).whole(this.#id).end();
    return true;
  }

  close(): void {
    this.#isClosed = true;
    this.channel.window.unobserve(this);
  }

  #begin({ last, name }: HlsSubscribe): void {
    const { channel } = this;
    if (this.#isClosed) return;
    if (name !== '') channel.goAbove(last, name);
    if (channel.window.segment(name) !== undefined) {
      this.#next = last + 1;
      this.#isFresh = false;
    }
    channel.window.observe(this);
    this.#hasBegun = true;
    this.#isOver = channel.isAtRest;
    this.#parts.onDue();
  }

  /** A segment that is not written yet is not sent. */
  #isHeldBack(): boolean {
    const written = this.channel.written();
    if (written === null) return false;
    if (written !== this.#written) {
      this.#written = written;
      void written.then(() => {
        if (!this.#isClosed) this.#parts.onDue();
      });
    }
    return true;
  }

  #sendWindow(connection: LinkConnection): boolean {
    const { window } = this.channel;
    const segments = window.segmentsFrom(this.#next);
    const [oldest] = window.segmentsFrom(0);
    // The segments in between are not kept any more.
    if (oldest !== undefined && oldest.number > this.#next) this.#startAnew();
    if (this.#isListDue) writeHlsList(connection, this.#id, this.#isFresh, window.state);
    this.#isListDue = false;
    this.#isFresh = false;
    for (const title of window.titlesFrom(this.#titlesMs)) writeHlsTitle(connection, this.#id, title);
    this.#titlesMs = Number.POSITIVE_INFINITY;
    for (const segment of segments) {
      if (connection.isFull) return false;
      writeHlsSegment(connection, this.#id, segment);
      this.#next = segment.number + 1;
    }
    return true;
  }

  #startAnew(): void {
    this.#isFresh = true;
    this.#isListDue = true;
    this.#titlesMs = Number.NEGATIVE_INFINITY;
  }
}
