/** What comes while it is not known whether this machine feeds a channel still: held, in order, without and with a delay; or dropped, and then a gap. */

import t from 'tap';
import { ChannelAudio } from '../../../src/audio/channel-audio.js';
import { HeldFrames, MAX_HELD_MS } from '../../../src/audio/frames/held-frames.js';
import { FakeClock } from '../../kit/clock.js';
import { frameOf } from '../../kit/frame-of.js';

const FRAME_MS = 25;
const FRAME_BYTES = 100;
const PER_BLOCK = 10;

function channel(delayMs = 0) {
  const clock = new FakeClock();
  const delay = delayMs > 0 ? { ms: delayMs, clock } : undefined;
  const metaint = FRAME_BYTES * PER_BLOCK;
  const audio = new ChannelAudio({
    key: 'demo',
    lagMs: 60_000,
    now: () => clock.now(),
    metaint,
    bitrateKbps: 32,
    delay,
  });
  let n = 0;
  // In real time; the splitter's buffer is its own.
  const shared = Buffer.alloc(FRAME_BYTES);
  const play = (frames: number) => {
    for (let i = 0; i < frames; i++) {
      audio.write(frameOf(shared.fill(++n % 251), FRAME_MS, 32));
      clock.advance(FRAME_MS);
    }
  };
  return { clock, audio, play };
}

/** Numbers of the frames in its closed segments. */
function framesOf({ tape }: ChannelAudio): number[] {
  if (tape === undefined) return [];
  const plain = Array.from({ length: tape.head - tape.tail }, (_, i) => tape.at(tape.tail + i)!.plain);
  const bytes = Buffer.concat(plain);
  return Array.from({ length: Math.floor(bytes.length / FRAME_BYTES) }, (_, i) => bytes[i * FRAME_BYTES]!);
}

const upTo = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

t.test('what comes later than it may be fed is held, and goes onto the tape when it may', async (t) => {
  const { clock, audio, play } = channel();
  audio.feedUntil(clock.now() + 1000);
  play(100);
  const { endMs } = audio.tape!;
  t.equal(endMs, 41 * FRAME_MS, 'the frame that comes at that moment goes onto it, the next one does not');
  play(10);
  t.equal(audio.tape!.endMs, endMs);
  audio.feedUntil(clock.now() + 1000);
  t.equal(audio.tape!.endMs, 110 * FRAME_MS);
  play(5 * PER_BLOCK);
  t.strictSame(framesOf(audio), upTo(1, framesOf(audio).length), 'all, in order');
  t.ok(framesOf(audio).length >= 110);
});

t.test('what is dropped comes no more, nor what was held when another source came', async (t) => {
  for (const drop of [(audio: ChannelAudio) => audio.dropHeld(), (audio: ChannelAudio) => audio.sourceChanged()]) {
    const { clock, audio, play } = channel();
    play(20);
    audio.feedUntil(clock.now() - 1);
    play(20);
    drop(audio);
    audio.feedUntil(Number.POSITIVE_INFINITY);
    play(21);
    t.strictSame(framesOf(audio).slice(0, 40), [...upTo(1, 20), ...upTo(41, 60)]);
  }
});

t.test('what leaves the delay line is held as well', async (t) => {
  const { clock, audio, play } = channel(1000);
  play(60);
  const endMs = audio.tape!.endMs;
  t.ok(endMs > 0);
  audio.feedUntil(clock.now() - 1);
  play(20);
  t.equal(audio.tape!.endMs, endMs, 'the line goes on, and its tape does not');
  audio.feedUntil(Number.POSITIVE_INFINITY);
  t.equal(audio.tape!.endMs, endMs + 20 * FRAME_MS);
  play(PER_BLOCK);
  t.strictSame(framesOf(audio), upTo(1, framesOf(audio).length));
});

t.test('no more is held than it may last, and then there is a gap', async (t) => {
  const held = new HeldFrames();
  const push = (n: number) => held.push(frameOf(Buffer.of(n), FRAME_MS, 32), 0);
  const most = MAX_HELD_MS / FRAME_MS;
  for (let n = 1; n <= most; n++) push(n);
  t.notOk(held.hasGap);
  push(most + 1);
  t.ok(held.hasGap);
  const frames = held.take();
  t.strictSame([frames.length, frames[0]!.bytes[0]], [most, 2], 'the oldest one is dropped');
  t.ok(held.isEmpty);
  held.hasGap = false;
  held.drop();
  t.notOk(held.hasGap, 'nothing was dropped');
});
