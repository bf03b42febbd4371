/** What the disk has room for: all saves under way count, whether they are written yet or not. */

import { statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Disk } from '../../src/store/disk.js';
import { tempFolder } from '../kit/server.js';

t.test('saves under way take room from those behind them', async (t) => {
  const file = join(tempFolder(t), 'store');
  writeFileSync(file, 'x');
  const disk = new Disk(file);
  const { bavail, bsize } = statfsSync(file);
  // Four bytes a unit: six tenths of what is free.
  const much = Math.floor((bavail * bsize * 0.6) / 4);
  const first = disk.begin(much);
  t.throws(() => disk.begin(much), /^the disk of .* is full$/, 'in one turn');
  await new Promise((next) => setImmediate(next));
  t.throws(() => disk.begin(much), /is full/, 'in a later turn');
  const small = disk.begin(1000);
  disk.end(first);
  disk.end(disk.begin(much));
  disk.end(small);
});

t.test('what the file must not have is a fault for good', async (t) => {
  const file = join(tempFolder(t), 'store');
  writeFileSync(file, 'x');
  const disk = new Disk(file);
  disk.end(disk.begin(1));
  t.equal(disk.faultOfCommit(), null);
  disk.condemn('restart');
  t.equal(disk.fault(), 'restart');
  t.equal(disk.faultOfCommit(), 'restart', 'in the same tick');
  t.throws(() => disk.begin(1), { message: 'restart' }, 'in the same turn');
});
