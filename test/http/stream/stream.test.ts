/** `GET` and `HEAD` of a mount whose audio is still to come. The whole server. */

import t, { type Test } from 'tap';
import { until } from '../../kit/player.js';
import { Random } from '../../kit/random.js';
import { startServer } from '../../kit/server.js';
import { audioOf, streamHead, Upstream } from '../../kit/upstream.js';
import { arrived, ask, peerOf, Wire } from '../../kit/wire.js';

/** A relay of an upstream that has the request and has not answered yet. */
async function relay(t: Test, startTimeoutSeconds: number) {
  const upstream = await Upstream.open(t);
  const { app, port } = await startServer(
    t,
    `addresses: [{ host: 127.0.0.1, port: 0 }]
streams: { startTimeoutSeconds: ${startTimeoutSeconds} }
shutdown: { graceSeconds: 5 }
stations:
  house:
    channels:
      relay: { sources: [{ type: pull, url: '${upstream.url}', allowPrivate: true, connectTimeoutSeconds: 60 }] }
`,
  );
  await until(() => upstream.sockets.length > 0, 5000);
  return { upstream, app, port };
}

const requestOf = (method: string) => `${method} /relay HTTP/1.1\r\nHost: x\r\nIcy-MetaData: 1\r\n\r\n`;

/** A GET that the server has. */
async function listen(t: Test, port: number): Promise<Wire> {
  const wire = new Wire(t, port).send(requestOf('GET'));
  await until(() => wire.socket.readyState === 'open' && peerOf(wire.socket).bytesRead > 0, 5000);
  return wire;
}

const headOf = ({ got }: Wire) => got.slice(0, got.indexOf('\r\n\r\n') + 4);

t.test('HEAD is 503 while GET waits for audio, and has the same head as soon as GET plays', async (t) => {
  const { upstream, port } = await relay(t, 30);
  const get = await listen(t, port);
  const [refused] = await new Wire(t, port).send(requestOf('HEAD')).take(1, 5000, 1);
  t.equal(refused!.status, 503);
  t.ok(refused!.headers.get('retry-after'));
  t.equal(get.got, '', 'GET waits');
  upstream.sockets[0]!.write(streamHead());
  upstream.sockets[0]!.write(audioOf(new Random(), 200));
  await until(() => headOf(get) !== '', 10_000);
  const head = new Wire(t, port).send(requestOf('HEAD'));
  await until(() => head.ended, 5000);
  t.match(head.got, /^HTTP\/1\.0 200 OK\r\n/);
  t.match(head.got, /\r\nicy-metaint: \d+\r\n/);
  t.equal(head.got, headOf(get));
});

t.test('where no audio comes in time GET is refused', async (t) => {
  const { port } = await relay(t, 1);
  const answer = await ask(t, port, 'GET /relay HTTP/1.1');
  t.equal(answer.status, 503);
  t.ok(answer.headers.get('retry-after'));
});

t.test('HEAD is 503 as GET is while the server stops, with audio too', async (t) => {
  const { upstream, app, port } = await relay(t, 30);
  upstream.sockets[0]!.write(streamHead());
  upstream.sockets[0]!.write(audioOf(new Random(), 200));
  await until(async () => (await ask(t, port, 'HEAD /relay HTTP/1.1')).status === 200, 10_000);
  // A push under way keeps the connection while the server stops; HEAD follows on it.
  const json = 'Content-Type: application/json\r\nContent-Length: 2\r\n';
  const wire = new Wire(t, port).send(`POST /metapush/relay/wrong HTTP/1.1\r\nHost: x\r\n${json}\r\n`);
  await arrived(wire.socket);
  const stopped = app.stop();
  wire.send(`{}${requestOf('HEAD')}`);
  await wire.untilClosed();
  const statuses = [...wire.got.matchAll(/HTTP\/1\.[01] (\d+)/g)].map(([, status]) => status);
  t.same(statuses, ['403', '503'], wire.got);
  await stopped;
});
