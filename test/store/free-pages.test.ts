/** The list of free pages on files that lmdb itself made: believed whatever is in it, refused with words where a number of it is wrong. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { open } from 'lmdb';
import t from 'tap';
import { checkFreePages } from '../../src/store/free-pages.js';
import { Random } from '../kit/random.js';

const PAGE_BYTES = 4096;
/** Where the meta page of this transaction says that the list begins. */
function rootOf(bytes: Buffer): number {
  const [first, second] = [bytes.subarray(0, PAGE_BYTES), bytes.subarray(PAGE_BYTES)];
  const meta = first.readBigInt64LE(152) > second.readBigInt64LE(152) ? first : second;
  return Number(meta.readBigInt64LE(88));
}

t.test('long and short, in pages of their own, after much writing', async (t) => {
  const path = join(t.testdir(), 'airsplice.mdb');
  const random = new Random();
  let bigCount = 0;
  for (let round = 0; round < 4; round++) {
    const root = open({ path, noSubdir: true, overlappingSync: false, eventTurnBatching: false, maxDbs: 4 });
    const database = root.openDB<string, number[]>({ name: 'history', encoding: 'string' });
    for (let batch = 0; batch < 20; batch++) {
      await root.batch(() => {
        for (let i = 0; i < 300; i++) database.put([random.int(0, 50), i], 'x'.repeat(random.int(0, 6000)));
      });
    }
    await root.batch(() => {
      for (let channel = 0; channel < 50; channel++) {
        for (let i = round; i < 300; i += 2) database.remove([channel, i]);
      }
    });
    await root.close();
    await checkFreePages(path);
    const bytes = readFileSync(path);
    const at = rootOf(bytes) * PAGE_BYTES;
    for (let i = 0; i < bytes.readUInt16LE(at + 20) >> 1; i++) {
      if (bytes.readUInt16LE(at + 24 + bytes.readUInt16LE(at + 24 + 2 * i) + 4) === 1) bigCount++;
    }
  }
  t.ok(bigCount > 0, `seed ${random.seed}: values with pages of their own were read`);

  const whole = readFileSync(path);
  const at = rootOf(whole) * PAGE_BYTES;
  const node = at + 24 + whole.readUInt16LE(at + 24);
  const place = node + 8 + whole.readUInt16LE(node + 6);
  const isBig = whole.readUInt16LE(node + 4) === 1;
  const value = isBig ? Number(whole.readBigInt64LE(place)) * PAGE_BYTES + 24 : place;
  const cases: [at: number, number: bigint, said: RegExp][] = [
    [value, 1_000_000n, /longer than itself/],
    [value, -1n, /longer than itself/],
    [value + 8, 1n, /no page 1 that could be free/],
    [value + 8, 1n << 40n, /no page 1099511627776 that/],
    [value + 8, -(1n << 40n), /1099511627776 free pages in a row/],
    [place, -1n, isBig ? /no page -1 in the list/ : /longer than itself/],
    [at + 16, 0n, /none of the list/],
  ];
  for (const [at, number, said] of cases) {
    const bytes = Buffer.from(whole);
    bytes.writeBigInt64LE(number, at);
    writeFileSync(path, bytes);
    await t.rejects(checkFreePages(path), { message: said }, `${number} at ${at - value}`);
  }
});
