/**
 * The small messages of tapes, field by field: what each says is in README.md. All of them begin with the number of the subscription.
 *
 * The other end may be broken, or lie: LIMITS bounds each member, and each reader then checks the members against each other.
 */

import { cleanText } from '../metadata/text.js';
import type { MessageWriter } from './message-writer.js';
import { MOST_FORKS, type TapeName } from './tape-names.js';
import { type MessageReader, WireError } from './wire.js';

/** The highest that a configuration can set, or that makes sense (source/facts.ts). */
export const LIMITS = {
  /** Of where a tape begins here: it goes on from there for as many again. */
  firstSegment: 2 ** 30,
  metaint: 65_535,
  segmentBytes: 4 * 1024 * 1024,
  lagMs: 600_000,
  listeners: 10_000_000,
  sampleRate: 768_000,
  channels: 255,
  delayMs: 60_000,
  bitrateKbps: 10_000,
} as const;

/** What a worker has when it asks for a channel. */
export interface Subscribe {
  readonly channel: string;
  /** Its tape, and the number of the segment that it wants next. */
  readonly name: TapeName;
  readonly next: number;
}

export function writeSubscribe(message: MessageWriter, { channel, name, next }: Subscribe): void {
  message.text(channel);
  writeName(message, name);
  message.whole(next);
}

export function readSubscribe(message: MessageReader): Subscribe {
  const subscribe = { channel: message.text(), name: readName(message), next: message.whole() };
  message.end();
  return subscribe;
}

export interface Listening {
  readonly listeners: number;
  readonly playing: number;
}

export function readListening(message: MessageReader): Listening {
  const listening = { listeners: message.whole(LIMITS.listeners), playing: message.whole(LIMITS.listeners) };
  message.end();
  if (listening.playing > listening.listeners) throw new WireError('more play than listen');
  return listening;
}

/** What a tape is, as it begins or goes on at the other end. */
export interface TapeFacts {
  readonly name: TapeName;
  /** The first segment that will be sent is the next one of what the worker has of this tape. */
  readonly goesOn: boolean;
  readonly isOgg: boolean;
  /** Whether its listeners may have ICY blocks. */
  readonly hasIcy: boolean;
  readonly metaint: number;
  readonly segmentBytes: number;
  readonly lagMs: number;
  /** The number of the first segment that will be sent, its audio time, the one behind all that are there, and the first with which a listener may begin. */
  readonly first: number;
  readonly startMs: number;
  readonly head: number;
  readonly joinFrom: number;
}

const [GOES_ON, IS_OGG, HAS_ICY] = [1, 2, 4];

export function writeTape(message: MessageWriter, facts: TapeFacts): void {
  writeName(message, facts.name);
  message.byte((facts.goesOn ? GOES_ON : 0) | (facts.isOgg ? IS_OGG : 0) | (facts.hasIcy ? HAS_ICY : 0));
  message.whole(facts.metaint).whole(facts.segmentBytes).number(facts.lagMs);
  message.whole(facts.first).number(facts.startMs).whole(facts.head).whole(facts.joinFrom);
}

export function readTape(message: MessageReader): TapeFacts {
  const name = readName(message);
  const flags = message.byte();
  const facts: TapeFacts = {
    name,
    goesOn: (flags & GOES_ON) !== 0,
    isOgg: (flags & IS_OGG) !== 0,
    hasIcy: (flags & HAS_ICY) !== 0,
    metaint: message.whole(LIMITS.metaint),
    segmentBytes: message.whole(LIMITS.segmentBytes),
    lagMs: message.number(0, LIMITS.lagMs),
    first: message.whole(),
    startMs: message.number(0),
    head: message.whole(),
    joinFrom: message.whole(),
  };
  message.end();
  const { metaint, segmentBytes, goesOn, first } = facts;
  const isWhole = metaint > 0 && segmentBytes > 0 && segmentBytes % metaint === 0;
  if (!isWhole) throw new WireError(`a metaint of ${metaint} bytes in segments of ${segmentBytes}`);
  if (!goesOn && first > LIMITS.firstSegment) throw new WireError(`a tape that begins with segment ${first}`);
  return facts;
}

/** What heads and statistics say of a channel. */
export interface AudioStats {
  readonly contentType: string;
  readonly sampleRate: number;
  readonly channels: number;
  readonly delayMs: number;
}

export function writeFacts(message: MessageWriter, { contentType, sampleRate, channels, delayMs }: AudioStats): void {
  message.text(contentType).number(sampleRate).number(channels).number(delayMs);
}

export function readFacts(message: MessageReader): AudioStats {
  const contentType = cleanText(message.text());
  const facts = {
    contentType,
    sampleRate: message.number(0, LIMITS.sampleRate),
    channels: message.number(0, LIMITS.channels),
    delayMs: message.number(0, LIMITS.delayMs),
  };
  message.end();
  return facts;
}

/** How far the tape's end has come, and of the open segment what a listener that is sent away there still gets. */
export interface Growth {
  readonly endMs: number;
  readonly audioMs: number;
  readonly delayedMs: number;
  readonly bitrateKbps: number;
  /** The number of the open segment, and how much of its rest was sent before. */
  readonly open: number;
  readonly restFrom: number;
  readonly rest: Buffer;
}

/** @param mostRest of the open segment of its tape */
export function readGrowth(message: MessageReader, mostRest: number): Growth {
  return {
    endMs: message.number(0),
    audioMs: message.number(0),
    delayedMs: message.number(0, 2 * LIMITS.delayMs),
    bitrateKbps: message.number(0, LIMITS.bitrateKbps),
    open: message.whole(),
    restFrom: message.whole(mostRest),
    rest: message.rest(mostRest),
  };
}

export function writeGrowth(message: MessageWriter, growth: Omit<Growth, 'rest'>): void {
  const { endMs, audioMs, delayedMs, bitrateKbps, open, restFrom } = growth;
  message.number(endMs).number(audioMs).number(delayedMs).number(bitrateKbps).whole(open).whole(restFrom);
}

function writeName(message: MessageWriter, { hub, number, forks }: TapeName): void {
  message.text(hub).whole(number).whole(forks.length);
  for (const { seq, by } of forks) message.whole(seq).text(by);
}

function readName(message: MessageReader): TapeName {
  const name = { hub: message.text(), number: message.whole() };
  const count = message.whole();
  if (count > MOST_FORKS) throw new WireError(`a tape that forked ${count} times`);
  const forks = Array.from({ length: count }, () => ({ seq: message.whole(), by: message.text() }));
  return { ...name, forks };
}
