/** Sessions of TLS go on in any worker and on any machine, over reloads, restarts and the death of a hub: as OpenSSL's own client sees it. */

import { spawn } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import tls from 'node:tls';
import t, { type Test } from 'tap';
import { PEM } from '../kit/certificate.js';
import { Machine, RESTARTED_MS } from '../kit/machine.js';
import { ClusterNode } from '../kit/nodes.js';
import type { Player } from '../kit/player.js';
import { freePort } from '../kit/process.js';
import { missing } from '../kit/program.js';
import { noRedis, RedisServer } from '../kit/redis.js';
import { demoYaml } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

// They wait more than they compute.
t.jobs = 2;

const VERSIONS = ['TLSv1.2', 'TLSv1.3'] as const;
type Version = (typeof VERSIONS)[number];

/** One request. @returns `New` or `Reused`, as s_client says; '': it failed */
function client(port: number, version: Version, ...more: string[]): Promise<string> {
  const flag = version === 'TLSv1.2' ? '-tls1_2' : '-tls1_3';
  const child = spawn('openssl', ['s_client', '-connect', `127.0.0.1:${port}`, flag, '-ign_eof', ...more]);
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString('latin1');
  });
  // The ticket of TLS 1.3 comes with the answer.
  child.stdin.on('error', () => undefined).end('GET /livez HTTP/1.0\r\n\r\n');
  return new Promise((resolve) => child.on('close', () => resolve(/^(New|Reused), TLSv1/m.exec(out)?.[1] ?? '')));
}

/** A session of each version, and whether it goes on at a port, several times over. */
class Sessions {
  readonly #folder: string;

  constructor(t: Test) {
    this.#folder = tempFolder(t);
  }

  async make(t: Test, port: number): Promise<void> {
    for (const version of VERSIONS) {
      t.equal(await client(port, version, '-sess_out', this.#file(version)), 'New', version);
    }
  }

  async resume(port: number, times = 4): Promise<boolean> {
    for (const version of VERSIONS) {
      for (let i = 0; i < times; i++) {
        if ((await client(port, version, '-sess_in', this.#file(version))) !== 'Reused') return false;
      }
    }
    return true;
  }

  #file(version: Version): string {
    return join(this.#folder, version);
  }
}

/** Connects with this session until each worker has had one connection. @returns by worker whether it was resumed */
async function atEachWorker(t: Test, machine: Machine, session: Buffer, maxVersion: Version) {
  const resumed = new Map<number, boolean>();
  await until(async () => {
    const socket = tls.connect({ port: machine.port, rejectUnauthorized: false, session, maxVersion });
    t.teardown(() => socket.destroy());
    await new Promise((resolve, reject) => socket.on('secureConnect', resolve).on('error', reject));
    const owner = machine.ownerNow({ socket } as unknown as Player);
    if (owner !== undefined) resumed.set(owner, (resumed.get(owner) ?? true) && socket.isSessionReused());
    socket.destroy();
    return machine.pidsOf('worker').every((pid) => resumed.has(pid));
  }, RESTARTED_MS);
  return [...resumed.values()];
}

function sessionOf(port: number, maxVersion: Version): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ port, rejectUnauthorized: false, maxVersion });
    socket.on('error', reject).once('session', (session) => {
      resolve(session);
      socket.destroy();
    });
    socket.write('GET /livez HTTP/1.1\r\n\r\n');
    socket.resume();
  });
}

async function handshakes(machine: Machine, kind: string): Promise<number> {
  const text = await (await fetch(`${machine.server.base}/metrics`)).text();
  return Number(new RegExp(`^airsplice_tls_handshakes_total\\{kind="${kind}"\\} (\\d+)`, 'm').exec(text)?.[1] ?? 0);
}

t.test('two workers', { skip: missing('openssl') }, async (t) => {
  const folder = tempFolder(t);
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const put = (name: string) => {
    copyFileSync(`${PEM}${name}.cert.pem`, certFile);
    copyFileSync(`${PEM}${name}.key.pem`, keyFile);
  };
  put('one');
  const secured = `tls: { certFile: ${certFile}, keyFile: ${keyFile}, sharePort: true }`;
  const machine = await Machine.start(t, (port) => {
    const yaml = demoYaml('', port);
    return yaml.replace(`port: ${port}`, `port: ${port}, ${secured}`);
  });
  const sessions = new Sessions(t);
  await sessions.make(t, machine.port);
  t.ok(await sessions.resume(machine.port), 'in all workers');
  for (const version of VERSIONS) {
    const session = await sessionOf(machine.port, version);
    t.same(await atEachWorker(t, machine, session, version), [true, true], `${version}, each worker`);
  }
  t.ok((await handshakes(machine, 'full')) >= 4);
  t.ok((await handshakes(machine, 'resumed')) >= 8);

  put('two');
  await until(() => machine.logged('certificate renewed') === 2, RESTARTED_MS);
  t.ok(await sessions.resume(machine.port), 'with a new certificate');

  machine.server.child.kill('SIGUSR2');
  await until(
    () => machine.logged('"restarted"') === 1,
    RESTARTED_MS,
    () => machine.news,
  );
  t.ok(await sessions.resume(machine.port), 'with another hub and other workers');

  const [hub] = machine.pidsOf('hub');
  process.kill(hub!, 'SIGKILL');
  await until(() => machine.pidsOf('hub').some((pid) => pid !== hub), RESTARTED_MS);
  await until(async () => (await fetch(`${machine.server.base}/readyz`)).ok, RESTARTED_MS);
  t.ok(await sessions.resume(machine.port), 'the hub was killed');
  t.notMatch(machine.server.out + machine.server.err, /[A-Za-z0-9+/]{64}/, 'no key is logged');
});

t.test('two machines', { skip: noRedis || missing('openssl') }, async (t) => {
  const redis = await RedisServer.start(t);
  const secured = `tls: { certFile: ${PEM}one.cert.pem, keyFile: ${PEM}one.key.pem }`;
  const ports = [await freePort(), await freePort()] as const;
  const start = (name: string, port: number) =>
    ClusterNode.start(t, name, redis, {
      workers: 2,
      sources: [1],
      addresses: `, { host: 127.0.0.1, port: ${port}, shoutcastPort: false, ${secured} }`,
    });
  const one = await start('one', ports[0]);
  const sessions = new Sessions(t);
  await sessions.make(t, ports[0]);
  t.ok(await sessions.resume(ports[0]));
  await start('two', ports[1]);
  await until(() => sessions.resume(ports[1], 1), RESTARTED_MS);
  t.ok(await sessions.resume(ports[1]), 'on the machine that came later');
  t.ok(await sessions.resume(ports[0]), 'and on the one before');

  await one.end();
  t.ok(await sessions.resume(ports[1]), 'the machine that made them has gone');
  await one.start();
  await until(() => sessions.resume(ports[0], 1), RESTARTED_MS);
  t.ok(await sessions.resume(ports[0]), 'and takes those that stand there when it comes back');
});
