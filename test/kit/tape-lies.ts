/** Messages of a hub and a worker about one channel's tape: valid ones, and variants with each member at every boundary (lies.ts). */

import { ChannelAudio } from '../../src/audio/channel-audio.js';
import type { OggSegment } from '../../src/audio/ogg/ogg-segment.js';
import type { OggTape } from '../../src/audio/ogg/ogg-tape.js';
import { MARK_MEMBERS } from '../../src/link/tapes/linked-marks.js';
import {
  FRAMES_SEGMENT_MEMBERS,
  LATE_MEMBERS,
  LINK_HEAD_MEMBERS,
  OGG_SEGMENT_MEMBERS,
  REVISION_MEMBERS,
} from '../../src/link/tapes/segment-message.js';
import {
  FACTS_MEMBERS,
  FENCE_MEMBERS,
  GROWTH_MEMBERS,
  LISTENING_MEMBERS,
  NO_MEMBERS,
  SUBSCRIBE_MEMBERS,
  TAPE_MEMBERS,
} from '../../src/link/tapes/tape-messages.js';
import type { MemberTable } from '../../src/link/wire/members.js';
import * as types from '../../src/link/wire/message-types.js';
import { icyBlock } from '../../src/metadata/title.js';
import { FakeClock } from './clock.js';
import { framed, honest, type Lie, lies, plainLies, uint32 } from './lies.js';
import { Random } from './random.js';
import { FACE, makeRecord } from './record.js';
import { StorySource } from './story-source.js';

export type TapeKind = 'frames' | 'ogg';

export interface KnownMessage {
  readonly name: string;
  readonly type: number;
  readonly subscription: number;
  /** The messages before it, and after it. */
  readonly before: readonly Buffer[];
  readonly after: readonly Buffer[];
  /** The bytes after the number of the subscription. */
  honest(changes?: object): Buffer;
  lies(): Iterable<Lie>;
}

const [METAINT, BLOCKS] = [256, 4];
const HUB = '0123456789abcdef';
const NAME = { hub: HUB, number: 1, forks: [{ seq: 2, by: 'abcdefabcdef' }] };

function known<T extends object>(
  type: number,
  members: MemberTable<T>,
  values: T,
  { before = [], after = [] }: Partial<Pick<KnownMessage, 'before' | 'after'>> = {},
): KnownMessage {
  return {
    name: types.nameOf(type),
    type,
    subscription: 1,
    before,
    after,
    honest: (changes = {}) => honest(members, { ...values, ...changes }),
    lies: () => lies(members, values),
  };
}

const of = (message: KnownMessage, changes: object = {}) =>
  framed(message.type, Buffer.concat([uint32(1), message.honest(changes)]));

const tapeOf = (kind: TapeKind) =>
  known(types.TAPE, TAPE_MEMBERS, {
    name: NAME,
    flags: kind === 'ogg' ? 2 : 4,
    metaint: METAINT,
    segmentBytes: METAINT * BLOCKS,
    lagMs: 30_000,
    first: 0,
    startMs: 0,
    head: 2,
    joinFrom: 0,
  });

const facts = known(types.FACTS, FACTS_MEMBERS, {
  contentType: 'audio/mpeg',
  sampleRate: 44_100,
  channels: 2,
  delayMs: 0,
});

const markText = (channel: string) =>
  JSON.stringify({
    record: makeRecord({ channel }),
    channel: { ...FACE, key: channel },
    tags: { artist: '', title: 'Song', album: '' },
  });

function markOf(channel: string): KnownMessage {
  const values = { order: 1, keptFrom: 0, blockNumber: 1, text: markText(channel), block: icyBlock('Song') };
  return {
    ...known(types.MARK, MARK_MEMBERS, values),
    *lies() {
      yield* lies(MARK_MEMBERS, { ...values, order: 2, blockNumber: 2 });
      for (const { what, value } of plainLies(JSON.parse(values.text))) {
        const text = JSON.stringify(value) ?? 'undefined';
        yield { what: `text.${what}`, payload: honest(MARK_MEMBERS, { ...values, order: 2, text }) };
      }
    },
  };
}

const place = { mark: 1, atMs: 500, atByte: 100, blockByte: 256 };
const titles = { repeats: 0, late: 0, marks: [place, place] };
const secondFrames = {
  seq: 2,
  arrivedMs: Date.now(),
  startMs: 2000,
  endMs: 3000,
  entry: 100,
  entryMs: 2100,
  lastEntry: 2,
  before: 1,
  following: 0,
  titles,
  rest: Buffer.alloc(3),
  bytes: blocks(),
};
const firstFrames = { ...secondFrames, seq: 0, startMs: 0, endMs: 1000, entryMs: 100, lastEntry: 0 };
const frames = known(types.FRAMES_SEGMENT, FRAMES_SEGMENT_MEMBERS, secondFrames);

/** Audio with empty blocks. */
function blocks(): Buffer {
  const bytes = Buffer.alloc((METAINT + 1) * BLOCKS, 0x55);
  for (let i = 1; i <= BLOCKS; i++) bytes[i * (METAINT + 1) - 1] = 0;
  return bytes;
}

/** Ogg segments from a real tape. */
function oggSegments(): readonly OggSegment[] {
  const [clock, source] = [new FakeClock(), new StorySource('opus', new Random(1))];
  const audio = new ChannelAudio({ key: 'demo', lagMs: 30_000, now: () => clock.now(), metaint: METAINT });
  audio.observe({ onGrown: () => {}, onLate: () => {}, onFence: () => {}, onTape: () => {} });
  for (let ms = 0; ms < 5000; ) {
    const stepMs = source.write(audio);
    ms += stepMs;
    clock.advance(stepMs);
  }
  const tape = audio.tape as OggTape;
  return [0, 1, 2, 3].map((seq) => tape.at(seq)!);
}

const OGG = oggSegments();
const head = known(types.LINK_HEAD, LINK_HEAD_MEMBERS, { number: 1, ...OGG[0]!.head });
const oggOf = (seq: number) => {
  const { startMs, endMs, entryMs, linkBytes, linkStart, bytes } = OGG[seq]!;
  return known(types.OGG_SEGMENT, OGG_SEGMENT_MEMBERS, {
    seq,
    arrivedMs: Date.now(),
    startMs,
    endMs,
    entryMs,
    linkBytes,
    head: 1,
    ...linkStart,
    before: 1,
    marks: [place],
    bytes,
  });
};

const segmentOf = (kind: TapeKind, seq: number): Buffer => {
  if (kind === 'ogg') return of(oggOf(seq));
  const startMs = seq * 1000;
  const titled = { ...titles, marks: [{ ...place, atMs: startMs + 500 }] };
  return of(frames, { seq, startMs, endMs: startMs + 1000, entryMs: startMs + 100, lastEntry: seq, titles: titled });
};

/** An honest hub's messages, up to two segments. */
export function storyOf(kind: TapeKind, channel = 'demo'): Buffer[] {
  const heads = kind === 'ogg' ? [of(head)] : [];
  return [of(facts), of(tapeOf(kind)), of(markOf(channel)), ...heads, segmentOf(kind, 0), segmentOf(kind, 1)];
}

export function fromHub(kind: TapeKind, channel = 'demo'): KnownMessage[] {
  const after = [segmentOf(kind, 2), segmentOf(kind, 3)];
  const segment = kind === 'ogg' ? oggOf(2) : frames;
  const endMs = kind === 'ogg' ? OGG[1]!.endMs : 2000;
  const values = { endMs: endMs + 500, audioMs: 100, delayedMs: 0, bitrateKbps: 128, open: 2, restFrom: 0 };
  const first = kind === 'ogg' ? oggOf(0) : known(types.FRAMES_SEGMENT, FRAMES_SEGMENT_MEMBERS, firstFrames);
  const all = [
    { ...segment, after: after.slice(1) },
    { ...first, before: storyOf(kind, channel).slice(0, -2), after: [segmentOf(kind, 1), ...after] },
    { ...tapeOf(kind), after: storyOf(kind, channel).slice(2) },
    ...[facts, markOf(channel)],
    known(types.GROWTH, GROWTH_MEMBERS, { ...values, rest: Buffer.alloc(3) }),
    known(types.LATE, LATE_MEMBERS, { before: 1, mark: 1, atMs: 1500 }),
    known(types.REVISION, REVISION_MEMBERS, { seq: 1, ...titles }),
    known(types.FENCE, FENCE_MEMBERS, { joinFrom: 1 }),
    known(types.FALLEN, NO_MEMBERS, {}),
    known(types.NO_TAPE, NO_MEMBERS, {}),
    ...(kind === 'ogg' ? [head] : []),
  ];
  return all.map((message) => ({
    ...message,
    before: message.before.length > 0 ? message.before : storyOf(kind, channel),
    after: message.after.length > 0 ? message.after : after,
  }));
}

export function fromWorker(channel = 'demo'): KnownMessage[] {
  const subscribe = known(types.SUBSCRIBE, SUBSCRIBE_MEMBERS, { channel, name: NAME, next: 2 });
  const before = [of(subscribe)];
  return [
    subscribe,
    known(types.LISTENING, LISTENING_MEMBERS, { listeners: 3, playing: 2 }, { before }),
    known(types.UNSUBSCRIBE, NO_MEMBERS, {}, { before }),
  ];
}
