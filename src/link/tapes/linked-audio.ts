/**
 * A channel's audio in a process that does not feed it: its tape is taken over a link while it has listeners, and for a while after. While the hub is
 * away listeners play what is here, and continue when the tape does. On another tape they continue if its format is that of their response head; else
 * they are disconnected, as after a change of format.
 *
 *   wanted ──► subscribed ──► tape ──► no listeners, lingers ──► released
 *
 * Written by its TapeReceiver; the audience writes `listeners` and `playing`.
 */

import { Arrivals } from '../../audio/frames/arrivals.js';
import type { LinkPages, OggSegment } from '../../audio/ogg/ogg-segment.js';
import type { PlayableAudio, TapeObserver } from '../../audio/playable-audio.js';
import type { Segment } from '../../audio/tape/segment.js';
import type { Alarm, AlarmHandler, Clock } from '../../base/clock.js';
import type { ChannelFacts } from '../control-messages.js';
import { NO_FACTS } from '../facts/channel-facts.js';
import { readAll } from '../wire/members.js';
import {
  FACTS,
  FALLEN,
  FENCE,
  FRAMES_SEGMENT,
  GROWTH,
  LATE,
  LINK_HEAD,
  MARK,
  NO_TAPE,
  OGG_SEGMENT,
  REVISION,
  TAPE,
} from '../wire/message-types.js';
import { type MessageReader, WireError } from '../wire/wire.js';
import { LinkedMarks } from './linked-marks.js';
import { ReplicaTape } from './replica-tape.js';
import {
  type CameSegment,
  readFramesSegment,
  readLate,
  readLinkHead,
  readOggSegment,
  readRevision,
} from './segment-message.js';
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
  mostLagMs(): number;
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
  /** The hub that has sent the marks. */
  #hub = '';
  readonly #marks: LinkedMarks;
  #head: { readonly number: number; readonly pages: LinkPages } | null = null;
  #arrivals = new Arrivals(0);
  #arrivedMs = Number.NEGATIVE_INFINITY;
  readonly #observers: TapeObserver[] = [];

  constructor(parts: LinkedAudioParts) {
    this.key = parts.key;
    this.#parts = parts;
    this.#marks = new LinkedMarks(parts.key);
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
    return this.#marks.last;
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
    this.#marks.clear();
    this.#head = null;
    this.#replace(undefined);
  }

  arrivedMs(atMs: number): number {
    return this.#arrivals.momentOf(atMs);
  }

  observe(observer: TapeObserver): void {
    this.#observers.push(observer);
  }

  unobserve(observer: TapeObserver): void {
    const place = this.#observers.indexOf(observer);
    if (place >= 0) this.#observers.splice(place, 1);
  }

  /** Handles a message of its subscription. @throws WireError */
  onMessage(type: number, message: MessageReader): void {
    if (type === FRAMES_SEGMENT || type === OGG_SEGMENT) this.#onSegment(type, message);
    else if (type === GROWTH) this.#onGrowth(message);
    else if (type === MARK) this.#marks.read(message);
    else if (type === REVISION) this.#onRevision(message);
    else if (type === LATE) this.#onLate(message);
    else if (type === LINK_HEAD) this.#head = readLinkHead(message);
    else if (type === FACTS) this.#onFacts(message);
    else if (type === FENCE) this.#onFence(message);
    else if (type === TAPE) this.#onTape(message);
    else if (type === FALLEN) this.#onFallen();
    else if (type === NO_TAPE) {
      this.#answered = this.subscription;
      this.#replace(undefined);
    } else throw new WireError(`a message of type ${type} from a hub`);
  }

  #onFacts(message: MessageReader): void {
    this.#facts = readFacts(message);
    for (const observer of this.#observers) observer.onFacts?.();
  }

  #onTape(message: MessageReader): void {
    const facts = readTape(message);
    this.#answered = this.subscription;
    this.#hasIcy = facts.hasIcy;
    this.#head = null;
    if (facts.goesOn) {
      const tape = this.#theTape();
      const isTheirs = canGoOn(facts.name, tape.name, tape.head) && facts.first === tape.head;
      if (!isTheirs) throw new WireError('another tape goes on');
      tape.name = facts.name;
      tape.fenceAt(facts.joinFrom);
      tape.comesTo = facts.head;
      for (const observer of this.#observers) observer.onFence();
      return;
    }
    if (facts.name.hub !== this.#hub) this.#marks.clear();
    this.#hub = facts.name.hub;
    const lagMs = Math.min(facts.lagMs, this.#parts.mostLagMs());
    this.#arrivals = new Arrivals(lagMs);
    this.#replace(new ReplicaTape({ ...facts, lagMs }));
  }

  #onSegment(type: number, message: MessageReader): void {
    const tape = this.#theTape();
    const came: CameSegment<Segment | OggSegment> =
      type === FRAMES_SEGMENT
        ? readFramesSegment(message, this.#marks, tape)
        : readOggSegment(message, this.#marks, (number) => this.#headOf(number));
    tape.append(came.seq, came.segment, came.rest);
    this.#noteArrival(came.arrivedMs, came.segment.endMs);
    for (const observer of this.#observers) observer.onGrown();
  }

  #onGrowth(message: MessageReader): void {
    const tape = this.#theTape();
    const { endMs, audioMs, delayedMs, bitrateKbps, open, restFrom, rest } = readGrowth(message);
    tape.grow(endMs, open, restFrom, rest);
    this.audioMs = audioMs;
    this.delayedMs = delayedMs;
    this.bitrateKbps = bitrateKbps;
    for (const observer of this.#observers) observer.onGrown();
  }

  #onRevision(message: MessageReader): void {
    const { seq, titles } = readRevision(message, this.#marks);
    this.#theTape().retitle(seq, titles);
    for (const observer of this.#observers) observer.onRetitled?.(seq);
  }

  #onLate(message: MessageReader): void {
    const late = readLate(message, this.#marks);
    this.#theTape();
    for (const observer of this.#observers) observer.onLate(late);
  }

  #onFence(message: MessageReader): void {
    const tape = this.#theTape();
    const { joinFrom } = readAll(message, FENCE_MEMBERS);
    if (joinFrom > Math.max(tape.head, tape.comesTo) + 1) throw new WireError(`a fence at ${joinFrom}`);
    tape.fenceAt(joinFrom);
    for (const observer of this.#observers) observer.onFence();
  }

  #onFallen(): void {
    this.#tape?.lose();
    for (const observer of this.#observers) observer.onTape();
  }

  /** Readers of the former tape, which has ended, continue with this one or are disconnected. */
  #replace(tape: ReplicaTape | undefined): void {
    // Listeners who have fallen off it have their own ending.
    if (this.#tape?.tail !== Number.POSITIVE_INFINITY) this.#tape?.end();
    this.#tape = tape;
    for (const observer of this.#observers) observer.onTape();
  }

  /** @param wallMs unix milliseconds by the clock of its feeder; bounded by the present time */
  #noteArrival(wallMs: number, endMs: number): void {
    const { clock } = this.#parts;
    this.#arrivedMs = Math.max(this.#arrivedMs, clock.now() - Math.max(0, clock.wallMs() - wallMs));
    this.#arrivals.note(this.#arrivedMs, endMs);
  }

  #theTape(): ReplicaTape {
    if (this.#tape === undefined) throw new WireError('there is no tape');
    return this.#tape;
  }

  #headOf(number: number): LinkPages {
    if (this.#head?.number !== number) throw new WireError(`the head of link ${number} is not known`);
    return this.#head.pages;
  }
}
