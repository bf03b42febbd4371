/** Fragments as an independent reader finds them: frames, times and titles. */

import t from 'tap';
import { FragmentForm, fragment } from '../../src/hls/fragment.js';
import { opusTrack } from '../../src/hls/mp4-track.js';
import type { SegmentFrames, TaggedTitle } from '../../src/hls/segment-form.js';
import { opusHeaders } from '../kit/made-ogg.js';
import { readFragment, readInit } from '../kit/mp4.js';
import { Random } from '../kit/random.js';

const RATE = 48_000;
const START_MS = 1_795_741_941_123.4;

function tagged(title: string, offsetMs = 0, id = `${title}.1`): TaggedTitle {
  return {
    text: { id, title, artist: 'Zymfira', album: '', record: title, etype: 0, durationSeconds: 0 },
    offsetMs,
  };
}

function framesOf(random: Random, count: number, facts: Partial<SegmentFrames> = {}) {
  const bytes = Array.from({ length: count }, () => random.bytes(random.int(1, 900)));
  const samples = bytes.map(() => random.int(1, 65_536));
  const frames: SegmentFrames = {
    number: 1_795_741_941,
    startMs: START_MS,
    samplesBefore: 0,
    bytes: Buffer.concat(bytes),
    sizes: bytes.map(({ length }) => length),
    samples,
    titles: [],
    ...facts,
  };
  return { frames, bytes, samples };
}

t.test('each frame with its samples, at its time', async (t) => {
  const random = new Random();
  t.comment(`seed ${random.seed}`);
  for (const count of [1, 2, 170, 4000]) {
    const { frames, bytes, samples } = framesOf(random, count);
    const read = readFragment(fragment(frames, RATE));
    t.ok(Buffer.concat(read.frames.map((frame) => frame.bytes)).equals(Buffer.concat(bytes)));
    t.strictSame(
      read.frames.map((frame) => [frame.bytes.length, frame.samples]),
      bytes.map(({ length }, i) => [length, samples[i]]),
    );
    t.equal(read.sequence, 1_795_741_941);
    t.equal(read.at, BigInt(Math.round(START_MS * 48)));
    t.strictSame(read.events, []);
  }
});

t.test('times have 64 bits, and go on to the sample: over 33 bits, a day, at any rate', async (t) => {
  const random = new Random();
  for (const rate of [8000, 44_100, 48_000, 192_000, 655_350]) {
    // Of 90 kHz 33 bits end a second later.
    const startMs = (18_816 * 2 ** 33) / 90 - 1000;
    let samplesBefore = 0;
    let due: bigint | null = null;
    for (let i = 0; i < 50; i++) {
      const { frames, samples } = framesOf(random, 20, { startMs, samplesBefore, number: 2 ** 32 + i });
      const read = readFragment(fragment(frames, rate));
      if (due !== null) t.equal(read.at, due);
      t.equal(read.sequence, i, 'a number beyond 32 bits begins again');
      const sum = samples.reduce((all, each) => all + each, 0);
      samplesBefore += sum;
      due = read.at + BigInt(sum);
    }
    const { frames } = framesOf(random, 1, { startMs, samplesBefore: rate * 86_400 * 365 });
    const seconds = startMs / 1000 + 86_400 * 365;
    const { at } = readFragment(fragment(frames, rate));
    t.ok(Math.abs(Number(at) / rate - seconds) < 1 / rate + 1e-6, `${rate} Hz, a year later`);
    t.ok(at > 2n ** 33n);
  }
});

t.test('titles are events: what is in force at the beginning, and each at its place', async (t) => {
  const { frames } = framesOf(new Random(), 3, {
    samplesBefore: 480_000,
    titles: [tagged('A'), tagged('B', 312.5), tagged('Ц — 🎵', 3999.9)],
  });
  const { at, events } = readFragment(fragment(frames, RATE));
  t.strictSame(
    events.map(({ timescale, at: eventAt, tag }) => [timescale, Number(eventAt - at), tag]),
    [
      [RATE, 0, { TIT2: 'A', TPE1: 'Zymfira', TXXX: 'A' }],
      [RATE, 15_000, { TIT2: 'B', TPE1: 'Zymfira', TXXX: 'B' }],
      [RATE, 191_995, { TIT2: 'Ц — 🎵', TPE1: 'Zymfira', TXXX: 'Ц — 🎵' }],
    ],
  );
});

t.test(
  'an event has an id of its own: the same title in the next segment, and its correction, have others',
  async (t) => {
    const ids = new Set<number>();
    const of = (titles: TaggedTitle[], samplesBefore: number) =>
      readFragment(fragment(framesOf(new Random(), 1, { titles, samplesBefore }).frames, RATE)).events.map(
        ({ id }) => id,
      );
    for (let i = 0; i < 200; i++) for (const id of of([tagged('A'), tagged('A', 500, 'A.2')], i * 192_000)) ids.add(id);
    t.equal(ids.size, 400);
    t.strictSame(of([tagged('A')], 5), of([tagged('A')], 5), 'and it is the same wherever it is made');
  },
);

t.test('a title without words is no event; the longest one fits', async (t) => {
  const nothing = { ...tagged('').text, artist: '', record: '' };
  const long = '🎵'.repeat(300);
  const titles = [
    { text: nothing, offsetMs: 0 },
    { text: { ...tagged(long).text, album: long }, offsetMs: 20 },
  ];
  const { events } = readFragment(fragment(framesOf(new Random(), 1, { titles }).frames, RATE));
  t.strictSame(
    events.map(({ tag }) => [tag['TIT2'], tag['TALB']]),
    [[long, long]],
  );
});

t.test('an initialization section has a name that nobody can guess, and no samples', async (t) => {
  const track = opusTrack(opusHeaders()[0]!);
  const inits = Array.from({ length: 50 }, () => new FragmentForm(track, { lastInit: null }).init);
  t.equal(new Set(inits.map(({ name }) => name)).size, 50);
  for (const { name, bytes } of inits) {
    t.match(name, /^init-[0-9a-f]{16}\.mp4$/);
    t.ok(bytes.equals(inits[0]!.bytes));
  }
  t.equal(readInit(inits[0]!.bytes).trackId, 1);
  const again = new FragmentForm(track, { lastInit: { name: 'before.mp4', bytes: Buffer.from(inits[0]!.bytes) } });
  t.equal(again.init.name, 'before.mp4', 'what goes on behind another process keeps the name');
  const mono = new FragmentForm(opusTrack(opusHeaders({ channels: 1 })[0]!), { lastInit: again.init });
  t.not(mono.init.name, 'before.mp4');
});
