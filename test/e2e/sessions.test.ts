/** Sessions with workers: a listener's stream is in one process, who watches, polls and reports in another. Real processes. */

import { existsSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { quietFor } from '../kit/pause.js';
import { freePort, ServerProcess } from '../kit/process.js';
import { childrenOf, connectTo, listeningChildrenOf } from '../kit/process-sockets.js';
import { demoYaml } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

const METAID = 'secret-of-a-player';
const noProc = !existsSync('/proc/net/tcp') && 'needs /proc';

type Record_ = Readonly<Record<string, unknown>>;

class Workers {
  readonly #t: Test;
  readonly server: ServerProcess;
  pids: number[] = [];

  constructor(t: Test, server: ServerProcess) {
    this.#t = t;
    this.server = server;
  }

  static async start(t: Test): Promise<Workers> {
    const folder = tempFolder(t);
    const port = await freePort();
    const path = join(folder, 'config.yaml');
    const data = `data: { folder: ${join(folder, 'data')} }`;
    writeFileSync(path, `workers: 2\n${data}\nlog: { level: debug }\n${demoYaml('', port)}`);
    const workers = new Workers(t, new ServerProcess(t, port, [path], { TMPDIR: folder }));
    await workers.server.ready();
    await workers.look();
    return workers;
  }

  /** Waits until both are there. */
  async look(): Promise<void> {
    const { child, port } = this.server;
    await until(() => (this.pids = listeningChildrenOf(child.pid!, port)).length === 2, 20_000);
  }

  async connect(worker: number): Promise<Socket> {
    const socket = await connectTo(this.pids[worker]!, this.server.port);
    this.#t.teardown(() => socket.destroy());
    return socket;
  }

  /** A listener there, whose audio is thrown away. */
  async listen(worker: number, mount: string): Promise<Socket> {
    const socket = await this.connect(worker);
    let bytes = 0;
    socket.on('data', (chunk) => (bytes += chunk.length));
    socket.write(`GET ${mount}?metaid=${METAID} HTTP/1.0\r\nHost: x\r\n\r\n`);
    await until(() => bytes > 10_000, 10_000);
    return socket;
  }

  async watch(worker: number, query: string, metaid = METAID): Promise<Record_[]> {
    const socket = await this.connect(worker);
    const url = `ws://127.0.0.1:${this.server.port}/metadata/listener/${metaid}${query}`;
    const ws = new WebSocket(url, { createConnection: () => socket });
    ws.on('error', () => undefined);
    const messages: Record_[] = [];
    ws.on('message', (data) => messages.push(JSON.parse(String(data))));
    await until(() => ws.readyState === WebSocket.OPEN, 10_000);
    return messages;
  }

  /** Status and JSON. @param socket connected before */
  async ask(
    worker: number,
    path: string,
    body?: string,
    socket?: Socket,
  ): Promise<{ readonly status: number; readonly json: Record_ }> {
    socket ??= await this.connect(worker);
    return new Promise((resolve, reject) => {
      const request = http.request({
        path,
        createConnection: () => socket,
        method: body === undefined ? 'GET' : 'POST',
        headers: { Host: 'x', ...(body !== undefined && { 'Content-Type': 'application/json' }) },
      });
      request.on('error', reject).on('response', (response) => {
        let text = '';
        response
          .on('data', (chunk) => (text += chunk))
          .on('end', () => {
            const isJson = /json/.test(response.headers['content-type'] ?? '');
            resolve({ status: response.statusCode!, json: isJson ? JSON.parse(text) : {} });
          });
      });
      request.end(body);
    });
  }

  poll(worker: number, query = '', metaid = METAID) {
    return this.ask(worker, `/metadata/listener/${metaid}.json${query}`);
  }

  report(worker: number, heardMs: number, metaid = METAID, socket?: Socket) {
    return this.ask(worker, `/metadata/listener/${metaid}/heard`, JSON.stringify({ heardMs }), socket);
  }

  async push(channel: string, query: string): Promise<void> {
    const response = await fetch(`${this.server.base}/metapush/${channel}/${channel}-token?${query}`);
    if (response.status !== 200) throw new Error(`push: ${response.status}`);
  }
}

function songs(messages: readonly Record_[]): string[] {
  return messages.map(({ type, song }) => `${type} ${song}`);
}

t.test('a listener is watched, polled and corrected from whichever worker', { skip: noProc }, async (t) => {
  const workers = await Workers.start(t);
  await workers.push('demo', 'song=A');
  await workers.push('studio', 'song=S');
  // One waits before the stream starts, in each worker and timing.
  const early = [await workers.watch(0, ''), await workers.watch(1, ''), await workers.watch(1, '?sync=wire')];
  const first = await workers.listen(0, '/demo.mp3');
  await until(() => early.every(({ length }) => length === 1), 10_000);
  const late = [await workers.watch(0, ''), await workers.watch(1, ''), await workers.watch(1, '?sync=wire')];
  const all = [...early, ...late];
  await until(() => all.every(({ length }) => length === 1), 10_000);
  const session = early[0]![0]!['session'];
  for (const [record] of all) t.match(record, { song: 'A', session, mount: '/demo.mp3' });

  await workers.push('demo', 'song=N&tracktype=next');
  await until(() => all.every(({ length }) => length === 2), 10_000);
  await workers.push('demo', 'song=N');
  await until(() => all.every(({ length }) => length === 3), 30_000);
  for (const messages of all) t.same(songs(messages), ['now A', 'next N', 'now N']);
  t.equal(new Set(all.map((messages) => JSON.stringify(messages[2]))).size, 1, 'the same place for all');
  for (const worker of [0, 1]) {
    const polled = await workers.poll(worker);
    t.equal(polled.status, 200);
    t.same(polled.json, all[0]![2]);
    t.match((await workers.poll(worker, '', 'nobody')).status, 404);
    t.equal((await workers.report(worker, 100, 'nobody')).status, 404);
    t.equal((await workers.report(worker, 1e9)).status, 422, 'beyond what was sent');
  }
  // Two at once and one a second, whichever worker they come to.
  const sockets = await Promise.all([0, 1, 0, 1, 0, 1, 0, 1].map((worker) => workers.connect(worker)));
  const begunAt = performance.now();
  const reports = await Promise.all(sockets.map((socket, index) => workers.report(index % 2, 1e9, METAID, socket)));
  const most = 2 + Math.ceil((performance.now() - begunAt) / 1000);
  const taken = reports.filter(({ status }) => status !== 429);
  t.ok(taken.length <= most, `${taken.length} of at most ${most}`);

  // The newest one still playing is the session, wherever it is.
  const second = await workers.listen(1, '/studio.mp3');
  await until(
    () => all.every(({ length }) => length === 4),
    10_000,
    () => all.map(songs).join(' | '),
  );
  for (const messages of all) t.match(messages[3], { song: 'S', mount: '/studio.mp3' });
  for (const worker of [0, 1]) t.same((await workers.poll(worker)).json, all[0]![3]);
  second.destroy();
  await until(() => all.every(({ length }) => length === 5), 10_000);
  for (const messages of all) t.match(messages[4], { song: 'N', session });
  first.destroy();
  await until(
    async () =>
      (await fetch(`${workers.server.base}/metrics`)).text().then((text) => /^airsplice_sessions 0$/m.test(text)),
    10_000,
  );
  for (const worker of [0, 1]) t.match((await workers.poll(worker)).json, { song: 'N', session }, 'for a while');
  await quietFor(300);
  for (const messages of all) t.equal(messages.length, 5, 'nothing was told twice');
  t.notMatch(workers.server.out + workers.server.err, METAID);
});

t.test(
  'a worker that dies takes its sessions along, and the readers of the other hear the next one',
  { skip: noProc },
  async (t) => {
    const workers = await Workers.start(t);
    await workers.push('demo', 'song=A');
    await workers.listen(0, '/demo.mp3');
    const messages = await workers.watch(1, '');
    await until(() => messages.length === 1, 10_000);
    process.kill(workers.pids[0]!, 'SIGKILL');
    const other = workers.pids[1]!;
    await until(async () => (await workers.poll(1)).status === 404, 10_000);
    await until(() => listeningChildrenOf(workers.server.child.pid!, workers.server.port).length === 2, 20_000);
    await workers.look();
    const fresh = workers.pids.findIndex((pid) => pid !== other);
    await workers.listen(fresh, '/demo.mp3');
    await until(() => messages.length === 2, 10_000);
    t.match(messages[1], { song: 'A' });
    t.not(messages[1]!['session'], messages[0]!['session']);
  },
);

t.test('a hub that dies and comes again is told what the workers have', { skip: noProc }, async (t) => {
  const workers = await Workers.start(t);
  await workers.push('demo', 'song=A');
  await workers.listen(0, '/demo.mp3');
  const messages = await workers.watch(1, '');
  await until(() => messages.length === 1, 10_000);
  const { child } = workers.server;
  const hub = childrenOf(child.pid!).find((pid) => !workers.pids.includes(pid))!;
  process.kill(hub, 'SIGKILL');
  const hubs = () => workers.server.err.match(/"process":"hub".*process ready/g)?.length;
  await until(() => hubs() === 2, 20_000);
  for (const worker of [0, 1]) await until(async () => (await workers.ask(worker, '/readyz')).status === 200, 20_000);
  await workers.push('demo', 'song=N&tracktype=next');
  await until(() => messages.length === 2, 10_000);
  const { session } = messages[0]!;
  t.match(messages[1], { type: 'next', song: 'N', session }, 'the same session is followed');
  for (const worker of [0, 1]) {
    const late = await workers.watch(worker, '');
    await until(() => late.length === 2, 10_000);
    t.same(songs(late), ['next N', 'now A']);
    t.match((await workers.poll(worker)).json, { song: 'A', session });
    t.equal((await workers.report(worker, 1e9)).status, 422, 'a report finds it');
  }
  t.equal(messages.length, 2);
});
