/**
 * Clients that three generators make of this server's /openapi.json: each compiles, strictly, and does with a server what an
 * application would (test/clients/story.ts). The generators are installed for this test alone, below node_modules/.cache, where they
 * find our TypeScript: beside ours they would be a third more packages, of which some ask for a newer Node.js, and one for an older
 * TypeScript. All run on ours. Where they cannot be had the test is skipped, and says so.
 */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import t from 'tap';
import { ADMIN_USERS } from '../kit/admin-client.js';
import { demoYaml, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';

const ROOT = new URL('../..', import.meta.url).pathname;
const CLIENTS = join(ROOT, 'test/clients');
const LIMIT_MS = 300_000;
/** npm's codes for a registry that cannot be reached. */
const AWAY =
  /npm (?:error|ERR!) code (?:ENOTFOUND|EAI_AGAIN|ECONN\w+|E?TIMEDOUT|ERR_SOCKET_TIMEOUT|ENETUNREACH|EHOSTUNREACH)/;

interface Said {
  /** 0: it has done it. */
  readonly code: number;
  readonly text: string;
}

/** As a person runs it: what the test runner has put into the environment is not for it. */
async function run(cwd: string, command: string, ...args: readonly string[]): Promise<Said> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS$)/i.test(name)));
  try {
    const { stdout, stderr } = await promisify(execFile)(command, args, { cwd, env, timeout: LIMIT_MS });
    return { code: 0, text: stdout + stderr };
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: unknown; stdout?: string; stderr?: string };
    return { code: typeof code === 'number' ? code : 1, text: `${stdout}${stderr}` || String(error) };
  }
}

/** Where the generators of exactly this lock file are, once installed. */
function installation(): string {
  const lock = createHash('sha256')
    .update(readFileSync(join(CLIENTS, 'package-lock.json')))
    .digest('hex')
    .slice(0, 12);
  return join(ROOT, 'node_modules/.cache', `clients-${lock}`);
}

/** Returns why they cannot be had; false: they are there. @throws Error where npm fails in another way */
async function install(folder: string): Promise<string | false> {
  // npm writes this last.
  if (existsSync(join(folder, 'node_modules/.package-lock.json'))) return false;
  mkdirSync(folder, { recursive: true });
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(CLIENTS, name), join(folder, name));
  const flags = [
    '--legacy-peer-deps',
    '--ignore-scripts',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  const { code, text } = await run(folder, 'npm', 'ci', ...flags);
  if (code === 0) return false;
  if (AWAY.test(text)) return `the registry cannot be reached: ${text.split('\n')[0]}`;
  throw new Error(text);
}

const folder = installation();
const skip = await install(folder);

t.test('clients that are generated from the document compile, and work', { skip }, async (t) => {
  const { base } = await startServer(t, demoYaml(ADMIN_USERS));
  const work = tempFolder(t);
  cpSync(CLIENTS, work, { recursive: true });
  symlinkSync(join(folder, 'node_modules'), join(work, 'node_modules'));
  writeFileSync(join(work, 'openapi.json'), await (await fetch(`${base}/openapi.json`)).text());

  const bin = (name: string) => join(folder, 'node_modules/.bin', name);
  const generators = {
    'openapi-typescript': ['openapi.json', '-o', 'generated/openapi-typescript.ts'],
    'openapi-ts': ['-i', 'openapi.json', '-o', 'generated/hey-api', '--silent', '--no-log-file'],
    orval: ['-c', 'orval.config.mjs', '--fail-on-warnings'],
  };
  for (const [name, args] of Object.entries(generators)) {
    const { code, text } = await run(work, bin(name), ...args);
    t.equal(code, 0, `${name}: ${text}`);
  }
  const compiled = await run(work, join(ROOT, 'node_modules/.bin/tsc'), '-p', 'tsconfig.json');
  t.strictSame(compiled, { code: 0, text: '' }, 'all of them compile');

  const { ADMIN_TEST_ALL: password, ADMIN_TEST_READ: readerToken } = process.env;
  const credentials = { password: `all:${password}`, readerToken };
  for (const name of ['openapi-typescript', 'hey-api', 'orval']) {
    const outfile = join(work, 'built', `${name}.mjs`);
    await build({ entryPoints: [join(work, `${name}.ts`)], bundle: true, format: 'esm', outfile, logLevel: 'silent' });
    const { story } = await import(pathToFileURL(outfile).href);
    t.match(
      await story(base, credentials),
      {
        user: { name: 'all', rights: ['read', 'titles', 'operate'] },
        sources: ['file'],
        pushed: { artist: 'Generated', song: name, duration: 60 },
        now: { rawdata: `Generated - ${name}`, type: 'now' },
        text: `Generated - ${name}\n`,
        station: ['demo'],
        channels: [
          { channelkey: 'demo', listenurls: [`${base}/demo.mp3`] },
          { channelkey: 'studio', listenurls: [`${base}/studio.mp3`] },
        ],
        revoked: 204,
        refused: [
          { status: 403, type: 'urn:airsplice:problem:forbidden', detail: /./ },
          { status: 403, type: 'urn:airsplice:problem:not-allowed', detail: /./ },
        ],
      },
      name,
    );
  }
});
