/** The table of connections: what one address can take, what is kept for encoders and operators, who goes when there is no room, and that nothing leaks. */

import { readFileSync } from 'node:fs';
import { isIPv6, Socket } from 'node:net';
import tls from 'node:tls';
import t, { type Test } from 'tap';
import { originOf } from '../../../src/base/ip.js';
import { type ConnectionLimits, Connections } from '../../../src/net/front/connections.js';
import { PEM } from '../../kit/certificate.js';
import { isLong } from '../../kit/long.js';
import { pause } from '../../kit/pause.js';
import { Random } from '../../kit/random.js';
import { DEMO_AUDIO, startServer, type TestServer } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';
import { accepted, ask, Wire } from '../../kit/wire.js';

t.jobs = 4;

/** Connections that must not get in the way of others. */
const CROWD = isLong ? 1000 : 400;
/** Between two connections of an attacker, which goes on as long as others wait for their turn. */
const ATTACK_PAUSE_MS = isLong ? 0 : 20;
/** Fewer may never come to a refusal for the reserve: of 14 tables the first had one at step 490, the last at 10,502. */
const TABLE_STEPS = 20_000;
/** In which each kind of refusal comes, whatever the seed. */
const MAX_TABLE_STEPS = 40_000;
const CA = readFileSync(`${PEM}one.cert.pem`);
const TLS = `tls: { certFile: ${PEM}one.cert.pem, keyFile: ${PEM}one.key.pem, sharePort: true }`;
const yaml = (limits: string, address = '') => `
addresses: [{ host: 127.0.0.1, port: 0 ${address} }]
proxies: { trusted: [127.0.0.1, "::1"] }
limits: ${limits}
stations:
  house:
    channels:
      demo: { pushTokens: [demo-token], mounts: [/demo.mp3], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      studio: { sources: [{ type: encoder, password: demo-source }, { type: file, path: ${DEMO_AUDIO} }] }
`;
const LOGIN = `Authorization: Basic ${btoa('source:demo-source')}`;
const ENCODER = `SOURCE /studio HTTP/1.0\r\n${LOGIN}\r\nContent-Type: audio/mpeg\r\n\r\n`;
const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`;
const UPGRADE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const LISTEN = get('/demo.mp3');

/** The status that comes first; 0: closed without one. */
async function statusOf(wire: Wire): Promise<number> {
  await until(
    () => wire.got.includes('\r\n') || wire.closed,
    10_000,
    () => 'no answer',
  );
  return Number(wire.got.split(' ')[1] ?? 0);
}
const status = (t: Test, port: number, text: string | Buffer) => statusOf(new Wire(t, port).send(text));

/** The sum over all labels; `label` is a part of them. Not by HTTP, which is a connection itself. */
async function metric(t: Test, port: number, name: string, label = ''): Promise<number> {
  const { body } = await ask(t, port, 'GET /metrics HTTP/1.1');
  const rows = body.split('\n').filter((row) => row.startsWith(`${name}{`) || row.startsWith(`${name} `));
  return rows.filter((row) => row.includes(label)).reduce((sum, row) => sum + Number(row.split(' ').at(-1)), 0);
}

/** A proxy's head, version 2, of a connection from there. */
function from(address: string): Buffer {
  const head = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');
  if (!isIPv6(address)) {
    const bytes = Buffer.from([...address.split('.').map(Number), 10, 0, 0, 2, 0xdc, 4, 1, 0xbb]);
    return Buffer.concat([head, Buffer.from([0x21, 0x11, 0, 12]), bytes]);
  }
  const groups = address.split(':');
  const bytes = Buffer.alloc(36, 1);
  for (const [i, group] of groups.entries()) bytes.writeUInt16BE(Number.parseInt(group, 16), 2 * i);
  return Buffer.concat([head, Buffer.from([0x21, 0x21, 0, 36]), bytes]);
}
/** Another address of the same /64 for every number. */
const v6 = (network: number, i: number) => `2001:db8:0:${network.toString(16)}:${(i + 1).toString(16)}:2:3:${i}`;

t.test('a hundred idle connections of one address lock no client out', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml('{ connections: 100 }'));
  for (const path of ['/metadata/station/house.json', '/openapi.json']) {
    const wires = Array.from({ length: 100 }, () => new Wire(t, port).send(get(path)));
    for (const wire of wires) t.equal((await wire.take(1))[0]!.status, 200);
    t.ok(wires.filter(({ closed }) => closed).length <= 100, path);
  }
  t.equal(await status(t, port, LISTEN), 200, 'a listener');
  const encoder = new Wire(t, port).send(ENCODER);
  t.equal(await statusOf(encoder), 200, 'an encoder');
  t.equal(await status(t, port, get('/metapush/demo/demo-token?song=x')), 200, 'a push');
  t.ok((await metric(t, port, 'airsplice_connections_made_room_total')) >= 100);
  t.ok((await metric(t, port, 'airsplice_connections')) <= 100);
  t.notOk(encoder.closed);
});

t.test('where strangers have taken their part, encoders and operators are served', { buffered: true }, async (t) => {
  const lines: Record<string, unknown>[] = [];
  const quiet = { debug: () => undefined, info: () => undefined, error: () => undefined };
  const log = { ...quiet, warn: (fields: Record<string, unknown>) => void lines.push(fields) };
  const limits = '{ connections: 24, reservedConnections: 8, headSeconds: 60 }';
  const { port } = await startServer(t, yaml(limits), tempFolder(t), log as never);
  const listeners = Array.from({ length: 16 }, () => new Wire(t, port).send(LISTEN));
  for (const wire of listeners) t.equal(await statusOf(wire), 200);

  const sinceMs = performance.now();
  const refused = [LISTEN, get('/'), get('/metadata/station/house.json'), get('/metadata/sse/channel/demo')];
  for (const text of [...refused, get('/metadata/channel/demo', UPGRADE), get('/nothing')]) {
    const wire = new Wire(t, port).send(text);
    const [answer] = await wire.take(1);
    t.equal(answer!.status, 503, text);
    t.equal(answer!.headers.get('retry-after'), '10');
    t.equal(answer!.headers.get('connection')?.toLowerCase(), 'close');
    await wire.untilClosed();
  }
  t.equal(await metric(t, port, 'airsplice_connections_refused_total', 'reserved'), 6);
  const logged = lines.filter(({ reason }) => reason === 'reserved').length;
  t.ok(logged >= 1 && logged <= 1 + (performance.now() - sinceMs) / 1000, `logged once a second: ${logged} times`);
  t.match(
    lines.find(({ reason }) => reason === 'reserved'),
    { address: '127.0.0.1' },
  );

  // Those that say nothing, or begin like an encoder and say no more: each newcomer closes the oldest of them.
  const words = [
    '',
    'SOURCE /stu',
    'hack',
    'GET /metapush/',
    'POST /admin.cgi HTTP/1.1\r\nContent-Length: 99\r\n\r\nx',
  ];
  const silent = Array.from({ length: 60 }, (_, i) => new Wire(t, port).send(words[i % words.length]!));
  await until(() => silent.filter(({ closed }) => closed).length >= 52, 10_000);
  const encoder = new Wire(t, port).send(ENCODER);
  t.equal(await statusOf(encoder), 200, 'an encoder');
  t.equal(await status(t, port, get('/metapush/demo/demo-token?song=x')), 200, 'a push');
  t.equal(
    await status(t, port, get('/admin/metadata?mode=updinfo&mount=/studio&song=y', `${LOGIN}\r\n`)),
    200,
    'a title',
  );
  for (const path of ['/metrics', '/healthz', '/readyz']) t.equal(await status(t, port, get(path)), 200, path);
  for (let i = 0; i < 30; i++) silent.push(new Wire(t, port));
  await until(() => silent.filter(({ closed }) => closed).length >= 82, 10_000);
  t.notOk(encoder.closed, 'an encoder that was let in is never closed for others');
  t.notOk(
    listeners.some(({ closed }) => closed),
    'nor is a listener',
  );

  listeners[0]!.socket.destroy();
  await until(
    async () => (await status(t, port, LISTEN)) === 200,
    5000,
    () => 'its place is free',
  );
});

t.test('a wrong encoder and a wrong push do not stay in the reserve', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml('{ connections: 12, reservedConnections: 2 }'));
  const listeners = Array.from({ length: 10 }, () => new Wire(t, port).send(LISTEN));
  for (const wire of listeners) t.equal(await statusOf(wire), 200);
  const wrong = Array.from({ length: 20 }, (_, i) =>
    new Wire(t, port).send(
      i % 2 ? ENCODER.replace(LOGIN, `Authorization: Basic ${btoa('a:b')}`) : get('/metapush/demo/no'),
    ),
  );
  await until(() => wrong.filter(({ closed }) => closed).length >= 18, 10_000);
  t.equal(await status(t, port, ENCODER), 200);
});

t.test('connections of one address: a /64 is one, at the limit and one past it', { buffered: true }, async (t) => {
  const limits =
    '{ connections: 1000, connectionsPerAddress: 3, listenersPerAddress: 3, watchersPerAddress: 1, wrongSecretsPerMinute: 2, secretQueue: 0 }';
  const { port } = await startServer(t, yaml(limits, ', proxyProtocol: true'));
  const open = (address: string, text: string) => new Wire(t, port).send(from(address)).send(text);
  const held = Array.from({ length: 3 }, (_, i) => open(v6(1, i), LISTEN));
  for (const wire of held) t.equal(await statusOf(wire), 200);
  for (const text of [LISTEN, ENCODER, get('/healthz'), '']) {
    const wire = open(v6(1, 77), text);
    await wire.untilClosed();
    t.equal(wire.got, '', `a fourth one: ${text.split('\r')[0]}`);
  }
  t.equal(await statusOf(open(v6(2, 0), LISTEN)), 200, 'another network');
  t.equal(await statusOf(open('203.0.113.9', LISTEN)), 200, 'an IPv4 address');
  held[0]!.socket.resetAndDestroy();
  await until(
    async () => (await statusOf(open(v6(1, 8), get('/healthz')))) === 200,
    5000,
    () => 'its place is free',
  );

  // Idle ones of the same network make room, whatever address of it they have; others' stay.
  const other = open(v6(3, 0), get('/healthz'));
  await other.take(1);
  const idle: Wire[] = [];
  for (let i = 0; i < 10; i++) {
    idle.push(open(v6(4, i), get('/metadata/station/house.json')));
    t.equal((await idle[i]!.take(1))[0]!.status, 200);
  }
  await until(() => idle.filter(({ closed }) => closed).length === 7, 5000);
  t.same(
    idle.map(({ closed }) => closed),
    idle.map((_, i) => i < 7),
    'the oldest go first',
  );
  t.equal((await idle[9]!.send(get('/healthz')).take(2)).length, 2);
  t.notOk(other.closed);

  const wrong = (i: number) => open(v6(5, i), get('/metapush/demo/wrong', 'Connection: close\r\n'));
  t.same([await statusOf(wrong(1)), await statusOf(wrong(2))], [403, 403]);
  t.equal(await statusOf(wrong(3)), 429, 'wrong secrets');
  const watch = (i: number) => open(v6(6, i), get('/metadata/channel/demo', UPGRADE));
  t.same([await statusOf(watch(1)), await statusOf(watch(2))], [101, 503], 'watchers');

  t.comment('those who speak for many are not limited');
  for (let i = 0; i < 9; i++)
    t.equal(await statusOf(open('127.0.0.1', get('/metadata/sse/channel/demo'))), i ? 503 : 200);
  const unknown = Buffer.from('PROXY UNKNOWN\r\n');
  for (let i = 0; i < 5; i++) t.equal(await statusOf(new Wire(t, port).send(unknown).send(LISTEN)), i < 3 ? 200 : 503);
});

t.test(
  'an encoder and a push get through a crowd of silent and half-open connections',
  { buffered: true },
  async (t) => {
    const limits =
      '{ connections: 150, reservedConnections: 50, headSeconds: 60, wrongSecretsPerMinute: 2, secretQueue: 4 }';
    const { port } = await startServer(t, yaml(limits, ', proxyProtocol: true'));
    const body = '{"song":"Slow","artist":"Body","duration":9}';
    const push = new Wire(t, port)
      .send(from('198.51.100.1'))
      .send(
        `POST /metapush/demo/demo-token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 9)}`,
      );
    const shoutcast = new Wire(t, port).send(from('198.51.100.2')).send('demo-source\r\n');
    await until(() => shoutcast.got.startsWith('OK2'), 10_000);
    // The address has had its wrong ones: its right one waits for its turn.
    for (let i = 0; i < 2; i++)
      await statusOf(new Wire(t, port).send(from('198.51.100.3')).send(get('/metapush/demo/no')));
    const waiting = Array.from({ length: 3 }, () =>
      new Wire(t, port).send(from('198.51.100.3')).send(get('/metapush/demo/demo-token?song=Turn')),
    );

    let [opened, isOver] = [0, false];
    const words = ['', 'SOURCE /stu', get('/metapush/demo/x').slice(0, -2), 'hack'];
    const attack = async (k: number) => {
      while (!isOver) {
        const wire = new Wire(t, port);
        const i = opened++;
        const address = `10.${k}.${(i >> 8) & 255}.${i & 255}`;
        wire.send(i % 2 ? from(address) : Buffer.concat([from(address), Buffer.from(words[i % words.length]!)]));
        await new Promise((done) => wire.socket.once('connect', done).once('close', done));
        await pause(ATTACK_PAUSE_MS);
      }
    };
    const attackers = [1, 2, 3, 4].map(attack);
    await until(() => opened > CROWD, 20_000);
    t.same(await Promise.all(waiting.map(statusOf)), [200, 200, 200], 'those whose turn came meanwhile');
    t.notOk(shoutcast.closed, 'an encoder between OK2 and its headers');
    t.equal(
      await statusOf(new Wire(t, port).send(from('198.51.100.4')).send(get('/metapush/demo/demo-token?song=x'))),
      200,
    );
    shoutcast.send('content-type: audio/mpeg\r\n\r\n');
    push.send(body.slice(9));
    t.equal(await statusOf(push), 200, `a push under way: ${push.got}`);
    const most = opened + CROWD / 2;
    await until(() => opened > most, 20_000);
    t.notOk(shoutcast.closed, 'the encoder is heard');
    shoutcast.socket.destroy();
    const other = () => new Wire(t, port).send(from('198.51.100.5')).send(ENCODER);
    // 409 until the first one is known to have gone.
    await until(async () => (await statusOf(other())) === 200, 10_000);
    isOver = true;
    await Promise.all(attackers);
  },
);

t.test('bodies that never come do not fill the reserve', { buffered: true }, async (t) => {
  const limits = '{ connections: 30, reservedConnections: 20, headSeconds: 60, requestSeconds: 60 }';
  const { port } = await startServer(t, yaml(limits, ', proxyProtocol: true'));
  const form = 'POST /admin.cgi HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nx';
  const listeners = Array.from({ length: 10 }, () => new Wire(t, port).send(from('127.0.0.1')).send(LISTEN));
  for (const wire of listeners) t.equal(await statusOf(wire), 200);
  const forms = Array.from({ length: 60 }, (_, i) => new Wire(t, port).send(from(`203.0.113.${i}`)).send(form));
  await until(() => forms.filter(({ closed }) => closed).length >= 40, 10_000);
  const encoder = new Wire(t, port).send(from('198.51.100.4')).send(ENCODER);
  t.equal(await statusOf(encoder), 200);
  t.equal(
    await statusOf(new Wire(t, port).send(from('198.51.100.5')).send(get('/metapush/demo/demo-token?song=x'))),
    200,
  );
});

t.test('a refusal of the table is logged with the plain address', async (t) => {
  const said: string[] = [];
  const onRefused = (why: string, address: string) => void said.push(`${why} ${address}`);
  const table = new Connections({ connections: 3, perAddress: 2, reserved: 2, isShared: () => false, onRefused });
  const [first, second, third] = [new Socket(), new Socket(), new Socket()];
  table.enter(first, '2001:db8::1');
  t.ok(table.begin(first));
  table.enter(second, '2001:db8::2:1');
  t.notOk(table.begin(second));
  table.admit(second);
  t.notOk(table.enter(third, '2001:db8::3:1'));
  const mapped = new Socket();
  table.enter(mapped, '::ffff:192.0.2.7');
  t.notOk(table.begin(mapped));
  t.same(said, ['reserved 2001:db8::2:1', 'address 2001:db8::3:1', 'reserved 192.0.2.7']);
});

t.test('where the system allows fewer, strangers leave half of those to others', async (t) => {
  const refused: string[] = [];
  const limits = { connections: 100, perAddress: 100, reserved: 10, isShared: () => false };
  const table = new Connections({ ...limits, onRefused: (why) => void refused.push(why) });
  table.restrict(12);
  const ask = (isReserved: boolean) => {
    const socket = new Socket();
    t.teardown(() => socket.destroy());
    return table.enter(socket, '203.0.113.5') && table.begin(socket, isReserved);
  };
  t.same(
    Array.from({ length: 6 }, () => ask(false)),
    Array.from({ length: 6 }, () => true),
  );
  t.notOk(ask(false), 'the seventh of twelve');
  t.same(refused, ['reserved']);
  t.ok(ask(true), 'an encoder');
});

t.test('over TLS a connection is one, makes room, and leaves', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml('{ connections: 10, reservedConnections: 2 }', `, ${TLS}`));
  const secure = async (text: string) => {
    const socket = tls.connect({ host: '127.0.0.1', port, ca: CA });
    t.teardown(() => socket.destroy());
    let got = '';
    socket.on('error', () => undefined).on('data', (chunk) => (got += chunk));
    socket.write(text);
    await until(() => got.includes('\r\n\r\n') || socket.destroyed, 10_000);
    return { socket, status: Number(got.split(' ')[1]) };
  };
  const idle: Awaited<ReturnType<typeof secure>>[] = [];
  for (let i = 0; i < 20; i++) idle.push(await secure(get('/openapi.json')));
  t.same(new Set(idle.map(({ status }) => status)), new Set([200]));
  await until(() => idle.filter(({ socket }) => socket.closed).length >= 12, 5000);
  t.equal((await secure(ENCODER)).status, 200);
  for (let i = 0; i < 20; i++) new Wire(t, port).send(i % 2 ? '' : Buffer.from('1603010200', 'hex'));
  t.equal((await secure(get('/metapush/demo/demo-token?song=x'))).status, 200);
  for (const socket of accepted(port)) socket.destroy();
  await until(async () => (await metric(t, port, 'airsplice_connections')) === 1, 5000);
});

/** Counted by the server itself; the one that asks is one. */
async function isEmpty(t: Test, { port }: TestServer): Promise<void> {
  const open = async () => metric(t, port, 'airsplice_connections');
  await until(
    async () => (await open()) === 1 && accepted(port).length <= 1,
    15_000,
    () => `${accepted(port).length} connections left`,
  );
}

t.test('resets and half-closed sockets in every state leave nothing behind', { buffered: true }, async (t) => {
  const server = await startServer(t, yaml('{ headSeconds: 2, requestSeconds: 2 }', `, ${TLS}`));
  const { port } = server;
  const push =
    'POST /metapush/demo/demo-token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 20\r\n';
  const texts: (string | Buffer)[] = [
    ...['', 'GE', 'GET / HTTP/1.1\r\nHo', 'SOURCE /stu', 'hack', 'demo-source\r\n', 'demo-source\r\nicy-name: x\r\n'],
    ...[
      'GET /demo.mp3 HTTP/1.1\r\nIcy',
      'GET /admin.cgi?mode=up',
      get('/admin.cgi?mode=updinfo&pass=demo-source&song=x'),
    ],
    ...[
      get('/healthz'),
      get('/openapi.json').repeat(50),
      get('/metadata/channel/demo.json').repeat(50),
      LISTEN,
      ENCODER,
    ],
    ...[get('/metadata/sse/channel/demo'), get('/metadata/channel/demo', UPGRADE), get('/x', UPGRADE)],
    ...[push, `${push}\r\n{"song"`, `${push}Expect: 100-continue\r\n\r\n`, get('/metapush/demo/demo-token?song=x')],
    ...[
      'POST /admin.cgi HTTP/1.1\r\nContent-Length: 50\r\n\r\nmode=',
      Buffer.from('1603010200', 'hex'),
      '\0',
      'GET  /x y z\r\n\r\n',
    ],
    get('/metadata/channel/demo/history.json?limit=1000').repeat(20),
  ];
  const answersFirst = [false, true];
  const leave: Record<string, (wire: Wire) => void> = {
    reset: ({ socket }) => void socket.resetAndDestroy(),
    fin: ({ socket }) => void socket.end(),
    both: ({ socket }) => void socket.destroy(),
  };
  const requests = texts.flatMap((text) =>
    answersFirst.flatMap((waits) => Object.entries(leave).map(([how, go]) => ({ text, waits, how, go }))),
  );
  await Promise.all(
    requests.map(async ({ text, waits, go }) => {
      const wire = new Wire(t, port, { halfOpen: true });
      await until(() => wire.socket.readyState === 'open', 10_000);
      if (text.length > 0) wire.send(text);
      const startedMs = performance.now();
      if (waits) await until(() => wire.got !== '' || wire.ended || performance.now() - startedMs > 300, 10_000);
      go(wire);
    }),
  );
  await isEmpty(t, server);
  t.pass('nothing is left');
});

t.test('a table of random connections, against a model that looks at them all', async (t) => {
  const random = new Random();
  const refused: string[] = [];
  const limits: ConnectionLimits = {
    connections: 30,
    perAddress: 6,
    reserved: 8,
    isShared: (address) => address === '127.0.0.1',
    onRefused: (why) => refused.push(why),
  };
  const table = new Connections(limits);
  const open = new Map<
    Socket,
    { address: string; origin: string; kind: 'undecided' | 'stranger' | 'encoder'; owed: number; isProven: boolean }
  >();
  const gone = () => {
    for (const socket of open.keys()) if (socket.destroyed) open.delete(socket);
  };
  const kinds = ['full', 'reserved', 'address'];
  const isSeen = () => kinds.every((why) => refused.includes(why));
  for (let step = 0; step < TABLE_STEPS || (step < MAX_TABLE_STEPS && !isSeen()); step++) {
    const any = [...open.keys()][random.int(0, open.size - 1)];
    const entry = any && open.get(any)!;
    const what = random.int(0, random.chance(0.4) ? 9 : 8);
    if (what < 4 || any === undefined || entry === undefined) {
      const address = random.chance(0.2) ? '127.0.0.1' : `2001:db8:0:${random.int(1, 6)}:${random.int(1, 9)}::1`;
      const socket = new Socket();
      const before = [...open].filter(([, each]) => each.kind !== 'encoder' && each.owed === 0);
      const isIn = table.enter(socket, address);
      if (isIn) open.set(socket, { address, origin: originOf(address), kind: 'undecided', owed: 0, isProven: false });
      else if (before.length > 0 && refused.at(-1) === 'full')
        t.fail(`seed ${random.seed}: refused, with room to make`);
    } else if (what < 7 && entry.kind !== 'encoder') {
      table.speak(any);
      if (table.begin(any, what === 6)) {
        if (what < 6) entry.kind = 'stranger';
        entry.owed++;
        if (random.chance(0.3)) {
          table.prove(any);
          entry.isProven = true;
        }
      }
    } else if (what === 7 && entry.owed > 0) {
      if (--entry.owed === 0) entry.isProven = false;
      table.end(any);
    } else if (what === 8 && random.chance(0.8) && entry.kind === 'undecided' && entry.owed === 0) {
      entry.kind = 'encoder';
      table.admit(any);
    } else if (what === 9) {
      any.destroy();
      any.emit('close', false);
    }
    const isPending = (each: { kind: string; owed: number; isProven: boolean }) =>
      each.kind === 'undecided' && each.owed > 0 && !each.isProven;
    const pending = [...open.values()].filter(isPending);
    for (const [socket, each] of open) {
      const isBeyond = pending.length > 4 || pending.filter(({ origin }) => origin === each.origin).length > 3;
      const safe = each.kind === 'encoder' || (each.owed > 0 && !(isPending(each) && isBeyond));
      if (socket.destroyed && safe && socket !== any) t.fail(`seed ${random.seed}: a busy one was closed`);
    }
    gone();
    const all = [...open.values()];
    const loose = { undecided: all.filter(({ kind, owed }) => kind === 'undecided' && !owed).length, idle: 0 };
    loose.idle = all.filter(({ kind, owed }) => kind === 'stranger' && owed === 0).length;
    const counts = new Map<string, number>();
    for (const { address } of all) {
      const network = address.split(':')[3];
      if (network !== undefined) counts.set(network, (counts.get(network) ?? 0) + 1);
    }
    if (
      table.count !== open.size ||
      open.size > 30 ||
      all.filter(({ kind }) => kind === 'stranger').length > 22 ||
      [...counts.values()].some((count) => count > 6) ||
      JSON.stringify(table.loose) !== JSON.stringify(loose)
    ) {
      t.fail(
        `seed ${random.seed}, step ${step}: ${table.count} ${JSON.stringify(table.loose)} ${JSON.stringify(loose)}`,
      );
      return;
    }
  }
  t.ok(isSeen(), `${[...new Set(refused)]}`);
});

t.test(
  'a listener gets through a crowd that has asked for what the reserve is for, and stays',
  { buffered: true },
  async (t) => {
    const { port } = await startServer(t, yaml('{ connections: 60, reservedConnections: 20 }'));
    const crowd: Wire[] = [];
    const isOver = { value: false };
    const hoard = (async () => {
      for (let i = 0; i < 600 && !isOver.value; i++) {
        crowd.push(new Wire(t, port).send(get('/readyz')));
        if (i % 20 === 19) await pause(20);
      }
    })();
    await until(() => crowd.length > 100, 10_000);
    for (let i = 0; i < 10; i++) t.equal(await statusOf(new Wire(t, port).send(LISTEN)), 200, `newcomer ${i}`);
    isOver.value = true;
    await hoard;
  },
);
