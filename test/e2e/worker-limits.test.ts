/**
 * Limits and figures of a server of several processes, with clients that are put on one worker or the other: a second after something has happened in
 * one it counts in all of them.
 */

import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { MachineDelay } from '../kit/machine-delay.js';
import { freePorts, ServerProcess } from '../kit/process.js';
import { DEMO_AUDIO } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';
import { Wire } from '../kit/wire.js';

const WORKERS = 2;
const STARTED_MS = 30_000;
/** Connections that are opened to one worker. */
const AT_ONCE = 30;
/** Within which what happens in one process is known to all. */
const KNOWN_MS = 1000;
const yaml = (port: number, folder: string) => `
workers: ${WORKERS}
addresses: [{ host: 127.0.0.1, port: ${port} }]
data: { folder: ${join(folder, 'data')} }
proxies: { trusted: [127.0.0.1] }
limits: { listenersPerAddress: 3, listeners: 6, watchersPerAddress: 2, watchers: 4, pushBurst: 4, pushesPerMinute: 1, wrongSecretsPerMinute: 4, headSeconds: 120 }
stations:
  house:
    channels:
      demo: { bitrateKbps: 128, mounts: [/demo.mp3], pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      other: { bitrateKbps: 128, mounts: [/other.mp3], pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
`;

class Machine {
  readonly server: ServerProcess;
  readonly #t: Test;
  /** Open connections on which nothing was said yet, by the worker that has the other end. */
  readonly #silent = new Map<number, Wire[]>();

  private constructor(t: Test, server: ServerProcess) {
    this.#t = t;
    this.server = server;
  }

  static async start(t: Test): Promise<Machine> {
    const folder = tempFolder(t);
    const port = await freePorts(2);
    const path = join(folder, 'config.yaml');
    writeFileSync(path, yaml(port, folder));
    const machine = new Machine(t, new ServerProcess(t, port, [path], { TMPDIR: folder }));
    await machine.server.ready();
    await until(() => machine.workers.length === WORKERS && machine.server.out.includes('plays'), STARTED_MS);
    return machine;
  }

  get workers(): number[] {
    return this.#children('worker');
  }

  /** A connection that this worker has accepted. */
  async to(worker: number): Promise<Wire> {
    const silent = this.#silent.get(worker) ?? [];
    if (silent.length === 0) this.#silent.set(worker, silent);
    while (silent.length === 0) silent.push(...(await this.#connectTo(worker)));
    return silent.pop()!;
  }

  /** Where nothing happens one worker may accept all: the others stand still for the moment, which is far less than what counts as hanging. */
  async #connectTo(worker: number): Promise<Wire[]> {
    const others = this.workers.filter((pid) => pid !== worker);
    let owners = new Map<number, number>();
    for (const pid of others) process.kill(pid, 'SIGSTOP');
    try {
      const wires = Array.from({ length: AT_ONCE }, () => new Wire(this.#t, this.server.port));
      await until(() => {
        owners = this.#owners();
        return wires.every(({ socket }) => owners.has(socket.localPort ?? 0));
      }, STARTED_MS);
      // A worker that has only just started may have taken some.
      return wires.filter(({ socket }) => owners.get(socket.localPort!) === worker);
    } finally {
      for (const pid of others) process.kill(pid, 'SIGCONT');
    }
  }

  /** A request to this worker. @param from the client's address */
  async ask(worker: number, path: string, from = '192.0.2.200', headers = ''): Promise<Wire> {
    const wire = await this.to(worker);
    return wire.send(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: ${from}\r\n${headers}\r\n`);
  }

  /** The status that such a request gets. */
  async status(worker: number, path: string, from?: string, headers?: string): Promise<number> {
    const wire = await this.ask(worker, path, from, headers);
    await until(() => wire.got.includes('\r\n\r\n'), STARTED_MS);
    return Number(wire.got.split(' ')[1]);
  }

  /** The sum of a metric's rows; `label` is a part of them. Asked for at this worker. */
  async metric(worker: number, name: string, label = ''): Promise<number> {
    const wire = await this.to(worker);
    wire.send('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const [answer] = await wire.take(1);
    const rows = answer!.body.split('\n').filter((row) => row.startsWith(`${name}{`) || row.startsWith(`${name} `));
    return rows.filter((row) => row.includes(label)).reduce((sum, row) => sum + Number(row.split(' ').at(-1)), 0);
  }

  /** What a worker's statistics say of the channel. */
  async statistics(worker: number): Promise<{ readonly listeners: number; readonly listener_peak: number }> {
    const [answer] = await (await this.ask(worker, '/status-json.xsl?mount=/demo.mp3')).take(1);
    return answer!.json().icestats.source;
  }

  /** The time passes within which all processes know what has happened so far. */
  async known(t: Test): Promise<void> {
    const startMs = performance.now();
    const delays = [...this.workers, ...this.#children('hub')].map((pid) => new MachineDelay(t, pid));
    const delayMs = () => Math.max(...delays.map(({ totalMs }) => totalMs));
    await until(() => performance.now() - startMs >= KNOWN_MS + delayMs(), STARTED_MS);
  }

  #children(role: string): number[] {
    const { pid } = this.server.child;
    const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ').map(Number);
    return pids.filter((each) => nameOf(each).startsWith(`airsplice ${role}`));
  }

  /** Clients' ports → the workers that have the other ends of their connections. */
  #owners(): Map<number, number> {
    const local = `0100007F:${this.server.port.toString(16).toUpperCase().padStart(4, '0')}`;
    const rows = readFileSync('/proc/net/tcp', 'latin1').split('\n');
    const ports = new Map<string, number>();
    for (const row of rows) {
      const [, from, to = '', , , , , , , inode] = row.trim().split(/\s+/);
      // The listening socket has no other end.
      if (from === local && !to.endsWith(':0000'))
        ports.set(`socket:[${inode}]`, Number.parseInt(to.split(':')[1] ?? '', 16));
    }
    const owners = new Map<number, number>();
    for (const pid of this.workers) {
      for (const file of filesOf(pid)) if (ports.has(file)) owners.set(ports.get(file)!, pid);
    }
    return owners;
  }
}

/** What it calls itself; "": it has ended. */
function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}

function filesOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).map((name) => linkOf(`${folder}/${name}`));
  } catch {
    return [];
  }
}

/** "": it was closed meanwhile. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

t.test(
  'limits and figures are of all processes',
  { skip: existsSync('/proc/net/tcp') ? false : 'Linux' },
  async (t) => {
    const machine = await Machine.start(t);
    const [one, two] = machine.workers as [number, number];
    const open: Wire[] = [];
    const listen = async (worker: number, from: string) => {
      const wire = await machine.ask(worker, '/demo.mp3', from, 'User-Agent: test\r\n');
      await until(() => wire.got.includes('\r\n\r\n'), STARTED_MS);
      const status = Number(wire.got.split(' ')[1]);
      if (status === 200) open.push(wire);
      return status;
    };

    await t.test('listeners of an address', async (t) => {
      for (const worker of [one, two, one]) t.equal(await listen(worker, '192.0.2.1'), 200);
      await machine.known(t);
      for (const worker of [one, two]) t.equal(await listen(worker, '192.0.2.1'), 503, 'one past it');
    });

    await t.test('listeners in all; statistics and metrics say the same everywhere', async (t) => {
      for (const [i, worker] of [one, two, two].entries()) t.equal(await listen(worker, `192.0.2.${10 + i}`), 200);
      await machine.known(t);
      for (const worker of [one, two]) t.equal(await listen(worker, '192.0.2.20'), 503, 'one past it');
      for (const worker of [one, two]) {
        t.match(await machine.statistics(worker), { listeners: 4, listener_peak: 4, typical_lag: Number }, 'each once');
        t.equal(await machine.metric(worker, 'airsplice_listeners', 'demo'), 6);
        t.equal(await machine.metric(worker, 'airsplice_unique_listeners', 'demo'), 4);
        t.equal(await machine.metric(worker, 'airsplice_workers'), 2);
      }
      open.pop()!.socket.destroy();
      await machine.known(t);
      t.equal(await listen(one, '192.0.2.20'), 200, 'a place that was given back elsewhere');
    });

    await t.test('watchers of an address, and in all', async (t) => {
      const path = '/metadata/sse/channel/demo';
      const watch = (worker: number, from: string) =>
        machine.status(worker, path, from, 'Accept: text/event-stream\r\n');
      for (const worker of [one, two]) t.equal(await watch(worker, '192.0.2.1'), 200);
      await machine.known(t);
      for (const worker of [one, two])
        t.equal(await watch(worker, '192.0.2.1'), 503, 'one past what an address may have');
      for (const worker of [one, two]) t.equal(await watch(worker, '192.0.2.2'), 200);
      await machine.known(t);
      for (const worker of [one, two]) t.equal(await watch(worker, '192.0.2.3'), 503, 'one past it');
      t.equal(await machine.metric(two, 'airsplice_watchers'), 4);
    });

    await t.test('pushes to a channel', async (t) => {
      const push = (worker: number) => machine.status(worker, '/metapush/demo/demo-token?song=x');
      for (const worker of [one, two, one, two]) t.equal(await push(worker), 200);
      await machine.known(t);
      for (const worker of [one, two]) t.equal(await push(worker), 429, 'one past it');
    });

    await t.test('wrong secrets', async (t) => {
      const from = '192.0.2.66';
      const push = (worker: number, token: string) => machine.ask(worker, `/metapush/other/${token}?song=x`, from);
      for (const worker of [one, two, one, two]) {
        t.equal((await (await push(worker, 'wrong')).take(1))[0]!.status, 403);
      }
      await machine.known(t);
      const startMs = performance.now();
      const asked = await Promise.all([one, two].map((worker) => push(worker, 'demo-token')));
      const answers = await Promise.all(asked.map((wire) => wire.take(1)));
      // Each second one has its turn, and which of the two comes first is open.
      t.ok(performance.now() - startMs >= 900, 'one past it waits, right or wrong');
      t.same(
        answers.map(([answer]) => answer!.status),
        [200, 200],
      );
      t.equal(await machine.status(one, '/metapush/other/demo-token?song=x', '192.0.2.67'), 200, 'others do not wait');
    });

    await t.test('what a worker that is killed had is free, and what it had counted stays', async (t) => {
      const pushed = await machine.metric(two, 'airsplice_pushes_total');
      process.kill(one, 'SIGKILL');
      await until(() => !existsSync(`/proc/${one}`), STARTED_MS);
      await machine.known(t);
      // Of the three of this address two were there.
      for (let i = 0; i < 2; i++) t.equal(await listen(two, '192.0.2.1'), 200);
      t.equal(await listen(two, '192.0.2.1'), 503, 'one past it');
      await until(() => machine.workers.length === WORKERS, STARTED_MS);
      await until(async () => (await machine.metric(two, 'airsplice_workers')) === 2, STARTED_MS);
      t.equal(await machine.metric(two, 'airsplice_pushes_total'), pushed);
      t.equal(await machine.metric(two, 'airsplice_process_restarts_total', 'worker'), 1);
      t.equal(await machine.metric(two, 'airsplice_process_restarts_total', 'hub'), 0);
      const three = machine.workers.find((pid) => pid !== two)!;
      await machine.known(t);
      t.equal(await listen(three, '192.0.2.1'), 503, 'a new one knows what the others have');
      t.match(await machine.statistics(three), { listener_peak: (await machine.statistics(two)).listener_peak });
    });
    await machine.server.end('SIGTERM');
  },
);
