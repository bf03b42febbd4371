/**
 * A process to be killed: opens the store in the folder of its first argument and saves without end, on four channels at once.
 * Prints a line `saved <channel> <version>` after each save that resolved, `refused <channel> <loaded version> <message>` after one
 * that rejected. With a second argument it saves on one channel alone, and every fifth state is that many bytes
 * large; where it is refused, a small one follows.
 * Where it cannot open the store it prints `closed <message>` and exits with 1.
 */

import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openLmdbStore } from '../../src/store/lmdb.js';
import { stateOf } from './contract.js';

const store = await openLmdbStore(process.argv[2]!).catch((error: Error) => {
  writeSync(1, `closed ${error.message}\n`);
  process.exit(1);
});

const largeBytes = Number(process.argv[3] ?? 0);

async function save(channel: string, version: number, song: string): Promise<boolean> {
  try {
    await store.save(channel, stateOf(version, song));
    writeSync(1, `saved ${channel} ${version}\n`);
    return true;
  } catch (error) {
    writeSync(1, `refused ${channel} ${store.load(channel)?.version} ${(error as Error).message}\n`);
    await sleep(5);
    return false;
  }
}

for (const channel of largeBytes > 0 ? ['a'] : ['a', 'b', 'c', 'd']) {
  void (async () => {
    for (let version = (store.load(channel)?.version ?? 0) + 1; ; version++) {
      if (largeBytes > 0 && version % 5 === 0 && (await save(channel, version, 'x'.repeat(largeBytes)))) continue;
      while (!(await save(channel, version, `${channel} ${version}`)));
    }
  })();
}
