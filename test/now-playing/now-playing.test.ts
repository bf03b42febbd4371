/** The now/next state machine: a table of its rules. Random sequences of everything at once are in story.test.ts. */

import t from 'tap';
import type { PushInput } from '../../src/metadata/push-input.js';
import { playId, type TrackRecord, titleLine } from '../../src/metadata/record.js';
import { currentNext, type Moment } from '../../src/now-playing/effect.js';
import { sourceLost } from '../../src/now-playing/fallback.js';
import { takeHeld } from '../../src/now-playing/held.js';
import { acceptPush, acceptTitle, type PlainTitle, returnTitle } from '../../src/now-playing/now-playing.js';
import { type Change, type ChannelState, EMPTY_STATE, type HistoryEntry } from '../../src/now-playing/state.js';
import type { TrustRules } from '../../src/now-playing/trust.js';
import { type PlayedTitle, playKey, withEntry } from '../../src/statistics/plays.js';

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

  protected take(change: Change | null): void {
    if (change === null) return;
    this.state = change.state;
    for (const row of change.history) {
      const place = this.history.findIndex((other) => playOf(other) === playOf(row));
      this.history.splice(place === -1 ? this.history.length : place, 1, row);
    }
  }

  get #at(): Moment {
    const wallMs = T0 + this.seconds * 1000;
    return { channel: 'one', wallMs, newId: () => `made-${++this.#ids}`, ageMs: (now) => wallMs - now.effectAtMs };
  }
  push(input: Partial<PushInput>): TrackRecord {
    const { change, answer } = acceptPush(this.state, { type: 'now', artist: '', song: '', ...input }, this.#at, HOLD);
    this.take(change);
    return answer;
  }
  title(source: PlainTitle['source'], song: string, artist = ''): TrackRecord | null {
    const accepted = acceptTitle(this.state, { artist, song, source }, this.#at, RULES);
    this.take(accepted);
    return accepted?.record ?? null;
  }
  /** The source is lost, and the channel has a fallback title. */
  lose(): void {
    this.take(sourceLost(this.state, { artist: '', song: 'Own' }, this.#at));
  }
  /** What stands in the stream returns, if it may. */
  back(source: PlainTitle['source'], song: string, artist = '', rules: Partial<TrustRules> = {}): TrackRecord | null {
    const returned = returnTitle(this.state, { artist, song, source }, this.#at, { ...RULES, ...rules });
    this.take(returned);
    return returned?.record ?? null;
  }
  /** The next held push that is due takes effect. */
  due(): TrackRecord | null {
    const change = takeHeld(this.state, (track) => track.startSeconds * 1000 <= this.#at.wallMs, this.#at);
    this.take(change);
    return change?.record ?? null;
  }
  get held(): string[] {
    return this.state.held.map((track) => track.song);
  }
  get next(): string | undefined {
    return currentNext(this.state, this.#at.wallMs)?.song;
  }
}

/** A row of the history. */
function playOf({ record, fromMs }: HistoryEntry): string {
  return `${fromMs} ${playId(record)}`;
}

t.test('a push becomes a record', async (t) => {
  const desk = new Desk();
  const bare = desk.push({ artist: 'a', song: 's' });
  t.strictSame(bare, {
    id: 'made-1',
    madeId: 'made-1',
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

const WORDLESS = { type: 'next', etype: 101 } as const;

t.test('a next without words gives its id to its own title alone, not to the pause before it', async (t) => {
  const desk = new Desk();
  desk.push({ song: 'A' });
  desk.push({ ...WORDLESS, id: 'j' });
  t.not(desk.push({}).id, 'j');
  desk.seconds = 3;
  const { version } = desk.state;
  t.match(desk.push({ etype: 101, id: 'j' }), { id: 'j', effectAtMs: T0 + 3000, version: version + 1 });
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
        (desk.seconds = 31),
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
    [
      'without words: not spent by a pause before it',
      (desk) => [desk.push({ ...WORDLESS, id: 'j' }), desk.push({})],
      '',
    ],
    ['without words: spent by the same', (desk) => [desk.push(WORDLESS), desk.push({ etype: 101 })], undefined],
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
  t.equal(desk.due(), null, 'of one second the last has it: no reader gets the other, and it leaves no row');
  t.match(desk.due(), { song: 'sooner', startSeconds: at(30), effectAtMs: T0 + 30_000 });
  desk.push({ song: 'sooner', timeSeconds: at(30) });
  t.equal(desk.state.version, 9, 'pushed again after it took effect: a repeat');
  t.equal(desk.due(), null);
  t.same(
    desk.history.map(({ record }) => record.song),
    ['on air', 'at once', 'sooner'],
  );

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
    ['an empty one again, by its time', { timeSeconds: at(0) }, 5, { timeSeconds: at(5) }, 'equal'],
    ['a jingle without words again', { etype: 101 }, 5, { etype: 101 }, 'equal'],
    ['a jingle without words, then a spot without', { etype: 101 }, 5, { etype: 103 }, 'other'],
    ['a jingle without words, then nothing', { etype: 101 }, 5, {}, 'other'],
    ['nothing, then a jingle without words', {}, 600, { etype: 101 }, 'other'],
    ['another of that kind', { etype: 103, durationSeconds: 30 }, 29, { etype: 103, durationSeconds: 20 }, 'other'],
    [
      'another of that kind, by its time',
      { etype: 101, timeSeconds: at(0) },
      5,
      { etype: 101, timeSeconds: at(5) },
      'other',
    ],
    [
      'more of a jingle without words',
      { etype: 101, id: 'i' },
      1,
      { etype: 101, id: 'i', durationSeconds: 5 },
      'correction',
    ],
    ['a default that is said', song, 1, { ...song, separator: ' - ', etype: 0 }, 'equal'],
    ['an id where there was none', song, 1, { ...song, id: 'x' }, 'correction'],
    ['the id that was made', song, 1, { ...song, id: 'made-1' }, 'equal'],
    ['another id than the one sent', { ...song, id: 'i' }, 1, { ...song, id: 'x' }, 'other'],
    ['another song', song, 1, { ...song, song: 'T' }, 'other'],
    ['a cover that arrives late', timed, 1, { ...song, cover: 'c' }, 'correction'],
    ['a cover that arrives late, by id', { ...song, id: 'i' }, 1, { ...song, id: 'i', cover: 'c' }, 'correction'],
    ['the same id, another song', { ...song, id: 'i' }, 1, { song: 'T', id: 'i' }, 'correction'],
    ['the same id and time, another song', { ...timed, id: 'i' }, 1, { ...timed, song: 'T', id: 'i' }, 'correction'],
    ['the same id, another time', { ...timed, id: 'i' }, 1, { ...timed, id: 'i', timeSeconds: at(-1) }, 'equal'],
    [
      'the same id, another song and time',
      { ...timed, id: 'i' },
      1,
      { song: 'T', id: 'i', timeSeconds: at(1) },
      'other',
    ],
    [
      'the same id, another song that may last',
      { ...song, id: 'i', durationSeconds: 99 },
      98,
      { song: 'T', id: 'i', durationSeconds: 99 },
      'correction',
    ],
    [
      'the same id, another song that would be over',
      { ...song, id: 'i', durationSeconds: 99 },
      98,
      { song: 'T', id: 'i', durationSeconds: 98 },
      'other',
    ],
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
    const kept = playId(now!) === playId(before) && now!.startSeconds === before.startSeconds && now!.effectAtMs === T0;
    const found = held.length > 0 ? 'held' : version === 1 ? 'equal' : kept ? 'correction' : 'other';
    t.equal(found, likeness, name);
    if (found !== 'held') t.equal(answer, now, `${name}: the answer`);
    if (found === 'correction') t.match(now, { ...before, artist: '', ...said, version: 2, effectAtMs: T0 });
    const songs = desk.history.map(({ record }) => record.song);
    const words = [...new Set([before.song, now!.song])];
    if (found === 'correction') t.same(songs, words, `${name}: history has the row with it, of other words both`);
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

/** How often readers were sent a now, and the plays that a report has. */
class Audience extends Desk {
  readonly plays = new Map<number, PlayedTitle>();
  messages = 0;
  protected override take(change: Change | null): void {
    super.take(change);
    if (change?.record?.type === 'now') this.messages++;
    for (const row of change?.history ?? []) {
      this.plays.set(playKey(row), withEntry(this.plays.get(playKey(row)), row));
    }
  }
}

t.test('one play, several messages: the table of the README', async (t) => {
  type Step = (desk: Audience) => unknown;
  const at = (seconds: number) => Math.floor(T0 / 1000) + seconds;
  const A = { artist: 'Ann', song: 'One' };
  const push =
    (input: Partial<PushInput> = {}): Step =>
    (desk) =>
      desk.push({ ...A, ...input });
  const next = (input: Partial<PushInput> = {}) => push({ ...input, type: 'next' });
  const [other, jingle, spot, news] = ['Two', 'Jingle', 'Spot', 'News'].map(
    (song): Step =>
      (desk) =>
        desk.push({ song }),
  ) as [Step, Step, Step, Step];
  const lost: Step = (desk) => desk.lose();
  const ofOthers: readonly Step[] = [other, jingle, spot, news, lost];
  const encoder: Step = (desk) => desk.title('encoder', 'One', 'Ann');
  const upstream: Step = (desk) => desk.title('upstream', 'One', 'Ann');
  const wait =
    (seconds: number): Step =>
    (desk) => {
      desk.seconds += seconds;
      while (desk.state.held.some(({ startSeconds }) => startSeconds * 1000 <= T0 + desk.seconds * 1000)) desk.due();
    };
  const cover = { cover: 'https://x/1' };
  const ahead = push({ timeSeconds: at(20) });
  /** Steps; plays of A, rows of A, messages about A; the id of the last one, where it was sent. */
  const table: readonly [string, readonly Step[], readonly [plays: number, rows: number, messages: number], string?][] =
    [
      ['again', [push(), push(), push({ id: 'made-1' })], [1, 1, 1], 'made-1'],
      ['less of it', [push({ id: 'a', ...cover }), push()], [1, 1, 1], 'a'],
      ['a cover', [push(), wait(5), push(cover)], [1, 1, 2]],
      ['a duration and a number', [push(), push({ durationSeconds: 100 }), push({ isrc: 'x' })], [1, 1, 3]],
      ['the separator', [push(), push({ separator: '/' })], [1, 1, 2]],
      ['an id that comes later', [push(), push({ id: 'a' }), push()], [1, 1, 2], 'a'],
      ['another id', [push({ id: 'a' }), push({ id: 'b' })], [2, 2, 2], 'b'],
      ['another id, after one that was made', [push(), push({ id: 'a' }), push({ id: 'b' })], [2, 2, 3], 'b'],
      ['the line as the song', [push(), push({ artist: '', song: 'Ann - One' })], [1, 1, 2]],
      ['without a duration: for ever', [push(), wait(1e6), push()], [1, 1, 1]],
      [
        'its time, over',
        [push({ timeSeconds: at(0), durationSeconds: 9 }), wait(10), push({ timeSeconds: at(0) })],
        [1, 1, 1],
      ],
      ['no time, over', [push({ durationSeconds: 9 }), wait(9), push()], [2, 2, 2]],
      ['30 ms ahead', [push(), wait(5), push({ timeSeconds: at(5.28) })], [1, 1, 1]],
      ['30 ms behind', [push(), wait(5), push({ timeSeconds: at(5.22) })], [1, 1, 1]],
      ['by a clock ahead', [push(), push({ timeSeconds: at(29) })], [1, 1, 1]],
      ['too far', [push(), push({ timeSeconds: at(31) }), wait(31)], [2, 2, 2]],
      [
        'by a clock behind',
        [push({ id: 'a', timeSeconds: at(0) }), push({ id: 'a', timeSeconds: at(-20) })],
        [1, 1, 1],
        'a',
      ],
      ['the true start', [push(), push({ timeSeconds: at(-600) })], [1, 1, 1]],
      ['ten minutes later', [push(), wait(600), push({ timeSeconds: at(600) })], [2, 2, 2]],
      [
        'ten minutes later, by id',
        [push({ id: 'a' }), wait(600), push({ id: 'a', timeSeconds: at(600) })],
        [2, 2, 2],
        'a',
      ],
      ['within its duration', [push({ durationSeconds: 100 }), wait(89), push({ timeSeconds: at(89) })], [1, 1, 1]],
      [
        'from 10 s before its end',
        [push({ durationSeconds: 100 }), wait(90), push({ timeSeconds: at(90) })],
        [2, 2, 2],
      ],
      ['short, by another clock', [push({ durationSeconds: 8 }), push({ timeSeconds: at(3) })], [1, 1, 1]],
      ['short, again', [push({ durationSeconds: 8 }), wait(7), push({ timeSeconds: at(7) })], [2, 2, 2]],
      ['a duration that is over', [push(), wait(600), push({ durationSeconds: 180 })], [2, 2, 2]],
      [
        'by a clock that is wrong',
        [push(), push({ timeSeconds: at(5000) }), push({ timeSeconds: at(5000) })],
        [1, 1, 1],
      ],
      ['only by such a clock', [push({ timeSeconds: at(5000) }), wait(9), push({ timeSeconds: at(5009) })], [1, 1, 1]],
      [
        'by such a clock, later',
        [push({ timeSeconds: at(5000) }), wait(600), push({ timeSeconds: at(5600) })],
        [2, 2, 2],
      ],
      ['ahead, again', [ahead, ahead, push({ timeSeconds: at(25) }), wait(25)], [1, 1, 1]],
      ['ahead, with and without id', [ahead, push({ timeSeconds: at(20), id: 'a' }), ahead, wait(20)], [1, 1, 1], 'a'],
      [
        'ahead, two ids',
        [push({ timeSeconds: at(20), id: 'a' }), push({ timeSeconds: at(21), id: 'b' }), wait(21)],
        [2, 2, 2],
        'b',
      ],
      [
        'ahead, and at its start',
        [push({ timeSeconds: at(20), id: 'a', ...cover }), wait(20), push(), push({ timeSeconds: at(20) })],
        [1, 1, 1],
        'a',
      ],
      ['a little before', [push({ timeSeconds: at(20), id: 'a' }), wait(19), push(), wait(1)], [1, 1, 1], 'a'],
      ['a little before, with an id', [ahead, wait(19), push({ id: 'a' }), wait(1)], [1, 1, 1], 'a'],
      [
        'a little before, by the encoder',
        [push({ timeSeconds: at(20), id: 'a' }), wait(19), encoder, wait(1)],
        [1, 1, 1],
        'a',
      ],
      ['long before, by id', [push({ timeSeconds: at(200), id: 'a' }), push({ id: 'a' }), wait(200)], [1, 1, 1], 'a'],
      ['long before', [push({ timeSeconds: at(200) }), push(), wait(200)], [2, 2, 2]],
      ['held after it began', [push(), push({ timeSeconds: at(28), ...cover }), wait(28)], [1, 1, 2]],
      ['next before it', [next({ id: 'a' }), push()], [1, 1, 1], 'a'],
      ['next before it, without ids', [next(), push()], [1, 1, 1], 'made-1'],
      ['next before it, by the encoder', [next({ id: 'a' }), encoder], [1, 1, 1], 'a'],
      ['next after it', [push(), wait(29), next()], [1, 1, 1]],
      ['next after it, with an id', [push(), next({ id: 'a' })], [1, 1, 2], 'a'],
      [
        'next after it, with its time',
        [push({ timeSeconds: at(0) }), wait(50), next({ timeSeconds: at(0) })],
        [1, 1, 1],
      ],
      ['next when it is over', [push({ timeSeconds: at(0) }), wait(5), other, next({ timeSeconds: at(0) })], [1, 1, 1]],
      ['playout, encoder', [push(), encoder, upstream], [1, 1, 1]],
      ['encoder, playout', [encoder, push()], [1, 1, 2]],
      ['encoder, playout, with more', [encoder, push({ id: 'a', ...cover }), encoder], [1, 1, 2], 'a'],
      ['encoder, upstream', [encoder, upstream, upstream], [1, 1, 2]],
      ['late, with its time', [push({ timeSeconds: at(0) }), wait(5), other, push({ timeSeconds: at(0) })], [1, 1, 1]],
      ['late, as it began without', [push(), wait(5), other, push({ timeSeconds: at(3), id: 'a' })], [1, 1, 1], 'a'],
      [
        'a late cover when it is over',
        [push({ timeSeconds: at(0) }), wait(5), other, push({ timeSeconds: at(0), ...cover })],
        [1, 1, 1],
      ],
      [
        'a late cover behind a jingle and a spot',
        [push({ timeSeconds: at(0) }), wait(5), jingle, spot, other, push({ timeSeconds: at(0), id: 'a', ...cover })],
        [1, 1, 1],
        'a',
      ],
      [
        'behind one more it is not known',
        [push({ timeSeconds: at(0) }), wait(5), jingle, spot, news, other, push({ timeSeconds: at(0) })],
        [2, 2, 2],
      ],
      [
        'next when it is over, behind a jingle',
        [push({ timeSeconds: at(0) }), wait(5), jingle, other, next({ timeSeconds: at(0) })],
        [1, 1, 1],
      ],
      [
        'by a clock behind ours, as long as it is not before the one behind it',
        [push(), wait(5), jingle, wait(10), other, wait(5), push({ timeSeconds: at(10) })],
        [2, 2, 2],
      ],
      ['a cover while its source is lost', [push(), wait(5), lost, push(cover), push({ id: 'a' })], [1, 1, 1], 'a'],
      ['late, without a time', [push(), wait(5), other, push()], [2, 2, 2]],
      ['late, of another start', [push(), wait(50), other, wait(9), push({ timeSeconds: at(59) })], [2, 2, 2]],
    ];
  for (const [name, steps, [plays, rows, messages], id] of table) {
    const desk = new Audience();
    let others = 0;
    for (const step of steps) {
      step(desk);
      if (ofOthers.includes(step)) others++;
    }
    const isIt = ({ artist, song }: { readonly artist: string; readonly song: string }) =>
      song === 'Ann - One' || (artist === 'Ann' && song === 'One');
    const own = desk.history.filter(({ record }) => isIt(record));
    const reported = [...desk.plays.values()].filter(isIt);
    t.same([reported.length, own.length, desk.messages - others], [plays, rows, messages], name);
    t.same([desk.held, desk.next], [[], undefined], `${name}: nothing is to come`);
    const last = own.at(-1)!.record;
    if (id !== undefined) t.same([last.id, reported.at(-1)!.id], [id, id], `${name}: its id`);
    if (name.includes('cover')) t.equal(last.cover, cover.cover, `${name}: its row has it`);
  }
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

t.test('a late next of what the fallback title covers says the same before and after a restart', async (t) => {
  for (const isRestarted of [false, true]) {
    const desk = new Desk();
    const startSeconds = Math.floor(T0 / 1000);
    desk.push({ song: 'a', durationSeconds: 20 });
    desk.seconds = 18;
    desk.lose();
    // The covered title is one object with the newest past play, until the state is read from a store.
    if (isRestarted) desk.state = JSON.parse(JSON.stringify(desk.state));
    const { version } = desk.state;
    desk.push({ type: 'next', song: 'a', id: '1', timeSeconds: startSeconds + 15 });
    t.equal(desk.state.version, version, 'it is too late for the title that is covered, and speaks of a past play');
    t.equal(desk.next, undefined);
  }
});
