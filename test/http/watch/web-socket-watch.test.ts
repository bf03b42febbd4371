/** Watching by WebSocket on the whole server: what comes first, what follows, who is refused, and what a bad reader may not do. */

import type { Socket } from 'node:net';
import t, { type Test } from 'tap';
import { Feed } from '../../../src/feed/feed.js';
import { Roles } from '../../../src/http/roles.js';
import { Nes } from '../../../src/http/watch/nes.js';
import { Watch } from '../../../src/http/watch/web-socket-watch.js';
import { ListenerFeed } from '../../../src/listener/sessions/listener-feed.js';
import { Sessions } from '../../../src/listener/sessions/sessions.js';
import { FakeClock } from '../../kit/clock.js';
import { pause, quietFor } from '../../kit/pause.js';
import { Player } from '../../kit/player.js';
import { startRouted, WATCH_OPTIONS } from '../../kit/routed.js';
import { startServer, TWO_STATIONS } from '../../kit/server.js';
import { until, untilPromised } from '../../kit/until.js';
import { ask, ENDS_MS, peerOf, Watching, Wire } from '../../kit/wire.js';

// The tests mostly wait: for the next PING, for buffers to run full, for a close frame.
t.jobs = 4;

/** What fills the buffers of the kernel: few and large, as each push costs more than its bytes. */
const BIG_BYTES = 60_000;
const BATCH = 20;

const FAULT = new Error('of ours, secret');

/** Where looking at a station fails. */
class FaultyFeed extends Feed {
  override hasStation(): boolean {
    throw FAULT;
  }
}

/** Where beginning to watch a listener fails. */
class FaultyListenerFeed extends Feed {
  override watchListener(): never {
    throw FAULT;
  }
}

const yaml = (extra = '') => `
addresses: [{ host: 127.0.0.1, port: 0 }]
shutdown: { graceSeconds: 2 }
${extra.includes('limits:') ? '' : 'limits: { pushesPerMinute: 1000000, pushBurst: 1000000, extdataBytes: 65000 }'}
${extra}
${TWO_STATIONS}`;
const UPGRADE =
  'Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';

async function push(t: Test, port: number, channel: string, song: string, query = ''): Promise<void> {
  const answer = await ask(t, port, `GET /metapush/${channel}/demo-token?song=${song}${query} HTTP/1.1`);
  if (answer.status !== 200) throw new Error(answer.body);
}

/** Pushes that go out in one go, pipelined, each with extdata of so many bytes. */
async function pushBig(t: Test, port: number, songs: readonly string[], bytes: number): Promise<void> {
  const requests = songs.map((song) => {
    const body = JSON.stringify({ song, artist: '', duration: 0, extdata: { pad: 'x'.repeat(bytes) } });
    const head = 'POST /metapush/alpha/demo-token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
    return `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
  });
  const wire = new Wire(t, port).send(requests.join(''));
  const answers = await wire.take(songs.length);
  wire.socket.destroy();
  if (answers.some(({ status }) => status !== 200)) throw new Error('a push was refused');
}

/** All ways to watch this feed, the old one too. */
async function startFaulty(t: Test, feed: Feed) {
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const clock = new FakeClock();
  const sessions = new Sessions(clock, new ListenerFeed(feed), { keepMs: 1000, max: 10 });
  const watch = new Watch(feed, sessions, clock, { ...WATCH_OPTIONS, onError });
  const nesOptions = { pingMs: 25_000, subscriptions: 10, frames: 200, onError };
  const nes = new Nes(watch.watchers, clock, nesOptions);
  const roles = new Roles(['legacy']);
  const port = await startRouted(t, { services: [watch.sse], upgrades: [nes, watch], roles });
  return { errors, watch, nesOptions, port };
}

/** A WebSocket reader on a bare socket that reads nothing once it is open. */
async function openStuck(t: Test, port: number, path: string) {
  const wire = new Wire(t, port).send(`GET /metadata/${path} HTTP/1.1\r\n${UPGRADE}`);
  await until(() => wire.got.includes('\r\n\r\n'), 2000);
  const peer = peerOf(wire.socket);
  wire.socket.pause();
  return { wire, peer };
}

/**
 * Pushes until so much waits for these readers that the server writes no more: the kernel takes some megabytes first.
 * @returns the songs that were pushed, and the most that ever waited for one of them, in bytes
 */
async function fill(t: Test, port: number, readers: readonly { peer: Socket }[]) {
  const songs: string[] = [];
  let most = 0;
  const isFull = () => readers.every(({ peer }) => peer.writableLength >= 65_536);
  for (let more = 1; more >= 0; more -= isFull() ? 1 : 0) {
    if (songs.length > 3000) throw new Error('the buffers never fill');
    const batch = Array.from({ length: BATCH }, (_, n) => `big${songs.length + n}`);
    songs.push(...batch);
    await pushBig(t, port, batch, BIG_BYTES);
    most = Math.max(most, ...readers.map(({ peer }) => peer.writableLength));
  }
  return { songs, most };
}

/** A masked frame, as clients send it; the mask is zero. */
function frame(opcode: number, payload: Buffer | string, length = payload.length): Buffer {
  const head =
    length < 126
      ? [0x80 | length]
      : length < 65_536
        ? [0xfe, length >> 8, length & 0xff]
        : [0xff, 0, 0, 0, 0, (length >> 24) & 0xff, (length >> 16) & 0xff, (length >> 8) & 0xff, length & 0xff];
  return Buffer.concat([Buffer.from([0x80 | opcode, ...head, 0, 0, 0, 0]), Buffer.from(payload)]);
}

/** The same frame, and its message goes on. */
function piece(opcode: number, payload: string): Buffer {
  const bytes = frame(opcode, payload);
  bytes[0]! &= 0x7f;
  return bytes;
}

/** The code of the close frame that ends what a bare socket got; 0: none. */
function closeCode(wire: Wire): number {
  const bytes = Buffer.from(wire.got, 'latin1');
  let at = bytes.indexOf('\r\n\r\n') + 4;
  while (at + 2 <= bytes.length) {
    let length = bytes[at + 1]! & 0x7f;
    let start = at + 2;
    if (length === 126) {
      length = bytes.readUInt16BE(at + 2);
      start = at + 4;
    }
    if ((bytes[at]! & 0x0f) === 8) return bytes.readUInt16BE(start);
    at = start + length;
  }
  return 0;
}

t.test('the three scopes', { buffered: true }, async (t) => {
  const { app, port, ws } = await startServer(t, yaml());
  const watch = (path: string) => new Watching(t, `${ws}/metadata/${path}`).opened();

  const early = await watch('channel/zulu');
  const station = await watch('station/house');
  const stranger = await watch('station/other');
  await push(t, port, 'alpha', 'a1');
  await push(t, port, 'zulu', 'z1');
  await push(t, port, 'alpha', 'a2', '&tracktype=next');
  await push(t, port, 'zulu', 'z2', '&tracktype=next&time=2099-01-01T00:00:00Z');
  await early.has(2);
  t.same(early.songs, ['now z1', 'next z2'], 'nothing at first, then each change once');
  await station.has(4);
  t.same(
    station.songs,
    ['now a1', 'now z1', 'next a2', 'next z2'],
    'a station hears all its channels in the order of events',
  );

  const late = await (await watch('channel/zulu')).has(2);
  t.same(late.songs, ['next z2', 'now z1'], 'first the next, then the now');
  const lateStation = await (await watch('station/house?x=1')).has(4);
  t.same(lateStation.songs, ['next z2', 'now z1', 'next a2', 'now a1'], 'for each channel in configured order');
  const polled = await ask(t, port, 'GET /metadata/channel/zulu.json HTTP/1.1');
  t.equal(JSON.stringify(late.records[1]), polled.body, 'the same record as by polling');

  await push(t, port, 'zulu', 'z3');
  await push(t, port, 'zulu', 'z4');
  await late.has(5);
  t.same(late.songs.slice(2), ['now z3', 'next ', 'now z4'], 'what followed is dropped');
  const after = await (await watch('channel/zulu')).has(1);
  t.same(after.songs, ['now z4'], 'the second other now has dropped the next');

  t.test('listener: a metaid may wait for its stream, and gets the title when it is heard', async (t) => {
    await push(t, port, 'bravo', 'b1');
    const heard = await watch('listener/wait.ing-1');
    const wire = await watch('listener/wait.ing-1?sync=wire');
    const nobody = await watch('listener/someone-else');
    const player = new Player(port, '/bravo?metaid=wait.ing-1');
    t.teardown(() => player.close());
    await player.until((p) => p.audioBytes > 0);
    await push(t, port, 'bravo', 'b2', '&tracktype=next');
    await wire.has(2);
    await until(() => heard.songs.includes('next b2'), 3000);
    const session = wire.records[0].session;
    t.match(session, /^[0-9a-f-]{36}$/);
    for (const record of [...wire.records, ...heard.records]) {
      t.match(record, {
        session,
        mount: '/bravo',
        channelkey: 'bravo',
        position: record.type === 'next' ? '' : /^\d+$/,
      });
    }
    await until(() => wire.songs.includes('now b1'), 5000);
    const joined = await watch('listener/wait.ing-1?sync=wire');
    await joined.has(2);
    t.same(joined.songs, ['next b2', 'now b1'], 'first messages while it plays');
    player.close();
    await until(() => player.closed, 1000);
    await push(t, port, 'bravo', 'b3', '&tracktype=next');
    await push(t, port, 'bravo', 'b4');
    const again = new Player(port, '/bravo?metaid=wait.ing-1');
    t.teardown(() => again.close());
    await again.until((p) => p.audioBytes > 0);
    await until(
      () => wire.records.at(-1).session !== session,
      5000,
      () => 'the subscriber hears the next stream',
    );
    const b3 = wire.records.filter((record) => record.song === 'b3');
    t.equal(b3.length, 1, 'between streams nothing is sent; the next in force comes when the new stream begins');
    t.not(b3[0].session, session);
    t.equal(
      wire.records.find((record) => record.session !== session),
      b3[0],
      'and before its first title',
    );
    again.close();
    t.same(nobody.songs, []);
  });

  t.same(
    stranger.records.filter((record) => record.channelkey !== 'bravo'),
    [],
    'other stations hear nothing of it',
  );

  t.test('on stop every watcher gets 1001', async (t) => {
    const stopped = app.stop();
    for (const watching of [early, station, late, after]) t.equal(await watching.ends(), 1001);
    await stopped;
  });
});

t.test('who is refused', { buffered: true }, async (t) => {
  const { port, ws } = await startServer(t, yaml('limits: { watchers: 4, watchersPerAddress: 3 }'));

  t.test('404 as a problem, before the upgrade', async (t) => {
    const paths = [
      'channel/none',
      'channel/zulu.json',
      'channel/',
      'station/zulu',
      'station/house/more',
      `listener/${'m'.repeat(129)}`,
      'listener/a%20b',
      'listener/',
      'listener/ü',
      'nothing/zulu',
    ];
    for (const path of paths) {
      const answer = await new Watching(t, `${ws}/metadata/${path}`).isRefused();
      t.equal(answer.status, 404, path);
      t.equal(answer.headers.get('content-type'), 'application/problem+json; charset=utf-8');
      t.equal(answer.json().status, 404);
    }
    for (const path of ['/', '/metapush/zulu/demo-token', '/metrics']) {
      t.equal((await new Watching(t, ws + path).isRefused()).status, 404, path);
    }
    const answer = await new Watching(t, `${ws}/metadata/listener/x?sync=later`).isRefused();
    t.equal(answer.status, 422);
    t.equal(answer.json().errors[0].field, 'sync');
  });

  t.test('a broken handshake, and one that is not for WebSocket', async (t) => {
    const path = '/metadata/channel/zulu';
    t.equal((await ask(t, port, `GET ${path} HTTP/1.1\nConnection: Upgrade\nUpgrade: websocket`)).status, 400);
    const post = `POST ${path} HTTP/1.1\nConnection: Upgrade\nUpgrade: websocket\nContent-Length: 0`;
    t.equal((await ask(t, port, post)).status, 405);
    t.equal((await ask(t, port, `GET ${path} HTTP/1.1\nConnection: Upgrade\nUpgrade: h2c`)).status, 426);
    t.equal((await ask(t, port, `GET ${path} HTTP/1.1\nConnection: Upgrade`)).status, 426);
  });

  t.test('a refused client that stays, or goes on sending, is let go', async (t) => {
    const wire = new Wire(t, port, { halfOpen: true });
    wire.send(`GET /metadata/channel/none HTTP/1.1\r\n${UPGRADE}`);
    t.equal((await wire.take(1))[0]!.status, 404);
    const peer = peerOf(wire.socket);
    t.ok(peer);
    wire.send('x'.repeat(1000));
    await untilPromised(
      () => peer.destroyed,
      ENDS_MS,
      () => 'the connection still lives',
    );
  });

  t.test('limits, at the limit and one past it', async (t) => {
    const url = `${ws}/metadata/listener/waiting`;
    const from = (address: string) => new Watching(t, url, { from: address });
    const busy = async (watching: Watching, words: RegExp) => {
      const answer = await watching.isRefused();
      t.equal(answer.status, 503);
      t.match(answer.headers.get('retry-after'), /^\d+$/);
      t.equal(answer.headers.get('content-type'), 'application/problem+json; charset=utf-8');
      t.match(answer.json().detail, words);
    };
    const first = await from('127.0.0.1').opened();
    await from('127.0.0.1').opened();
    await from('127.0.0.1').opened();
    await busy(from('127.0.0.1'), /this address/);
    await from('127.0.0.2').opened();
    await busy(from('127.0.0.2'), /this server/);
    first.ws.close();
    await first.ends();
    await from('127.0.0.1').opened();
    await busy(from('127.0.0.2'), /this server/);
  });
});

t.test('who does not answer a PING is closed by the next', { buffered: true }, async (t) => {
  const { ws } = await startServer(t, yaml('watch: { pingSeconds: 0.9 }'));
  const mute = await new Watching(t, `${ws}/metadata/channel/zulu`, { pong: false }).opened();
  const polite = await new Watching(t, `${ws}/metadata/channel/zulu`).opened();
  t.equal(await mute.ends(), 1006);
  t.equal(mute.pings, 1);
  await until(() => polite.pings >= 2, 3000);
  t.equal(polite.code, 0, 'who answers stays');
});

t.test('what a reader may not send', { buffered: true }, async (t) => {
  const { port, ws } = await startServer(t, yaml());
  const other = await new Watching(t, `${ws}/metadata/channel/zulu`).opened();
  const cases: [string, Buffer, number][] = [
    ['a frame of more than 256 bytes', frame(1, Buffer.alloc(257, 'x')), 1009],
    ['a message in two pieces', Buffer.concat([piece(1, 'a'), frame(0, 'b')]), 1008],
    ['a message in empty pieces', Buffer.concat([piece(1, ''), piece(0, '')]), 1008],
    ['a frame that says it is 2 GB long', frame(2, 'x', 0x7fffffff), 1009],
    ['an unmasked frame', Buffer.from([0x81, 1, 0x78]), 1002],
    ['an unknown opcode', frame(5, 'x'), 1002],
    ['text that is not UTF-8', frame(1, Buffer.from([0xff, 0xfe])), 1007],
    ['plain HTTP', Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'), 1002],
  ];
  await Promise.all(
    cases.map(async ([name, bytes, code]) => {
      const wire = new Wire(t, port).send(`GET /metadata/channel/zulu HTTP/1.1\r\n${UPGRADE}`);
      await until(() => wire.got.includes('\r\n\r\n'), 2000);
      wire.send(bytes);
      await untilPromised(
        () => closeCode(wire) !== 0,
        ENDS_MS,
        () => name,
      );
      t.equal(closeCode(wire), code, name);
      await wire.untilClosed();
    }),
  );
  const talker = await new Watching(t, `${ws}/metadata/channel/zulu`).opened();
  talker.ws.send('x'.repeat(256));
  talker.ws.send(Buffer.from([0xff]));
  await push(t, port, 'zulu', 'still');
  await talker.has(1);
  t.same(talker.songs, ['now still'], 'small talk is ignored');
  await other.has(1);
  t.equal(other.code, 0);
});

t.test('slow readers', { buffered: true }, async (t) => {
  const { port, ws } = await startServer(t, yaml('watch: { drainSeconds: 15, pingSeconds: 60 }'));
  const quick = await new Watching(t, `${ws}/metadata/channel/alpha`).opened();
  const stuck = await openStuck(t, port, 'channel/alpha');
  const sorry = await openStuck(t, port, 'channel/alpha');
  const resumed = await openStuck(t, port, 'station/house');
  const { songs, most } = await fill(t, port, [stuck, sorry, resumed]);
  await push(t, port, 'zulu', 'side');
  await push(t, port, 'alpha', 'coming', '&tracktype=next');
  await push(t, port, 'alpha', 'last');
  t.ok(most < 65_536 + BIG_BYTES + 1000, `at most ${most} bytes waited for a slow reader`);
  const waiting = sorry.peer.writableLength;
  await quick.has(songs.length + 2);
  t.same(
    quick.records.slice(0, -2).map((record) => record.song),
    songs,
    'the quick reader is complete',
  );

  resumed.wire.socket.resume();
  const titles = () => [...resumed.wire.got.matchAll(/"rawdata":"(\w+)"/g)].map((match) => match[1]!);
  await until(
    () => titles().includes('last'),
    10_000,
    () => `got ${titles().slice(-5)}`,
  );
  const all = titles();
  t.ok(all.length < songs.length - BATCH / 2, 'what was skipped never comes');
  t.same(all.slice(-3), ['side', 'coming', 'last'], 'of each channel and type the newest, in the order of events');
  t.same(
    all.slice(0, -3),
    songs.filter((song) => all.includes(song)),
    'never one twice, or an older one after a newer',
  );
  await push(t, port, 'zulu', 'after');
  await until(() => titles().at(-1) === 'after', 10_000);

  await until(
    () => sorry.peer.writableLength > waiting,
    20_000,
    () => 'no close frame is written',
  );
  sorry.wire.socket.resume();
  await until(() => closeCode(sorry.wire) !== 0, 10_000);
  t.equal(closeCode(sorry.wire), 1013);
  await until(
    () => stuck.peer.destroyed,
    20_000,
    () => 'a watcher that does not even read its close frame still lives',
  );
  t.equal(resumed.peer.destroyed, false);
  t.equal(quick.code, 0);
});

t.test('who was sent no PING need not answer one', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml('watch: { pingSeconds: 0.3 }'));
  const stuck = await openStuck(t, port, 'channel/alpha');
  const answering = setInterval(() => stuck.wire.send(frame(10, '')), 50); // whatever comes before it is full
  await fill(t, port, [stuck]);
  clearInterval(answering);
  // A client that was sent one has a time of pingSeconds for its answer.
  await quietFor(1200);
  t.equal(stuck.peer.destroyed, false, 'while its buffer is full, drainSeconds is the measure');
});

t.test('sub-protocols, however many, are ignored', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml());
  const many = Array.from({ length: 6000 }, (_, n) => n.toString(36)).join(',');
  for (const protocols of ['chat', many, 'a,a', ',']) {
    const head = `GET /metadata/channel/zulu HTTP/1.1\r\nSec-WebSocket-Protocol: ${protocols}\r\n${UPGRADE}`;
    const [answer] = await new Wire(t, port).send(head).take(1);
    t.equal(answer!.status, 101);
    t.notOk(answer!.headers.has('sec-websocket-protocol'), 'none is chosen');
  }
});

t.test('a reader that says more than limits.webSocketFrames is closed', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml('limits: { webSocketFrames: 30 }'));
  const kinds = [frame(9, ''), frame(10, ''), frame(1, 'x')];
  for (const [n, kind] of kinds.entries()) {
    const wire = new Wire(t, port).send(`GET /metadata/channel/zulu HTTP/1.1\r\n${UPGRADE}`);
    await until(() => wire.got.includes('\r\n\r\n'), 2000);
    wire.send(Buffer.concat(Array.from({ length: 30 }, () => kind)));
    // Three more are allowed each second: a machine that is busy may answer some of these.
    for (let past = 1; past <= 100; past++) wire.send(frame(9, `${past} past`));
    await untilPromised(
      () => closeCode(wire) !== 0,
      ENDS_MS,
      () => `kind ${n} is still there`,
    );
    t.equal(closeCode(wire), 1008);
    t.notOk(wire.got.includes('100 past'), 'what comes behind is not answered');
    await wire.untilClosed();
  }
  const patient = new Wire(t, port).send(`GET /metadata/channel/zulu HTTP/1.1\r\n${UPGRADE}`);
  await until(() => patient.got.includes('\r\n\r\n'), 2000);
  patient.send(Buffer.concat([...Array.from({ length: 29 }, () => frame(1, 'x')), frame(9, 'last')]));
  await until(() => patient.got.includes('last'), 5000);
  t.equal(closeCode(patient), 0, 'at the limit it stays');
});

t.test('reports behind limits.webSocketFrames are not read', { buffered: true }, async (t) => {
  const { port, base } = await startServer(t, yaml('limits: { webSocketFrames: 30 }'));
  const wire = new Wire(t, port).send(`GET /metadata/listener/anybody HTTP/1.1\r\n${UPGRADE}`);
  await until(() => wire.got.includes('\r\n\r\n'), 2000);
  wire.send(Buffer.concat(Array.from({ length: 1000 }, () => frame(1, '{"heardMs":1}'))));
  await untilPromised(() => closeCode(wire) === 1008, ENDS_MS);
  await wire.untilClosed();
  const metrics = await (await fetch(`${base}/metrics`)).text();
  const count = Number(/heard_reports_total\{verdict="not-playing"\} (\d+)/.exec(metrics)?.[1]);
  t.ok(count >= 30 && count <= 100, `${count} of 1000`);
});

t.test('what one packet holds is dealt with frame by frame, others between them', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml('limits: { webSocketFrames: 100000 }'));
  const wire = new Wire(t, port).send(`GET /metadata/channel/zulu HTTP/1.1\r\n${UPGRADE}`);
  await until(() => wire.got.includes('\r\n\r\n'), 2000);
  const before = wire.got.length;
  const peer = peerOf(wire.socket);
  const answered = () => (peer.bytesWritten - before) / 2;
  let [most, last] = [0, 0];
  const look = () => {
    most = Math.max(most, answered() - last);
    last = answered();
    if (last < 5000) setImmediate(look);
  };
  look();
  wire.send(Buffer.concat(Array.from({ length: 5000 }, () => frame(9, ''))));
  await until(
    () => last >= 5000,
    20_000,
    () => `${last} PONGs`,
  );
  t.ok(most <= 2, `at most ${most} PINGs were answered in one turn`);
});

t.test('a reader that floods with PINGs and reads no PONG costs no memory', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml('limits: { webSocketFrames: 1000000 }'));
  const wire = new Wire(t, port).send(`GET /metadata/channel/zulu HTTP/1.1\r\n${UPGRADE}`);
  await until(() => wire.got.includes('\r\n\r\n'), 2000);
  wire.socket.pause();
  const peer = peerOf(wire.socket);
  const many = Buffer.concat(Array.from({ length: 1000 }, () => frame(9, Buffer.alloc(125))));
  let most = 0;
  for (let sent = 0; sent < 200 && !peer.destroyed; sent++) {
    wire.send(many);
    await new Promise((done) => setImmediate(done));
    most = Math.max(most, peer.writableLength);
  }
  // It is read as its PINGs are answered, one a turn; a read takes 64 KiB.
  t.ok(most + peer.bytesRead < 4 * 65_536, `${most} bytes waited, ${peer.bytesRead} were read`);
});

t.test("a buffer smaller than the socket's own mark keeps nothing back for ever", { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml('watch: { bufferBytes: 1024 }'));
  const { wire, peer } = await openStuck(t, port, 'channel/alpha');
  let pushed = 0;
  while (peer.writableLength === 0) {
    if (pushed > 5000) throw new Error('the buffers never fill');
    const songs = Array.from({ length: 40 }, (_, n) => `b${pushed + n}`);
    await pushBig(t, port, songs, 8000);
    pushed += songs.length;
  }
  t.ok(peer.writableLength < peer.writableHighWaterMark, 'so that the socket emits no "drain"');
  wire.socket.resume();
  await until(() => wire.got.includes(`"rawdata":"b${pushed - 1}"`), 3000);
});

t.test('a record of any length is one frame', { buffered: true }, async (t) => {
  const { port, ws } = await startServer(
    t,
    yaml('limits: { pushBodyBytes: 200000, extdataBytes: 100000, pushesPerMinute: 1000 }'),
  );
  const reader = await new Watching(t, `${ws}/metadata/channel/alpha`).opened();
  const sizes = [0, 14_000, 64_500, 64_900, 65_300, 66_000, 90_000];
  for (const size of sizes) await pushBig(t, port, [`s${size}`], size);
  await push(t, port, 'alpha', '%C3%A9'.repeat(500));
  await reader.has(sizes.length + 1);
  t.equal(reader.records.pop().song, 'é'.repeat(500));
  t.same(
    reader.records.map(({ song, extdata }) => `${song} ${extdata.pad.length}`),
    sizes.map((size) => `s${size} ${size}`),
  );
});

t.test('nothing comes after a close frame', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml('watch: { bufferBytes: 1000000 }'));
  // What still waits for a slow one when it closes is followed by the answer to that, and by nothing else.
  const { wire, peer } = await openStuck(t, port, 'channel/alpha');
  for (let n = 0; peer.writableLength === 0; n += BATCH) {
    if (n > 3000) throw new Error('the buffers never fill');
    await pushBig(
      t,
      port,
      Array.from({ length: BATCH }, (_, i) => `w${n + i}`),
      BIG_BYTES,
    );
  }
  const waiting = peer.writableLength;
  wire.send(frame(8, Buffer.from([3, 232])));
  await until(() => peer.writableLength > waiting, 2000);
  await push(t, port, 'alpha', 'late');
  wire.socket.resume();
  await wire.untilClosed();
  t.equal(closeCode(wire), 1000);
  t.notOk(wire.got.includes('late'));

  // Of those that keep up, some go at any moment between two records.
  const leavers = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const leaver = new Wire(t, port).send(`GET /metadata/channel/zulu HTTP/1.1\r\n${UPGRADE}`);
      await until(() => leaver.got.includes('\r\n\r\n'), 2000);
      return leaver;
    }),
  );
  const pushes = (async () => {
    for (let n = 0; n < 60; n++) await push(t, port, 'zulu', `s${n}`);
  })();
  for (const leaver of leavers) {
    leaver.send(frame(8, Buffer.from([3, 232])));
    await pause(2);
  }
  await pushes;
  for (const leaver of leavers) {
    await leaver.untilClosed();
    t.ok(leaver.got.endsWith('\x88\x02\x03\xe8'), 'the close frame is the last');
  }
});

t.test('a fault of ours is reported, and answered without its text, however a client watches', async (t) => {
  const { errors, port } = await startFaulty(t, new FaultyFeed());
  const refused = await new Watching(t, `ws://127.0.0.1:${port}/metadata/station/house`).isRefused();
  t.equal(refused.status, 500);
  t.notMatch(refused.body, /secret/);
  const events = await ask(t, port, 'GET /metadata/sse/station/house HTTP/1.1');
  t.equal(events.status, 500);
  t.notMatch(events.body, /secret/);
  const old = await new Watching(t, `ws://127.0.0.1:${port}/`).opened();
  old.ws.send('{"type":"hello","id":1,"version":"2","subs":["/metastation/house"]}');
  await old.has(1);
  t.match(old.records[0], { type: 'hello', id: 1, statusCode: 500 });
  t.notMatch(JSON.stringify(old.records), /secret/);
  t.strictSame(errors, [FAULT, FAULT, FAULT]);
});

t.test('a fault behind the head of an event stream ends that stream, and its watcher is not counted', async (t) => {
  const { errors, watch, port } = await startFaulty(t, new FaultyListenerFeed());
  const wire = new Wire(t, port).send('GET /metadata/sse/listener/m HTTP/1.1\r\nHost: x\r\n\r\n');
  await wire.untilClosed();
  t.match(wire.got, /^HTTP\/1\.1 200 /);
  t.notMatch(wire.got, /secret|problem/);
  t.strictSame(errors, [FAULT]);
  t.equal(watch.watchers.count, 0);
});

t.test('a fault behind the 101 cuts that connection, and its watcher is not counted', async (t) => {
  const { errors, watch, nesOptions, port } = await startFaulty(t, new FaultyListenerFeed());
  const upgraded = async (path: string) => {
    const wire = new Wire(t, port).send(`GET ${path} HTTP/1.1\r\n${UPGRADE}`);
    await wire.untilClosed();
    t.match(wire.got, /^HTTP\/1\.1 101 .*\r\n\r\n$/s, `${path}: nothing behind the head`);
    t.equal(watch.watchers.count, 0);
  };
  await upgraded('/metadata/listener/m');
  Object.defineProperty(nesOptions, 'pingMs', {
    get: () => {
      throw FAULT;
    },
  });
  await upgraded('/');
  t.strictSame(errors, [FAULT, FAULT]);
});
