/** The audience: a listener that does not read is ended and delays no other; writes are spread over the second. Real sockets, false clock. */

import net from 'node:net';
import t, { type Test } from 'tap';
import { ChannelAudio } from '../../../src/audio/channel-audio.js';
import { TICK_MS } from '../../../src/base/clock.js';
import { Audience } from '../../../src/listener/cursor/audience.js';
import { ListenerBacklog } from '../../../src/listener/cursor/backlog.js';
import type { Listener } from '../../../src/listener/cursor/listener.js';
import type { ListenerEnd } from '../../../src/listener/cursor/listener-stay.js';
import type { WriteSetting } from '../../../src/listener/cursor/pace.js';
import { Sessions } from '../../../src/listener/sessions/sessions.js';
import { ENTRY, type Entered, TrackedConnection } from '../../../src/net/front/tracked-connection.js';
import { FakeClock } from '../../kit/clock.js';
import { frameOf } from '../../kit/frame-of.js';
import { heldBufferBytes } from '../../kit/heap.js';
import { until } from '../../kit/until.js';

const METAINT = 65_000;
/** What a listener is given in one turn: 256 KiB, in whole segments. */
const AT_ONCE = Math.ceil((256 * 1024) / METAINT) * (METAINT + 1);
const HEAD = Buffer.from('HTTP/1.0 200 OK\r\n\r\n');

interface CrowdOptions {
  readonly metaint?: number;
  readonly burstMs?: number;
  readonly writeSeconds?: WriteSetting;
}

class Crowd {
  readonly clock = new FakeClock();
  readonly channel: ChannelAudio;
  readonly audience: Audience;
  readonly listeners: Listener[] = [];
  readonly endings: string[] = [];
  readonly wanted: boolean[] = [];
  readonly lasted: number[] = [];
  /** Bytes that each was given, as its ending reports them. */
  readonly given: number[] = [];
  /** Of those who come from now on. */
  limitMs = Number.POSITIVE_INFINITY;
  readonly #server: net.Server;
  readonly #metaint: number;
  #port = 0;

  constructor(t: Test, lagMs: number, options: CrowdOptions = {}) {
    const { metaint = METAINT, burstMs = 0, writeSeconds = 'auto' } = options;
    this.#metaint = metaint;
    this.channel = new ChannelAudio({
      key: 'demo',
      now: () => this.clock.now(),
      lagMs,
      metaint,
      onWanted: (isWanted) => this.wanted.push(isWanted),
    });
    const quiet = { onBegan: () => undefined, onWritten: () => undefined, onHeard: () => undefined };
    const sessions = new Sessions(this.clock, quiet, { keepMs: 1000, max: 10 });
    this.audience = new Audience(this.clock, sessions, () => writeSeconds);
    this.#server = net.createServer({ allowHalfOpen: true }, (socket) => {
      this.audience.enter(this.channel);
      const onEnd = ({ ending, lastedMs, bytes }: ListenerEnd) => {
        this.endings.push(ending);
        this.given.push(bytes);
        this.lasted.push(lastedMs);
      };
      const options = { icy: true, burstMs, session: null, limitMs: this.limitMs, onEnd };
      this.listeners.push(this.audience.join(socket, this.channel, HEAD, options));
    });
    t.teardown(() => {
      this.audience.endAll('broken');
      this.#server.close();
    });
  }

  async listen(): Promise<this> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    this.#port = (this.#server.address() as net.AddressInfo).port;
    this.write(1);
    return this;
  }

  /** So many seconds of audio, a segment each. */
  write(seconds: number): void {
    for (let i = 0; i < seconds; i++) this.channel.write(frameOf(Buffer.alloc(this.#metaint, 1), 1000, 520));
  }

  /** So many at once. */
  async connectAll(count: number, reads: boolean): Promise<{ socket: net.Socket; bytes: () => number }[]> {
    const all = await Promise.all(Array.from({ length: count }, () => this.connect(reads)));
    await until(() => this.listeners.length >= count, 3000);
    return all;
  }

  async connect(reads: boolean): Promise<{ socket: net.Socket; bytes: () => number }> {
    const before = this.listeners.length;
    const socket = net.connect(this.#port, '127.0.0.1');
    let bytes = 0;
    socket.on('error', () => undefined);
    if (reads) socket.on('data', (chunk) => (bytes += chunk.length));
    await until(() => this.listeners.length > before, 2000);
    return { socket, bytes: () => bytes };
  }

  /** A second goes by: audio comes, every listener has its turn. */
  async second(): Promise<void> {
    this.write(1);
    this.clock.advance(1000);
    await new Promise((done) => setImmediate(done));
  }
}

t.test(
  'a listener that does not read ends as lagged; one that reads has every byte, and memory stays flat',
  async (t) => {
    const crowd = await new Crowd(t, 10_000).listen();
    const good = await crowd.connect(true);
    const stuck = await crowd.connectAll(10, false);
    let most = 0;
    const before = await heldBufferBytes();
    let seconds = 0;
    // Where send queues cannot be read, a connection takes some 10 MB before it takes no more.
    for (; seconds < 600 && crowd.endings.length < stuck.length; seconds++) {
      await crowd.second();
      if (seconds % 10 === 0) most = Math.max(most, (await heldBufferBytes()) - before);
    }
    t.same(new Set(crowd.endings), new Set(['lagged']));
    t.equal(crowd.endings.length, stuck.length);
    t.equal(crowd.audience.endings.lagged, stuck.length);
    t.equal(crowd.channel.listeners, 1);
    // The tape, and what each listener has been given at once.
    t.ok(
      most < 10 * METAINT + (stuck.length + 1) * AT_ONCE,
      `buffers grew by at most ${Math.round(most / 1024)} KB in ${seconds} s`,
    );
    await until(
      () => good.bytes() === HEAD.length + seconds * (METAINT + 1),
      3000,
      () => `${good.bytes()} of ${seconds}`,
    );
    t.pass('the reader has every byte');
    for (const { socket } of [good, ...stuck]) socket.destroy();
  },
);

t.test('a listener that catches up in time stays', async (t) => {
  const crowd = await new Crowd(t, 10_000).listen();
  const { socket, bytes } = await crowd.connect(true);
  for (let i = 0; i < 9; i++) crowd.write(1);
  t.equal(crowd.listeners[0]!.lagMs, 9000);
  for (let i = 0; i < 10; i++) await crowd.second();
  await until(
    () => bytes() === HEAD.length + 19 * (METAINT + 1),
    3000,
    () => String(bytes()),
  );
  t.same(crowd.endings, []);
  socket.destroy();
  await until(() => crowd.endings.length === 1, 2000);
  t.same(crowd.endings, ['left']);
});

t.test('audio that comes again behind a pause is sent to all at the next tick', async (t) => {
  const crowd = await new Crowd(t, 10_000).listen();
  const all = await crowd.connectAll(20, true);
  for (let i = 0; i < 2; i++) await crowd.second();
  crowd.clock.advance(5000);
  crowd.write(1);
  crowd.clock.advance(TICK_MS);
  t.ok(
    crowd.listeners.every(({ isAtEdge }) => isAtEdge),
    'each has it',
  );
  for (const { socket } of all) socket.destroy();
});

t.test('one second past the tape a listener is ended, at the tape’s end it is not', async (t) => {
  for (const [behindSeconds, ending] of [
    [10, []],
    [12, ['lagged']],
  ] as const) {
    const crowd = await new Crowd(t, 10_000).listen();
    const { socket } = await crowd.connect(true);
    crowd.write(behindSeconds);
    crowd.clock.advance(1000);
    t.same(crowd.endings, ending, `${behindSeconds} s behind`);
    socket.destroy();
  }
});

t.test(
  'written to as seldom as the tape has more beside the burst, and a send buffer takes it in one go',
  async (t) => {
    // Each second is a segment, and has a block of a byte; the last one is not closed.
    const atMost = (128 * 1024) / 4 - 1;
    for (const [bytesPerSecond, tapeSeconds, expected] of [
      [atMost, 30, 4],
      [atMost + 1, 30, 2],
      [atMost, 9, 4],
      [atMost, 8, 2],
      [atMost, 7, 2],
      [atMost, 6, 1],
    ] as const) {
      const options = { metaint: bytesPerSecond, burstMs: 5000, writeSeconds: 4 } as const;
      const crowd = await new Crowd(t, 60_000, options).listen();
      crowd.write(tapeSeconds - 1);
      const { socket } = await crowd.connect(true);
      const [listener] = crowd.listeners;
      t.equal(listener!.maxWriteSeconds, expected, `${bytesPerSecond} bytes a second, a tape of ${tapeSeconds} s`);
      // What it has more is sent when the crowd's joins are over.
      for (let i = 0; i < 11; i++) await crowd.second();
      t.equal(listener!.writeSeconds, expected);
      socket.destroy();
    }
  },
);

t.test('a crowd is 1,000 in the clear, or 500 over TLS', async (t) => {
  for (const [isSecure, count, seconds] of [
    [false, 1000, 4],
    // Longer writes would go in pieces.
    [true, 500, 2],
  ] as const) {
    const crowd = new Crowd(t, 60_000, { metaint: 16_000 });
    const join = () => {
      const socket = new net.Socket();
      const entry = new TrackedConnection(new net.Socket());
      if (isSecure) (socket as Entered)[ENTRY] = entry;
      socket.write = () => true;
      crowd.audience.enter(crowd.channel);
      const options = {
        icy: true,
        burstMs: 5000,
        session: null,
        limitMs: Number.POSITIVE_INFINITY,
        onEnd: () => undefined,
      };
      return crowd.audience.join(socket, crowd.channel, HEAD, options);
    };
    crowd.write(30);
    const all = Array.from({ length: count }, join);
    t.same(new Set(all.map(({ maxWriteSeconds }) => maxWriteSeconds)), new Set([1]), `${count} are none`);
    t.equal(join().maxWriteSeconds, seconds, 'one more');
    for (const listener of all.slice(0, count / 4 + 2)) listener.end('left');
    t.equal(join().maxWriteSeconds, 1, 'fewer than three quarters of it');
  }
});

t.test('listeners come and go: counted, wanted, and nothing is left', async (t) => {
  const crowd = await new Crowd(t, 10_000).listen();
  const all = await crowd.connectAll(60, true);
  t.equal(crowd.channel.listeners, 60);
  for (let i = 0; i < 3; i++) await crowd.second();
  for (const { socket } of all.slice(0, 30)) socket.destroy();
  await until(() => crowd.channel.listeners === 30, 2000);
  for (let i = 0; i < 3; i++) await crowd.second();
  const full = HEAD.length + 6 * (METAINT + 1);
  await until(
    () => all.slice(30).every(({ bytes }) => bytes() === full),
    3000,
    () => String(all.at(-1)!.bytes()),
  );
  for (const { socket } of all.slice(30)) socket.destroy();
  await until(() => crowd.audience.count === 0, 2000);
  t.same(crowd.wanted, [true, false]);
  t.equal(crowd.audience.endings.left, 60);
  t.equal(crowd.audience.bytesByChannel().get('demo')! > 60 * METAINT, true);
});

t.test('a crowd is spread over the second', async (t) => {
  const crowd = await new Crowd(t, 10_000).listen();
  await crowd.connectAll(66, true);
  const perSlot = new Map<number, number>();
  for (const { slot } of crowd.listeners) perSlot.set(slot, (perSlot.get(slot) ?? 0) + 1);
  const [most, ...others] = [...perSlot.values()].sort((a, b) => b - a);
  t.same(others, Array(24).fill(2), 'every slot has its share …');
  t.equal(most, 2 + 16, '… and one those who would have their turn together if they were no more');
});

t.test('a listener’s time limit: its own, to the tick, at a segment, and nothing is left', async (t) => {
  const crowd = await new Crowd(t, 10_000).listen();
  const forEver = await crowd.connect(true);
  crowd.limitMs = 3000;
  const limited = await crowd.connect(true);
  const early = await crowd.connect(true);
  early.socket.destroy();
  await until(() => crowd.endings.length === 1, 2000);
  for (let i = 0; i < 2; i++) await crowd.second();
  crowd.clock.advance(960);
  t.same(crowd.endings, ['left'], 'at the limit it still listens');
  crowd.clock.advance(40);
  t.same(crowd.endings, ['left', 'overtime']);
  t.same(crowd.lasted, [0, 3000]);
  t.equal(crowd.audience.endings.overtime, 1);
  await until(() => limited.socket.readableEnded || limited.socket.destroyed, 2000);
  t.equal((limited.bytes() - HEAD.length) % (METAINT + 1), 0, 'whole segments');
  for (let i = 0; i < 5; i++) await crowd.second();
  t.same(crowd.endings, ['left', 'overtime'], 'an ended listener is not ended again, the others play on');
  t.equal(crowd.channel.listeners, 1);
  forEver.socket.destroy();
});

t.test('an ending moves the last of its slot into the gap, from where it can end in turn', async (t) => {
  const crowd = await new Crowd(t, 10_000).listen();
  await crowd.connectAll(3, true);
  const [first, middle, last] = crowd.listeners;
  t.same([middle!.slot, last!.slot], [first!.slot, first!.slot], 'a few of one channel have their turn together');
  first!.end('broken');
  t.equal(last!.index, 0, 'the last one has taken its place');
  last!.end('broken');
  const before = middle!.bytes;
  await crowd.second();
  t.equal(middle!.bytes, before + METAINT + 1, 'the remaining one is written to');
  middle!.end('broken');
  await crowd.second();
  t.equal(crowd.audience.count, 0);
  t.equal(crowd.endings.length, 3);
});

t.test('nothing is written while the socket holds what it was given', async (t) => {
  const crowd = await new Crowd(t, 3_600_000).listen();
  await crowd.connect(false);
  const [listener] = crowd.listeners;
  for (let seconds = 0; seconds < 600 && listener!.socket.writableLength === 0; seconds++) await crowd.second();
  let most = 0;
  for (let seconds = 0; seconds < 60; seconds++) {
    await crowd.second();
    most = Math.max(most, listener!.socket.writableLength);
  }
  t.ok(most > 0, 'the socket takes no more');
  // Of a minute of audio, 3.9 MB, at most what goes out in one turn.
  t.ok(most <= AT_ONCE, `${most} bytes wait in the socket`);
  t.same(crowd.endings, []);
});

t.test('lag counts what the socket itself holds, not only what lies on the tape', async (t) => {
  const crowd = await new Crowd(t, 3_600_000).listen();
  await crowd.connect(false);
  const [listener] = crowd.listeners;
  const { tape } = crowd.channel;
  const backlog = new ListenerBacklog(listener!, tape!, crowd.clock.now());
  for (let seconds = 0; seconds < 600 && listener!.socket.writableLength < METAINT / 2; seconds++) await crowd.second();
  const { writableLength } = listener!.socket;
  t.ok(writableLength >= METAINT / 2, `${writableLength} bytes in the socket`);
  const heldMs = (1000 * writableLength) / (METAINT + 1);
  t.ok(Math.abs(backlog.lagMs(0) - listener!.lagMs - heldMs) < 1, `${backlog.lagMs(0)} ms behind`);
  const nowMs = crowd.clock.now();
  backlog.look(METAINT + 1, nowMs, nowMs);
  const { player } = listener!.playback;
  t.ok(player.writtenMs - player.positionAt(nowMs) > heldMs + 999, 'its player cannot have heard that');
  const { startMs } = tape!.at(listener!.firstSeq)!;
  const queuedBytes = listener!.bytes + HEAD.length - writableLength;
  t.equal(backlog.lagMs(queuedBytes), tape!.edgeMs - startMs, 'a head is no audio, and nothing was given before it');
});

t.test('a late tick makes up for the slots that it missed, each once', async (t) => {
  const crowd = await new Crowd(t, 60_000).listen();
  await crowd.connectAll(66, true);
  const { audience, listeners } = crowd;
  const turnsOf = () => listeners.map(({ bytes }) => bytes / (METAINT + 1));
  crowd.write(1);
  const nowMs = crowd.clock.now();
  audience.onAlarm(nowMs + 10 * 40);
  const ticksTo = ({ slot }: Listener) => (slot + 25 - (Math.floor(nowMs / 40) % 25)) % 25 || 25;
  t.same(
    turnsOf(),
    listeners.map((listener) => (ticksTo(listener) <= 10 ? 1 : 0)),
  );
  audience.onAlarm(nowMs + 30_000);
  t.same(new Set(turnsOf()), new Set([1]), 'a second’s at most: each has had its turn');
  crowd.write(1);
  audience.onAlarm(nowMs + 30_001);
  t.same(new Set(turnsOf()), new Set([2]), 'behind a pause all have a turn');
  crowd.write(1);
  audience.onAlarm(nowMs + 30_039);
  t.same(new Set(turnsOf()), new Set([2]), 'within a tick nothing is due');
});

t.test('a player that closes its half has left', async (t) => {
  const crowd = await new Crowd(t, 10_000).listen();
  const { socket } = await crowd.connect(true);
  await crowd.second();
  socket.end();
  await until(() => crowd.endings.length === 1, 2000);
  t.same(crowd.endings, ['left']);
  await until(() => socket.destroyed, 2000);
});

t.test(
  'a polite ending gives the rest of a frame and counts it; a player that does not take it is cut after 10 s',
  async (t) => {
    const crowd = await new Crowd(t, 3_600_000).listen();
    const good = await crowd.connect(true);
    await crowd.connect(false);
    const [listener, stuck] = crowd.listeners;
    for (let seconds = 0; seconds < 600 && stuck!.socket.writableLength === 0; seconds++) await crowd.second();
    crowd.channel.write(frameOf(Buffer.alloc(METAINT + 300, 2), 1000, 520));
    await until(() => listener!.socket.writableLength === 0, 3000);
    crowd.clock.advance(1000);
    const before = listener!.bytes;
    crowd.audience.endAll('silence');
    const { socket, bytes } = good;
    await until(() => socket.destroyed || socket.readableEnded, 3000);
    t.equal(listener!.bytes - before, 300);
    t.equal(bytes(), HEAD.length + listener!.bytes, 'all of it has arrived');
    t.ok(crowd.given.includes(listener!.bytes));
    crowd.clock.advance(9960);
    t.notOk(stuck!.socket.destroyed, 'it may still take what it was given');
    crowd.clock.advance(80);
    t.ok(stuck!.socket.destroyed);
    socket.destroy();
  },
);

t.test('a listener that is behind is given 256 KiB at once, the rest on later turns', async (t) => {
  const crowd = await new Crowd(t, 60_000).listen();
  const { socket, bytes } = await crowd.connect(true);
  const [listener] = crowd.listeners;
  const started = listener!.bytes;
  crowd.write(12);
  for (const turn of [1, 2]) {
    await until(() => listener!.socket.writableLength === 0, 3000);
    crowd.clock.advance(1000);
    t.equal(listener!.bytes - started, turn * AT_ONCE);
  }
  await until(() => listener!.socket.writableLength === 0, 3000);
  crowd.clock.advance(1000);
  t.equal(listener!.bytes - started, 12 * (METAINT + 1), 'until it has all');
  await until(() => bytes() === HEAD.length + listener!.bytes, 3000);
  socket.destroy();
});

t.test(
  'a listener is given nothing before a frame that it can begin with, and that may be segments later',
  async (t) => {
    const crowd = await new Crowd(t, 10_000).listen();
    const { channel, clock } = crowd;
    // Its last ten bytes lie in the next segment: no room for a tag before the frame behind it.
    channel.write(frameOf(Buffer.alloc(METAINT + 10, 2), 1000, 520));
    const { socket, bytes } = await crowd.connect(true);
    const parts: Buffer[] = [];
    socket.on('data', (part) => parts.push(part));
    const gone = await crowd.connect(true);
    const [listener, other] = crowd.listeners;
    channel.write(frameOf(Buffer.alloc(2 * METAINT, 3), 2000, 520));
    clock.advance(1000);
    t.strictSame([listener!.bytes, listener!.firstSeq], [0, channel.tape!.head], 'two segments are skipped');
    other!.end('silence');
    await until(() => gone.socket.readableEnded, 3000);
    t.equal(gone.bytes(), HEAD.length, 'nor is it given the rest of a frame when it ends');

    channel.write(frameOf(Buffer.alloc(100, 4), 100, 520));
    channel.write(frameOf(Buffer.alloc(METAINT, 5), 1000, 520));
    clock.advance(1000);
    await until(() => bytes() === HEAD.length + METAINT + 1, 3000);
    const heard = Buffer.concat(parts).subarray(-METAINT - 1);
    t.equal(heard.toString('latin1', 0, 3), 'ID3');
    t.same(heard.subarray(110, METAINT), Buffer.alloc(METAINT - 110, 5), 'the tag ends where a frame begins');
    t.equal(heard[METAINT], 0);
    socket.destroy();
  },
);

t.test(
  'a lagged listener is cut with a reset, so that nothing old is delivered; a polite ending is a FIN',
  async (t) => {
    for (const [ending, error] of [
      ['lagged', 'ECONNRESET'],
      ['silence', ''],
    ] as const) {
      const crowd = await new Crowd(t, 10_000).listen();
      const { socket, bytes } = await crowd.connect(true);
      // Of bytes and a reset that are there at once libuv says that the connection has ended.
      await until(() => bytes() >= HEAD.length, 2000);
      let seen = '';
      socket.on('error', ({ code }: NodeJS.ErrnoException) => {
        seen = code ?? 'error';
      });
      const closed = new Promise((done) => socket.once('close', done));
      if (ending === 'silence') crowd.audience.endAll('silence');
      else {
        crowd.write(12);
        crowd.clock.advance(1000);
      }
      await closed;
      t.same(crowd.endings, [ending]);
      t.equal(seen, error, ending);
    }
  },
);
