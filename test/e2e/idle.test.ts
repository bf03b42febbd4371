/** A server without clients rests: its processes wake a few times a second, whatever it is ready for. Real processes, Linux. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { pause } from '../kit/pause.js';
import { freePort, ServerProcess } from '../kit/process.js';
import { childrenOf } from '../kit/process-sockets.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

const WORKERS = 2;
const MEASURED_MS = 4000;
/** Of each process. One to four where nothing else is done, where the clock's ticks alone were 25. */
const MOST_PER_SECOND = 9;
const SECRET = 'hackme-hackme-hackme';

/** How often the main thread of a process has waited so far. */
function waitsOf(pid: number): number {
  return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
}

async function wakeUps(pids: readonly number[]): Promise<readonly number[]> {
  const before = pids.map(waitsOf);
  const beganMs = performance.now();
  await pause(MEASURED_MS);
  const seconds = (performance.now() - beganMs) / 1000;
  return pids.map((pid, i) => (waitsOf(pid) - before[i]!) / seconds);
}

t.test('a hub and two workers without clients', { skip: !existsSync('/proc/self/schedstat') }, async (t) => {
  const folder = tempFolder(t);
  const config = join(folder, 'config.yaml');
  const port = await freePort();
  const sources = [{ type: 'encoder', user: 'source', password: 'env:ENCODER_SECRET' }];
  writeFileSync(
    config,
    JSON.stringify({
      workers: WORKERS,
      data: { folder: join(folder, 'data') },
      addresses: [{ host: '127.0.0.1', port, shoutcastPort: false }],
      stations: { one: { channels: { live: { name: 'Live', sources } } } },
    }),
  );
  const server = new ServerProcess(t, port, [config], { TMPDIR: folder, ENCODER_SECRET: SECRET });
  const isThere = () =>
    fetch(`${server.base}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(isThere, 30_000, () => server.err.slice(-1000));
  const pids = [server.child.pid!, ...childrenOf(server.child.pid!)];
  t.equal(pids.length, 2 + WORKERS);
  let last: readonly number[] = [];
  const rests = async () => {
    last = await wakeUps(pids);
    return Math.max(...last) <= MOST_PER_SECOND;
  };
  // What was compiled and opened at the start is settled after a while.
  await until(rests, 15_000, () => `${last.map((each) => each.toFixed(1))} wake-ups a second`);
  t.comment(`${last.map((each) => each.toFixed(1))} wake-ups a second`);
  t.ok(await isThere());
});
