/** Blocks for players that show a title when they read it: when and where they come, by a clock that the test moves. */

import type { Socket } from 'node:net';
import t from 'tap';
import { Mark } from '../../../src/audio/tape/mark.js';
import { Tape } from '../../../src/audio/tape/tape.js';
import { LateBlocks } from '../../../src/listener/cursor/late-blocks.js';
import { Listener } from '../../../src/listener/cursor/listener.js';
import { readAheadMs } from '../../../src/listener/player/reading-players.js';
import { FakeClock } from '../../kit/clock.js';
import { readBack } from '../../kit/icy.js';
import { viewOf } from '../../kit/record.js';

const METAINT = 4000;
const BLOCK_MS = 250;
const BYTES_PER_MS = METAINT / BLOCK_MS;
const TURN_MS = 1000;
const NOTHING = Buffer.alloc(0);

/** A player that notes what it is given, and when. */
class Reader {
  readonly listener: Listener;
  readonly startMs: number;
  isStuck = false;
  readonly #parts: { bytes: Buffer; atMs: number }[] = [];

  constructor(clock: FakeClock, tape: Tape, burstMs: number, aheadMs: number) {
    this.startMs = clock.now();
    const socket = {
      cork: () => {},
      uncork: () => {},
      write: (bytes: Buffer) => void this.#parts.push({ bytes, atMs: clock.now() }),
    };
    Object.defineProperty(socket, 'writableLength', { get: () => (this.isStuck ? 1 : 0) });
    const cursor = tape.joinAt(burstMs);
    this.listener = new Listener(socket as unknown as Socket, tape, {
      channel: 'demo',
      cursor,
      icy: true,
      session: null,
      nowMs: clock.now(),
    });
    if (aheadMs > 0) {
      const onDue = (nowMs: number) => void this.listener.advance(nowMs);
      this.listener.placeBlocks(new LateBlocks(aheadMs, METAINT, this.listener.playback.player, clock, onDue));
    }
    this.listener.start(NOTHING, clock.now());
  }

  get audio(): Buffer {
    return readBack(Buffer.concat(this.#parts.map(({ bytes }) => bytes)), METAINT).audio;
  }

  /** Each title, the position of its block, and when that was written since the start. */
  get titles(): { title: string; positionMs: number; atMs: number }[] {
    const whole: Buffer[] = [];
    let known = 0;
    return this.#parts.flatMap(({ bytes, atMs }) => {
      whole.push(bytes);
      const { titles } = readBack(Buffer.concat(whole), METAINT);
      const fresh = titles.slice(known);
      known = titles.length;
      return fresh.map(({ title, byte }) => ({
        title,
        positionMs: byte / BYTES_PER_MS,
        atMs: atMs - this.startMs,
      }));
    });
  }

  title(name: string): { positionMs: number; atMs: number } {
    return this.titles.find(({ title }) => title === name) ?? { positionMs: Number.NaN, atMs: Number.NaN };
  }
}

class Story {
  readonly clock = new FakeClock();
  readonly tape = new Tape(METAINT, 4, 60_000, new Mark(viewOf('first')));
  readonly readers: Reader[] = [];
  #frames = 0;

  /** Audio comes in real time, and everybody is written to once a second. */
  pass(ms: number): void {
    for (let at = 0; at < ms; at += 50) {
      this.clock.advance(50);
      this.tape.write(Buffer.alloc(50 * BYTES_PER_MS, ++this.#frames), 50);
      if (this.clock.now() % TURN_MS === 300)
        for (const { listener } of this.readers) listener.advance(this.clock.now());
    }
  }

  join(burstMs: number, aheadMs: number): Reader {
    const reader = new Reader(this.clock, this.tape, burstMs, aheadMs);
    this.readers.push(reader);
    return reader;
  }

  push(song: string, atMs = this.tape.endMs): void {
    this.tape.put(new Mark(viewOf(song)), atMs);
  }
}

/** A player that shows titles when it plays them, and others beside it. */
function story(burstMs: number, aheads: readonly number[]) {
  const one = new Story();
  one.pass(20_000);
  const plain = one.join(burstMs, 0);
  const late = aheads.map((ahead) => one.join(burstMs, ahead));
  return { one, plain, late };
}

t.test('a player that reads all is given a title when it plays its place', async (t) => {
  const { one, plain, late } = story(5000, [Number.POSITIVE_INFINITY]);
  for (const [i, waitMs] of [3000, 7250, 11_400, 6950, 8050].entries()) {
    one.pass(waitMs);
    one.push(`title ${i}`);
  }
  one.pass(9000);
  const [reader] = late as [Reader];
  t.same(reader.titles[0], { title: 'first', positionMs: BLOCK_MS, atMs: 0 }, 'the one in force comes at once');
  for (let i = 0; i < 5; i++) {
    // The plain block stands at the next boundary behind the place.
    const { positionMs } = plain.title(`title ${i}`);
    const { atMs } = reader.title(`title ${i}`);
    t.ok(atMs >= positionMs - BLOCK_MS - 1 && atMs <= positionMs + 50, `title ${i}: ${atMs} of ${positionMs} ms`);
  }
  t.equal(reader.titles.length, 6);
  const length = Math.min(reader.audio.length, plain.audio.length);
  t.ok(reader.audio.subarray(0, length).equals(plain.audio.subarray(0, length)), 'the audio is the same');
  t.ok(plain.audio.length - reader.audio.length <= 4 * METAINT, 'and a segment behind at most');
});

t.test('a player that reads some audio ahead has the block so much later in its audio', async (t) => {
  const { one, plain, late } = story(5000, [1100, 300]);
  for (const i of [0, 1, 2]) {
    one.pass(7150);
    one.push(`title ${i}`);
  }
  one.pass(9000);
  for (const [r, aheadMs] of [1100, 300].entries()) {
    for (const i of [0, 1, 2]) {
      const later = late[r]!.title(`title ${i}`).positionMs - plain.title(`title ${i}`).positionMs;
      t.ok(later >= aheadMs - 1.5 * BLOCK_MS && later <= aheadMs + BLOCK_MS / 2, `${later} of ${aheadMs} ms`);
    }
  }
});

t.test('without a burst it comes with the nearest write', async (t) => {
  const { one, plain, late } = story(0, [Number.POSITIVE_INFINITY]);
  for (const i of [0, 1, 2, 3]) {
    one.pass(6350);
    one.push(`title ${i}`);
  }
  one.pass(4000);
  for (const i of [0, 1, 2, 3]) {
    const off = late[0]!.title(`title ${i}`).atMs - plain.title(`title ${i}`).positionMs;
    t.ok(Math.abs(off) <= TURN_MS, `${off} ms`);
  }
});

t.test('titles of the burst, several at a time, and a correction', async (t) => {
  const one = new Story();
  one.pass(20_000);
  one.push('in the burst');
  one.pass(2500);
  const reader = one.join(5000, Number.POSITIVE_INFINITY);
  const placeMs = reader.startMs + 20_000 - one.tape.at(reader.listener.firstSeq)!.entryMs;
  one.pass(1000);
  t.same(
    reader.titles.map(({ title }) => title),
    ['first'],
  );
  one.pass(3000);
  const dueMs = placeMs - reader.startMs;
  t.ok(Math.abs(reader.title('in the burst').atMs - dueMs) <= 100, `${reader.title('in the burst').atMs} of ${dueMs}`);

  const atMs = one.tape.endMs;
  one.push('wrong');
  one.push('right', atMs);
  one.pass(300);
  one.push('soon after');
  one.pass(9000);
  t.same(
    reader.titles.map(({ title }) => title),
    ['first', 'in the burst', 'right', 'soon after'],
  );
});

t.test('a title in the segment with which it joins', async (t) => {
  let inFirst = 0;
  for (let agoMs = 4500; agoMs <= 6500; agoMs += 100) {
    const one = new Story();
    one.pass(20_000);
    const placeMs = one.tape.endMs;
    one.push('title');
    one.pass(agoMs);
    const reader = one.join(5000, Number.POSITIVE_INFINITY);
    const { entryMs, marks } = one.tape.at(reader.listener.firstSeq)!;
    one.pass(5000);
    const names = reader.titles.map(({ title }) => title);
    if (placeMs <= entryMs) t.same(names, ['title'], 'it is in force there');
    else {
      const { atMs } = reader.title('title');
      t.same(names, ['first', 'title']);
      t.ok(Math.abs(atMs - (placeMs - entryMs)) <= 550, `${atMs} of ${placeMs - entryMs} ms`);
    }
    if (placeMs > entryMs && marks.length > 0) inFirst++;
  }
  t.ok(inFirst > 0, `${inFirst} in the first segment, behind its beginning`);
});

t.test('a title just behind the segment with which it joins, whose last block says it to others', async (t) => {
  const one = new Story();
  one.pass(19_900);
  const placeMs = 20_050;
  one.tape.put(new Mark(viewOf('title')), placeMs, (placeMs - one.tape.endMs) * BYTES_PER_MS);
  one.pass(4500);
  const reader = one.join(5000, Number.POSITIVE_INFINITY);
  const { entryMs, endMs } = one.tape.at(reader.listener.firstSeq)!;
  t.equal(endMs, 20_000);
  one.pass(5000);
  t.same(
    reader.titles.map(({ title }) => title),
    ['first', 'title'],
  );
  const { atMs } = reader.title('title');
  t.ok(Math.abs(atMs - (placeMs - entryMs)) <= 550, `${atMs} of ${placeMs - entryMs} ms`);
});

t.test('the title of a player that stands still waits for it', async (t) => {
  const { one, plain, late } = story(5000, [Number.POSITIVE_INFINITY]);
  const [reader] = late as [Reader];
  one.pass(3000);
  reader.isStuck = true;
  one.push('title');
  one.pass(10_000);
  reader.isStuck = false;
  one.pass(10_000);
  const { positionMs } = plain.title('title');
  const stoodMs = reader.title('title').atMs - positionMs;
  t.ok(stoodMs > 3000 && stoodMs < 6000, `it had 5 to 6 s, and nothing new for 10 s: ${stoodMs}`);
});

t.test('which players: the longest text that the user agent holds counts', async (t) => {
  const players = { 'LibVLC/': 'all', 'Lavf/': 1.1, 'Lavf/60': 0, 'my radio': 3, MPlayer: 'all' } as const;
  const aheads = [
    'VLC/3.0.24 LibVLC/3.0.24',
    'Lavf/59.27.100',
    'Lavf/60.1.1',
    'My Radio/1 LIBVLC/3',
    'libmpv',
    'SMPlayer 1',
    '',
  ];
  t.same(
    aheads.map((agent) => readAheadMs(players, agent)),
    [Number.POSITIVE_INFINITY, 1100, 0, 3000, 0, 0, 0],
  );
});
