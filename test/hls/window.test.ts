/** What is listed and what can be fetched, and the numbers that go on whatever was forgotten. */

import t from 'tap';
import type { HlsTitle } from '../../src/hls/hls-title.js';
import type { HlsSegment } from '../../src/hls/playlist.js';
import { HlsWindow } from '../../src/hls/window.js';
import { readPlaylist } from '../kit/hls-channel.js';

const WALL_MS = Date.UTC(2026, 10, 27, 1);
const HOURS = 7921;
const SEGMENT_MS = 4000;
const BYTES = Buffer.alloc(64_000);

function segment(n: number, isDiscontinuity = false): HlsSegment {
  const facts = { number: n, name: `${n}-${'0'.repeat(16)}.mp3`, init: null, codecs: 'mp4a.40.34' };
  return {
    ...facts,
    bytes: BYTES,
    startMs: WALL_MS + n * SEGMENT_MS,
    micros: SEGMENT_MS * 1000,
    isDiscontinuity,
    end: null,
  };
}

function title(name: string, atMs: number): HlsTitle {
  const nothing = { artist: '', album: '', record: '', etype: 0, durationSeconds: 0 };
  return { ...nothing, id: `${name}.1`, title: name, startMs: WALL_MS + atMs };
}

function makeWindow(): HlsWindow {
  return new HlsWindow(4, { window: 3, keep: 6 }, WALL_MS);
}

const names = (window: HlsWindow) => readPlaylist(window.playlist).titles.map(({ title }) => title);

t.test('the newest are listed, some more can be fetched, the rest is forgotten', async (t) => {
  const window = makeWindow();
  t.ok(window.isEmpty);
  window.append(segment(0));
  t.notOk(window.isEmpty, 'one is enough for a list');
  for (let n = 1; n < 10; n++) window.append(segment(n));
  const { mediaSequence, segments, discontinuitySequence } = readPlaylist(window.playlist);
  t.strictSame([mediaSequence, segments.length, discontinuitySequence], [7, 3, HOURS]);
  t.strictSame(
    Array.from({ length: 11 }, (_, n) => window.segment(segment(n).name) !== undefined),
    [false, false, false, false, true, true, true, true, true, true, false],
  );
  t.equal(window.endMs, WALL_MS + 10 * SEGMENT_MS);
});

t.test('an initialization section is there as long as a segment that needs it; a list is of one form', async (t) => {
  const window = makeWindow();
  const inits = ['a', 'b'].map((letter) => ({ name: `init-${letter}.mp4`, bytes: Buffer.from(letter) }));
  for (let n = 0; n < 3; n++) window.append({ ...segment(n), init: inits[0]! });
  for (let n = 3; n < 6; n++) window.append({ ...segment(n, n === 3), init: inits[1]! });
  t.equal(window.file('init-a.mp4')?.bytes.toString(), 'a', 'it left the list, and is kept');
  window.append({ ...segment(6), init: inits[1]! });
  window.append({ ...segment(7), init: inits[1]! });
  window.append({ ...segment(8), init: inits[1]! });
  t.equal(window.file('init-a.mp4'), undefined);
  t.equal(window.file('init-b.mp4')?.bytes.toString(), 'b');
  t.equal(window.file(''), undefined);
  const before = readPlaylist(window.playlist);
  window.append(segment(9, true));
  const { segments, mediaSequence, discontinuitySequence } = readPlaylist(window.playlist);
  t.strictSame([segments.length, mediaSequence], [1, 9], 'what needs none begins another list');
  t.ok(discontinuitySequence >= before.discontinuitySequence);
  t.not(window.segment(segment(8).name), undefined, 'and what was listed before can still be fetched');
});

t.test('the playlist is one text until it changes', async (t) => {
  const window = makeWindow();
  window.append(segment(0));
  const text = window.playlist;
  t.equal(window.playlist, text);
  window.title(title('A', 0));
  t.not(window.playlist, text);
});

t.test('EXT-X-DISCONTINUITY-SEQUENCE counts those that left, and survives all lists', async (t) => {
  const window = makeWindow();
  for (let n = 0; n < 9; n++) window.append(segment(n, n === 2 || n === 5));
  t.equal(readPlaylist(window.playlist).discontinuitySequence, HOURS + 2, 'both have left: 6, 7 and 8 are listed');
  window.append(segment(9, true));
  t.equal(readPlaylist(window.playlist).discontinuitySequence, HOURS + 2, 'the one that is listed is not counted');
  window.endList();
  t.ok(window.isEmpty);
  t.ok(window.segment(segment(9).name), 'what was listed can still be fetched');
  window.append(segment(10, true));
  t.strictSame(
    [readPlaylist(window.playlist).discontinuitySequence, readPlaylist(window.playlist).segments.length],
    [HOURS + 3, 1],
  );
  window.clear();
  t.equal(window.segment(segment(10).name), undefined);
  t.equal(window.lastNumber, 10);
  window.append(segment(11, true));
  t.equal(readPlaylist(window.playlist).discontinuitySequence, HOURS + 4);
});

t.test('100,000 discontinuities', async (t) => {
  const window = makeWindow();
  for (let n = 0; n < 100_000; n++) window.append(segment(n, true));
  const read = readPlaylist(window.playlist);
  t.strictSame([read.discontinuitySequence, read.segments.length], [HOURS + 100_000 - 3, 3]);
});

t.test('the title in force where the list begins, and all behind it; none before its audio', async (t) => {
  const window = makeWindow();
  for (const [name, atMs] of [
    ['A', -5000],
    ['B', 1000],
    ['C', 5000],
    ['D', 13_000],
  ] as const) {
    window.title(title(name, atMs));
  }
  window.append(segment(0));
  t.strictSame(names(window), ['A', 'B']);
  window.append(segment(1));
  window.append(segment(2));
  t.strictSame(names(window), ['A', 'B', 'C'], 'D is behind them');
  window.append(segment(3));
  t.strictSame(names(window), ['B', 'C', 'D'], 'B is in force where segment 1 begins');
  for (let n = 4; n < 9; n++) window.append(segment(n));
  t.strictSame(names(window), ['D']);
});

t.test('a correction takes the place of what it corrects', async (t) => {
  const window = makeWindow();
  for (let n = 0; n < 3; n++) window.append(segment(n));
  window.title(title('A', 100));
  window.title(title('Wrong', 6000));
  window.title(title('Right', 6000));
  t.strictSame(names(window), ['A', 'Right']);
});

t.test('titles have a bound', async (t) => {
  const window = makeWindow();
  for (let i = 0; i < 1000; i++) window.title(title(`${i}`, i));
  window.append(segment(0));
  t.equal(names(window).length, 256);
  t.equal(names(window).at(-1), '999');
});

t.test('who waits for a list is called when it begins, once', async (t) => {
  const window = makeWindow();
  const calls: string[] = [];
  const reader = { onListed: () => calls.push('listed') };
  window.await(reader);
  window.append(segment(0));
  window.append(segment(1));
  t.strictSame(calls, ['listed']);
  window.leave(reader);
  window.endList();
  window.append(segment(2, true));
  t.strictSame(calls, ['listed']);
});

t.test('BANDWIDTH is that of the largest segment', async (t) => {
  const window = makeWindow();
  window.append(segment(0));
  t.match(window.variant('Demo'), 'BANDWIDTH=128000,CODECS="mp4a.40.34",NAME="Demo"');
  window.append({ ...segment(1), bytes: Buffer.alloc(100_001) });
  t.match(window.variant('Demo'), 'BANDWIDTH=201000,');
});
