/**
 * The old WebSocket: with the client that its users have, unmodified, and as bytes where that client would never go.
 * Real server, real sockets.
 */

import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { Client } from '@hapi/nes';
import t, { type Test } from 'tap';
import { NesSession } from '../../../src/http/watch/nes-session.js';
import { Player } from '../../kit/player.js';
import { freePort } from '../../kit/process.js';
import { startServer, TWO_STATIONS } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';
import { ask, peerOf, Watching, Wire } from '../../kit/wire.js';

// The tests mostly wait: for heartbeats, for buffers to run full.
t.jobs = 4;

const yaml = (extra = '', port = 0) => `
addresses: [{ host: 127.0.0.1, port: ${port}, roles: [legacy] }]
legacy: { deprecatedOn: 2024-01-01, sunsetOn: 2027-12-31, successor: "https://api.example.com/" }
shutdown: { graceSeconds: 2 }
${extra}
${TWO_STATIONS}`;
const HELLO = { type: 'hello', id: 1, version: '2' };

async function push(t: Test, port: number, channel: string, song: string, query = ''): Promise<void> {
  const answer = await ask(t, port, `GET /metapush/${channel}/demo-token?song=${song}${query} HTTP/1.1`);
  if (answer.status !== 200) throw new Error(answer.body);
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into what they expect
type Message = any;

/** The real client, and what its handlers were given by path. */
class Follower {
  readonly client: Client;
  readonly messages: Record<string, Message[]> = {};
  readonly errors: string[] = [];
  /** Code and explanation of each lost connection. */
  readonly lost: string[] = [];
  connects = 0;

  constructor(t: Test, port: number) {
    this.client = new Client(`ws://127.0.0.1:${port}`);
    this.client.onError = (error: Error) => this.errors.push(error.message);
    this.client.onConnect = () => this.connects++;
    this.client.onDisconnect = (_: boolean, log: Message) => this.lost.push(`${log.code} ${log.reason}`);
    t.teardown(() => this.client.disconnect());
  }

  async follow(path: string): Promise<void> {
    this.messages[path] = [];
    await this.client.subscribe(path, (message: Message) => this.messages[path]!.push(message));
  }

  songs(path: string): string[] {
    return this.messages[path]!.map((record) => `${record.type} ${record.song}`);
  }

  async has(path: string, songs: readonly string[]): Promise<void> {
    await until(
      () => this.messages[path]!.length >= songs.length,
      20_000,
      () => `${path}: ${this.songs(path)}, errors ${this.errors}`,
    );
  }
}

/** What a promise of the client is refused with. */
async function refusal(promise: Promise<unknown>): Promise<Message> {
  try {
    await promise;
  } catch (error) {
    const { statusCode, data, path, type } = error as Message;
    return { statusCode, data, path, type };
  }
  return 'not refused';
}

t.test('the real client: channel, station, changes, unsubscribe', async (t) => {
  const { port } = await startServer(t, yaml());
  await push(t, port, 'alpha', 'One');
  await push(t, port, 'alpha', 'Two', '&tracktype=next');
  const follower = new Follower(t, port);
  const { client } = follower;
  await client.connect();
  t.match(client.id, /^[\w-]{36}$/, 'the socket has a name');
  await follower.follow('/metachannel/alpha');
  await follower.follow('/metastation/house');
  const first = ['next Two', 'now One'];
  await follower.has('/metachannel/alpha', first);
  await follower.has('/metastation/house', first);
  t.strictSame(follower.songs('/metachannel/alpha'), first, 'first next, then now');
  t.strictSame(follower.songs('/metastation/house'), first);
  const polled = await ask(t, port, 'GET /metadata/channel/alpha.json HTTP/1.1');
  t.strictSame(follower.messages['/metachannel/alpha']![1], polled.json(), 'the same record as everywhere');

  await push(t, port, 'zulu', 'Three');
  await push(t, port, 'alpha', 'Four');
  await push(t, port, 'bravo', 'Elsewhere');
  await follower.has('/metachannel/alpha', [...first, 'now Four']);
  await follower.has('/metastation/house', [...first, 'now Three', 'now Four']);
  t.strictSame(follower.songs('/metachannel/alpha'), [...first, 'now Four']);
  t.strictSame(follower.songs('/metastation/house'), [...first, 'now Three', 'now Four']);

  await client.unsubscribe('/metachannel/alpha');
  await push(t, port, 'alpha', 'Five');
  await follower.has('/metastation/house', [...first, 'now Three', 'now Four', 'now Five']);
  t.strictSame(follower.songs('/metachannel/alpha'), [...first, 'now Four'], 'nothing after unsubscribe');
  await follower.follow('/metachannel/alpha');
  await follower.has('/metachannel/alpha', ['now Five']);
  t.equal(follower.songs('/metachannel/alpha').at(-1), 'now Five', 'subscribed again: what is in force');
  t.strictSame(follower.errors, []);
});

t.test('the real client: what it is refused, each with the status and in the words of HTTP', async (t) => {
  const { port } = await startServer(t, yaml('limits: { nesSubscriptions: 2 }'));
  const follower = new Follower(t, port);
  const { client } = follower;
  await client.connect();
  const none = () => undefined;
  for (const path of ['/metachannel/none', '/metastation/alpha', '/metachannel/', '/other/alpha', '/metadata/a%20b']) {
    const { statusCode, data, path: named, type } = await refusal(client.subscribe(path, none));
    t.strictSame([statusCode, data.error, named, type], [404, 'Not Found', path, 'server'], path);
    t.ok(data.message.length > 5);
  }
  t.match(await refusal(client.subscribe('/metachannel/alpha?x=1', none)), {
    statusCode: 400,
    data: { error: 'Bad Request', message: 'Subscription path cannot contain query' },
  });
  t.match(await refusal(client.request('/metadata/channel/alpha.json')), { statusCode: 404 });
  t.match(await refusal(client.request({ method: 'POST', path: '/' })), { statusCode: 404 });
  t.match(await refusal(client.message({ hi: 1 })), { statusCode: 501, data: { error: 'Not Implemented' } });
  t.equal(await client.reauthenticate({ headers: { authorization: 'x' } }), true);

  await follower.follow('/metachannel/alpha');
  await follower.follow(`/metadata/${'x'.repeat(128)}`);
  t.match(
    await refusal(client.subscribe('/metachannel/zulu', none)),
    { statusCode: 429, data: { error: 'Too Many Requests' }, path: '/metachannel/zulu' },
    'one past the limit',
  );
  await client.unsubscribe('/metachannel/alpha');
  await follower.follow('/metachannel/zulu');
  t.match(await refusal(client.subscribe(`/metadata/${'x'.repeat(129)}`, none)), { statusCode: 404 }, 'too long');
  t.strictSame([client.subscriptions().length, follower.errors], [2, []]);
});

t.test('the real client: connects with subscriptions, gets 1001 at shutdown, comes back and begins anew', async (t) => {
  const folder = tempFolder(t);
  const port = await freePort();
  const first = await startServer(t, yaml('', port), folder);
  const follower = new Follower(t, port);
  await follower.follow('/metachannel/alpha');
  await follower.follow('/metachannel/zulu');
  await push(t, port, 'alpha', 'Before');
  await follower.client.connect({ delay: 100, maxDelay: 100 });
  await follower.has('/metachannel/alpha', ['now Before']);
  await first.app.stop();
  await until(() => follower.lost.length > 0, 5000);
  t.equal(follower.lost[0], '1001 shutting down');
  await startServer(t, yaml('', port), folder);
  await follower.has('/metachannel/alpha', ['now Before', 'now Before']);
  t.equal(follower.connects, 2);
  await push(t, port, 'zulu', 'After');
  await follower.has('/metachannel/zulu', ['now After']);
  t.strictSame(follower.songs('/metachannel/alpha'), ['now Before', 'now Before']);
  t.strictSame(follower.songs('/metachannel/zulu'), ['now After']);

  const wrong = new Follower(t, port);
  await wrong.follow('/metachannel/alpha');
  await wrong.follow('/metachannel/none');
  t.match(await refusal(wrong.client.connect()), { statusCode: 404, path: '/metachannel/none' });
  t.strictSame(wrong.songs('/metachannel/alpha'), [], 'all or none');
});

t.test('the listener: by its older name sabcsid, in step with what it hears', async (t) => {
  const { port } = await startServer(t, yaml());
  await push(t, port, 'bravo', 'First');
  // A listener gets a burst of 5 s once there is so much on the tape; then it begins behind the first second, in which the title came.
  const before = new Player(port, '/bravo');
  t.teardown(() => before.close());
  await before.until((player) => player.audioBytes > 106_000);
  const metaid = randomBytes(16).toString('hex');
  const early = new Follower(t, port);
  await early.client.connect();
  await early.follow(`/metadata/${metaid}`);
  const player = new Player(port, `/bravo?sabcsid=${metaid}`);
  t.teardown(() => player.close());
  await early.has(`/metadata/${metaid}`, ['now First']);
  const [record] = early.messages[`/metadata/${metaid}`]!;
  t.match(record, { song: 'First', position: '0', mount: '/bravo', session: /^[\w-]{36}$/ });

  const late = new Follower(t, port);
  await late.client.connect();
  await late.follow(`/metadata/${metaid}`);
  await late.has(`/metadata/${metaid}`, ['now First']);
  await push(t, port, 'bravo', 'Coming', '&tracktype=next');
  await push(t, port, 'bravo', 'Second');
  const pushedMs = performance.now();
  const all = ['now First', 'next Coming', 'now Second'];
  for (const follower of [early, late]) await follower.has(`/metadata/${metaid}`, all);
  // The burst was written at once: the title is heard that much after its push, less what has been played since.
  t.ok(performance.now() - pushedMs > 2500, 'not when it was pushed or written');
  for (const follower of [early, late]) t.strictSame(follower.songs(`/metadata/${metaid}`), all);
  t.ok(Number(early.messages[`/metadata/${metaid}`]!.at(-1).position) > 2500);

  const newer = randomBytes(16).toString('hex');
  await late.follow(`/metadata/${newer}`);
  const both = new Player(port, `/bravo?metaid=${newer}&sabcsid=${metaid}`);
  t.teardown(() => both.close());
  await late.has(`/metadata/${newer}`, ['now Second']);
  t.equal(late.messages[`/metadata/${newer}`]![0].mount, '/bravo', 'metaid counts more than its older name');
});

t.test('messages that the client would never send', async (t) => {
  const { port } = await startServer(t, yaml());
  const url = `ws://127.0.0.1:${port}/?old=1`;
  const raw = await new Watching(t, url).opened();
  let seen = 0;
  const say = async (message: unknown): Promise<Message> => {
    raw.ws.send(typeof message === 'string' ? message : JSON.stringify(message));
    await raw.has(++seen);
    return raw.records[seen - 1];
  };
  const bad = (type: unknown, id: unknown, message: string) => ({
    ...(type === undefined ? {} : { type }),
    ...(id === undefined ? {} : { id }),
    statusCode: 400,
    payload: { error: 'Bad Request', message },
  });
  for (const text of ['', '{', 'null', '7', '"hello"', '{}', '{"type":""}', '{"type":7}', '[]']) {
    const answer = await say(text);
    t.match(answer, { statusCode: 400, payload: { error: 'Bad Request', message: 'Cannot parse message' } }, text);
  }
  for (const id of [undefined, null, 0, '', true, {}]) {
    t.match(await say({ ...HELLO, id }), {
      type: 'hello',
      statusCode: 400,
      payload: { message: 'Message missing id' },
    });
  }
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    const times = Math.floor((4096 + 50 * 160 - 100) / (open.length + close.length));
    const deep = `${open.repeat(times)}${open === '[' ? '' : 1}${close.repeat(times)}`;
    t.match(await say(`{"type":${deep},"id":1}`), { id: 1, statusCode: 400 }, 'as deep as a message can be');
    t.match(await say(`{"type":"sub","id":${deep}}`), { type: 'sub', statusCode: 400 });
  }
  const sub = { type: 'sub', id: 'x', path: '/metachannel/alpha' };
  t.strictSame(await say(sub), bad('sub', 'x', 'Connection is not initialized'));
  for (const version of [2, '1', undefined]) t.equal((await say({ ...HELLO, version })).statusCode, 400);
  t.strictSame(await say({ ...HELLO, subs: 'all' }), bad('hello', 1, 'subs must be a list of paths'));
  t.match(await say({ ...HELLO, subs: [7] }), { statusCode: 400, payload: { message: 'Message missing path' } });
  const hello = await say({ ...HELLO, auth: 'whatever' });
  t.strictSame(hello, { type: 'hello', id: 1, heartbeat: { interval: 25_000, timeout: 25_000 }, socket: hello.socket });
  t.strictSame(await say({ ...HELLO, id: 2 }), bad('hello', 2, 'Connection already initialized'));

  t.strictSame(await say(sub), { type: 'sub', id: 'x', path: '/metachannel/alpha' });
  t.strictSame(await say({ ...sub, id: 3 }), { type: 'sub', id: 3, path: '/metachannel/alpha' }, 'again');
  t.strictSame(await say({ type: 'unsub', id: 4, path: '/never' }), { type: 'unsub', id: 4 });
  t.strictSame(await say({ type: 'sub', id: 5 }), bad('sub', 5, 'Message missing path'));
  t.strictSame(await say({ type: 'request', id: 6, path: '/' }), bad('request', 6, 'Message missing method'));
  t.strictSame(await say({ type: 'request', id: 7, method: 'GET' }), bad('request', 7, 'Message missing path'));
  t.strictSame(await say({ type: 'pub', id: 8 }), bad('pub', 8, 'Unknown message type'));
  t.strictSame(await say({ type: '__proto__', id: 9 }), bad('__proto__', 9, 'Unknown message type'));
  raw.ws.send('{"type":"ping"}');
  raw.ws.send(Buffer.from(JSON.stringify({ type: 'reauth', id: 10 })), { binary: true });
  await raw.has(++seen);
  t.strictSame(raw.records[seen - 1], { type: 'reauth', id: 10 }, 'a ping has no answer; binary is read too');
  await push(t, port, 'alpha', 'Only+once');
  await raw.has(++seen);
  t.match(raw.records[seen - 1], {
    type: 'pub',
    path: '/metachannel/alpha',
    message: { song: 'Only once', type: 'now' },
  });
  t.equal(raw.records.length, seen, 'subscribed twice, sent once');
  t.strictSame(await say({ type: 'unsub', id: 11, path: '/metachannel/alpha' }), { type: 'unsub', id: 11 });
  await push(t, port, 'alpha', 'Not+sent');
  t.strictSame(await say({ type: 'reauth', id: 12 }), { type: 'reauth', id: 12 }, 'nothing after unsub');

  const free = 4096 + 50 * 160 - JSON.stringify({ ...sub, id: '' }).length;
  t.equal((await say({ ...sub, id: 'x'.repeat(free) })).id.length, free, 'as long as a message may be');
  raw.ws.send(JSON.stringify({ ...sub, id: 'x'.repeat(free + 1) }));
  t.equal(await raw.ends(), 1009, 'one byte longer');
});

t.test('a session that closes ends all its subscriptions, once', async (t) => {
  const ended: string[] = [];
  const session = new NesSession({
    answer: () => undefined,
    checkExists: () => undefined,
    subscribe: (path) => () => ended.push(path),
    heartbeat: { interval: 1, timeout: 1 },
    maxSubscriptions: 3,
    onError: (error) => t.error(error),
  });
  session.take(JSON.stringify({ ...HELLO, subs: ['/metachannel/a', '/metastation/b', '/metadata/c'] }));
  session.take(JSON.stringify({ type: 'unsub', id: 2, path: '/metastation/b' }));
  t.strictSame(ended, ['/metastation/b']);
  session.close();
  session.close();
  t.strictSame(ended, ['/metastation/b', '/metachannel/a', '/metadata/c']);
});

t.test('a hello with as many subscriptions as may be, and with one more', async (t) => {
  const { port, reload } = await startServer(t, yaml());
  const paths = Array.from({ length: 50 }, (_, i) => `/metadata/${String(i).padStart(128, 'x')}`);
  const full = await new Watching(t, `ws://127.0.0.1:${port}/`).opened();
  full.ws.send(JSON.stringify({ ...HELLO, subs: [...paths, ...paths.slice(0, 5)] }));
  await full.has(1);
  t.match(full.records[0], { type: 'hello', socket: String }, 'a path that is there twice counts once');
  const more = await new Watching(t, `ws://127.0.0.1:${port}/`).opened();
  more.ws.send(JSON.stringify({ ...HELLO, subs: [...paths, '/metachannel/alpha'] }));
  await more.has(1);
  t.match(more.records[0], { type: 'hello', statusCode: 429, path: '/metachannel/alpha' });

  await reload(yaml('limits: { nesSubscriptions: 200 }'));
  const longer = await new Watching(t, `ws://127.0.0.1:${port}/`).opened();
  const many = Array.from({ length: 200 }, (_, i) => `/metadata/${String(i).padStart(128, 'x')}`);
  longer.ws.send(JSON.stringify({ ...HELLO, subs: many }));
  await until(() => longer.records.length > 0 || longer.code !== 0, 10_000);
  t.match(longer.records[0], { type: 'hello', socket: String }, 'after a reload as many as may be then');
});

t.test(
  'the heartbeat: a client that answers stays, a silent one is cut; the real client notices nothing',
  async (t) => {
    const { port } = await startServer(t, yaml('watch: { pingSeconds: 1 }'));
    const follower = new Follower(t, port);
    await follower.client.connect();
    const talker = await new Watching(t, `ws://127.0.0.1:${port}`).opened();
    talker.ws.on('message', (data) => {
      if (data.toString() === '{"type":"ping"}') talker.ws.send('any sign of life');
    });
    const silent = await new Watching(t, `ws://127.0.0.1:${port}`).opened();
    t.equal(await silent.ends(), 1006);
    t.strictSame(silent.records, [{ type: 'ping' }], 'asked once');
    t.equal(silent.pings, 0, 'not by PING, which a page cannot see');
    await until(() => talker.records.filter(({ type }) => type === 'ping').length >= 4, 8000);
    t.equal(talker.code, 0);
    t.strictSame([follower.connects, follower.lost, follower.errors], [1, [], []]);
  },
);

t.test('places are shared with the other watchers', async (t) => {
  const { port } = await startServer(t, yaml('limits: { watchersPerAddress: 2 }'));
  const first = await new Watching(t, `ws://127.0.0.1:${port}`).opened();
  await new Watching(t, `ws://127.0.0.1:${port}/metadata/channel/alpha`).opened();
  const third = await new Watching(t, `ws://127.0.0.1:${port}`).isRefused();
  t.match(
    [third.status, third.headers.get('retry-after'), third.headers.get('deprecation')],
    [503, '10', '@1704067200'],
  );
  t.equal((await new Watching(t, `ws://127.0.0.1:${port}/metadata/channel/alpha`).isRefused()).status, 503);
  first.ws.close();
  await first.ends();
  await until(async () => {
    const again = new Watching(t, `ws://127.0.0.1:${port}`);
    await until(() => again.open || again.refused !== undefined, 2000);
    return again.open;
  }, 2000);
});

/** A client's text frame (RFC 6455, 5.2), masked with zeros. */
function frame(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = bytes.length < 126 ? [0x80 | bytes.length] : [0xfe, bytes.length >> 8, bytes.length & 255];
  return Buffer.concat([Buffer.from([0x81, ...length, 0, 0, 0, 0]), bytes]);
}

/** Opens the old WebSocket on a bare socket, subscribes, and reads nothing from then on. */
async function openStuck(t: Test, port: number, subs: readonly string[]) {
  const wire = new Wire(t, port).send(
    'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  wire.send(frame(JSON.stringify({ ...HELLO, subs })));
  await until(() => wire.got.includes('"heartbeat"'), 2000);
  const peer = peerOf(wire.socket);
  wire.socket.pause();
  return { wire, peer };
}

/** What fills the buffers of the kernel: few and large, as each push costs more than its bytes. */
const BIG_BYTES = 60_000;

t.test('a slow client is kept the newest of each path, cut when it takes nothing, and harms nobody', async (t) => {
  const { port } = await startServer(
    t,
    yaml('watch: { drainSeconds: 5 }\nlimits: { pushesPerMinute: 1000000, pushBurst: 1000000, extdataBytes: 65000 }'),
  );
  const paths = ['/metachannel/alpha', '/metastation/house'];
  const { wire, peer } = await openStuck(t, port, paths);
  const quick = new Follower(t, port);
  await quick.client.connect();
  await quick.follow('/metachannel/alpha');
  const pushes = new Wire(t, port);
  let pushed = 0;
  /** Pushes until so much waits for one that the server writes no more: the kernel takes some megabytes first. */
  const fill = async (peer: Socket): Promise<number> => {
    let most = 0;
    const end = pushed + 3000;
    for (let more = 10; more > 0 && pushed < end; more -= most >= 65_536 ? 1 : 0) {
      const body = JSON.stringify({
        song: `song ${++pushed}`,
        artist: '',
        duration: 0,
        extdata: { pad: 'x'.repeat(BIG_BYTES) },
      });
      const head = 'POST /metapush/alpha/demo-token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json';
      pushes.send(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      await until(
        () => quick.messages['/metachannel/alpha']!.length >= pushed,
        5000,
        () => pushes.got.slice(-300),
      );
      most = Math.max(most, peer.writableLength);
    }
    return most;
  };
  await push(t, port, 'zulu', 'Waiting');
  await push(t, port, 'bravo', 'Waiting+too');
  const most = await fill(peer);
  t.ok(most >= 65_536, 'the buffer is full');
  const later = ['/metachannel/zulu', '/metastation/other'];
  wire.send(Buffer.concat(later.map((path, id) => frame(JSON.stringify({ type: 'sub', id: id + 1, path })))));
  t.ok(most < 65_536 + 2 * (BIG_BYTES + 1000), `at most ${most} bytes waited`);
  wire.socket.resume();
  const last = `"song":"song ${pushed}"`;
  await until(() => wire.got.split(last).length > 2, 10_000);
  await until(() => wire.got.includes('Waiting too'), 10_000);
  for (const path of [...paths, ...later]) t.ok(wire.got.includes(`{"type":"pub","path":"${path}"`), path);
  t.ok(wire.got.split('"type":"pub"').length - 1 < 2 * pushed, 'some in between were skipped');

  const stuck = await openStuck(t, port, paths);
  await fill(stuck.peer);
  await until(
    () => stuck.peer.destroyed,
    20_000,
    () => 'still there',
  );
  t.equal(quick.lost.length, 0);
});

t.test('a client that asks and does not take the answers is read no further, and closed', async (t) => {
  const { port } = await startServer(t, yaml('watch: { drainSeconds: 2 }\nlimits: { webSocketFrames: 1000000 }'));
  const { wire, peer } = await openStuck(t, port, []);
  const questions = Buffer.concat(Array.from({ length: 500 }, () => frame('{"type":"x","id":1}')));
  let most = 0;
  const flood = setInterval(() => {
    if (wire.socket.writableLength < 1_000_000) wire.send(questions);
    most = Math.max(most, peer.writableLength);
  }, 1);
  t.teardown(() => clearInterval(flood));
  // On a busy machine it may be closed before the flood is so long.
  const isUnread = () => wire.socket.writableLength >= 1_000_000 && peer.writableLength > 0;
  await until(() => isUnread() || peer.destroyed, 20_000);
  await until(
    () => peer.destroyed,
    20_000,
    () => `${peer.writableLength} wait`,
  );
  clearInterval(flood);
  // The socket's mark, and the answers to one read of 64 KiB: each some three times as long as its question.
  t.ok(most > 0 && most < 300_000, `at most ${most} bytes waited`);
});

t.test('thousands of messages in one packet are refused one a turn, then their sender is', async (t) => {
  const { port } = await startServer(t, yaml('limits: { webSocketFrames: 50 }'));
  const { wire } = await openStuck(t, port, []);
  wire.socket.resume();
  const turns: number[] = [];
  let [turn, seen] = [0, 0];
  const answered = () => wire.got.split('Cannot parse message').length - 1;
  const peer = peerOf(wire.socket);
  const isOver = () => peer.destroyed;
  const look = () => {
    turn++;
    if (peer.bytesWritten > seen) turns.push(turn);
    seen = peer.bytesWritten;
    if (!isOver()) setImmediate(look);
  };
  look();
  wire.send(Buffer.concat(Array.from({ length: 7500 }, () => frame('{}'))));
  await until(
    () => wire.closed,
    10_000,
    () => `${answered()} answers`,
  );
  t.ok(answered() >= 49 && answered() < 100, `${answered()} answers: behind the hello, what the limit leaves`);
  t.ok(turns.length >= 49, `answers in ${turns.length} turns`);
  t.match(wire.got, /\x88.\x03\xf0too many frames/);
});
