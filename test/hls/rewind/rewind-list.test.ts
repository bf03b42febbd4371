/** The list of a rewind: whatever comes and goes, its text is that of a list that is made anew; a day of it costs little. */

import t from 'tap';
import type { RewindLine, RewindSegment } from '../../../src/hls/hls-schema.js';
import type { HlsTitle } from '../../../src/hls/hls-title.js';
import { RewindList } from '../../../src/hls/rewind/rewind-list.js';
import { costRatio } from '../../kit/cost.js';
import { readPlaylist, titleAt } from '../../kit/hls-channel.js';
import { Random } from '../../kit/random.js';

const START_MS = 1_795_000_000_000;
const INIT = `init-${'a'.repeat(16)}.mp4`;
const hex = (i: number) => i.toString(16).padStart(16, '0');

function segmentOf(
  sequence: number,
  last: RewindSegment | undefined,
  more: Partial<RewindSegment> = {},
): RewindSegment {
  const isDiscontinuity = more.isDiscontinuity ?? false;
  return {
    sequence,
    name: `${sequence}-${hex(sequence)}.m4s`,
    init: INIT,
    startMs: last === undefined ? START_MS : last.startMs + last.micros / 1000 + (isDiscontinuity ? 60_000 : 0),
    micros: 4_022_857,
    isDiscontinuity,
    discontinuities: (last?.discontinuities ?? 7) + (isDiscontinuity ? 1 : 0),
    targetSeconds: 4,
    length: 64_000,
    crc: 0,
    ...more,
  };
}

function titleOf(i: number, startMs: number): HlsTitle {
  return {
    id: `${i}.1`,
    title: `Title ${i}`,
    artist: 'A',
    album: '',
    record: `${i}`,
    etype: 0,
    durationSeconds: 0,
    startMs,
  };
}

/** A list as who reads its log from the beginning has it. */
function anew(lines: readonly RewindLine[]): RewindList {
  const list = new RewindList();
  for (const line of lines) list.take(line);
  return list;
}

t.test('its text is that of a list that is made anew, whenever it is asked for', async (t) => {
  const random = new Random();
  const below = (most: number) => random.int(0, most - 1);
  for (let round = 0; round < 20; round++) {
    const lines: RewindLine[] = [];
    const list = new RewindList();
    const take = (line: RewindLine) => {
      lines.push(line);
      list.take(line);
    };
    take({ segment: segmentOf(1_795_000_000 + below(1000), undefined) });
    for (let step = 0; step < 600; step++) {
      const last = list.last!;
      const endMs = last.startMs + last.micros / 1000;
      const kind = below(20);
      if (kind === 0) take({ title: titleOf(step, endMs - below(20_000)) });
      else if (kind === 1) take({ from: list.from + below(20) });
      else if (kind === 2) take({ segment: segmentOf(last.sequence + 1, last, { isDiscontinuity: true }) });
      else if (kind === 3) take({ segment: segmentOf(last.sequence + 1, last, { startMs: endMs + below(8) - 4 }) });
      else if (below(300) === 0) take({ segment: segmentOf(last.sequence + 2 + below(9), last) });
      else take({ segment: segmentOf(last.sequence + 1, last) });
      if (below(4) === 0) {
        const text = list.playlist;
        if (text !== anew(lines).playlist) t.fail(`round ${round}, step ${step}, seed ${random.seed}`);
      }
    }
    const playlist = readPlaylist(list.playlist);
    const { segments, mediaSequence, discontinuitySequence } = playlist;
    t.equal(mediaSequence, list.from);
    t.equal(segments.length, list.last!.sequence - list.from + 1);
    t.equal(list.bytes, segments.length * 64_000);
    const listed = segments.map(({ name }) => list.segment(name)!);
    t.ok(
      listed.every(({ startMs }, i) => Math.abs(startMs - segments[i]!.dateMs) < 3),
      'dates are exact',
    );
    const count = segments.filter(({ isDiscontinuity }) => isDiscontinuity).length;
    t.equal(discontinuitySequence + count, list.last!.discontinuities);
    t.ok(segments.every(({ init }) => init === INIT));
  }
});

t.test('files are needed until a minute behind the list; one that is shared until the last of them', async (t) => {
  const list = new RewindList();
  const gone: string[] = [];
  const end = list.onDropped((name) => gone.push(name));
  const other = `init-${'b'.repeat(16)}.mp4`;
  for (let i = 1; i <= 40; i++) {
    list.take({ segment: segmentOf(i, list.last, { init: i <= 5 ? other : INIT, isDiscontinuity: i === 6 }) });
  }
  list.take({ from: 16 });
  t.strictSame(gone, [], 'a player may have the list of before');
  list.take({ from: 21 });
  t.strictSame(gone, [1, 2, 3, 4, 5].map((i) => `${i}-${hex(i)}.m4s`).concat(other));
  t.notOk(list.has(other));
  t.ok(list.has(INIT) && list.has(list.at(21)!.name) && list.has(list.at(6)!.name));
  list.take({ from: 1000 });
  t.equal(readPlaylist(list.playlist).segments.length, 1, 'it is never empty');
  list.clear();
  t.ok(list.isEmpty && gone.includes(INIT));
  const { length } = gone;
  end();
  list.take({ segment: segmentOf(1, undefined) });
  list.clear();
  t.equal(gone.length, length, 'nothing behind the end');
});

t.test(
  'titles: the one in force where it begins, none before its audio is; what stands behind a correction is said anew',
  async (t) => {
    const list = new RewindList();
    for (let i = 1; i <= 100; i++) list.take({ segment: segmentOf(i, list.last) });
    const at = (i: number) => list.at(i)!.startMs + 1000;
    for (const i of [1, 20, 40, 60]) list.take({ title: titleOf(i, at(i)) });
    list.take({ title: titleOf(200, START_MS + 500_000) });
    const titles = () => readPlaylist(list.playlist).titles.map(({ title }) => title);
    t.strictSame(titles(), ['Title 1', 'Title 20', 'Title 40', 'Title 60']);
    list.take({ from: 30 });
    t.strictSame(titles(), ['Title 20', 'Title 40', 'Title 60']);
    list.take({ title: titleOf(60, at(80)) });
    t.match(
      readPlaylist(list.playlist).titles.at(-1),
      { title: 'Title 60', startMs: Math.round(at(60)) },
      'it goes on',
    );
    list.take({ title: titleOf(41, at(40)) });
    t.strictSame(titles(), ['Title 20', 'Title 41']);
    t.equal(titleAt(readPlaylist(list.playlist), at(30)), 'Title 20');
  },
);

t.test('a day of segments of 4 s: what it takes', async (t) => {
  const lines: RewindLine[] = [];
  let last: RewindSegment | undefined;
  for (let i = 0; i < 21_600; i++) {
    last = segmentOf(1_795_000_000 + i, last);
    lines.push({ segment: last });
    if (i % 60 === 0) lines.push({ title: titleOf(i, last.startMs) });
  }
  const list = anew(lines);
  const more = () => {
    last = segmentOf(last!.sequence + 1, last);
    list.take({ segment: last });
    list.take({ from: list.from + 1 });
    Buffer.from(list.playlist);
  };
  more();
  const ratio = await costRatio(0.2, more, () => Buffer.from(anew(lines).playlist));
  t.ok(ratio < 0.2, `with one segment more ${ratio.toFixed(3)} of what it costs anew`);
  const bytes = Buffer.byteLength(list.playlist);
  t.ok(bytes < 1_600_000, `${bytes} bytes`);
  t.equal(readPlaylist(list.playlist).segments.length, 21_600);
});
