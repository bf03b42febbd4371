/**
 * The page at `/`: its files, its list of channels and its icon; and `/client.js`, the module for pages of any origin (client/README.md), which this
 * page uses too. Everything is read and rendered once, when the routes are registered. The page loads scripts, styles, audio and titles from this
 * host only, and no image but its icon (Content-Security-Policy); covers, which may come from other hosts, are in frames with their own policy
 * (cover.ts).
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { FastifyInstance } from 'fastify';
import { codeFile } from '../base/own-files.js';
import { contentTag } from '../metadata/etag.js';
import { CompressibleBody, compressed } from './compression.js';
import { readRoute } from './methods.js';
import { matchesTag } from './reads.js';

/** A channel as the page shows it. */
export interface PageChannel {
  /** The heading of its group: the station's display name, or its key. */
  readonly station: string;
  readonly key: string;
  /** The display name, or its key. */
  readonly name: string;
  readonly description: string;
  /** The path at which it is played, with the leading slash. */
  readonly mount: string;
  /** The same of its playlist of HLS; "": it has none. What is Ogg now is not served there. */
  readonly hls: string;
}

/** A file as it is served. */
export interface ServedFile {
  readonly type: string;
  readonly body: Buffer;
  readonly etag: string;
}

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#1f6f66"/>
<path d="M7 13v6M12 9v14M17 12v8M22 7v18M27 14v4" stroke="#fff" stroke-width="2.6" stroke-linecap="round"/></svg>`;

/** The page's modules; page.js imports the others. */
const SCRIPTS = ['page.js', 'card.js', 'player.js'];
export const SCRIPT_TYPE = 'text/javascript; charset=utf-8';

/** Hosts that a policy can name. It cannot name an IPv6 address (CSP 3, host-source): 'self' alone has to do. */
const HOST = /^[A-Za-z0-9.-]+(?::\d{1,5})?$/;

/**
 * Registers `/`, its files below `/web/`, hls.js among them, `/web/channels.json`, `/favicon.ico` and `/client.js`, for GET and HEAD.
 * @throws Error when a file is missing (a broken installation)
 */
export function registerPage(app: FastifyInstance, channels: () => readonly PageChannel[]): void {
  const read = (name: string) => readFileSync(codeFile(`web/${name}`));
  serve(app, '/', fileOf('text/html; charset=utf-8', read('index.html')));
  serve(app, '/web/page.css', fileOf('text/css; charset=utf-8', read('page.css')));
  for (const name of SCRIPTS) serve(app, `/web/${name}`, fileOf(SCRIPT_TYPE, read(name)));
  serve(app, '/web/channels.json', channelsFile(channels));
  serve(app, '/favicon.ico', fileOf('image/svg+xml; charset=utf-8', Buffer.from(ICON)));
  registerHls(app);
  registerClient(app);
}

/** hls.js, which the page loads where a browser needs it: read when it is first asked for, and sent compressed. */
function registerHls(app: FastifyInstance): void {
  let body: CompressibleBody | null = null;
  readRoute(app, '/web/hls.js', async ({ raw }, reply) => {
    const form = compressed(raw, (body ??= new CompressibleBody(hlsScript())));
    reply.headers({
      ...form.headers,
      ETag: form.etag,
      'Cache-Control': 'no-cache',
      'X-Content-Type-Options': 'nosniff',
    });
    if (matchesTag(raw.headers['if-none-match'], form.etag)) return reply.code(304).send();
    return reply.type(SCRIPT_TYPE).send(await form.bytes());
  });
}

/** As the build has it; where the server runs from its sources, that of the package. */
function hlsScript(): Buffer {
  const built = codeFile('web/hls.js');
  return readFileSync(
    existsSync(built) ? built : createRequire(import.meta.url).resolve('hls.js/dist/hls.light.min.mjs'),
  );
}

/** The client's modules below `/web/client/`, and `/client.js`, which loads them in parallel and exports what client.ts does. */
function registerClient(app: FastifyInstance): void {
  const folder = codeFile('client/');
  const isBuilt = existsSync(new URL('client.js', folder));
  const end = isBuilt ? '.js' : '.ts';
  const names = readdirSync(folder).filter((name) => name.endsWith(end) && !name.endsWith('.d.ts'));
  const modules = names.map((name) => name.slice(0, -end.length));
  for (const name of modules) {
    const source = readFileSync(new URL(`${name}${end}`, folder));
    let made: ServedFile | null = isBuilt ? fileOf(SCRIPT_TYPE, source) : null;
    const file = () => (made ??= fileOf(SCRIPT_TYPE, compiled(source)));
    serve(app, `/web/client/${name}.js`, file, true);
  }
  const imports = modules.map((name) => `import './web/client/${name}.js';\n`).join('');
  const entry = `${imports}export * from './web/client/client.js';\n`;
  serve(app, '/client.js', fileOf(SCRIPT_TYPE, Buffer.from(entry)), true);
}

/** Only in a development installation, where the server runs from its sources. Called on the first request, since it takes a while. */
function compiled(source: Buffer): Buffer {
  const { transformSync } = createRequire(import.meta.url)('esbuild');
  return Buffer.from(transformSync(source, { loader: 'ts', format: 'esm', target: 'es2022' }).code);
}

export function fileOf(type: string, body: Buffer): ServedFile {
  return { type, body, etag: `"${contentTag(body)}"` };
}

/** Rendered again when the list has changed. */
function channelsFile(channels: () => readonly PageChannel[]): () => ServedFile {
  let listed: readonly PageChannel[] | null = null;
  let file: ServedFile;
  return () => {
    if (listed !== channels()) {
      listed = channels();
      // Members are named one by one: no other member of a channel may be published.
      const list = listed.map(({ station, key, name, description, mount, hls }) => {
        return { station, key, name, description, mount, hls };
      });
      file = fileOf('application/json; charset=utf-8', Buffer.from(JSON.stringify(list)));
    }
    return file;
  };
}

/** @param made the file, or a function called for each request @param isForAll a module that pages of any origin may import */
function serve(app: FastifyInstance, url: string, made: ServedFile | (() => ServedFile), isForAll = false): void {
  readRoute(app, url, (request, reply) => {
    const file = typeof made === 'function' ? made() : made;
    reply.headers({ ETag: file.etag, 'Cache-Control': 'no-cache', 'X-Content-Type-Options': 'nosniff' });
    if (isForAll) reply.header('Access-Control-Allow-Origin', '*');
    else {
      // The policy names the host.
      const headers = { 'Content-Security-Policy': policy(request.headers.host), Vary: 'Host' };
      reply.headers({ ...headers, 'Referrer-Policy': 'no-referrer' });
    }
    if (matchesTag(request.headers['if-none-match'], file.etag)) return reply.code(304).send();
    return reply.type(file.type).send(file.body);
  });
}

/**
 * `connect-src` also names the WebSockets of this host: some browsers do not count them as 'self'. `media-src` allows what the page's own scripts make:
 * hls.js gives its audio so.
 */
function policy(host: string | undefined): string {
  const sockets = host !== undefined && HOST.test(host) ? ` ws://${host} wss://${host}` : '';
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "media-src 'self' blob:",
    'img-src data:',
    "frame-src 'self'",
    `connect-src 'self'${sockets}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join('; ');
}
