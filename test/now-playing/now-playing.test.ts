/** The now/next state machine: a table of its rules. Random sequences of everything at once are in story.test.ts. */

import t from 'tap';
import type { PushInput } from '../../src/metadata/push-input.js';
import { type TrackRecord, titleLine } from '../../src/metadata/record.js';
import { currentNext, type Moment } from '../../src/now-playing/effect.js';
import { takeHeld } from '../../src/now-playing/held.js';
import { acceptPush, acceptTitle, type PlainTitle, returnTitle } from '../../src/now-playing/now-playing.js';
import { type Change, type ChannelState, EMPTY_STATE, type HistoryEntry } from '../../src/now-playing/state.js';
import type { TrustRules } from '../../src/now-playing/trust.js';

const T0 = 1_795_178_248_250;
const RULES: TrustRules = {
  titlesFrom: ['metapush', 'encoder', 'upstream'],
  originOnAir: null,
  pushHoldSeconds: 600,
  graceSeconds: 5,
};

const HOLD = { holdSeconds: 300, heldPushes: 64 };

/** A channel with its clock in seconds after T0. */
class Desk {
  state: ChannelState = EMPTY_STATE;
  seconds = 0;
  /** Entries as they were last written, oldest first. */
  history: HistoryEntry[] = [];
  #ids = 0;

  #take(change: Change | null): void {
    if (change === null) return;
    this.state = change.state;
    const versions = change.history.map(({ record }) => record.version);
    this.history = [...this.history.filter(({ record }) => !versions.includes(record.version)), ...change.history];
  }

  get #at(): Moment {
    const wallMs = T0 + this.seconds * 1000;
    return { channel: 'one', wallMs, newId: () => `made-${++this.#ids}`, ageMs: (now) => wallMs - now.effectAtMs };
  }
  push(input: Partial<PushInput>): TrackRecord {
    const { change, answer } = acceptPush(this.state, { type: 'now', artist: '', song: '', ...input }, this.#at, HOLD);
    this.#take(change);
    return answer;
  }
  title(source: PlainTitle['source'], song: string, artist = ''): TrackRecord | null {
    const accepted = acceptTitle(this.state, { artist, song, source }, this.#at, RULES);
    this.#take(accepted);
    return accepted?.record ?? null;
  }
  /** What stands in the stream returns, if it may. */
  back(source: PlainTitle['source'], song: string, artist = '', rules: Partial<TrustRules> = {}): TrackRecord | null {
    const returned = returnTitle(this.state, { artist, song, source }, this.#at, { ...RULES, ...rules });
    this.#take(returned);
    return returned?.record ?? null;
  }
  /** The next held push that is due takes effect. */
  due(): TrackRecord | null {
    const change = takeHeld(this.state, (track) => track.startSeconds * 1000 <= this.#at.wallMs, this.#at);
    this.#take(change);
    return change?.record ?? null;
  }
  get held(): string[] {
    return this.state.held.map((track) => track.song);
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
  t.strictSame(desk.state, { ...EMPTY_STATE, version: 1, now: bare, onAirSinceMs: T0 });
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
  t.equal(EMPTY_STATE.version, 0, 'untouched');
});

t.test('the time of a push', async (t) => {
  const arrival = Math.floor(T0 / 1000);
  for (const [type, pushed, kept] of [
    ['now', undefined, arrival],
    ['now', arrival - 9999, arrival - 9999],
    ['now', arrival, arrival],
    ['now', arrival + 0.25, arrival + 0.25],
    ['now', arrival + 1, arrival + 1],
    ['now', arrival + 300, arrival + 300],
    ['now', arrival + 301, arrival],
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
    ['is published', () => {}, 'N'],
    ['is replaced by another', (desk) => desk.push({ type: 'next', song: 'M' }), 'M'],
    ['never becomes now by itself', (desk) => (desk.seconds = 1e7), 'N'],
    ['is spent by its id', (desk) => desk.push({ id: 'n', song: 'other' }), undefined],
    ['is spent by artist and song', (desk) => desk.push({ artist: 'A', song: 'N' }), undefined],
    ['is spent by an encoder that plays it', (desk) => desk.title('encoder', 'N', 'A'), undefined],
    ['is not spent by the song alone', (desk) => desk.push({ artist: 'B', song: 'N' }), 'N'],
    ['stays at the first other now', (desk) => desk.push({ song: 'jingle' }), 'N'],
    ['is dropped at the second', (desk) => [desk.push({ song: 'jingle' }), desk.push({ song: 'other' })], undefined],
    [
      'is dropped at the second, whatever its origin',
      (desk) => [desk.title('encoder', 'jingle'), desk.title('upstream', 'other')],
      undefined,
    ],
    [
      'counts anew when pushed again',
      (desk) => [desk.push({ song: 'jingle' }), desk.push(next), desk.push({ song: 'other' })],
      'N',
    ],
    [
      'is not spent by a correction of what is on air',
      (desk) => [
        desk.push({ artist: 'A', song: 'N' }),
        desk.push(next),
        desk.push({ artist: 'A', song: 'N', cover: 'c' }),
      ],
      'N',
    ],
    [
      'is spent by a correction into it',
      (desk) => [desk.push({ id: 'x', song: 'typo' }), desk.push({ id: 'x', artist: 'A', song: 'N' })],
      undefined,
    ],
    [
      'corrections do not count',
      (desk) => [
        desk.push({ id: 'x', song: 'a' }),
        desk.push({ id: 'x', song: 'b' }),
        desk.push({ id: 'x', song: 'c' }),
      ],
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

  // One whose start has long passed when it is pushed.
  const late = new Desk();
  late.seconds = 1000;
  const over = at(940);
  t.match(late.push({ ...next, timeSeconds: over }), { id: 'n', song: 'N', startSeconds: over, type: 'next' });
  t.same([late.state, late.next], [EMPTY_STATE, undefined], 'nothing has changed');
  late.push({ ...next, timeSeconds: over + 1 });
  t.equal(late.next, 'N', 'a second later it is one');
  late.push({ type: 'next', song: 'M', timeSeconds: over });
  t.equal(late.next, 'N', 'it takes the place of no other');
  for (const again of [
    { type: 'next', id: 'n', song: 'N, live' },
    { type: 'next', artist: 'A', song: 'N' },
  ] as const) {
    late.push({ ...next, timeSeconds: over + 1 });
    late.push({ ...again, timeSeconds: over });
    t.equal(late.state.next, null, 'the one that was moved there is gone');
  }
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

t.test('the title in the stream returns when a push no longer keeps it out', async (t) => {
  const wait = (seconds: number) => (desk: Desk) => (desk.seconds += seconds);
  const pushed = (input: Partial<PushInput>) => (desk: Desk) => desk.push({ song: 'P', ...input });
  const back = (desk: Desk) => desk.back('encoder', 'Live');
  type Step = (desk: Desk) => unknown;
  /** Steps, and whether the last one changed something. */
  const table: readonly [string, readonly Step[], boolean][] = [
    ['nothing was pushed', [back], false],
    ['it holds', [pushed({}), wait(599.999), back], false],
    ['it holds no more', [pushed({}), wait(600), back], true],
    ['until its duration + grace', [pushed({ durationSeconds: 30 }), wait(34.999), back], false],
    ['past its duration + grace', [pushed({ durationSeconds: 30 }), wait(35), back], true],
    [
      'from when it took effect, not from a correction',
      [pushed({ durationSeconds: 30 }), wait(29), pushed({ cover: 'c' }), wait(6), back],
      true,
    ],
    ['once', [pushed({}), wait(600), back, back], false],
    ['after another title from the stream', [pushed({}), wait(600), (d) => d.title('encoder', 'Newer'), back], false],
    ['it says what the push said', [pushed({ song: 'Live', durationSeconds: 1 }), wait(1e6), back], false],
    [
      'likewise, in two parts',
      [pushed({ artist: 'A', song: 'B', durationSeconds: 1 }), wait(1e6), (d) => d.back('encoder', 'B', 'A')],
      false,
    ],
    ['it is empty', [pushed({}), wait(600), (d) => d.back('encoder', '')], false],
    [
      'its source is not believed',
      [pushed({}), wait(600), (d) => d.back('upstream', 'U', '', { titlesFrom: ['metapush', 'encoder'] })],
      false,
    ],
    [
      'its source is believed more, but a push shows for its time all the same',
      [pushed({}), wait(599), (d) => d.back('encoder', 'Live', '', { titlesFrom: ['encoder', 'metapush'] })],
      false,
    ],
    [
      'its source is believed more',
      [pushed({}), wait(600), (d) => d.back('encoder', 'Live', '', { titlesFrom: ['encoder', 'metapush'] })],
      true,
    ],
    [
      'pushes hold nothing: the stream must say something new',
      [pushed({}), (d) => d.back('encoder', 'Live', '', { pushHoldSeconds: 0 })],
      false,
    ],
  ];
  for (const [name, steps, changes] of table) {
    const desk = new Desk();
    for (const step of steps.slice(0, -1)) step(desk);
    const before = desk.state;
    steps.at(-1)!(desk);
    t.equal(desk.state !== before, changes, name);
    if (changes) t.match(desk.state.now, { song: 'Live', source: 'encoder', version: before.version + 1 }, name);
  }
});

t.test('held pushes', async (t) => {
  const at = (seconds: number) => Math.floor(T0 / 1000) + seconds;
  const desk = new Desk();
  desk.push({ song: 'on air' });
  const later = desk.push({ song: 'later', id: 'l', timeSeconds: at(60) });
  t.match(later, { song: 'later', startSeconds: at(60), id: 'l' }, 'the answer comes at once, as it will be');
  desk.push({ song: 'sooner', timeSeconds: at(30) });
  desk.push({ song: 'as soon', timeSeconds: at(30) });
  t.equal(desk.state.now?.song, 'on air');
  t.same(desk.held, ['sooner', 'as soon', 'later']);
  desk.push({ song: 'better', id: 'l', timeSeconds: at(20) });
  t.same(desk.held, ['better', 'sooner', 'as soon'], 'the same id replaces it, wherever it stood');
  const { id } = desk.push({ song: 'sooner', timeSeconds: at(30), cover: 'c' });
  t.same(desk.held, ['better', 'as soon', 'sooner'], 'without an id: the same time and words');
  t.equal(desk.state.held[2]!.id, id);
  desk.push({ song: 'at once', id: 'l' });
  t.same(desk.held, ['as soon', 'sooner'], 'also where it takes effect at once');
  t.equal(desk.state.now?.song, 'at once');
  desk.seconds = 30;
  t.match(desk.due(), { song: 'as soon', startSeconds: at(30), effectAtMs: T0 + 30_000 });
  desk.push({ song: 'as soon', timeSeconds: at(30) });
  t.equal(desk.state.version, 8, 'pushed again after it took effect: a repeat');
  t.match(desk.due(), { song: 'sooner' });
  t.equal(desk.due(), null);

  desk.push({ type: 'next', song: 'N', timeSeconds: at(90) });
  t.match(desk.state.next, { song: 'N' }, 'a next is never held');

  const full = new Desk();
  for (let i = 0; i < HOLD.heldPushes; i++) full.push({ song: `${i}`, id: `${i}`, timeSeconds: at(100 + i) });
  const { state } = full;
  let refused: unknown;
  try {
    full.push({ song: 'x', timeSeconds: at(200) });
  } catch (error) {
    refused = error;
  }
  t.match(refused, { kind: 'too-many', headers: { 'Retry-After': '100' } });
  t.equal(full.state, state, 'nothing of it is applied');
  full.push({ song: 'in place of another', id: '5', timeSeconds: at(200) });
  full.push({ song: 'at once' });
  t.equal(full.state.held.length, HOLD.heldPushes);
});

t.test('repeat and correction', async (t) => {
  type Push = Partial<PushInput>;
  const at = (seconds: number) => Math.floor(T0 / 1000) + seconds;
  const song = { song: 'S', artist: 'A' };
  const timed = { ...song, durationSeconds: 100, timeSeconds: at(0) };
  /** A push, seconds that pass, another push, and what this one is. */
  const table: readonly [string, Push, number, Push, 'equal' | 'correction' | 'other' | 'held'][] = [
    ['the very same', song, 1, song, 'equal'],
    ['with everything', { ...timed, id: 'i', cover: 'c' }, 1, { ...timed, id: 'i', cover: 'c' }, 'equal'],
    ['less is said', { ...timed, id: 'i', cover: 'c' }, 1, song, 'equal'],
    ['an empty one again', {}, 1, {}, 'equal'],
    ['a default that is said', song, 1, { ...song, separator: ' - ', etype: 0 }, 'equal'],
    ['another id', song, 1, { ...song, id: 'x' }, 'other'],
    ['another id than the one sent', { ...song, id: 'i' }, 1, { ...song, id: 'x' }, 'other'],
    ['another song', song, 1, { ...song, song: 'T' }, 'other'],
    ['a cover that arrives late', timed, 1, { ...song, cover: 'c' }, 'correction'],
    ['a cover that arrives late, by id', { ...song, id: 'i' }, 1, { ...song, id: 'i', cover: 'c' }, 'correction'],
    ['the same id, another song', { ...song, id: 'i' }, 1, { song: 'T', id: 'i' }, 'correction'],
    ['the same id and time, another song', { ...timed, id: 'i' }, 1, { ...timed, song: 'T', id: 'i' }, 'correction'],
    ['the same id, another time', { ...timed, id: 'i' }, 1, { ...timed, id: 'i', timeSeconds: at(-1) }, 'other'],
    ['the last moment of its duration', timed, 99.999, song, 'equal'],
    ['after its duration', timed, 100, song, 'other'],
    ['after its duration, by id', { ...timed, id: 'i' }, 100, { ...song, id: 'i', cover: 'c' }, 'other'],
    ['no duration: never over', song, 1e6, song, 'equal'],
    ['the moment of the push as its time', timed, 5, { ...timed, timeSeconds: at(5), cover: 'c' }, 'correction'],
    ['the next play, just before the end', timed, 90, { ...timed, timeSeconds: at(90) }, 'other'],
    ['but not yet', timed, 89, { ...timed, timeSeconds: at(89) }, 'equal'],
    ['the same later', timed, 1, { ...timed, timeSeconds: at(60) }, 'held'],
    ['by id, later', { ...timed, id: 'i' }, 1, { ...timed, id: 'i', timeSeconds: at(60) }, 'held'],
    ['from a clock far ahead', { ...song, timeSeconds: at(9999) }, 1, { ...song, timeSeconds: at(9999) }, 'equal'],
    [
      'from such a clock, its next',
      { song: 'R', id: 'i', timeSeconds: at(9999) },
      1,
      { ...song, id: 'i', timeSeconds: at(9998) },
      'other',
    ],
  ];
  for (const [name, first, seconds, second, likeness] of table) {
    const desk = new Desk();
    const before = desk.push(first);
    desk.seconds = seconds;
    const answer = desk.push(second);
    const { now, version, held } = desk.state;
    const { timeSeconds: _, ...said } = second;
    const kept = now!.id === before.id && now!.startSeconds === before.startSeconds && now!.effectAtMs === T0;
    const found = held.length > 0 ? 'held' : version === 1 ? 'equal' : kept ? 'correction' : 'other';
    t.equal(found, likeness, name);
    if (found !== 'held') t.equal(answer, now, `${name}: the answer`);
    if (found === 'correction') t.match(now, { ...before, artist: '', ...said, version: 2, effectAtMs: T0 });
    const songs = desk.history.map(({ record }) => record.song);
    if (found === 'correction') t.same(songs, [before.song, now!.song], `${name}: history keeps both`);
  }
  const desk = new Desk();
  desk.title('encoder', 'S', 'A');
  t.not(desk.push(song).source, 'encoder', 'an encoder cannot have said it before the push');

  const next = new Desk();
  next.push({ type: 'next', id: 'n', song: 'N' });
  next.push({ type: 'next', id: 'n', song: 'N' });
  t.equal(next.state.version, 1);
  next.push({ type: 'next', song: 'N', cover: 'c' });
  t.match(next.state.next, { id: 'n', cover: 'c', version: 2 });
  next.push({ type: 'next', song: 'N', timeSeconds: at(50) });
  t.match(next.state.next, { id: 'n', cover: 'c', startSeconds: at(50), version: 3 });
});

t.test(
  'history where the wall clock goes back: a burst up to a second, a clock that was set from then on',
  async (t) => {
    for (const [backMs, fromMs, toMs] of [
      [0, T0 + 1, T0 + 1],
      [999, T0 + 1, T0 + 1],
      [1000, T0 - 1000, T0],
      [3_600_000, T0 - 3_600_000, T0],
    ] as const) {
      const desk = new Desk();
      desk.push({ song: 'one' });
      desk.seconds = -backMs / 1000;
      desk.push({ song: 'two' });
      t.match(
        desk.history,
        [
          { record: { song: 'one' }, fromMs: T0, toMs },
          { record: { song: 'two' }, fromMs, toMs: null },
        ],
        `${backMs} ms back`,
      );
    }
  },
);
