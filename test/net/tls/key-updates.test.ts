/** Key updates within a TLS 1.3 connection: at the limit and one past it, for everything that is served, and by a server to which airsplice connects. */

import { lookup } from 'node:dns';
import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import t from 'tap';
import { Redis, RedisLost } from '../../../src/cluster/log/redis.js';
import { proofOf, read, written } from '../../../src/cluster/tapes/tape-auth.js';
import { askForTape } from '../../../src/cluster/tapes/tape-client.js';
import { Outbound } from '../../../src/net/outbound/outbound.js';
import { Target } from '../../../src/net/outbound/target.js';
import { MAX_KEY_UPDATES } from '../../../src/net/tls/key-updates.js';
import { MAX_SILENT_RECORDS } from '../../../src/net/tls/silent-records.js';
import { ONE, PEM } from '../../kit/certificate.js';
import { type KeyUpdater, keyUpdater, keyUpdaterAt } from '../../kit/key-updates.js';
import { keepLines } from '../../kit/log-lines.js';
import { DEMO_AUDIO, startServer } from '../../kit/server.js';
import { until, untilPromised } from '../../kit/until.js';

const SERVER = `
addresses:
  - host: 127.0.0.1
    port: 0
    tls: { certFile: ${PEM}one.cert.pem, keyFile: ${PEM}one.key.pem }
watch: { pingSeconds: 1 }
stations:
  house:
    channels:
      demo: { pushTokens: [demo-token], mounts: [/demo.mp3], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      studio: { sources: [{ type: encoder, password: demo-source, takeover: always }] }
`;
const UPGRADE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
const get = (path: string, rest = 'Host: x') => `GET ${path} HTTP/1.1\r\n${rest}\r\n\r\n`;
const encoder = `SOURCE /studio HTTP/1.0\r\nAuthorization: Basic ${btoa('source:demo-source')}\r\nContent-Type: audio/mpeg\r\n\r\n`;

/** What each client sends first, and how it sees that it is still served. */
const KINDS: Readonly<Record<string, { first: string; isServed?: (client: KeyUpdater) => boolean }>> = {
  listener: { first: get('/demo.mp3'), isServed: ({ got }) => got().length > 60_000 },
  'event stream': { first: get('/metadata/sse/channel/demo'), isServed: ({ got }) => got().endsWith(':\n') },
  WebSocket: {
    first: get('/metadata/channel/demo', `Host: x\r\n${UPGRADE}`),
    isServed: ({ got }) => got().includes('\x89\0'),
  },
  poller: { first: get('/metadata/channel/demo.json') },
  HTTP: { first: get('/healthz') },
  encoder: { first: encoder },
  stranger: { first: '' },
};

t.test('a client that changes its key too often is closed, whatever it asked for', async (t) => {
  const { log, lines } = keepLines();
  const { port } = await startServer(t, SERVER, undefined, log);
  for (const [kind, { first, isServed }] of Object.entries(KINDS)) {
    for (const isAsking of [false, true]) {
      const client = await keyUpdaterAt(port, first);
      const { socket, got } = client;
      t.teardown(() => socket.destroy());
      if (first !== '') await until(() => got().startsWith('HTTP/1.'), 5000);
      socket.write(client.updates(MAX_KEY_UPDATES, isAsking));
      const before = got().length;
      if (isServed !== undefined) await until(() => got().length > before && isServed(client), 10_000);
      t.notOk(socket.destroyed, `${kind}: ${MAX_KEY_UPDATES}`);
      socket.write(client.updates(1, isAsking));
      await untilPromised(
        () => socket.destroyed,
        2000,
        () => `${kind} is there still`,
      );
    }
  }
  // One line a second of an address.
  const line = lines.find(({ reason }) => reason === 'too many key updates');
  t.match(line, { address: '127.0.0.1', status: 429, message: 'connection closed' });
});

t.test('a connection to a server that changes its key too often is closed', async (t) => {
  const sockets: Socket[] = [];
  const server = net.createServer((socket) => void sockets.push(socket.on('error', () => undefined)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const failures: string[] = [];
  let received = 0;
  const options = { lookup, ca: ONE.cert, headBytes: 2048 };
  const request = { target: Target.named(url, undefined, true), method: 'GET', headers: {} } as const;
  const outbound: Outbound = new Outbound(request, options, {
    onAnswer: () => outbound.receive({ onBody: ({ length }) => void (received += length), onEnd: () => undefined }),
    onFailed: (reason) => void failures.push(reason),
  });
  outbound.start();
  t.teardown(() => outbound.abort());
  await until(() => sockets.length === 1, 5000);
  const upstream = await keyUpdater(sockets[0]!, 'server', 'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n');
  upstream.socket.write(Buffer.concat([upstream.updates(MAX_KEY_UPDATES, true), upstream.bytes('x')]));
  await until(
    () => received === 1,
    5000,
    () => failures.join(),
  );
  upstream.socket.write(upstream.updates(1, true));
  await untilPromised(() => upstream.socket.destroyed, 2000);
  t.same(failures, ['the server changes its TLS key more than 32 times a minute']);
});

t.test('a connection to another machine that changes its key too often is closed', async (t) => {
  const sockets: Socket[] = [];
  const server = net.createServer((socket) => void sockets.push(socket.on('error', () => undefined)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const secret = Buffer.from('a secret that all nodes of this test know');
  const options = { secret, node: 'a', url: 'https://a:1', ca: Buffer.from(ONE.cert) };
  const asked = askForTape(`https://127.0.0.1:${port}`, 'live', 'listen', options);
  await until(() => sockets.length === 1, 5000);
  const machine = await keyUpdater(sockets[0]!, 'server', '');
  const { socket, got, updates, bytes } = machine;
  socket.write(updates(MAX_KEY_UPDATES, true));
  const { nonce } = read(/authorization: (.*)\r\n/i.exec(got())![1]!)!;
  const [, path] = got().split(' ');
  const own = 'c'.repeat(nonce.length);
  const proof = { client: nonce, server: own, path: path!, host: `127.0.0.1:${port}` };
  const challenge = written(own, proofOf(secret, { by: 'server', ...proof }));
  socket.write(bytes(`HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: ${challenge}\r\nContent-Length: 0\r\n\r\n`));
  await until(() => /upgrade: airsplice-tape/i.test(got()), 5000);
  socket.write(bytes('HTTP/1.1 101 Switching Protocols\r\nUpgrade: airsplice-tape\r\nConnection: Upgrade\r\n\r\nx'));
  const stream = await asked;
  t.equal(String((await once(stream, 'data'))[0]), 'x', `${MAX_KEY_UPDATES} are allowed`);
  socket.write(updates(1, true));
  await untilPromised(() => socket.destroyed && stream.destroyed, 2000);
});

t.test('a Redis that changes its key too often is left, one that answers is not', async (t) => {
  const sockets: Socket[] = [];
  const server = net.createServer((socket) => void sockets.push(socket.on('error', () => undefined)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  const url = `rediss://localhost:${(server.address() as AddressInfo).port}`;
  const options = { url, sentinels: [], master: '', answerMs: 60_000, ca: Buffer.from(ONE.cert) };
  const reasons: string[] = [];
  const connected = Redis.connect(options, {}, ({ message }) => reasons.push(message));
  await until(() => sockets.length === 2, 5000);
  // Which of them asks is not known before it does.
  const made = sockets.map((socket) => keyUpdater(socket, 'server', '*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n'));
  const asked = await Promise.race(made);
  for (const one of made) one.catch(() => undefined);
  const redis = await connected;
  const all = MAX_SILENT_RECORDS;
  const pings = Array.from({ length: 2 * all }, () => redis.ask(['PING']));
  asked.socket.write(asked.updates(MAX_KEY_UPDATES, true));
  // Each byte is a record of its own.
  asked.socket.write(asked.bytes('+PONG\r\n'.repeat(pings.length)));
  t.same(new Set(await Promise.all(pings)), new Set(['PONG']), 'records with data count for nothing');
  t.same(reasons, []);
  const late = redis.ask(['PING']);
  late.catch(() => undefined);
  asked.socket.write(asked.updates(5000, false));
  const { user } = process.cpuUsage();
  await untilPromised(() => sockets.every(({ destroyed }) => destroyed), 5000);
  t.ok(process.cpuUsage().user - user < 500_000, `${process.cpuUsage().user - user} µs of CPU`);
  await t.rejects(late, RedisLost);
  t.same(reasons, [`Redis cannot be reached: it sends more than ${all} TLS records without data in a minute`]);
});
