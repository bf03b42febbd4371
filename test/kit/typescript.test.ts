/** Tests run as TypeScript, and the processes that they start run without tap's hooks: run by Node, by tap, in a run of many files. */

import { execFile, spawnSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { tempFolder } from './temp-folder.js';

const ROOT = new URL('../../', import.meta.url).pathname;
/** With tap's coverage hooks, a server takes three times the CPU time to start. */
const PRINTS_OPTIONS = `
import { spawnSync } from 'node:child_process';
import t from 'tap';
const options = 'process.env.NODE_OPTIONS ?? ""';
for (const env of [{ ...process.env, NODE_OPTIONS: '' }, process.env]) {
  const { stdout } = spawnSync(process.execPath, ['-p', options], { env, encoding: 'utf8' });
  t.equal(stdout, '\\n', 'NODE_OPTIONS of a child');
}
`;

t.test('a child in a run of many files has no NODE_OPTIONS', async (t) => {
  for (const env of [{ ...process.env, NODE_OPTIONS: '' }, process.env]) {
    const { stdout } = spawnSync(process.execPath, ['-p', 'process.env.NODE_OPTIONS ?? ""'], { env, encoding: 'utf8' });
    t.equal(stdout, '\n');
  }
});

t.test('nor has one under tap', async (t) => {
  const folder = tempFolder(t);
  // With our node_modules, which have the plugins that tap is built with.
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const hooks = `node-arg: ['--import=${join(ROOT, 'test/kit/typescript.mjs')}']`;
  writeFileSync(join(folder, '.taprc'), `plugin: ['!@tapjs/typescript']\n${hooks}\ndisable-coverage: true\n`);
  writeFileSync(join(folder, 'child.test.mjs'), PRINTS_OPTIONS);
  // A separate run, not a part of this one.
  const own = Object.entries(process.env).filter(([name]) => !/^(?:TAP|_TAPJS)/.test(name));
  const args = ['--reporter=tap', 'child.test.mjs'];
  const { code, out } = await new Promise<{ code: number; out: string }>((done) => {
    const options = { cwd: folder, env: Object.fromEntries(own) };
    execFile(join(ROOT, 'node_modules/.bin/tap'), args, options, (error, out) =>
      done({ code: Number(error?.code ?? 0), out }),
    );
  });
  t.equal(code, 0, out);
  t.equal(out.match(/^ +ok .*NODE_OPTIONS of a child/gm)?.length, 2, out);
});
