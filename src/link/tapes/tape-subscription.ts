/**
 * One worker's subscription to one channel, at the hub: follows the channel's audio, knows which tape the worker has, and keeps a cursor on that
 * (tape-cursor.ts). The worker's tape continues if it can, else another one begins. A worker that falls off the tape is notified, and begins anew.
 * Owned by a TapeSender.
 */

import type { LateTitle, PlayableAudio, TapeObserver } from '../../audio/playable-audio.js';
import type { AudioTape } from '../../audio/tape/audio-tape.js';
import type { Clock } from '../../base/clock.js';
import type { LinkConnection } from '../wire/link-connection.js';
import { FACTS, FALLEN, NO_TAPE, TAPE } from '../wire/message-types.js';
import type { MessageWriter } from '../wire/message-writer.js';
import { TapeCursor } from './tape-cursor.js';
import { type AudioStats, type Listening, type Subscribe, writeFacts, writeTape } from './tape-messages.js';
import { canGoOn, type TapeName, type TapeNames } from './tape-names.js';

export interface SubscriptionParts {
  readonly connection: LinkConnection;
  readonly clock: Clock;
  readonly names: TapeNames;
  /** There is something to send. */
  onDue(subscription: TapeSubscription): void;
  /** There is a whole segment to send, which some connections get at once (TapeSenderParts.isPrompt). */
  onSegment(subscription: TapeSubscription): void;
  /** Only the tape's end has moved, which can wait. */
  onGrown(subscription: TapeSubscription): void;
}

export class TapeSubscription implements TapeObserver {
  readonly #id: number;
  #audio: PlayableAudio;
  readonly #parts: SubscriptionParts;
  readonly #cursor: TapeCursor;
  /** The tape of which the worker has the segments before the cursor; undefined: none. */
  #tape: AudioTape | undefined;
  /** The name of the tape that the worker knows. */
  #name: TapeName | null = null;
  #facts: AudioStats | null = null;
  /** Whether the worker has its first answer, which may be that there is no tape. */
  #isAnswered = false;
  /** The tape that the worker has, until it is known whether the one here continues it, and reaches as far. */
  #awaiting: Subscribe | null = null;
  #listening: Listening = { listeners: 0, playing: 0 };
  /** Whether it is in its sender's lists: of subscriptions with something to send, and of those that can wait. */
  isDue = false;
  isGrown = false;

  constructor(id: number, audio: PlayableAudio, subscribe: Subscribe, parts: SubscriptionParts) {
    this.#id = id;
    this.#audio = audio;
    this.#parts = parts;
    this.#cursor = new TapeCursor(id, parts.connection, parts.clock);
    // Before the first read, as the tape keeps what is observed.
    audio.observe(this);
    this.#awaiting = subscribe;
    this.#note();
  }

  /** Compares the worker's tape with the one here: it continues, or has fallen off. False: unknown yet. */
  #compare({ name, next }: Subscribe): boolean {
    const { tape, isComing } = this.#audio;
    if (isComing === true) return false;
    const isTheirs = tape !== undefined && canGoOn(this.#parts.names.nameOf(tape), name, next);
    if (isTheirs && isToCome(tape, next)) return false;
    this.#awaiting = null;
    if (!isTheirs) return true;
    if (next >= tape.tail && next <= tape.head) this.#resume(tape, next);
    else this.#begin(FALLEN).end();
    return true;
  }

  /** The number of listeners at the worker: a source on demand starts for them, not for a lingering tape. */
  listening(listening: Listening): void {
    this.#count(listening);
  }

  /**
   * The channel's tape continues in another audio: it was fed elsewhere and is now fed here, or the reverse. A worker that has the tape of this name
   * continues with it, others get the one that is here.
   */
  moveTo(audio: PlayableAudio): void {
    if (audio === this.#audio) return;
    const listening = this.#listening;
    const former = this.#audio;
    audio.observe(this);
    this.#audio = audio;
    this.#listening = { listeners: 0, playing: 0 };
    this.#count(listening);
    former.unobserve(this);
    count(former, -listening.listeners, -listening.playing);
    // The channel may move back before anything was sent: titles that came late meanwhile would be missed.
    this.#cursor.revise(0);
    this.#note();
  }

  /** The worker has unsubscribed. */
  close(): void {
    this.#audio.unobserve(this);
    this.#count({ listeners: 0, playing: 0 });
  }

  onGrown(): void {
    const tape = tapeOf(this.#audio);
    if (tape === undefined) return;
    if (tape === this.#tape && tape.head > this.#cursor.next) this.#parts.onSegment(this);
    else if (this.isDue) return;
    else if (tape !== this.#tape || tape.openRestBytes !== this.#cursor.restBytes) this.#note();
    else if (!this.isGrown) this.#parts.onGrown(this);
  }

  onLate(late: LateTitle): void {
    const tape = tapeOf(this.#audio);
    if (tape === undefined || tape !== this.#tape) return;
    this.#cursor.onLate(late, tape);
    this.#note();
  }

  onRetitled(seq: number): void {
    if (tapeOf(this.#audio) === this.#tape && this.#cursor.revise(seq)) this.#note();
  }

  onFacts(): void {
    this.#note();
  }

  onFence(): void {
    this.#note();
  }

  onTape(): void {
    this.#note();
  }

  /** Sends what the worker lacks. False: the link is full. Called between `cork` and `uncork`. */
  send(): boolean {
    const { connection } = this.#parts;
    if (connection.isFull) return false;
    if (this.#awaiting !== null && !this.#compare(this.#awaiting)) return true;
    // A hub that forwards the tape needs its facts first.
    this.#sendFacts();
    if (!this.#sendTape()) return true;
    return this.#tape === undefined || this.#cursor.send(this.#audio, this.#tape);
  }

  /**
   * Begins anew if the worker's tape is not the channel's, or the next segment is not on it any more. False: that tape is still arriving here.
   */
  #sendTape(): boolean {
    const { tape: whole } = this.#audio;
    const tape = tapeOf(this.#audio);
    if (this.#tape !== undefined && this.#tape === whole && this.#cursor.next < whole.tail) {
      this.#begin(FALLEN).end();
      this.#tape = undefined;
    }
    if (tape === this.#tape && this.#isAnswered) {
      if (tape !== undefined && this.#parts.names.nameOf(tape) !== this.#name) this.#rename(tape);
      return true;
    }
    if (tape !== undefined && this.#isTheirs(tape)) {
      if (isToCome(tape, this.#cursor.next)) return false;
      const goesOn = this.#cursor.next >= tape.tail && this.#cursor.next <= tape.head;
      if (goesOn) this.#resumeIn(tape);
      else this.#begin(FALLEN).end();
      if (goesOn) return true;
    }
    this.#isAnswered = true;
    this.#cursor.clear();
    this.#tape = tape;
    if (tape === undefined) this.#begin(NO_TAPE).end();
    else {
      this.#cursor.begin(tape, tape.tail);
      this.#announce(tape, false);
    }
    return true;
  }

  /** Whether it is the tape of the worker, in another audio, or taken anew by this one. */
  #isTheirs(tape: AudioTape): boolean {
    const { names } = this.#parts;
    return (
      this.#tape !== undefined && this.#name !== null && canGoOn(names.nameOf(tape), this.#name, this.#cursor.next)
    );
  }

  #resumeIn(tape: AudioTape): void {
    this.#tape = tape;
    if (this.#parts.names.nameOf(tape) !== this.#name) this.#rename(tape);
    this.#cursor.resumeIn(tape);
  }

  /** The tape of the worker continues under another name. */
  #rename(tape: AudioTape): void {
    this.#cursor.resume(tape);
    this.#announce(tape, true);
  }

  /** The worker has the segments before `next` of this tape. */
  #resume(tape: AudioTape, next: number): void {
    this.#isAnswered = true;
    this.#tape = tape;
    // The titles that came late meanwhile are unknown.
    this.#cursor.begin(tape, next, tape.tail);
    this.#announce(tape, true);
  }

  /** Announces the tape, from the cursor on. @param goesOn whether the worker has the segments before the cursor */
  #announce(tape: AudioTape, goesOn: boolean): void {
    const { metaint, segmentBytes, lagMs, head, joinFrom } = tape;
    const first = this.#cursor.next;
    const name = this.#parts.names.nameOf(tape);
    this.#name = name;
    const message = this.#begin(TAPE);
    writeTape(message, {
      name,
      goesOn,
      isOgg: tape.rendering(false) !== null,
      hasIcy: this.#audio.metaint !== null,
      metaint,
      segmentBytes,
      lagMs,
      joinFrom,
      first,
      head: Math.max(head, tape.comesTo ?? 0),
      startMs: tape.at(first)?.startMs ?? tape.edgeMs,
    });
    message.end();
  }

  #sendFacts(): void {
    const { contentType, sampleRate, channels, delayMs } = this.#audio;
    const sent = this.#facts;
    const isSame =
      sent?.contentType === contentType &&
      sent.sampleRate === sampleRate &&
      sent.channels === channels &&
      sent.delayMs === delayMs;
    if (isSame) return;
    this.#facts = { contentType, sampleRate, channels, delayMs };
    const message = this.#begin(FACTS);
    writeFacts(message, this.#facts);
    message.end();
  }

  #begin(type: number): MessageWriter {
    return this.#parts.connection.begin(type).whole(this.#id);
  }

  #note(): void {
    this.#parts.onDue(this);
  }

  #count(listening: Listening): void {
    const { listeners, playing } = this.#listening;
    count(this.#audio, listening.listeners - listeners, listening.playing - playing);
    this.#listening = listening;
  }
}

/** Whether a tape that is taken over a link will reach this position soon. */
function isToCome({ head, comesTo }: AudioTape, seq: number): boolean {
  return comesTo !== undefined && seq > head && seq <= comesTo;
}

/** The tape of an audio; undefined also for one that is taken over a link and has fallen off there. */
function tapeOf({ tape }: PlayableAudio): AudioTape | undefined {
  return tape?.tail === Number.POSITIVE_INFINITY ? undefined : tape;
}

function count(audio: PlayableAudio, listeners: number, playing: number): void {
  const before = audio.listeners;
  audio.listeners += listeners;
  audio.playing += playing;
  if (before === 0 && audio.listeners > 0) audio.want(true);
  else if (before > 0 && audio.listeners === 0) audio.want(false);
}
