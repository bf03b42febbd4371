/** How often: pushes of a channel, wrong tokens and passwords from an address; at each limit and one past it. */

import { createHash } from 'node:crypto';
import t, { type Test } from 'tap';
import { Rate } from '../../../src/net/limits/rate.js';
import { ADMIN_USERS } from '../../kit/admin-client.js';
import { FakeClock } from '../../kit/clock.js';
import { DEMO_AUDIO, startServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';
import { type Answer, ask, Watching, Wire } from '../../kit/wire.js';

// They wait more than they compute.
t.jobs = 5;

const digest = (text: string) => createHash('sha256').update(text).digest('hex');
const yaml = (limits: string, host = '127.0.0.1') => `
addresses: [{ host: '${host}', port: 0 }]
limits: { ${limits} }
stations:
  house:
    channels:
      demo: { pushTokens: ['sha256:${digest('right')}'], mounts: [/demo.mp3], sources: [{ type: encoder, titlesWhileAway: true, password: 'sha256:${digest('secret')}' }, { type: file, path: ${DEMO_AUDIO} }] }
      other: { pushTokens: ['sha256:${digest('right')}'], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
`;
const push = (t: Test, port: number, path: string) => ask(t, port, `GET /metapush/${path} HTTP/1.1`);

/** One request of an encoder; from another address of this machine where one is given. */
async function encoder(t: Test, port: number, password: string): Promise<Answer> {
  const wire = new Wire(t, port);
  const login = Buffer.from(`source:${password}`).toString('base64');
  wire.send(`SOURCE /demo.mp3 HTTP/1.0\r\nAuthorization: Basic ${login}\r\nContent-Type: audio/mpeg\r\n\r\n`);
  if (password === 'secret') {
    // Its answer has no end: the stream is what comes next.
    await until(() => wire.got.includes('\r\n\r\n'), 20_000);
    wire.socket.destroy();
    return { status: Number(wire.got.split(' ')[1]), headers: new Map(), body: '', json: () => undefined };
  }
  return (await wire.take(1))[0]!;
}

async function metric(t: Test, port: number, line: string): Promise<string | undefined> {
  const { body } = await ask(t, port, 'GET /metrics HTTP/1.1');
  return body.split('\n').find((each) => each.startsWith(line));
}

function isTooMany(t: Test, answer: Answer, maxSeconds: number): void {
  t.equal(answer.status, 429, answer.body);
  const retry = Number(answer.headers.get('retry-after'));
  t.ok(Number.isInteger(retry) && retry >= 1 && retry <= maxSeconds, `Retry-After: ${retry}`);
}

t.test('a bucket: the burst, one past it, and what time brings back', async (t) => {
  const clock = new FakeClock();
  const rate = new Rate(clock, { perMinute: 600, burst: 100, remembered: 10 });
  for (let i = 0; i < 100; i++) t.equal(rate.take('a'), 0);
  t.equal(rate.take('a'), 1, 'one past the burst');
  t.equal(rate.take('b'), 0, 'another key has its own');
  clock.advance(80);
  t.equal(rate.take('a'), 1);
  clock.advance(40);
  t.equal(rate.take('a'), 0, 'a tenth of a second brings one');
  t.equal(rate.take('a'), 1);
  clock.advance(60_000);
  for (let i = 0; i < 100; i++) t.equal(rate.take('a'), 0);
  t.equal(rate.take('a'), 1, 'never more than the burst is saved up');

  let taken = 0;
  for (let ms = 0; ms < 60_000; ms += 40) {
    clock.advance(40);
    while (rate.take('a') === 0) taken++;
  }
  t.ok(taken >= 599 && taken <= 601, `${taken} in a minute`);
});

t.test('a slow bucket says how long to wait', async (t) => {
  const clock = new FakeClock();
  const rate = new Rate(clock, { perMinute: 2, burst: 1, remembered: 10 });
  t.equal(rate.take('a'), 0);
  t.equal(rate.take('a'), 30);
  clock.advance(12_000);
  t.equal(rate.take('a'), 18);
  clock.advance(18_000);
  t.equal(rate.take('a'), 0, 'it may at the time that was said');
  rate.giveBack('a');
  t.equal(rate.take('a'), 0, 'what was given back can be taken again');
  t.equal(rate.take('a'), 30);
});

t.test('no more keys are remembered than it may, and none for longer than it takes to fill up', async (t) => {
  const clock = new FakeClock();
  const rate = new Rate(clock, { perMinute: 60, burst: 60, remembered: 3 });
  for (let i = 0; i < 60; i++) rate.take('a');
  rate.take('b');
  rate.take('c');
  t.equal(rate.size, 3);
  t.ok(rate.take('a') > 0, 'at the limit all are remembered');
  rate.take('d');
  t.equal(rate.size, 3);
  t.equal(rate.take('a'), 0, 'one past it the longest unused is forgotten');
  for (let i = 0; i < 10_000; i++) rate.take(`x${i}`);
  t.equal(rate.size, 3);
  clock.advance(60_000);
  rate.take('a');
  t.equal(rate.size, 1, 'full ones go at the next use');
});

t.test('pushes of a channel: at the limit 200, one past it 429, for both forms together', async (t) => {
  const { port } = await startServer(t, yaml('pushesPerMinute: 2, pushBurst: 5'));
  for (let i = 0; i < 3; i++) t.equal((await push(t, port, `demo/right?song=${i}`)).status, 200);
  for (const query of ['song=%ff', 'song=x&etype=7', 'song=false&artist=false']) {
    t.ok([400, 422].includes((await push(t, port, `demo/right?${query}`)).status), 'refused ones do not count');
  }
  const bearer = 'GET /metapush/demo?song=3 HTTP/1.1\nAuthorization: Bearer right';
  t.equal((await ask(t, port, bearer)).status, 200);
  t.equal((await push(t, port, 'demo/right?song=4')).status, 200);
  const watching = await new Watching(t, `ws://127.0.0.1:${port}/metadata/channel/demo`).has(1);
  const refused = await push(t, port, 'demo/right?song=5');
  isTooMany(t, refused, 30);
  t.match(refused.json(), { type: 'urn:airsplice:problem:too-many', title: 'Too many', status: 429 });
  isTooMany(t, await ask(t, port, bearer.replace('song=3', 'song=6')), 30);
  t.equal((await push(t, port, 'other/right?song=7')).status, 200, 'another channel is not held back');
  t.equal((await ask(t, port, 'GET /metadata/channel/demo.json HTTP/1.1')).json().song, '4');
  t.same(watching.songs, ['now 4'], 'nothing of the refused ones was sent');
  t.match(await metric(t, port, 'airsplice_pushes_total{channel="demo",status="429"}'), / 2$/);
  t.match(await metric(t, port, 'airsplice_pushes_total{channel="demo",status="200"}'), / 5$/);
});

t.test(
  'refused pushes of a channel: as many as accepted ones are read, and they take nothing from those',
  async (t) => {
    const { port } = await startServer(t, yaml('pushesPerMinute: 2, pushBurst: 5'));
    const body = '{"song":"s"}';
    const post = `POST /metapush/demo/right HTTP/1.1\nContent-Type: application/json\nContent-Length: ${body.length}`;
    for (let i = 0; i < 4; i++) t.equal((await ask(t, port, post, body)).status, 422);
    for (let i = 0; i < 5; i++) t.equal((await push(t, port, `demo/right?song=${i}`)).status, 200, 'all that may be');
    isTooMany(t, await push(t, port, 'demo/right?song=%ff'), 30);
    t.equal((await push(t, port, 'other/right?song=%ff')).status, 400);

    const other = (query: string) => push(t, port, `other/right?${query}`);
    for (let i = 0; i < 4; i++) t.equal((await other('song=%ff')).status, 400);
    isTooMany(t, await other('song=%ff'), 30);
    isTooMany(t, await ask(t, port, post.replace('demo', 'other'), body), 30);
  },
);

t.test('wrong secrets of an address: past the limit all look at one a second, right or wrong alike', async (t) => {
  const { port } = await startServer(t, yaml('wrongSecretsPerMinute: 4, secretQueue: 5'));
  t.equal((await push(t, port, 'demo/wrong?song=x')).status, 403);
  t.equal((await push(t, port, 'made-up/right?song=x')).status, 403);
  t.equal((await encoder(t, port, 'wrong')).status, 401);
  t.equal((await push(t, port, 'demo/right?song=x')).status, 200, 'at once');
  t.equal((await ask(t, port, 'GET /metapush/demo?song=x HTTP/1.1')).status, 403);

  const title = (password: string) =>
    ask(
      t,
      port,
      `GET /admin/metadata?mode=updinfo&mount=/demo&song=x HTTP/1.1\nAuthorization: Basic ${Buffer.from(`source:${password}`).toString('base64')}`,
    );
  const startMs = performance.now();
  const atMs: number[] = [];
  const timed = async (answer: Promise<Answer>) => {
    const { status } = await answer;
    atMs.push(performance.now() - startMs);
    return status;
  };
  const body = '{"song":"s","artist":"a","duration":1}';
  const post = `POST /metapush/demo/right HTTP/1.1\nContent-Type: application/json\nContent-Length: ${body.length}`;
  const statuses = [
    await Promise.all([
      timed(push(t, port, 'demo/wrong?song=x')),
      timed(push(t, port, 'demo/right?song=x')),
      timed(ask(t, port, post, body)),
      timed(title('secret')),
      timed(encoder(t, port, 'secret')),
    ]),
  ];
  t.same(statuses, [[403, 200, 200, 200, 200]], 'the neighbour behind the same address is late');
  for (const [i, ms] of atMs.sort((a, b) => a - b).entries()) t.ok(ms > 1000 * (i + 1) - 100, `turn ${i}: ${ms} ms`);

  // More than the line holds: places are drawn, and known and unknown, right and wrong hear the same.
  const paths = ['demo/wrong', 'made-up-2/wrong', 'demo/right', 'made-up-3/right', 'demo/wrong', 'demo/wrong'];
  const [answers, ...others] = await Promise.all([
    Promise.all([...paths, ...paths].map((path) => push(t, port, `${path}?song=x`))),
    encoder(t, port, 'wrong'),
    title('wrong'),
  ]);
  const refused = answers.filter(({ status }) => status === 429);
  for (const answer of refused) isTooMany(t, answer, 5);
  t.equal(new Set(refused.map(({ body }) => body)).size, 1, 'alike');
  for (const { status } of others) t.ok(status === 401 || status === 429, `${status}`);
  const late = [...answers, ...others].filter(({ status }) => status === 429).length;
  t.ok(late >= 8 && late <= 9, `${late} of 14 had no place`);
  t.equal(await shoutcast(t, port, 'wrong'), 'invalid password\r\n');
  const { body: metrics } = await ask(t, port, 'GET /metrics HTTP/1.1');
  t.notOk(metrics.includes('made-up'), 'what strangers write is no label');
});

async function shoutcast(t: Test, port: number, password: string): Promise<string> {
  const wire = new Wire(t, port).send(`${password}\r\n`);
  await until(() => wire.got.includes('\r\n'), 20_000);
  wire.socket.destroy();
  return wire.got;
}

t.test('another address has its own count', { skip: process.platform !== 'linux' }, async (t) => {
  const { port } = await startServer(t, yaml('wrongSecretsPerMinute: 1, secretQueue: 0', '0.0.0.0'));
  t.equal((await push(t, port, 'demo/wrong')).status, 403);
  t.equal((await push(t, port, 'demo/wrong')).status, 429);
  const wire = new Wire(t, port, { host: '127.0.0.2' });
  wire.send('GET /metapush/demo/wrong HTTP/1.1\r\nHost: x\r\n\r\n');
  t.equal((await wire.take(1))[0]!.status, 429, 'the address counts that it came from, not the one it came to');
  const neighbour = new Wire(t, port, { from: '127.0.0.3' });
  neighbour.send('GET /metapush/demo/wrong HTTP/1.1\r\nHost: x\r\n\r\n');
  t.equal((await neighbour.take(1))[0]!.status, 403);
});

t.test('one guess too many ends its connection: whatever waits behind it is not answered', async (t) => {
  const { port } = await startServer(t, `${yaml('wrongSecretsPerMinute: 1, secretQueue: 0')}\n${ADMIN_USERS}`);
  t.equal((await push(t, port, 'demo/wrong')).status, 403);
  const login = `Authorization: Basic ${btoa('source:wrong')}\r\n`;
  for (const guess of [
    'GET /metapush/demo/wrong?song=x HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET /metapush/demo?song=x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\n\r\n',
    `GET /admin/metadata?mode=updinfo&song=x&mount=/demo.mp3 HTTP/1.1\r\nHost: x\r\n${login}\r\n`,
    'GET /admin.cgi?mode=updinfo&song=x&pass=wrong HTTP/1.1\r\nHost: x\r\n\r\n',
    `GET /admin/api/channels HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${login}\r\n`,
  ]) {
    const wire = new Wire(t, port).send(guess.repeat(20));
    const [answer] = await wire.take(1);
    t.equal(answer!.status, 429, guess);
    t.equal(answer!.headers.get('connection'), 'close');
    await wire.untilClosed();
    t.equal(wire.got.match(/^HTTP\/1\.1 /gm)!.length, 1, guess);
  }
});
