/** Impossible figures of another process: each member at its limit and one past it; the rest is counted. */

import t from 'tap';
import { isFigureRow, isMinuteFigures, isTitleRow, MAX_OFF_MS } from '../../src/statistics/figure-checks.js';
import type { MinuteFigures } from '../../src/statistics/figures.js';
import { Recorder } from '../../src/statistics/recorder.js';
import { Sketch } from '../../src/statistics/sketch.js';
import { FakeClock } from '../kit/clock.js';
import { MemoryStore } from '../kit/memory-store.js';

const NOON = Date.UTC(2026, 10, 20, 12);
const ROW = ['channel:jazz', 'page', 'example.org', 1, 1, 60_000, 60_000, 1, 'l'];
const TITLE = ['jazz', NOON, 1, 60_000];
const withMember = (row: readonly unknown[], at: number, value: unknown) =>
  row.map((old, i) => (i === at ? value : old));

t.test('rows', async (t) => {
  t.ok(isFigureRow(ROW));
  t.ok(isTitleRow(TITLE));
  const full = new Sketch();
  for (let token = 0; token < 2 ** 16; token++) full.add(token);
  const right: readonly (readonly [number, unknown])[] = [
    ...([
      [0, `station:${'x'.repeat(64)}`],
      [1, 'total'],
      [2, ''],
      [2, 'x'.repeat(100)],
    ] as const),
    ...([
      [3, 2 ** 31],
      [5, Number.MAX_SAFE_INTEGER],
      [7, 0],
      [8, full.text],
    ] as const),
  ];
  for (const [at, value] of right)
    t.ok(isFigureRow(withMember(ROW, at, value)), `${at}: ${String(value).slice(0, 20)}`);
  const wrong: readonly (readonly [number, unknown])[] = [
    ...([
      [0, `channel:${'x'.repeat(65)}`],
      [0, 'jazz'],
      [0, 'node:x'],
      [0, 'channel:'],
      [0, 7],
      [0, null],
    ] as const),
    ...([
      [1, 'agent'],
      [1, '__proto__'],
      [1, null],
      [2, 'x'.repeat(101)],
      [2, 5],
      [2, undefined],
    ] as const),
    ...([3, 4, 5, 6, 7] as const).flatMap((at) =>
      [-1, 0.5, Number.NaN, 1e300, '1', null, [1]].map((value) => [at, value] as const),
    ),
    ...([
      [3, 2 ** 31 + 1],
      [5, 2 ** 53],
      [8, 'x'.repeat(4097)],
      [8, null],
    ] as const),
  ];
  for (const [at, value] of wrong)
    t.notOk(isFigureRow(withMember(ROW, at, value)), `${at}: ${String(value).slice(0, 20)}`);
  for (const row of [null, {}, [], ROW.slice(1), [...ROW, 1]]) t.notOk(isFigureRow(row));
  for (const at of [0, 1, 2, 3]) {
    for (const value of [null, 'a b', -1, 1e300]) t.notOk(isTitleRow(withMember(TITLE, at, value)), `${at}: ${value}`);
  }
});

t.test('a minute has to be well-formed and near', async (t) => {
  const minute = { minuteMs: NOON, saltDayMs: null, rows: [], titles: [] };
  t.ok(isMinuteFigures(minute, NOON));
  for (const minuteMs of [NOON - MAX_OFF_MS, NOON + MAX_OFF_MS]) t.ok(isMinuteFigures({ ...minute, minuteMs }, NOON));
  for (const minuteMs of [
    NOON - MAX_OFF_MS - 60_000,
    NOON + MAX_OFF_MS + 60_000,
    NOON + 1,
    1e300,
    Number.NaN,
    '0',
    null,
  ]) {
    t.notOk(isMinuteFigures({ ...minute, minuteMs }, NOON), String(minuteMs));
  }
  for (const other of [{ saltDayMs: 'x' }, { rows: {} }, { titles: null }])
    t.notOk(isMinuteFigures({ ...minute, ...other }, NOON));
  for (const none of [null, 5, [], 'x']) t.notOk(isMinuteFigures(none, NOON));
});

t.test('impossible figures are left out, and the rest is counted', async (t) => {
  const clock = new FakeClock(0, NOON);
  const store = new MemoryStore();
  const kept = {
    enabled: true,
    minutesKept: 1440,
    hoursKept: 8784,
    rowsPerHour: 3,
    titleDays: 400,
    titlesPerChannel: 9,
  };
  const faults: string[] = [];
  const onError = (error: unknown) => void faults.push((error as Error).message);
  const recorder = new Recorder(
    clock,
    store,
    () => kept,
    onError,
    (scope) => scope === 'channel:jazz',
  );
  recorder.restore(['jazz']);
  const rows = [
    withMember(ROW, 3, '7'),
    withMember(ROW, 1, 'constructor'),
    null,
    // They are well-formed, and of no channel: each would have three places in memory and in the store.
    ...Array.from({ length: 1000 }, (_, i) => withMember(ROW, 0, `channel:x${i}`)),
    ROW,
  ];
  recorder.add({ minuteMs: NOON, saltDayMs: null, rows, titles: [null, TITLE] } as unknown as MinuteFigures, 3);
  recorder.add({ minuteMs: 1e300, rows: [ROW] } as unknown as MinuteFigures, 3);
  recorder.add(null as unknown as MinuteFigures, 3);
  await recorder.save();
  const all = { fromMs: 0, beforeMs: Number.MAX_SAFE_INTEGER, limit: 10 };
  t.strictSame(
    store.figures('day page', 'channel:jazz', all).map(({ text }) => JSON.parse(text)),
    [{ 'example.org': [1, 1, 60_000, 60_000, 1, 0] }],
  );
  t.same([...store.figureScopes('day')], ['channel:jazz']);
  t.same(faults, [
    'process 3 reported impossible figures: ignoring 1004 rows',
    ...Array(2).fill('process 3 reported figures for an impossible minute: ignoring them'),
  ]);
});
