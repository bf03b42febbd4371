/**
 * The small messages of tapes, described in README.md. Each begins with the number of the subscription.
 *
 * The tables (members.ts) have the limits of each member; each reader then checks the members against each other.
 */

import { MAX_KBPS } from '../../audio/frames/mean-bitrate.js';
import { MAX_METAINT } from '../../audio/tape/metaint-choice.js';
import { MAX_DELAY_MS } from '../../channel/channel-facts-schema.js';
import { cleanText } from '../../metadata/text.js';
import { MAX_AUDIO_CHANNELS, MAX_HERTZ } from '../../source/source-facts-schema.js';
import {
  byte,
  group,
  list,
  type MemberTable,
  number,
  readAll,
  readMembers,
  rest,
  text,
  whole,
} from '../wire/members.js';
import type { MessageWriter } from '../wire/message-writer.js';
import { type MessageReader, WireError } from '../wire/wire.js';
import { MAX_FORKS, type TapeFork, type TapeName } from './tape-names.js';

/**
 * The highest values that a configuration can set, or that make sense. How much of a tape is kept is configured at this end (linked-audio.ts).
 */
export const LIMITS = {
  /** Maximum number of a tape's first segment: as many may follow. */
  firstSegment: 2 ** 30,
  metaint: MAX_METAINT,
  segmentBytes: 4 * 1024 * 1024,
  lagMs: 600_000,
  listeners: 10_000_000,
  sampleRate: MAX_HERTZ,
  channels: MAX_AUDIO_CHANNELS,
  delayMs: MAX_DELAY_MS,
  bitrateKbps: MAX_KBPS,
  channelBytes: 128,
  contentTypeBytes: 1024,
  /** Maximum length of the name of a hub, and of a fork. */
  nameBytes: 64,
} as const;

const NAME: MemberTable<TapeName> = {
  hub: text(LIMITS.nameBytes),
  number: whole(),
  forks: list<TapeFork>({ seq: whole(), by: text(LIMITS.nameBytes) }, MAX_FORKS),
};

/** What a worker has of a channel's tape when it subscribes. */
export interface Subscribe {
  readonly channel: string;
  /** The tape's name, and the number of the segment that it wants next. */
  readonly name: TapeName;
  readonly next: number;
}

export function writeSubscribe(message: MessageWriter, { channel, name, next }: Subscribe): void {
  message.text(channel);
  writeName(message, name);
  message.whole(next);
}

export const SUBSCRIBE_MEMBERS: MemberTable<Subscribe> = {
  channel: text(LIMITS.channelBytes),
  name: group(NAME),
  next: whole(),
};

export function readSubscribe(message: MessageReader): Subscribe {
  return readAll(message, SUBSCRIBE_MEMBERS);
}

export interface Listening {
  readonly listeners: number;
  readonly playing: number;
}

export const LISTENING_MEMBERS: MemberTable<Listening> = {
  listeners: whole(LIMITS.listeners),
  playing: whole(LIMITS.listeners),
};

export function readListening(message: MessageReader): Listening {
  const listening = readAll(message, LISTENING_MEMBERS);
  if (listening.playing > listening.listeners) throw new WireError('more play than listen');
  return listening;
}

/** Announces a tape, which begins or continues at the other end. */
export interface TapeFacts {
  readonly name: TapeName;
  /** Whether the first segment to be sent follows the ones that the worker has of this tape. */
  readonly goesOn: boolean;
  readonly isOgg: boolean;
  /** Whether its listeners may have ICY blocks. */
  readonly hasIcy: boolean;
  readonly metaint: number;
  readonly segmentBytes: number;
  readonly lagMs: number;
  /**
   * The number of the first segment to be sent, its audio time, the number after the last segment, and the first one with which a listener may
   * begin.
   */
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

export const TAPE_MEMBERS: MemberTable<Omit<TapeFacts, 'goesOn' | 'isOgg' | 'hasIcy'> & { readonly flags: number }> = {
  name: group(NAME),
  flags: byte(GOES_ON | IS_OGG | HAS_ICY),
  metaint: whole(LIMITS.metaint, 1),
  segmentBytes: whole(LIMITS.segmentBytes, 1),
  lagMs: number(0, LIMITS.lagMs),
  first: whole(),
  startMs: number(0),
  head: whole(),
  joinFrom: whole(),
};

export function readTape(message: MessageReader): TapeFacts {
  const { flags, ...facts } = readAll(message, TAPE_MEMBERS);
  const { metaint, segmentBytes, first, head, joinFrom } = facts;
  const goesOn = (flags & GOES_ON) !== 0;
  if (segmentBytes % metaint !== 0) throw new WireError(`a metaint of ${metaint} bytes in segments of ${segmentBytes}`);
  if (joinFrom > head + 1) throw new WireError(`a fence at ${joinFrom} on a tape up to ${head}`);
  if (!goesOn && first > LIMITS.firstSegment) throw new WireError(`a tape that begins with segment ${first}`);
  return { ...facts, goesOn, isOgg: (flags & IS_OGG) !== 0, hasIcy: (flags & HAS_ICY) !== 0 };
}

/** The facts of a channel for response heads and statistics. */
export interface AudioStats {
  readonly contentType: string;
  readonly sampleRate: number;
  readonly channels: number;
  readonly delayMs: number;
}

export function writeFacts(message: MessageWriter, { contentType, sampleRate, channels, delayMs }: AudioStats): void {
  message.text(contentType).number(sampleRate).number(channels).number(delayMs);
}

export const FACTS_MEMBERS: MemberTable<AudioStats> = {
  contentType: text(LIMITS.contentTypeBytes),
  sampleRate: number(0, LIMITS.sampleRate),
  channels: number(0, LIMITS.channels),
  delayMs: number(0, LIMITS.delayMs),
};

export function readFacts(message: MessageReader): AudioStats {
  const facts = readAll(message, FACTS_MEMBERS);
  return { ...facts, contentType: cleanText(facts.contentType) };
}

/** The position of the tape's end, and the part of the open segment that a listener who is disconnected there still gets. */
export interface Growth {
  readonly endMs: number;
  readonly audioMs: number;
  readonly delayedMs: number;
  readonly bitrateKbps: number;
  /** The number of the open segment, and how much of that part was sent before. */
  readonly open: number;
  readonly restFrom: number;
  readonly rest: Buffer;
}

export const GROWTH_MEMBERS: MemberTable<Growth> = {
  endMs: number(0),
  audioMs: number(0),
  delayedMs: number(0, 2 * LIMITS.delayMs),
  bitrateKbps: number(0, LIMITS.bitrateKbps),
  open: whole(),
  restFrom: whole(LIMITS.segmentBytes),
  rest: rest(LIMITS.segmentBytes),
};

export function readGrowth(message: MessageReader): Growth {
  return readMembers(message, GROWTH_MEMBERS);
}

export function writeGrowth(message: MessageWriter, growth: Omit<Growth, 'rest'>): void {
  const { endMs, audioMs, delayedMs, bitrateKbps, open, restFrom } = growth;
  message.number(endMs).number(audioMs).number(delayedMs).number(bitrateKbps).whole(open).whole(restFrom);
}

function writeName(message: MessageWriter, { hub, number, forks }: TapeName): void {
  message.text(hub).whole(number).whole(forks.length);
  for (const { seq, by } of forks) message.whole(seq).text(by);
}

/** The first segment with which a listener may begin. */
export const FENCE_MEMBERS: MemberTable<{ readonly joinFrom: number }> = { joinFrom: whole() };
/** The members of UNSUBSCRIBE, NO_TAPE and FALLEN: none. */
export const NO_MEMBERS: MemberTable<object> = {};
