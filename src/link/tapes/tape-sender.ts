/**
 * The tapes that one worker or machine takes, at the hub: reads its subscriptions, and sends all due messages together, once a tick. Segments for
 * another machine are sent at once, so that it has them before any worker or listener here.
 *
 * Invariant: a worker that does not keep up costs the bytes that the stream may hold (link-connection.ts), and loses its own listeners only. Owned by
 * the acceptor of the worker's link.
 */

import type { PlayableAudio } from '../../audio/playable-audio.js';
import { type Alarm, type AlarmHandler, type Clock, TICK_MS } from '../../base/clock.js';
import type { LinkConnection, MessageHandler } from '../wire/link-connection.js';
import { FIRST_TAPE_TYPE, LAST_TAPE_TYPE, LISTENING, NO_TAPE, SUBSCRIBE, UNSUBSCRIBE } from '../wire/message-types.js';
import { type MessageReader, WireError } from '../wire/wire.js';
import { readListening, readSubscribe } from './tape-messages.js';
import type { TapeNames } from './tape-names.js';
import { TapeSubscription } from './tape-subscription.js';

/** Minimum interval of messages that only move a tape's end. */
const GROWTH_MS = 250;
/** Maximum number of subscriptions of one channel: after a reload that replaces it, the former one is kept for its listeners. */
const MAX_OF_CHANNEL = 8;

export interface TapeSenderParts {
  readonly clock: Clock;
  readonly names: TapeNames;
  /** Undefined: there is no such channel. */
  audioOf(channel: string): PlayableAudio | undefined;
  /**
   * Whether a segment is sent when it is closed, not with the next tick: the other end has it before others do, even if this process ends or is
   * suspended then.
   */
  readonly isPrompt?: boolean;
}

export class TapeSender implements AlarmHandler, MessageHandler {
  readonly #connection: LinkConnection;
  readonly #parts: TapeSenderParts;
  readonly #subscriptions = new Map<number, { readonly channel: string; readonly tape: TapeSubscription }>();
  /** Number of subscriptions by channel. */
  readonly #channels = new Map<string, number>();
  /** Subscriptions with something to send, in order. */
  #due: TapeSubscription[] = [];
  #alarm: Alarm | null = null;
  /** Subscriptions of which only the end has moved. */
  #grown: TapeSubscription[] = [];
  #growthAlarm: Alarm | null = null;
  readonly #growth: AlarmHandler = { onAlarm: () => this.#sendGrown() };

  constructor(connection: LinkConnection, parts: TapeSenderParts) {
    this.#connection = connection;
    this.#parts = parts;
    connection.handle(FIRST_TAPE_TYPE, LAST_TAPE_TYPE, this);
  }

  /** Number of subscriptions. */
  get count(): number {
    return this.#subscriptions.size;
  }

  /** The tape of a channel continues in another audio, which `audioOf` returns from now on. */
  move(channel: string): void {
    const audio = this.#parts.audioOf(channel);
    if (audio === undefined) return;
    for (const each of this.#subscriptions.values()) if (each.channel === channel) each.tape.moveTo(audio);
  }

  onMessage(type: number, message: MessageReader): void {
    const id = message.whole();
    if (type === SUBSCRIBE) this.#subscribe(id, message);
    else if (type === UNSUBSCRIBE) this.#unsubscribe(id, message);
    else if (type === LISTENING) this.#subscriptions.get(id)?.tape.listening(readListening(message));
    else throw new WireError(`unexpected message type ${type} from a worker`);
  }

  onAlarm(): void {
    this.#alarm = null;
    this.#send();
  }

  onDrain(): void {
    this.#send();
  }

  onClosed(): void {
    this.#alarm?.cancel();
    this.#growthAlarm?.cancel();
    for (const { tape } of this.#subscriptions.values()) tape.close();
    this.#subscriptions.clear();
    this.#due.length = 0;
    this.#grown.length = 0;
  }

  #subscribe(id: number, message: MessageReader): void {
    const subscribe = readSubscribe(message);
    if (this.#subscriptions.has(id)) throw new WireError(`subscription ${id} is there`);
    const { channel } = subscribe;
    const count = this.#channels.get(channel) ?? 0;
    if (count >= MAX_OF_CHANNEL) throw new WireError(`more than ${MAX_OF_CHANNEL} subscriptions of a channel`);
    const audio = this.#parts.audioOf(channel);
    if (audio === undefined) {
      this.#connection.begin(NO_TAPE).whole(id).end();
      this.#connection.flush();
      return;
    }
    const { clock, names } = this.#parts;
    const onDue = (subscription: TapeSubscription) => this.#note(subscription);
    const onGrown = (subscription: TapeSubscription) => this.#noteGrown(subscription);
    const onSegment = (subscription: TapeSubscription) => this.#noteSegment(subscription);
    const parts = { connection: this.#connection, clock, names, onDue, onSegment, onGrown };
    const tape = new TapeSubscription(id, audio, subscribe, parts);
    this.#subscriptions.set(id, { channel, tape });
    this.#channels.set(channel, count + 1);
    // A listener is waiting for it.
    this.#send();
  }

  #unsubscribe(id: number, message: MessageReader): void {
    message.end();
    const { tape: subscription, channel } = this.#subscriptions.get(id) ?? {};
    if (subscription === undefined) return;
    subscription.close();
    this.#subscriptions.delete(id);
    this.#channels.set(channel!, this.#channels.get(channel!)! - 1);
    this.#due = this.#due.filter((due) => due !== subscription);
    this.#grown = this.#grown.filter((grown) => grown !== subscription);
  }

  #note(subscription: TapeSubscription): void {
    if (subscription.isDue) return;
    subscription.isDue = true;
    this.#due.push(subscription);
    this.#wake();
  }

  #noteSegment(subscription: TapeSubscription): void {
    this.#note(subscription);
    if (this.#parts.isPrompt) this.#send();
  }

  #noteGrown(subscription: TapeSubscription): void {
    const { clock } = this.#parts;
    subscription.isGrown = true;
    this.#grown.push(subscription);
    this.#growthAlarm ??= clock.alarm(clock.now() + GROWTH_MS, this.#growth);
  }

  #sendGrown(): void {
    this.#growthAlarm = null;
    for (const subscription of this.#grown) {
      subscription.isGrown = false;
      this.#note(subscription);
    }
    this.#grown.length = 0;
    this.#send();
  }

  #wake(): void {
    this.#alarm ??= this.#parts.clock.alarm(this.#parts.clock.now() + TICK_MS, this);
  }

  #send(): void {
    const connection = this.#connection;
    if (connection.isClosed || this.#due.length === 0) return;
    const due = this.#due;
    let left = 0;
    connection.cork();
    for (let i = 0; i < due.length; i++) {
      const subscription = due[i]!;
      if (subscription.send()) subscription.isDue = false;
      else due[left++] = subscription;
    }
    connection.uncork();
    due.length = left;
    if (left > 0) this.#wake();
  }
}
