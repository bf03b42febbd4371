/** How a mount is visited: off the bare socket, and by a connection that HTTP had first. */

import t from 'tap';
import { until } from '../kit/player.js';
import { demoYaml, startServer } from '../kit/server.js';
import { accepted, ask, Wire } from '../kit/wire.js';

t.jobs = 9;

t.test('one connection, many listeners (kept alive: HttpVisit)', { buffered: true }, async (t) => {
  const { port } = await startServer(t, demoYaml());
  const wire = new Wire(t, port).send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await wire.take(1);
  for (let i = 0; i < 50; i++) wire.send('GET /demo.mp3 HTTP/1.1\r\nHost: x\r\n\r\n');
  await new Promise((done) => setTimeout(done, 1500));
  const m = (await ask(t, port, 'GET /metrics HTTP/1.1')).body;
  t.match(
    m,
    /listeners\{[^}]*channel="demo"[^}]*\} 1\n/,
    m
      .split('\n')
      .filter((l) => /^airsplice_listeners/.test(l))
      .join(),
  );
});
t.test('HEAD on a mount with the client half open', { buffered: true }, async (t) => {
  const { port } = await startServer(t, demoYaml());
  await new Promise((done) => setTimeout(done, 1500));
  const wire = new Wire(t, port, { halfOpen: true }).send('HEAD /demo.mp3 HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(() => wire.ended, 4000);
  await new Promise((d) => setTimeout(d, 3000));
  t.notOk(
    accepted(port).some((s) => s.remotePort === wire.socket.localPort),
    'server still holds the connection after HEAD',
  );
});
t.test('first packet is exactly "GET "', { buffered: true }, async (t) => {
  const { port } = await startServer(t, demoYaml());
  const wire = new Wire(t, port).send('GET ');
  await new Promise((d) => setTimeout(d, 100));
  wire.send('/healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await wire.take(1);
  t.pass();
});
