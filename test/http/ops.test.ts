/** What operators and their tools look at while the server stops: it is not ready, and it ends within its grace. */

import t, { type Test } from 'tap';
import { demoYaml, startServer } from '../kit/server.js';
import { awaited, until } from '../kit/until.js';
import { peerOf, Wire } from '../kit/wire.js';

/** A request whose head has come in part: the server waits for the rest, up to limits.headSeconds. */
async function beginRequest(t: Test, port: number): Promise<Wire> {
  const wire = new Wire(t, port);
  await until(() => wire.socket.readyState === 'open', 5000);
  wire.send('GET /readyz HTTP/1.1\r\n');
  await until(() => peerOf(wire.socket).bytesRead > 0, 5000);
  return wire;
}

t.test('/readyz says no while the server drains', async (t) => {
  const { app, port } = await startServer(t, `${demoYaml()}\nshutdown: { graceSeconds: 5 }`);
  const before = await beginRequest(t, port);
  before.send('Host: x\r\n\r\n');
  const [ready] = await before.take(1);
  t.equal(ready!.status, 200);
  t.equal(ready!.body, 'ready\n');
  const wire = await beginRequest(t, port);
  const stopped = app.stop();
  wire.send('Host: x\r\n\r\n');
  const [answer] = await wire.take(1);
  t.equal(answer!.status, 503);
  t.equal(answer!.body, 'not ready\n');
  t.equal(answer!.headers.get('retry-after'), '5');
  await stopped;
});

for (const [name, graceSeconds, stopMs, minMs] of [
  ['shutdown.graceSeconds', 2, undefined, 1400],
  ['what the caller gives, where that is less', 600, 1000, 400],
  ['shutdown.graceSeconds, where the caller gives more', 2, 600_000, 1400],
] as const) {
  t.test(`a connection that does not end is waited for no longer than ${name}`, async (t) => {
    const limits = 'limits: { headSeconds: 300 }';
    const { app, port } = await startServer(t, `${demoYaml()}\nshutdown: { graceSeconds: ${graceSeconds} }\n${limits}`);
    await beginRequest(t, port);
    const startMs = performance.now();
    await awaited(app.stop(stopMs), 5000, () => 'it waits longer');
    const tookMs = performance.now() - startMs;
    t.ok(tookMs > minMs, `it waits: ${tookMs} ms`);
  });
}
