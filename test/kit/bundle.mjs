/**
 * Bundles the tests of a run and their imports into chunks with esbuild, in 3 s for all of them. A file with the server then takes 0.9 s of CPU time
 * less to start than from one file per module (typescript.mjs).
 *
 * Only the server's packages are in the chunks; other packages are loaded from node_modules, and `tap` is current-file.mjs. `import.meta` of a file
 * still names its source.
 */

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { FOR_NODE } from '../../src/bundle.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Near the packages outside the chunks. A copy of the clone may share it (docs/typed-lines.test.ts), so each run has its own folder in it. */
const FOLDER = `${ROOT}node_modules/.cache/tests/`;
/** No run takes this long; older folders are left from killed runs. */
const MAX_AGE_MS = 86_400_000;

/** In no chunk, so that the files of a process and their runner (file-runner.mjs) share one instance. */
const TAP = pathToFileURL(`${ROOT}test/kit/current-file.mjs`).href;

/**
 * @param files `test/x/y.test.ts`
 * @returns a folder with `test/x/y.test.js` for each of them, until this process ends
 */
export async function bundleTests(files) {
  const { dependencies } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'));
  const bundled = new Set(Object.keys(dependencies).filter((name) => !FOR_NODE.external.includes(name)));
  const folder = ownFolder();
  await build({
    ...FOR_NODE,
    absWorkingDir: ROOT,
    entryPoints: files,
    outdir: folder,
    outbase: ROOT,
    chunkNames: 'chunks/[hash]',
    plugins: [{ name: 'tests', setup: (made) => setUp(made, bundled) }],
  });
  return folder;
}

function ownFolder() {
  mkdirSync(FOLDER, { recursive: true });
  for (const name of readdirSync(FOLDER)) {
    const path = `${FOLDER}${name}`;
    const atMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - atMs > MAX_AGE_MS) rmSync(path, { recursive: true, force: true });
  }
  const folder = `${mkdtempSync(`${FOLDER}run-`)}/`;
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function setUp(made, bundled) {
  made.onResolve({ filter: /^[^./]/ }, ({ path, importer, kind }) => {
    if (kind === 'entry-point' || importer.includes('/node_modules/')) return;
    if (path === 'tap') return { path: TAP, external: true };
    const [scope, name] = path.split('/');
    return bundled.has(scope.startsWith('@') ? `${scope}/${name}` : scope) ? undefined : { path, external: true };
  });
  made.onResolve({ filter: /\/current-file\.mjs$/ }, () => ({ path: TAP, external: true }));
  made.onLoad({ filter: /\.(ts|mjs)$/ }, ({ path }) => {
    if (path.includes('/node_modules/')) return;
    const own = JSON.stringify(pathToFileURL(path).href);
    const contents = readFileSync(path, 'utf8').replaceAll('import.meta.url', own);
    return { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' };
  });
}
