/** What the disk has room for: all saves under way count, whether they are written yet or not. And what becomes of a store on a bad one. */

import { renameSync, rmSync, statfsSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Disk } from '../../src/store/disk.js';
import { openLmdbStore } from '../../src/store/lmdb.js';
import { withLimit } from '../kit/own-limit.js';
import { missing } from '../kit/program.js';
import { tempFolder } from '../kit/temp-folder.js';
import { entryOf, stateOf } from './contract.js';

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
  t.equal(disk.fault(), null, 'alone it has room: the disk is not full');
  const tooMuch = much * 2;
  t.throws(() => disk.begin(tooMuch), /is full/);
  t.match(disk.fault(), /^the disk of .* is full$/, 'what was refused would be refused again');
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

t.test('a store that cannot be looked at refuses saves, and takes them when it can', async (t) => {
  const data = join(tempFolder(t), 'data');
  const store = await openLmdbStore(data);
  await store.save('jazz', stateOf(1));
  renameSync(data, `${data}.away`);
  // What a server of files that hiccups is to the one who asks.
  symlinkSync(data, data);
  t.match(store.fault(), /airsplice\.mdb cannot be checked \(ELOOP\)/);
  await t.rejects(store.save('jazz', stateOf(2)), {
    message: /^The state of channel jazz cannot be saved: .*\(ELOOP\)$/,
  });
  rmSync(data);
  renameSync(`${data}.away`, data);
  t.equal(store.fault(), null);
  t.equal(store.load('jazz')?.version, 1);
  await store.save('jazz', stateOf(2));
  await store.close();
});

const LIMITED = { skip: missing('prlimit') };
/** Within a page, so that a write is cut short there: where one is refused, lmdb 3.5.6 dies (disk.ts). */
const CUT_SHORT_BYTES = 1000;

t.test('a save that the system refuses to write changes nothing, and the next one goes on', LIMITED, async (t) => {
  const data = join(tempFolder(t), 'data');
  const store = await openLmdbStore(data);
  const entry = entryOf(1, Date.now(), null);
  await store.save('jazz', stateOf(1), [entry]);
  await withLimit('fsize', statSync(join(data, 'airsplice.mdb')).size + CUT_SHORT_BYTES, async () => {
    const saves = [
      store.save('jazz', stateOf(2, 'x'.repeat(500_000)), [entryOf(2, Date.now() + 1, null)]),
      store.save('other', stateOf(1, undefined, 'other')),
    ];
    // One transaction, and so one fate.
    await t.rejects(saves[0]!, { message: /^The state of channel jazz cannot be saved: .*Input\/output error/ });
    await t.rejects(saves[1]!, { message: /^The state of channel other cannot be saved: / });
  });
  t.same(store.load('jazz'), stateOf(1));
  t.same(store.history('jazz', { limit: 9 }), [entry]);
  t.equal(store.load('other'), undefined);
  t.match(store.fault(), /^saving to the disk of .* fails \(.*Input\/output error/);
  await store.save('jazz', stateOf(2));
  t.equal(store.fault(), null);
  await store.close();
});

t.test('a change that was refused and cannot be taken back is a fault until a restart', LIMITED, async (t) => {
  const data = join(tempFolder(t), 'data');
  const file = join(data, 'airsplice.mdb');
  const store = await openLmdbStore(data);
  await store.save('jazz', stateOf(1, 'x'.repeat(500_000)));
  // There is room for the short title, and none for the long one, written again.
  await withLimit('fsize', statSync(file).size + 40_000 + CUT_SHORT_BYTES, async () => {
    const refused = store.save('jazz', stateOf(2));
    renameSync(data, `${data}.away`);
    await t.rejects(refused, { message: /cannot be saved: .*airsplice\.mdb is gone/ });
  });
  renameSync(`${data}.away`, data);
  const fault = /is gone.* and then restart: a change of channel jazz that was refused cannot be undone \(.+\)$/;
  t.match(store.fault(), fault, 'though the file is back');
  await t.rejects(store.save('other', stateOf(1, undefined, 'other')), { message: fault });
  await store.close();
  const again = await openLmdbStore(data);
  t.equal(again.fault(), null);
  await again.save('jazz', stateOf(3));
  await again.close();
});
