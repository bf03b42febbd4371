/**
 * The tests of a run with what they import, made into chunks by esbuild, all of them in 3 s: a file that has the server in it takes 0.9 s of CPU time
 * less to start than with a file for each module (typescript.mjs).
 *
 * Only packages that the server has are in it: other tools are loaded as they are; `tap` is current-file.mjs. What a file says of its own place
 * holds.
 */

import { readFileSync, rmSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { FOR_NODE } from '../../src/bundle.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = `${ROOT}node_modules/.cache/tests/`;

/** One for the files of a process and for what runs them (file-runner.mjs): it is in no chunk. */
const TAP = pathToFileURL(`${ROOT}test/kit/current-file.mjs`).href;

/**
 * @param files `test/x/y.test.ts`
 * @returns the folder in which `test/x/y.test.js` stands for each
 */
export async function bundleTests(files) {
  const { dependencies } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'));
  const bundled = new Set(Object.keys(dependencies).filter((name) => !FOR_NODE.external.includes(name)));
  rmSync(FOLDER, { recursive: true, force: true });
  await build({
    ...FOR_NODE,
    absWorkingDir: ROOT,
    entryPoints: files,
    outdir: FOLDER,
    outbase: ROOT,
    chunkNames: 'chunks/[hash]',
    plugins: [{ name: 'tests', setup: (made) => setUp(made, bundled) }],
  });
  return FOLDER;
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
