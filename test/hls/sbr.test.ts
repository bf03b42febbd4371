/** SBR is found in what may come behind it, and not in frames without it. */

import t from 'tap';
import { mayHaveSbr, SbrProbe } from '../../src/hls/sbr.js';
import { Bits } from '../kit/bits.js';
import { costRatio } from '../kit/cost.js';
import { Random } from '../kit/random.js';

const [DATA, FILL, END] = [4, 6, 7];
const [SBR, SBR_CRC, FILLING] = [13, 14, 0];

/** A fill element with this extension, in so many bytes. */
function fill(bits: Bits, random: Random, extension: number, bytes: number): void {
  bits.add(FILL, 3).add(Math.min(15, bytes), 4);
  if (bytes >= 15) bits.add(bytes - 14, 8);
  bits.add(extension, 4).add(random.int(0, 15), 4);
  for (let i = 1; i < bytes; i++) bits.add(random.int(0, 255), 8);
}

/** Sound of any number of bits. */
function sound(random: Random): Bits {
  const bits = new Bits();
  for (let i = random.int(300, 3000); i > 0; i--) bits.add(random.int(0, 1), 1);
  return bits;
}

t.test('it is found, with a CRC and without, whatever else stands behind it', async (t) => {
  const random = new Random();
  t.comment(`seed ${random.seed}`);
  for (let i = 0; i < 300; i++) {
    const bits = sound(random);
    fill(bits, random, i % 2 === 0 ? SBR : SBR_CRC, random.int(1, 269));
    if (i % 3 === 1) fill(bits, random, FILLING, random.int(1, 269));
    if (i % 5 === 1) {
      const count = random.int(0, 300);
      bits
        .add(DATA, 3)
        .add(0, 4)
        .add(i % 2, 1)
        .add(Math.min(255, count), 8);
      if (count >= 255) bits.add(count - 255, 8);
      if (i % 2 === 1) bits.align();
      for (let n = 0; n < count; n++) bits.add(random.int(0, 255), 8);
    }
    bits.add(END, 3);
    t.ok(mayHaveSbr(bits.bytes()), `${i}`);
  }
});

t.test('by chance it seems to be there in few frames: many decide', async (t) => {
  const random = new Random();
  t.comment(`seed ${random.seed}`);
  const probe = new SbrProbe();
  let found = 0;
  for (let i = 0; i < 500; i++) {
    const bits = sound(random);
    if (i % 2 === 0) fill(bits, random, FILLING, random.int(1, 60));
    const block = bits.add(END, 3).bytes();
    probe.count(block);
    if (mayHaveSbr(block)) found++;
  }
  t.ok(found < 50, `${found} of 500`);
  t.notOk(probe.hasSbr);
});

t.test('some frames without it do not count, and too few frames say nothing', async (t) => {
  const random = new Random();
  const probe = new SbrProbe();
  for (let i = 0; i < 32; i++) {
    const bits = sound(random);
    if (i % 6 !== 5) fill(bits, random, SBR, random.int(2, 40));
    probe.count(bits.add(END, 3).bytes());
    if (i < 7) t.notOk(probe.hasSbr);
  }
  t.ok(probe.hasSbr);
});

t.test('nothing, and what ends within an element', async (t) => {
  t.notOk(mayHaveSbr(Buffer.alloc(0)));
  for (let n = 1; n < 64; n++) {
    for (const byte of [0x00, 0xff, 0xc0, 0xdd, 0xfd]) mayHaveSbr(Buffer.alloc(n, byte));
  }
  t.pass('it comes to an end');
});

t.test(
  'a forged frame, in which it seems to begin at every second byte, costs in proportion to its length',
  async (t) => {
    const forged = (elements: number) => {
      const bits = new Bits();
      for (let i = 0; i < elements; i++) bits.add(FILL, 3).add(1, 4).add(SBR, 4).add(0, 4);
      return bits.bytes();
    };
    const [small, large] = [forged(500), forged(4000)];
    const ratio = await costRatio(
      22,
      () => mayHaveSbr(large),
      () => mayHaveSbr(small),
    );
    t.ok(ratio < 22, `eight times as much takes ${ratio.toFixed(1)} times as long`);
  },
);
