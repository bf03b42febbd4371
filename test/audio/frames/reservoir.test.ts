/** Frames behind a cut: which are muted, and how. What decoders say of them is behaviour/decoders.test.ts's business. */

import t from 'tap';
import { Reservoir } from '../../../src/audio/frames/reservoir.js';

interface Kind {
  readonly head: readonly [number, number, number, number];
  readonly side: number;
}

/** Heads of MPEG 1 and 2, layer III, stereo and mono; with CRC where the head says so. */
const KINDS: Record<string, Kind> = {
  stereo: { head: [0xff, 0xfb, 0x90, 0x00], side: 32 },
  mono: { head: [0xff, 0xfb, 0x90, 0xc0], side: 17 },
  checked: { head: [0xff, 0xfa, 0x90, 0x00], side: 32 },
  lsf: { head: [0xff, 0xf3, 0x80, 0x00], side: 17 },
  lsfMono: { head: [0xff, 0xf3, 0x80, 0xc0], side: 9 },
};

/** A frame whose main data begins `back` bytes before it and has `main` bytes. */
function frame({ head, side }: Kind, back: number, main: number): Buffer {
  const crc = (head[1] & 1) === 0 ? 2 : 0;
  const bytes = Buffer.alloc(4 + crc + side + main, 0x5a);
  bytes.set(head);
  if ((head[1] & 8) !== 0) bytes.writeUInt16BE((back << 7) | 0x2a, 4 + crc);
  else bytes[4 + crc] = back;
  return bytes;
}

/** By division of the polynomials, bit for bit. */
function remainder(bytes: Buffer): number {
  let rest = 0xffff;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      const out = (rest >> 15) ^ ((byte >> bit) & 1);
      rest = ((rest << 1) & 0xffff) ^ (out ? 0x8005 : 0);
    }
  }
  return rest;
}

t.test('a frame that reaches back over the cut is muted, at the limit and one past it', async (t) => {
  for (const [name, kind] of Object.entries(KINDS)) {
    const crc = name === 'checked' ? 2 : 0;
    for (const [back, isMuted] of [
      [150, false],
      [151, true],
    ] as const) {
      const reservoir = new Reservoir();
      reservoir.cut();
      const first = frame(kind, 0, 100);
      t.equal(reservoir.mend(first), first, 'reaches nowhere');
      const second = frame(kind, 100, 50);
      t.equal(reservoir.mend(second), second, 'all of it lies behind the cut');
      const third = frame(kind, back, 60);
      const before = Buffer.from(third);
      const got = reservoir.mend(third);
      t.equal(got !== third, isMuted, `${name}, ${back}`);
      t.same(third, before, 'what came is not touched');
      if (!isMuted) continue;
      t.same(got.subarray(0, 4), third.subarray(0, 4), 'the head stays');
      const side = got.subarray(4 + crc, 4 + crc + kind.side);
      const wanted = Buffer.alloc(kind.side);
      if ((kind.head[1] & 8) !== 0) wanted.writeUInt16BE(150 << 7);
      else wanted[0] = 150;
      t.same(side, wanted, 'no sound, and as far back as there is something');
      t.same(got.subarray(4 + crc + kind.side), third.subarray(4 + crc + kind.side), 'the main data stay');
      if (crc > 0) t.equal(got.readUInt16BE(4), remainder(Buffer.concat([got.subarray(2, 4), side])), 'the checksum');
    }
  }
});

t.test('as many are muted as hold what the next one may need: one or two at 128 kb/s, seven at most', async (t) => {
  // Bytes of a frame at 44.1 kHz, or of the smallest there are, at 32 kb/s and 48 kHz, and at 8 kb/s and 8 kHz.
  for (const [kind, frameBytes, most] of [
    ['stereo', 417, 2],
    ['mono', 96, 7],
    ['lsfMono', 72, 5],
  ] as const) {
    const { head, side } = KINDS[kind]!;
    const reservoir = new Reservoir();
    reservoir.cut();
    const far = (head[1] & 8) === 0 ? 255 : 511;
    const sent = Array.from({ length: 20 }, () => frame(KINDS[kind]!, far, frameBytes - 4 - side));
    const muted = sent.map((each) => reservoir.mend(each) !== each).lastIndexOf(true) + 1;
    t.equal(muted, most, kind);
  }
});

t.test('what has no reservoir passes', async (t) => {
  const reservoir = new Reservoir();
  reservoir.cut();
  const layer2 = frame({ head: [0xff, 0xfd, 0x90, 0x00], side: 32 }, 400, 300);
  const aac = frame({ head: [0xff, 0xf1, 0x50, 0x80], side: 32 }, 400, 300);
  t.equal(reservoir.mend(layer2), layer2);
  t.equal(reservoir.mend(aac), aac);
  const short = frame(KINDS['stereo']!, 400, 300).subarray(0, 20);
  t.equal(reservoir.mend(short), short, 'a frame too short for its side information');
});

t.test('without a cut everything passes', async (t) => {
  const reservoir = new Reservoir();
  const far = frame(KINDS['stereo']!, 511, 100);
  t.equal(reservoir.mend(far), far);
});
