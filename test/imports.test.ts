/**
 * The layers hold (src/README.md): who may import whom, nothing in a circle, and through which files npm packages enter. Within them an object is
 * given what it calls. Part of `npm run check`.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, normalize, relative } from 'node:path';
import t from 'tap';
import { lineOf, textFiles } from './kit/tree.js';

const SRC = new URL('../src', import.meta.url).pathname;

/** In the order of that list: a folder imports from itself and from those earlier in it. Folders of one row never import one another. */
const LAYERS: readonly (readonly string[])[] = [
  // What browsers import: it stands alone.
  ['client'],
  ['base'],
  ['config'],
  ['metadata'],
  ['feed', 'now-playing'],
  ['store'],
  ['audio'],
  ['hls'],
  ['net'],
  ['alerts'],
  ['source'],
  ['listener'],
  ['statistics'],
  ['channel'],
  ['titles'],
  ['webhooks', 'covers', 'directories'],
  ['admin'],
  ['link'],
  ['cluster'],
  ['docs'],
  ['http'],
  ['http/ingest', 'http/stream', 'http/poll', 'http/watch', 'http/admin'],
  ['setup'],
  ['app', 'cli'],
  ['processes'],
];

/** What browsers import. */
const CLIENT = /^client\//;
/** What may lie loose in src: the program. */
const COMMANDS: readonly string[] = ['main.ts'];

/** Package → the files through which it enters (types may be named elsewhere). */
const ENTRANCES: Record<string, readonly string[]> = {
  'acme-client': ['net/acme/acme-client.ts'],
  '@fastify/swagger': ['http/page/docs-page.ts'],
  '@fastify/swagger-ui': ['http/page/docs-page.ts'],
  'entities/decode': ['metadata/title.ts'],
  fastify: ['http/page/docs-page.ts', 'http/router.ts'],
  'iconv-lite': ['base/charset.ts'],
  lmdb: ['store/lmdb.ts'],
  'lru-cache': [
    'covers/cover-hook.ts',
    'http/poll/cover-files.ts',
    'http/poll/history-pages.ts',
    'listener/sessions/sessions.ts',
  ],
  maxmind: ['statistics/countries.ts'],
  pino: ['base/log.ts'],
  redis: ['cluster/log/redis-client.ts'],
  saxes: ['setup/xml.ts'],
  'prom-client': ['app/metrics/registry.ts'],
  undici: ['cli/server.ts', 'cluster/http-client.ts'],
  'undici/lib/dispatcher/client.js': ['net/outbound/outbound.ts'],
  ws: ['http/watch/upgrader.ts', 'http/watch/websocket.ts'],
  yaml: ['config/document.ts', 'config/json-schema.ts', 'setup/draft-text.ts'],
  zod: [
    ...[
      'config/admin-config.ts',
      'config/alerts-config.ts',
      'config/cluster-config.ts',
      'config/covers-config.ts',
      'config/json-schema.ts',
      'config/page-config.ts',
      'config/statistics-config.ts',
      'config/title-webhooks-config.ts',
      'config/access-config.ts',
      'app/hub/hub-certificates.ts',
      'cluster/sealed-turn.ts',
      'link/ticket-keys-schema.ts',
      'config/listed/stream-info-config.ts',
      'config/addresses/addresses-config.ts',
      'config/sources/file-config.ts',
    ],
    ...[
      'config/schema.ts',
      'config/station-config.ts',
      'config/cluster-config.ts',
      'config/sources/pull-config.ts',
      'config/field.ts',
      'config/secret.ts',
    ],
    ...['cluster/titles/channel-settings.ts', 'cluster/session-bridge.ts'],
    ...['cli/backup/archive.ts', 'cli/cluster-command.ts', 'cli/recording/records.ts', 'setup/azuracast.ts'],
    ...['config/load.ts', 'metadata/push-schema.ts', 'docs/schemas.ts', 'http/admin/bodies.ts'],
    ...['metadata/codec.ts', 'metadata/record-schema.ts', 'now-playing/state-schema.ts', 'cluster/log/log-schema.ts'],
    ...['cluster/log/remote-log.ts', 'cluster/titles/ordered-schema.ts'],
    ...[
      'admin/admin-schema.ts',
      'admin/channel-rows.ts',
      'admin/cluster-report.ts',
      'admin/logins.ts',
      'admin/rows.ts',
      'link/control-schema.ts',
      'channel/channel-facts-schema.ts',
      'source/source-facts-schema.ts',
      'link/facts/tally-messages.ts',
      'link/tapes/mark-schema.ts',
    ],
    ...[
      'link/tapes/offer-schema.ts',
      'channel/channel-position-schema.ts',
      'channel/source-timeline.ts',
      'audio/frames/framer-schema.ts',
      'hls/hls-schema.ts',
      'processes/encoder-schema.ts',
    ],
  ],
};

interface Import {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
}

function files(): string[] {
  return readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.d.ts'),
  );
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(SRC, file), 'utf8');
  const found = [...text.matchAll(/^(?:import|export)\s+(type\s)?(?:[^;'"]*?\sfrom\s+)?['"]([^'"]+)['"]/gm)];
  return found.map(([, type, to]) => ({ from: file, to: to!, typeOnly: type !== undefined }));
}

/** A folder of a room that is not in the list belongs to that room. */
function folderOf(file: string): string {
  const folder = dirname(file);
  return LAYER_OF.has(folder) ? folder : folder.replace(/\/[^/]*$/, '');
}

const LAYER_OF = new Map(LAYERS.flatMap((folders, layer) => folders.map((folder) => [folder, layer] as const)));

/** Relative imports of a file, as paths below src. */
function targetsOf(file: string): string[] {
  return importsOf(file)
    .filter(({ to }) => to.startsWith('.'))
    .map(({ to }) => relative(SRC, normalize(join(SRC, dirname(file), to))).replace(/\.js$/, '.ts'));
}

const README = readFileSync(join(SRC, 'README.md'), 'utf8');

t.test('src/README.md lists the layers in this order, and the folders of each room', async (t) => {
  const table = README.slice(README.indexOf('## Layers'), README.indexOf('Folders within a room'));
  const rows = [...table.matchAll(/^\| (`.*?`) +\|/gm)].map(([, names]) => [...names!.matchAll(/`([\w/-]+)`/g)]);
  const listed = rows.flat().map(([, name]) => name!);
  t.same([...listed].sort(), LAYERS.flat().sort(), 'all of them');
  const wrong = listed.filter((name, i) => i > 0 && LAYER_OF.get(name)! < LAYER_OF.get(listed[i - 1]!)!);
  t.same(wrong, ['cli'], 'in this order; cli, which starts processes too, is the last');
  const folders = README.slice(README.indexOf('| room        | folders'), README.indexOf('`main.ts` is the program'));
  const named = [...folders.matchAll(/^\| `(\w+)` +\| (.*) \|$/gm)].flatMap(([, room, text]) =>
    [...text!.matchAll(/(?:^|; )`(\w+)`/g)].map(([, folder]) => `${room}/${folder}`),
  );
  const there = readdirSync(SRC, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && entry.parentPath !== SRC,
  );
  t.same(named.sort(), there.map(({ name, parentPath }) => join(relative(SRC, parentPath), name)).sort());
});

t.test('what processes and machines say rarely is read by the one codec (metadata/codec.ts)', async (t) => {
  const rooms = files().filter((file) => /^(admin|link|cluster|processes)\//.test(file));
  t.ok(rooms.length > 100, 'files were found');
  for (const file of rooms) {
    const found = /\bJSON\.parse\b|node:v8/.exec(readFileSync(join(SRC, file), 'utf8'));
    if (found !== null) t.fail(`${file}: ${found[0]}`);
  }
});

t.test('requests that await an answer of another process or machine are of one class (base/requests.ts)', async (t) => {
  // They wait for a turn that is in force everywhere, and for a state of a process: neither is the answer to a request.
  const others = ['link/applied-turns.ts', 'processes/supervisor/managed-process.ts'];
  const kept = files().filter((file) => /readonly resolve: \(/.test(readFileSync(join(SRC, file), 'utf8')));
  t.same(kept.sort(), ['base/requests.ts', ...others]);
});

t.test('what an object calls is given when it is made, or by a method: nothing outside assigns its on…', async (t) => {
  const own = textFiles().filter(({ path }) => /^src\/.*\.[jt]s$/.test(path));
  t.ok(own.length > 500, 'files were found');
  // An assignment, a setter, and a field that is promised to be assigned.
  const late = /(?<!\bthis)\.on[A-Z]\w*\s*=(?![=>])|\bset on[A-Z]|^ {2}(?:readonly )?#?\w+!:/gm;
  for (const { path, code } of own)
    for (const { index } of code.matchAll(late)) t.fail(`${path}, line ${lineOf(code, index)}`);
});

t.test('every folder has its layer, and nothing lies loose', async (t) => {
  for (const file of files()) {
    const folder = folderOf(file);
    t.ok(folder === '.' ? COMMANDS.includes(file) : LAYER_OF.has(folder), file);
  }
});

t.test('a folder imports only from layers earlier in the list', async (t) => {
  let seen = 0;
  for (const file of files()) {
    const folder = folderOf(file);
    for (const target of targetsOf(file)) {
      seen++;
      const from = folderOf(target);
      if (folder === from || (folder === '.' && from !== '.')) continue;
      if (!(LAYER_OF.get(from)! < LAYER_OF.get(folder)!)) t.fail(`${file} imports ${target}`);
    }
  }
  t.ok(seen > 500, 'imports were found');
});

t.test('what browsers import has nothing to do with the server, nor with Node', async (t) => {
  for (const file of files()) {
    const isClient = CLIENT.test(file);
    for (const { to } of importsOf(file)) if (isClient && !to.startsWith('.')) t.fail(`${file} imports ${to}`);
    for (const target of targetsOf(file)) t.equal(CLIENT.test(target), isClient, `${file} imports ${target}`);
  }
});

t.test('no file imports itself, by way of whatever others', async (t) => {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    const at = path.indexOf(file);
    if (at >= 0) t.fail(`${[...path.slice(at), file].join(' → ')}`);
    if (at >= 0 || done.has(file)) return;
    path.push(file);
    for (const target of targetsOf(file)) visit(target);
    path.pop();
    done.add(file);
  };
  for (const file of files()) visit(file);
  t.ok(done.size > 150, 'files were found');
});

t.test('what is exported is named in another file, of the tests at least', async (t) => {
  const texts = new Map(
    ['../src', '../test', '../bench'].flatMap((folder) => {
      const path = new URL(folder, import.meta.url).pathname;
      const names = readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) => /\.[jt]s$/.test(name));
      return names.map((name) => [join(path, name), readFileSync(join(path, name), 'utf8')] as const);
    }),
  );
  const files = new Map<string, number>();
  for (const text of texts.values())
    for (const word of new Set(text.match(/\w+/g))) files.set(word, (files.get(word) ?? 0) + 1);
  let seen = 0;
  for (const [path, text] of texts) {
    if (!path.startsWith(SRC)) continue;
    for (const [, name] of text.matchAll(/^export (?:async )?(?:const|function|class) (\w+)/gm)) {
      seen++;
      if (files.get(name!) === 1) t.fail(`${relative(SRC, path)}: ${name} is used there alone`);
    }
  }
  t.ok(seen > 500, `${seen} exports were found`);
});

t.test('every package enters through one place', async (t) => {
  let seen = 0;
  for (const file of files()) {
    for (const { to, typeOnly } of importsOf(file)) {
      if (to.startsWith('.') || to.startsWith('node:') || typeOnly) continue;
      seen++;
      if (builtinModules.includes(to)) t.fail(`${file}: write node:${to}`);
      else if (!ENTRANCES[to]?.includes(file)) t.fail(`${file} imports ${to}`);
    }
  }
  t.ok(seen >= Object.keys(ENTRANCES).length, 'packages were found');
});

t.test('what is loaded later is a file of ours: the build finds no names in a package that is', async (t) => {
  let seen = 0;
  for (const file of files()) {
    for (const [, to] of readFileSync(join(SRC, file), 'utf8').matchAll(/await import\(['"]([^'"]+)['"]\)/g)) {
      seen++;
      t.match(to, /^\.{1,2}\//, file);
    }
  }
  t.ok(seen > 10, 'they were found');
});
