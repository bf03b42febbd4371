/**
 * The tapes that a worker takes, at the worker: one audio for each channel, which outlives the link and continues over the next one.
 *
 * Invariant: messages of an ended subscription are ignored; a bad message closes the link, or drops that tape, without another effect. Owned by the
 * worker.
 */

import { type Alarm, type AlarmHandler, type Clock, TICK_MS } from '../../base/clock.js';
import { LeftAlone, tapeOf } from '../wire/left-alone.js';
import { BadMessage, type LinkConnection, type MessageHandler } from '../wire/link-connection.js';
import { FIRST_TAPE_TYPE, LAST_TAPE_TYPE, LISTENING, nameOf, SUBSCRIBE, UNSUBSCRIBE } from '../wire/message-types.js';
import type { MessageReader } from '../wire/wire.js';
import { LinkedAudio } from './linked-audio.js';
import { LIMITS, writeSubscribe } from './tape-messages.js';
import type { OfferedTape } from './tape-offer.js';

export class TapeReceiver implements AlarmHandler {
  readonly #clock: Clock;
  readonly #lingerMs: number;
  readonly #onAnyWanted: () => void;
  readonly #maxLagMs: () => number;
  readonly #onBad: ((error: BadMessage) => void) | null;
  /** Channels whose tape had a bad message, with their pauses. */
  readonly #alone: LeftAlone;
  readonly #audios = new Map<string, LinkedAudio>();
  readonly #bySubscription = new Map<number, LinkedAudio>();
  #last = 0;
  #connection: LinkConnection | null = null;
  /** Audios whose number of listeners is to be sent. */
  readonly #changed = new Set<LinkedAudio>();
  #alarm: Alarm | null = null;

  /**
   * @param lingerMs how long a tape is taken after its last listener @param onWanted a tape is wanted, or not @param maxLagMs how much of it is kept
   * @param onBad called with a bad message of a tape, which alone is dropped: others may be of other machines. Null: it closes the link
   */
  constructor(
    clock: Clock,
    lingerMs: number,
    onWanted: () => void = () => undefined,
    maxLagMs: () => number = () => LIMITS.lagMs,
    onBad: ((error: BadMessage) => void) | null = null,
  ) {
    this.#clock = clock;
    this.#lingerMs = lingerMs;
    this.#onAnyWanted = onWanted;
    this.#maxLagMs = maxLagMs;
    this.#onBad = onBad;
    this.#alone = new LeftAlone(clock);
  }

  /** The audio of a channel, always the same one. */
  audio(channel: string): LinkedAudio {
    let audio = this.#audios.get(channel);
    if (audio === undefined) {
      audio = new LinkedAudio({
        key: channel,
        clock: this.#clock,
        lingerMs: this.#lingerMs,
        maxLagMs: this.#maxLagMs,
        onWanted: (wanted) => this.#onWanted(wanted),
        onListening: (changed) => this.#onListening(changed),
      });
      this.#audios.set(channel, audio);
    }
    return audio;
  }

  /** The channel was removed from the configuration. Its listeners play the rest that is here. */
  forget(channel: string): void {
    this.#audios.delete(channel);
  }

  /** The tapes that another hub can continue. */
  offered(): ReadonlyMap<string, OfferedTape> {
    const offered = new Map<string, OfferedTape>();
    for (const [channel, audio] of this.#audios) {
      const { tape } = audio;
      if (tape !== undefined && tape.head > tape.tail) offered.set(channel, { audio, name: tape.name });
    }
    return offered;
  }

  /** A new link to the hub; the former one is closed. */
  connect(connection: LinkConnection): void {
    this.#connection?.close();
    this.#connection = connection;
    const handler: MessageHandler = {
      onMessage: (type, message) => this.#onMessage(type, message),
      onDrain: () => undefined,
      onClosed: () => this.#onClosed(connection),
    };
    connection.handle(FIRST_TAPE_TYPE, LAST_TAPE_TYPE, handler);
    for (const audio of this.#audios.values()) if (audio.isWanted) this.#subscribe(audio);
  }

  /** Sends changed numbers of listeners, once a tick. */
  onAlarm(): void {
    this.#alarm = null;
    for (const audio of this.#changed) this.#sendListening(audio);
    this.#changed.clear();
    this.#connection?.flush();
  }

  #onMessage(type: number, message: MessageReader): void {
    const audio = this.#bySubscription.get(message.whole());
    if (audio === undefined) return;
    try {
      audio.onMessage(type, message);
    } catch (error) {
      if (this.#onBad === null) throw error;
      this.#drop(audio, `message ${nameOf(type)}: ${(error as Error).message}`, error);
    }
  }

  /** Drops a tape, and asks for it again after a growing pause. */
  #drop(audio: LinkedAudio, what: string, cause: unknown): void {
    const bad = new BadMessage(tapeOf(audio.key), what, cause);
    this.#alone.note(bad);
    this.#unsubscribe(audio);
    audio.drop();
    this.#onBad!(bad);
    const onAlarm = () => {
      if (audio.isWanted && audio.subscription === 0 && this.#audios.get(audio.key) === audio) this.#subscribe(audio);
    };
    this.#clock.alarm(this.#clock.now() + this.#alone.leftMs(bad.peer), { onAlarm });
  }

  #onClosed(connection: LinkConnection): void {
    if (connection !== this.#connection) return;
    this.#connection = null;
    for (const audio of this.#bySubscription.values()) audio.subscription = 0;
    this.#bySubscription.clear();
  }

  #onWanted(audio: LinkedAudio): void {
    if (audio.isWanted) this.#subscribe(audio);
    else this.#unsubscribe(audio);
    this.#onAnyWanted();
  }

  #onListening(audio: LinkedAudio): void {
    this.#changed.add(audio);
    this.#alarm ??= this.#clock.alarm(this.#clock.now() + TICK_MS, this);
  }

  #subscribe(audio: LinkedAudio): void {
    const connection = this.#connection;
    if (connection === null || this.#alone.has(tapeOf(audio.key))) return;
    audio.subscription = ++this.#last;
    this.#bySubscription.set(audio.subscription, audio);
    const message = connection.begin(SUBSCRIBE).whole(audio.subscription);
    writeSubscribe(message, audio.subscribe);
    message.end();
    this.#sendListening(audio);
    connection.flush();
  }

  #unsubscribe(audio: LinkedAudio): void {
    const { subscription } = audio;
    if (subscription === 0) return;
    audio.subscription = 0;
    this.#bySubscription.delete(subscription);
    this.#connection?.begin(UNSUBSCRIBE).whole(subscription).end();
    this.#connection?.flush();
  }

  #sendListening(audio: LinkedAudio): void {
    const { subscription } = audio;
    if (subscription === 0) return;
    const { listeners, playing } = audio.listening;
    this.#connection?.begin(LISTENING).whole(subscription).whole(listeners).whole(playing).end();
  }
}
