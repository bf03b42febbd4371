/**
 * The build: the program as `dist/main.js` with its chunks, the client's modules, and what pages are made of. A process of the server that loads
 * its 370 modules and those of the packages one by one takes twice the time to start. Types are not checked here: `npm run check` does that.
 *
 * Chunks are named by their content: a chunk that is loaded later (`import()`) is of the same build, or missing. Old files are removed only once
 * the new build is complete.
 */

import { cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundledLicences } from './licences.mjs';

/** Packages that were written for `require` need it. */
const REQUIRE =
  "import { createRequire as requireOf } from 'node:module';\nconst require = requireOf(import.meta.url);";

/** The common options of builds for Node. */
export const FOR_NODE = {
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
  banner: { js: REQUIRE },
  // The first two need files of their own packages: a compiled part, pages. The last two are never loaded: http/methods.ts, APP_OPTIONS.
  external: ['lmdb', '@fastify/swagger-ui', '@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler'],
};

async function buildProgram() {
  process.chdir(fileURLToPath(new URL('..', import.meta.url)));
  const common = { outdir: 'dist', outbase: 'src', metafile: true };
  const program = await build({
    ...FOR_NODE,
    ...common,
    entryPoints: ['src/main.ts', 'src/cli/terminal/write-man.ts'],
    chunkNames: 'chunks/[name]-[hash]',
  });
  // Browsers, other programs and the package (src/client/package.json) take them as they are, with the types that tsc writes.
  const modules = readdirSync('src/client', { recursive: true }).filter((name) => name.endsWith('.ts'));
  const client = await build({
    ...common,
    entryPoints: modules.map((name) => `src/client/${name}`),
    format: 'esm',
    target: 'es2022',
    minify: true,
  });
  // The pages' script, and the player as an element: each is one file (http/page/page-files.ts).
  const page = await build({
    ...common,
    entryPoints: [
      { in: 'src/web/page.js', out: 'web/page' },
      { in: 'src/client/player/player.ts', out: 'web/player' },
    ].filter((entry) => existsSync(entry.in)),
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
  });
  // The page loads it if a browser needs it (http/page/client-modules.ts). This build starts no worker, which the page's policy would forbid.
  const hls = await build({
    ...common,
    entryPoints: [{ in: 'hls.js/dist/hls.light.min.mjs', out: 'web/hls' }],
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    logLevel: 'warning',
  });
  writeFileSync(
    'dist/THIRD-PARTY-LICENSES',
    bundledLicences([program.metafile, client.metafile, page.metafile, hls.metafile]),
  );
  const isMade = (file) => Object.keys(page.metafile.inputs).includes(file);
  cpSync('src/web', 'dist/web', { recursive: true, filter: (file) => !isMade(file) });
  // The scripts of Redis are read at run time (base/own-files.ts).
  const scripts = readdirSync('src', { recursive: true }).filter((file) => file.endsWith('.lua'));
  for (const file of scripts) cpSync(`src/${file}`, `dist/${file}`);

  const outputs = [program, client, page].flatMap(({ metafile }) => Object.keys(metafile.outputs));
  const built = new Set([...outputs, ...scripts.map((file) => `dist/${file}`)]);
  for (const file of readdirSync('dist', { recursive: true })) {
    if (/\.(js(\.map)?|lua)$/.test(file) && !file.startsWith('web/') && !built.has(`dist/${file}`))
      rmSync(`dist/${file}`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildProgram();
