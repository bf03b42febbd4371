/**
 * `follow` of the client module against the real server, in Node: by server-sent events over fetch, which is what Node 20 has, and by
 * WebSocket; over a restart of the server, through a proxy that lets no WebSocket through, with a server that asks for patience.
 */

import http from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { WebSocket, WebSocketServer } from 'ws';
import { Backoff } from '../../src/client/backoff.js';
import { follow } from '../../src/client/follow.js';
import type { ChannelRecord, FollowOptions, FollowState } from '../../src/client/types.js';
import { quietFor } from '../kit/pause.js';
import { freePort } from '../kit/process.js';
import { demoYaml, startServer, type TestServer } from '../kit/server.js';
import { until } from '../kit/until.js';

// They wait more than they compute.
t.jobs = 4;

async function push(server: TestServer, fields: Record<string, string>, channel = 'demo'): Promise<void> {
  const query = new URLSearchParams({ artist: 'A', ...fields });
  const answer = await fetch(`${server.base}/metapush/${channel}/${channel}-token?${query}`);
  if (answer.status !== 200) throw new Error(`push: ${answer.status}`);
}

/** Follows, and writes down what is called. */
function record(t: Test, options: FollowOptions) {
  const calls: string[] = [];
  const records: ChannelRecord[] = [];
  const states: FollowState[] = [];
  const following = follow({
    ...options,
    onNow: (record, isNews) => {
      records.push(record);
      calls.push(`now ${record.song}${isNews ? '' : ' (before)'}`);
    },
    onNext: (record) => calls.push(`next ${record?.song ?? 'none'}`),
    onState: (state) => states.push(state),
  });
  t.teardown(() => following.close());
  const has = (call: string, count = 1) =>
    until(
      () => calls.filter((each) => each === call).length >= count,
      20_000,
      () => `no ${call} in: ${calls}; ${states}`,
    );
  const reaches = (state: FollowState) =>
    until(
      () => following.state === state,
      40_000,
      () => `${states} has no ${state}`,
    );
  return { following, calls, records, states, has, reaches };
}

/** A server of a test's own on a free port, with its address. */
async function listen(t: Test, server: http.Server): Promise<string> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const WAYS: readonly (readonly [string, Partial<FollowOptions>])[] = [
  ['server-sent events', { transport: 'sse' }],
  ['WebSocket', { transport: 'websocket', WebSocket }],
];

for (const [way, options] of WAYS) {
  t.test(`by ${way}: what is in force, each change once, over a restart of the server`, async (t) => {
    const yaml = demoYaml('', await freePort());
    let server = await startServer(t, yaml);
    await push(server, { song: 'first', duration: '183', id: 'id-1', etype: '1001' });
    await push(server, { song: 'second', tracktype: 'next' });
    const { following, calls, records, states, has, reaches } = record(t, {
      ...options,
      channel: 'demo',
      server: server.base,
    });
    await has('now first (before)');
    t.match(records[0], {
      type: 'now',
      title: 'A - first',
      artist: 'A',
      durationSeconds: 183,
      id: 'id-1',
      etype: 1001,
      channelkey: 'demo',
      channel: 'Demo Channel',
      station: 'demo',
      session: '',
      positionMs: null,
      extdata: null,
    });
    t.ok(Math.abs(records[0]!.startMs - Date.now()) < 60_000);
    await push(server, { song: 'second' });
    await has('next none');
    await push(server, { song: 'third', tracktype: 'next' });
    await has('next third');

    await server.app.stop();
    await reaches('reconnecting');
    server = await startServer(t, yaml, server.folder);
    await reaches('connected');
    await push(server, { song: 'another' });
    await has('now another');
    await push(server, { song: 'one more' });
    await has('now one more');
    t.strictSame(calls, [
      ...['next second', 'now first (before)', 'now second', 'next none', 'next third'],
      // Nothing comes again after the restart. The second other title says that the third was skipped.
      ...['now another', 'next none', 'now one more'],
    ]);
    following.close();
    following.close();
    t.strictSame(states, ['connected', 'reconnecting', 'connected', 'closed']);
    await push(server, { song: 'unread' });
    await quietFor(300);
    t.equal(calls.length, 8, 'closed is closed');
  });
}

t.test(
  'what is in force has changed while the server was away: that comes, and a next that is gone goes',
  async (t) => {
    const yaml = demoYaml('', await freePort());
    let server = await startServer(t, yaml);
    await push(server, { song: 'first' });
    await push(server, { song: 'second', tracktype: 'next' });
    const { calls, has, reaches } = record(t, { channel: 'demo', server: server.base });
    await has('now first (before)');
    await server.app.stop();
    await reaches('reconnecting');
    // With a new store.
    server = await startServer(t, yaml);
    await push(server, { song: 'afterwards' });
    await has('next none');
    t.strictSame(calls.slice(0, 2), ['next second', 'now first (before)']);
    t.match(calls[2], /^now afterwards/);
  },
);

t.test('a station: the records of all its channels', async (t) => {
  const server = await startServer(t, demoYaml());
  await push(server, { song: 'one' });
  await push(server, { song: 'two' }, 'studio');
  const { records, has } = record(t, { station: 'demo', server: new URL(server.base) });
  await has('now two (before)');
  await push(server, { song: 'three' });
  await has('now three');
  t.strictSame(
    records.map(({ channelkey, song }) => `${channelkey}: ${song}`),
    ['demo: one', 'studio: two', 'demo: three'],
  );
});

t.test('a topic that the server does not know is missing, and asked for again', async (t) => {
  const server = await startServer(t, demoYaml());
  for (const [, options] of WAYS) {
    const { reaches, states } = record(t, { ...options, channel: 'nothing', server: server.base });
    await reaches('missing');
    t.ok(
      states.every((state) => state === 'missing' || state === 'reconnecting'),
      `${states}`,
    );
  }
});

t.test('a server that asks for patience gets it', async (t) => {
  const askedMs: number[] = [];
  const base = await listen(
    t,
    http.createServer((_, response) => {
      askedMs.push(performance.now());
      response.writeHead(503, { 'Retry-After': '3' }).end();
    }),
  );
  const { states } = record(t, { transport: 'sse', channel: 'demo', server: base });
  await until(() => askedMs.length === 2, 20_000);
  t.ok(askedMs[1]! - askedMs[0]! >= 2990, `${askedMs[1]! - askedMs[0]!} ms`);
  t.strictSame(states, ['reconnecting']);
});

t.test('patience that is asked for by a date, or for longer than a timer can wait', async (t) => {
  for (const value of [new Date(Date.now() + 5000).toUTCString(), '2592000']) {
    const askedMs: number[] = [];
    const base = await listen(
      t,
      http.createServer((_, response) => {
        askedMs.push(performance.now());
        response.writeHead(503, { 'Retry-After': value }).end();
      }),
    );
    record(t, { transport: 'sse', channel: 'demo', server: base });
    await until(() => askedMs.length === 1, 20_000);
    // Without it the second try comes within 1.5 s.
    await quietFor(2500);
    t.equal(askedMs.length, 1, value);
  }
});

t.test('a WebSocket that was closed with 1013 comes back after seconds', async (t) => {
  const server = http.createServer();
  const askedMs: number[] = [];
  new WebSocketServer({ server }).on('connection', (socket) => {
    askedMs.push(performance.now());
    socket.close(1013);
  });
  const base = await listen(t, server);
  record(t, { transport: 'websocket', WebSocket, channel: 'demo', server: base });
  await until(() => askedMs.length === 2, 20_000);
  t.ok(askedMs[1]! - askedMs[0]! >= 3990, `${askedMs[1]! - askedMs[0]!} ms`);
});

t.test('where a proxy lets no WebSocket through, the titles come by server-sent events', async (t) => {
  const server = await startServer(t, demoYaml());
  await push(server, { song: 'first' });
  const seen: string[] = [];
  const proxy = http.createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    const { method, url, headers } = request;
    http.get(`${server.base}${url}`, { method: method!, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
  });
  proxy.on('upgrade', (request, socket) => {
    seen.push(`upgrade ${request.url}`);
    socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
  });
  const { has, states } = record(t, { WebSocket, channel: 'demo', server: await listen(t, proxy) });
  await has('now first (before)');
  await push(server, { song: 'second' });
  await has('now second');
  t.equal(states.at(-1), 'connected');
  const both = ['upgrade /metadata/channel/demo', 'HEAD /metadata/sse/channel/demo'];
  t.strictSame(seen, [...both, ...both, 'GET /metadata/sse/channel/demo']);
});

t.test('what is no record is ignored', async (t) => {
  const server = http.createServer();
  const texts = ['', 'null', '[]', '{', '{"type":"now"}', '{"type":"other","channelkey":"demo"}'];
  const wrong = { type: 'now', channelkey: 'demo', song: 'as it is', duration: '7', cover: 'javascript:1', images: 3 };
  new WebSocketServer({ server }).on('connection', (socket) => {
    for (const text of [...texts, JSON.stringify(wrong)]) socket.send(text);
  });
  const base = await listen(t, server);
  const { calls, records, has } = record(t, { WebSocket, channel: 'demo', server: base });
  await has('now as it is (before)');
  t.equal(calls.length, 1);
  t.match(records[0], { durationSeconds: 0, cover: '', images: { small: '' }, artist: '', positionMs: null });
});

t.test('closed by one of its own handlers it stays closed, and calls no other', async (t) => {
  const server = http.createServer();
  let count = 0;
  const make = (type: string, song: string) =>
    JSON.stringify({ type, channelkey: 'demo', id: song, song, rawdata: song });
  new WebSocketServer({ server }).on('connection', (socket) => {
    count++;
    for (const text of [make('now', 'one'), make('next', 'two'), make('now', 'two')]) socket.send(text);
  });
  const base = await listen(t, server);
  const page = globalThis as { addEventListener?: unknown };
  const kept = page.addEventListener;
  let isOnline = (): void => undefined;
  const options = { WebSocket, channel: 'demo', server: base };
  const states: FollowState[] = [];
  // Only while it begins: other tests run beside this one.
  page.addEventListener = (name: string, listener: () => void) => name === 'online' && (isOnline = listener);
  const lost = follow({
    ...options,
    onState: (state) => {
      states.push(state);
      if (state === 'reconnecting') lost.close();
    },
  });
  page.addEventListener = kept;
  t.teardown(() => lost.close());
  await until(() => lost.state === 'connected', 20_000);
  isOnline();
  const calls: string[] = [];
  const heard = follow({
    ...options,
    onNow: ({ song }) => {
      calls.push(song);
      if (song === 'two') heard.close();
    },
    onNext: (record) => calls.push(`next ${record?.song}`),
  });
  await until(() => heard.state === 'closed', 20_000);
  t.strictSame(calls, ['one', 'next two', 'two']);
  await quietFor(500);
  t.equal(count, 2);
  t.strictSame(states, ['connected', 'reconnecting', 'closed']);
});

t.test('waits grow, are spread, and have an end', async (t) => {
  const waits = Array.from({ length: 50 }, () => {
    const backoff = new Backoff();
    return Array.from({ length: 8 }, () => backoff.next());
  });
  for (const [tries, mean] of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000].entries()) {
    const all = waits.map((each) => each[tries]!);
    t.ok(all.every((ms) => ms >= mean / 2 && ms <= mean * 1.5));
    t.ok(Math.max(...all) - Math.min(...all) > mean / 4, 'not all at once');
  }
  t.ok(new Backoff().next(60_000) >= 60_000);
});

t.test('a target and a server are needed', async (t) => {
  t.throws(() => follow({ channel: 'demo' }), TypeError, 'outside of a page');
  t.throws(() => follow({ channel: 'demo', server: 'nowhere' }), TypeError);
  t.throws(() => follow({ server: 'http://127.0.0.1' } as never), /name one/);
});
