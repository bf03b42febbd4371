/** From connections to what is kept, on a clock that stands still: figures worked out by hand, restarts, limits, days, clocks that are set. */

import t, { type Test } from 'tap';
import type { TrackRecord } from '../../src/metadata/record.js';
import type { HistoryEntry } from '../../src/now-playing/state.js';
import { Collector } from '../../src/statistics/collector.js';
import { type Dimension, PERIOD_MS, type Period, startOf } from '../../src/statistics/figures.js';
import type { PlayedTitle } from '../../src/statistics/plays.js';
import { StatisticsReader, type Subject } from '../../src/statistics/queries.js';
import { type KeptStatistics, Recorder } from '../../src/statistics/recorder.js';
import { playsCsv, playsJson, readFigures, useCsv } from '../../src/statistics/reports.js';
import { openLmdbStore } from '../../src/store/lmdb.js';
import type { Store } from '../../src/store/store.js';
import { FakeClock } from '../kit/clock.js';
import { MemoryStore } from '../kit/memory-store.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';
import { stateOf } from '../store/contract.js';

const KEPT: KeptStatistics = {
  enabled: true,
  minutesKept: 1440,
  hoursKept: 8784,
  rowsPerHour: 3,
  titleDays: 400,
  titlesPerChannel: 100,
};
const NOON = Date.UTC(2026, 10, 20, 12);
const JAZZ: Subject = { kind: 'channel', key: 'jazz', timezone: 'Europe/Berlin', name: 'House', channels: ['jazz'] };
const HOUSE: Subject = { ...JAZZ, kind: 'station', key: 'house', channels: ['jazz', 'rock'] };

/** A disk that is full for a while, or takes its time. */
class FullStore extends MemoryStore {
  isFull = false;
  written: Promise<void> = Promise.resolve();
  saves = 0;

  override async saveFigures(rows: Parameters<MemoryStore['saveFigures']>[0]): Promise<void> {
    this.saves++;
    await this.written;
    if (this.isFull) throw new Error('ENOSPC');
    await super.saveFigures(rows);
  }
}

/** Salts that do not change from run to run: a sketch estimates, and with some salts a few listeners of thirty look alike. */
async function withSalts<S extends Store>(store: S): Promise<S> {
  const today = startOf('day', NOON);
  await store.saveFigures([today, today + PERIOD_MS.day].map((day) => [['salt', '', day], `a salt of ${day}`]));
  return store;
}

const mayNotFail = (error: unknown) => {
  throw error;
};

/** One process, with a store; a start after the clock has stood is a restart. */
function start(
  clock: FakeClock,
  store: Store,
  kept: KeptStatistics = KEPT,
  onError: (error: unknown) => void = mayNotFail,
) {
  const countries = { of: (address: string) => (address.startsWith('192.') ? 'DE' : 'unknown') };
  const collector = new Collector(clock, countries, () => kept.rowsPerHour);
  const recorder = new Recorder(
    clock,
    store,
    () => kept,
    onError,
    () => true,
    (salts) => collector.setSalts(salts),
  );
  recorder.restore(['jazz', 'rock']);
  const reader = new StatisticsReader(store, () => 1000);
  const join = (address: string, agent = 'VLC/3', channel = 'jazz', referer = '') => {
    const headers: Record<string, string> = { 'user-agent': agent, ...(referer && { referer }) };
    const request = { method: 'GET', url: '/', address, header: (name: string) => headers[name] };
    const [connection, joinedMs] = [collector.join(channel, 'house', request), clock.now()];
    return () => collector.leave(connection, clock.now() - joinedMs);
  };
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 1000) {
      clock.advance(Math.min(left, 1000));
      const figures = collector.takeEnded();
      if (figures !== null) recorder.add(figures, 0);
      recorder.onSecond();
    }
    await recorder.save();
  };
  const read = async (subject: Subject, period: Period, dimension?: Dimension) => {
    const span = { fromMs: 0, beforeMs: clock.wallMs() + 86_400_000 };
    const most = new StatisticsReader(store, () => Number.MAX_SAFE_INTEGER);
    const { rows, totals } = await most.series(subject, period, span, dimension);
    return {
      rows: rows.map(
        ({ atMs, value, figures }) =>
          [new Date(atMs).toISOString().slice(11, 16), value, readFigures(figures)] as const,
      ),
      totals: Object.fromEntries([...totals].map(([value, figures]) => [value, readFigures(figures)])),
    };
  };
  const play = (song: string, id = song, more: Partial<TrackRecord> = {}) => {
    const record = {
      ...stateOf(1).now!,
      id,
      song,
      artist: 'Ann',
      album: 'A',
      isrc: 'X',
      ...more,
      effectAtMs: more.effectAtMs ?? clock.wallMs(),
    };
    return record;
  };
  return { recorder, collector, reader, join, pass, read, play };
}

t.test('a title that changes while the last change is being saved keeps its audience', async (t) => {
  const clock = new FakeClock(0, NOON);
  const store = await withSalts(new FullStore());
  const { recorder, play } = start(clock, store);
  const playsOf = () =>
    store
      .figures('title', 'jazz', { fromMs: 0, beforeMs: Number.MAX_SAFE_INTEGER, limit: 9 })
      .map(({ atMs, text }) => ({ atMs, ...(JSON.parse(text) as PlayedTitle) }));
  const begin = (song: string) => ({ record: play(song), fromMs: clock.wallMs(), toMs: null });
  const end = (entry: HistoryEntry) => ({ ...entry, toMs: clock.wallMs() });
  const a = begin('A');
  recorder.onTitle('jazz', [a]);
  recorder.add({ minuteMs: NOON, rows: [], titles: [['jazz', NOON, 7, 420_000]], saltDayMs: NOON }, 0);
  let write!: () => void;
  store.written = new Promise((resolve) => {
    write = resolve;
  });
  const { saves } = store;
  const saving = recorder.save();
  await until(() => store.saves > saves, 5000);
  clock.advance(60_000);
  const b = begin('B');
  recorder.onTitle('jazz', [end(a), b]);
  write();
  await saving;
  await recorder.save();
  t.match(playsOf(), [
    { atMs: NOON, performances: 7, listenedMs: 420_000, toMs: NOON + 60_000 },
    { atMs: NOON + 60_000, performances: 0 },
  ]);
});

t.test('a play that is over the number when it changes goes, and the next one is not taken for it', async (t) => {
  const clock = new FakeClock(0, NOON);
  const store = await withSalts(new MemoryStore());
  const { recorder, play } = start(clock, store, { ...KEPT, titlesPerChannel: 1 });
  let last: HistoryEntry[] = [];
  for (const song of ['A', 'B', 'C']) {
    const ended = last.map((entry) => ({ ...entry, toMs: clock.wallMs() }));
    last = [{ record: play(song), fromMs: clock.wallMs(), toMs: null }];
    recorder.onTitle('jazz', [...ended, ...last]);
    await recorder.save();
    t.equal(store.figureCount('title', 'jazz'), 1, song);
    clock.advance(60_000);
  }
});

t.test('connections, listeners, hours, peak and average time, by hand', async (t) => {
  const clock = new FakeClock(0, NOON);
  const store = await withSalts(new MemoryStore());
  const { join, pass, read } = start(clock, store);
  const one = join('192.0.2.1', 'VLC/3', 'jazz', 'https://a.example/x');
  const two = join('192.0.2.1'); // the same listener
  await pass(30_000);
  two(); // after 30 s
  const three = join('198.51.100.1', 'Winamp/5');
  await pass(60_000);
  three(); // after 60 s
  const four = join('203.0.113.1', 'Winamp/5', 'rock');
  await pass(90_000); // 12:03
  one(); // after 180 s
  four(); // after 90 s
  await pass(61_000);

  const minutes = await read(JAZZ, 'minute');
  t.strictSame(
    minutes.rows.map(([at, , figures]) => [at, Object.values(figures)]),
    [
      // 60 s + 30 s + 30 s
      ['12:00', [3, 2, 0.0333, 2, 30]],
      // 60 s + 30 s
      ['12:01', [0, 2, 0.025, 2, 60]],
      ['12:02', [0, 1, 0.0167, 1, null]],
      // It left within it.
      ['12:03', [0, 1, 0, 1, 180]],
    ],
  );
  const hour = { connections: 3, listeners: 2, listeningHours: 0.075, peak: 2, averageSeconds: 90 };
  t.strictSame((await read(JAZZ, 'hour')).rows, [['12:00', '', hour]]);
  t.strictSame((await read(JAZZ, 'day')).totals, { '': hour });
  t.strictSame((await read(HOUSE, 'hour')).totals, {
    '': { connections: 4, listeners: 3, listeningHours: 0.1, peak: 2, averageSeconds: 90 },
  });
  const countries = await read(JAZZ, 'hour', 'country');
  t.strictSame(countries.totals['DE'], {
    connections: 2,
    listeners: 1,
    listeningHours: 0.0583,
    peak: 2,
    averageSeconds: 105,
  });
  t.strictSame(Object.keys((await read(HOUSE, 'hour', 'player')).totals), ['VLC', 'Winamp']);
  t.strictSame((await read(HOUSE, 'hour', 'player')).totals['Winamp']?.connections, 2);
  t.strictSame(Object.keys((await read(JAZZ, 'hour', 'page')).totals).sort(), ['a.example', 'unknown']);
});

for (const [name, open] of [
  ['memory', async () => new MemoryStore()],
  [
    'lmdb',
    async (t: Test) => {
      const store = await openLmdbStore(tempFolder(t));
      t.teardown(() => store.close());
      return store;
    },
  ],
] as const) {
  t.test(`a restart loses a minute at most, and knows the day's listeners again: ${name}`, async (t) => {
    const clock = new FakeClock(0, NOON);
    const store = await withSalts(await open(t));
    const before = start(clock, store);
    for (let i = 0; i < 20; i++) before.join(`192.0.2.${i}`);
    await before.pass(150_000); // 12:02:30; nothing of the third minute is stored
    const after = start(clock, store);
    for (let i = 10; i < 30; i++) after.join(`192.0.2.${i}`);
    await after.pass(95_000); // 12:04:05
    const { rows } = await after.read(JAZZ, 'hour');
    const [, , figures] = rows[0]!;
    t.equal(figures.connections, 40);
    t.ok(Math.abs(figures.listeners - 30) <= 1, `${figures.listeners} listeners, 30 were there`);
    t.equal(figures.peak, 20);
    t.equal(figures.listeningHours, Number(((20 * 120 + 20 * 90) / 3600).toFixed(4)));
    const countries = await after.read(JAZZ, 'hour', 'country');
    t.ok(Math.abs(countries.totals['DE']!.listeners - 30) <= 1);
    t.equal(countries.totals['DE']!.connections, 40);
  });
}

t.test('what could not be saved is saved with the next one', async (t) => {
  const clock = new FakeClock(0, NOON);
  const store = new FullStore();
  const errors: unknown[] = [];
  const { join, pass, read } = start(clock, store, KEPT, (error) => void errors.push(error));
  join('192.0.2.1')();
  store.isFull = true;
  await pass(65_000);
  t.same([errors.length > 0, (await read(JAZZ, 'minute')).rows], [true, []]);
  store.isFull = false;
  // Nobody listens, so nothing else makes these periods change.
  await pass(65_000);
  for (const period of ['minute', 'hour', 'day'] as const) {
    t.match((await read(JAZZ, period)).totals, { '': { connections: 1, peak: 1 } }, period);
  }
});

t.test('of a dimension so many values, those with the most listening, and the others as one', async (t) => {
  const clock = new FakeClock(0, NOON);
  const { join, pass, read, collector } = start(clock, new MemoryStore(), { ...KEPT, rowsPerHour: 3 });
  // At the limit.
  const ends = [1, 2, 3].map((i) => join(`192.0.2.${i}`, 'VLC', 'jazz', `https://p${i}.example`));
  await pass(60_000);
  t.same(Object.keys((await read(JAZZ, 'minute', 'page')).totals).sort(), ['p1.example', 'p2.example', 'p3.example']);
  // One past it, at a time.
  join('192.0.2.4', 'VLC', 'jazz', 'https://p4.example');
  await pass(60_000);
  t.match((await read(JAZZ, 'minute', 'page')).totals, { other: { connections: 1, listeners: 1 } });
  // One after the other: more values than are stored, each for less time.
  for (const end of ends) end();
  for (let i = 5; i < 40; i++) {
    const end = join('192.0.2.9', 'VLC', 'jazz', `https://p${i}.example`);
    await pass(60_000);
    end();
  }
  const { totals } = await read(JAZZ, 'hour', 'page');
  t.equal(Object.keys(totals).length, 4);
  t.ok(totals['other']!.connections >= 30, `${totals['other']!.connections}`);
  t.equal(
    Object.values(totals).reduce((all, { connections }) => all + connections, 0),
    39,
  );
  t.equal(collector.size, 1);
});

t.test('pages that people listen by stay, however many others a stranger makes up', async (t) => {
  const clock = new FakeClock(0, NOON);
  const { join, pass, read, collector } = start(clock, new MemoryStore(), { ...KEPT, rowsPerHour: 3 });
  const madeUp = async (minute: number, lastingMs: number) => {
    for (let i = 0; i < 100; i++) {
      const end = join('192.0.2.9', 'VLC', 'jazz', `https://x${minute}-${i}.example`);
      clock.advance(lastingMs);
      end();
    }
  };
  // They come before anybody else, and stay as long as they like: each less than a real one.
  await madeUp(-1, 10);
  join('192.0.2.1', 'VLC', 'jazz', 'https://one.example');
  for (let minute = 0; minute < 50; minute++) {
    await madeUp(minute, minute % 2 === 0 ? 10 : 200);
    if (minute === 20) join('192.0.2.2', 'VLC', 'jazz', 'https://two.example');
    // People come and go, too.
    const end = join('192.0.2.3', 'VLC', 'jazz', 'https://three.example');
    await pass(20_000);
    end();
    await pass(10_000);
  }
  await pass(60_000);
  const { totals } = await read(JAZZ, 'hour', 'page');
  t.same(Object.keys(totals).sort(), ['one.example', 'other', 'three.example', 'two.example']);
  t.match(totals, {
    'one.example': { connections: 1 },
    'two.example': { connections: 1 },
    'three.example': { connections: 50 },
  });
  t.equal(totals['other']!.connections, 5100);
  t.equal(collector.size, 2);
});

t.test('a page that begins to be listened by among as many made-up listeners is found in time', async (t) => {
  const clock = new FakeClock(0, NOON);
  const { join, pass, read } = start(clock, new MemoryStore(), { ...KEPT, rowsPerHour: 3 });
  for (let minute = 0; minute < 50; minute++) {
    // Each for a whole minute: as much as a real one, but never again.
    const ends = Array.from({ length: 5 }, (_, i) =>
      join('192.0.2.9', 'VLC', 'jazz', `https://x${minute}-${i}.example`),
    );
    if (minute === 10) join('192.0.2.1', 'VLC', 'jazz', 'https://one.example');
    await pass(60_000);
    for (const end of ends) end();
  }
  const { totals } = await read(JAZZ, 'hour', 'page');
  t.ok(totals['one.example']!.listeningHours > 0.6, JSON.stringify(totals));
});

t.test('what is older than is kept goes, and no more than that', async (t) => {
  const clock = new FakeClock(0, NOON);
  const store = new MemoryStore();
  const { join, pass, read, recorder, play } = start(clock, store, {
    ...KEPT,
    minutesKept: 5,
    hoursKept: 24,
    titlesPerChannel: 3,
  });
  join('192.0.2.1');
  for (let i = 0; i < 8; i++) {
    recorder.onTitle('jazz', [{ record: play(`song ${i}`), fromMs: clock.wallMs(), toMs: clock.wallMs() + 60_000 }]);
    await pass(60_000);
  }
  t.same(
    (await read(JAZZ, 'minute')).rows.map(([at]) => at),
    ['12:03', '12:04', '12:05', '12:06', '12:07'],
  );
  t.equal((await read(JAZZ, 'hour')).rows.length, 1);
  await pass(60_000);
  t.equal(store.figureCount('title', 'jazz'), 3);
  await pass(26 * 3_600_000);
  t.ok((await read(JAZZ, 'hour')).rows.length <= 25);
  t.same(store.figureScopes('sketch hour'), ['channel:jazz', 'station:house']);
  t.equal(store.figureCount('sketch hour', 'channel:jazz'), 1, 'sketches of what is over are gone');
  t.equal(store.figureCount('sketch day', 'channel:jazz'), 1);
});

t.test('a salt lives for its day; who listens through midnight is a listener of both', async (t) => {
  const clock = new FakeClock(0, Date.UTC(2026, 10, 20, 23, 58));
  const store = new MemoryStore();
  const { join, pass, read, recorder } = start(clock, store);
  join('192.0.2.1');
  const salts = [...recorder.salts];
  await pass(300_000);
  t.same(
    (await read(JAZZ, 'day')).rows.map(([, , { listeners }]) => listeners),
    [1, 1],
  );
  t.same((await read(JAZZ, 'day')).totals[''], {
    connections: 1,
    listeners: 2,
    listeningHours: 0.0833,
    peak: 1,
    averageSeconds: null,
  });
  t.same(recorder.salts[0], salts[1], "tomorrow's is today's now");
  t.notOk(store.figures('salt', '', { fromMs: 0, beforeMs: 1e15, limit: 9 }).some(({ text }) => text === salts[0]![1]));
  t.notOk(JSON.stringify([...((store as never as { x: unknown }).x ? [] : [])]).includes('192.0.2'));
});

t.test('a clock that is 40 days ahead for an hour: salts, sketches and what is kept stay', async (t) => {
  const clock = new FakeClock(0, NOON);
  const store = await withSalts(new MemoryStore(undefined, clock));
  const { join, pass, read, recorder, play } = start(clock, store, { ...KEPT, titleDays: 2 });
  recorder.onTitle('jazz', [{ record: play('before'), fromMs: clock.wallMs(), toMs: clock.wallMs() + 60_000 }]);
  const leave = join('192.0.2.1');
  await pass(120_000);
  leave();
  await pass(60_000);
  const salts = [...recorder.salts];
  const all = { fromMs: 0, beforeMs: clock.wallMs(), limit: 100 };
  const before = store.figures('minute', 'channel:jazz', all).map(({ atMs }) => atMs);
  clock.stepWall(40 * PERIOD_MS.day);
  await pass(60_000);
  t.equal(recorder.salts.length, 4, 'those of the day that it most likely is, too');
  const leaveAhead = join('192.0.2.2');
  await pass(120_000);
  leaveAhead();
  await pass(60_000);
  clock.stepWall(-40 * PERIOD_MS.day);
  join('192.0.2.1');
  await pass(120_000);
  t.strictSame(recorder.salts, salts, 'the same as before');
  const { rows } = await read(JAZZ, 'day');
  t.equal(rows[0]![2].listeners, 2, 'two listeners, one of whom came twice');
  const page = { fromMs: 0, beforeMs: clock.wallMs(), limit: 100 };
  const minutes = store.figures('minute', 'channel:jazz', page).map(({ atMs }) => atMs);
  t.ok(before.length >= 2 && before.every((atMs) => minutes.includes(atMs)), 'no minute has gone');
  t.equal(store.figures('title', 'jazz', page).length, 1, 'nor a title');
  const ahead = { fromMs: clock.wallMs() + 60_000, beforeMs: Number.MAX_SAFE_INTEGER, limit: 9 };
  for (const period of ['minute', 'hour', 'day'])
    t.strictSame(store.figures(period, 'channel:jazz', ahead), [], `no ${period} that is to come`);
});

t.test('titles that came while the clock was ahead stand where they were, with what was counted of them', async (t) => {
  for (const isSaved of [true, false]) {
    const clock = new FakeClock(0, NOON);
    const store = new MemoryStore(undefined, clock);
    const { join, pass, recorder, collector, play } = start(clock, store);
    let last: HistoryEntry | null = null;
    const onAir = (song: string) => {
      const fromMs = clock.wallMs();
      const ended = last === null ? [] : [{ ...last, toMs: Math.max(last.fromMs, fromMs) }];
      last = { record: play(song), fromMs, toMs: null };
      recorder.onTitle('jazz', [...ended, last]);
      collector.onTitle('jazz', 'house', last.record);
    };
    const minute = async () => {
      if (isSaved) return pass(60_000);
      clock.advance(60_000);
    };
    join('192.0.2.1');
    onAir('one');
    await minute();
    clock.stepWall(40 * PERIOD_MS.day);
    onAir('two');
    await minute();
    onAir('three');
    await minute();
    clock.stepWall(-40 * PERIOD_MS.day);
    onAir('four');
    await pass(180_000);
    const titles = store.figures('title', 'jazz', { fromMs: 0, beforeMs: Number.MAX_SAFE_INTEGER, limit: 9 });
    t.strictSame(
      titles.map(({ atMs, text }) => {
        const { song, fromMs, sinceMs, toMs, listenedMs } = JSON.parse(text) as PlayedTitle;
        return [song, atMs - NOON, fromMs - NOON, sinceMs - NOON, toMs && toMs - NOON, listenedMs];
      }),
      [
        ['one', 0, 0, 0, 60_000, 60_000],
        ['two', 60_000, 60_000, 60_000, 120_000, 60_000],
        ['three', 120_000, 120_000, 120_000, 180_000, 60_000],
        ['four', 180_000, 180_000, 180_000, null, 180_000],
      ],
      isSaved ? 'stored meanwhile' : 'not stored yet',
    );
  }
});

t.test('a clock that is set: durations are right, and nothing is counted twice', async (t) => {
  const clock = new FakeClock(0, NOON);
  const { join, pass, read } = start(clock, new MemoryStore());
  join('192.0.2.1');
  await pass(90_000);
  clock.stepWall(-1000); // NTP, within a minute
  await pass(30_500); // 12:01:59.5
  clock.stepWall(-1000);
  await pass(60_500);
  clock.stepWall(3_600_000); // by hand
  await pass(60_000);
  clock.stepWall(-3_600_000);
  await pass(120_000);
  const { totals } = await read(JAZZ, 'hour');
  const [seconds, counted] = [90 + 30.5 + 60.5 + 60 + 120, totals['']!.listeningHours * 3600];
  t.ok(counted <= seconds + 1 && counted > seconds - 61, `${counted} of ${seconds} s`);
  t.equal(totals['']!.connections, 1);
  t.equal(totals['']!.peak, 1);
});

t.test('a royalty report by hand: a month of the station, titles with their audience', async (t) => {
  // Berlin: November begins at 23:00 UTC.
  const clock = new FakeClock(0, Date.UTC(2026, 9, 31, 22, 58));
  const store = new MemoryStore();
  const { join, pass, recorder, collector, reader, play } = start(clock, store);
  let last: { record: TrackRecord; fromMs: number } | null = null;
  const air = (record: TrackRecord | null) => {
    const fromMs = clock.wallMs();
    recorder.onTitle('jazz', [
      ...(last === null ? [] : [{ ...last, toMs: fromMs }]),
      ...(record === null ? [] : [{ record, fromMs, toMs: null }]),
    ]);
    collector.onTitle('jazz', 'house', record);
    last = record === null ? null : { record, fromMs };
  };
  air(play('October'));
  join('192.0.2.1');
  const two = join('192.0.2.2');
  await pass(120_000);
  const first = play('First', 'id-1');
  air(first); // 00:00:00 in Berlin, two listeners
  await pass(60_000);
  two(); // 60 s
  const three = join('192.0.2.3'); // 40 s
  await pass(40_000);
  three();
  await pass(20_000);
  // A correction is the same play.
  air({ ...first, song: '=First!', version: 9 });
  await pass(80_000);
  air(play('Nobody?', 'id-2', { isrc: '', artist: '' }));
  await pass(30_000);
  air(play('=First!', 'id-1')); // again, later
  await pass(60_000);
  air(null);
  await pass(60_000);

  const span = { fromMs: Date.UTC(2026, 9, 31, 23), beforeMs: Date.UTC(2026, 10, 30, 23) };
  const plays = await reader.plays(['jazz'], span);
  const json = JSON.parse((await playsJson({ month: '2026-11' }, plays, HOUSE, clock.wallMs())).toString());
  t.match(json.plays, [
    // 200 s: 2 × 60, then 2 × 40, then 1 × 100 = 300 s of listening; three connections got a part of it.
    {
      start: '2026-11-01T00:00:00+01:00',
      title: '=First!',
      durationSeconds: 200,
      listenerMinutes: 5,
      averageListeners: 1.5,
      performances: 3,
    },
    { title: 'Nobody?', durationSeconds: 30, listenerMinutes: 0.5, averageListeners: 1, performances: 1 },
    { start: '2026-11-01T00:03:50+01:00', title: '=First!', durationSeconds: 60, listenerMinutes: 1, performances: 1 },
  ]);
  t.equal(json.plays.length, 3);
  t.same(json.totals, { plays: 3, durationSeconds: 290, listenerMinutes: 6.5, performances: 5 });
  const csv = (await playsCsv(plays, HOUSE, clock.wallMs())).toString().split('\r\n');
  t.equal(
    csv[0],
    'channel,start,duration_seconds,artist,title,album,isrc,etype,source,average_listeners,listener_minutes,performances',
  );
  t.equal(csv[1], "jazz,2026-11-01T00:00:00+01:00,200,Ann,'=First!,A,X,1001,metapush,1.5,5,3", 'no cell is a formula');
  t.equal(csv.length, 5);
  const useOf = async (more: Partial<PlayedTitle>, most = 1000) => {
    const stored = new MemoryStore();
    const changed = (each: PlayedTitle) => JSON.stringify({ ...each, ...more });
    await stored.saveFigures(plays.map(([channel, each]) => [['title', channel, each.fromMs], changed(each)]));
    const recordings = await new StatisticsReader(stored, () => most).recordings(['jazz'], span);
    return (await useCsv(recordings, HOUSE, 'B')).toString().split('\r\n');
  };
  const use = await useOf({});
  t.equal(
    use[0],
    'NAME_OF_SERVICE,TRANSMISSION_CATEGORY,FEATURED_ARTIST,SOUND_RECORDING_TITLE,ISRC,ALBUM_TITLE,MARKETING_LABEL,ACTUAL_TOTAL_PERFORMANCES',
  );
  t.same(use.slice(1), ['House,B,,Nobody?,,A,,1', "House,B,Ann,'=First!,X,A,,4", '']);
  for (const etype of [101, 103, 105])
    t.same(await useOf({ etype }), [use[0], ''], `${etype} is no recording of music`);
  t.same(await useOf({ etype: 0, source: 'fallback' }), [use[0], ''], 'nor is what names the station');
  t.same(await useOf({}, 2), use, 'as many plays as there are: its rows are recordings');
  await t.rejects(useOf({}, 1), /more than 1 rows: request one channel/);
  await t.rejects(new StatisticsReader(store, () => 2).plays(['jazz'], span), /more than 2 rows: request one channel/);
});

t.test('totals have the listeners of their span, not of the whole day, and none is lost with the rest', async (t) => {
  const clock = new FakeClock(0, NOON);
  const { join, pass, reader } = start(clock, await withSalts(new MemoryStore()));
  const early = join('192.0.2.1', 'VLC/3', 'jazz', 'https://early.example/');
  await pass(60_000);
  early();
  await pass(3_600_000);
  for (let i = 0; i < 6; i++) join(`192.0.2.${10 + i}`, 'VLC/3', 'jazz', `https://late${i % 3}.example/`);
  await pass(120_000);
  const hour = { fromMs: NOON, beforeMs: NOON + 3_600_000 };
  const { totals } = await reader.series(JAZZ, 'hour', hour);
  t.match(readFigures(totals.get('')!), { connections: 1, listeners: 1 });
  const day = { fromMs: NOON, beforeMs: NOON + 2 * 3_600_000 };
  t.match(readFigures((await reader.series(JAZZ, 'hour', day)).totals.get('')!), { connections: 7, listeners: 7 });
  // Of the day it is one of the others.
  const pages = (await reader.series(JAZZ, 'hour', day, 'page')).totals;
  t.match(readFigures(pages.get('early.example')!), { connections: 1, listeners: 1 });
  t.match(readFigures((await reader.series(JAZZ, 'minute', day)).totals.get('')!), { listeners: 7 }, 'each once');
});

t.test('a title that returns after a fallback, or behind jingles, is heard once by those who stayed', async (t) => {
  const clock = new FakeClock(0, NOON);
  const store = await withSalts(new MemoryStore());
  const { join, pass, recorder, collector, reader, play } = start(clock, store);
  let last: HistoryEntry | null = null;
  const air = (record: TrackRecord) => {
    const fromMs = clock.wallMs();
    const begun = { record, fromMs, toMs: null };
    recorder.onTitle('jazz', [...(last === null ? [] : [{ ...last, toMs: fromMs }]), begun]);
    collector.onTitle('jazz', 'house', record);
    last = begun;
  };
  const song = play('Song');
  air(song);
  join('192.0.2.1'); // stays
  const before = join('192.0.2.2');
  for (const round of [1, 2]) {
    await pass(70_000);
    air(play(`Fallback ${round}`));
    await pass(10_000);
    if (round === 1) before();
    const during = join('192.0.2.3');
    await pass(10_000);
    during();
    join(`192.0.2.${3 + round}`); // hears the song once it is back
    await pass(10_000);
    air(song);
  }
  // Behind two jingles, each with a fallback title before it, and somebody who comes and goes.
  for (const name of ['Fallback 3', 'Jingle 1', 'Fallback 4', 'Jingle 2']) {
    await pass(10_000);
    air(play(name));
    join('192.0.2.9')();
  }
  join('192.0.2.6');
  air(song);
  await pass(70_000);
  const plays = await reader.plays(['jazz'], { fromMs: 0, beforeMs: clock.wallMs() + 1 });
  t.same(
    plays.map(([, each]) => [each.song, each.performances]),
    [
      ['Song', 5],
      ['Fallback 1', 4],
      ['Fallback 2', 4],
      ['Fallback 3', 4],
      ['Jingle 1', 4],
      ['Fallback 4', 4],
      ['Jingle 2', 5],
    ],
  );
});

t.test('a title that came on air while nothing could be stored is in the report', async (t) => {
  const clock = new FakeClock(0, NOON);
  const store = new MemoryStore();
  const before = start(clock, store);
  const entry = (song: string) => ({
    record: { ...before.play(song), channel: 'jazz' },
    fromMs: clock.wallMs(),
    toMs: null,
  });
  const one = entry('one');
  before.recorder.onTitle('jazz', [one]);
  await store.save('jazz', stateOf(1), [one]);
  await before.pass(60_000);
  const [oneEnded, two] = [{ ...one, toMs: clock.wallMs() }, entry('two')];
  await store.save('jazz', stateOf(2), [oneEnded, two]);
  // kill -9
  clock.advance(10_000);
  const after = start(clock, store);
  await after.pass(10_000);
  const plays = await after.reader.plays(['jazz'], { fromMs: 0, beforeMs: clock.wallMs() });
  t.same(
    plays.map(([, { song, toMs }]) => [song, toMs === null]),
    [
      ['one', false],
      ['two', true],
    ],
  );
});

t.test('an answer has so many rows, and one more is refused', async (t) => {
  const clock = new FakeClock(0, NOON);
  const store = new MemoryStore();
  const { join, pass } = start(clock, store);
  join('192.0.2.1');
  await pass(600_000);
  const span = { fromMs: NOON, beforeMs: NOON + 600_000 };
  t.equal((await new StatisticsReader(store, () => 10).series(JAZZ, 'minute', span)).rows.length, 10);
  await t.rejects(new StatisticsReader(store, () => 9).series(JAZZ, 'minute', span), /more than 9 rows/);
  await t.rejects(new StatisticsReader(store, () => 9).series(JAZZ, 'minute', span, 'country'), /more than 9 rows/);
});

t.test('processes together: sums, and listeners of both are one', async (t) => {
  const clock = new FakeClock(0, NOON);
  const store = await withSalts(new MemoryStore());
  const hub = start(clock, store);
  const worker = new Collector(clock, { of: () => 'FR' }, () => 3);
  worker.setSalts(hub.recorder.salts);
  const request = (address: string) => ({ method: 'GET', url: '/', address, header: () => 'VLC' });
  worker.join('jazz', 'house', request('192.0.2.1'));
  worker.join('jazz', 'house', request('192.0.2.2'));
  hub.join('192.0.2.1', 'VLC');
  clock.advance(60_000);
  hub.recorder.add(worker.takeEnded()!, 7);
  await hub.pass(5000);
  const { totals } = await hub.read(JAZZ, 'minute');
  t.match(totals[''], { connections: 3, peak: 3 });
  const [day] = (await hub.read(JAZZ, 'day')).rows;
  t.equal(day![2].listeners, 2);
});

t.test('the peak of an hour is that of a minute, not of what processes had in different ones', async (t) => {
  const clock = new FakeClock(0, NOON);
  const hub = start(clock, new MemoryStore());
  // Listeners are with a process for a minute, and with another one in the next.
  for (const process of [1, 2]) {
    const end = hub.join('192.0.2.1');
    clock.advance(59_000);
    end();
    clock.advance(1000);
    hub.recorder.add(hub.collector.takeEnded()!, process);
  }
  await hub.pass(1000);
  for (const period of ['minute', 'hour', 'day'] as const) {
    t.equal((await hub.read(JAZZ, period)).totals['']!.peak, 1, period);
  }
});

t.test('a save of many channels is many transactions, each with whole minutes of its channels', async (t) => {
  const clock = new FakeClock(0, NOON);
  const transactions: string[][] = [];
  let failAt = 1;
  class Watched extends MemoryStore {
    override async saveFigures(rows: Parameters<MemoryStore['saveFigures']>[0]): Promise<void> {
      if (transactions.length === failAt) {
        failAt = -1;
        throw new Error('ENOSPC');
      }
      transactions.push(rows.map(([[kind, scope]]) => `${kind} ${scope}`));
      await super.saveFigures(rows);
    }
  }
  const store = new Watched();
  const errors: unknown[] = [];
  const recorder = new Recorder(
    clock,
    store,
    () => KEPT,
    (error) => errors.push(error),
  );
  const channels = Array.from({ length: 400 }, (_, i) => `channel:${i}`);
  const rows = channels.flatMap((scope) =>
    (['total', 'country', 'player'] as const).map(
      (dimension) => [scope, dimension, dimension === 'total' ? '' : 'x', 1, 0, 0, 60_000, 1, ''] as const,
    ),
  );
  recorder.add({ minuteMs: startOf('minute', NOON), saltDayMs: null, rows, titles: [] }, 0);
  clock.advance(60_000);
  await recorder.save();
  t.equal(errors.length, 1);
  t.equal(transactions.length, 1, 'what comes behind one that fails is left for the next save');
  transactions.length = 0;
  await recorder.save();
  t.ok(transactions.length > 5, `${transactions.length} transactions`);
  for (const each of transactions) t.ok(each.length < 400, `${each.length} rows`);
  const of = (scope: string) => transactions.filter((each) => each.some((name) => name.endsWith(` ${scope}`)));
  for (const scope of channels) t.equal(of(scope).length, 1, scope);
  for (const scope of channels) t.equal(store.figureCount('minute', scope), 1, scope);
});

t.test('titles that could not be removed go with the next save, and no more than are too many', async (t) => {
  const clock = new FakeClock(0, NOON);
  class NoRemovals extends MemoryStore {
    isFull = true;
    override async saveFigures(rows: Parameters<MemoryStore['saveFigures']>[0]): Promise<void> {
      if (this.isFull && rows.every(([, text]) => text === undefined)) throw new Error('ENOSPC');
      await super.saveFigures(rows);
    }
  }
  const store = new NoRemovals();
  const errors: unknown[] = [];
  const { recorder, play } = start(clock, store, { ...KEPT, titlesPerChannel: 3 }, (error) => errors.push(error));
  for (let i = 0; i < 5; i++) {
    const fromMs = clock.wallMs();
    recorder.onTitle('jazz', [{ record: play(`song ${i}`), fromMs, toMs: fromMs + 1000 }]);
    clock.advance(1000);
  }
  await recorder.save();
  await recorder.save();
  t.ok(errors.length > 0);
  t.equal(store.figureCount('title', 'jazz'), 5);
  store.isFull = false;
  for (let i = 0; i < 3; i++) await recorder.save();
  t.equal(store.figureCount('title', 'jazz'), 3);
});
