/**
 * `/client.js`, the module for pages of any origin (src/client/README.md): the client's modules below `/web/client/`, which it loads in parallel,
 * and of which it exports what client/client.ts does. And `/player.js`, the player as an element, in one script.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { FastifyInstance } from 'fastify';
import { codeFile } from '../../base/own-files.js';
import { builtScript, FOR_ALL, hlsScript, SCRIPT_TYPE, serveText, textOf } from './page-files.js';

export function registerClient(app: FastifyInstance): void {
  const folder = codeFile('client/');
  const isBuilt = existsSync(new URL('client.js', folder));
  const end = isBuilt ? '.js' : '.ts';
  const names = readdirSync(folder).filter((name) => name.endsWith(end) && !name.endsWith('.d.ts'));
  const modules = names.map((name) => name.slice(0, -end.length));
  for (const name of modules) {
    const read = () => {
      const source = readFileSync(new URL(`${name}${end}`, folder));
      return textOf(SCRIPT_TYPE, isBuilt ? source : compiled(source));
    };
    serveText(app, `/web/client/${name}.js`, read, FOR_ALL);
  }
  const imports = modules.map((name) => `import './web/client/${name}.js';\n`).join('');
  const entry = `${imports}export * from './web/client/client.js';\n`;
  serveText(app, '/client.js', () => textOf(SCRIPT_TYPE, entry), FOR_ALL);
  const player = builtScript('web/player.js', 'client/player/player.ts');
  serveText(app, '/player.js', player, FOR_ALL);
  serveText(app, '/web/hls.js', hlsScript, FOR_ALL);
}

/** Only in a development installation, where the server runs from its sources. Called on the first request, since it takes a while. */
function compiled(source: Buffer): string {
  const { transformSync } = createRequire(import.meta.url)('esbuild');
  return transformSync(source, { loader: 'ts', format: 'esm', target: 'es2022' }).code;
}
