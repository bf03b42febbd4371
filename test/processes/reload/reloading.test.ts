/** The file that is looked at each second: whatever becomes of its path, the server goes on. */

import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openLog } from '../../../src/base/log.js';
import { loadConfig } from '../../../src/config/load.js';
import { Reloading } from '../../../src/processes/reload/reloading.js';
import type { Reloads } from '../../../src/processes/reload/reloads.js';
import { FakeTimers } from '../../kit/fake-timers.js';
import { tempFolder } from '../../kit/temp-folder.js';

t.test('a path that leads nowhere for a while, as one of a network does, is a file that is away', async (t) => {
  const path = join(tempFolder(t), 'airsplice.yaml');
  writeFileSync(path, 'reload: watch\n');
  const applied: string[] = [];
  let refused = 0;
  const reloads = {
    apply: async () => {
      applied.push('applied');
      return { changes: [], refused: [] };
    },
    refused: () => void refused++,
  } as unknown as Reloads;
  const timers = new FakeTimers(t);
  const { log } = openLog('silent', 0);
  const config = loadConfig(path, {});
  const reloading = new Reloading({ options: { path }, config, log, reloads: () => reloads, onApplied: () => {} });
  reloading.watch();
  rmSync(path);
  symlinkSync(path, path);
  await timers.advance(3000);
  await t.rejects(reloading.reload(), /cannot be read \(ELOOP\)/);
  t.ok(refused > 0);
  rmSync(path);
  writeFileSync(path, 'reload: watch\n# again\n');
  await timers.advance(3000);
  t.same(applied, ['applied'], 'and is read once it is there again');
});
