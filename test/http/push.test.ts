/** Pushing over HTTP, on the whole server: every status of the contract's table, the answer, the order in which things are seen. */

import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { openLog } from '../../src/base/log.js';
import { Watchdog } from '../../src/base/watchdog.js';
import { Channel } from '../../src/channel/channel.js';
import { loadConfig } from '../../src/config/load.js';
import { Feed } from '../../src/feed/feed.js';
import { Poll } from '../../src/http/poll/poll.js';
import { registerPush } from '../../src/http/push.js';
import { Roles } from '../../src/http/roles.js';
import { Router } from '../../src/http/router.js';
import { Watch } from '../../src/http/watch/watch.js';
import { ListenerFeed } from '../../src/listener/listener-feed.js';
import { Sessions } from '../../src/listener/sessions.js';
import { Front } from '../../src/net/front.js';
import { Proxies } from '../../src/net/peer.js';
import { Rate } from '../../src/net/rate.js';
import { SecretGate } from '../../src/net/secret-gate.js';
import type { ChannelState } from '../../src/now-playing/state.js';
import { MemoryStore } from '../../src/store/memory.js';
import { LocalEngine } from '../../src/titles/local.js';
import { TitleService } from '../../src/titles/service.js';
import { roomyTable } from '../kit/front-harness.js';
import { HISTORY } from '../kit/history.js';
import { until } from '../kit/player.js';
import { startServer, tempFolder } from '../kit/server.js';
import { type Answer, ask, Watching, Wire } from '../kit/wire.js';

/** Of the token `second token/ü`: every character but its letters has to be encoded in a path. */
const SECOND = createHash('sha256').update('second token/ü').digest('hex');
const YAML = `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  house:
    timezone: Europe/Zurich
    channels:
      demo: { name: Demo Channel, pushTokens: [demo-token, 'sha256:${SECOND}'], sources: [{ type: encoder, password: demo-source }] }
      quiet: { sources: [{ type: encoder, password: demo-source }] }
`;
const FIELDS = [
  'time start start_timestamp duration song artist code channelkey channel timezone id userplayout separator etype',
  'album type isrc',
]
  .join(' ')
  .split(' ');
const PATH = '/metapush/demo/demo-token';
const FULL = { song: 'Song', artist: 'Artist', duration: 200 };

const get = (t: Test, port: number, query: string) => ask(t, port, `GET ${PATH}${query} HTTP/1.1`);

function post(t: Test, port: number, body: unknown, type = 'application/json', path = PATH): Promise<Answer> {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const head = `POST ${path} HTTP/1.1\nContent-Length: ${bytes.length}`;
  return ask(t, port, type === '' ? head : `${head}\nContent-Type: ${type}`, bytes);
}

/** The record that polling gives; undefined: none. */
async function now(t: Test, port: number) {
  const answer = await ask(t, port, 'GET /metadata/channel/demo.json HTTP/1.1');
  return answer.status === 204 ? undefined : answer.json();
}

function isProblem(t: Test, answer: Answer, status: number, fields: readonly string[] = []): void {
  const told = answer.body.slice(0, 300);
  t.equal(answer.status, status, told);
  t.equal(answer.heads.get('content-type'), 'application/problem+json; charset=utf-8');
  t.equal(answer.heads.get('access-control-allow-origin'), undefined, 'no CORS on pushes');
  t.equal(answer.heads.get('cache-control'), 'no-store');
  const problem = answer.json();
  t.same(Object.keys(problem).slice(0, 4), ['type', 'title', 'status', 'detail']);
  t.equal(problem.status, status);
  t.match(problem.type, /^urn:airsplice:problem:/);
  t.ok(problem.title !== '' && problem.detail !== '');
  t.same(
    [...new Set((problem.errors ?? []).map((error: { field: string }) => error.field))].sort(),
    [...fields].sort(),
    told,
  );
}

t.test('the answer of GET and POST is the same record of 17 fields', async (t) => {
  const { port } = await startServer(t, YAML);
  const answer = await get(
    t,
    port,
    '?song=S%C3%B6ng+%2B&artist=Arti%27st&duration=200.9&time=1795178248&tracktype=now&etype=1003&id=x7&isrc=CH123&separator=%20%2F%20',
  );
  t.equal(answer.status, 200, answer.body);
  t.equal(answer.heads.get('content-type'), 'application/json; charset=utf-8');
  t.equal(answer.heads.get('cache-control'), 'no-store');
  t.notOk(
    [...answer.heads.keys()].some((name) => name.startsWith('access-control')),
    'no CORS',
  );
  t.notOk(answer.heads.has('etag'));
  t.same(Object.keys(answer.json()), FIELDS);
  const arrived = answer.json().start_timestamp;
  t.ok(arrived <= 1795178248, 'a future now carries the moment of arrival');
  t.match(answer.json(), {
    duration: 200,
    song: 'Söng +',
    artist: "Arti'st",
    code: 'demo',
    channelkey: 'demo',
    channel: 'demo',
    timezone: 'UTC',
    id: 'x7',
    userplayout: false,
    separator: ' / ',
    etype: 1003,
    album: '',
    type: 'now',
    isrc: 'CH123',
  });

  const posted = await post(t, port, {
    id: '',
    time: '2025-06-01T14:00:00.250+02:00',
    duration: '12',
    song: 'Tag \\ "x" \u0007',
    artist: 'é',
    cover: 'https://x/c.jpg',
    images: { small: { url: 'https://x/s.jpg' } },
    album: 'A',
    timezone: 'Europe/Zurich',
    separator: '',
    etype: 104,
    tracktype: 'next',
    isrc: '',
    extdata: { a: [1.0, { b: null }] },
    unknown: { member: true },
  });
  t.equal(posted.status, 200, posted.body);
  t.same(Object.keys(posted.json()), FIELDS);
  t.match(posted.json(), {
    time: '2025-06-01T12:00:00Z',
    start: '01.06.2025 14:00:00',
    start_timestamp: 1748779200,
    duration: 12,
    song: 'Tag \\ "x" ',
    artist: 'é',
    timezone: 'Europe/Zurich',
    separator: ' - ',
    etype: 104,
    album: 'A',
    type: 'next',
  });
  t.match(posted.json().id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);

  t.test('GET without parameters clears the title', async (t) => {
    for (const query of ['', '?', '?&&', '?song=&artist=']) {
      const cleared = await get(t, port, query);
      t.equal(cleared.status, 200, query);
      t.match(cleared.json(), { song: '', artist: '', type: 'now', duration: 0, etype: 0, isrc: '' });
      t.match(await now(t, port), { rawdata: '', song: '', id: cleared.json().id });
    }
  });

  t.test('texts in any form come out as they were meant', async (t) => {
    t.equal((await get(t, port, '?encoding=windows&song=%93Caf%E9%94+%80&artist=B%F6%2Bx')).json().song, '“Café” €');
    const plain = await get(t, port, '?song=Cafe%CC%81&song=Cafe%CC%81+2');
    t.equal(plain.json().song, 'Café 2', 'NFC, and of a repeated parameter the last');
    const escaped = await post(
      t,
      port,
      '{"song":"\\u00e9\\u0000\\ud83c\\udfb5\\ud800","artist":"\\u0041\\n","duration":0}',
    );
    t.match(escaped.json(), { song: 'é🎵\ufffd', artist: 'A' }, '\\u escapes');
    t.match(await now(t, port), { rawdata: 'A - é🎵\ufffd' });
    t.equal((await post(t, port, { ...FULL, song: 'charset' }, 'application/json; charset=UTF-8')).status, 200);
    t.equal((await post(t, port, { ...FULL, song: 'case' }, 'Application/JSON')).status, 200);
    t.match((await get(t, port, '?song=false&artist=A')).json(), { song: '', artist: 'A' });
    t.equal((await get(t, port, '?song=0&seperator=%3A')).json().separator, ':');
  });

  t.test('another content type is told which one it should be', async (t) => {
    for (const type of ['', 'text/plain', 'text/json', 'application/jsonx', 'application/x-www-form-urlencoded']) {
      const answer = await post(t, port, FULL, type);
      isProblem(t, answer, 415);
      t.match(answer.json().detail, /application\/json/, type);
    }
    isProblem(t, await ask(t, port, `POST ${PATH} HTTP/1.1\nContent-Type: application/json`), 400);
  });

  t.test('both tokens of a channel push', async (t) => {
    t.equal((await ask(t, port, 'GET /metapush/demo/second%20token%2F%C3%BC?song=x HTTP/1.1')).status, 200);
    t.equal((await ask(t, port, 'GET /metapush/demo/second%20token%2Fu?song=x HTTP/1.1')).status, 403);
  });

  t.test('HTTP/1.0, and a Java client that offers h2c, push as well', async (t) => {
    const old = new Wire(t, port).send(`GET ${PATH}?song=old HTTP/1.0\r\n\r\n`);
    t.equal((await old.take(1))[0]!.json().song, 'old');
    const body = JSON.stringify({ ...FULL, song: 'java' });
    const java = new Wire(t, port).send(
      `POST ${PATH} HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nContent-Length: ${body.length}\r\nHost: x\r\n` +
        `HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\nUpgrade: h2c\r\nContent-Type: application/json\r\n\r\n`,
    );
    await new Promise((done) => setTimeout(done, 30));
    java.send(body);
    t.equal((await java.take(1))[0]!.json().song, 'java');
    java.send(`GET /metadata/channel/demo.txt HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n`);
    t.equal((await java.take(2))[1]!.body, 'Artist - java\n', 'its connection goes on');
  });
});

t.test('what is refused', async (t) => {
  const { port } = await startServer(t, YAML);
  await get(t, port, '?song=Before');
  const untouched = async (t: Test) => t.equal((await now(t, port)).song, 'Before', 'nothing was applied');

  t.test('403: one and the same answer, before the body is read', async (t) => {
    const answers = [
      await ask(t, port, 'GET /metapush/demo/wrong?song=x HTTP/1.1'),
      await ask(t, port, 'GET /metapush/nobody/demo-token?song=x HTTP/1.1'),
      await ask(t, port, 'GET /metapush/quiet/demo-token?song=x HTTP/1.1'),
      await ask(t, port, 'GET /metapush/demo/DEMO-TOKEN?song=%zz HTTP/1.1'),
      await ask(t, port, 'GET /metapush/demo/demo-token%00 HTTP/1.1'),
      await ask(t, port, 'GET /metapush/__proto__/demo-token HTTP/1.1'),
      await ask(t, port, `GET /metapush/${'k'.repeat(300)}/demo-token HTTP/1.1`),
      await ask(t, port, `GET /metapush/demo/${'k'.repeat(3000)} HTTP/1.1`),
      await post(t, port, FULL, 'application/json', '/metapush/demo/wrong'),
      await post(t, port, '{', 'text/html', '/metapush/demo/wrong'),
      await post(t, port, '', '', '/metapush/demo/wrong'),
      await post(t, port, Buffer.alloc(10_000_000, 'x'), 'text/plain', '/metapush/nobody/wrong'),
      await post(t, port, Buffer.alloc(10_000_000, 'x'), 'application/json', '/metapush/demo/wrong'),
    ];
    for (const answer of answers) {
      isProblem(t, answer, 403);
      t.equal(answer.body, answers[0]!.body);
      t.equal(answer.heads.get('content-length'), answers[0]!.heads.get('content-length'));
    }
    // Before the body: the answer comes although none of it was sent.
    const wire = new Wire(t, port).send(
      'POST /metapush/demo/no HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n',
    );
    t.equal((await wire.take(1))[0]!.status, 403);
    await untouched(t);
  });

  t.test('400: what cannot be read', async (t) => {
    isProblem(t, await get(t, port, '?song=50%'), 400, ['song']);
    isProblem(t, await get(t, port, '?song=%zz&artist=%C3%28'), 400, ['song', 'artist']);
    const latin = await get(t, port, '?song=Caf%E9&tracktype=later');
    isProblem(t, latin, 400, ['song', 'tracktype']);
    t.match(latin.body, 'encoding=windows');
    for (const body of ['{', '', 'song=x', '{"song":"x",}', Buffer.from([0x7b, 0xff]), '\u0000']) {
      isProblem(t, await post(t, port, body), 400);
    }
    isProblem(t, await ask(t, port, 'GET /metapush/demo/%zz HTTP/1.1'), 400);
    const bare = await get(t, port, '?encoding=windows&song=Caf\xe9');
    isProblem(t, bare, 400);
    t.match(bare.body, 'percent-encoded', 'Node takes no byte above 0x7F in an address');
    await untouched(t);
  });

  t.test('404: paths that are none', async (t) => {
    const paths = ['/metapush', `${PATH}/`, `${PATH}/more`, '/metaPush/demo/demo-token', '//metapush/demo/demo-token'];
    for (const path of paths) isProblem(t, await ask(t, port, `GET ${path}?song=x HTTP/1.1`), 404);
    // An empty key or token: nobody's.
    for (const path of ['/metapush/', '/metapush//demo-token', '/metapush/demo/']) {
      isProblem(t, await ask(t, port, `GET ${path}?song=x HTTP/1.1`), 403);
    }
    await untouched(t);
  });

  t.test('405 with Allow, and a link checker does not push', async (t) => {
    for (const method of ['HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await ask(t, port, `${method} ${PATH}?song=x HTTP/1.1\nContent-Length: 0`);
      t.equal(answer.heads.get('allow'), 'GET, POST', method);
      if (method === 'HEAD') t.equal(answer.status, 405);
      else isProblem(t, answer, 405);
    }
    await untouched(t);
  });

  t.test('413: at each limit and one past it', async (t) => {
    const body = (length: number) => {
      const start = JSON.stringify({ ...FULL, song: 'Before' }).slice(0, -1);
      return `${start},"pad":"${'x'.repeat(length - start.length - 10)}"}`;
    };
    const whole = await post(t, port, body(65_536));
    t.equal(whole.status, 200, whole.body);
    isProblem(t, await post(t, port, body(65_537)), 413);
    isProblem(t, await post(t, port, Buffer.alloc(10_000_000, ' ')), 413);
    const chunked = new Wire(t, port).send(
      `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    for (let i = 0; i < 9; i++) chunked.send(`2000\r\n${' '.repeat(8192)}\r\n`);
    isProblem(t, (await chunked.take(1))[0]!, 413);

    for (const field of ['song', 'artist', 'album', 'id', 'isrc', 'separator']) {
      t.equal((await post(t, port, { ...FULL, [field]: 'é'.repeat(512) })).status, 200, `${field} at the limit`);
      isProblem(t, await post(t, port, { ...FULL, [field]: `${'é'.repeat(512)}x` }), 413, [field]);
    }
    t.equal((await get(t, port, `?song=${'x'.repeat(1024)}`)).json().song.length, 1024);
    isProblem(t, await get(t, port, `?song=${'x'.repeat(1025)}`), 413, ['song']);
    isProblem(t, await get(t, port, `?song=${'x'.repeat(5000)}&artist=${'%C3%A9'.repeat(2000)}&etype=7`), 413, [
      'song',
      'artist',
      'etype',
    ]);
    isProblem(t, await post(t, port, { ...FULL, song: 'x'.repeat(5000) }), 413, ['song']);
    t.equal((await post(t, port, { ...FULL, cover: `https://x/${'c'.repeat(4086)}` })).status, 200);
    isProblem(t, await post(t, port, { ...FULL, cover: `https://x/${'c'.repeat(4087)}` }), 413, ['cover']);
    isProblem(t, await post(t, port, { ...FULL, extdata: { x: 'x'.repeat(16_384) } }), 413, ['extdata']);
    await post(t, port, { ...FULL, song: 'Before' });
  });

  t.test('415: other content types', async (t) => {
    for (const type of [
      '',
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/jsonx',
      'application/ld+json',
      'x',
      'multipart/form-data; boundary=x',
    ]) {
      isProblem(t, await post(t, port, FULL, type), 415);
    }
    await untouched(t);
  });

  t.test('422: every bad field at once', async (t) => {
    isProblem(t, await post(t, port, {}), 422, ['song', 'artist', 'duration']);
    isProblem(t, await post(t, port, []), 422);
    isProblem(t, await post(t, port, 'null'), 422);
    const bad = {
      song: 1,
      artist: null,
      duration: -1,
      time: 'now',
      etype: 7,
      tracktype: 'later',
      images: [],
      extdata: 'x',
      cover: 7,
    };
    isProblem(t, await post(t, port, bad), 422, Object.keys(bad));
    isProblem(t, await get(t, port, '?duration=x&time=later&etype=-1&tracktype=NOW&encoding=latin1'), 422, [
      'duration',
      'time',
      'etype',
      'tracktype',
      'encoding',
    ]);
    isProblem(t, await get(t, port, '?song=false&artist=false'), 422, ['song', 'artist']);
    t.match((await post(t, port, { ...FULL, etype: 2 })).body, /1001 \(Music 1\)/);
    await untouched(t);
  });

  t.test('431: a head that is too long, however much of it comes', async (t) => {
    t.equal((await get(t, port, `?pad=${'x'.repeat(31_000)}&song=Before`)).status, 200);
    for (const length of [33_000, 3_000_000]) {
      const answer = await get(t, port, `?song=${'x'.repeat(length)}`);
      isProblem(t, answer, 431);
    }
    // One that reads only when it has sent all: a connection that was reset would have taken the answer with it.
    const late = new Wire(t, port);
    late.socket.pause();
    const sent = new Promise((done) => late.socket.write(`GET ${PATH}?song=${'x'.repeat(3_000_000)}`, done));
    await sent;
    late.socket.resume();
    isProblem(t, (await late.take(1))[0]!, 431);
    isProblem(t, await ask(t, port, `GET ${PATH}?song=x HTTP/1.1\nX-Pad: ${'x'.repeat(33_000)}`), 431);
    isProblem(t, await ask(t, port, `GET ${PATH} song=not a request line`), 400);
    await untouched(t);
  });
});

t.test('a body that waits for 100, comes slowly, or in chunks', async (t) => {
  const { port } = await startServer(t, YAML);
  const body = JSON.stringify({ ...FULL, song: 'Expected' });
  const head = `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
  const wire = new Wire(t, port).send(`${head}Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`);
  t.equal((await wire.take(1))[0]!.status, 100);
  wire.send(body);
  const [, answer] = await wire.take(2);
  t.equal(answer!.status, 200);
  t.equal(answer!.json().song, 'Expected');

  const pieces = new Wire(t, port);
  for (const byte of `${head}Content-Length: ${body.length}\r\n\r\n${body}`) {
    pieces.send(byte);
    await new Promise((done) => setImmediate(done));
  }
  t.equal((await pieces.take(1))[0]!.status, 200, 'byte by byte');
  const chunked = new Wire(t, port).send(`${head}Transfer-Encoding: chunked\r\n\r\n5\r\n${body.slice(0, 5)}\r\n`);
  chunked.send(`${(body.length - 5).toString(16)}\r\n${body.slice(5)}\r\n0\r\n\r\n`);
  t.equal((await chunked.take(1))[0]!.status, 200, 'chunked');
  t.equal((await now(t, port)).song, 'Expected');

  const half = new Wire(t, port).send(`${head}Content-Length: ${body.length}\r\n\r\n${body.slice(0, 20)}`);
  await until(() => half.socket.bytesWritten > 100, 1000);
  half.socket.destroy();
  t.equal((await get(t, port, '?song=After')).json().song, 'After', 'one that was broken off applies nothing');
});

t.test('pipelined pushes are answered and applied in order', async (t) => {
  const { port } = await startServer(t, YAML);
  const body = (song: string) => JSON.stringify({ song, artist: '', duration: 1 });
  const head = `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: `;
  // Of one method only: after a POST a client should not pipeline another one (RFC 9112, 9.3.2), and its body takes a little time.
  for (const method of ['GET', 'POST']) {
    const watching = await new Watching(t, `ws://127.0.0.1:${port}/metadata/channel/demo`).opened();
    const songs = Array.from({ length: 20 }, (_, n) => `${method} ${n}`);
    const requests = songs.map((song) =>
      method === 'GET'
        ? `GET ${PATH}?song=${song.replace(' ', '+')} HTTP/1.1\r\nHost: x\r\n\r\n`
        : `${head}${body(song).length}\r\n\r\n${body(song)}`,
    );
    const answers = await new Wire(t, port).send(requests.join('')).take(20);
    t.same(
      answers.map((answer) => answer.json().song),
      songs,
      'answers',
    );
    await until(() => watching.told.at(-1)?.song === songs[19], 2000);
    t.same(
      watching.told.slice(-20).map((record) => record.song),
      songs,
      'effects',
    );
  }
});

t.test('two hundred at once: one order for everybody', async (t) => {
  const { port } = await startServer(t, `limits: { pushBurst: 400 }\n${YAML}`);
  const watchers = await Promise.all(
    ['channel/demo', 'channel/demo', 'station/house'].map((topic) =>
      new Watching(t, `ws://127.0.0.1:${port}/metadata/${topic}`).opened(),
    ),
  );
  const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
  t.teardown(() => agent.destroy());
  const seenAtAnswer: boolean[] = [];
  const push = (n: number) =>
    new Promise<number>((resolve, reject) => {
      const posted = n % 2 === 0;
      const options = {
        agent,
        port,
        host: '127.0.0.1',
        method: posted ? 'POST' : 'GET',
        path: posted ? PATH : `${PATH}?song=s${n}&id=${n}`,
      };
      const request = http.request(options, (response) => {
        response.resume().on('end', () => resolve(response.statusCode!));
      });
      request.on('error', reject);
      if (posted) request.setHeader('Content-Type', 'application/json');
      request.end(posted ? JSON.stringify({ song: `s${n}`, artist: '', duration: 0, id: String(n) }) : undefined);
    });
  const statuses = await Promise.all(Array.from({ length: 200 }, (_, n) => push(n)));
  t.ok(statuses.every((status) => status === 200));
  const last = await now(t, port);
  for (const watching of watchers) await watching.has(200);
  const orders = watchers.map((watching) => watching.told.map((record) => record.id));
  t.same(orders[1], orders[0]);
  t.same(orders[2], orders[0], 'channel and station agree');
  t.equal(new Set(orders[0]).size, 200, 'each push was told once');
  t.equal(orders[0]!.at(-1), last.id, 'the last one told is what polling says');

  // What 200 promises: by then every reader that keeps up has been written to, and polling says it.
  for (let n = 0; n < 20; n++) {
    const { song } = (await get(t, port, `?song=told${n}`)).json();
    seenAtAnswer.push((await now(t, port)).song === song);
  }
  t.ok(seenAtAnswer.every(Boolean), 'after the 200 polling has it');
});

t.test('a store that fails: 503, nothing shown, and it goes on when the store does', async (t) => {
  let failing = false;
  const errors: unknown[] = [];
  class FailingStore extends MemoryStore {
    saves = 0;
    override async save(channel: string, state: ChannelState): Promise<void> {
      await new Promise((done) => setTimeout(done, [9, 1, 5][this.saves++ % 3]));
      if (failing) throw new Error('disk full: secret path');
      return super.save(channel, state);
    }
  }
  const path = join(tempFolder(t), 'config.yaml');
  writeFileSync(path, YAML);
  const config = loadConfig(path, process.env);
  const clock = new SystemClock();
  const log = openLog('silent', 0).log;
  const feed = new Feed();
  feed.addStation('house', [{ key: 'demo', name: 'Demo', station: 'house', timezone: 'UTC' }]);
  const sessions = new Sessions(clock, new ListenerFeed(feed), { keepMs: 1, max: 1 });
  const programme = new Channel('demo', config.stations['house']!.channels['demo']!, config, {
    clock,
    log,
    onTitle: async () => undefined,
    onSourceChanged: () => undefined,
  });
  const store = new FailingStore();
  const engine = new LocalEngine(
    store,
    (channel, change) => door.deliver(channel, change),
    (error) => errors.push(error),
  );
  const programmes = new Map([['demo', programme]]);
  const door = new TitleService({
    engine,
    feed,
    listenerFeed: new ListenerFeed(feed),
    sessions,
    clock,
    textBytes: 1024,
    log,
    channels: programmes,
    rules: config.titles,
    heldPushes: 64,
    titleRate: new Rate(clock, { perMinute: 600, burst: 100, remembered: 2 }),
    onError: () => undefined,
  });
  const proxies = new Proxies([], 'x-forwarded-for');
  const router = new Router({
    services: [new Poll(feed, sessions, { proxies, onError: () => undefined, history: HISTORY })],
    upgrades: [
      new Watch(feed, sessions, clock, {
        pingMs: 1e6,
        bufferBytes: 65536,
        drainMs: 1e6,
        watchers: 9,
        watchersPerAddress: 9,
        frames: 9,
        proxies,
      }),
    ],
    watchdog: new Watchdog(),
    connections: roomyTable(),
    headBytes: 32768,
    headMs: 1000,
    requestMs: 30_000,
    onError: (error) => errors.push(error),
  });
  const counted: number[] = [];
  registerPush(
    router.app,
    {
      authorized: (channel, token) => door.authorizes(channel, token),
      push: (channel, input) => door.push(channel, input),
      onPublished: () => undefined,
      onAnswered: ({ status }) => counted.push(status),
    },
    { ...config.limits, bodyBytes: 65536 },
    {
      pushes: new Rate(clock, { perMinute: 600, burst: 100, remembered: 10 }),
      refusedPushes: new Rate(clock, { perMinute: 600, burst: 100, remembered: 10 }),
      gate: new SecretGate(clock, { perMinute: 60, inAllPerMinute: 600, queue: 8, remembered: 10 }),
      connections: roomyTable(),
      proxies,
    },
  );
  await router.ready();
  const front = new Front({
    host: '127.0.0.1',
    port: 0,
    headMs: 1000,
    watchdog: new Watchdog(),
    connections: roomyTable(),
    http: router.server(new Roles(undefined)),
    onEncoder: undefined,
  });
  const port = await front.listen();
  t.teardown(async () => {
    clock.stop();
    await Promise.all([router.close(), front.close()]);
  });

  t.equal((await get(t, port, '?song=Kept')).status, 200);
  const watching = await (await new Watching(t, `ws://127.0.0.1:${port}/metadata/channel/demo`).opened()).has(1);
  failing = true;
  const refused = await Promise.all([
    get(t, port, '?song=Lost'),
    post(t, port, FULL),
    get(t, port, '?song=Lost&tracktype=next'),
  ]);
  for (const answer of refused) {
    isProblem(t, answer, 503);
    t.match(answer.heads.get('retry-after'), /^\d+$/);
    t.notMatch(answer.body, 'secret');
  }
  t.equal(errors.length, 3, 'the cause is reported inside');
  t.equal((await now(t, port)).song, 'Kept');
  failing = false;
  const after = await get(t, port, '?song=After');
  t.equal(after.status, 200);
  await watching.has(2);
  t.same(watching.songs, ['now Kept', 'now After'], 'readers saw nothing of the refused ones');
  t.same(counted, [200, 503, 503, 503, 200]);

  t.equal(engine.state('demo').version, 2);

  // Each change is decided on the one before it, however long the store takes for any of them.
  const songs = Array.from({ length: 9 }, (_, n) => `s${n}`);
  const pipelined = songs.map((song) => `GET ${PATH}?song=${song} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await new Wire(t, port).send(pipelined.join('')).take(9);
  await watching.has(11);
  t.same(
    watching.told.slice(2).map((record) => record.song),
    songs,
  );
  t.equal(engine.state('demo').version, 11);
  t.equal(store.load('demo')?.version, 11);

  await engine.close();
  const late = await get(t, port, '?song=Late');
  isProblem(t, late, 503);
  t.ok(late.heads.has('retry-after'));
});

t.test('while the server stops, a push on an open connection is refused as unavailable', async (t) => {
  const { app, port } = await startServer(t, `${YAML}\nshutdown: { graceSeconds: 2 }`);
  const body = JSON.stringify(FULL);
  const wire = new Wire(t, port).send(
    `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
  );
  await until(() => wire.socket.bytesWritten > 0, 1000);
  t.equal((await get(t, port, '?song=x')).status, 200);
  const stopped = app.stop();
  await new Promise((done) => setTimeout(done, 50));
  wire.send(`${body.slice(5)}GET ${PATH}?song=y HTTP/1.1\r\nHost: x\r\n\r\n`);
  const answers = await wire.take(1);
  for (const answer of answers) {
    isProblem(t, answer, 503);
    t.ok(answer.heads.has('retry-after'));
  }
  await stopped;
});
