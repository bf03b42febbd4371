/** The connection to a real Redis: by TLS and password, by Sentinels and their fail-over; what is no answer, and what is no server that takes changes. */

import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import t from 'tap';
import { Redis, RedisLost } from '../../../src/cluster/log/redis.js';
import { ONE, PEM } from '../../kit/certificate.js';
import { allUntil, startNode } from '../../kit/cluster.js';
import { pause } from '../../kit/pause.js';
import { freePort } from '../../kit/process.js';
import { noRedis, RedisServer } from '../../kit/redis.js';
import { startSentinel } from '../../kit/redis-pair.js';
import { awaited, until } from '../../kit/until.js';

t.setTimeout(120_000);

const OPTIONS = { sentinels: [], master: '', answerMs: 1000 };
const SCRIPTS = { echo: 'return ARGV[1]' };

t.test('a password and TLS', { skip: noRedis }, async (t) => {
  const port = await freePort();
  const tls = [
    '--tls-port',
    `${port}`,
    '--tls-cert-file',
    `${PEM}one.cert.pem`,
    '--tls-key-file',
    `${PEM}one.key.pem`,
    '--tls-ca-cert-file',
    `${PEM}one.cert.pem`,
    '--tls-auth-clients',
    'no',
  ];
  const server = await RedisServer.start(t, tls);
  t.equal(await server.ask('ACL SETUSER radio on >let-me-in ~* &* +@all'), '+OK');
  const ca = readFileSync(`${PEM}one.cert.pem`);
  const url = `rediss://radio:let-me-in@localhost:${port}`;
  const redis = await Redis.connect({ ...OPTIONS, url, ca }, SCRIPTS);
  t.equal(await redis.run('echo', [], ['by TLS']), 'by TLS');
  redis.close();
  const wrong = Redis.connect({ ...OPTIONS, url: url.replace('let-me-in', 'let-me-out'), ca }, SCRIPTS);
  const error = await wrong.then(
    () => null,
    (reason: Error) => reason,
  );
  t.ok(error instanceof RedisLost);
  t.match(error?.message, /WRONGPASS/);
  t.notMatch(`${error?.stack} ${JSON.stringify(error)}`, /let-me/, 'a password is in no error');
  await t.rejects(Redis.connect({ ...OPTIONS, url }, SCRIPTS), RedisLost, 'a certificate of nobody');
  await server.kill();
});

t.test('by TLS it says which host it means, for one behind a proxy that goes by that', async (t) => {
  const named: unknown[] = [];
  const server = createTlsServer(ONE, (socket) => {
    named.push(socket.servername);
    socket.on('error', () => undefined).on('data', () => socket.write('*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n'));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => server.close());
  for (const [host, said] of [
    ['localhost', 'localhost'],
    ['127.0.0.1', false],
  ] as const) {
    const url = `rediss://${host}:${(server.address() as AddressInfo).port}`;
    const redis = await Redis.connect({ ...OPTIONS, answerMs: 10_000, url, ca: Buffer.from(ONE.cert) }, {});
    await until(() => named.length === 2, 5000);
    t.same(named.splice(0), [said, said], host);
    redis.close();
  }
});

t.test('a URL that its client refuses opens no connection', async (t) => {
  let came = 0;
  const server = createServer((socket) => {
    came++;
    socket.on('error', () => undefined).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  for (const url of [`rediss://127.0.0.1:${port}/first`, `rediss://:50%off@127.0.0.1:${port}`]) {
    await t.rejects(Redis.connect({ ...OPTIONS, url }, SCRIPTS), { message: /Invalid pathname|URI malformed/ });
  }
  // By the time that one which is opened later has come, one that was opened before has, too.
  connect(port, '127.0.0.1').on('error', () => undefined);
  await until(() => came > 0, 5000);
  t.equal(came, 1);
});

t.test('where one of its two connections fails, the other one does not stay', async (t) => {
  const open = new Set<Socket>();
  const tls = createTlsServer(ONE, (socket) => void socket.on('error', () => undefined).resume());
  let came = 0;
  // As a proxy before two servers, one of which is down.
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    if (came++ % 2 === 0) return void socket.destroy();
    open.add(socket.on('close', () => open.delete(socket)));
    setImmediate(() => tls.emit('connection', socket));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => server.close());
  // Nobody answers to the password.
  const url = `rediss://:word@127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (let i = 0; i < 5; i++) {
    await t.rejects(Redis.connect({ ...OPTIONS, answerMs: 10_000, url, ca: Buffer.from(ONE.cert) }, {}), RedisLost);
  }
  await until(
    () => came === 10 && open.size === 0,
    3000,
    () => `${open.size} of 5 connections are open`,
  );
});

t.test('what is lost is lost once, and rejects', { skip: noRedis }, async (t) => {
  const server = await RedisServer.start(t);
  const reasons: Error[] = [];
  const redis = await Redis.connect({ ...OPTIONS, answerMs: 300, url: server.url }, SCRIPTS, (reason) =>
    reasons.push(reason),
  );
  await t.rejects(redis.ask(['NONSENSE']), { message: /^ERR / }, 'an error that it answers');
  t.equal(redis.isLost, false, 'is no loss');
  server.stop();
  const asked = [redis.ask(['PING']), redis.ask(['PING']), redis.run('echo', [], ['x'])];
  const outcomes = await awaited(Promise.allSettled(asked), 1000, () => 'answerMs has passed');
  for (const outcome of outcomes) t.equal(outcome.status === 'rejected' && outcome.reason instanceof RedisLost, true);
  t.equal(reasons.length, 1);
  await t.rejects(redis.ask(['PING']), RedisLost);
  server.resume();
});

t.test('a server that answers more than it may is left at once, and takes no memory', async (t) => {
  for (const [answer, reason] of [
    [`$500000000\r\n${'x'.repeat(1000)}`, /an answer of more than 67108864 bytes/],
    ['*30000000\r\n', /an answer of more than 1000000 values/],
    ['*900\r\n'.repeat(2000), /an answer of more than 1000000 values/],
    ['+'.repeat(10_000), /a line of more than 8192 bytes/],
    ['HTTP/1.1 400 Bad Request\r\n\r\n', /an answer that is not RESP 2/],
  ] as const) {
    const server = createServer((socket) => {
      socket.on('error', () => undefined).on('data', () => socket.write(answer));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.teardown(() => server.close());
    const url = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    const error = await Redis.connect({ ...OPTIONS, answerMs: 60_000, url }, SCRIPTS).then(
      () => null,
      (reason: Error) => reason,
    );
    const grown = process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers - heapUsed - arrayBuffers;
    t.ok(error instanceof RedisLost);
    t.match(error?.message, reason);
    t.ok(grown < 50_000_000, `${grown} bytes`);
  }
});

t.test('a Sentinel that names a server of before a fail-over is not the last word', { skip: noRedis }, async (t) => {
  const master = await RedisServer.start(t);
  const replica = await RedisServer.start(t, ['--replicaof', '127.0.0.1', `${master.port}`]);
  /** As one that is cut off from the other Sentinels. */
  const naming = async (port: number) => {
    const sentinel = createServer((socket) => {
      const answer = `*2\r\n$9\r\n127.0.0.1\r\n$${`${port}`.length}\r\n${port}\r\n`;
      socket.on('error', () => undefined).on('data', () => socket.write(answer));
    });
    await new Promise<void>((done) => sentinel.listen(0, '127.0.0.1', done));
    t.teardown(() => sentinel.close());
    return `redis://127.0.0.1:${(sentinel.address() as AddressInfo).port}`;
  };
  const right = await naming(master.port);
  for (const wrong of [replica.port, 1]) {
    const sentinels = [await naming(wrong), right];
    const redis = await Redis.connect({ ...OPTIONS, sentinels, url: 'redis://nowhere.invalid:1/0' }, SCRIPTS);
    t.equal(await redis.run('echo', [], ['there']), 'there');
    redis.close();
  }
  const none = {
    ...OPTIONS,
    sentinels: [await naming(replica.port), await naming(1)],
    url: 'redis://nowhere.invalid:1',
  };
  await t.rejects(Redis.connect(none, SCRIPTS), { message: /it is a slave; .*ECONNREFUSED/ });
});

t.test(
  'what a user may not do is the reason, and is not reached for a moment again and again',
  { skip: noRedis },
  async (t) => {
    const server = await RedisServer.start(t);
    const RIGHTS = '~test:* +@read +@write +@scripting -@dangerous +role +time';
    for (const [user, lacks] of [
      ['all', ''],
      ['xread', '-xread'],
      ['xrange', '-xrange'],
      ['xadd', '-xadd'],
      ['role', '-role'],
    ] as const) {
      t.equal(await server.ask(`ACL SETUSER ${user} on >pass ${RIGHTS} ${lacks}`), '+OK');
      const node = await startNode(t, server.url.replace('//', `//${user}:pass@`), user);
      const reasons = new Set<string | null>();
      const begunMs = performance.now();
      let changes = 0;
      const push = node.push('x', user);
      while (performance.now() - begunMs < 1500) {
        const reason = node.reason?.message ?? null;
        if (!reasons.has(reason)) changes++;
        reasons.add(reason);
        await pause(5);
      }
      await push;
      const said = [...reasons].filter((reason) => reason !== null);
      if (lacks === '') t.same([...reasons], [null], 'what config/cluster/README.md grants is enough');
      else t.ok(said.length > 0 && said.every((reason) => /permission|can't run/i.test(reason)), `${user}: ${said}`);
      if (user === 'xread' || user === 'xrange') t.notOk(reasons.has(null), `${user}: it is not reached`);
      t.ok(changes < 4, `${changes}`);
      await node.engine.close();
    }
  },
);

t.test(
  'Sentinels say where it is, and where it is after a fail-over: no push is lost',
  { skip: noRedis },
  async (t) => {
    const master = await RedisServer.start(t);
    const replica = await RedisServer.start(t, ['--replicaof', '127.0.0.1', `${master.port}`]);
    await until(
      async () => /master_link_status:up/.test(await replica.info('replication')),
      20_000,
      () => 'no replica',
    );
    const sentinel = await startSentinel(t, master);
    const options = { sentinels: ['redis://127.0.0.1:1', sentinel], master: 'radio' };
    // The URL has what they do not say; its place is of no account.
    const at = 'redis://nowhere.invalid:1/0';
    await until(
      () =>
        Redis.connect({ ...OPTIONS, ...options, url: at }, SCRIPTS).then(
          (redis) => {
            redis.close();
            return true;
          },
          () => false,
        ),
      20_000,
      () => 'the Sentinel knows nothing',
    );
    const [a, b] = [await startNode(t, at, 'a', options), await startNode(t, at, 'b', options)];
    await a.push('x', '1');
    await allUntil([b], ({ engine }) => engine.state('x').now?.song === '1', 'the first');
    // It learns of its replicas from the master, within ten seconds.
    await until(
      async () => /slaves=1/.test(await RedisServer.infoAt(sentinel, 'sentinel')),
      20_000,
      () => 'no replica is known',
    );
    await master.kill();
    t.ok(await a.push('x', '2'), 'it goes on without');
    await until(
      async () => /role:master/.test(await replica.info('replication')),
      30_000,
      () => 'no fail-over',
    );
    await allUntil([a, b], ({ engine }) => engine.isReached && engine.waiting === 0, 'both are there again');
    await allUntil([a, b], ({ engine }) => engine.state('x').now?.song === '2', 'what was pushed meanwhile');
    await b.push('x', '3');
    await allUntil([a, b], ({ engine }) => engine.state('x').now?.song === '3', 'it goes on');
    t.same(a.songs('x'), ['1', '2', '3']);
    t.same(b.songs('x'), ['1', '2', '3']);
  },
);
