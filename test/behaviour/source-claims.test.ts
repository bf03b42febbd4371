/**
 * Sources that claim or cost what no honest one does, over real sockets: the loop goes on, they are sent away with a reason or held for
 * as long as one packet plays, and what comes after them owes nothing of it.
 */

import net, { type AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { EncoderSource } from '../../src/source/encoder-source.js';
import type { SourceEvent } from '../../src/source/health.js';
import { FakeClock } from '../kit/clock.js';
import { Feeder } from '../kit/feeder.js';
import { FLAC_TAGS, flacFrame, flacHead, forgedHeads, OPUS_HEAD, OPUS_TAGS, oggOf } from '../kit/forged.js';
import { longestTurnMs } from '../kit/longest-turn.js';
import { Player } from '../kit/player.js';
import { Random } from '../kit/random.js';
import { atOnce, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { audioOf, block, setUp, streamHead, Tap, Upstream } from '../kit/upstream.js';

// They wait more than they compute.
t.jobs = atOnce(4);

const OGG = { headers: 'Content-Type: audio/ogg\r\n' };
const AHEAD_MS = 3000;
const yaml = (takeover: string) => `
addresses: [{ host: 127.0.0.1, port: 0 }]
sources: { stallMs: 20000, bodyTimeoutSeconds: 60, aheadSeconds: ${AHEAD_MS / 1000} }
stations:
  demo:
    channels:
      live:
        sources: [{ type: encoder, password: demo-source, takeover: ${takeover} }]
`;

/** Pages that are whole, one after another, with this behind each. */
function pagesBefore(behind: Buffer, count: number): Buffer {
  const packet = Buffer.alloc(100, 0xfc);
  const stream = oggOf(
    [OPUS_HEAD, OPUS_TAGS],
    Array.from({ length: count }, () => [packet]),
  );
  const headBytes = oggOf([OPUS_HEAD, OPUS_TAGS], []).length;
  const pageBytes = (stream.length - headBytes) / count;
  const parts = [stream.subarray(0, headBytes)];
  for (let at = headBytes; at < stream.length; at += pageBytes) parts.push(stream.subarray(at, at + pageBytes), behind);
  return Buffer.concat(parts);
}

const FORGED = pagesBefore(forgedHeads(62_000), 12);
const NOISE = pagesBefore(Buffer.alloc(62_000, 'x'), 12);

/** The issue's own figure, of a turn of the loop in CPU. The least of a few tries: garbage is collected in any of them. */
const MAX_LATE_MS = 50;
async function minLateMs(attack: () => Promise<void>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 5 && least > MAX_LATE_MS; i++) least = Math.min(least, await longestTurnMs(attack));
  return least;
}

t.test('forged page headers from an encoder do not hold the loop, and it is sent away as damaged', async (t) => {
  const warnings: Record<string, unknown>[] = [];
  const log = {
    debug: () => undefined,
    info: () => undefined,
    error: () => undefined,
    warn: (fields: Record<string, unknown>) => void warnings.push(fields),
  };
  const { port } = await startServer(t, yaml('always'), undefined, log as never);
  const late = await minLateMs(async () => {
    const encoder = new Feeder(t, port, '/live', OGG);
    t.equal(await encoder.answered(), 200);
    encoder.socket.write(FORGED);
    await encoder.over();
  });
  t.ok(late <= MAX_LATE_MS, `${late} ms of CPU`);
  const warning = () => warnings.find(({ event }) => event === 'damaged');
  await until(() => warning() !== undefined, 5000);
  t.match(warning(), { channel: 'live', source: 'encoder', declared: 'audio/ogg' });
});

t.test('one packet in 62 KB of anything does not make a stream of it', async (t) => {
  for (const body of [FORGED, NOISE]) {
    const upstream = await Upstream.open(t);
    upstream.answer = (socket) => void socket.write(Buffer.concat([Buffer.from(streamHead()), body]));
    const { tap, source } = setUp(t, upstream, { retryMinMs: 60_000, retryMaxMs: 60_000 });
    const late = await minLateMs(async () => {
      tap.losses.length = 0;
      source.start();
      await until(
        () => tap.losses.length > 0,
        10_000,
        () => 'still pulled',
      );
      source.stop();
    });
    t.match(tap.losses[0], /in most of what the upstream sends: damaged/);
    t.ok(late <= MAX_LATE_MS, `${late} ms of CPU`);
  }
});

t.test('a head that claims 1 Hz is none; a good encoder comes after it, and is heard at once', async (t) => {
  // At another machine an encoder waits.
  const { port } = (await startServer(t, yaml('always'))).one;
  const packets = Array.from({ length: 3000 }, () => flacFrame(32_768));
  const pages = (rate: number) =>
    oggOf(
      [flacHead(rate), FLAC_TAGS],
      packets.map((packet) => [packet]),
    );
  const liar = new Feeder(t, port, '/live', OGG);
  await liar.answered();
  liar.socket.write(pages(1));
  await liar.over();
  // Two seconds a packet are as much as FLAC may claim: one more than ahead of time is taken, and nothing owed beyond.
  const fast = new Feeder(t, port, '/live', OGG);
  await fast.answered();
  fast.socket.write(pages(16_000));
  const first = new Player(port, '/live', { keep: true });
  t.teardown(() => first.close());
  await first.until((one) => one.audioBytes > 0);
  const good = new Feeder(t, port, '/live').stream(t);
  t.equal(await good.answered(), 200);
  await until(
    () => fast.closed,
    5000,
    () => 'two encoders',
  );
  await until(
    () => first.closed,
    5000,
    () => 'the tape of what came before goes on',
  );
  const player = new Player(port, '/live');
  t.teardown(() => player.close());
  // Not after the hours that were claimed.
  await player.until((one) => one.status === 200 && one.audioBytes > 16_000, 3000);
  t.equal(player.closed, false);
});

t.test('a page of packets that claim two seconds each is held behind the packet that is too many', async (t) => {
  const upstream = await Upstream.open(t);
  const page = Array.from({ length: 250 }, () => flacFrame(32_000));
  upstream.answer = (socket) =>
    void socket.write(Buffer.concat([Buffer.from(streamHead()), oggOf([flacHead(16_000), FLAC_TAGS], [page, page])]));
  const { tap, source } = setUp(t, upstream, { aheadMs: AHEAD_MS, retryMinMs: 50, retryMaxMs: 100 });
  const startMs = performance.now();
  source.start();
  const aheadMs = () => tap.audioMs - (performance.now() - startMs);
  await until(
    () => tap.parts.length >= 3,
    5000,
    () => `${tap.parts.length} packets`,
  );
  t.ok(aheadMs() <= AHEAD_MS + 2000, `${aheadMs()} ms ahead`);
  const before = tap.parts.length;
  await until(
    () => tap.parts.length > before,
    5000,
    () => 'held for longer than its packet',
  );
  t.ok(aheadMs() <= AHEAD_MS + 2000, `${aheadMs()} ms ahead`);
  // What it owes beyond that ends with its connection.
  for (const socket of upstream.sockets) socket.destroy();
  t.strictSame(tap.losses.length, 0, 'held: it has not been seen to go yet');
});

t.test('AAC in frames of 8 bytes that claim half a second each: the same', async (t) => {
  const { tap, source } = setUp(t, await serving(t, adts(4000)), { aheadMs: AHEAD_MS });
  const startMs = performance.now();
  source.start();
  await until(
    () => tap.audioMs > AHEAD_MS,
    5000,
    () => `${tap.audioMs}`,
  );
  t.ok(tap.audioMs - (performance.now() - startMs) <= AHEAD_MS + 600, `${tap.audioMs} ms`);
});

/** 7,350 Hz, four blocks of 1,024 samples. */
const adts = (frames: number) => Buffer.alloc(frames * 8, Buffer.from([0xff, 0xf1, 0x70, 0x40, 0x01, 0x1f, 0xff, 0]));

async function serving(t: Test, body: Buffer, head = streamHead()): Promise<Upstream> {
  const upstream = await Upstream.open(t);
  upstream.answer = (socket) => void socket.write(Buffer.concat([Buffer.from(head), body]));
  return upstream;
}

t.test('an encoder that is held back is not believed to be there for hours', async (t) => {
  const server = net.createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => server.close());
  const accepted = new Promise<net.Socket>((done) => server.once('connection', done));
  const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  const socket = await accepted;
  t.teardown(() => {
    client.destroy();
    socket.destroy();
  });
  const clock = new FakeClock();
  const tap = new Tap();
  const encoder = new EncoderSource(tap, clock, {
    channel: 'live',
    bodyTimeoutMs: 30_000,
    aheadMs: AHEAD_MS,
    takeover: 'silent',
    silentMs: 1000,
    framelessBytes: 65_536,
    facts: { textBytes: 100, urlBytes: 100 },
    onEvent: (_: SourceEvent) => undefined,
  });
  encoder.start();
  encoder.attach(socket, Buffer.alloc(0), { headers: new Map([['content-type', 'audio/aac']]) });
  client.write(adts(4000));
  await until(
    () => tap.audioMs > AHEAD_MS,
    5000,
    () => `${tap.audioMs}`,
  );
  await until(
    () => socket.isPaused(),
    5000,
    () => 'not held',
  );
  const turn = () => new Promise((done) => setImmediate(done));
  for (let second = 0; second < 59; second++) {
    clock.advance(1000);
    for (let i = 0; i < 3; i++) await turn();
    if (!encoder.isBusy) t.fail(`given up after ${second} s`);
  }
  for (let second = 0; second < 3; second++) {
    clock.advance(1000);
    for (let i = 0; i < 3; i++) await turn();
  }
  t.notOk(encoder.isBusy, 'nothing new for a minute');
  t.strictSame(tap.losses, []);
  encoder.stop();
});

t.test('frames and links past the budget wait, and none is lost', async (t) => {
  const links = Array.from({ length: 30 }, () => oggOf([OPUS_HEAD, OPUS_TAGS], [[Buffer.alloc(2000, 0xfc)]]));
  const { tap, source } = setUp(t, await serving(t, Buffer.concat(links)), { aheadMs: 1_000_000 });
  const startMs = performance.now();
  source.start();
  await until(
    () => tap.parts.length === links.length,
    10_000,
    () => `${tap.parts.length} links`,
  );
  t.ok(performance.now() - startMs > 1000, '20 links a second');
  t.strictSame(tap.losses, []);
});

t.test('ICY blocks cost what they weigh, whatever stands in them and however close', async (t) => {
  const random = new Random();
  const audio = audioOf(random, 200);
  const text = 'x'.repeat(4080);
  const parts: Buffer[] = [];
  for (let at = 0; at < audio.length; at += 100) parts.push(audio.subarray(at, at + 100), block(text));
  const close = Buffer.alloc(audio.length * 2);
  for (const [i, byte] of audio.entries()) close[i * 2] = byte;
  for (const [metaint, body] of [
    [100, Buffer.concat(parts)],
    [1, close],
  ] as const) {
    const upstream = await serving(t, body, streamHead(metaint));
    const late = await minLateMs(async () => {
      const { tap, source } = setUp(t, upstream, { retryMinMs: 60_000, retryMaxMs: 60_000 });
      source.start();
      await until(
        () => tap.audioBytes === audio.length,
        20_000,
        () => `${tap.audioBytes} ${tap.losses}`,
      );
      t.ok(tap.bytes.equals(audio), `metaint ${metaint}, seed ${random.seed}`);
      source.stop();
    });
    t.ok(late <= MAX_LATE_MS, `metaint ${metaint}: ${late} ms of CPU`);
  }
});
