/**
 * A process to be killed: opens the store in the folder of its first argument and saves without end, on four channels at once.
 * Prints a line `saved <channel> <version>` after each save that resolved, `refused <channel> <loaded version> <message>` after one
 * that rejected. With a second argument states grow by that many bytes a version; one that is refused is tried four times, then
 * a small one takes its place. Where it cannot open the store it prints `closed <message>` and exits with 1.
 */

import { openLmdbStore } from '../../src/store/lmdb.js';
import { pause } from '../kit/pause.js';
import { entryOf, stateOf } from './contract.js';

const store = await openLmdbStore(process.argv[2]!).catch((error: Error) => {
  process.stdout.write(`closed ${error.message}\n`);
  process.exit(1);
});

const growBytes = Number(process.argv[3] ?? 0);

async function save(channel: string, version: number, song: string): Promise<boolean> {
  try {
    await store.save(channel, stateOf(version, song, channel), [entryOf(version, version, null, channel)]);
    process.stdout.write(`saved ${channel} ${version}\n`);
    return true;
  } catch (error) {
    process.stdout.write(`refused ${channel} ${store.load(channel)?.version} ${(error as Error).message}\n`);
    await pause(5);
    return false;
  }
}

for (const channel of ['a', 'b', 'c', 'd']) {
  void (async () => {
    for (let version = (store.load(channel)?.version ?? 0) + 1; ; version++) {
      const small = `${channel} ${version}`;
      const grown = small + 'x'.repeat(growBytes * version);
      for (let tries = 1; !(await save(channel, version, tries <= 4 ? grown : small)); tries++);
    }
  })();
}
