/**
 * The looping file against a real clock (pace, catching up), and against a false one where only order matters (losses, retries).
 * The bytes must be the file's frames, round after round, without the tag and the Info frame that ffmpeg writes in front.
 */

import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { deserialize, serialize } from 'node:v8';
import t from 'tap';
import { framerFor } from '../../../src/audio/frames/format.js';
import type { Frame } from '../../../src/audio/frames/frame.js';
import { KNOWN_AFTER_MS } from '../../../src/audio/tape/metaint-choice.js';
import { SystemClock } from '../../../src/base/clock.js';
import { FileSource } from '../../../src/source/files/file.js';
import type { SourceInput } from '../../../src/source/source.js';
import { FakeClock } from '../../kit/clock.js';
import { LoopDelay } from '../../kit/loop-delay.js';
import { quietFor } from '../../kit/pause.js';
import { DEMO_AUDIO } from '../../kit/server.js';
import { patient, until } from '../../kit/until.js';

// They wait more than they compute.
t.jobs = 4;

const folder = t.testdir();
const make = (name: string, seconds: number, ...options: string[]) => {
  const path = join(folder, name);
  const sine = ['-f', 'lavfi', '-i', `aevalsrc=0.4*sin(900*t)+0.1*random(0):d=${seconds}`];
  execFileSync('ffmpeg', ['-v', 'error', '-y', ...sine, '-metadata', 'title=x', ...options, path]);
  return path;
};
const mp3 = make('song.mp3', 1.1, '-ar', '44100', '-b:a', '128k');
const aac = make('song.aac', 0.7, '-ar', '48000', '-b:a', '64k');
// its last frame is cut: nothing of it may run into the next round
writeFileSync(mp3, readFileSync(mp3).subarray(0, -100));
const opus = make('song.ogg', 1.1, '-c:a', 'libopus', '-page_duration', '200000');
const slow = make('slow.mp3', 1.4, '-ar', '44100', '-b:a', '32k');

/** All frames of one round and their duration. */
function round(path: string): { bytes: Buffer; durationMs: number } {
  const parts: Buffer[] = [];
  let durationMs = 0;
  const framer = framerFor({
    onFrame({ bytes, durationMs: ms }) {
      parts.push(Buffer.from(bytes));
      durationMs += ms;
    },
  });
  framer.push(readFileSync(path));
  return { bytes: Buffer.concat(parts), durationMs };
}

class Tap implements SourceInput {
  readonly dueMs = Number.NEGATIVE_INFINITY;
  /** Of the channel. */
  aheadMs = 0;
  readonly parts: Buffer[] = [];
  readonly losses: string[] = [];
  audioMs = 0;
  bitrateKbps = 0;
  /** Extremes of audio passed on minus time gone, looked at on every call. */
  maxAheadMs = 0;
  firstMs = 0;
  onFrames: () => void = () => undefined;
  onLosses: () => void = () => undefined;

  onFrame({ bytes, durationMs, bitrateKbps }: Frame): number {
    if (this.parts.length === 0) this.firstMs = performance.now();
    this.parts.push(Buffer.from(bytes));
    this.audioMs += durationMs;
    this.bitrateKbps = bitrateKbps;
    this.maxAheadMs = Math.max(this.maxAheadMs, this.leadMs);
    this.onFrames();
    return 0;
  }
  onTitle(): Promise<void> {
    return Promise.reject(new Error('a file has no titles'));
  }
  onLost(reason: string): void {
    this.losses.push(reason);
    this.onLosses();
  }
  get bytes(): Buffer {
    return Buffer.concat(this.parts);
  }
  get leadMs(): number {
    return this.audioMs - (performance.now() - this.firstMs);
  }
}

/** Whether `got` is the file's frames, over and over. */
function isLoopOf(got: Buffer, once: Buffer): boolean {
  const times = Math.ceil(got.length / once.length);
  return Buffer.concat(Array.from({ length: times }, () => once))
    .subarray(0, got.length)
    .equals(got);
}

const openFiles = (path: string) =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(path);
    } catch {
      return false;
    }
  }).length;

t.test('plays for ever at its own bitrate, and catches up after a hiccup', async (t) => {
  const clock = new SystemClock();
  t.teardown(() => clock.stop());
  const taps = new Map([mp3, aac, slow, opus].map((path) => [path, new Tap()]));
  const sources = [...taps].map(([path, tap]) => new FileSource(tap, clock, path));
  t.strictSame(
    sources.map((source) => [source.kind, source.state, source.contentType]),
    Array(4).fill(['file', 'idle', undefined]),
  );
  for (const source of sources) {
    source.start();
    source.start();
  }
  await until(
    () => [...taps.values()].every((tap) => tap.audioMs > 300),
    2000,
    () => 'the first pieces come at once',
  );
  t.strictSame(
    sources.map((source) => [source.state, source.contentType]),
    [
      ['up', 'audio/mpeg'],
      ['up', 'audio/aac'],
      ['up', 'audio/mpeg'],
      ['up', 'audio/ogg'],
    ],
  );
  const late = new LoopDelay(t);
  for (let i = 0; i < 10; i++) {
    await quietFor(100);
    for (const [path, tap] of taps) t.ok(tap.leadMs > -100 - late.totalMs, `${path} is ${tap.leadMs} ms ahead`);
  }
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1300);
  for (const tap of taps.values()) t.ok(tap.leadMs < -500, 'the process stood still');
  await until(
    () => [...taps.values()].every((tap) => tap.leadMs > -100),
    2000,
    () => 'catching up',
  );
  await quietFor(300);
  for (const source of sources) source.stop();
  for (const [path, tap] of taps) {
    const once = round(path);
    t.ok(isLoopOf(tap.bytes, once.bytes), `${path}: frames only, round after round`);
    t.ok(tap.audioMs > once.durationMs * 1.5, `${path}: more than one round`);
    t.ok(tap.maxAheadMs < 600, `${path}: at most ${tap.maxAheadMs} ms ahead`);
    t.strictSame(tap.losses, []);
  }
  const [fast, middle, low] = [...taps.values()].map((tap) => tap.bitrateKbps);
  t.strictSame([fast, low], [128, 32]);
  t.ok(middle! > 40 && middle! < 90, `AAC: ${middle} kb/s`);
  const passed = [...taps.values()].map((tap) => tap.audioMs);
  // Longer than a pause between two pieces.
  await quietFor(300);
  t.strictSame(
    [...taps.values()].map((tap) => tap.audioMs),
    passed,
    'nothing after stop',
  );
  await until(
    () => [...taps.keys()].every((path) => openFiles(path) === 0),
    2000,
    () => 'no file stays open',
  );
  t.strictSame(
    sources.map((source) => source.state),
    Array(4).fill('idle'),
  );
});

t.test('losses are reported and tried again every 5 s', async (t) => {
  const path = join(folder, 'later.mp3');
  const clock = new FakeClock();
  const tap = new Tap();
  const source = new FileSource(tap, clock, path);
  t.teardown(() => source.stop());
  source.start();
  await until(
    () => tap.losses.length === 1,
    2000,
    () => 'the loss of a missing file',
  );
  t.match(tap.losses[0], /ENOENT.*later\.mp3/);
  t.equal(source.state, 'starting');

  mkdirSync(path);
  clock.advance(4900);
  await quietFor(30);
  t.equal(tap.losses.length, 1, 'not before 5 s');
  clock.advance(120);
  await until(
    () => tap.losses.length === 2,
    2000,
    () => 'the loss of a folder',
  );
  t.match(tap.losses[1], /is not a file/);

  rmSync(path, { recursive: true });
  writeFileSync(path, 'no audio at all '.repeat(2000));
  clock.advance(5020);
  await until(
    () => tap.losses.length === 3,
    2000,
    () => 'the loss of a text',
  );
  t.match(tap.losses[2], /no MP3, AAC or Ogg audio/);

  writeFileSync(path, Buffer.alloc(3_000_000, 'garbage'));
  clock.advance(5020);
  await until(
    () => tap.losses.length === 4,
    2000,
    () => 'the loss of a large file',
  );
  t.match(tap.losses[3], /is not MP3, AAC or Ogg/);

  writeFileSync(path, '');
  clock.advance(5020);
  await until(
    () => tap.losses.length === 5,
    2000,
    () => 'the loss of an empty file',
  );
  t.equal(tap.parts.length, 0);

  // there at last; and replaced while it plays: the other is heard from its beginning
  copyFileSync(mp3, path);
  clock.advance(5020);
  await until(
    () => tap.audioMs >= 400,
    2000,
    () => 'audio',
  );
  t.equal(source.state, 'up');
  rmSync(path);
  copyFileSync(aac, path);
  const first = round(mp3);
  await until(
    () => {
      clock.advance(100);
      return tap.audioMs > first.durationMs + 500;
    },
    2000,
    () => 'the second file',
  );
  t.ok(tap.bytes.subarray(0, first.bytes.length).equals(first.bytes));
  t.ok(isLoopOf(tap.bytes.subarray(first.bytes.length), round(aac).bytes));
  t.equal(source.contentType, 'audio/aac');

  rmSync(path);
  await until(
    () => {
      clock.advance(100);
      return tap.losses.length === 6;
    },
    2000,
    () => 'the loss of a file that played',
  );
  t.equal(source.state, 'starting');
  source.stop();
  clock.advance(20_000);
  await quietFor(30);
  t.equal(tap.losses.length, 6, 'nothing after stop');
  await until(
    () => openFiles(path) === 0,
    2000,
    () => 'files closed',
  );
});

t.test('stopped by its input', async (t) => {
  const clock = new FakeClock();
  const tap = new Tap();
  // a tag behind each frame, so that the framer makes several calls for one piece
  const path = join(folder, 'tagged.mp3');
  const frame = round(slow).bytes.subarray(0, 104);
  const tag = Buffer.from('ID3\x04\0\0\0\0\0\0', 'latin1');
  writeFileSync(path, Buffer.concat([frame, ...Array.from({ length: 200 }, () => [frame, tag]).flat()]));
  const source = new FileSource(tap, clock, path);
  tap.onFrames = () => {
    if (tap.parts.length === 2) source.stop();
  };
  source.start();
  await until(
    () => source.state === 'idle',
    2000,
    () => 'stop',
  );
  clock.advance(3000);
  await quietFor(30);
  t.equal(tap.parts.length, 2);
  await until(
    () => openFiles(path) === 0,
    2000,
    () => 'files closed',
  );
  t.strictSame(tap.losses, []);
});

t.test('stopped and started in one breath, wherever it is: one player remains', async (t) => {
  const clock = new FakeClock();
  const tap = new Tap();
  // six seconds, two reads: what another player would pass on of one piece is seconds
  const path = join(folder, 'long.mp3');
  const once = round(slow);
  writeFileSync(path, Buffer.concat(Array(5).fill(once.bytes)));
  const other = new FileSource(new Tap(), clock, path);
  const source = new FileSource(tap, clock, path);
  t.teardown(() => source.stop());
  const restart = (times: number) => {
    for (let i = 0; i < times; i++) {
      source.stop();
      source.start();
      other.start();
      other.stop();
    }
    tap.parts.length = 0;
    tap.audioMs = 0;
  };
  const turns = async (count: number) => {
    for (let i = 0; i < count; i++) await setImmediate();
  };
  const playTo = async (audioMs: number) => {
    const sinceMs = performance.now();
    while (tap.audioMs < audioMs) {
      if (performance.now() - sinceMs > patient(5000)) throw new Error(`${tap.audioMs} of ${audioMs} ms`);
      clock.advance(40);
      await setImmediate();
    }
  };
  /** What was passed on since `restart` is what one player passes on; `stop` ends it. */
  const isAlone = async (where: string) => {
    await until(
      () => tap.audioMs >= 400,
      2000,
      () => `${where}: ${tap.audioMs} ms of audio, ${tap.losses}`,
    );
    // Files that a player before has still to close.
    await until(
      () => openFiles(path) === 1,
      2000,
      () => `${where}: ${openFiles(path)} files are open`,
    );
    // It goes on when 150 ms are left, and another one would, too; all that they could pass on without another read comes at once.
    clock.advance(300);
    await until(
      () => tap.audioMs >= 700,
      2000,
      () => `${where}: ${tap.audioMs} ms of audio after a pause`,
    );
    await turns(20);
    const wrong = tap.audioMs > 780 || !isLoopOf(tap.bytes, once.bytes);
    if (wrong) t.fail(`${where}: ${tap.audioMs} ms were passed on`);
    source.stop();
    const passedMs = tap.audioMs;
    await until(
      () => openFiles(path) === 0,
      2000,
      () => `${where}: a file stays open`,
    );
    clock.advance(2000);
    await turns(5);
    if (tap.audioMs !== passedMs) t.fail(`${where}: ${tap.audioMs - passedMs} ms were passed on after stop`);
  };

  // stat, open and read take a few turns of the event loop each
  for (const times of [1, 5])
    for (let count = 0; count < 25; count++) {
      source.start();
      await turns(count);
      restart(times);
      await isAlone(`${count} turns after start, ${times} times`);
    }
  // the file is open, and nothing was passed on: it is being read
  for (let i = 0; i < 25; i++) {
    tap.parts.length = 0;
    source.start();
    while (openFiles(path) === 0 && tap.parts.length === 0) await setImmediate();
    restart(1);
    await isAlone('while it is opened or read');
  }
  // a pause behind the first frames, then in the next pieces; the end of the file is near after 6 s
  for (let playedMs = 0; playedMs < 9000; playedMs += 900) {
    restart(1);
    await playTo(playedMs + 400);
    restart(2);
    await isAlone(`after ${playedMs} ms`);
  }
  // the next read, the close behind the last one and what follows it
  for (const endMs of [4000, 7000])
    for (let count = 0; count < 25; count++) {
      restart(1);
      await playTo(endMs - 500);
      clock.advance(1000);
      await turns(count);
      restart(2);
      await isAlone(`${count} turns about ${endMs} ms`);
    }
  // by its own input, in the middle of a piece
  for (const nth of [1, 2, 10]) {
    restart(1);
    let left = nth;
    tap.onFrames = () => {
      if (--left === 0) restart(1);
    };
    await isAlone(`by its input, at frame ${nth}`);
    tap.onFrames = () => undefined;
  }
  t.strictSame(tap.losses, []);
  // when the file is lost, in the call that says so and in the pause behind it
  const away = `${path}.away`;
  renameSync(path, away);
  tap.onLosses = () => {
    renameSync(away, path);
    tap.onLosses = () => undefined;
    restart(1);
  };
  restart(1);
  await isAlone('when it is lost');
  renameSync(path, away);
  restart(1);
  await until(
    () => tap.losses.length === 2,
    2000,
    () => 'the second loss',
  );
  renameSync(away, path);
  restart(3);
  await isAlone('in the pause behind a loss');
  clock.advance(6000);
  await quietFor(30);
  t.equal(tap.losses.length, 2);
});

t.test('a process that stood still for long does not play it all', async (t) => {
  const clock = new FakeClock();
  const tap = new Tap();
  const source = new FileSource(tap, clock, mp3);
  t.teardown(() => source.stop());
  source.start();
  await until(
    () => tap.audioMs >= 400,
    2000,
    () => 'audio',
  );
  clock.advance(3_600_000);
  await until(
    () => tap.audioMs >= 800,
    2000,
    () => 'more audio',
  );
  await quietFor(50);
  // Twice what may be ahead.
  t.ok(tap.audioMs < 1200, `${tap.audioMs} ms`);
});

t.test(
  'what a gap has taken from listeners comes at once; a channel that is ahead gets no more than before',
  async (t) => {
    const clock = new FakeClock();
    for (const [aheadMs, minMs, maxMs] of [
      [-3000, 3000, 3500],
      [0, 150, 500],
      [8000, 150, 500],
    ] as const) {
      const tap = new Tap();
      tap.aheadMs = aheadMs;
      const source = new FileSource(tap, clock, DEMO_AUDIO);
      source.start();
      await until(() => tap.audioMs >= minMs, 5000);
      await quietFor(50);
      source.stop();
      t.ok(tap.audioMs < maxMs, `${aheadMs}: ${tap.audioMs} ms`);
    }
  },
);

t.test('plays a tenth faster while the delay line of its channel has room', async (t) => {
  const clock = new SystemClock();
  t.teardown(() => clock.stop());
  const tap = new Tap();
  let roomMs = 5000;
  const source = new FileSource(tap, clock, DEMO_AUDIO, () => roomMs);
  source.start();
  await until(
    () => tap.leadMs > 1000,
    20_000,
    () => `${tap.leadMs} ms ahead`,
  );
  t.ok(tap.audioMs > 5000, `not at once: ${tap.audioMs} ms of audio`);
  // Its own pieces leave as much.
  roomMs = 400;
  const maxMs = tap.maxAheadMs;
  await quietFor(1500);
  source.stop();
  t.ok(tap.maxAheadMs < maxMs + 300, `${maxMs}, then ${tap.maxAheadMs}`);
});

/** Hands on, from one source to the next, what is plain data between processes. */
const handOver = (from: FileSource, to: FileSource) => {
  const place = from.position;
  from.stop();
  if (place !== null) to.adopt(deserialize(serialize(place)));
  to.start();
  return place !== null;
};

t.test('another process goes on where it was, after every piece and at once', async (t) => {
  for (const path of [mp3, aac, slow, opus]) {
    const clock = new FakeClock();
    const tap = new Tap();
    const once = round(path);
    let handed = 0;
    let source = new FileSource(tap, clock, path);
    t.teardown(() => source.stop());
    source.start();
    // Each wait of the player, and what is under way when it has just been woken.
    for (let step = 0; tap.audioMs < 3 * once.durationMs; step++) {
      const { audioMs } = tap;
      await until(
        () => tap.audioMs > audioMs,
        2000,
        () => `${path}: ${tap.losses}`,
      );
      const next = new FileSource(tap, clock, path);
      if (handOver(source, next)) handed++;
      source = next;
      // Whatever happens first: a step of the clock, or one of the file.
      if (step % 3 > 0) await setImmediate();
      clock.advance(260);
    }
    source.stop();
    t.ok(handed > 5, `${handed} times`);
    t.ok(isLoopOf(tap.bytes, once.bytes), `${path}: each frame once`);
    t.strictSame(tap.losses, []);
  }
});

t.test('another file in its place, in whatever format, is played from the next round on', async (t) => {
  const path = join(folder, 'formats.mp3');
  copyFileSync(mp3, path);
  const clock = new FakeClock();
  const tap = new Tap();
  const source = new FileSource(tap, clock, path);
  t.teardown(() => source.stop());
  source.start();
  await until(() => tap.audioMs >= 400, 2000);
  for (const [next, type] of [
    [opus, 'audio/ogg'],
    [aac, 'audio/aac'],
    [opus, 'audio/ogg'],
    [mp3, 'audio/mpeg'],
  ] as const) {
    rmSync(path);
    copyFileSync(next, path);
    await until(
      () => {
        clock.advance(100);
        return source.contentType === type;
      },
      2000,
      () => `${tap.losses}`,
    );
  }
  t.strictSame(tap.losses, []);
});

t.test('another file in its place, handed over, is played from its beginning', async (t) => {
  const path = join(folder, 'replaced.mp3');
  copyFileSync(mp3, path);
  const clock = new FakeClock();
  const before = new Tap();
  const source = new FileSource(before, clock, path);
  t.teardown(() => source.stop());
  t.equal(source.position, null, 'nothing is played yet');
  source.start();
  t.equal(source.position, null, 'no frame has come yet');
  await until(() => before.audioMs >= 400, 2000);
  rmSync(path);
  copyFileSync(slow, path);
  const after = new Tap();
  const next = new FileSource(after, clock, path);
  t.teardown(() => next.stop());
  t.ok(handOver(source, next));
  await until(() => after.audioMs > 0, 2000);
  t.ok(isLoopOf(after.bytes, round(slow).bytes));
});

t.test('handed over, it keeps its pace', async (t) => {
  const clock = new FakeClock();
  const [before, after] = [new Tap(), new Tap()];
  const source = new FileSource(before, clock, slow);
  source.start();
  await until(() => before.audioMs >= 400, 2000);
  const next = new FileSource(after, clock, slow);
  t.teardown(() => next.stop());
  const { position: place } = source;
  source.stop();
  // A new process needs some time to start.
  clock.advance(700);
  next.adopt(place!);
  next.start();
  await until(() => before.audioMs + after.audioMs >= 1100, 2000);
  await quietFor(50);
  t.ok(before.audioMs + after.audioMs < 1200, `${after.audioMs} ms: what was missed, and what is to be ahead`);
});

t.test(
  'at rest nothing is passed on; then it goes on behind that, with what listeners begin with at once',
  async (t) => {
    const clock = new FakeClock();
    const [tap, oggTap] = [new Tap(), new Tap()];
    const [source, ogg] = [new FileSource(tap, clock, mp3), new FileSource(oggTap, clock, opus)];
    t.teardown(() => {
      for (const each of [source, ogg]) each.stop();
    });
    t.notOk(source.rest(), 'it does not run');
    source.wake();
    for (const each of [source, ogg]) each.start();
    t.notOk(source.rest(), 'it has no audio yet');
    await until(() => tap.audioMs >= 400 && oggTap.audioMs >= 400, 2000);
    await quietFor(30);
    t.ok(source.rest());
    t.notOk(ogg.rest(), 'titles stand in Ogg: they go on');
    await until(() => tap.audioMs >= KNOWN_AFTER_MS, 2000);
    await quietFor(30);
    const restedMs = tap.audioMs;
    t.ok(restedMs < KNOWN_AFTER_MS + 200, `${restedMs} ms: its bitrate is known`);
    for (let i = 0; i < 100; i++) clock.advance(1000);
    await until(() => oggTap.audioMs > 500, 2000);
    t.equal(tap.audioMs, restedMs);
    t.equal(source.state, 'up');
    t.equal(source.position?.aheadMs, 0, 'another process has nothing to make up for');
    tap.aheadMs = -5000;
    source.wake();
    source.wake();
    await until(() => tap.audioMs - restedMs >= 5400, 2000);
    await quietFor(30);
    t.ok(tap.audioMs - restedMs < 5480, `${tap.audioMs - restedMs} ms at once`);
    for (let i = 0; i < 20; i++) {
      clock.advance(100);
      await setImmediate();
    }
    await until(() => tap.audioMs - restedMs > 7000, 2000);
    t.ok(isLoopOf(tap.bytes, round(mp3).bytes), 'nothing is left out, nothing comes twice');
    source.stop();
    source.start();
    await until(() => tap.audioMs - restedMs > 7400, 2000);
    t.strictSame(tap.losses, []);
  },
);

t.test(
  'at rest from its first frame on it passes on at once what shows its bitrate, unless it is woken or lost',
  async (t) => {
    const clock = new FakeClock();
    const path = join(folder, 'resting.mp3');
    copyFileSync(slow, path);
    /** @param onNth at that frame, behind a rest at the first one */
    const begin = (nth: number, onNth: (source: FileSource, tap: Tap) => void) => {
      const tap = new Tap();
      const source = new FileSource(tap, clock, path);
      t.teardown(() => source.stop());
      tap.onFrames = () => {
        if (tap.parts.length === 1) t.ok(source.rest());
        if (tap.parts.length === nth) onNth(source, tap);
      };
      source.start();
      return { tap, source };
    };
    const { tap, source } = begin(0, () => undefined);
    await until(() => tap.audioMs >= KNOWN_AFTER_MS, 2000);
    await quietFor(30);
    const { audioMs } = tap;
    t.ok(audioMs < KNOWN_AFTER_MS + 200, `${audioMs} ms`);
    t.ok(source.isResting);
    clock.advance(10_000);
    await quietFor(30);
    t.equal(tap.audioMs, audioMs, 'then nothing');
    tap.aheadMs = -15_000;
    source.wake();
    // Its first read takes as long.
    clock.advance(500);
    await until(() => tap.audioMs - audioMs >= 15_900, 2000);
    await quietFor(30);
    t.ok(tap.audioMs - audioMs < 16_000, `${tap.audioMs - audioMs} ms at once`);
    clock.advance(3_600_000);
    await until(() => tap.audioMs - audioMs > 16_300, 2000);
    await quietFor(30);
    t.ok(tap.audioMs - audioMs < 17_000, 'nothing makes good an hour in which the process stood still');
    t.ok(isLoopOf(tap.bytes, round(slow).bytes));

    const woken = begin(10, (source, tap) => {
      tap.aheadMs = -5000;
      source.wake();
    });
    await until(() => woken.tap.audioMs >= 5400, 2000);
    await quietFor(30);
    t.ok(woken.tap.audioMs < 5800, `${woken.tap.audioMs} ms`);
    t.ok(isLoopOf(woken.tap.bytes, round(slow).bytes));

    const lost = begin(2, () => rmSync(path));
    await until(() => lost.tap.losses.length === 1, 2000);
    t.strictSame([lost.source.isResting, lost.source.state], [false, 'starting'], 'before its next round');
    t.strictSame([tap.losses, woken.tap.losses], [[], []]);
  },
);
