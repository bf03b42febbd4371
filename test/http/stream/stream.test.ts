/** `GET` and `HEAD` of a mount whose audio is still to come. The whole server. */

import t, { type Test } from 'tap';
import { until } from '../../kit/player.js';
import { Random } from '../../kit/random.js';
import { startServer } from '../../kit/server.js';
import { audioOf, streamHead, Upstream } from '../../kit/upstream.js';
import { type Answer, ask, peerOf, Wire } from '../../kit/wire.js';

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

/** The server has the request. */
async function begin(t: Test, port: number, method: string): Promise<Wire> {
  const wire = new Wire(t, port).send(`${method} /relay HTTP/1.1\r\nHost: x\r\nIcy-MetaData: 1\r\n\r\n`);
  await until(() => wire.socket.readyState === 'open' && peerOf(wire.socket).bytesRead > 0, 5000);
  return wire;
}

const headOf = ({ got }: Wire) => got.slice(0, got.indexOf('\r\n\r\n') + 4);

t.test('HEAD waits for audio as GET does, and has the same head', async (t) => {
  const { upstream, port } = await relay(t, 30);
  const [get, head] = [await begin(t, port, 'GET'), await begin(t, port, 'HEAD')];
  t.same([get.got, head.got], ['', '']);
  upstream.sockets[0]!.write(streamHead());
  upstream.sockets[0]!.write(audioOf(new Random(), 200));
  await until(() => headOf(get) !== '' && head.ended, 10_000);
  t.match(head.got, /^HTTP\/1\.0 200 OK\r\n/);
  t.match(head.got, /\r\nicy-metaint: \d+\r\n/);
  t.equal(head.got, headOf(get));
});

t.test('where none comes in time both are refused', async (t) => {
  const { port } = await relay(t, 1);
  const refused = (answer: Answer) => {
    t.equal(answer.status, 503);
    t.ok(answer.headers.get('retry-after'));
  };
  refused(await ask(t, port, 'HEAD /relay HTTP/1.1'));
  refused(await ask(t, port, 'GET /relay HTTP/1.1'));
});

t.test('a HEAD that waits is refused as soon as the server stops', async (t) => {
  const { app, port } = await relay(t, 30);
  const head = await begin(t, port, 'HEAD');
  const stopped = app.stop();
  const [answer] = await head.take(1, 4000, 1);
  t.equal(answer!.status, 503);
  await stopped;
});
