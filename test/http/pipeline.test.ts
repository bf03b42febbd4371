/** Many requests on one connection: each is looked at when the answer before it has gone out, whatever it asks for. */

import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import t from 'tap';
import { PEM } from '../kit/certificate.js';
import { demoYaml, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { arrived, peerOf, Wire } from '../kit/wire.js';

t.jobs = 9;

const ADDRESSES = `addresses:
  - { host: 127.0.0.1, port: 0 }
  - { host: 127.0.0.1, port: 0, roles: [legacy] }
  - { host: 127.0.0.1, port: 0, tls: { certFile: ${PEM}one.cert.pem, keyFile: ${PEM}one.key.pem, sharePort: true } }`;
const LEGACY = 'legacy: { deprecatedOn: 2026-01-01, sunsetOn: 2027-12-31, successor: "https://api.example.com/new" }';

const { app, port } = await startServer(t, demoYaml(LEGACY).replace(/^addresses: .*$/m, ADDRESSES));

const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
const H2C = 'Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\nUpgrade: h2c\r\n';
const UPGRADE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const push = (song: string) => get(`/metapush/demo/demo-token?song=${song}`);

for (const [i, what] of ['plain', 'legacy', 'shared with TLS, in the clear'].entries()) {
  t.test(`an offer of h2c behind a request whose answer is owed: ${what}`, async (t) => {
    const wire = new Wire(t, app.ports[i]!).send(get('/readyz') + get('/readyz', H2C));
    await wire.take(2);
    const answers = await wire.send(get('/readyz')).take(3);
    t.same(
      answers.map(({ status }) => status),
      [200, 200, 200],
    );
  });
}

t.test('an offer of h2c behind a request whose answer is owed: over TLS', async (t) => {
  const socket = tls.connect({ host: '127.0.0.1', port: app.ports[2]!, rejectUnauthorized: false });
  t.teardown(() => socket.destroy());
  let got = '';
  socket.on('data', (chunk: Buffer) => {
    got += chunk.toString('latin1');
  });
  const count = () => got.split('HTTP/1.1 200 OK').length - 1;
  socket.write(get('/readyz') + get('/readyz', H2C));
  await until(() => count() === 2, 20_000);
  socket.write(get('/readyz'));
  await until(() => count() === 3, 20_000);
  t.pass('all three are answered');
});

t.test('an offer with a body, whole, in pieces or in chunks, is a request without an offer', async (t) => {
  const body = JSON.stringify({ song: 'with a body', artist: '', duration: 1 });
  const [first, second] = [body.slice(0, 9), body.slice(9)];
  const post = (headers: string) =>
    `POST /metapush/demo/demo-token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}\r\n`;
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  for (const offer of [H2C, UPGRADE]) {
    const length = post(`${offer}Content-Length: ${body.length}\r\n`);
    const chunked = post(`${offer}Transfer-Encoding: chunked\r\n`);
    for (const pieces of [
      [length + body, get('/readyz')],
      [length + body + get('/readyz')],
      [length + first, second + get('/readyz')],
      [chunked + chunk(first), `${chunk(second)}0\r\n\r\n`, get('/readyz')],
      [`${chunked}${chunk(first)}${chunk(second)}0\r\n\r\n${get('/readyz')}`],
    ]) {
      const wire = new Wire(t, port);
      for (const piece of pieces) wire.send(piece);
      const [answer] = await wire.take(1);
      t.equal(answer!.status, 200, pieces.join('·'));
      t.equal(answer!.json().song, 'with a body');
      // Two answers, or the connection is closed.
      if (answer!.headers.get('connection') === 'close') await wire.untilClosed();
      else t.equal((await wire.take(2))[1]!.status, 200);
    }
  }
});

t.test('fifty offers on one connection leave nothing behind', async (t) => {
  const warnings: string[] = [];
  const warned = (warning: Error) => warnings.push(warning.message);
  process.on('warning', warned);
  t.teardown(() => process.off('warning', warned));
  const wire = new Wire(t, port).send(get('/readyz', H2C).repeat(50));
  t.same(new Set((await wire.take(50)).map(({ status }) => status)), new Set([200]));
  for (const event of ['data', 'end', 'close', 'drain', 'error', 'timeout', 'resume', 'pause']) {
    const count = peerOf(wire.socket).listenerCount(event);
    t.ok(count < 4, `${event}: ${count} listeners`);
  }
  t.same(warnings, []);
});

t.test('what takes the connection waits for the answer before it', async (t) => {
  const statuses = (wire: Wire) => [...wire.got.matchAll(/HTTP\/1\.[01] (\d+)/g)].map((match) => Number(match[1]));
  await until(async () => (await fetch(`http://127.0.0.1:${port}/demo.mp3`, { method: 'HEAD' })).ok, 20_000);
  for (const [what, bytes, wanted] of [
    ['a WebSocket', get('/metadata/channel/demo', UPGRADE), [200, 101]],
    ['an event stream', get('/metadata/sse/channel/demo'), [200, 200]],
    ['a listener', get('/demo.mp3'), [200, 200]],
    ['a listener at the wrong mount', get('/none.mp3') + get('/readyz'), [200, 404, 200]],
    ['what is no HTTP', 'rubbish\r\n\r\n', [200, 400]],
    ['a head that is too long', `GET / HTTP/1.1\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`, [200, 431]],
    ['CONNECT', 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', [200]],
  ] as const) {
    const wire = new Wire(t, port).send(push('First') + bytes);
    await until(
      () => statuses(wire).length >= wanted.length,
      20_000,
      () => `${what}: ${wire.got}`,
    );
    t.same(statuses(wire), wanted, what);
    t.match(wire.answers()[0]?.body, /First/, `${what}: the first answer is whole, and comes first`);
    wire.socket.destroy();
  }
});

t.test('bodies with blank lines in them, and requests right behind, cut anywhere', async (t) => {
  const body = '{\r\n\r\n"song":\n\n"Blank","artist":"A","duration":9\n\n\n}\n\n';
  const json = 'Content-Type: application/json\r\n';
  const post = 'POST /metapush/studio/studio-token HTTP/1.1\r\nHost: x\r\n';
  const chunks = [...body].map((letter) => `1\r\n${letter}\r\n`).join('');
  const bytes = [
    `\r\n${post}${json}Content-Length: ${body.length}\r\n\r\n${body}`,
    get('/readyz'),
    `${post}${json}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\nX: trailer\r\n\r\n`,
    `${post}${json}Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    `${post.replace('studio-token', 'wrong')}${json}Content-Length: ${body.length}\r\n\r\n${body}`,
    get('/healthz'),
  ].join('');
  const wanted = [200, 200, 200, 100, 200, 403, 200];
  const cuts = Array.from({ length: 24 }, (_, i) => Math.floor((i * bytes.length) / 23));
  await Promise.all(
    cuts.map(async (cut) => {
      const wire = new Wire(t, port).send(bytes.slice(0, cut));
      await arrived(wire.socket);
      wire.send(bytes.slice(cut));
      const answers = await wire.take(wanted.length);
      t.same(
        answers.map(({ status }) => status),
        wanted,
        `cut at ${cut}`,
      );
    }),
  );
});

t.test('a watcher and a waiting listener that sent more behind their request are gone when they end', async (t) => {
  // An upstream that says nothing: a listener waits.
  const upstream = net.createServer((socket) => void socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  t.teardown(() => upstream.close());
  const mute = (upstream.address() as net.AddressInfo).port;
  const yaml = `
addresses: [{ host: 127.0.0.1, port: 0 }]
streams: { startTimeoutSeconds: 60 }
limits: { watchers: 1, listeners: 1 }
stations:
  house:
    channels:
      studio: { mounts: [/studio.mp3], sources: [{ type: pull, onDemand: true, url: 'http://127.0.0.1:${mute}/', allowPrivate: true }] }
`;
  const { port } = await startServer(t, yaml);
  /** One that has a place, of which there is one. */
  const seated = async (bytes: string, describe = () => 'no place') => {
    let wire!: Wire;
    const isSeated = async () => {
      wire = new Wire(t, port, { halfOpen: true }).send(bytes);
      await until(() => wire.got.includes('\r\n\r\n'), 20_000);
      // By then a refusal would have come too.
      for (let i = 0; i < 3; i++) await (await fetch(`http://127.0.0.1:${port}/healthz`)).text();
      const isRefused = wire.got.includes(' 503 ');
      if (isRefused) wire.socket.destroy();
      return !isRefused;
    };
    await until(isSeated, 10_000, describe);
    return wire;
  };
  const sse = get('/metadata/sse/channel/studio');
  // Not the first request on its connection: Node's server reads it.
  const listen = get('/readyz') + get('/studio.mp3');
  for (const [what, bytes] of [
    ['a watcher', sse],
    ['a listener', listen],
  ] as const) {
    for (const [how, leave] of Object.entries({
      FIN: (wire: Wire): void => void wire.socket.end(),
      RST: (wire: Wire): void => void wire.socket.resetAndDestroy(),
    })) {
      for (const behind of ['x', get('/readyz'), `${get('/readyz')}x`]) {
        const first = await seated(bytes);
        first.send(behind);
        leave(first);
        const next = await seated(bytes, () => `${what}, ${how}, ${JSON.stringify(behind)}: its place is taken`);
        next.socket.destroy();
      }
    }
  }
  t.pass('both are gone');
});

t.test('nothing is answered ahead to a client that does not read', async (t) => {
  const document = await (await fetch(`http://127.0.0.1:${port}/openapi.json`)).text();
  const wire = new Wire(t, port);
  await wire.send(get('/healthz')).take(1);
  const peer = peerOf(wire.socket);
  wire.socket.pause();
  const wanted = Math.ceil(30_000_000 / document.length);
  wire.send(get('/openapi.json').repeat(wanted) + push('Behind'));
  await until(() => peer.writableLength > 0, 20_000);
  const bytes = peer.bytesWritten;
  let most = 0;
  await until(async () => {
    // Other requests are answered, so the loop has gone round; here nothing moves.
    await (await fetch(`http://127.0.0.1:${port}/healthz`)).text();
    return ++most === 20;
  }, 20_000);
  t.equal(peer.bytesWritten, bytes, 'no further answer was made');
  t.ok(peer.writableLength < 2 * document.length, `${peer.writableLength} bytes wait`);
  const { song } = (await (await fetch(`http://127.0.0.1:${port}/metadata/channel/demo.json`)).json()) as never;
  t.not(song, 'Behind', 'nor is what stands behind done');
  wire.socket.resume();
  await until(() => wire.got.includes('"Behind"'), 60_000);
  t.equal(wire.got.split('"openapi":').length - 1, wanted, 'and all of it when the client reads');
});
