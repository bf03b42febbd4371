/**
 * Runs TypeScript without a build: `node --import=./test/kit/typescript.mjs test/audio/tape/tape.test.ts`. tsx does that and more, but a file with
 * the server then takes 0.5 s more CPU time to load than built; with this, 0.15 s.
 *
 * esbuild compiles a file once; the result is kept by the hash of the source, esbuild's version and its options. Only for the main thread: no test
 * runs TypeScript in a worker thread. run.mjs uses bundle.mjs instead.
 */

import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import * as module from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';

const ROOT = new URL('../../', import.meta.url).href;
const FOLDER = new URL('node_modules/.cache/typescript/', ROOT);
const OPTIONS = { loader: 'ts', format: 'esm', target: 'node20', sourcemap: 'inline' };

const require = module.createRequire(import.meta.url);
const MAKER = `${require('esbuild/package.json').version} ${JSON.stringify(OPTIONS)}`;

const isOurs = (url) => url?.endsWith('.ts') && url.startsWith(ROOT);

/** Our sources import one another by the names of the built files: `.js` for `.ts`. */
export function resolve(specifier, context, next) {
  if (!specifier.startsWith('.') || !specifier.endsWith('.js') || !isOurs(context.parentURL))
    return next(specifier, context);
  return { url: new URL(`${specifier.slice(0, -2)}ts`, context.parentURL).href, format: 'module', shortCircuit: true };
}

function kept(file) {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

/** Keeps a result by a rename, so that parallel processes only read complete files. If it cannot be written, it is compiled again next time. */
function keep(file, code) {
  try {
    mkdirSync(FOLDER, { recursive: true });
    const temporary = `${fileURLToPath(file)}.${randomUUID()}`;
    writeFileSync(temporary, code);
    renameSync(temporary, file);
  } catch {}
}

function compiled(path) {
  const source = readFileSync(path);
  const file = new URL(`${createHash('sha1').update(MAKER).update(path).update(source).digest('hex')}.js`, FOLDER);
  const earlier = kept(file);
  if (earlier !== undefined) return earlier;
  const { code } = require('esbuild').transformSync(source, { ...OPTIONS, sourcefile: path });
  keep(file, code);
  return code;
}

export function load(url, context, next) {
  if (!isOurs(url)) return next(url, context);
  return { format: 'module', source: compiled(fileURLToPath(url)), shortCircuit: true };
}

/**
 * Tests start the program as an operator does. `tap` would load its coverage hooks into every process (@tapjs/processinfo restores them even if
 * NODE_OPTIONS is empty), which doubles or triples the CPU time of a start.
 */
function freeChildren() {
  globalThis[Symbol.for('process-on-spawn@*:singletonId')]?.listeners.splice(0);
  delete process.env.NODE_OPTIONS;
}

if (isMainThread) {
  process.setSourceMapsEnabled(true);
  freeChildren();
  // `registerHooks` runs in this thread; Node 20 only has `register`.
  if (module.registerHooks) module.registerHooks({ resolve, load });
  else module.register(import.meta.url);
}
