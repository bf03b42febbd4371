/** What package.json runs before the tests: build and check side by side. Here with an npm that only says how they end. */

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { tempFolder } from './server.js';

const PACKAGE = new URL('../../package.json', import.meta.url);
const { pretest } = JSON.parse(readFileSync(PACKAGE, 'utf8')).scripts as { pretest: string };

for (const [build, check] of [
  [0, 0],
  [0, 4],
  [3, 0],
  [3, 4],
] as const) {
  t.test(
    `a build that ends with ${build}, a check with ${check}`,
    { skip: process.platform === 'win32' },
    async (t) => {
      const folder = tempFolder(t);
      const built = join(folder, 'built');
      const npm = `#!/bin/sh\ncase $3 in build) sleep 0.5; : >'${built}'; exit ${build};; check) exit ${check};; esac\n`;
      writeFileSync(join(folder, 'npm'), npm, { mode: 0o755 });
      const { status } = spawnSync('sh', ['-c', pretest], {
        env: { PATH: `${folder}:${process.env['PATH']}` },
        stdio: 'ignore',
      });
      t.equal(status === 0, build === 0 && check === 0, `exit code ${status}`);
      t.ok(existsSync(built), 'the build has ended');
    },
  );
}
