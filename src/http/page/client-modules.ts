/**
 * `/client.js`, the module for pages of any origin (src/client/README.md): it loads the client's modules below `/web/client/` in parallel, and
 * exports what client/client.ts exports. And `/player.js`, the player as an element, in one script.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { FastifyInstance } from 'fastify';
import { codeFile } from '../../base/own-files.js';
import { clientModule } from '../../docs/operate.js';
import { readRoute } from '../methods.js';
import {
  builtScript,
  FOR_ALL,
  hlsScript,
  SCRIPT_TYPE,
  type ServedText,
  sendText,
  serveText,
  textOf,
} from './page-files.js';

export function registerClient(app: FastifyInstance): void {
  const folder = codeFile('client/');
  const isBuilt = existsSync(new URL('client.js', folder));
  const end = isBuilt ? '.js' : '.ts';
  const names = readdirSync(folder).filter((name) => name.endsWith(end) && !name.endsWith('.d.ts'));
  const modules = names.map((name) => name.slice(0, -end.length));
  const read = (name: string) => {
    const source = readFileSync(new URL(`${name}${end}`, folder));
    return textOf(SCRIPT_TYPE, isBuilt ? source : compiled(source));
  };
  const files = new Map<string, ServedText | null>(modules.map((name) => [`${name}.js`, null]));
  // One route for all, since each route makes the start longer.
  readRoute(app, '/web/client/:file', async (request, reply) => {
    const { file } = request.params as { readonly file: string };
    const known = files.get(file);
    if (known === undefined) return reply.callNotFound();
    const text = known ?? read(file.slice(0, -'.js'.length));
    files.set(file, text);
    return sendText(request, reply, text, FOR_ALL);
  });
  const imports = modules.map((name) => `import './web/client/${name}.js';\n`).join('');
  const entry = `${imports}export * from './web/client/client.js';\n`;
  const docs = clientModule('client', 'follow() and attach(), as airsplice/client in Node');
  serveText(app, '/client.js', () => textOf(SCRIPT_TYPE, entry), FOR_ALL, docs);
  const player = builtScript('web/player.js', 'client/player/player.ts');
  serveText(app, '/player.js', player, FOR_ALL, clientModule('player', 'the element airsplice-player'));
  serveText(app, '/web/hls.js', hlsScript, FOR_ALL);
}

/** Only when the server runs from its sources, as in development. Called on the first request, since it is slow. */
function compiled(source: Buffer): string {
  const { transformSync } = createRequire(import.meta.url)('esbuild');
  return transformSync(source, { loader: 'ts', format: 'esm', target: 'es2022' }).code;
}
