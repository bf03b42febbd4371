/** The seed draws the worker of each connection to a server of several processes. */

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { freePort, ServerProcess } from './process.js';
import { heldAt, listeningChildrenOf } from './process-sockets.js';
import { demoYaml, SPREAD } from './server.js';
import { tempFolder } from './temp-folder.js';
import { until } from './until.js';
import { Wire } from './wire.js';

const COUNT = 16;

/** The workers, by age, that get consecutive connections. */
async function spreadBy(t: Test, seed: number): Promise<number[]> {
  const folder = tempFolder(t);
  const port = await freePort();
  const path = join(folder, 'config.yaml');
  writeFileSync(path, `workers: 2\ndata: { folder: ${join(folder, 'data')} }\n${demoYaml('', port)}`);
  const env = { TMPDIR: folder, TEST_SPREAD: String(seed) };
  const server = new ServerProcess(t, port, [path], env, [], SPREAD);
  await until(() => server.out.includes('plays'), 20_000);
  const workers = listeningChildrenOf(server.child.pid!, port).sort((a, b) => a - b);
  const drawn: number[] = [];
  for (let i = 0; i < COUNT; i++) {
    const wire = new Wire(t, port).send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    const [answer] = await wire.take(1);
    if (answer!.status !== 200) t.fail(`${answer!.status}`);
    const holders = () => workers.filter((pid) => heldAt(port, pid).includes(wire.socket.localPort!));
    await until(() => holders().length === 1, 5000);
    drawn.push(workers.indexOf(holders()[0]!));
    wire.socket.destroy();
  }
  return drawn;
}

t.test('the same seed, the same workers', { skip: !existsSync('/proc/net/tcp') && 'needs /proc' }, async (t) => {
  const [one, same, other] = [await spreadBy(t, 1), await spreadBy(t, 1), await spreadBy(t, 2)];
  t.same(one, same);
  t.strictNotSame(one, other);
  for (const drawn of [one, other]) {
    const first = drawn.filter((worker) => worker === 0).length;
    t.ok(first > COUNT / 4 && first < (COUNT * 3) / 4, `${first} of ${COUNT}`);
  }
});
