/** The build, of a program of a few lines: what stands in dist behind the next one, and behind one that fails. */

import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { tempFolder } from './kit/temp-folder.js';

const ROOT = new URL('..', import.meta.url).pathname;
/** What a build does not make itself (types, the manual page), and scripts of pages. */
const OTHERS = [
  'airsplice.1',
  'THIRD-PARTY-LICENSES',
  'client/client.d.ts',
  'client/client.js',
  'cluster/log/one.lua',
  'web/admin.js',
  'web/hls.js',
];

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
  write('src/cli/terminal/write-man.ts', '');
  write('src/client/client.ts', 'export const client = 1;');
  write('src/web/admin.js', '');
  write('src/cluster/log/one.lua', 'return 1');
  for (const file of ['bundle', 'licences']) cpSync(join(ROOT, `src/${file}.mjs`), join(folder, `src/${file}.mjs`));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await build();
  write('dist/airsplice.1', '');
  write('dist/client/client.d.ts', '');
  const before = chunks();
  t.equal(before.length, 2, 'with its map');

  write('src/later.ts', 'console.log(2);');
  write('dist/cluster/log/former.lua', 'return 0');
  await build();
  const after = chunks();
  t.equal(after.length, 2);
  t.notOk(after.some((file) => before.includes(file)));
  const files = built();
  t.notOk(files.includes('cluster/log/former.lua'));
  for (const file of ['main.js', 'cli/terminal/write-man.js', ...OTHERS]) t.ok(files.includes(file), file);

  write('src/later.ts', 'no program');
  await t.rejects(build());
  t.same(built(), files);
});

t.test('licences: each package that is bundled, with its text; one without ends the build', async (t) => {
  const folder = realpathSync(tempFolder(t));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const build = () => promisify(execFile)(process.execPath, ['src/bundle.mjs'], { cwd: folder });
  const licences = () => readFileSync(join(folder, 'dist/THIRD-PARTY-LICENSES'), 'utf8');
  const add = (name: string, license: string) => {
    write(`node_modules/${name}/package.json`, JSON.stringify({ name, version: '1.2.3', license, main: 'index.js' }));
    write(`node_modules/${name}/index.js`, `exports.said = ${JSON.stringify(name)};`);
  };
  for (const file of ['bundle', 'licences']) cpSync(join(ROOT, `src/${file}.mjs`), join(folder, `src/${file}.mjs`));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(join(ROOT, 'node_modules/esbuild'), join(folder, 'node_modules/esbuild'));
  write(
    'src/main.ts',
    "import { said } from 'one';\nimport { said as two } from '@scope/two';\nimport 'saxes';\nconsole.log(said, two);",
  );
  write('src/cli/terminal/write-man.ts', '');
  write('src/client/client.ts', 'export const client = 1;');
  write('src/web/admin.js', '');
  for (const name of ['one', '@scope/two', 'unused', 'hls.js']) add(name, 'MIT');
  write('node_modules/hls.js/dist/hls.light.min.mjs', 'export default 1;');
  write('node_modules/hls.js/LICENSE', 'the words of hls.js');
  add('saxes', 'ISC');
  write('node_modules/one/LICENSE.md', 'the words of one');
  write('node_modules/one/NOTICE', 'a notice of one');
  await t.rejects(build(), { message: /bundled without the text of a licence: @scope\/two 1\.2\.3 \(MIT\)\n/ });
  write('node_modules/@scope/two/licence', 'the words of two');
  await build();
  const text = licences();
  t.match(text, /\none 1\.2\.3 \(MIT\)\n-+\n\nthe words of one\n\na notice of one\n/);
  t.match(text, /\nhls\.js 1\.2\.3 \(MIT\)\n-+\n\nthe words of hls\.js\n/, 'for the page');
  t.match(text, /\n@scope\/two 1\.2\.3 \(MIT\)\n-+\n\nthe words of two\n/);
  t.match(text, /\nsaxes 1\.2\.3 \(ISC\)[\s\S]*Isaac Z\. Schlueter[\s\S]*Mathias Bynens/, 'which ships none');
  t.notMatch(text, /unused/);
  add('saxes', 'Other');
  await t.rejects(build(), { message: /saxes 1\.2\.3 \(Other\)/ }, 'of another licence it is another text');
});

t.test('licences: every package whose code is in dist is named, with a text', async (t) => {
  const folder = realpathSync(tempFolder(t));
  await promisify(execFile)(process.execPath, ['src/bundle.mjs'], { cwd: await copyOfSources(folder) });
  const dist = join(folder, 'dist');
  const text = readFileSync(join(dist, 'THIRD-PARTY-LICENSES'), 'utf8');
  // Of what the maps say, which esbuild writes apart from what the build looks at.
  const maps = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.js.map'));
  const sources = maps.flatMap((file) => JSON.parse(readFileSync(join(dist, file), 'utf8')).sources as string[]);
  const names = new Set(sources.flatMap((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []));
  t.ok(names.size > 50, `${names.size} packages`);
  for (const name of names) {
    const part = text.split(/^-{80}\n/m);
    const at = part.findIndex((head) => head.startsWith(`${name} `));
    t.match(part[at + 1] ?? '', /copyright|Blue Oak|Apache License/i, name);
  }
});

/** The build is made where no other test uses it. */
async function copyOfSources(folder: string): Promise<string> {
  for (const name of ['src', 'package.json']) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

t.test('each entry of the lock files says what its package must be', async (t) => {
  for (const file of ['package-lock.json', 'test/clients/package-lock.json']) {
    const { packages } = JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as {
      readonly packages: Readonly<Record<string, { readonly link?: boolean; readonly integrity?: string }>>;
    };
    const others = Object.entries(packages).filter(([path, { link }]) => path !== '' && link !== true);
    t.ok(others.length > 100);
    const without = others.filter(([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''));
    t.strictSame(
      without.map(([path]) => path),
      [],
      file,
    );
  }
});
