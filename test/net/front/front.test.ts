/** The front and the HTTP server behind it: what a connection's first bytes say, the times and sizes it may take, what an address serves. */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import net from 'node:net';
import t, { type Test } from 'tap';
import { Roles } from '../../../src/http/roles.js';
import { verdict } from '../../../src/net/front/first-bytes.js';
import { bestOfThree } from '../../kit/best-of-three.js';
import { isLong } from '../../kit/long.js';
import { LoopDelay } from '../../kit/loop-delay.js';
import { pause } from '../../kit/pause.js';
import { startRouted } from '../../kit/routed.js';
import { DEMO_AUDIO, startServer } from '../../kit/server.js';
import { until, untilPromised } from '../../kit/until.js';
import { accepted, arrived, ask, ENDS_MS, Watching, Wire } from '../../kit/wire.js';

// The tests mostly wait: for a head's time to run out, for Node's next look at slow requests.
t.jobs = 6;

const STATIONS = `
stations:
  house:
    channels:
      demo: { pushTokens: [demo-token], mounts: [/demo.mp3, /meta.mp3, /PUT], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      studio: { sources: [{ type: encoder, password: demo-source }] }
`;
const yaml = (extra = '', addresses = '[{ host: 127.0.0.1, port: 0 }]') =>
  `addresses: ${addresses}\n${extra}\n${STATIONS}`;
const AUTH = `Authorization: Basic ${Buffer.from('source:demo-source').toString('base64')}`;
const GET = 'GET /metapush/demo/demo-token?song=x HTTP/1.1\r\nHost: x\r\n\r\n';

t.test('first bytes', { buffered: true }, async (t) => {
  const said = (text: string) => verdict(Buffer.from(text, 'latin1'));
  for (const text of [
    'GET / HTTP/1.1\r\n',
    'HEAD /',
    'POST / ',
    'OPTIONS *',
    'DELETE /',
    'PATCH /',
    '\r\n\r\nGET /x',
    'GET /admin/stats',
    'PUT /metapush/demo/t',
    'PUT /metadata/x',
    'PUT /admin/api/channels/a/fallback',
  ]) {
    t.equal(said(text), 'http', text);
  }
  for (const text of [
    'PUT /m',
    'PUT /meta.mp3 ',
    'PUT /metapush.mp3',
    'PUT /admin/apia',
    'SOURCE /metadata/',
    'SOURCE /m ICE/1.0',
    '\nPUT /live',
  ]) {
    if (text === 'PUT /m') t.equal(said(text), 'more', 'it may still be one of our paths');
    else t.equal(said(text), 'encoder', text);
  }
  for (const text of [
    'GET /admin.cgi',
    'POST /admin.cgi?x',
    '\nGET /admin/metadata?mode=updinfo',
    'POST /admin/metadata',
  ])
    t.equal(said(text), 'title', text);
  for (const text of [
    '',
    '\r\n',
    'G',
    'PU',
    'PUT',
    'SOURC',
    'OPTIONS',
    '\r\nPO',
    'PUT /metapush',
    'GET /',
    'POST /admin',
  ])
    t.equal(said(text), 'more', text);
  for (const text of [
    ...['hackme\r\n', 'get / ', 'GETX', 'GET\r\n', 'PU\n', 'SOURCES', 'PROPFIND / ', ' GET /', '!POKE\n', '/live:x\n'],
    ...['p\xe4ss', '\xffx', '\r\nhackme'],
  ]) {
    t.equal(said(text), 'shoutcast', JSON.stringify(text));
  }
  for (const text of ['PROXY TCP4 1', 'PROXY TCP6 ', 'PROXY UNKNOWN', '\r\n\r\n\0\r\nQUIT\n\x21']) {
    t.equal(said(text), 'proxied', JSON.stringify(text));
  }
  for (const text of ['PROXY hackme\n', 'PROXY\n', 'PROXY TCP5 ']) t.equal(said(text), 'shoutcast', text);
  for (const text of ['\x16\x03\x01', '\0', '\x7fGET', '\r\n'.repeat(8), `${'\n'.repeat(16)}GET / `]) {
    t.equal(said(text), 'unknown', JSON.stringify(text));
  }
  for (const text of [
    GET,
    'GET /admin.cgi?x',
    'GET /admin.cgX',
    'PUT /metapush/',
    'SOURCE /m ICE/1.0\n',
    'PUT /metapush/x',
    'PUT /mine ',
    'hackme\n',
    'PROXY TCP4 x',
    'PROXY UNKNOWN',
    'PROXY me\n',
    '\r\n\r\n\0\r\nQUIT\n',
    '\r\n\r\n\0\r\nQUIP\n',
    'PUTS\n',
    '\0\0',
  ]) {
    const whole = said(text);
    for (let cut = 0; cut < text.length; cut++) {
      const part = said(text.slice(0, cut));
      t.ok(part === whole || part === 'more', `${JSON.stringify(text)} cut at ${cut}: ${part}`);
    }
  }

  const { port } = await startServer(t, yaml());
  t.test('split anywhere, also with bytes on both sides of a request', async (t) => {
    await Promise.all(
      Array.from({ length: 40 }, async (_, cut) => {
        const text = `\r\n${GET}`;
        const wire = new Wire(t, port).send(text.slice(0, cut));
        await arrived(wire.socket);
        wire.send(`${text.slice(cut)}GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`);
        const answers = await wire.take(2);
        t.same(
          answers.map((answer) => answer.status),
          [200, 200],
          `cut at ${cut}`,
        );
      }),
    );
  });

  t.test('split anywhere before an encoder', async (t) => {
    const head = `SOURCE /nothing HTTP/1.0\r\n${AUTH}\r\n\r\n`;
    for (const text of [
      head,
      head.replace('SOURCE', 'PUT'),
      head.replace('/nothing', '/metronome'),
      head.replaceAll('\r\n', '\n'),
    ]) {
      await Promise.all(
        Array.from({ length: 16 }, async (_, cut) => {
          const wire = new Wire(t, port).send(text.slice(0, cut));
          await arrived(wire.socket);
          const [answer] = await wire.send(text.slice(cut)).take(1);
          t.equal(answer!.status, 404, `cut at ${cut}`);
        }),
      );
    }
  });

  t.test('what no part understands is closed at once without an answer', async (t) => {
    for (const text of ['\x16\x03\x01\x02\x00\x01', 'PROPFIND / HTTP/1.1\r\n\r\n', '\0'.repeat(1000)]) {
      const wire = new Wire(t, port).send(text);
      await wire.untilClosed();
      t.equal(wire.got, '');
    }
  });

  t.test('what HTTP cannot read gets a refusal and is closed', async (t) => {
    const broken: [string, number][] = [
      ['GET / HTTP/1.1\r\nBad Head\r\n\r\n', 400],
      ['GET  /x y z\r\n\r\n', 400],
      ['POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
      ['GET / HTTP/9.9\r\n\r\n', 400],
      [`GET / HTTP/1.1\r\nX: ${'x'.repeat(40_000)}`, 431],
      [`GET /${'x'.repeat(40_000)}`, 431],
    ];
    await Promise.all(
      broken.map(async ([text, status]) => {
        const wire = new Wire(t, port, { halfOpen: true }).send(text);
        const [answer] = await wire.take(1);
        t.equal(answer!.status, status, text.slice(0, 40));
        t.equal(answer!.headers.get('content-type'), 'application/problem+json; charset=utf-8');
        t.equal(answer!.json().status, status);
        const isGone = () => !accepted(port).some((socket) => socket.remotePort === wire.socket.localPort);
        await untilPromised(isGone, ENDS_MS, () => `half-open after ${status}: the server still holds it`);
      }),
    );
  });
});

t.test('times', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml('limits: { headSeconds: 0.5 }'));
  const slow = async (name: string, bytes: string, everyMs: number, first = '', sweepMs = 0) => {
    let got = '';
    const bestMs = await bestOfThree(900 + sweepMs, async () => {
      const lateness = new LoopDelay(t);
      const wire = new Wire(t, port, { halfOpen: true }).send(first);
      const startedMs = performance.now();
      let at = 0;
      const timer = setInterval(() => wire.send(bytes[at++ % bytes.length]!), everyMs);
      t.teardown(() => clearInterval(timer));
      await until(
        () => wire.ended || wire.closed,
        20_000,
        () => `${name}: still open`,
      );
      clearInterval(timer);
      ({ got } = wire);
      const tookMs = performance.now() - startedMs;
      t.ok(tookMs >= 450, `${name}: after ${Math.round(tookMs)} ms, not before`);
      return tookMs - lateness.totalMs;
    });
    t.ok(bestMs < 900 + sweepMs, `${name}: closed after ${Math.round(bestMs)} ms, whatever comes meanwhile`);
    return got;
  };
  await Promise.all([
    slow('nothing', 'G', 60_000),
    // So many blanks are too many only after 16 × 400 ms.
    slow('first bytes that trickle', '\r\n', 400),
    (async () => {
      const got = await slow(
        'an HTTP head that trickles',
        'X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy',
        30,
        'GET / HTTP/1.1\r\n',
        2000, // Node looks once a second, and not in the first.
      );
      t.match(got, /did not arrive in time/);
    })(),
    slow('an encoder that begins and then says nothing', 'SOURCE /', 60_000),
  ]);

  const late = await startServer(t, yaml('limits: { headSeconds: 60 }'));
  t.equal(
    (await ask(t, late.port, 'GET /healthz HTTP/1.1')).status,
    200,
    'a head may have longer than Node gives a request',
  );
});

t.test('a body that never comes, and an idle connection', { buffered: true }, async (t) => {
  const port = await startRouted(t, {
    register: (app) => app.post('/', async () => 'ok'),
    adjust: (http) => {
      t.equal(http.requestTimeout, 30_000);
      t.equal(http.keepAliveTimeout, 65_000);
      // The same server with less patience.
      http.headersTimeout = 300;
      http.requestTimeout = 300;
      http.keepAliveTimeout = 200;
      Object.assign(http, { connectionsCheckingInterval: 100 });
    },
  });

  const stalled = new Wire(t, port).send(
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nabc',
  );
  const idle = new Wire(t, port).send('POST / HTTP/1.1\r\nHost: x\r\n\r\n');
  const put = new Wire(t, port).send('PUT /live HTTP/1.1\r\nHost: x\r\n\r\n');
  t.equal((await idle.take(1))[0]!.status, 200);
  t.equal((await put.take(1))[0]!.status, 404, 'an address without encoders answers them as HTTP');
  await idle.untilClosed();
  await stalled.untilClosed();
  t.equal(idle.answers().length, 1);
  t.match(stalled.got, /did not arrive in time/);
});

t.test("sizes of an encoder's head", { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml('limits: { headBytes: 300, headLines: 8, httpHeadBytes: 1024 }'));
  const start = `SOURCE /nothing HTTP/1.0\r\n${AUTH}\r\n`;
  const bytes = (length: number) => `${start}X: ${'x'.repeat(length - start.length - 7)}\r\n\r\n`;
  t.equal(bytes(300).length, 300);
  const lines = (count: number) => `${start}${'X: y\r\n'.repeat(count - 2)}\r\n`;
  const status = async (text: string) => (await new Wire(t, port).send(text).take(1))[0]!.status;
  t.equal(await status(bytes(300)), 404, 'read');
  t.equal(await status(bytes(301)), 400);
  t.equal(await status(lines(8)), 404, 'read');
  t.equal(await status(lines(9)), 400);
  const http = (length: number) => `GET /${'x'.repeat(length)} HTTP/1.1\r\nHost: x\r\n\r\n`;
  t.equal(await status(http(900)), 404, 'read');
  t.equal(await status(http(1100)), 431);
});

t.test('half-open clients', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml());
  for (const text of [
    'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET /metadata/station/house.json HTTP/1.0\r\n\r\n',
  ]) {
    const wire = new Wire(t, port, { halfOpen: true });
    wire.socket.end(text);
    await wire.take(1);
    await untilPromised(() => wire.ended, ENDS_MS);
  }
  for (const text of ['', 'GE', 'SOURCE /x', 'GET / HTTP/1.1\r\nHo']) {
    const wire = new Wire(t, port, { halfOpen: true });
    wire.socket.end(text);
    await untilPromised(
      () => wire.ended || wire.closed,
      ENDS_MS,
      () => JSON.stringify(text),
    );
  }
  const pushed = new Wire(t, port, { halfOpen: true });
  pushed.socket.end('GET /metapush/demo/demo-token?song=half HTTP/1.0\r\n\r\n');
  await untilPromised(() => pushed.ended, ENDS_MS);
  // Its connection is closed before the disk has the title.
  const polled = () => ask(t, port, 'GET /metadata/channel/demo.txt HTTP/1.1');
  await until(async () => (await polled()).body === 'half\n', 3000);
  t.pass('who says nothing more has pushed all the same');
  await untilPromised(
    () => accepted(port).length === 0,
    ENDS_MS,
    () => `${accepted(port).length} connections left`,
  );
});

t.test('addresses and their roles', { buffered: true }, async (t) => {
  const addresses =
    '[{ host: 127.0.0.1, port: 0, roles: [push] }, { host: 127.0.0.1, port: 0, roles: [poll, watch, stream] }, { host: 127.0.0.1, port: 0 }, { host: 127.0.0.1, port: 0, roles: [ops] }, { host: 127.0.0.1, port: 0, roles: [poll] }]';
  const { app } = await startServer(t, yaml('', addresses));
  const [push, read, all, ops, poll] = app.ports as [number, number, number, number, number];
  const status = async (port: number, text: string) => (await ask(t, port, text)).status;
  const PUSH = 'GET /metapush/demo/demo-token?song=x HTTP/1.1';
  const POLL = 'GET /metadata/channel/demo.json HTTP/1.1';
  const upgrade = async (port: number) => {
    const watching = new Watching(t, `ws://127.0.0.1:${port}/metadata/channel/demo`);
    await until(() => watching.open || watching.refused !== undefined, 3000);
    return watching.refused?.status ?? 101;
  };
  const put = async (port: number) =>
    (await new Wire(t, port).send('PUT /studio HTTP/1.1\r\nHost: x\r\n\r\n').take(1))[0]!.status;
  const play = async (port: number) => {
    const wire = new Wire(t, port).send('GET /demo HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => wire.got.includes('\r\n\r\n'), 5000);
    wire.socket.destroy();
    return Number(wire.got.split(' ')[1]);
  };
  t.equal(await status(push, PUSH), 200);
  const statuses = async (port: number) => [
    await status(port, PUSH),
    await status(port, POLL),
    await upgrade(port),
    await play(port),
    await put(port),
    await status(port, 'GET /metrics HTTP/1.1'),
  ];
  t.same(await statuses(push), [200, 404, 404, 404, 404, 404], 'push');
  t.same(await statuses(read), [404, 200, 101, 200, 405, 404], 'poll, watch, stream');
  t.same(await statuses(all), [200, 200, 101, 200, 401, 200], 'no roles named');
  t.same(await statuses(ops), [404, 404, 404, 404, 404, 200], 'ops');
  t.same(await statuses(poll), [404, 200, 404, 404, 404, 404], 'poll');
  for (const port of app.ports) t.equal(await status(port, 'GET /healthz HTTP/1.1'), 200);

  t.test('no other spelling of a path leads round them', async (t) => {
    for (const path of ['/%6detrics', '/metrics#x', '/metric%73?x', '/metrics?x', '/metr%69cs#']) {
      t.equal(await status(read, `GET ${path} HTTP/1.1`), 404, path);
      t.equal(await status(all, `GET ${path} HTTP/1.1\nX-Forwarded-For: 10.1.2.3`), 404, path);
    }
    for (const path of [
      '/%6detapush/demo/demo-token',
      '/metapus%68/demo/demo-token',
      '/metapush/demo/demo-token#x',
      '/metapush/%64emo/demo-token',
    ]) {
      t.equal(await status(read, `GET ${path}?song=stolen HTTP/1.1`), 404, path);
      t.equal(await status(read, `POST ${path} HTTP/1.1\nContent-Length: 0`), 404, path);
    }
    for (const path of ['/%6detadata/channel/demo.json', '/demo%2emp3', '/%64emo'])
      t.equal(await status(push, `GET ${path} HTTP/1.1`), 404, path);
    t.match((await ask(t, read, POLL)).body, '"song":"x"');
  });

  t.test('ops without a name is for this machine, directly', async (t) => {
    for (const head of ['X-Forwarded-For: 127.0.0.1', 'Forwarded: for=127.0.0.1', 'X-Forwarded-For:']) {
      t.equal(await status(all, `GET /metrics HTTP/1.1\n${head}`), 404, head);
    }
    t.equal(await status(ops, 'GET /metrics HTTP/1.1\nX-Forwarded-For: 10.1.2.3'), 200, 'where it is named any client');
    const outside = new Roles(undefined);
    const from = (remoteAddress: string | undefined) =>
      outside.allows('ops', { headers: {}, socket: { remoteAddress } } as never);
    for (const peer of ['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1']) t.ok(from(peer), peer);
    for (const peer of ['10.0.0.1', '::ffff:10.0.0.1', '2001:db8::1', '128.0.0.1', '::127.0.0.1', undefined])
      t.notOk(from(peer), String(peer));
  });
});

t.test('thousands of connects and aborts leave nothing behind', { buffered: true }, async (t) => {
  const { port, ws } = await startServer(
    t,
    yaml('limits: { headSeconds: 100, pushesPerMinute: 100000, pushBurst: 10000 }'),
  );
  const watching = await new Watching(t, `${ws}/metadata/channel/demo`).opened();
  const wares = [
    '',
    'G',
    'SOU',
    'SOURCE /x HTTP/1.0\r\n',
    'GET /metadata/channel/demo.json HTTP/1.1\r\nHo',
    'GET /metadata/channel/demo.json HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET /demo HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET /studio HTTP/1.1\r\nHost: x\r\n\r\n',
    GET,
    'POST /metapush/demo/demo-token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"song"',
    'POST /metapush/demo/wrong HTTP/1.1\r\nHost: x\r\nContent-Length: 999999\r\n\r\nxxx',
    'GET /metadata/channel/demo HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    'GET /metadata/none HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nxxxx',
    'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n',
    `GET /${'x'.repeat(40_000)}`,
    'nonsense',
  ];
  // A multiple of 240: all wares, with all ways to leave.
  const total = isLong ? 3120 : 720;
  // One is accepted in a turn of the loop, so on a busy machine most of them are when their clients have gone already.
  let accepts = 0;
  const count = () => void accepts++;
  subscribe('net.server.socket', count);
  t.teardown(() => unsubscribe('net.server.socket', count));
  const request = (n: number) =>
    new Promise<void>((done) => {
      const socket = net.connect({ host: '127.0.0.1', port });
      socket.on('error', () => undefined);
      socket.on('close', () => done());
      socket.on('connect', () => {
        socket.write(wares[n % wares.length]!);
        const leave = () => (n % 3 === 0 ? socket.resetAndDestroy() : socket.destroy());
        if (n % 2 === 0) setImmediate(leave);
        else void pause(n % 20).then(leave);
      });
    });
  let next = 0;
  const client = async () => {
    while (next < total) await request(next++);
  };
  await Promise.all(Array.from({ length: 64 }, client));
  await until(
    () => accepts >= total && accepted(port).length <= 1,
    30_000,
    () => `${accepted(port).length} of ${accepts} connections left`,
  );
  t.equal(watching.code, 0);
  await ask(t, port, 'GET /metapush/demo/demo-token?song=alive HTTP/1.1');
  await until(() => watching.songs.at(-1) === 'now alive', 2000);
  const metrics = (await ask(t, port, 'GET /metrics HTTP/1.1')).body;
  t.match(metrics, /watchers\S* 1\n/, 'one watcher is counted');
  t.match(metrics, /listeners\{[^}]*channel="demo"[^}]*\} 0\n/, 'and no listener');
});

t.test('connections past the limit are not served', { buffered: true }, async (t: Test) => {
  const { port } = await startServer(t, yaml('limits: { connections: 3 }'));
  const wires = Array.from({ length: 3 }, () => new Wire(t, port).send('GET /demo HTTP/1.1\r\nHost: x\r\n\r\n'));
  for (const wire of wires) await until(() => /^HTTP\/1\.. 200/.test(wire.got), 5000);
  const fourth = new Wire(t, port).send(GET);
  await fourth.untilClosed();
  t.equal(fourth.got, '');
  wires[0]!.socket.destroy();
  await until(() => accepted(port).length === 2, 2000);
  t.equal((await ask(t, port, 'GET /healthz HTTP/1.1')).status, 200);
});
