/** The pages of files that lmdb itself made: believed whatever is in them, refused with words where a number of a page is wrong. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { open } from 'lmdb';
import t from 'tap';
import { checkPages } from '../../src/store/pages.js';
import { Random } from '../kit/random.js';

const PAGE_BYTES = 4096;

interface Counted {
  treeBranchPageCount: number;
  treeLeafPageCount: number;
  overflowPages: number;
}

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
        for (let i = 0; i < 300; i++) void database.put([random.int(0, 50), i], 'x'.repeat(random.int(0, 6000)));
      });
    }
    await root.batch(() => {
      for (let channel = 0; channel < 50; channel++) {
        for (let i = round; i < 300; i += 2) void database.remove([channel, i]);
      }
    });
    await root.close();
    checkPages(path);
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
    [value + 8, 1n, /page 1 is taken twice \(free\)/],
    [value + 8, 1n << 40n, /no page 1099511627776 \(free\)/],
    [value + 8, -(1n << 40n), /with 1099511627775 behind it \(free\)|1099511627776 pages that begin nowhere/],
    [place, -1n, isBig ? /no page -1/ : /longer than itself/],
    [at + 16, 0n, /none of a tree/],
    [at + 8, 1n << 40n, /is of transaction 1099511627776/],
  ];
  for (const [at, number, said] of cases) {
    const bytes = Buffer.from(whole);
    bytes.writeBigInt64LE(number, at);
    writeFileSync(path, bytes);
    t.throws(() => checkPages(path), { message: said }, `${number} at ${at - value}`);
  }
});

t.test('nonsense in the head of any page that is in use', async (t) => {
  const path = join(t.testdir(), 'airsplice.mdb');
  const random = new Random();
  const root = open({ path, noSubdir: true, overlappingSync: false, eventTurnBatching: false, maxDbs: 4 });
  const names = ['channels', 'history'];
  const databases = names.map((name) => root.openDB<string, number[]>({ name, encoding: 'string' }));
  for (let batch = 0; batch < 5; batch++) {
    await root.batch(() => {
      // Long ones have one page each.
      const value = () => 'x'.repeat(random.chance(0.5) ? random.int(0, 900) : random.int(3000, 4000));
      for (const database of databases) {
        for (let i = 0; i < 100; i++) void database.put([random.int(0, 200), i], value());
      }
    });
  }
  // What lmdb itself counts; it declares nothing of it.
  const stats = [root, ...databases].map((database) => database.getStats() as Counted & { free?: Counted });
  const all = [...stats, stats[0]!.free!];
  await root.close();
  const used = all.reduce((sum, { treeBranchPageCount, treeLeafPageCount, overflowPages }) => {
    return sum + treeBranchPageCount + treeLeafPageCount + overflowPages;
  }, 0);
  checkPages(path);

  const whole = readFileSync(path);
  let refused = 0;
  for (let page = 2; page < whole.length / PAGE_BYTES; page++) {
    const bytes = Buffer.from(whole);
    random.bytes(24).copy(bytes, page * PAGE_BYTES);
    writeFileSync(path, bytes);
    try {
      checkPages(path);
    } catch {
      refused++;
    }
  }
  t.equal(refused, used, `seed ${random.seed}: ${JSON.stringify(all)}`);
});
