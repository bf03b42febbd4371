/** A listener on a tape on which titles come late: whenever it is written to, its blocks say each title once, in order, and the last one. */

import type { Socket } from 'node:net';
import t from 'tap';
import { ChannelAudio } from '../../../src/audio/channel-audio.js';
import { Listener } from '../../../src/listener/cursor/listener.js';
import { Runs } from '../../../src/listener/sessions/runs.js';
import { frameOf } from '../../kit/frame-of.js';
import { readBack } from '../../kit/icy.js';
import { Random } from '../../kit/random.js';
import { viewOf } from '../../kit/record.js';
import { FRAME_MS as STAMPED_MS, type StampedCodec, StampedReader, stampedFrame } from '../../kit/stamped.js';

const METAINT = 1000;
/** 32 kb/s: a segment is four blocks. */
const FRAME_BYTES = 200;
const FRAME_MS = 50;
const STORIES = 60;
const STEPS = 400;

/** Takes all that it is given. */
class Sink {
  readonly writableLength = 0;
  readonly #parts: Buffer[] = [];

  cork(): void {}
  uncork(): void {}

  write(bytes: Buffer): void {
    this.#parts.push(bytes);
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }

  /** What its blocks said, each that said something. */
  titles(): string[] {
    const all = Buffer.concat(this.#parts);
    const said: string[] = [];
    for (let at = METAINT; at < all.length; ) {
      const end = at + 1 + all[at]! * 16;
      const title = /^StreamTitle='([^']*)'/.exec(all.toString('latin1', at + 1, end))?.[1];
      if (title !== undefined) said.push(title);
      else if (end > at + 1) throw new Error(`no block at ${at}`);
      at = end + METAINT;
    }
    return said;
  }
}

/** It has not taken all at once, now and then; then it holds the bytes that it was given until they are taken, for a minute or so. */
class HoldingSink {
  writableLength = 0;
  readonly held: { readonly bytes: Buffer; readonly were: Buffer }[] = [];
  readonly memory = new Set<ArrayBufferLike>();
  readonly #random: Random;
  #isCorked = false;
  #parts: Buffer[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  cork(): void {
    this.#isCorked = true;
  }

  uncork(): void {
    this.#isCorked = false;
    this.#take();
  }

  write(bytes: Buffer): void {
    this.#parts.push(bytes);
    this.writableLength += bytes.length;
    if (!this.#isCorked) this.#take();
  }

  #take(): void {
    for (const bytes of this.#parts) this.memory.add(bytes.buffer);
    if (this.#random.chance(0.1)) this.held.push(...this.#parts.map((bytes) => ({ bytes, were: Buffer.from(bytes) })));
    else this.writableLength = 0;
    this.#parts = [];
  }
}

t.test('what a socket has not taken is not written over; what all have taken is', async (t) => {
  const random = new Random();
  let nowMs = 0;
  const channel = new ChannelAudio({ key: 'demo', now: () => nowMs, lagMs: 3000, metaint: METAINT, bitrateKbps: 32 });
  const play = () => {
    channel.write(frameOf(random.bytes(FRAME_BYTES), FRAME_MS, 32));
    nowMs += FRAME_MS;
  };
  while (nowMs < 5000) play();
  const sinks: HoldingSink[] = [];
  const written = new Set<ArrayBufferLike>();
  let writes = 0;
  for (let story = 0; story < STORIES; story++) {
    const sink = new HoldingSink(random);
    sinks.push(sink);
    const cursor = channel.tape!.joinAt(1000);
    const listener = new Listener(sink as unknown as Socket, channel.tape!, {
      channel: 'demo',
      cursor,
      icy: true,
      session: null,
      nowMs,
    });
    listener.start(Buffer.from('head'), nowMs);
    for (let step = 0; step < STEPS; step++) {
      play();
      if (step % 20 === 0 && !listener.advance(nowMs)) break;
    }
    writes += listener.cursor - cursor;
    listener.finish();
    for (const memory of sink.memory) written.add(memory);
  }
  for (const { held } of sinks) {
    for (const { bytes, were } of held) if (!bytes.equals(were)) t.fail(`seed ${random.seed}: written over`);
  }
  t.ok(written.size < 0.9 * writes, `seed ${random.seed}: ${written.size} buffers for ${writes} segments`);
});

t.test(
  'who begins at the edge, behind segments with which nobody can begin, is sent what is there and no more',
  async (t) => {
    // A segment is two blocks, so that each frame covers more than one.
    let nowMs = 0;
    const channel = new ChannelAudio({
      key: 'demo',
      now: () => nowMs,
      lagMs: 30_000,
      metaint: METAINT,
      bitrateKbps: 16,
    });
    const frame = () => {
      channel.write(frameOf(Buffer.alloc(5000, 1), 2500, 16));
      nowMs += 2500;
    };
    for (let i = 0; i < 4; i++) frame();
    const tape = channel.tape!;
    const withoutEntry = () =>
      Array.from({ length: tape.head - tape.tail }, (_, i) => tape.at(tape.tail + i)!.entry < 0);
    t.ok(withoutEntry().includes(true), 'there are such segments');
    for (const crowd of [1, 40]) {
      const runs = new Runs(tape, 0);
      for (let i = 0; i < crowd; i++) runs.enter();
      for (let story = 0; story < 12; story++) {
        const listener = new Listener(new Sink() as unknown as Socket, tape, {
          channel: 'demo',
          cursor: tape.head,
          icy: true,
          session: null,
          nowMs,
        });
        listener.runs = runs;
        listener.writeSeconds = 4;
        listener.start(Buffer.from('head'), nowMs);
        for (let step = 0; step < 3; step++) {
          frame();
          t.ok(listener.advance(nowMs));
          t.ok(listener.cursor <= tape.head, `${crowd} listeners, story ${story}`);
        }
        t.ok(listener.bytes > 0);
      }
    }
  },
);

t.test('titles that come late are said once, in order, to whoever is behind', async (t) => {
  const random = new Random();
  for (let story = 0; story < STORIES; story++) {
    let nowMs = 0;
    let pushed = 0;
    const channel = new ChannelAudio({
      key: 'demo',
      now: () => nowMs,
      lagMs: 60_000,
      metaint: METAINT,
      bitrateKbps: 32,
    });
    const listeners: { readonly listener: Listener; readonly sink: Sink; readonly from: number }[] = [];
    const play = () => {
      channel.write(frameOf(Buffer.alloc(FRAME_BYTES, 1), FRAME_MS, 32));
      nowMs += FRAME_MS;
    };
    while (nowMs < 5000) play();
    for (let step = 0; step < STEPS; step++) {
      play();
      const isLast = step === STEPS - 1;
      if (random.chance(0.05) || isLast) {
        const agoMs = isLast || random.chance(0.3) ? 0 : random.int(0, 3000);
        channel.title(viewOf(`T${++pushed}`, { id: `${pushed}`, version: pushed }), agoMs);
      }
      if (random.chance(0.03)) {
        const sink = new Sink();
        const cursor = channel.tape!.joinAt(random.int(0, 3000));
        const listener = new Listener(sink as unknown as Socket, channel.tape!, {
          channel: 'demo',
          cursor,
          icy: true,
          session: null,
          nowMs,
        });
        listener.advance(nowMs);
        listeners.push({ listener, sink, from: pushed });
      }
      for (const { listener } of listeners) if (random.chance(0.05)) listener.advance(nowMs);
    }
    for (let i = 0; i < 100; i++) play();
    for (const { listener } of listeners) while (listener.cursor < channel.tape!.head) listener.advance(nowMs);
    for (const { sink } of listeners) {
      const said = sink.titles().map((title) => Number(title.slice(1)));
      const isInOrder = said.every((number, i) => i === 0 || number > said[i - 1]!);
      if (!isInOrder || said.at(-1) !== pushed) t.fail(`seed ${random.seed}, story ${story}: ${said}, of ${pushed}`);
    }
  }
  t.pass(`${STORIES} stories`);
});

t.test(
  'a stream that goes on with another tape: frames stay whole, blocks where they are due, and places exact',
  async (t) => {
    const random = new Random();
    for (let story = 0; story < STORIES; story++) {
      const codec: StampedCodec = random.chance(0.5) ? 'mp3' : 'aac';
      const frameMs = STAMPED_MS[codec];
      const metaint = random.int(500, 5000);
      const [one, two] = [1, 2].map((source) => {
        const audio = new ChannelAudio({ key: 'demo', now: () => 0, lagMs: 60_000, metaint, bitrateKbps: 128 });
        audio.title(viewOf(`title ${source}`));
        const frames = random.int(200, 400);
        for (let n = 0; n < frames; n++) audio.write(frameOf(stampedFrame(codec, source, n), frameMs, 128));
        return audio.tape!;
      });
      const sink = new Sink();
      const socket = sink as unknown as Socket;
      const before = new Listener(socket, one!, {
        channel: 'demo',
        cursor: one!.joinAt(3000),
        icy: true,
        session: null,
        nowMs: 0,
      });
      before.start(Buffer.alloc(0), 0);
      while (!before.isAtEdge) before.advance(0);
      const after = new Listener(socket, two!, {
        channel: 'demo',
        cursor: two!.joinAt(2000),
        icy: true,
        session: null,
        nowMs: 0,
      });
      after.cut = before.frameRest;
      after.start(Buffer.alloc(0), 0);
      while (!after.isAtEdge) after.advance(0);
      const { audio, titles } = readBack(sink.bytes, metaint);
      const reader = new StampedReader(codec, new Map());
      reader.feed(audio);
      const where = `SEED=${random.seed} story ${story}, ${codec}`;
      t.equal(reader.fault, '', where);
      t.same(
        reader.runs.map(({ source }) => source),
        [1, 2],
        where,
      );
      t.ok(
        Math.abs(reader.runs[1]!.first * frameMs - after.playback.joinMs) < 0.01,
        `${where}: ${reader.runs[1]!.first * frameMs} is where it began, not ${after.playback.joinMs}`,
      );
      t.same(titles.length, 2, where);
    }
  },
);
