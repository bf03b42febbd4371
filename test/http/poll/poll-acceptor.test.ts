/**
 * PollAcceptor beside Node's HTTP server: the same bytes for the same request, whichever answers. A blank line before a request takes
 * it past the acceptor, to Node; so every request can be asked both ways.
 */

import { createServer } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { Feed } from '../../../src/feed/feed.js';
import { NO_HEADERS } from '../../../src/http/legacy.js';
import { PollAcceptor } from '../../../src/http/poll/poll-acceptor.js';
import { PLAIN_BYTES, readPollHead } from '../../../src/http/poll/poll-head.js';
import { Front } from '../../../src/net/front/front.js';
import { FakeClock } from '../../kit/clock.js';
import { roomyTable } from '../../kit/front-harness.js';
import { quietFor } from '../../kit/pause.js';
import { Random } from '../../kit/random.js';
import { FACE, viewOf } from '../../kit/record.js';
import { DEMO_AUDIO, startServer } from '../../kit/server.js';
import { awaited, until, untilPromised } from '../../kit/until.js';
import { accepted, arrived, ENDS_MS, peerOf, Wire } from '../../kit/wire.js';

// They wait more than they compute.
t.jobs = 4;

const YAML = `
addresses:
  - { host: 127.0.0.1, port: 0 }
  - { host: 127.0.0.1, port: 0, roles: [legacy] }
  - { host: 127.0.0.1, port: 0, roles: [push, ops] }
legacy: { deprecatedOn: 2024-01-01, sunsetOn: 2027-12-31, successor: "https://api.example.com/new" }
limits: { pushesPerMinute: 10000, pushBurst: 10000 }
stations:
  house:
    channels:
      zulu: { name: 'Zulu', pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      other: { pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      mute: { sources: [{ type: encoder, password: demo-source }] }
`;
const CHANNEL = '/metadata/channel/zulu';
const get = (path: string, ...headers: string[]) =>
  `GET ${path} HTTP/1.1\r\n${['Host: x', ...headers].map((head) => `${head}\r\n`).join('')}\r\n`;
const push = (song: string, channel = 'zulu') =>
  get(`/metapush/${channel}/demo-token?artist=%C3%84rt&song=${song}&duration=100`);
const POLL = get(`${CHANNEL}.json`);
const LAST = get(`${CHANNEL}.txt`, `X-Padding: ${'x'.repeat(120)}`, 'Connection: close');

/** Node's parser stays with the connections that are its own. */
const isNodes = (wire: Wire) => (peerOf(wire.socket) as { parser?: object }).parser != null;
/** Two answers may be a second apart. */
const undated = (text: string) =>
  text.replace(/^Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r$/gm, 'Date: then\r');

const { port, app } = await startServer(t, YAML);
const [, legacyPort, pushPort] = app.ports as [number, number, number];
{
  const wire = new Wire(t, port).send(push('First') + push('Second') + push('Soon').replace('?', '?tracktype=next&'));
  const answers = await wire.take(3);
  if (answers.some(({ status }) => status !== 200)) throw new Error(wire.got);
}

/**
 * What comes for these bytes through the acceptor and past it, both until the server closes.
 * @param before asked and answered first on the same connection
 */
async function bothWays(t: Test, port: number, bytes: string, before = ''): Promise<[string, string]> {
  const [acceptor, node] = await Promise.all(
    ['', '\r\n'].map(async (blank) => {
      const wire = new Wire(t, port);
      if (before !== '') await wire.send(blank + before).take(1);
      wire.send(before === '' ? blank + bytes : bytes);
      await until(
        () => wire.closed || wire.ended,
        20_000,
        () => `${JSON.stringify(before + bytes)} is not closed: ${JSON.stringify(wire.got)}`,
      );
      return undated(wire.got);
    }),
  );
  return [acceptor!, node!];
}

t.test('the same bytes as from Node', async (t) => {
  const wire = new Wire(t, port).send(POLL);
  const etag = (await wire.take(1))[0]!.headers.get('etag')!;
  t.notOk(isNodes(wire), 'the acceptor answers this one');
  const paths = ['', '?type=now', '?type=next'].flatMap((query) => [
    `${CHANNEL}.json${query}`,
    `${CHANNEL}.txt${query}`,
  ]);
  const conditions = [
    ...[
      '*',
      ' * ',
      etag,
      ` \t${etag} `,
      `W/${etag}`,
      `"x", ${etag}`,
      `"x",W/${etag} ,"y"`,
      '"x"',
      '',
      etag.slice(1, -1),
    ],
    ...[`${etag}\r\nIf-None-Match: "x"`, `"x"\r\nif-none-match: ${etag}`],
  ].map((value) => `If-None-Match: ${value}`);
  const headers = [
    ...[
      'Connection: keep-alive',
      'Connection:Keep-Alive',
      'connection: keep-alive, close',
      'Connection: TE',
      'Connection:',
    ],
    ...[
      'Accept: */*',
      'Accept-Encoding: gzip, br',
      'Range: bytes=0-1',
      'Keep-Alive: timeout=5',
      'Proxy-Connection: close',
    ],
    ...[
      'If-Modified-Since: Fri, 31 Dec 2027 00:00:00 GMT',
      'Origin: null',
      'TE: trailers',
      'Host: y',
      'Cookie: \xe9\xff',
    ],
    ...[
      'Content-Length: 0',
      'Content-Length: 3\r\n\r\nabc',
      'Transfer-Encoding: chunked\r\n\r\n0',
      'Expect: 100-continue',
    ],
    ...[
      'Expect: nothing',
      'Upgrade: h2c\r\nConnection: Upgrade',
      'Upgrade: websocket',
      ' folded',
      'X : y',
      ':',
      'x',
      'X:\0',
      'X:\ty',
    ],
  ];
  const requests = [
    ...paths.map((path) => get(path)),
    ...conditions.flatMap((head) => [get(`${CHANNEL}.json`, head), get('/metadata/channel/mute.json', head)]),
    ...headers.map((head) => get(`${CHANNEL}.json`, head)),
    ...[
      'none.json',
      'mute.json',
      'mute.txt?type=next',
      'zulu.json?type=all',
      'zulu.json?type=',
      'zulu.json?',
      'zulu.json?type=next&x',
    ],
    ...[
      'zulu',
      'zulu.json/',
      'zulu.JSON',
      'zulu.json#x',
      '../channel/zulu.json',
      'zulu%2ejson',
      'zulu/history.json',
      'constructor.json',
    ],
  ].map((text) => (text.startsWith('GET ') ? text : get(`/metadata/channel/${text}`)));
  const odd = [
    ...['HEAD', 'OPTIONS', 'POST', 'DELETE'].map((method) => POLL.replace('GET', method)),
    ...[
      POLL.replace('1.1', '1.0'),
      POLL.replace('1.1', '1.2'),
      POLL.replace('HTTP', 'http'),
      POLL.replace('Host: x\r\n', ''),
    ],
    ...[
      POLL.replaceAll('\r\n', '\n'),
      POLL.replace('x\r\n', 'x\n'),
      POLL.replace('x\r\n', 'x\r'),
      POLL.replace(' /', '  /'),
    ],
    ...[
      POLL.replace('GET /', 'GET http://x/'),
      POLL.replace('Host: x', 'Host:'),
      `${POLL}\r\n`,
      POLL.replace(' HTTP', '\tHTTP'),
    ],
  ];
  for (const at of [port, legacyPort, pushPort]) {
    await Promise.all(
      [...requests, ...odd].map(async (request) => {
        const [acceptor, node] = await bothWays(t, at, request + LAST);
        t.equal(acceptor, node, JSON.stringify(request));
        t.match(acceptor, /^HTTP\/1\.1 \d\d\d /);
      }),
    );
  }
  for (const path of paths) {
    const request = get(path, 'Connection: close', `If-None-Match: ${etag}`);
    const [acceptor, node] = await bothWays(t, legacyPort, request);
    t.equal(acceptor, node, JSON.stringify(request));
  }
  t.match((await new Wire(t, legacyPort).send(POLL).take(1))[0]!.headers.get('sunset'), 'GMT');
  const pushed = new Wire(t, pushPort).send(POLL);
  t.equal((await pushed.take(1))[0]!.status, 404, 'an address without polls');
});

t.test('headers that were tampered with', async (t) => {
  const random = new Random();
  t.comment(`SEED=${random.seed}`);
  const bases = [
    POLL,
    get(`${CHANNEL}.txt?type=next`, 'If-None-Match: "x", *', 'Accept: text/plain'),
    get(`${CHANNEL}.json`, 'User-Agent: a/1.0 (b; c)', 'Connection: keep-alive', 'If-None-Match: W/"y"'),
    get(`${CHANNEL}.json`, 'Content-Length: 0', 'Connection: close'),
  ];
  const bytes = [
    '\r',
    '\n',
    '\r\n',
    '\0',
    ' ',
    '\t',
    ':',
    '/',
    '?',
    ',',
    ';',
    '"',
    '1',
    '\xe9',
    '\x7f',
    '\r\n\r\n',
    'x',
    '%',
    '.',
  ];
  const tampered = Array.from({ length: 120 }, () => {
    let text = bases[random.int(0, bases.length - 1)]!;
    for (let count = random.int(1, 2); count > 0; count--) {
      const at = random.int(5, text.length - 1);
      const lines = text.split('\r\n');
      const line = random.int(1, lines.length - 1);
      const extra = bytes[random.int(0, bytes.length - 1)]!;
      const changes = [
        () => text.slice(0, at) + extra + text.slice(at + 1),
        () => text.slice(0, at) + extra + text.slice(at),
        () => text.slice(0, at) + text.slice(at + 1),
        () => text.slice(0, at) + text[at]!.toUpperCase() + text.slice(at + 1),
        () => [...lines.slice(0, line), lines[line], ...lines.slice(line)].join('\r\n'),
        () => [...lines.slice(0, line), ...lines.slice(line + 1)].join('\r\n'),
      ];
      text = changes[random.int(0, changes.length - 1)]!();
    }
    return text;
  });
  await Promise.all(
    tampered.map(async (text) => {
      // As the first of a connection, and behind one that the acceptor has answered.
      for (const before of ['', POLL]) {
        const [acceptor, node] = await bothWays(t, port, text + LAST, before);
        t.equal(acceptor, node, `SEED=${random.seed} ${JSON.stringify(before + text)}`);
      }
    }),
  );
});

t.test('split anywhere', async (t) => {
  const text = get(`${CHANNEL}.json`, 'If-None-Match: "x"');
  const split = async (cut: number) => {
    const wire = new Wire(t, port).send(POLL);
    await wire.take(1);
    wire.send(text.slice(0, cut));
    await arrived(wire.socket);
    wire.send(text.slice(cut) + POLL);
    const answers = await wire.take(3);
    t.same(
      answers.map(({ status, body }) => [status, body]),
      Array.from({ length: 3 }, () => [200, answers[0]!.body]),
      `cut at ${cut}`,
    );
    return isNodes(wire);
  };
  await Promise.all(
    Array.from({ length: text.length - 1 }, async (_, cut) => {
      t.ok(await split(cut + 1), 'a head in pieces is read by Node');
    }),
  );
});

t.test('fifty at once, in order', async (t) => {
  const same = new Wire(t, port).send(POLL.repeat(50));
  t.equal(new Set((await same.take(50)).map(({ body }) => body)).size, 1);
  t.notOk(isNodes(same), 'the acceptor answers them all');
  const kinds = [
    [`${CHANNEL}.json`, '"song":"Second"'],
    [`${CHANNEL}.txt`, 'Ärt - Second\n'],
    [`${CHANNEL}.txt?type=next`, 'Ärt - Soon\n'],
    ['/metadata/channel/mute.json', ''],
  ] as const;
  for (const stranger of ['', '/metadata/channel/none.json', '/metadata/station/house.json', '/healthz']) {
    const asked = Array.from({ length: 50 }, (_, i) => (i === 30 && stranger ? [stranger, ''] : kinds[(i * 7) % 4]!));
    const wire = new Wire(t, port).send(asked.map(([path]) => get(path!)).join(''));
    const answers = await wire.take(50);
    for (const [i, [path, body]] of asked.entries()) t.ok(answers[i]!.body.includes(body!), `${i}: ${path}`);
    t.equal(isNodes(wire), stranger !== '');
  }
});

t.test('polls, a push and polls on one connection', async (t) => {
  const other = get('/metadata/channel/other.txt');
  const wire = new Wire(t, port).send(other);
  t.equal((await wire.take(1))[0]!.status, 204);
  t.notOk(isNodes(wire));
  await wire.send(push('Here', 'other')).take(2);
  t.ok(isNodes(wire), 'a push is not for the acceptor');
  t.equal((await wire.send(other).take(3))[2]!.body, 'Ärt - Here\n');

  const kept = new Wire(t, port).send(other);
  t.equal((await kept.take(1))[0]!.body, 'Ärt - Here\n');
  await wire.send(push('There', 'other')).take(4);
  const etag = (await kept.send(other).take(2))[1]!.headers.get('etag')!;
  t.equal(kept.answers()[1]!.body, 'Ärt - There\n', 'the same bytes asked again bring what is new');
  const again = get('/metadata/channel/other.txt', `If-None-Match: ${etag}`);
  t.equal((await kept.send(again).take(3))[2]!.status, 304);
  await wire.send(push('Elsewhere', 'other')).take(5);
  t.equal((await kept.send(again).take(4))[3]!.body, 'Ärt - Elsewhere\n');
  t.equal((await kept.send(other).take(5))[4]!.status, 200);
  t.notOk(isNodes(kept));
  const all = new Wire(t, port).send(other + push('Last', 'other') + other);
  const [before, pushed, after] = await all.take(3);
  t.same([before!.body, after!.status], ['Ärt - Elsewhere\n', 200], 'in one piece');
  t.equal(pushed!.json().song, 'Last');
});

t.test('what is not plain', async (t) => {
  t.match(readPollHead(get('/x?y', 'If-None-Match: "z" ', 'connection:CLOSE')), {
    target: '/x?y',
    ifNoneMatch: '"z"',
    closes: true,
  });
  const headers = [
    'Host: x',
    'Content-Length: 0',
    'Transfer-Encoding: x',
    'Expect: x',
    'Upgrade: x',
    'Proxy-Connection: x',
  ];
  const twice = ['Connection: close\r\nConnection: close', 'If-None-Match: x\r\nIf-None-Match: x'];
  const others = [
    'Connection: upgrade',
    'Connection: close, close',
    'Connection:',
    'X',
    'X :',
    ' X:',
    'X: \x7f',
    'X: \x80',
    'X:\n',
  ];
  for (const head of [...headers, ...twice, ...others, ...headers.map((text) => text.toUpperCase())])
    t.equal(readPollHead(get('/x', head)), null, JSON.stringify(head));
  for (const text of [
    '',
    '\r\n',
    get('/x').slice(0, -1),
    `\r\n${get('/x')}`,
    `${get('/x')}x`,
    get('x'),
    get('/x y'),
    get('/\xe9'),
  ])
    t.equal(readPollHead(text), null, JSON.stringify(text));
  t.equal(readPollHead('GET /x HTTP/1.1\r\n\r\n'), null, 'no host');
});

t.test('a plain head has a size', async (t) => {
  const padded = (length: number) =>
    get(`${CHANNEL}.txt`, `X: ${'x'.repeat(length - get(`${CHANNEL}.txt`).length - 5)}`);
  t.equal(padded(PLAIN_BYTES).length, PLAIN_BYTES);
  t.not(readPollHead(padded(PLAIN_BYTES)), null);
  t.equal(readPollHead(padded(PLAIN_BYTES + 1)), null);
  for (const [length, nodes] of [
    [PLAIN_BYTES, false],
    [PLAIN_BYTES + 1, true],
  ] as const) {
    const wire = new Wire(t, port).send(padded(length));
    t.equal((await wire.take(1))[0]!.status, 200);
    t.equal(isNodes(wire), nodes, `${length} bytes`);
  }
});

t.test('who reads nothing is not written to for ever', async (t) => {
  const wire = new Wire(t, port);
  await new Promise((done) => wire.socket.once('connect', done));
  wire.socket.pause();
  await until(() => peerOf(wire.socket) !== undefined, 5000);
  const server = peerOf(wire.socket);
  // Whole requests in every piece that the server reads: else the rest would be Node's.
  const piece = POLL.repeat(200);
  let count = 0;
  while (!server.isPaused() && count < 100_000) {
    wire.send(piece);
    count += 200;
    await until(() => server.bytesRead >= count * POLL.length || server.isPaused(), 5000);
  }
  t.ok(server.isPaused(), 'the server reads no more');
  wire.send(piece);
  count += 200;
  for (let i = 0; i < 20; i++) {
    const most = server.writableHighWaterMark + 24_000;
    t.ok(server.writableLength < most, `${server.writableLength} bytes wait for it`);
    await quietFor(10);
  }
  t.ok(server.isPaused());
  t.notOk(isNodes(wire), 'it was the acceptor that waited');
  wire.socket.resume();
  const size = (bytes: number) =>
    until(
      () => wire.got.length >= bytes,
      20_000,
      () => `${wire.got.length} of ${bytes}`,
    );
  await size(2000);
  const one = wire.got.indexOf('HTTP/1.1', 1);
  await size(one * count);
  t.equal(undated(wire.got.slice(one * (count - 1))), undated(wire.got.slice(0, one)), 'then it gets every answer');
});

t.test('those who vanish leave nothing behind', async (t) => {
  const server = await startServer(t, YAML);
  const wares = [POLL, POLL.slice(0, 30), POLL.repeat(200), POLL + push('x'), `${POLL}GET /`, LAST, `${POLL}\0`];
  for (let round = 0; round < 20; round++) {
    const wires = wares.flatMap((bytes) => [
      new Wire(t, server.port).send(bytes),
      new Wire(t, server.port).send(bytes),
    ]);
    if (round % 2 === 0) await until(() => wires[0]!.got !== '', 5000);
    for (const [i, wire] of wires.entries()) {
      if (i % 2 === 0) wire.socket.resetAndDestroy();
      else wire.socket.destroy();
    }
    await turn();
  }
  await untilPromised(
    () => accepted(server.port).length === 0,
    ENDS_MS,
    () => `${accepted(server.port).length} are left`,
  );
  t.equal((await new Wire(t, server.port).send(get('/healthz')).take(1))[0]!.status, 200);
  const half = new Wire(t, server.port, { halfOpen: true });
  half.socket.end(POLL + POLL);
  t.equal((await half.take(2)).length, 2);
  await untilPromised(() => half.ended, ENDS_MS);
});

t.test('stopping closes idle connections at once', async (t) => {
  const server = await startServer(t, `${YAML}\nshutdown: { graceSeconds: 600 }`);
  const wires = Array.from({ length: 20 }, () => new Wire(t, server.port).send(POLL));
  await Promise.all(wires.map((wire) => wire.take(1)));
  t.notOk(isNodes(wires[0]!));
  await awaited(server.app.stop(), 10_000, () => 'it waits for its grace');
  await Promise.all(wires.map((wire) => wire.untilClosed()));
});

t.test('idle for too long', async (t) => {
  const clock = new FakeClock();
  const feed = new Feed();
  feed.change(new Map([['demo', [FACE]]]));
  feed.set('demo', 'now', viewOf('Song'));
  const http = createServer({ keepAliveTimeout: 5000 });
  const acceptor = new PollAcceptor(feed, clock, roomyTable());
  const options = {
    host: '127.0.0.1',
    port: 0,
    headMs: 1000,
    connections: roomyTable(),
    watchdog: clock.watchdog,
    http,
  };
  const front = new Front({ ...options, onPoll: acceptor.at(http, NO_HEADERS) });
  const port = await front.listen();
  t.teardown(() => front.close());
  t.teardown(() => acceptor.close());
  const ask = get('/metadata/channel/demo.json');
  const [idle, busy] = [new Wire(t, port).send(ask), new Wire(t, port).send(ask)];
  const [first] = await idle.take(1);
  t.equal(first!.headers.get('keep-alive'), 'timeout=5');
  t.equal(first!.headers.get('date'), 'Fri, 20 Nov 2026 12:37:28 GMT');
  await busy.take(1);
  clock.advance(4000);
  t.equal((await busy.send(ask).take(2))[1]!.headers.get('date'), 'Fri, 20 Nov 2026 12:37:32 GMT');
  clock.advance(960);
  t.equal(acceptor.count, 2, 'not a moment too soon');
  clock.advance(1200);
  await idle.untilClosed();
  t.equal(acceptor.count, 1);
  t.notOk(busy.closed);
  clock.advance(4500);
  await busy.untilClosed();
  t.equal(acceptor.count, 0);
});
