/**
 * A channel's audio in a process that does not feed it: its tape is taken over a link while it has listeners, and for a while after. While the hub is
 * away, listeners play the part of the tape that is here, and continue when the tape does. They continue on another tape if its format matches their
 * response head; else they are disconnected, as after a change of format.
 *
 *   wanted ──► subscribed ──► tape ──► no listeners, lingers ──► released
 *
 * Written by its TapeReceiver; the audience writes `listeners` and `playing`.
 */

import type { PlayableAudio, TapeObserver } from '../../audio/playable-audio.js';
import { TapeReaders } from '../../audio/tape/tape-readers.js';
import type { Alarm, AlarmHandler, Clock } from '../../base/clock.js';
import { type ChannelFacts, NO_FACTS } from '../../channel/channel-facts-schema.js';
import { readAll } from '../wire/members.js';
import { FACTS, FALLEN, FENCE, GROWTH, NO_TAPE, TAPE } from '../wire/message-types.js';
import { type MessageReader, WireError } from '../wire/wire.js';
import { ReplicaTape } from './replica-tape.js';
import { SegmentReceiver } from './segment-receiver.js';
import {
  type AudioStats,
  FENCE_MEMBERS,
  type Listening,
  readFacts,
  readGrowth,
  readTape,
  type Subscribe,
} from './tape-messages.js';
import { canGoOn, NO_NAME } from './tape-names.js';

export interface LinkedAudioParts {
  readonly key: string;
  readonly clock: Clock;
  /** How long the tape is taken after the last listener has left. */
  readonly lingerMs: number;
  /** Maximum length of the part of a tape that is kept. */
  maxLagMs(): number;
  /** The tape is wanted, or not any more. */
  onWanted(audio: LinkedAudio): void;
  /** `listening` has changed. */
  onListening(audio: LinkedAudio): void;
}

export class LinkedAudio implements PlayableAudio, AlarmHandler {
  readonly key: string;
  bitrateKbps = 0;
  audioMs = 0;
  delayedMs = 0;
  /** Number of its present subscription; 0: none. Written by its receiver. */
  subscription = 0;
  /** The subscription for which the hub has said whether there is a tape. */
  #answered = 0;
  readonly #parts: LinkedAudioParts;
  #listeners = 0;
  #playing = 0;
  #isWanted = false;
  #alarm: Alarm | null = null;
  #facts: AudioStats = { contentType: 'audio/mpeg', sampleRate: 0, channels: 0, delayMs: 0 };
  #known: ChannelFacts = NO_FACTS;
  #tape: ReplicaTape | undefined;
  #hasIcy = false;
  readonly #readers = new TapeReaders();
  readonly #segments: SegmentReceiver;

  constructor(parts: LinkedAudioParts) {
    this.key = parts.key;
    this.#parts = parts;
    this.#segments = new SegmentReceiver(parts.key, parts.clock, this.#readers);
  }

  get contentType(): string {
    return this.#facts.contentType;
  }

  get sampleRate(): number {
    return this.#facts.sampleRate;
  }

  get channels(): number {
    return this.#facts.channels;
  }

  get delayMs(): number {
    return this.#facts.delayMs;
  }

  get listeners(): number {
    return this.#listeners;
  }

  set listeners(count: number) {
    this.#listeners = count;
    this.#parts.onListening(this);
  }

  get playing(): number {
    return this.#playing;
  }

  set playing(count: number) {
    this.#playing = count;
    this.#parts.onListening(this);
  }

  get listening(): Listening {
    return { listeners: this.#listeners, playing: this.#playing };
  }

  get tape(): ReplicaTape | undefined {
    return this.#tape;
  }

  get isComing(): boolean {
    return this.#tape === undefined && !this.isAnswered;
  }

  /** Whether the present hub has answered the subscription. */
  get isAnswered(): boolean {
    return this.subscription !== 0 && this.#answered === this.subscription;
  }

  get metaint(): number | null {
    if (this.#tape === undefined) return this.#known.metaint;
    return this.#hasIcy ? this.#tape.metaint : null;
  }

  /** Facts from the hub, used while the tape is not taken. */
  get hasSegments(): boolean {
    if (this.#tape === undefined) return this.#known.hasSegments;
    return this.#tape.head > this.#tape.tail;
  }

  /** Whether its tape is wanted. */
  get isWanted(): boolean {
    return this.#isWanted;
  }

  /** Facts from the hub, whether its tape is taken or not. */
  setFacts(facts: ChannelFacts): void {
    const { contentType, sampleRate, channels, delayMs } = facts;
    this.#known = facts;
    if (this.subscription === 0) this.#facts = { contentType, sampleRate, channels, delayMs };
    if (this.#tape === undefined) {
      this.bitrateKbps = facts.bitrateKbps;
      this.delayedMs = facts.delayedMs;
    }
  }

  /** The highest number of a mark that has arrived. */
  get lastMark(): number {
    return this.#segments.lastMark;
  }

  /** The subscription to send: the tape that it has, from its end on. */
  get subscribe(): Subscribe {
    const tape = this.#tape;
    return { channel: this.key, name: tape?.name ?? NO_NAME, next: tape?.head ?? 0 };
  }

  want(isWanted: boolean): void {
    this.#alarm?.cancel();
    this.#alarm = null;
    const { clock, lingerMs, onWanted } = this.#parts;
    if (!isWanted) this.#alarm = clock.alarm(clock.now() + lingerMs, this);
    else if (!this.#isWanted) {
      this.#isWanted = true;
      onWanted(this);
    }
  }

  /** The linger time is over without listeners. */
  onAlarm(): void {
    this.#alarm = null;
    this.#isWanted = false;
    this.#parts.onWanted(this);
    this.#replace(undefined);
  }

  /** Drops the tape after a bad message. */
  drop(): void {
    this.#segments.clear();
    this.#replace(undefined);
  }

  arrivedMs(atMs: number): number {
    return this.#segments.arrivedMs(atMs);
  }

  observe(observer: TapeObserver): void {
    this.#readers.add(observer);
  }

  unobserve(observer: TapeObserver): void {
    this.#readers.remove(observer);
  }

  /** Handles a message of its subscription. @throws WireError */
  onMessage(type: number, message: MessageReader): void {
    if (this.#segments.onMessage(type, message, this.#tape)) return;
    if (type === GROWTH) this.#onGrowth(message);
    else if (type === FACTS) this.#onFacts(message);
    else if (type === FENCE) this.#onFence(message);
    else if (type === TAPE) this.#onTape(message);
    else if (type === FALLEN) this.#onFallen();
    else if (type === NO_TAPE) {
      this.#answered = this.subscription;
      this.#replace(undefined);
    } else throw new WireError(`unexpected message type ${type} from a hub`);
  }

  #onFacts(message: MessageReader): void {
    this.#facts = readFacts(message);
    this.#readers.onFacts();
  }

  #onTape(message: MessageReader): void {
    const facts = readTape(message);
    this.#answered = this.subscription;
    this.#hasIcy = facts.hasIcy;
    if (facts.goesOn) {
      const tape = this.#theTape();
      const isTheirs = canGoOn(facts.name, tape.name, tape.head) && facts.first === tape.head;
      if (!isTheirs) throw new WireError('another tape goes on');
      this.#segments.resume();
      tape.name = facts.name;
      tape.fenceAt(facts.joinFrom);
      tape.comesTo = facts.head;
      this.#readers.onFence();
      return;
    }
    const lagMs = Math.min(facts.lagMs, this.#parts.maxLagMs());
    this.#segments.begin(facts.name.hub, lagMs);
    this.#replace(new ReplicaTape({ ...facts, lagMs }));
  }

  #onGrowth(message: MessageReader): void {
    const tape = this.#theTape();
    const { endMs, audioMs, delayedMs, bitrateKbps, open, restFrom, rest } = readGrowth(message);
    tape.grow(endMs, open, restFrom, rest);
    this.audioMs = audioMs;
    this.delayedMs = delayedMs;
    this.bitrateKbps = bitrateKbps;
    this.#readers.onGrown();
  }

  #onFence(message: MessageReader): void {
    const tape = this.#theTape();
    const { joinFrom } = readAll(message, FENCE_MEMBERS);
    if (joinFrom > Math.max(tape.head, tape.comesTo) + 1) throw new WireError(`a fence at ${joinFrom}`);
    tape.fenceAt(joinFrom);
    this.#readers.onFence();
  }

  #onFallen(): void {
    this.#tape?.lose();
    this.#readers.onTape();
  }

  /** Readers of the former tape, which has ended, continue with this one or are disconnected. */
  #replace(tape: ReplicaTape | undefined): void {
    // Listeners who have fallen off it have their own ending.
    if (this.#tape?.tail !== Number.POSITIVE_INFINITY) this.#tape?.end();
    this.#tape = tape;
    this.#readers.onTape();
  }

  #theTape(): ReplicaTape {
    if (this.#tape === undefined) throw new WireError('there is no tape');
    return this.#tape;
  }
}
