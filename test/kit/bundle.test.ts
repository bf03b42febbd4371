import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';

const ROOT = new URL('../../', import.meta.url).pathname;
const FOLDER = join(ROOT, 'node_modules/.cache/tests');
const FILE = 'test/base/spelling.test.ts';

/** A run that holds its bundle until its input ends. @returns its folder, and its end */
async function run(t: Test): Promise<{ folder: string; end: () => Promise<void> }> {
  const script = `import { bundleTests } from './test/kit/bundle.mjs';
    console.log(await bundleTests(['${FILE}']));
    process.stdin.resume();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: ROOT,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill());
  const [line] = await once(child.stdout, 'data');
  return {
    folder: String(line).trim(),
    end: async () => {
      child.stdin.end();
      await once(child, 'exit');
    },
  };
}

t.test('runs of one clone, and of copies that share its packages, leave each other alone', async (t) => {
  const left = join(FOLDER, 'run-left');
  mkdirSync(left, { recursive: true });
  t.teardown(() => rmSync(left, { recursive: true, force: true }));
  const first = await run(t);
  const bundle = join(first.folder, FILE.replace(/ts$/, 'js'));
  t.ok(existsSync(bundle), 'the first has its file');
  t.ok(readdirSync(FOLDER).includes('run-left'), 'what is young may be another run');

  const twoDaysAgo = new Date(Date.now() - 2 * 86_400_000);
  utimesSync(left, twoDaysAgo, twoDaysAgo);
  const second = await run(t);
  t.not(second.folder, first.folder);
  t.ok(existsSync(bundle), 'the second has not taken it away');
  t.notOk(existsSync(left), 'what is older than any run is removed');

  await second.end();
  t.notOk(existsSync(second.folder), 'a run removes its own');
  t.ok(existsSync(bundle));
  await first.end();
});
