/** A login to the operator page where there are several processes: it is valid at each worker, goes on over a rolling restart, and ends at each. */

import { Agent, request } from 'node:http';
import type { Socket } from 'node:net';
import t from 'tap';
import '../kit/admin-client.js';
import { Machine, RESTARTED_MS, WORKERS } from '../kit/machine.js';
import { demoYaml } from '../kit/server.js';
import { until } from '../kit/until.js';

const YAML = (port: number) =>
  demoYaml("admin: { users: { all: { password: 'env:ADMIN_TEST_ALL', rights: [read, operate] } } }", port);

interface Asked {
  readonly status: number;
  readonly cookie: string;
  /** The process that has answered. */
  readonly worker: number | undefined;
}

/** By a connection of its own. */
function ask(machine: Machine, method: string, path: string, headers: object, body = ''): Promise<Asked> {
  const { base } = machine.server;
  return new Promise((resolve, reject) => {
    const agent = new Agent({ keepAlive: true });
    const sent = { Origin: base, 'Sec-Fetch-Site': 'same-origin', ...headers };
    request(base + path, { method, agent, headers: sent }, (answer) => {
      const worker = machine.ownerNow({ socket: answer.socket as Socket });
      const [cookie = ''] = answer.headers['set-cookie'] ?? [];
      answer.resume().on('end', () => {
        agent.destroy();
        resolve({ status: answer.statusCode!, cookie: cookie.split(';')[0]!, worker });
      });
    })
      .on('error', reject)
      .end(body);
  });
}

async function logIn(machine: Machine): Promise<string> {
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const body = String(new URLSearchParams({ user: 'all', password: 'may do all of it' }));
  const { status, cookie } = await ask(machine, 'POST', '/admin/login', form, body);
  if (status !== 303) throw new Error(`log in: ${status}`);
  return cookie;
}

/** Asks until each worker has answered: what they said, the first time. */
async function atEach(machine: Machine, cookie: string): Promise<number[]> {
  const said = new Map<number, number>();
  await until(async () => {
    const { status, worker } = await ask(machine, 'GET', '/admin/api/self', { Cookie: cookie });
    if (worker !== undefined && !said.has(worker)) said.set(worker, status);
    return said.size === WORKERS;
  }, RESTARTED_MS);
  return [...said.values()];
}

t.test('it is valid at each worker, over a rolling restart too, and so is its end', async (t) => {
  const machine = await Machine.start(t, YAML);
  const cookie = await logIn(machine);
  const ended = await logIn(machine);
  t.same(await atEach(machine, cookie), [200, 200]);
  const out = await ask(machine, 'POST', '/admin/logout', { Cookie: ended, 'X-Requested-With': 'airsplice' });
  t.equal(out.status, 204);
  t.same(await atEach(machine, ended), [401, 401]);
  for (const times of [1, 2]) {
    machine.server.child.kill('SIGUSR2');
    await until(() => machine.logged('"restarted"') === times, RESTARTED_MS);
    t.same(await atEach(machine, cookie), [200, 200], 'by the key of before');
    t.same(await atEach(machine, ended), [401, 401], 'what has ended stays ended');
  }
  t.same(await atEach(machine, await logIn(machine)), [200, 200]);
  t.notMatch(machine.server.err + machine.server.out, cookie.split('=')[1]!, 'it is in no log');
});

t.test('a hub that is killed takes no login along', async (t) => {
  const machine = await Machine.start(t, YAML);
  const cookie = await logIn(machine);
  t.same(await atEach(machine, cookie), [200, 200]);
  const [hub] = machine.pidsOf('hub');
  process.kill(hub!, 'SIGKILL');
  t.same(await atEach(machine, cookie), [200, 200], 'workers know the key');
  await until(() => machine.pidsOf('hub').some((pid) => pid !== hub), RESTARTED_MS);
  t.same(await atEach(machine, cookie), [200, 200]);
});
