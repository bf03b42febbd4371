/** The socket's backlog: measured on real stalled sockets, reported to sessions, and part of a listener's lag. */

import { readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ChannelAudio } from '../../../src/audio/channel-audio.js';
import { Audience } from '../../../src/listener/cursor/audience.js';
import { ListenerBacklog } from '../../../src/listener/cursor/backlog.js';
import type { Listener } from '../../../src/listener/cursor/listener.js';
import type { ListenerEnd } from '../../../src/listener/cursor/listener-stay.js';
import { endpointsOf, readQueues, TABLES } from '../../../src/listener/cursor/proc-net-tcp.js';
import type { HeardTitle } from '../../../src/listener/sessions/session.js';
import { Sessions } from '../../../src/listener/sessions/sessions.js';
import { FakeClock } from '../../kit/clock.js';
import { frameOf } from '../../kit/frame-of.js';
import { withLimit } from '../../kit/own-limit.js';
import { missing, Program } from '../../kit/program.js';
import { Random } from '../../kit/random.js';
import { viewOf } from '../../kit/record.js';
import { demoYaml, startServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

// They wait more than they compute.
t.jobs = 4;

const OFF_LINUX = process.platform === 'linux' ? false : 'the send queues can be read on Linux only';
/** One second of 128 kb/s. */
const METAINT = 16_000;
const HEAD = Buffer.from('HTTP/1.0 200 OK\r\n\r\n');

async function pair(t: Test, host: string): Promise<{ ours: net.Socket; theirs: net.Socket }> {
  const server = net.createServer();
  await new Promise<void>((done) => server.listen(0, host, done));
  const { port } = server.address() as net.AddressInfo;
  const theirs = net.connect(port, host === '::' ? '127.0.0.1' : host).pause();
  const ours = await new Promise<net.Socket>((done) => server.once('connection', done));
  for (const socket of [ours, theirs]) socket.on('error', () => undefined);
  t.teardown(() => {
    for (const socket of [ours, theirs]) socket.destroy();
    server.close();
  });
  return { ours, theirs };
}

async function queueOf(socket: net.Socket): Promise<number> {
  const endpoints = endpointsOf(socket)!;
  let found = 0;
  for (const table of TABLES) {
    await readQueues(table, (each, bytes) => {
      if (each === endpoints) found += bytes;
    });
  }
  return found;
}

/** What the other end's receive queue holds for its program: the rx_queue of its line. */
function receivedBy(socket: net.Socket): number {
  const endpoints = endpointsOf(socket)!;
  const lines = TABLES.flatMap(({ path }) => readFileSync(path, 'latin1').split('\n'));
  const line = lines.find((each) => each.includes(` ${endpoints} `))!;
  return Number.parseInt(line.split(endpoints)[1]!.split(':')[1]!, 16);
}

t.test('every byte that a stalled reader was given is accounted for', { skip: OFF_LINUX }, async (t) => {
  for (const host of ['127.0.0.1', '::1', '::']) {
    const { ours, theirs } = await pair(t, host);
    t.equal(await queueOf(ours), 0, `${host}: nothing given, nothing there`);
    let given = 0;
    while (given < 1_000_000) {
      ours.write(Buffer.alloc(METAINT));
      given += METAINT;
      await new Promise((done) => setImmediate(done));
    }
    let queue = 0;
    await until(
      async () => {
        queue = await queueOf(ours);
        return queue > 0 && queue + ours.writableLength + receivedBy(theirs) + theirs.bytesRead === given;
      },
      3000,
      () => `${host}: ${queue} + ${ours.writableLength} + ${receivedBy(theirs)} of ${given}`,
    );
    t.ok(queue > 500_000, `${host}: ${queue} bytes`);
    theirs.resume();
    await until(async () => theirs.bytesRead === given && (await queueOf(ours)) === 0, 5000);
    ours.destroy();
    t.equal(endpointsOf(new net.Socket()), null);
  }
});

t.test('a table is read whole, wherever its lines are cut', async (t) => {
  const random = new Random();
  const hex = (value: number, digits: number) => value.toString(16).toUpperCase().padStart(digits, '0');
  for (const { endpointsLength } of TABLES) {
    const digits = (endpointsLength - 11) / 2;
    const end = () =>
      `${random
        .bytes(digits / 2)
        .toString('hex')
        .toUpperCase()}:${hex(random.int(0, 65_535), 4)}`;
    const wanted: [string, number][] = [];
    let text = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n';
    for (let line = 0; line < 12_000; line++) {
      const queue = random.chance(0.5) ? random.int(1, 0xffff_ffff) : 0;
      const endpoints = `${end()} ${end()}`;
      if (queue > 0) wanted.push([endpoints, queue]);
      const rest = 'x'.repeat(random.int(0, 60));
      text += `${String(line).padStart(4)}: ${endpoints} 01 ${hex(queue, 8)}:${hex(random.int(0, 9), 8)} ${rest}\n`;
    }
    const path = join(t.testdir(), 'table');
    writeFileSync(path, text);
    const seen: [string, number][] = [];
    const length = await readQueues({ path, endpointsLength }, (endpoints, bytes) => seen.push([endpoints, bytes]));
    t.equal(length, text.length);
    t.same(seen, wanted, `seed ${random.seed}`);
    writeFileSync(path, text.slice(0, -40));
    await readQueues({ path, endpointsLength }, () => undefined);
    writeFileSync(path, random.bytes(200_000));
    await readQueues({ path, endpointsLength }, () => undefined);
    t.pass('half a table and noise do no harm');
  }
  await t.rejects(readQueues({ path: '/nonexistent/tcp', endpointsLength: 27 }, () => undefined));
});

/** One channel of 128 kb/s, false time, real sockets that read or do not. */
class Fixture {
  readonly clock = new FakeClock();
  readonly endings: string[] = [];
  readonly heard: { title: string; atMs: number }[] = [];
  readonly listeners: Listener[] = [];
  readonly channel: ChannelAudio;
  readonly audience: Audience;
  readonly #sessions: Sessions;
  readonly #server: net.Server;
  #seconds = 0;

  constructor(t: Test, lagMs: number) {
    this.channel = new ChannelAudio({ now: () => performance.now(), key: 'demo', lagMs, metaint: METAINT });
    const heard = (_: unknown, title: HeardTitle) => {
      this.heard.push({ title: title.view.title, atMs: this.clock.now() });
    };
    this.#sessions = new Sessions(
      this.clock,
      { onBegan: () => undefined, onWritten: () => undefined, onHeard: heard },
      { keepMs: 1000, max: 10 },
    );
    this.audience = new Audience(this.clock, this.#sessions);
    this.#server = net.createServer((socket) => {
      this.audience.enter(this.channel);
      const session = this.#sessions.open({ metaid: 'metaid', channel: 'demo', mount: '/demo' });
      const options = {
        icy: true,
        burstMs: 0,
        session,
        limitMs: Infinity,
        onEnd: ({ ending }: ListenerEnd) => this.endings.push(ending),
      };
      this.listeners.push(this.audience.join(socket, this.channel, HEAD, options));
    });
    t.teardown(() => {
      this.audience.endAll('broken');
      this.#server.close();
    });
  }

  async connect(): Promise<net.Socket> {
    this.channel.write(frameOf(Buffer.alloc(METAINT, 1), 1000, 128));
    if (!this.#server.listening) await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    const { count } = this.audience;
    const socket = net.connect((this.#server.address() as net.AddressInfo).port, '127.0.0.1');
    socket.on('error', () => undefined).pause();
    await until(() => this.audience.count > count, 3000);
    return socket;
  }

  /** A second of audio comes, every listener has its turn; every five seconds a sample of the queues (whatever the machine's load). */
  async second(): Promise<void> {
    this.channel.write(frameOf(Buffer.alloc(METAINT, 1), 1000, 128));
    this.clock.advance(1000);
    await new Promise((done) => setImmediate(done));
    if (++this.#seconds % 5 === 0) await this.audience.backlog.sample();
  }
}

t.test(
  'a listener that leaves more than lagSeconds in its queue is ended, long before its socket is full',
  { skip: OFF_LINUX },
  async (t) => {
    const fixture = new Fixture(t, 20_000);
    const good = (await fixture.connect()).resume();
    const stuck = await fixture.connect();
    let seconds = 0;
    while (fixture.endings.length === 0 && seconds < 120) {
      await fixture.second();
      seconds++;
    }
    t.same(fixture.endings, ['lagged']);
    // What its receive queue took is acknowledged; a sample comes every five seconds.
    const left = 1 + Math.ceil(stuck.bytesRead / METAINT);
    t.ok(seconds > 20 && seconds <= 20 + 15 + 6 + left, `after ${seconds} s`);
    t.equal(fixture.channel.listeners, 1);
    await until(() => good.bytesRead - HEAD.length >= seconds * (METAINT + 1), 3000);
    // The second one has begun after that.
    for (let i = 0; i < 2; i++) await fixture.audience.backlog.sample();
    t.same(fixture.audience.backlog.lags([0, 1000, Infinity]), [1, 1, 1], 'a reader is not late');
    good.destroy();
    stuck.destroy();
  },
);

t.test(
  'a title is not heard while its bytes lie in the send queue, and is once they are acknowledged',
  { skip: OFF_LINUX },
  async (t) => {
    const fixture = new Fixture(t, 600_000);
    const player = await fixture.connect();
    const startMs = fixture.clock.now();
    for (let i = 0; i < 15; i++) await fixture.second();
    fixture.channel.title(viewOf('Late', { version: 1 }));
    for (let i = 0; i < 15; i++) await fixture.second();
    t.ok(fixture.audience.backlog.known);
    const queuedBytes = fixture.audience.backlog.bytesByChannel().get('demo')!;
    t.ok(queuedBytes > 15 * METAINT, `${queuedBytes} bytes lie in the queue`);
    const [below, all] = fixture.audience.backlog.lags([(queuedBytes / (METAINT + 1) - 1) * 1000, Infinity]);
    t.same([below, all], [0, 1], 'its lag is what lies there');
    t.same(fixture.heard, [], 'given 15 s ago, and not heard');
    player.resume();
    await until(() => player.bytesRead > 30 * METAINT, 3000);
    // The second one has begun after that.
    for (let i = 0; i < 2; i++) await fixture.audience.backlog.sample();
    for (let i = 0; i < 30 && fixture.heard.length === 0; i++) await fixture.second();
    // It stood still with so much in hand, and went on from there.
    const [late] = fixture.heard;
    t.equal(late?.title, 'Late');
    const dueMs = startMs + 30_000 + queuedBytes / 16 - 15_000;
    // A second each: of the clock of this test, and between two looks at what lies there.
    t.ok(Math.abs(late!.atMs - dueMs) <= 2000, `heard ${late!.atMs - dueMs} ms off`);
    t.same(fixture.audience.backlog.bytesByChannel().get('demo'), 0, 'and nothing lies there');
    t.same(fixture.endings, []);
    player.destroy();
  },
);

t.test('a look comes before a player may have nothing to play, then often, then ever more rarely', async (t) => {
  const fixture = new Fixture(t, 600_000);
  const player = await fixture.connect();
  const { clock, channel } = fixture;
  for (let i = 0; i < 12; i++) channel.write(frameOf(Buffer.alloc(METAINT, 1), 1000, 128));
  clock.advance(1000);
  const listener = fixture.listeners[0]!;
  // The link has stopped when ten seconds were there.
  const queuedBytes = listener.bytes - 10 * (METAINT + 1);
  t.ok(queuedBytes > 0, `${listener.bytes} bytes are written`);
  const backlog = new ListenerBacklog(listener, channel.tape!, clock.now());
  const wantedMs = () => backlog.look(queuedBytes, clock.now(), 2000);
  const leftMs = 10_000 - listener.playback.player.positionAt(clock.now());
  t.ok(leftMs > 5000, `${leftMs} ms are left`);
  t.equal(Math.round(wantedMs()), Math.round(leftMs) - 200);
  clock.advance(leftMs - 100);
  t.equal(wantedMs(), 200, 'soon');
  clock.advance(100);
  t.equal(wantedMs(), 200, 'nothing is left');
  clock.advance(3000);
  t.equal(wantedMs(), 200);
  clock.advance(13_000);
  t.equal(wantedMs(), 500, 'a 32nd of 16 s');
  t.equal(backlog.look(0, clock.now(), 0) > 200, true, 'all has come');
  player.destroy();
});

t.test('the queues are sampled by the clock, again and again', { skip: OFF_LINUX }, async (t) => {
  const fixture = new Fixture(t, 600_000);
  const player = await fixture.connect();
  const { backlog } = fixture.audience;
  const bytes = () => backlog.bytesByChannel().get('demo')!;
  for (let i = 0; i < 30; i++) {
    fixture.channel.write(frameOf(Buffer.alloc(METAINT, 1), 1000, 128));
    fixture.clock.advance(150);
  }
  t.equal(bytes(), 0, 'not after 4.5 s');
  fixture.clock.advance(500);
  await until(() => bytes() > 0, 3000);
  player.resume();
  // A sample may come before the player has taken all.
  await until(() => {
    fixture.clock.advance(5000);
    return bytes() === 0;
  }, 3000);
  player.destroy();
});

/** Asks for a stream with room for next to nothing, and reads none of it. */
const DEAF = `
import socket, sys, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
s.connect(('127.0.0.1', int(sys.argv[1])))
s.sendall(b'GET /demo.mp3 HTTP/1.0\\r\\n\\r\\n')
time.sleep(120)
`;

t.test('metrics show it', { skip: OFF_LINUX || missing('python3') }, async (t) => {
  const { port, base } = await startServer(t, demoYaml());
  const deaf = new Program(t, 'python3', ['-c', DEAF, String(port)]);
  let text = '';
  const figure = (line: string) =>
    Number(
      text
        .split('\n')
        .find((each) => each.startsWith(`${line} `))
        ?.split(' ')[1],
    );
  const isSeen = async () => {
    text = await (await fetch(`${base}/metrics`)).text();
    return figure('airsplice_kernel_bytes{channel="demo"}') > 0;
  };
  await deaf.until(isSeen, 40_000, 'nothing of it lies in the queue');
  t.ok(figure('airsplice_kernel_look_seconds') > 0);
  t.equal(figure('airsplice_listeners_by_lag{le="+Inf"}'), 1);
});

t.test(
  'without a free file descriptor nothing is known, no listener is harmed, and the next sample knows again',
  // Not beside the others: it is the whole process that can open nothing.
  { skip: OFF_LINUX || missing('prlimit'), buffered: false },
  async (t) => {
    const fixture = new Fixture(t, 600_000);
    const player = await fixture.connect();
    const { backlog } = fixture.audience;
    for (let i = 0; i < 10; i++) await fixture.second();
    t.ok(backlog.known && backlog.bytesByChannel().get('demo')! > 0);
    await withLimit('nofile', 3, () => backlog.sample());
    t.strictSame([backlog.known, backlog.bytesByChannel().get('demo')], [false, 0]);
    t.same(backlog.lags([Number.POSITIVE_INFINITY]), [1], 'its lag is what lies on the tape');
    t.same(fixture.endings, []);
    await backlog.sample();
    t.ok(backlog.known && backlog.bytesByChannel().get('demo')! > 0);
    player.destroy();
  },
);
