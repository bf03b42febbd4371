/**
 * The build: the program as `dist/main.js` with its chunks, the client's modules, and what pages are made of. A process of the server that loads
 * its 370 modules and those of the packages one by one takes twice the time to start. Types are not looked at: that is `npm run check`.
 *
 * Chunks are named by their content: what is loaded later (`import()`) is of the same build, or is not there. Nothing is removed before the
 * new build stands.
 */

import { cpSync, readdirSync, rmSync } from 'node:fs';
import { build } from 'esbuild';

process.chdir(new URL('..', import.meta.url).pathname);

/** These have files of their own beside them: a compiled part, pages. */
const EXTERNAL = ['lmdb', '@fastify/swagger-ui'];
/** For packages that were written for `require`. */
const REQUIRE =
  "import { createRequire as requireOf } from 'node:module';\nconst require = requireOf(import.meta.url);";
const COMMON = {
  outdir: 'dist',
  outbase: 'src',
  format: 'esm',
  sourcemap: true,
  sourcesContent: false,
  metafile: true,
  logLevel: 'warning',
};

const program = await build({
  ...COMMON,
  entryPoints: ['src/main.ts', 'src/cli/write-man.ts'],
  bundle: true,
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  platform: 'node',
  target: 'node20',
  external: EXTERNAL,
  banner: { js: REQUIRE },
});
// Browsers and other programs take them as they are, with the types that tsc writes.
const modules = readdirSync('src/client').filter((name) => name.endsWith('.ts'));
const client = await build({
  ...COMMON,
  entryPoints: modules.map((name) => `src/client/${name}`),
  target: 'es2022',
});
cpSync('src/web', 'dist/web', { recursive: true });

const built = new Set([...Object.keys(program.metafile.outputs), ...Object.keys(client.metafile.outputs)]);
for (const file of readdirSync('dist', { recursive: true })) {
  if (/\.js(\.map)?$/.test(file) && !file.startsWith('web/') && !built.has(`dist/${file}`)) rmSync(`dist/${file}`);
}
