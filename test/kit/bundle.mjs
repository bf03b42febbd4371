/**
 * The tests of a run with what they import, made into chunks by esbuild, all of them in 3 s: a file that has the server in it takes 0.9 s of CPU time
 * less to start than with a file for each module (typescript.mjs).
 *
 * Only packages that the server has are in it: other tools are loaded as they are; `tap` is current-file.mjs. What a file says of its own place
 * holds.
 */

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { FOR_NODE } from '../../src/bundle.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Beside the packages that are not in the chunks. A copy of the clone may share it (docs/typed-lines.test.ts), so each run has a folder in it. */
const FOLDER = `${ROOT}node_modules/.cache/tests/`;
/** No run takes so long; what is older is left from one that was killed. */
const MAX_AGE_MS = 86_400_000;

/** One for the files of a process and for what runs them (file-runner.mjs): it is in no chunk. */
const TAP = pathToFileURL(`${ROOT}test/kit/current-file.mjs`).href;

/**
 * @param files `test/x/y.test.ts`
 * @returns the folder in which `test/x/y.test.js` stands for each, until this process ends
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
