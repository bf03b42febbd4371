/** Encoders that are refused for no wrong secret and come again at once: at the limit of their address and one past it, at both acceptors. */

import net from 'node:net';
import t, { type Test } from 'tap';
import { TICK_MS } from '../../../src/base/clock.js';
import { RefusalPace } from '../../../src/http/ingest/refusal-pace.js';
import { FakeClock } from '../../kit/clock.js';
import { feed } from '../../kit/icecast.js';
import { freePorts } from '../../kit/process.js';
import { DEMO_AUDIO, startServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';
import { peerOf, Wire } from '../../kit/wire.js';

// They wait more than they compute.
t.jobs = 3;

const MOST = 3;
const yaml = (port: number) => `
addresses: [{ host: 127.0.0.1, port: ${port} }]
limits: { encodersRefusedPerMinute: ${MOST} }
stations:
  demo:
    channels:
      air: { sources: [{ type: encoder, password: demo-source }, { type: file, path: ${DEMO_AUDIO} }] }
`;
const login = Buffer.from('source:demo-source').toString('base64');
const put = (mount: string) =>
  `PUT ${mount} HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${login}\r\nContent-Type: audio/mpeg\r\n\r\n`;

/** The first line of the answer, and after how many milliseconds it came. */
async function ask(t: Test, port: number, text: string): Promise<[string, number]> {
  const startMs = performance.now();
  const wire = new Wire(t, port).send(text);
  await until(() => wire.got.includes('\n'), 10_000);
  return [wire.got.split('\r\n')[0]!, performance.now() - startMs];
}

for (const [name, refusal, text, at] of [
  ['an unknown mount', 'HTTP/1.0 404 Not Found', put('/nowhere'), 0],
  ['a mount in use', 'HTTP/1.0 409 Conflict', put('/air'), 0],
  ['a channel in use, of SHOUTcast v1', 'invalid password', 'demo-source\r\n', 1],
] as const) {
  t.test(`${name}: past the limit one a second`, async (t) => {
    const port = await freePorts(2);
    const { base } = await startServer(t, yaml(port));
    await feed(t, port, '/air');
    for (let i = 0; i < MOST; i++) {
      t.equal((await ask(t, port + at, text))[0], refusal);
    }
    for (let i = 0; i < 2; i++) {
      const [answer, ms] = await ask(t, port + at, text);
      t.equal(answer, refusal);
      t.ok(ms > 900, `it waits (${Math.round(ms)} ms)`);
    }
    t.equal((await ask(t, port, 'PUT /air HTTP/1.1\r\nHost: x\r\n\r\n'))[0], 'HTTP/1.0 401 Unauthorized');
    t.equal((await fetch(`${base}/metadata/channel/air.json`)).status, 204, 'others do not');
  });
}

t.test('an encoder that leaves meanwhile is forgotten', async (t) => {
  const port = await freePorts(2);
  const { base } = await startServer(t, yaml(port));
  const refusals = async () =>
    /airsplice_encoder\w*\{status="404"\} (\d+)/.exec(await (await fetch(`${base}/metrics`)).text())?.[1];
  for (let i = 0; i < MOST; i++) await ask(t, port, put('/nowhere'));
  t.equal(await refusals(), String(MOST));
  const gone = new Wire(t, port);
  await until(() => gone.socket.readyState === 'open', 5000);
  const peer = peerOf(gone.socket);
  gone.send(put('/nowhere'));
  // Read and judged in one turn: from here on it waits for its answer.
  await until(() => peer.bytesRead > 0, 5000);
  gone.socket.resetAndDestroy();
  await until(() => peer.destroyed, 5000);
  await ask(t, port, put('/nowhere'));
  await ask(t, port, put('/nowhere'));
  t.equal(await refusals(), String(MOST + 2), 'the others only');
});

t.test('many who came at once are not answered all at once: a crowd would hold the loop', async (t) => {
  const clock = new FakeClock();
  const pace = new RefusalPace(clock, { perMinute: 1, remembered: 10 });
  let answered = 0;
  const sockets = Array.from({ length: 1000 }, () => new net.Socket());
  for (const socket of sockets) pace.refuse('192.0.2.1', socket, () => answered++);
  t.equal(answered, 1);
  for (const socket of sockets.slice(900)) socket.emit('close');
  clock.advance(900);
  t.equal(answered, 1);
  let most = 0;
  for (let ticks = 0; ticks < 25; ticks++) {
    const before = answered;
    clock.advance(TICK_MS);
    most = Math.max(most, answered - before);
  }
  t.equal(answered, 900, 'all who are there, within a second');
  t.ok(most <= 50, `${most} in one tick`);
});
