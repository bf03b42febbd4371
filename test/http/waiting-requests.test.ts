/** Requests that wait: at the limit and one past it, by real connections; each ends once. */

import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import t, { type Test } from 'tap';
import { WaitingRequests } from '../../src/http/waiting-requests.js';
import { FakeClock } from '../kit/clock.js';
import { until } from '../kit/until.js';

const MANY = 10_000;

const limits = (most: number, maxFrom = () => most) => ({
  most: () => most,
  maxFrom,
  addressOf: ({ headers }: IncomingMessage) => String(headers['x-from'] ?? ''),
});

async function serve(t: Test, onRequest: (response: ServerResponse) => void): Promise<number> {
  const server = createServer((_request, response) => onRequest(response));
  server.maxConnections = MANY + 10;
  await new Promise<void>((done) => server.listen({ port: 0, host: '127.0.0.1', backlog: MANY }, done));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Clients in a process of their own, so that neither has more open files than the system lets it: `N` asks N times, `-` ends one. */
const CLIENTS = `
const { get } = require('node:http');
const requests = [];
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === '-') requests.shift().destroy();
  else for (let i = Number(line); i > 0; i--) {
    const request = get({ host: '127.0.0.1', port: process.argv[1], agent: false }, (response) => {
      console.log(response.statusCode);
      response.resume();
    });
    requests.push(request.on('error', () => undefined));
  }
});
`;

class Clients {
  /** Of answers, in their order. */
  readonly statuses: number[] = [];
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;

  constructor(t: Test, port: number) {
    this.#child = spawn(process.execPath, ['-e', CLIENTS, String(port)], { stdio: ['pipe', 'pipe', 'inherit'] });
    t.teardown(() => this.#child.kill());
    createInterface({ input: this.#child.stdout }).on('line', (line) => void this.statuses.push(Number(line)));
  }

  ask(times: number): void {
    this.#child.stdin.write(`${times}\n`);
  }

  endOne(): void {
    this.#child.stdin.write('-\n');
  }
}

const files = Number(execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' })) || Number.POSITIVE_INFINITY;

t.test(
  '10,000 wait at a time, and one more does not',
  { timeout: 120_000, skip: files > MANY + 500 ? false : `open files: ${files}` },
  async (t) => {
    const clock = new FakeClock();
    const waiting = new WaitingRequests(clock, limits(MANY));
    let refused = 0;
    const port = await serve(t, (response) => {
      const held = waiting.hold(response, 6000, () => {
        if (!response.destroyed) response.end('ended');
      });
      if (held !== null) return;
      refused++;
      response.writeHead(503).end();
    });
    const clients = new Clients(t, port);
    const { statuses } = clients;
    // Not all at once: a connection that the system refuses would be asked for again after seconds.
    for (let asked = 0; asked < MANY; ) {
      clients.ask(250);
      asked += 250;
      await until(() => waiting.count === asked, 60_000);
    }
    t.strictSame([waiting.count, refused], [MANY, 0], 'at the limit');
    clients.ask(1);
    await until(() => statuses.length === 1, 10_000);
    t.strictSame([waiting.count, refused, statuses], [MANY, 1, [503]], 'one past it');
    clients.endOne();
    await until(() => waiting.count === MANY - 1, 10_000);
    clients.ask(1);
    await until(() => waiting.count === MANY, 10_000);
    clock.advance(5900);
    t.equal(waiting.count, MANY);
    clock.advance(200);
    t.equal(waiting.count, 0, 'each waits for so long');
    await until(() => statuses.length === MANY + 1, 60_000);
    t.strictSame([refused, statuses.filter((status) => status === 200).length], [1, MANY]);
  },
);

t.test('closed, all of them end, and none waits any more', async (t) => {
  const waiting = new WaitingRequests(new FakeClock(), limits(10));
  let ends = 0;
  const port = await serve(t, (response) => {
    const held = waiting.hold(response, 6000, () => {
      ends++;
      response.end();
    });
    if (held === null) response.writeHead(503).end();
  });
  const status = () =>
    new Promise<number>((resolve, reject) => {
      get({ host: '127.0.0.1', port, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode!);
      }).on('error', reject);
    });
  const first = status();
  await until(() => waiting.count === 1, 5000);
  waiting.close();
  waiting.close();
  t.strictSame([await first, ends, waiting.isClosed], [200, 1, true]);
  t.equal(await status(), 503);
});

t.test('an address has its share: at the limit, one past it, and once one of them has ended', async (t) => {
  const clock = new FakeClock();
  const maxFrom = (address: string) => (address === '127.0.0.1' ? Number.POSITIVE_INFINITY : 2);
  const waiting = new WaitingRequests(clock, { ...limits(10), maxFrom });
  const port = await serve(t, (response) => {
    const held = waiting.hold(response, 6000, () => {
      if (!response.destroyed) response.end();
    });
    if (held === null) response.writeHead(503).end();
  });
  const ask = (from: string) => {
    const request = get({ host: '127.0.0.1', port, agent: false, headers: { 'X-From': from } });
    const status = new Promise<number>((resolve) => {
      request.on('response', (response) => resolve(response.resume().statusCode!));
    });
    request.on('error', () => undefined);
    return { request, status };
  };
  const count = async (is: number) => until(() => waiting.count === is, 5000);
  const first = ask('2001:db8:5::1');
  await count(1);
  ask('2001:db8:5::2');
  await count(2);
  t.equal(await ask('2001:db8:5::3').status, 503, 'one past it, from the same network');
  ask('2001:db8:6::1');
  await count(3);
  for (let i = 4; i <= 7; i++) {
    ask('127.0.0.1');
    await count(i);
  }
  first.request.destroy();
  await count(6);
  ask('2001:db8:5::3');
  await count(7);
  t.equal(await ask('2001:db8:5::4').status, 503);
  clock.advance(6000);
  await count(0);
  ask('2001:db8:5::4');
  await count(1);
  clock.advance(6000);
  await count(0);
});
