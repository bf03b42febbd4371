/**
 * The HLS windows that one worker, or another machine, copies, at the hub. News is sent at once, so that a segment is everywhere before a playlist
 * here lists it.
 *
 * Invariant: an end that does not keep up costs the bytes that the stream may hold (link-connection.ts). Owned by the acceptor of the link.
 */

import { KEY } from '../../base/key.js';
import type { ChannelHls } from '../../hls/channel-hls.js';
import type { LinkConnection, MessageHandler } from '../wire/link-connection.js';
import {
  FIRST_HLS_TYPE,
  HLS_ASK,
  HLS_NONE,
  HLS_SUBSCRIBE,
  HLS_UNSUBSCRIBE,
  HLS_WHOLE,
  LAST_HLS_TYPE,
} from '../wire/message-types.js';
import { type MessageReader, WireError } from '../wire/wire.js';
import { type HlsSubscribe, readHlsSubscribe } from './hls-messages.js';
import { HlsSubscription } from './hls-subscription.js';

/** Maximum number of subscriptions of one channel: after a reload that replaces it, the former one exists for a moment. */
const MAX_OF_CHANNEL = 8;

/** The HLS of the channels here. */
export interface HlsOfChannels {
  /** A playlist of the channel is requested; null: it has no HLS, or there is no such channel. */
  askHls(channel: string): ChannelHls | null;
  /** Its window as it is, requested or not. */
  hlsOf(channel: string): ChannelHls | undefined;
}

export class HlsSender implements MessageHandler {
  readonly #connection: LinkConnection;
  readonly #channels: HlsOfChannels;
  readonly #subscriptions = new Map<number, { readonly key: string; readonly copy: HlsSubscription }>();
  readonly #due = new Set<number>();

  constructor(connection: LinkConnection, channels: HlsOfChannels) {
    this.#connection = connection;
    this.#channels = channels;
    connection.handle(FIRST_HLS_TYPE, LAST_HLS_TYPE, this);
  }

  onMessage(type: number, message: MessageReader): void {
    const id = message.whole();
    if (type === HLS_SUBSCRIBE) {
      this.#subscribe(id, readHlsSubscribe(message));
      return;
    }
    message.end();
    const subscription = this.#subscriptions.get(id);
    if (type === HLS_UNSUBSCRIBE) this.#end(id);
    else if (type === HLS_ASK) {
      if (subscription !== undefined) this.#channels.askHls(subscription.key);
    } else if (type === HLS_WHOLE) {
      // It was ended here, and that message is on its way.
      subscription?.copy.question();
    } else throw new WireError(`unexpected message type ${type} from a worker`);
  }

  onDrain(): void {
    this.#send();
  }

  onClosed(): void {
    for (const { copy } of this.#subscriptions.values()) copy.close();
    this.#subscriptions.clear();
    this.#due.clear();
  }

  #subscribe(id: number, subscribe: HlsSubscribe): void {
    const { channel: key, isAsked } = subscribe;
    if (this.#subscriptions.has(id)) throw new WireError(`subscription ${id} is there`);
    const same = [...this.#subscriptions.values()].filter((each) => each.key === key);
    if (same.length >= MAX_OF_CHANNEL) throw new WireError(`more than ${MAX_OF_CHANNEL} subscriptions of a channel`);
    const channel = KEY.test(key) ? (isAsked ? this.#channels.askHls(key) : this.#channels.hlsOf(key)) : null;
    if (channel === null || channel === undefined || channel.isAtRest) {
      this.#connection.begin(HLS_NONE).whole(id).end();
      this.#connection.flush();
      return;
    }
    const onDue = () => {
      this.#due.add(id);
      this.#send();
    };
    const copy = new HlsSubscription(id, channel, subscribe, { connection: this.#connection, onDue });
    this.#subscriptions.set(id, { key, copy });
    onDue();
  }

  #send(): void {
    const connection = this.#connection;
    if (connection.isClosed || this.#due.size === 0) return;
    connection.cork();
    for (const id of this.#due) {
      const copy = this.#subscriptions.get(id)?.copy;
      // It is being created.
      if (copy?.send() !== true) continue;
      this.#due.delete(id);
      if (copy.isOver) this.#end(id);
    }
    connection.uncork();
  }

  #end(id: number): void {
    this.#subscriptions.get(id)?.copy.close();
    this.#subscriptions.delete(id);
    this.#due.delete(id);
  }
}
