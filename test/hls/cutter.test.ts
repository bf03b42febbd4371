/**
 * From the tape to segments: every frame in one of them, in order, cut where it should be, with the titles at their places. Frames say their number; the
 * clock is the test's.
 */

import t from 'tap';
import type { HlsSegment } from '../../src/hls/playlist.js';
import { adtsFrame, adtsHeader } from '../kit/adts.js';
import { Bits } from '../kit/bits.js';
import { DEMO_FRAMES, framesIn } from '../kit/feeder.js';
import { HlsChannel, listed, readPacked, readPlaylist, titleAt } from '../kit/hls-channel.js';
import { readFragment, readInit } from '../kit/mp4.js';
import { NUMBERED_MS, numberedFrame, numbersIn } from '../kit/numbered.js';
import { Random } from '../kit/random.js';

const numbers = (segment: HlsSegment) => numbersIn(readPacked(segment.bytes).audio);
/** Frames of 26 ms until four seconds are full. */
const FULL = Math.ceil(4000 / NUMBERED_MS);

t.test(
  'a segment is full at the first whole frame past its length; nothing is lost, nothing comes twice',
  async (t) => {
    const channel = new HlsChannel({ window: 100, keep: 110 });
    channel.cut();
    channel.play(60);
    const segments = listed(channel.window);
    t.ok(segments.length >= 13, `${segments.length}`);
    const all = segments.flatMap(numbers);
    t.strictSame(
      all,
      all.map((_, i) => i),
      'from the very first frame on',
    );
    for (const segment of segments) {
      t.equal(numbers(segment).length, FULL);
      t.ok(Math.abs(segment.micros - ((FULL * 1152) / 44_100) * 1e6) <= 1);
      t.match(segment.name, /^\d+-[0-9a-f]{16}\.mp3$/);
    }
    const read = readPlaylist(channel.window.playlist);
    t.equal(read.targetSeconds, 4);
    t.ok(read.segments.every(({ seconds }) => Math.round(seconds) <= 4));
    t.equal(read.mediaSequence, Math.floor(read.segments[0]!.dateMs / 1000), 'numbers begin at unix seconds');
    t.ok(read.segments.every(({ isDiscontinuity }) => !isDiscontinuity));
  },
);

t.test('PROGRAM-DATE-TIME is when the audio came in; the timestamp follows from it', async (t) => {
  const channel = new HlsChannel();
  const startMs = channel.clock.wallMs();
  channel.cut();
  channel.play(40);
  for (const { dateMs, name } of readPlaylist(channel.window.playlist).segments) {
    const segment = channel.window.segment(name)!;
    const cameMs = startMs + (numbers(segment)[0]! + 1) * NUMBERED_MS;
    t.ok(Math.abs(dateMs - cameMs) < 30, `${dateMs - cameMs}`);
    const { PRIV } = readPacked(segment.bytes).tag;
    t.ok(Math.abs(Number(PRIV) - ((dateMs * 90) % 2 ** 33)) < 90 * 30, `${PRIV}`);
  }
});

t.test('who asks first gets what the tape holds, at once', async (t) => {
  const channel = new HlsChannel({ burstMs: 8000 });
  channel.title('A');
  channel.play(60);
  channel.cut();
  const { segments, titles } = readPlaylist(channel.window.playlist);
  t.ok(segments.length >= 2, `${segments.length}`);
  t.strictSame(
    titles.map(({ title }) => title),
    ['A'],
  );
  const before = numbers(listed(channel.window).at(-1)!).at(-1)!;
  channel.play(20);
  const all = listed(channel.window).flatMap(numbers);
  t.ok(all.includes(before + 1), 'and it goes on without a gap');
  t.strictSame(
    all,
    Array.from({ length: all.length }, (_, i) => all[0]! + i),
  );
});

t.test('nothing is cut of a tape that nobody reads', async (t) => {
  const channel = new HlsChannel();
  const cutter = channel.cut();
  channel.play(10);
  cutter.stop();
  const { lastNumber } = channel.window;
  channel.play(20);
  t.equal(channel.window.lastNumber, lastNumber);
});

t.test('a title ends its segment at its frame, where that lasts a second', async (t) => {
  const channel = new HlsChannel({ window: 50, keep: 60 });
  channel.cut();
  channel.title('A');
  channel.play(10);
  const frame = channel.frames;
  const atMs = channel.clock.wallMs();
  channel.title('B');
  channel.play(10);
  const titled = listed(channel.window).find((segment) => numbers(segment)[0] === frame);
  t.ok(titled, 'a segment begins with its frame');
  t.equal(readPacked(titled!.bytes).tag['TIT2'], 'B');
  const { titles } = readPlaylist(channel.window.playlist);
  const [, b] = titles;
  t.equal(b!.startMs, Math.round(titled!.startMs));
  t.ok(Math.abs(b!.startMs - atMs) < 60);
});

t.test('one within a second of its beginning stands in its tag, and exactly in the playlist', async (t) => {
  const channel = new HlsChannel({ window: 50, keep: 60 });
  channel.cut();
  channel.play(FULL * 2 * NUMBERED_MS * 0.001 + 0.5);
  const frame = channel.frames;
  channel.title('B');
  channel.play(12);
  const segment = listed(channel.window).find((each) => numbers(each).includes(frame))!;
  t.equal(numbers(segment).length, FULL, 'it is as long as any');
  t.equal(readPacked(segment.bytes).tag['TIT2'], 'B');
  const { startMs } = readPlaylist(channel.window.playlist).titles[0]!;
  const placeMs = segment.startMs + numbers(segment).indexOf(frame) * NUMBERED_MS;
  t.ok(Math.abs(startMs - placeMs) <= 1, `${startMs - placeMs}`);
});

t.test('a title that comes late: at its frame in the playlist, not in segments that are closed', async (t) => {
  const channel = new HlsChannel({ window: 50, keep: 60 });
  channel.cut();
  channel.title('A');
  channel.play(20);
  const frame = channel.frames;
  channel.play(6);
  const before = listed(channel.window).map(({ name }) => name);
  channel.title('Late', 6000);
  const segment = listed(channel.window).find((each) => numbers(each).includes(frame));
  t.ok(segment, 'its audio is listed');
  const titles = () => readPlaylist(channel.window.playlist).titles;
  t.strictSame(
    titles().map(({ title }) => title),
    ['A', 'Late'],
  );
  const placeMs = segment!.startMs + numbers(segment!).indexOf(frame) * NUMBERED_MS;
  t.ok(Math.abs(titles()[1]!.startMs - placeMs) <= NUMBERED_MS, `${titles()[1]!.startMs - placeMs}`);
  t.strictSame(
    listed(channel.window).map(({ name }) => name),
    before,
    'nothing of what is closed changed',
  );
  channel.play(8);
  t.equal(readPacked(listed(channel.window).at(-1)!.bytes).tag['TIT2'], 'Late');
});

t.test('a push that is an hour late is in force from the oldest audio on', async (t) => {
  const channel = new HlsChannel();
  channel.cut();
  channel.title('A');
  channel.play(60);
  channel.title('Old', 3_600_000);
  const read = readPlaylist(channel.window.playlist);
  t.equal(titleAt(read, read.segments[0]!.dateMs), 'Old');
  channel.play(8);
  t.equal(readPacked(listed(channel.window).at(-1)!.bytes).tag['TIT2'], 'Old');
});

t.test('a correction has another ID and the same START-DATE, whenever it comes', async (t) => {
  for (const afterSeconds of [0, 2, 12, 50]) {
    const channel = new HlsChannel({ window: 50, keep: 60 });
    channel.cut();
    channel.title('A');
    channel.play(10);
    channel.title('Wrong', 0, { effectAtMs: 7, id: 'one' });
    channel.play(afterSeconds);
    const before = readPlaylist(channel.window.playlist).titles.find(({ title }) => title === 'Wrong');
    channel.title('Right', 0, { effectAtMs: 7, id: 'one' });
    channel.play(8);
    const { titles } = readPlaylist(channel.window.playlist);
    t.strictSame(
      titles.map(({ title }) => title),
      ['A', 'Right'],
      `${afterSeconds} s after it`,
    );
    if (before === undefined) continue;
    t.equal(titles[1]!.startMs, before.startMs);
    t.not(titles[1]!.id, before.id);
  }
});

t.test('what icy.etypes says counts here too', async (t) => {
  const icy = {
    charset: 'utf-8',
    apostrophe: 'keep',
    streamUrl: 'none',
    etypes: { jingle: 'keep', '103': 'Werbung' },
    name: 'Demo',
  } as const;
  const channel = new HlsChannel({ window: 50, keep: 60, icy });
  channel.cut();
  channel.title('A', 0, { etype: 1001, durationSeconds: 174 });
  channel.play(5);
  channel.title('Jingle', 0, { etype: 101 });
  channel.play(5);
  channel.title('Advert 1', 0, { etype: 103, durationSeconds: 20 });
  channel.play(5);
  channel.title('Advert 2', 0, { etype: 103 });
  channel.play(5);
  channel.title('B');
  channel.play(6);
  const { titles } = readPlaylist(channel.window.playlist);
  t.strictSame(
    titles.map(({ title }) => title),
    ['A', 'Werbung', 'B'],
  );
  const { attributes } = titles[0]!;
  t.strictSame([attributes['X-ETYPE'], attributes['X-DURATION'], attributes['X-RECORD']], ['1001', '174', 'id-A']);
  const replaced = titles[1]!.attributes;
  t.strictSame([replaced['X-ETYPE'], replaced['X-DURATION'], replaced['X-RECORD']], [undefined, undefined, undefined]);
});

t.test('a delay line: titles lie at their frames, the time is still that of arrival', async (t) => {
  const channel = new HlsChannel({ window: 50, keep: 60, delayMs: 10_000 });
  const startMs = channel.clock.wallMs();
  channel.cut();
  channel.play(20);
  const frame = channel.frames;
  channel.title('B', 0);
  channel.play(30);
  const segments = listed(channel.window);
  const segment = segments.find((each) => numbers(each).includes(frame))!;
  t.equal(numbers(segment)[0], frame, 'it begins with the title');
  t.ok(Math.abs(segment.startMs - (startMs + frame * NUMBERED_MS)) < 60, `${segment.startMs - startMs}`);
});

t.test('a hundred titles in a second', async (t) => {
  const channel = new HlsChannel({ window: 50, keep: 60 });
  channel.cut();
  channel.title('A');
  channel.play(6);
  for (let i = 0; i < 100; i++) {
    channel.title(`T${i}`);
    channel.play(0.01);
    if (i % 3 === 2) channel.play(0.03);
  }
  channel.play(10);
  const read = readPlaylist(channel.window.playlist);
  t.equal(titleAt(read, channel.clock.wallMs()), 'T99');
  t.equal(readPacked(listed(channel.window).at(-1)!.bytes).tag['TIT2'], 'T99');
  const starts = read.titles.map(({ startMs }) => startMs);
  t.strictSame(
    starts,
    [...new Set(starts)].sort((a, b) => a - b),
    'each at a place of its own, in order',
  );
  t.equal(new Set(read.titles.map(({ id }) => id)).size, read.titles.length);
  t.ok(read.segments.every(({ seconds }) => seconds >= 1));
});

t.test('silence: the list stands still, then a discontinuity at the time at which it goes on', async (t) => {
  const channel = new HlsChannel({ window: 50, keep: 60 });
  channel.cut();
  channel.play(20);
  const before = channel.window.playlist;
  channel.clock.advance(30_000);
  t.equal(channel.window.playlist, before);
  const frame = channel.frames;
  const resumedMs = channel.clock.wallMs();
  channel.play(10, true);
  const { segments } = readPlaylist(channel.window.playlist);
  const seam = segments.filter(({ isDiscontinuity }) => isDiscontinuity);
  t.equal(seam.length, 1);
  t.ok(Math.abs(seam[0]!.dateMs - resumedMs) < 60, `${seam[0]!.dateMs - resumedMs}`);
  t.equal(numbers(channel.window.segment(seam[0]!.name)!)[0], frame);
});

/** Nothing comes for so long; then what waited, so many times as fast as it plays, and goes on. */
function stall(channel: HlsChannel, stallMs: number, speed: number): void {
  channel.clock.advance(stallMs);
  for (let waitsMs = stallMs; waitsMs > 0; waitsMs -= NUMBERED_MS * (1 - 1 / speed)) {
    if (speed !== Number.POSITIVE_INFINITY) channel.clock.advance(NUMBERED_MS / speed);
    channel.write(numberedFrame(channel.frames));
  }
}

t.test('a network that stands still and then brings all that waited: nothing is said of it', async (t) => {
  const random = new Random();
  t.comment(`seed ${random.seed}`);
  for (const stallMs of [1500, 5000, 20_000]) {
    for (const speed of [Number.POSITIVE_INFINITY, 2, 1.2]) {
      const channel = new HlsChannel({ window: 100, keep: 110 });
      const startMs = channel.clock.wallMs();
      channel.cut();
      channel.play(random.int(15_000, 20_000) / 1000);
      stall(channel, stallMs, speed);
      const frame = channel.frames;
      channel.title('B');
      channel.play(30);
      const what = `${stallMs} ms, ${speed} ×`;
      const { segments, titles } = readPlaylist(channel.window.playlist);
      t.notOk(
        segments.some(({ isDiscontinuity }) => isDiscontinuity),
        what,
      );
      const all = listed(channel.window);
      t.strictSame(all.flatMap(numbers), [...all.flatMap(numbers).keys()], `${what}: each frame once`);
      for (const [i, segment] of all.entries()) {
        const { startMs: ownMs } = segment;
        const cameMs = startMs + numbers(segment)[0]! * NUMBERED_MS;
        t.ok(Math.abs(ownMs - cameMs) < 60, `${what}: ${i}: ${ownMs - cameMs}`);
      }
      const placeMs = startMs + frame * NUMBERED_MS;
      t.ok(Math.abs(titles[0]!.startMs - placeMs) < 60, `${what}: title: ${titles[0]!.startMs - placeMs}`);
    }
  }
});

t.test('audio is missing: a discontinuity where it is, with the date at which it goes on', async (t) => {
  const random = new Random();
  t.comment(`seed ${random.seed}`);
  for (const missingMs of [1500, 5000, 20_000]) {
    const channel = new HlsChannel({ window: 100, keep: 110 });
    channel.cut();
    channel.play(random.int(15_000, 25_000) / 1000);
    channel.clock.advance(missingMs);
    const frame = channel.frames;
    const resumedMs = channel.clock.wallMs();
    channel.title('B');
    channel.play(60);
    const { segments, titles } = readPlaylist(channel.window.playlist);
    const seams = segments.filter(({ isDiscontinuity }) => isDiscontinuity);
    t.equal(seams.length, 1, `${missingMs} ms`);
    const [first] = numbers(channel.window.segment(seams[0]!.name)!);
    // No segment is cut for it within the first second of one.
    t.ok(first! <= frame && frame - first! < 1000 / NUMBERED_MS, `${first} of ${frame}`);
    const seamMs = seams[0]!.dateMs + (frame - first!) * NUMBERED_MS;
    t.ok(Math.abs(seamMs - resumedMs) < 60, `${seamMs - resumedMs}`);
    t.ok(Math.abs(titles[0]!.startMs - resumedMs) < 60, `${titles[0]!.startMs - resumedMs}`);
    const dates = segments.map(({ dateMs }) => dateMs);
    t.strictSame(
      dates,
      [...dates].sort((a, b) => a - b),
    );
  }
});

t.test('what goes on where another cutter ended, on a machine that stood still: no discontinuity', async (t) => {
  for (const stallMs of [1500, 5000, 20_000]) {
    const channel = new HlsChannel({ window: 100, keep: 110 });
    const cutter = channel.cut();
    channel.play(21);
    cutter.stop();
    channel.clock.advance(stallMs / 2);
    channel.cut();
    stall(channel, stallMs / 2, Number.POSITIVE_INFINITY);
    for (let i = 0; i < stallMs / 2 / NUMBERED_MS; i++) channel.write(numberedFrame(channel.frames));
    channel.play(20);
    const { segments } = readPlaylist(channel.window.playlist);
    t.notOk(
      segments.some(({ isDiscontinuity }) => isDiscontinuity),
      `${stallMs} ms`,
    );
    const all = listed(channel.window).flatMap(numbers);
    t.strictSame(all, [...all.keys()]);
  }
});

t.test(
  'another sample rate and mono: a discontinuity; each segment has one format, and no number is left out',
  async (t) => {
    const channel = new HlsChannel({ window: 50, keep: 60 });
    channel.cut();
    channel.play(7);
    const mono = Buffer.from(numberedFrame(0));
    mono[3] = 0xc0;
    const slow = Buffer.alloc(384);
    Buffer.from([0xff, 0xfb, 0x94, 0x00]).copy(slow);
    for (const [frame, ms] of [
      [mono, NUMBERED_MS],
      [slow, 24],
    ] as const) {
      channel.audio.sourceChanged();
      for (let i = 0; i < 300; i++) {
        channel.clock.advance(ms);
        channel.write(frame, ms);
      }
    }
    channel.audio.sourceChanged();
    channel.play(8);
    const read = readPlaylist(channel.window.playlist);
    t.equal(read.segments.filter(({ isDiscontinuity }) => isDiscontinuity).length, 3);
    for (const segment of listed(channel.window)) {
      const { audio } = readPacked(segment.bytes);
      const formats = new Set<string>();
      for (let at = 0; at < audio.length; at += formats.has('94') ? 384 : 417) {
        formats.add(audio[at + 2]!.toString(16));
        t.equal(audio[at], 0xff);
      }
      t.equal(formats.size, 1);
    }
    const found = listed(channel.window).map(({ number }) => number);
    t.strictSame(
      found,
      Array.from({ length: found.length }, (_, i) => found[0]! + i),
    );
  },
);

t.test('what lasts less than a tenth of a second between two formats is no segment', async (t) => {
  const channel = new HlsChannel({ window: 50, keep: 60 });
  channel.cut();
  channel.play(5);
  for (let i = 0; i < 400; i++) {
    const frame = numberedFrame(i);
    if (i % 2 === 0) frame[3] = 0xc0;
    channel.clock.advance(NUMBERED_MS);
    channel.audio.sourceChanged();
    channel.write(frame);
  }
  channel.audio.sourceChanged();
  channel.play(9);
  const segments = listed(channel.window);
  t.ok(segments.length <= 6, `${segments.length}`);
  t.ok(segments.every(({ micros }) => micros > 1e5));
});

t.test('audio that came ahead of its time: what follows in another format is not stated before it', async (t) => {
  const channel = new HlsChannel({ window: 50, keep: 60 });
  channel.cut();
  for (let i = 0; i < 800; i++) channel.write(numberedFrame(i));
  channel.audio.sourceChanged();
  const mono = numberedFrame(0);
  mono[3] = 0xc0;
  for (let i = 0; i < 400; i++) {
    channel.clock.advance(NUMBERED_MS);
    channel.write(mono);
  }
  const { segments } = readPlaylist(channel.window.playlist);
  t.equal(segments.filter(({ isDiscontinuity }) => isDiscontinuity).length, 1);
  for (const [i, { dateMs, seconds }] of segments.slice(0, -1).entries()) {
    t.ok(segments[i + 1]!.dateMs >= dateMs + seconds * 1000 - 5, `${i}`);
  }
});

t.test('the first frames of a tape that begins in the middle of MP3 need nothing from before them', async (t) => {
  const channel = new HlsChannel({ burstMs: 5000, window: 50, keep: 60 });
  for (const frame of DEMO_FRAMES.slice(100, 900)) {
    channel.clock.advance(NUMBERED_MS);
    channel.write(frame);
  }
  channel.cut();
  const { frames } = framesIn(Buffer.concat(listed(channel.window).map(({ bytes }) => readPacked(bytes).audio)));
  const first = DEMO_FRAMES.findIndex((frame) => frame.equals(frames[10]!)) - 10;
  t.ok(first > 100);
  const changed = frames.flatMap((frame, i) => (frame.equals(DEMO_FRAMES[first + i]!) ? [] : [i]));
  t.ok(changed.length > 0 && changed.every((i) => i < 7), `${changed}`);
  // main_data_begin: a frame reaches back over no more than what came before it.
  t.equal((frames[0]![4]! << 1) | (frames[0]![5]! >> 7), 0);
});

t.test('another codec: the tape ends, segments of the other type follow', async (t) => {
  const random = new Random();
  t.comment(`seed ${random.seed}`);
  const channel = new HlsChannel({ window: 50, keep: 60 });
  channel.cut();
  channel.title('A');
  channel.play(9);
  channel.audio.sourceChanged();
  for (let i = 0; i < 500; i++) {
    channel.clock.advance(1024 / 44.1);
    channel.write(adtsFrame(random, random.int(200, 500), {}).frame, 1024 / 44.1);
  }
  const segments = listed(channel.window);
  t.strictSame(
    [segments.at(0)!.name.endsWith('.mp3'), segments.at(-1)!.name.endsWith('.aac')],
    [true, true],
    `${segments.map(({ name }) => name)}`,
  );
  t.equal(segments.at(-1)!.codecs, 'mp4a.40.2');
  t.equal(segments.filter(({ isDiscontinuity }) => isDiscontinuity).length, 1);
  t.equal(readPacked(segments.at(-1)!.bytes).tag['TIT2'], 'A', 'the title goes on');
  const titles = () => readPlaylist(channel.window.playlist).titles;
  t.strictSame(
    titles().map(({ title }) => title),
    ['A'],
  );
  const [{ startMs } = { startMs: 0 }] = titles();
  channel.title('A, corrected', 0, { id: 'id-A', effectAtMs: 1 });
  t.strictSame(
    titles().map(({ title }) => title),
    ['A, corrected'],
    'a correction behind the seam is one of the same title',
  );
  t.equal(titles()[0]!.startMs, startMs);
});

t.test('AAC of 4 MB/s and more: a segment has a bound in bytes', async (t) => {
  const random = new Random();
  const channel = new HlsChannel({ targetSeconds: 10, metaint: 65_535, bitrateKbps: 6000 });
  channel.cut();
  const { frame } = adtsFrame(random, 8000, {});
  // 96 kHz.
  frame[2] = 0x40 | (frame[2]! & 3);
  for (let i = 0; i < 3000; i++) {
    channel.clock.advance(1024 / 96);
    channel.write(frame, 1024 / 96);
  }
  const segments = listed(channel.window);
  t.ok(segments.length > 3);
  t.ok(segments.every(({ bytes }) => bytes.length <= 4 * 1024 * 1024 + 200));
});

t.test('8 kb/s, and frames of very different sizes', async (t) => {
  const random = new Random();
  t.comment(`seed ${random.seed}`);
  const channel = new HlsChannel({ window: 50, keep: 60, bitrateKbps: 8, metaint: 500 });
  channel.cut();
  const written: Buffer[] = [];
  for (let i = 0; i < 1500; i++) {
    const { frame } = adtsFrame(random, random.chance(0.1) ? random.int(1000, 7000) : random.int(1, 40), {});
    written.push(frame);
    channel.clock.advance(1024 / 44.1);
    channel.write(frame, 1024 / 44.1);
  }
  const audio = Buffer.concat(listed(channel.window).map(({ bytes }) => readPacked(bytes).audio));
  t.ok(Buffer.concat(written).subarray(0, audio.length).equals(audio));
  t.ok(audio.length > 100_000);
});

t.test('AAC as fragments: the same cuts, frames without their headers, titles as events', async (t) => {
  const random = new Random();
  t.comment(`seed ${random.seed}`);
  const channel = new HlsChannel({ window: 50, keep: 60, form: 'fmp4' });
  channel.cut();
  const blocks: Buffer[] = [];
  const write = (seconds: number) => {
    for (let i = 0; i < (seconds * 44_100) / 1024; i++) {
      const { frame, block } = adtsFrame(random, random.int(100, 700), { hasCrc: random.chance(0.3) });
      blocks.push(block);
      channel.clock.advance(1024 / 44.1);
      channel.write(frame, 1024 / 44.1);
    }
  };
  channel.title('A');
  write(10);
  const titled = blocks.length;
  channel.title('B');
  write(0.5);
  const within = blocks.length;
  channel.title('C');
  write(20);
  const segments = listed(channel.window);
  const read = segments.map(({ bytes }) => readFragment(bytes));
  const all = read.flatMap(({ frames }) => frames.map(({ bytes }) => bytes));
  t.ok(Buffer.concat(blocks.slice(0, all.length)).equals(Buffer.concat(all)));
  t.ok(read.every(({ frames }) => frames.every(({ samples }) => samples === 1024)));
  t.ok(segments.every(({ name, codecs }) => name.endsWith('.m4s') && codecs === 'mp4a.40.2'));
  const place = read.findIndex(({ frames }) => frames.some(({ bytes }) => bytes.equals(blocks[titled]!)));
  t.ok(read[place]!.frames[0]!.bytes.equals(blocks[titled]!), 'it begins with the title');
  t.strictSame(
    read[place]!.events.map(({ tag, at }) => [tag['TIT2'], Number(at - read[place]!.at)]),
    [
      ['B', 0],
      ['C', (within - titled) * 1024],
    ],
    'one within the first second has its place to the sample',
  );
  t.strictSame(
    read.at(-1)!.events.map(({ tag }) => tag['TIT2']),
    ['C'],
  );
  const init = readInit(segments[0]!.init!.bytes);
  t.strictSame([init.entry, init.channels, init.sampleRate], ['mp4a', 2, 44_100]);
});

t.test('AAC+ is called so, packed and as fragments', async (t) => {
  const random = new Random();
  for (const form of ['packed', 'fmp4'] as const) {
    const channel = new HlsChannel({ window: 50, keep: 60, form });
    channel.cut();
    for (let i = 0; i < 700; i++) {
      const body = new Bits().add(1, 3);
      for (let n = random.int(400, 900); n > 0; n--) body.add(random.int(0, 1), 1);
      // A fill element with SBR, and the end.
      body.add(6, 3).add(4, 4).add(0xd5, 8).add(1, 8).add(2, 8).add(3, 8).add(7, 3);
      const block = body.bytes();
      const header = adtsHeader({ rateIndex: 7, channels: 2, lengthBytes: 7 + block.length });
      channel.clock.advance(1024 / 22.05);
      channel.write(Buffer.concat([header, block]), 1024 / 22.05);
    }
    const segments = listed(channel.window);
    t.ok(segments.length >= 3 && segments.every(({ codecs }) => codecs === 'mp4a.40.5'));
    t.ok(segments.every(({ micros }) => Math.abs(micros / 1e6 - 4) < 0.1));
    t.match(channel.window.variant('x'), /CODECS="mp4a\.40\.5"/);
  }
});

t.test('another form by a reload: another list, numbers go on', async (t) => {
  const random = new Random();
  const channel = new HlsChannel({ window: 50, keep: 60, form: 'packed' });
  const cutter = channel.cut();
  const write = () => {
    for (let i = 0; i < 900; i++) {
      channel.clock.advance(1024 / 44.1);
      channel.write(adtsFrame(random, 300, {}).frame, 1024 / 44.1);
    }
  };
  write();
  for (const [form, extension] of [
    ['fmp4', '.m4s'],
    ['packed', '.aac'],
  ] as const) {
    const last = channel.window.lastNumber!;
    cutter.change({ segmentSeconds: 4, form });
    t.ok(channel.window.isEmpty);
    write();
    const { mediaSequence, segments } = readPlaylist(channel.window.playlist);
    t.ok(mediaSequence > last);
    t.ok(segments[0]!.isDiscontinuity);
    t.ok(segments.slice(1).every(({ isDiscontinuity }) => !isDiscontinuity));
    t.ok(segments.every(({ name }) => name.endsWith(extension)));
  }
});

t.test('the clock of the machine is set: an hour ahead is a discontinuity, back is none', async (t) => {
  const channel = new HlsChannel({ window: 50, keep: 60 });
  const cutter = channel.cut();
  channel.play(10);
  channel.clock.stepWall(3_600_000);
  channel.play(10);
  const ahead = readPlaylist(channel.window.playlist).segments;
  t.equal(ahead.filter(({ isDiscontinuity }) => isDiscontinuity).length, 1);
  channel.clock.stepWall(-3_600_000);
  channel.play(20);
  const { segments } = readPlaylist(channel.window.playlist);
  t.equal(segments.filter(({ isDiscontinuity }) => isDiscontinuity).length, 1);
  const dates = segments.map(({ dateMs }) => dateMs);
  t.strictSame(
    dates,
    [...dates].sort((a, b) => a - b),
    'never back',
  );
  const last = channel.window.lastNumber!;
  cutter.endList();
  channel.play(10);
  const next = readPlaylist(channel.window.playlist);
  t.ok(next.mediaSequence > last && next.segments[0]!.isDiscontinuity);
  const behindMs = channel.clock.wallMs() - next.segments[0]!.dateMs;
  t.ok(behindMs > 0 && behindMs < 12_000, `the next list is right again: ${behindMs} ms`);
});

t.test('another length by a reload: another list, numbers go on, nothing is longer than it says', async (t) => {
  for (const [from, to] of [
    [10, 2],
    [2, 10],
  ] as const) {
    const channel = new HlsChannel({ targetSeconds: from, window: 50, keep: 60 });
    const cutter = channel.cut();
    channel.play(29);
    const last = channel.window.lastNumber!;
    cutter.change({ segmentSeconds: to, form: 'auto' });
    t.ok(channel.window.isEmpty);
    channel.play(25);
    const { targetSeconds, segments, mediaSequence } = readPlaylist(channel.window.playlist);
    t.equal(targetSeconds, to);
    t.ok(mediaSequence > last);
    t.ok(segments[0]!.isDiscontinuity);
    t.ok(segments.every(({ seconds }) => Math.round(seconds) <= to));
  }
});
