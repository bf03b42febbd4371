/** The now/next state machine: a table of its rules, then a seeded random sequence against a naive model. */

import t from 'tap';
import { acceptPush, acceptTitle, currentNext, type Moment, type PlainTitle } from '../../src/metadata/now-playing.js';
import type { PushInput } from '../../src/metadata/push-input.js';
import { type TrackRecord, titleLine } from '../../src/metadata/record.js';
import { type ChannelState, EMPTY_STATE } from '../../src/metadata/state.js';

const T0 = 1_795_178_248_250;
const RULES = { pushHoldSeconds: 600, graceSeconds: 5 };

/** A channel with its clock in seconds after T0. */
class Desk {
  state: ChannelState = EMPTY_STATE;
  seconds = 0;
  #ids = 0;

  get #at(): Moment {
    return { channel: 'one', wallMs: T0 + this.seconds * 1000, newId: () => `made-${++this.#ids}` };
  }
  push(input: Partial<PushInput>): TrackRecord {
    const { state, record } = acceptPush(this.state, { type: 'now', artist: '', song: '', ...input }, this.#at);
    this.state = state;
    return record;
  }
  title(source: PlainTitle['source'], song: string, artist = ''): TrackRecord | null {
    const accepted = acceptTitle(this.state, { artist, song, source }, this.#at, RULES);
    if (accepted !== null) this.state = accepted.state;
    return accepted?.record ?? null;
  }
  get next(): string | undefined {
    return currentNext(this.state, this.#at.wallMs)?.song;
  }
}

t.test('a push becomes a record', async (t) => {
  const desk = new Desk();
  const bare = desk.push({ artist: 'a', song: 's' });
  t.strictSame(bare, {
    id: 'made-1',
    type: 'now',
    artist: 'a',
    song: 's',
    separator: ' - ',
    durationSeconds: 0,
    etype: 0,
    isrc: '',
    cover: '',
    album: '',
    timezone: 'UTC',
    images: null,
    extdata: null,
    source: 'metapush',
    startSeconds: 1_795_178_248,
    channel: 'one',
    version: 1,
    effectAtMs: T0,
  });
  t.strictSame(desk.state, { ...EMPTY_STATE, version: 1, now: bare });
  const full = {
    id: 'x',
    artist: 'a',
    song: 's',
    separator: '/',
    durationSeconds: 9,
    etype: 101,
    isrc: 'i',
    cover: 'c',
    album: 'al',
    timezone: 'tz',
    images: '{}',
    extdata: '{"a":1.0}',
  };
  t.match(desk.push({ ...full, timeSeconds: 5 }), { ...full, startSeconds: 5, version: 2, type: 'now' });
  t.equal(titleLine(desk.push({})), '', 'an empty now clears');
  t.equal(desk.state.now?.version, 3, 'the last push received wins');
  t.strictSame(EMPTY_STATE, { version: 0, now: null, next: null, nowsSinceNext: 0, nextHasTime: false }, 'untouched');
});

t.test('the time of a push', async (t) => {
  const arrival = Math.floor(T0 / 1000);
  for (const [type, pushed, kept] of [
    ['now', undefined, arrival],
    ['now', arrival - 9999, arrival - 9999],
    ['now', arrival, arrival],
    ['now', arrival + 1, arrival],
    ['now', arrival + 99_999, arrival],
    ['next', undefined, arrival],
    ['next', arrival + 99_999, arrival + 99_999],
    ['next', arrival - 30, arrival - 30],
  ] as const) {
    const input = { type, ...(pushed === undefined ? {} : { timeSeconds: pushed }) };
    t.equal(new Desk().push(input).startSeconds, kept, `${type} at ${pushed}`);
  }
});

t.test('next', async (t) => {
  const at = (seconds: number) => Math.floor(T0 / 1000) + seconds;
  const next = { type: 'next', id: 'n', artist: 'A', song: 'N' } as const;
  const table: readonly [string, (desk: Desk) => void, string | undefined][] = [
    ['is told', () => {}, 'N'],
    ['is replaced by another', (desk) => desk.push({ type: 'next', song: 'M' }), 'M'],
    ['never becomes now by itself', (desk) => (desk.seconds = 1e7), 'N'],
    ['is spent by its id', (desk) => desk.push({ id: 'n', song: 'other' }), undefined],
    ['is spent by artist and song', (desk) => desk.push({ artist: 'A', song: 'N' }), undefined],
    ['is spent by an encoder that plays it', (desk) => desk.title('encoder', 'N', 'A'), undefined],
    ['is not spent by the song alone', (desk) => desk.push({ artist: 'B', song: 'N' }), 'N'],
    ['stays at the first other now', (desk) => desk.push({ song: 'jingle' }), 'N'],
    ['is dropped at the second', (desk) => [desk.push({ song: 'jingle' }), desk.push({ song: 'other' })], undefined],
    [
      'is dropped at the second, whoever told it',
      (desk) => [desk.title('encoder', 'jingle'), desk.title('upstream', 'other')],
      undefined,
    ],
    [
      'counts anew when pushed again',
      (desk) => [desk.push({ song: 'jingle' }), desk.push(next), desk.push({ song: 'other' })],
      'N',
    ],
    ['is spent after a jingle', (desk) => [desk.push({ song: 'jingle' }), desk.push({ id: 'n' })], undefined],
    [
      'a title that changes nothing does not count',
      (desk) => [desk.push({ song: 'j' }), desk.title('encoder', 'x')],
      'N',
    ],
  ];
  for (const [name, act, expected] of table) {
    const desk = new Desk();
    desk.title('encoder', 'before');
    desk.push(next);
    act(desk);
    t.equal(desk.next, expected, name);
    t.not(desk.state.now?.type, 'next');
  }
  const timed = new Desk();
  timed.push({ ...next, timeSeconds: at(100) });
  timed.seconds = 159.7;
  t.equal(timed.next, 'N', 'to the last moment of its start + 60 s');
  timed.seconds = 159.75;
  t.equal(timed.next, undefined, 'start + 60 s have passed');
  timed.push({ song: 'first other' });
  t.equal(timed.state.next, null, 'and then it is gone for good');
  timed.push(next);
  timed.seconds = 1e6;
  t.equal(timed.next, 'N', 'pushed again without a time');
});

t.test('titles from the stream', async (t) => {
  type Step = (desk: Desk) => unknown;
  const encoder: Step = (desk) => desk.title('encoder', 'B', 'A');
  const wait = (seconds: number) => (desk: Desk) => (desk.seconds += seconds);
  /** Steps, and whether the last one changed something. */
  const table: readonly [string, readonly Step[], boolean][] = [
    ['the first', [encoder], true],
    ['a repeat', [encoder, encoder], false],
    ['a repeat, split otherwise', [encoder, (desk) => desk.title('encoder', 'A - B')], false],
    ['another', [encoder, (desk) => desk.title('encoder', 'C')], true],
    ['the same from another source', [encoder, (desk) => desk.title('upstream', 'B', 'A')], true],
    ['empty before any', [(desk) => desk.title('encoder', '')], false],
    ['empty from the same source', [encoder, (desk) => desk.title('encoder', '')], true],
    ['empty twice', [encoder, (desk) => desk.title('encoder', ''), (desk) => desk.title('encoder', '')], false],
    ['empty from another source', [encoder, (desk) => desk.title('upstream', '')], false],
    [
      'empty long after a push',
      [(desk) => desk.push({ song: 'P' }), wait(1e6), (desk) => desk.title('encoder', '')],
      false,
    ],
    ['while a push holds', [(desk) => desk.push({ song: 'P' }), wait(599.999), encoder], false],
    ['when it no longer holds', [(desk) => desk.push({ song: 'P' }), wait(600), encoder], true],
    [
      'until its duration + grace',
      [(desk) => desk.push({ song: 'P', durationSeconds: 30 }), wait(34.999), encoder],
      false,
    ],
    ['past its duration + grace', [(desk) => desk.push({ song: 'P', durationSeconds: 30 }), wait(35), encoder], true],
    [
      'from when it took effect, not its time',
      [(desk) => desk.push({ durationSeconds: 30, timeSeconds: 1 }), wait(34), encoder],
      false,
    ],
    ['a next holds nothing', [(desk) => desk.push({ type: 'next', song: 'N' }), encoder], true],
    ['a push after a title', [encoder, (desk) => desk.push({ song: 'P' })], true],
  ];
  for (const [name, steps, changes] of table) {
    const desk = new Desk();
    for (const step of steps.slice(0, -1)) step(desk);
    const before = desk.state;
    steps.at(-1)!(desk);
    t.equal(desk.state !== before, changes, name);
    t.equal(desk.state.version, before.version + (changes ? 1 : 0), `${name}: version`);
  }
  const desk = new Desk();
  t.match(desk.title('upstream', 'B', 'A'), {
    id: 'made-1',
    type: 'now',
    artist: 'A',
    song: 'B',
    source: 'upstream',
    separator: ' - ',
    startSeconds: Math.floor(T0 / 1000),
    effectAtMs: T0,
  });
});

t.test('a long random sequence against a naive model', async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 31);
  let random = seed;
  const pick = (n: number) => {
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((random / 2 ** 32) * n);
  };
  const desk = new Desk();
  // The model keeps the whole story and answers by looking through it.
  const story: { record: TrackRecord; timed: boolean }[] = [];
  const modelNow = () => story.findLast(({ record }) => record.type === 'now')?.record;
  const modelNext = (wallMs: number) => {
    const at = story.findLastIndex(({ record }) => record.type === 'next');
    if (at === -1) return undefined;
    const { record: next, timed } = story[at]!;
    const since = story.slice(at + 1).map(({ record }) => record);
    if (since.length > 1) return undefined;
    if (since.some((now) => now.id === next.id || (now.artist === next.artist && now.song === next.song)))
      return undefined;
    return timed && wallMs - next.startSeconds * 1000 >= 60_000 ? undefined : next;
  };
  const modelTakes = (source: string, line: string, wallMs: number) => {
    const now = modelNow();
    if (now === undefined) return line !== '';
    const isHeld =
      now.source === 'metapush' &&
      wallMs - now.effectAtMs < (now.durationSeconds ? now.durationSeconds + 5 : 600) * 1000;
    const isRepeat = now.source === source && titleLine(now) === line;
    return !isHeld && !isRepeat && (line !== '' || now.source === source);
  };
  for (let i = 0; i < 5000; i++) {
    desk.seconds += pick(4) === 0 ? pick(400) : pick(20) / 4;
    const wallMs = T0 + desk.seconds * 1000;
    const song = ['', 'a', 'b', 'c'][pick(4)]!;
    const artist = ['', 'x'][pick(2)]!;
    const context = `seed ${seed}, step ${i}`;
    if (pick(2) === 0) {
      const timed = pick(2) === 0;
      const record = desk.push({
        type: pick(3) === 0 ? 'next' : 'now',
        artist,
        song,
        ...(pick(2) === 0 ? { id: `id${pick(4)}` } : {}),
        ...(pick(2) === 0 ? { durationSeconds: pick(60) } : {}),
        ...(timed ? { timeSeconds: Math.floor(wallMs / 1000) + pick(300) - 100 } : {}),
      });
      story.push({ record, timed });
    } else {
      const source = pick(2) === 0 ? 'encoder' : 'upstream';
      const expected = modelTakes(source, titleLine({ artist, song, separator: ' - ' }), wallMs);
      const record = desk.title(source, song, artist);
      if ((record !== null) !== expected) throw new Error(`title ${expected ? 'not ' : ''}taken: ${context}`);
      if (record !== null) story.push({ record, timed: false });
    }
    if (desk.state.now !== (modelNow() ?? null)) throw new Error(`now: ${context}`);
    if (currentNext(desk.state, wallMs) !== (modelNext(wallMs) ?? null)) throw new Error(`next: ${context}`);
    if (desk.state.version !== story.length) throw new Error(`version: ${context}`);
    if (story.at(-1) !== undefined && story.at(-1)?.record.version !== story.length)
      throw new Error(`record: ${context}`);
  }
  t.pass(`seed ${seed}`);
});
