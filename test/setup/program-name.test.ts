/** What is printed as the program's name is what was typed. */

import t from 'tap';
import { programName, wordOf } from '../../src/setup/program-name.js';

const root = '/home/a/airsplice';
const called = (file: string, cwd: string, env: NodeJS.ProcessEnv = {}) => programName({ file, cwd, env, root });

t.test('each way to call it', async (t) => {
  const PATH = '/usr/local/bin:/usr/bin';
  t.equal(called('/usr/bin/airsplice', '/srv', { PATH }), 'airsplice');
  t.equal(called('/srv/prefix/bin/airsplice', '/srv', { PATH }), 'prefix/bin/airsplice', 'not in PATH');
  t.equal(called('/srv/bin/airsplice', '/srv/bin', { PATH }), './airsplice');
  t.equal(called(`${root}/dist/main.js`, root), 'node dist/main.js');
  t.equal(called(`${root}/dist/main.js`, '/home/a'), 'node airsplice/dist/main.js');
  t.equal(called(`${root}/dist/main.js`, `${root}/dist`), 'node main.js');
  const npx = { npm_lifecycle_event: 'npx', npm_command: 'exec', INIT_CWD: `${root}/config` };
  t.equal(called(`${root}/dist/main.js`, `${root}/config`, npx), 'npx airsplice', 'in a clone');
  const start = { npm_lifecycle_event: 'start', INIT_CWD: root };
  t.equal(called(`${root}/dist/main.js`, root, start), 'npx airsplice');
  t.equal(called(`${root}/src/main.ts`, root, { ...start, npm_lifecycle_event: 'dev' }), 'npx airsplice');
  const elsewhere = { npm_lifecycle_event: 'start', INIT_CWD: '/home/a' };
  t.equal(called(`${root}/dist/main.js`, root, elsewhere), 'node airsplice/dist/main.js', 'npm --prefix');
  const installed = { npm_lifecycle_event: 'npx', INIT_CWD: '/srv' };
  t.equal(called('/srv/node_modules/.bin/airsplice', '/srv', installed), 'npx airsplice');
});

t.test('a path is one word of a shell', async (t) => {
  t.equal(wordOf("a b/it's.js"), "'a b/it'\\''s.js'");
  t.equal(wordOf('dist/main.js'), 'dist/main.js');
  t.notMatch(wordOf('a/\u001b[2J'), /\u001b/);
});
