/** The build, of a program of a few lines: what stands in dist behind the next one, and behind one that fails. */

import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { tempFolder } from './kit/temp-folder.js';

const ROOT = new URL('..', import.meta.url).pathname;
/** What a build does not make itself (types, the manual page), and scripts of pages. */
const OTHERS = ['airsplice.1', 'client/client.d.ts', 'client/client.js', 'client/client.js.map', 'web/admin.js'];

t.test('chunks of the build before are removed, and nothing else is; a build that fails removes nothing', async (t) => {
  const folder = realpathSync(tempFolder(t));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const build = () => promisify(execFile)(process.execPath, ['src/bundle.mjs'], { cwd: folder });
  const built = () => readdirSync(join(folder, 'dist'), { recursive: true, encoding: 'utf8' }).sort();
  const chunks = () => built().filter((file) => file.startsWith('chunks/later-'));

  write('src/main.ts', `void import('./later.js');`);
  write('src/later.ts', 'console.log(1);');
  write('src/cli/write-man.ts', '');
  write('src/client/client.ts', 'export const client = 1;');
  write('src/web/admin.js', '');
  cpSync(join(ROOT, 'src/bundle.mjs'), join(folder, 'src/bundle.mjs'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await build();
  write('dist/airsplice.1', '');
  write('dist/client/client.d.ts', '');
  const before = chunks();
  t.equal(before.length, 2, 'with its map');

  write('src/later.ts', 'console.log(2);');
  await build();
  const after = chunks();
  t.equal(after.length, 2);
  t.notOk(after.some((file) => before.includes(file)));
  const files = built();
  for (const file of ['main.js', 'cli/write-man.js', ...OTHERS]) t.ok(files.includes(file), file);

  write('src/later.ts', 'no program');
  await t.rejects(build());
  t.same(built(), files);
});
