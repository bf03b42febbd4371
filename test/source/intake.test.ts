/**
 * One connection's bytes on their way to frames, against a false clock: an owner with random slices, waits and titles. The model is the
 * list of what went in: it must all come out, in order, never while it is held, and the end last.
 */

import t from 'tap';
import type { Frame } from '../../src/audio/frames/frame.js';
import { FIRST, PageWriter } from '../../src/audio/ogg/ogg-page.js';
import type { PieceSink, StreamBody } from '../../src/source/body.js';
import { Intake, type IntakeOwner, type IntakeSink } from '../../src/source/intake.js';
import { foreignSentence } from '../../src/source/magic.js';
import { SLICE_BYTES } from '../../src/source/pacer.js';
import type { SourceTitle } from '../../src/source/source.js';
import { FakeClock } from '../kit/clock.js';
import { opusLink } from '../kit/made-ogg.js';
import { Random } from '../kit/random.js';
import { audioOf } from '../kit/upstream.js';

class Owner implements IntakeOwner, IntakeSink, StreamBody {
  readonly state = 'more';
  readonly clock = new FakeClock();
  readonly intake: Intake;
  readonly frames: Buffer[] = [];
  readonly pauses: (number | null)[] = [];
  readonly titles: SourceTitle[] = [];
  readonly events: string[] = [];
  /** What comes: audio, or a title. A byte of a chunk stands for each of them. */
  readonly slices: (Buffer | SourceTitle)[] = [];
  /** What a frame asks to wait for. */
  waitMs: () => number = () => 0;
  saved: Promise<void> = Promise.resolve();
  framesWhilePaused = 0;
  #isHeld = false;

  constructor(framelessBytes = 65_536) {
    const rules = { channel: 'one', framelessBytes, facts: { textBytes: 1024, urlBytes: 1024 } };
    this.intake = new Intake(this, this, this.clock, { part: 'encoder', body: this, rules });
  }

  onFrame({ bytes }: Frame): number {
    this.frames.push(Buffer.from(bytes));
    return this.waitMs();
  }
  onTitle(title: SourceTitle): Promise<void> {
    this.titles.push(title);
    return this.saved;
  }
  push(_bytes: Buffer, sink: PieceSink): number {
    if (this.intake.isPaused) this.framesWhilePaused++;
    const slice = this.slices.shift()!;
    if (Buffer.isBuffer(slice)) sink.onAudio(slice);
    else this.intake.onTitle(slice);
    return 1;
  }
  onPaused(waitMs: number | null): void {
    this.#isHeld = true;
    this.pauses.push(waitMs);
  }
  onResumed(): void {
    if (!this.#isHeld) this.events.push('resumed twice');
    this.#isHeld = false;
  }
  onNoAudio(): void {
    this.events.push('no audio');
    this.intake.close();
  }
  onFinished(): void {
    this.events.push('finished');
    this.intake.close();
  }

  /** Comes in slices of these sizes at most. */
  send(bytes: Buffer, maxBytes = SLICE_BYTES): void {
    for (let at = 0; at < bytes.length; at += maxBytes) this.slices.push(bytes.subarray(at, at + maxBytes));
  }
  take(): void {
    this.intake.take(Buffer.alloc(this.slices.length));
  }
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 40) {
      this.clock.advance(40);
      await Promise.resolve();
      await Promise.resolve();
    }
  }
}

t.test('all that comes goes on, in order, whatever is waited for; the end comes last', async (t) => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = new Random(seed);
    const owner = new Owner();
    const audio = audioOf(random, random.int(2, 60));
    const wanted: string[] = [];
    owner.waitMs = () => (random.chance(0.2) ? random.int(1, 200) : 0);
    for (let at = 0; at < audio.length; ) {
      const bytes = random.int(1, SLICE_BYTES);
      owner.slices.push(audio.subarray(at, at + bytes));
      at += bytes;
      if (!random.chance(0.1)) continue;
      wanted.push(`${at}`);
      owner.slices.push(`${at}`);
    }
    owner.take();
    owner.intake.finish();
    await owner.pass(10_000);
    if (!Buffer.concat(owner.frames).equals(audio)) t.fail(`seed ${seed}: not what was sent`);
    if (owner.framesWhilePaused > 0) t.fail(`seed ${seed}: read while it was paused`);
    t.strictSame([owner.titles, owner.events], [wanted, ['finished']], `seed ${seed}`);
  }
});

t.test('a frame that asks to wait is the last one, and the wait is as long', async (t) => {
  const owner = new Owner();
  owner.send(audioOf(new Random(1), 20));
  owner.waitMs = () => (owner.frames.length === 5 ? 1000 : 0);
  owner.take();
  t.strictSame([owner.frames.length, owner.pauses, owner.intake.isPaused], [5, [1000], true]);
  await owner.pass(960);
  t.equal(owner.frames.length, 5);
  t.equal(owner.intake.missingSinceMs, owner.clock.now(), 'none could come');
  await owner.pass(80);
  t.strictSame([owner.frames.length, owner.intake.isPaused], [20, false]);
  const lastMs = owner.intake.missingSinceMs;
  await owner.pass(400);
  owner.slices.push('a title');
  owner.take();
  await owner.pass(40);
  t.equal(owner.intake.missingSinceMs, lastMs + 40, 'since the last, but for the time in which the title is committed');
});

t.test(
  'what was closed hands on nothing more: within a slice, while it waits, and when a title is saved',
  async (t) => {
    const within = new Owner();
    within.send(audioOf(new Random(1), 20));
    within.waitMs = () => {
      if (within.frames.length === 1) within.intake.close();
      return 0;
    };
    within.take();
    t.equal(within.frames.length, 1);

    const waiting = new Owner();
    waiting.send(audioOf(new Random(1), 20));
    waiting.waitMs = () => 100;
    waiting.take();
    waiting.intake.close();
    await waiting.pass(1000);
    t.strictSame([waiting.frames.length, waiting.events], [1, []]);

    const titled = new Owner();
    let save = () => {};
    titled.saved = new Promise((done) => {
      save = done;
    });
    titled.slices.push('title');
    titled.send(audioOf(new Random(1), 20));
    titled.take();
    t.strictSame([titled.frames.length, titled.pauses], [0, [null]]);
    titled.intake.close();
    save();
    await titled.pass(1000);
    t.equal(titled.frames.length, 0);
  },
);

t.test('no audio: at the limit, and one byte past it', async (t) => {
  for (const [bytes, events] of [
    [4096, []],
    [4097, ['no audio']],
  ] as const) {
    const owner = new Owner(4096);
    // Up to 6 bytes wait for what could be a header.
    owner.send(Buffer.alloc(bytes + 6));
    owner.take();
    t.strictSame(owner.events, events);
  }
});

t.test('what is beside audio, and too much, is named', async (t) => {
  const page = (serial: number, sequence: number, flags: number, packet: Buffer) => {
    const writer = new PageWriter(serial, sequence, flags);
    writer.packet(packet, 0);
    writer.end();
    return writer.take();
  };
  const pictures = Array.from({ length: 4 }, (_, i) => page(9, i + 1, 0, Buffer.alloc(30_000, 'x')));
  const [first, ...others] = [page(9, 0, FIRST, Buffer.from('\x80theora\x03\x02\x01', 'latin1')), ...pictures];
  for (const [beside, sentence] of [
    [[first!, opusLink(1, 100), ...others], ' (Theora): send its audio without the pictures'],
    [[opusLink(1, 100), Buffer.alloc(90_000)], ': damaged'],
    [[Buffer.alloc(90_000)], ': choose MP3, AAC (ADTS) or Ogg in the encoder'],
  ] as const) {
    const owner = new Owner();
    for (const piece of beside) owner.send(piece);
    owner.take();
    await owner.pass(4000);
    const {
      share: { foreign },
      counters,
    } = owner.intake;
    t.same(owner.events.at(-1), 'no audio', sentence);
    const most = counters.frames > 0 ? 'most of ' : '';
    t.equal(
      foreignSentence(foreign, 'it', counters.frames > 0),
      `no MP3, AAC or Ogg audio in ${most}what it sends${sentence}`,
    );
  }
});

t.test(
  'titles in the stream have a budget of work: 30 at once, then 200 a second; five times that in ICY blocks',
  async (t) => {
    const lines = Array.from({ length: 2000 }, (_, i) => `${i}`);
    const kinds = [
      { titles: lines, times: 5 },
      { titles: lines.map((song) => ({ artist: '', song, cover: '' })), times: 1 },
    ];
    for (const { titles, times } of kinds) {
      const owner = new Owner();
      owner.slices.push(...titles);
      owner.take();
      const passed = () => owner.titles.length / times;
      for (let i = 0; i < 10_000; i++) await Promise.resolve();
      t.ok(passed() >= 30 && passed() <= 32, `${owner.titles.length} at once`);
      await owner.pass(1000);
      // A wait ends with a tick of the clock.
      t.ok(passed() <= 231 && owner.titles.length >= 50, `${owner.titles.length} after a second`);
      owner.intake.finish();
      await owner.pass(100_000);
      t.strictSame([owner.titles.length, owner.events], [2000, ['finished']]);
    }
  },
);
