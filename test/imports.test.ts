/**
 * The house keeps its directions: who may import whom, and through which files npm packages enter. Part of `npm run check`.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, normalize, relative } from 'node:path';
import t from 'tap';

const SRC = new URL('../src', import.meta.url).pathname;

/** Room → rooms it may import from. A root file is a room of its own name. */
const MAY: Record<string, readonly string[]> = {
  watchdog: [],
  clock: ['watchdog'],
  refusal: [],
  output: [],
  log: ['output'],
  key: [],
  mask: [],
  config: ['key', 'watchdog'],
  metadata: ['clock', 'refusal'],
  docs: ['metadata', 'refusal', 'key'],
  store: ['metadata'],
  engine: ['metadata', 'store', 'refusal'],
  audio: ['metadata', 'clock'],
  source: ['audio', 'metadata', 'clock'],
  listener: ['audio', 'metadata', 'clock', 'output', 'mask'],
  http: ['watchdog', 'listener', 'audio', 'source', 'metadata', 'config', 'clock', 'refusal', 'key'],
  'loop-delay': [],
  'file-limit': [],
  metrics: ['loop-delay', 'watchdog'],
  banner: ['config'],
  token: ['key'],
  pulled: ['source', 'config', 'clock', 'log'],
  programme: ['pulled', 'http', 'listener', 'source', 'audio', 'metadata', 'config', 'clock', 'log'],
  agenda: ['engine', 'metadata', 'clock', 'refusal'],
  'listener-feed': ['listener', 'metadata'],
  tally: ['clock'],
  'title-rate': ['http', 'clock'],
  door: [
    ...['programme', 'agenda', 'listener-feed', 'source', 'engine', 'listener', 'metadata', 'config', 'clock', 'log'],
    ...['http', 'refusal', 'tally', 'title-rate'],
  ],
  keeper: ['programme', 'door', 'listener', 'metrics', 'clock'],
  statistics: ['programme', 'http', 'listener', 'metadata', 'config', 'clock'],
  network: [
    ...['admit', 'encoders', 'mask', 'refusal-log'],
    ...[
      'statistics',
      'programme',
      'door',
      'metrics',
      'http',
      'listener',
      'store',
      'docs',
      'metadata',
      'config',
      'clock',
      'log',
    ],
  ],
  'refusal-log': ['http', 'log'],
  encoders: ['programme', 'metrics', 'http', 'config', 'clock', 'log', 'mask', 'refusal-log'],
  admit: ['http', 'listener', 'metrics', 'config', 'clock', 'log'],
  addresses: ['network', 'http', 'config', 'clock', 'log'],
  app: [
    ...['addresses', 'network', 'programme', 'door', 'keeper', 'metrics', 'listener-feed', 'listener', 'engine'],
    ...['store', 'metadata', 'config', 'clock', 'log', 'output', 'http', 'mask', 'refusal-log'],
  ],
  run: ['app', 'banner', 'config', 'file-limit', 'log', 'output'],
  main: ['run'],
};

/** Files of another room that a room may take nothing but these from. */
const ONLY: Record<string, readonly string[]> = {
  'engine store': ['store/store.ts'],
  'http source': ['source/handshake.ts', 'source/shoutcast.ts', 'source/dechunk.ts'],
  'http config': ['config/schema.ts', 'config/tls.ts'],
};

/** Package → the files through which it enters (types may be named elsewhere). */
const DOORS: Record<string, readonly string[]> = {
  '@fastify/swagger': ['http/documents.ts'],
  '@fastify/swagger-ui': ['http/documents.ts'],
  'entities/decode': ['metadata/title.ts'],
  fastify: ['http/server.ts'],
  'iconv-lite': ['metadata/text.ts'],
  lmdb: ['store/lmdb.ts'],
  'lru-cache': ['http/history-pages.ts', 'listener/sessions.ts'],
  pino: ['log.ts'],
  'prom-client': ['metrics.ts'],
  ws: ['http/upgrader.ts', 'http/websocket.ts'],
  yaml: ['config/document.ts'],
  zod: [
    ...[
      'config/schema.ts',
      'config/channel.ts',
      'config/pull.ts',
      'config/field.ts',
      'config/secret.ts',
      'config/load.ts',
    ],
    ...['metadata/push-schema.ts', 'docs/schemas.ts'],
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

const room = (file: string) => file.replace(/\.ts$/, '').split('/')[0]!;

t.test('every room imports only from rooms before it', async (t) => {
  let seen = 0;
  for (const file of files()) {
    t.ok(MAY[room(file)] !== undefined, `${file}: its room stands in the table`);
    for (const { to } of importsOf(file).filter((found) => found.to.startsWith('.'))) {
      seen++;
      const target = relative(SRC, normalize(join(SRC, dirname(file), to))).replace(/\.js$/, '.ts');
      if (room(target) === room(file)) continue;
      const only = ONLY[`${room(file)} ${room(target)}`];
      const may = MAY[room(file)]!.includes(room(target)) && (only === undefined || only.includes(target));
      if (!may) t.fail(`${file} imports ${target}`);
    }
  }
  t.ok(seen > 60, 'imports were found');
});

t.test('every package enters through its door', async (t) => {
  let seen = 0;
  for (const file of files()) {
    for (const { to, typeOnly } of importsOf(file)) {
      if (to.startsWith('.') || to.startsWith('node:') || typeOnly) continue;
      seen++;
      if (builtinModules.includes(to)) t.fail(`${file}: write node:${to}`);
      else if (!DOORS[to]?.includes(file)) t.fail(`${file} imports ${to}`);
    }
  }
  t.ok(seen >= Object.keys(DOORS).length, 'packages were found');
});
