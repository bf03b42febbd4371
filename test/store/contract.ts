/** What every implementation of the port src/store/store.ts keeps. Run by store.test.ts over each of them. */

import type { Test } from 'tap';
import { FAR_AHEAD_MS } from '../../src/base/steady-time.js';
import type { TrackRecord } from '../../src/metadata/record.js';
import { type ChannelState, EMPTY_STATE, type HistoryEntry } from '../../src/now-playing/state.js';
import type { HistoryBounds, Store } from '../../src/store/store.js';
import { FakeClock } from '../kit/clock.js';

/** A state with everything in it, distinguished by its version. */
export function stateOf(version: number, song = `song ${version}`, channel = 'jazz'): ChannelState {
  const now: TrackRecord = {
    id: `id-${version}`,
    type: 'now',
    artist: 'Sigur Rós “Ágætis” 🎵 \u00a0 "\\',
    song,
    separator: ' - ',
    durationSeconds: 215,
    etype: 1001,
    isrc: 'GBAYE6800011',
    cover: '',
    album: '',
    timezone: 'UTC',
    images: '{"small":{"url":"https://example.org/s.png"}}',
    extdata: '{"a":1.0}',
    source: 'metapush',
    startSeconds: 1_763_642_248,
    channel,
    version,
    effectAtMs: 1_763_642_248_123,
  };
  return {
    version,
    now,
    next: { ...now, type: 'next', images: null },
    nowsSinceNext: 1,
    nextHasTime: true,
    held: [{ ...now, id: 'held' }],
    saidSeconds: 1_763_700_000,
    lost: true,
    covered: { ...now, song: 'covered' },
    onAirSinceMs: 1_763_642_248_124,
  };
}

/** The same, with its title on air since then. */
export function onAir(version: number, onAirSinceMs: number, channel = 'jazz'): ChannelState {
  return { ...stateOf(version, undefined, channel), onAirSinceMs };
}

/** The title of `stateOf(version)` in the history. */
export function entryOf(version: number, fromMs: number, toMs: number | null, channel = 'jazz'): HistoryEntry {
  return { record: stateOf(version, undefined, channel).now!, fromMs, toMs };
}

const DAY_MS = 86_400_000;

/** @param clock default: the system's */
type OpenStore = (bounds: HistoryBounds, clock?: FakeClock) => Promise<Store>;

/** @param openStore with these bounds of history */
export async function storeContract(t: Test, openStore: OpenStore): Promise<void> {
  await t.test('history', (t) => historyContract(t, openStore));
  await t.test('a clock that leaps', (t) => leapingContract(t, openStore));
  await t.test('figures', (t) => figuresContract(t, openStore));
  const store = await openStore({ days: 30, entries: 100 });

  t.equal(store.load('jazz'), undefined, 'nothing was saved yet');
  t.equal(store.fault(), null);
  await store.save('jazz', EMPTY_STATE);
  t.same(store.load('jazz'), EMPTY_STATE, 'the empty state is a state');
  const state = stateOf(1);
  await store.save('jazz', state);
  t.same(store.load('jazz'), state, 'every field comes back');
  await store.save('jazz', { ...state, version: 2, now: null });
  t.same(store.load('jazz'), { ...state, version: 2, now: null }, 'the last save counts, whole');

  t.equal(store.load('Jazz'), undefined, 'keys differ by case');
  const longest = '_-'.repeat(32);
  await store.save(longest, stateOf(7, undefined, longest));
  t.same(store.load(longest), stateOf(7, undefined, longest), 'the longest key');
  t.same(store.load('jazz'), { ...state, version: 2, now: null }, 'another channel does not touch it');

  // As large as a record can be: 16 KiB of extdata, URLs of 4,096 bytes.
  const large = stateOf(8, '🎵'.repeat(16_384), 'large');
  await store.save('large', large);
  t.same(store.load('large'), large, 'a large state');

  const channels = Array.from({ length: 50 }, (_, i) => `channel-${i}`);
  await Promise.all(
    channels.map(async (channel) => {
      for (let version = 1; version <= 20; version++) {
        await store.save(channel, stateOf(version, `${channel} ${version}`, channel));
        const seen = store.load(channel)?.now?.song;
        if (seen !== `${channel} ${version}`) t.fail(`${channel}: saved ${version}, but load gives ${seen}`);
      }
    }),
  );
  t.same(
    channels.map((channel) => store.load(channel)),
    channels.map((channel) => stateOf(20, `${channel} 20`, channel)),
    'saves of many channels at once',
  );

  const underWay = store.save('jazz', stateOf(9));
  const [closing, again] = [store.close(), store.close()];
  await t.resolves(underWay, 'close waits for what is under way');
  await t.resolves(closing);
  await t.resolves(again, 'close is idempotent');
  await t.resolves(store.close());
  await t.rejects(store.save('jazz', stateOf(10)), 'a closed store takes nothing');
}

async function figuresContract(t: Test, openStore: (bounds: HistoryBounds) => Promise<Store>): Promise<void> {
  const store = await openStore({ days: 2, entries: 10 });
  const all = { fromMs: 0, beforeMs: Number.MAX_SAFE_INTEGER, limit: 100 };
  const texts = (kind: string, scope: string, page = all) => store.figures(kind, scope, page).map(({ text }) => text);

  t.same(store.figures('hour', 'channel:jazz', all), []);
  t.same(store.figureScopes('hour'), []);
  t.equal(store.figureCount('hour', 'channel:jazz'), 0);
  await store.saveFigures([]);
  await store.saveFigures([
    [['hour', 'channel:jazz', 3_600_000], 'two'],
    [['hour', 'channel:jazz', 1_790_000_000_000], 'three ü 🎵'],
    [['hour', 'channel:jazz', 0], 'one'],
    [['hour', 'channel:jazz2', 1], 'other'],
    [['hour', 'Channel:jazz', 1], 'case'],
    [['hour country', 'channel:jazz', 1], 'kind'],
    [['hours', '', 1], 'no scope'],
  ]);
  t.same(store.figures('hour', 'channel:jazz', { ...all, limit: 2 }), [
    { atMs: 0, text: 'one' },
    { atMs: 3_600_000, text: 'two' },
  ]);
  t.same(texts('hour', 'channel:jazz'), ['one', 'two', 'three ü 🎵'], 'in order of time');
  t.same(texts('hour', 'channel:jazz', { fromMs: 1, beforeMs: 3_600_001, limit: 9 }), ['two']);
  t.same(
    texts('hour', 'channel:jazz', { fromMs: 3_600_000, beforeMs: 1_790_000_000_000, limit: 9 }),
    ['two'],
    'from, before',
  );
  t.same(texts('hour country', 'channel:jazz'), ['kind']);
  t.same(texts('hours', ''), ['no scope']);
  t.same(store.figureScopes('hour'), ['Channel:jazz', 'channel:jazz', 'channel:jazz2']);
  t.equal(store.figureCount('hour', 'channel:jazz'), 3);
  t.same(store.history('jazz', { limit: 9 }), [], 'history knows nothing of them');

  await store.saveFigures([
    [['hour', 'channel:jazz', 0], undefined],
    [['hour', 'channel:jazz', 3_600_000], 'again'],
    [['hour', 'channel:jazz2', 1], undefined],
    [['hour', 'channel:jazz2', 2], undefined],
  ]);
  t.same(texts('hour', 'channel:jazz'), ['again', 'three ü 🎵']);
  t.same(store.figureScopes('hour'), ['Channel:jazz', 'channel:jazz']);
  const large = 'x'.repeat(500_000);
  const underWay = store.saveFigures([[['hour', 'large', 5], large]]);
  await store.close();
  await t.resolves(underWay, 'close waits for what is under way');
  await t.rejects(store.saveFigures([[['hour', 'x', 5], '']]), 'a closed store takes nothing');
}

/** A clock that is set wrong: nothing stored is lost, and what came meanwhile is moved to where it belongs. */
async function leapingContract(t: Test, openStore: OpenStore): Promise<void> {
  const clock = new FakeClock();
  const store = await openStore({ days: 2, entries: 100 }, clock);
  const T = clock.wallMs();
  let last: HistoryEntry | null = null;
  const play = async (version: number, channel = 'jazz') => {
    const fromMs = clock.wallMs();
    const ended = last === null ? [] : [{ ...last, toMs: Math.max(last.fromMs, fromMs) }];
    last = entryOf(version, fromMs, null, channel);
    await store.save(channel, onAir(version, fromMs, channel), [...ended, last]);
  };
  const all = (channel = 'jazz') =>
    store
      .history(channel, { limit: 1000 })
      .toReversed()
      .map(({ record, fromMs, toMs }) => [record.version, fromMs - T, toMs === null ? null : toMs - T]);
  const minute = 60_000;
  for (const version of [1, 2]) {
    await play(version);
    clock.spend(minute);
  }
  clock.stepWall(40 * DAY_MS);
  t.equal(all().length, 2, 'readers get all while it is ahead');
  for (const version of [3, 4, 5]) {
    await play(version);
    clock.spend(minute);
  }
  t.equal(all().length, 5, 'and nothing has gone');
  clock.stepWall(-40 * DAY_MS);
  await play(6);
  t.strictSame(
    all(),
    [
      [1, 0, minute],
      [2, minute, 2 * minute],
      [3, 2 * minute, 3 * minute],
      [4, 3 * minute, 4 * minute],
      [5, 4 * minute, 5 * minute],
      [6, 5 * minute, null],
    ],
    'each where it was',
  );
  clock.spend(minute);
  await play(7);
  t.strictSame(all().slice(-2), [
    [6, 5 * minute, 6 * minute],
    [7, 6 * minute, null],
  ]);

  // Not far enough ahead of the title on air, up to the limit: they stay where the clock says.
  last = null;
  await play(1, 'near');
  clock.stepWall(FAR_AHEAD_MS);
  await play(2, 'near');
  clock.stepWall(-FAR_AHEAD_MS);
  clock.spend(1);
  await play(3, 'near');
  t.strictSame(
    all('near').map(([version]) => version),
    [1, 3, 2],
    'not far ahead',
  );

  last = null;
  await play(1, 'behind');
  clock.stepWall(-40 * DAY_MS);
  await play(2, 'behind');
  t.equal(all('behind').length, 2);
  clock.stepWall(40 * DAY_MS);
  t.strictSame(
    all('behind').map(([version]) => version),
    [2, 1],
    'a clock that is behind moves nothing of what was there',
  );

  // As where a node reads the log of its cluster again: the beginning of a past title comes once more.
  last = null;
  const titles: HistoryEntry[] = [];
  for (const version of [1, 2, 3]) {
    await play(version, 'long');
    titles.push(last!);
    clock.spend(2 * FAR_AHEAD_MS);
  }
  const before = all('long');
  for (const title of titles) await store.save('long', onAir(3, titles[2]!.fromMs, 'long'), [title]);
  t.strictSame(all('long'), before, 'what came behind a past title is not of a clock that was ahead');
  const earlier = entryOf(0, titles[0]!.fromMs - 1, null, 'long');
  await store.save('long', onAir(3, titles[2]!.fromMs, 'long'), [earlier]);
  t.strictSame(all('long').slice(1), before, 'nor where it is new here');
  // As another machine may say it, whose clock is wrong.
  const [{ fromMs: firstMs }] = titles as [HistoryEntry];
  for (const [i, sinceMs] of [firstMs - 2, firstMs - DAY_MS, 0].entries()) {
    await store.save('long', onAir(4 + i, sinceMs, 'long'), [entryOf(4 + i, sinceMs, null, 'long')]);
    t.strictSame(all('long').slice(-3), before, `nor where a title is said to be on air since ${sinceMs}`);
  }
}

async function historyContract(t: Test, openStore: (bounds: HistoryBounds) => Promise<Store>): Promise<void> {
  const store = await openStore({ days: 2, entries: 10 });
  const nowMs = Date.now();
  const versions = (page: { limit: number; beforeMs?: number }, channel = 'jazz') =>
    store
      .history(channel, page)
      .map(({ record, toMs }) => (toMs === null ? `${record.version} on air` : `${record.version}`));
  /** As the state machine does: ends the last title and begins another. */
  let last: HistoryEntry | null = null;
  const play = async (version: number, fromMs: number, channel = 'jazz') => {
    const ended = last === null ? [] : [{ ...last, toMs: fromMs }];
    last = entryOf(version, fromMs, null, channel);
    await store.save(channel, onAir(version, fromMs, channel), [...ended, last]);
  };

  t.same(store.history('jazz', { limit: 5 }), []);
  for (let i = 1; i <= 10; i++) await play(i, nowMs - 20_000 + i * 1000);
  t.same(store.history('jazz', { limit: 1 }), [last], 'every field comes back');
  t.same(versions({ limit: 3 }), ['10 on air', '9', '8'], 'newest first; an entry takes the place of its first form');
  t.same(versions({ limit: 1000 }).length, 10, 'as many as the bound');
  t.same(versions({ limit: 2, beforeMs: nowMs - 15_000 }), ['4', '3'], 'begun before a moment, not at it');
  t.same(versions({ limit: 2, beforeMs: nowMs - 14_999 }), ['5', '4']);
  t.same(versions({ limit: 2, beforeMs: nowMs - 19_000 }), []);
  await play(11, nowMs - 9000);
  t.same(versions({ limit: 1000 }).slice(-2), ['3', '2'], 'one past it: the oldest has gone');
  t.equal(versions({ limit: 1000 }).length, 10);

  // As another machine may say it: an end before the beginning.
  last = null;
  await play(1, nowMs - 3000, 'lied');
  await play(2, nowMs - 2000, 'lied');
  await store.save('lied', onAir(2, nowMs - 2000, 'lied'), [entryOf(0, nowMs - 2500, 0, 'lied')]);
  t.same(versions({ limit: 1000 }, 'lied'), ['2 on air', '0', '1'], 'it hides nothing that was before it');

  // Two machines that were apart, in either order: an id that is a part of the key, and one whose digest is.
  const atOnce = ['id-b', 'id-a', 'an id', 'no id'].map((id) => {
    const { record, ...entry } = entryOf(1, nowMs, nowMs + 1);
    return { ...entry, record: { ...record, id } };
  });
  const idsOf = async (channel: string, entries: readonly HistoryEntry[]) => {
    const own = entries.map(({ record, ...entry }) => ({
      ...entry,
      record: { ...record, channelkey: channel, channel },
    }));
    for (const entry of own) await store.save(channel, stateOf(1, undefined, channel), [entry]);
    return store.history(channel, { limit: 10 }).map(({ record }) => record.id);
  };
  const one = await idsOf('one-way', atOnce);
  t.equal(one.length, 4);
  t.same(await idsOf('other-way', atOnce.toReversed()), one, 'plays of one moment and version have one order');

  await store.save('renamed', stateOf(3, undefined, 'renamed'), [entryOf(3, nowMs, null, 'renamed')]);
  const renamed = (toMs: number | null) => {
    const { record, ...entry } = entryOf(5, nowMs, toMs, 'renamed');
    return { ...entry, record: { ...record, id: 'id-3' } };
  };
  await store.save('renamed', stateOf(5, undefined, 'renamed'), [renamed(null)]);
  t.same(versions({ limit: 10 }, 'renamed'), ['5 on air'], 'a play is there once, under another version too');
  await store.save('renamed', stateOf(5, undefined, 'renamed'), [renamed(nowMs + 1)]);
  t.same(versions({ limit: 10 }, 'renamed'), ['5'], 'itself, too');
  t.ok(store.hasEntry('renamed', renamed(nowMs + 1)));
  t.notOk(store.hasEntry('renamed', renamed(nowMs + 2)), 'with another end');
  t.ok(store.hasEntry('renamed', renamed(null)), 'it has ended meanwhile');
  const worded = renamed(nowMs + 1);
  const cover = { ...worded, record: { ...worded.record, cover: 'https://example.org/c.png' } };
  t.notOk(store.hasEntry('renamed', cover), 'corrected behind its end');
  t.notOk(store.hasEntry('renamed', entryOf(5, nowMs, nowMs + 1, 'renamed')), 'another play of that moment');
  await store.save('renamed', stateOf(5, undefined, 'renamed'), [renamed(null)]);
  t.same(versions({ limit: 10 }, 'renamed'), ['5'], 'what has ended is not on air again');
  const stray = entryOf(9, nowMs + 5, nowMs + 6, 'renamed');
  await store.save('renamed', stateOf(9, undefined, 'renamed'), [stray]);
  await store.save(
    'renamed',
    stateOf(10, undefined, 'renamed'),
    [],
    [{ ...stray, toMs: null }, entryOf(8, nowMs, null)],
  );
  t.same(versions({ limit: 10 }, 'renamed'), ['5'], 'a play that was none goes, by its beginning and its id');

  last = null;
  for (const channel of ['jaz', 'jazz-2', 'JAZZ'])
    await store.save(channel, stateOf(1, undefined, channel), [entryOf(77, nowMs, null, channel)]);
  t.equal(versions({ limit: 1000 }).length, 10, 'other channels, also those that sort beside it, are not mixed in');
  t.same(versions({ limit: 1000 }, 'jaz'), ['77 on air']);
  t.same(versions({ limit: 1000 }, 'none'), []);

  const old = 'old';
  for (let i = 1; i <= 3; i++) await play(i, nowMs - 3 * DAY_MS + i, old);
  t.same(
    versions({ limit: 10 }, old),
    ['3 on air'],
    'what ended too long ago is left out; what is on air is never too old',
  );
  await play(4, nowMs - 2 * DAY_MS + 60_000, old);
  t.same(versions({ limit: 10 }, old), ['4 on air', '3'], 'it counts when a title ended');

  for (let i = 1; i <= 15; i++)
    await store.save('ended', stateOf(i, undefined, 'ended'), [entryOf(i, nowMs - 5000 + i, nowMs, 'ended')]);
  t.equal(versions({ limit: 1000 }, 'ended').length, 10, 'an entry that comes with its end counts like any other');

  // A clock that was set back: titles stand where they said they were.
  last = null;
  await play(1, nowMs, 'back');
  await play(2, nowMs - 3_600_000, 'back');
  t.same(versions({ limit: 10 }, 'back'), ['1', '2 on air']);
  await store.close();
}
