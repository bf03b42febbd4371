/** The build before the tests, and the checks beside them, with a fake npm that only sets how they end. */

import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { tempFolder } from './temp-folder.js';

const CHECKED = new URL('checked.mjs', import.meta.url).pathname;
const RUN = `
import { withChecks } from '${CHECKED}';
const prepare = async () => 'prepared';
const runTests = async (prepared) => { console.log('the tests run, ' + prepared); return process.argv[1] === '0'; };
process.exitCode = (await withChecks(prepare, runTests)) ? 0 : 1;
`;

for (const build of [0, 3]) {
  for (const tests of [0, 1]) {
    for (const lint of [0, 4]) {
      t.test(
        `a build that ends with ${build}, tests with ${tests}, a check with ${lint}`,
        { skip: process.platform === 'win32' },
        async (t) => {
          const folder = tempFolder(t);
          const linted = join(folder, 'linted');
          const npm = `#!/bin/sh\ncase $3 in build) exit ${build};; lint) sleep 0.2; echo what lint says; : >'${linted}'; exit ${lint};; esac\n`;
          writeFileSync(join(folder, 'npm'), npm, { mode: 0o755 });
          const { code, out } = await new Promise<{ code: number; out: string }>((done) => {
            const env = { ...process.env, PATH: `${folder}:${process.env['PATH']}` };
            execFile(process.execPath, ['--input-type=module', '-e', RUN, '--', String(tests)], { env }, (error, out) =>
              done({ code: Number(error?.code ?? 0), out }),
            );
          });
          t.equal(code === 0, build === 0 && tests === 0 && lint === 0, `exit code ${code}`);
          t.equal(out.includes('the tests run, prepared'), build === 0);
          t.equal(existsSync(linted), build === 0, 'the check has ended');
          t.equal(out.includes('what lint says'), build === 0);
        },
      );
    }
  }
}
