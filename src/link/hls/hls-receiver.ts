/**
 * The HLS windows that are copied from where they are cut: one for each channel that is requested here. A copy outlives the link and continues
 * over the next one; meanwhile its list does not change.
 *
 * Invariants: a copy equals the original window up to some segment; a bad message closes the link, or ends the copy's subscription for a while.
 * Owned by the worker's link, or by the link to another machine.
 */

import type { Clock } from '../../base/clock.js';
import type { HlsFeed, HlsSource } from '../../hls/hls-feed.js';
import type { HlsSegment } from '../../hls/playlist.js';
import type { HlsWindow } from '../../hls/window.js';
import { hlsOf, LeftAlone } from '../wire/left-alone.js';
import { BadMessage, type LinkConnection } from '../wire/link-connection.js';
import {
  FIRST_HLS_TYPE,
  HLS_ASK,
  HLS_IS_WHOLE,
  HLS_LIST,
  HLS_NONE,
  HLS_SEGMENT,
  HLS_TITLE,
  HLS_UNSUBSCRIBE,
  HLS_WHOLE,
  LAST_HLS_TYPE,
  nameOf,
} from '../wire/message-types.js';
import { type MessageReader, WireError } from '../wire/wire.js';
import { readHlsList, readHlsSegment, readHlsTitle, writeHlsSubscribe } from './hls-messages.js';

/** Interval of the messages that a channel is still requested. */
const ASK_MS = 1000;

export interface HlsReceiverParts {
  readonly clock: Pick<Clock, 'now' | 'alarm'>;
  /** Called with a bad message: only that channel's copy stands still, as others may be of other machines. */
  onBad(error: BadMessage): void;
}

export class HlsReceiver {
  readonly #copies = new Set<HlsCopy>();
  readonly #bySubscription = new Map<number, HlsCopy>();
  #last = 0;
  #connection: LinkConnection | null = null;
  /** The first copy is wanted, or the last one is no longer. */
  readonly #onWanted: () => void;
  /** Null: a bad message closes the link. */
  readonly #parts: HlsReceiverParts | null;
  /** Channels whose HLS had a bad message, with their pauses. */
  readonly #alone: LeftAlone | null;

  constructor(onWanted: () => void = () => undefined, parts: HlsReceiverParts | null = null) {
    this.#onWanted = onWanted;
    this.#parts = parts;
    this.#alone = parts === null ? null : new LeftAlone(parts.clock);
  }

  /** Whether any window is copied. */
  get isWanted(): boolean {
    return this.#copies.size > 0;
  }

  /** Feeds this window until the feed is stopped. */
  copy({ audio }: HlsSource, window: HlsWindow): HlsFeed {
    const copy = new HlsCopy(audio.key, window, this);
    this.#copies.add(copy);
    this.#onWanted();
    return copy;
  }

  /** Resolves when everything that the original has now is here. */
  async whole(): Promise<void> {
    await Promise.all([...this.#copies].map((copy) => copy.whole()));
  }

  /** A new link to where they are cut; the former one has ended. */
  connect(connection: LinkConnection): void {
    this.#connection = connection;
    connection.handle(FIRST_HLS_TYPE, LAST_HLS_TYPE, {
      onMessage: (type, message) => this.#onMessage(type, message),
      onDrain: () => undefined,
      onClosed: () => {
        if (connection === this.#connection) this.#onClosed();
      },
    });
    for (const copy of this.#copies) copy.connect();
  }

  /** @returns its number; 0: there is no link, or the channel had a bad message a moment ago */
  subscribe(copy: HlsCopy, isAsked: boolean): number {
    const connection = this.#connection;
    if (connection === null || this.#alone?.has(hlsOf(copy.channel)) === true) return 0;
    const id = ++this.#last;
    this.#bySubscription.set(id, copy);
    const { last } = copy.window;
    const has = { last: last?.number ?? 0, name: last?.name ?? '' };
    writeHlsSubscribe(connection, id, { channel: copy.channel, isAsked, ...has });
    connection.flush();
    return id;
  }

  /** Sends a message without members. */
  say(type: number, id: number): void {
    this.#connection?.begin(type).whole(id).end();
    this.#connection?.flush();
  }

  /** The copy has ended. */
  end(copy: HlsCopy, id: number): void {
    this.#copies.delete(copy);
    this.#bySubscription.delete(id);
    this.#onWanted();
  }

  #onMessage(type: number, message: MessageReader): void {
    const id = message.whole();
    const copy = this.#bySubscription.get(id);
    if (copy === undefined) return;
    if (type === HLS_NONE) this.#bySubscription.delete(id);
    try {
      copy.onMessage(type, message);
    } catch (error) {
      if (this.#parts === null) throw error;
      this.#drop(copy, id, `message ${nameOf(type)}: ${(error as Error).message}`, error);
    }
  }

  /** Ends a copy's subscription, and asks for it again after a growing pause. */
  #drop(copy: HlsCopy, id: number, what: string, cause: unknown): void {
    const { clock, onBad } = this.#parts!;
    const bad = new BadMessage(hlsOf(copy.channel), what, cause);
    this.#alone!.note(bad);
    this.say(HLS_UNSUBSCRIBE, id);
    this.#bySubscription.delete(id);
    copy.onLost();
    onBad(bad);
    const onAlarm = () => {
      if (this.#copies.has(copy)) copy.resume();
    };
    clock.alarm(clock.now() + this.#alone!.leftMs(bad.peer), { onAlarm });
  }

  #onClosed(): void {
    this.#connection = null;
    this.#bySubscription.clear();
    for (const copy of this.#copies) copy.onLost();
  }
}

class HlsCopy implements HlsFeed {
  readonly channel: string;
  readonly window: HlsWindow;
  isWhole = false;
  readonly #link: HlsReceiver;
  /** 0: none. */
  #subscription = 0;
  #isAsked = false;
  /** When that was last sent, monotonic milliseconds. */
  #saidMs = Number.NEGATIVE_INFINITY;
  /** Callers that wait for the answer under way, and for the next one. */
  #waiting: (() => void)[] = [];
  #next: (() => void)[] = [];

  constructor(channel: string, window: HlsWindow, link: HlsReceiver) {
    this.channel = channel;
    this.window = window;
    this.#link = link;
  }

  ask(nowMs: number): void {
    this.#isAsked = true;
    if (nowMs - this.#saidMs < ASK_MS) return;
    this.#saidMs = nowMs;
    if (this.#subscription === 0) this.#subscribe();
    else this.#link.say(HLS_ASK, this.#subscription);
  }

  tidy(): void {}

  /** Lists what the original lists. */
  change(): void {}

  endList(): void {}

  whole(): Promise<void> {
    if (this.#subscription === 0) this.#subscribe();
    return new Promise((resolve) => {
      this.#next.push(resolve);
      this.#question();
    });
  }

  stop(): void {
    if (this.#subscription !== 0) this.#link.say(HLS_UNSUBSCRIBE, this.#subscription);
    this.#link.end(this, this.#subscription);
    this.#subscription = 0;
    this.#wake();
  }

  hold(): void {
    this.stop();
  }

  /** There is a link. */
  connect(): void {
    this.#subscribe();
    this.#question();
  }

  /** It was left alone for a while. */
  resume(): void {
    if (this.#subscription === 0) this.connect();
  }

  onLost(): void {
    this.#subscription = 0;
    this.#next = [...this.#waiting.splice(0), ...this.#next];
  }

  onMessage(type: number, message: MessageReader): void {
    if (type === HLS_SEGMENT) this.#append(readHlsSegment(message));
    else if (type === HLS_TITLE) this.window.title(readHlsTitle(message));
    else if (type === HLS_LIST) {
      const { isFresh, list } = readHlsList(message);
      if (isFresh) {
        this.isWhole = false;
        this.window.clear();
      }
      this.window.adopt(list);
    } else if (type === HLS_IS_WHOLE) {
      message.end();
      this.isWhole = true;
      for (const wake of this.#waiting.splice(0)) wake();
      this.#question();
    } else if (type === HLS_NONE) {
      message.end();
      this.isWhole = true;
      this.#subscription = 0;
      this.#saidMs = Number.NEGATIVE_INFINITY;
      this.window.clear();
      this.#wake();
    } else throw new WireError(`unexpected message type ${type} from a hub`);
  }

  #append(segment: HlsSegment): void {
    const { last } = this.window;
    if (last !== undefined && segment.number <= last.number) throw new WireError(`${segment.name} behind ${last.name}`);
    this.window.append(segment);
  }

  #subscribe(): void {
    this.#subscription = this.#link.subscribe(this, this.#isAsked);
  }

  #question(): void {
    if (this.#waiting.length > 0 || this.#next.length === 0 || this.#subscription === 0) return;
    this.#waiting = this.#next.splice(0);
    this.#link.say(HLS_WHOLE, this.#subscription);
  }

  #wake(): void {
    for (const wake of [...this.#waiting.splice(0), ...this.#next.splice(0)]) wake();
  }
}
