/**
 * SIGTERM at any moment of the start, as an ordinary process and as process 1, whom the kernel spares every signal without a handler:
 * exit code 0, soon, with nothing left behind. Before node runs a line of ours nobody can listen: the handler comes first of all.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { isLong } from '../kit/long.js';
import { pause } from '../kit/pause.js';
import { freePort, ServerProcess } from '../kit/process.js';
import { missing } from '../kit/program.js';
import { Random } from '../kit/random.js';
import { demoYaml } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

const ROUNDS = isLong ? 8 : 2;
const AT_ONCE = 2;
const NO_PROC = process.platform !== 'linux' && 'no /proc';
const UNSHARE = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'];
const UNSHARED = process.getuid?.() === 0 ? UNSHARE : [...UNSHARE, '--map-root-user'];
const LISTENS = new URL('../kit/listens.mjs', import.meta.url).pathname;

interface Starting {
  readonly server: ServerProcess;
  readonly folder: string;
  readonly port: number;
  /** Of the server itself. */
  pid: number;
}

async function start(t: Test, launcher: readonly string[], folder = tempFolder(t)): Promise<Starting> {
  const port = await freePort();
  const config = join(folder, 'config.yaml');
  await writeFile(config, `data: { folder: ${join(folder, 'data')} }\n${demoYaml('', port)}`);
  const server = new ServerProcess(t, port, [config], {}, launcher, LISTENS);
  const of = server.child.pid!;
  const starting = { server, folder, port, pid: launcher.length === 0 ? of : 0 };
  if (starting.pid > 0) return starting;
  await until(
    () => {
      const children = read(`/proc/${of}/task/${of}/children`).trim();
      // After the fork, and after it has become node.
      if (children !== '' && read(`/proc/${children}/comm`).startsWith('node')) starting.pid = Number(children);
      return starting.pid > 0 || server.ended !== undefined;
    },
    20_000,
    () => server.err,
  );
  return starting;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

async function listening({ server }: Starting): Promise<void> {
  await until(
    () => server.err.includes('listens to SIGTERM'),
    20_000,
    () => server.err,
  );
}

/** Processes of which one argument lies in this folder. */
function processesOf(folder: string): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => read(`/proc/${pid}/cmdline`).includes(`${folder}/`));
}

async function stopsAnytime(t: Test, launcher: readonly string[]): Promise<void> {
  const random = new Random();
  const first = await start(t, launcher);
  if (first.server.ended !== undefined) return t.plan(0, 'a namespace cannot be had here');
  const startMs = performance.now();
  await listening(first);
  const isFirst = !existsSync(join(first.folder, 'data'));
  const listeningMs = performance.now() - startMs;
  await first.server.ready();
  const readyMs = performance.now() - startMs;
  t.ok(isFirst, `it listens before it opens anything: after ${Math.round(listeningMs)} of ${Math.round(readyMs)} ms`);
  process.kill(first.pid, 'SIGTERM');
  await until(() => first.server.ended !== undefined, 20_000);
  t.equal(first.server.ended, 0);

  const spreadMs = (readyMs - listeningMs) * 1.2;
  const once = async (i: number) => {
    // The store of the first is there: it is looked through by a process of its own.
    const folder = tempFolder(t);
    if (i % 2 === 0) await copyStore(first.folder, folder);
    const one = await start(t, launcher, folder);
    await listening(one);
    // The first moment, and others.
    const waitMs = i < 2 ? 0 : random.int(0, Math.round(spreadMs));
    await pause(waitMs);
    process.kill(one.pid, 'SIGTERM');
    const killedMs = performance.now();
    await until(
      () => one.server.ended !== undefined,
      20_000,
      () => `SIGTERM after ${waitMs} ms is lost. ${one.server.err}`,
    );
    const why = `seed ${random.seed}: SIGTERM ${waitMs} ms after it listens, ended ${Math.round(performance.now() - killedMs)} ms later`;
    t.equal(one.server.ended, 0, `${why}. ${one.server.err}`);
    t.same(processesOf(folder), [], `${why}: nothing runs any more`);
  };
  for (let i = 0; i < ROUNDS; i += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, k) => once(i + k)));
  }
}

async function copyStore(from: string, to: string): Promise<void> {
  await cp(join(from, 'data'), join(to, 'data'), { recursive: true });
}

t.test('SIGTERM at any moment of the start', { skip: NO_PROC }, (t) => stopsAnytime(t, []));

t.test('SIGTERM at any moment of the start, as process 1', { skip: NO_PROC || missing('unshare') }, (t) =>
  stopsAnytime(t, UNSHARED),
);
