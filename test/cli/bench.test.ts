/** A bounded load of a real server, and what it refuses to load. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { load } from '../../src/cli/bench.js';
import { airsplice } from '../kit/command-line.js';
import { pause } from '../kit/pause.js';
import { demoYaml, startServer } from '../kit/server.js';

const NEVER = new AbortController().signal;

t.test('listeners get whole streams; what is measured', async (t) => {
  const { base } = await startServer(t, demoYaml());
  const ran = load({ url: base, channel: 'demo', listeners: 20, seconds: 6 }, NEVER);
  // So that the title is none of the first ones.
  await pause(1500);
  t.equal((await fetch(`${base}/metapush/demo/demo-token?song=Changed`)).status, 200);
  const report = await ran;
  t.match(report, { listeners: 20, failed: 0, faults: [], joinMs: { p50: Number, p99: Number } });
  t.ok(report.megabits > 20 * 0.1 && report.megabits < 20 * 1, `${report.megabits} Mb/s`);
  t.ok(report.titleLagMs !== null && report.titleLagMs.p99 < 6000, JSON.stringify(report.titleLagMs));
});

t.test('the command; a stream with bytes that are none of it fails', async (t) => {
  const { base } = await startServer(t, demoYaml());
  const { code, out } = await airsplice([
    'bench',
    '--url',
    base,
    '--listeners',
    '3',
    '--seconds',
    '2',
    '--channel',
    'demo',
  ]);
  t.equal(code, 0, out);
  t.match(out, /^3 listeners of demo, 0 failed\n {2}join +p50 \d+ ms, p99 \d+ ms\n {2}throughput +[\d.]+ Mb\/s\n/);
  const server = createServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'audio/mpeg' });
    response.write('no frames at all '.repeat(1000));
  }).listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  t.teardown(() => server.close());
  t.teardown(() => server.closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const report = await load({ url, channel: 'x', listeners: 2, seconds: 1 }, NEVER);
  t.match(report, { failed: 2, faults: ['unexpected bytes between the frames'] });
});

t.test('another machine only where it is named once more, and then a thousand at most', async (t) => {
  const far = 'http://192.0.2.1';
  t.match(await airsplice(['bench', '--url', far]), {
    code: 2,
    err: /192\.0\.2\.1 is another machine: pass --allow-remote/,
  });
  t.match(await airsplice(['bench', '--url', far, '--allow-remote', '192.0.2.2']), {
    code: 2,
    err: /is another machine/,
  });
  const many = await airsplice(['bench', '--url', far, '--allow-remote', '192.0.2.1', '--listeners', '1001']);
  t.match(many, { code: 2, err: /--listeners must be a number from 1 to 1000/ });
  const local = await airsplice(['bench', '--url', 'http://127.0.0.1:9', '--listeners', '10001']);
  t.match(local, { code: 2, err: /from 1 to 10000/ });
});
