/** Runs before `npm start`: builds if a source is newer than the last build. Without the build's packages (`--omit=dev`) it does nothing. */

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const changedMs = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
// `npm pack ./src/client` copies the build to client/dist and takes it away again.
const sources = readdirSync('src', { recursive: true }).filter(
  (file) => !/\.md$|^client(\/dist|\/LICENSE|$)/.test(file),
);
const others = ['package-lock.json', 'tsconfig.json', 'tsconfig.client.json'];
const newestMs = Math.max(...[...sources.map((file) => `src/${file}`), ...others].map(changedMs));
// The last file that the build writes.
const isBuilt = changedMs('dist/airsplice.1') > newestMs;
if (!isBuilt && existsSync('node_modules/.bin/esbuild')) {
  process.stdout.write('airsplice: building, some seconds …\n');
  execFileSync('npm', ['run', '-s', 'build'], { stdio: 'inherit' });
}
