/**
 * Runs TypeScript as it is: `node --import=./test/kit/typescript.mjs test/audio/tape/tape.test.ts`. tsx does that and more; a file that starts
 * the server takes 0.5 s of CPU time more to load with it than built, 0.15 s with this.
 *
 * esbuild compiles a file once; what it made is kept by the hash of the source, esbuild's version and its options. For the main
 * thread: no test runs TypeScript in a worker. What run.mjs runs is made by bundle.mjs instead.
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

/** Our sources import one another by the names that they have when they are built: `.js` for `.ts`. */
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

/** Files run side by side: what one of them reads here is whole. Where nothing can be written it is compiled again. */
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
 * What a test starts is the program, as an operator starts it. `tap` would load its coverage hooks into every process (@tapjs/processinfo puts them
 * back where NODE_OPTIONS is set to nothing), which then takes two to three times the CPU time to start.
 */
function freeChildren() {
  globalThis[Symbol.for('process-on-spawn@*:singletonId')]?.listeners.splice(0);
  delete process.env.NODE_OPTIONS;
}

if (isMainThread) {
  process.setSourceMapsEnabled(true);
  freeChildren();
  // The first is in this thread; Node 20 has the second only.
  if (module.registerHooks) module.registerHooks({ resolve, load });
  else module.register(import.meta.url);
}
