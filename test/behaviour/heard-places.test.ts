/**
 * Titles against the sound of a model player, in real time over real sockets: it begins when its first block has come, plays in real time, stands
 * still where it has nothing, and does not catch up. Its link is slow, or stops for a while.
 */

import net from 'node:net';
import t, { type Test } from 'tap';
import { ChannelAudio } from '../../src/audio/channel-audio.js';
import { READ_BLOCK_BYTES } from '../../src/audio/tape/burst.js';
import { SystemClock } from '../../src/base/clock.js';
import { Audience } from '../../src/listener/cursor/audience.js';
import type { HeardTitle, Session } from '../../src/listener/sessions/session.js';
import { Sessions } from '../../src/listener/sessions/sessions.js';
import { bestOfThree } from '../kit/best-of-three.js';
import { frameOf } from '../kit/frame-of.js';
import { LoopDelay } from '../kit/loop-delay.js';
import { pause } from '../kit/pause.js';
import { connectionsOfMachine } from '../kit/process-sockets.js';
import { missing } from '../kit/program.js';
import { viewOf } from '../kit/record.js';
import { type Arrival, readSlowly, type SlowReaderOptions } from '../kit/slow-reader.js';
import { until } from '../kit/until.js';

// They wait more than they compute.
t.jobs = 4;

const SKIP = process.platform === 'linux' ? missing('python3') : 'the send queues can be read on Linux only';
/** 128 kb/s. */
const BYTES_PER_MS = 16;
const FRAME_MS = 25;
const TITLE_MS = 500;
const HEAD = Buffer.from('HTTP/1.0 200 OK\r\n\r\n');

/** Of a title: how much later it was reported than its sound came, and when. */
interface Offset {
  readonly atMs: number;
  readonly ms: number;
}

/** When the model player reaches a position: never before the end of the block that holds it has come. */
function playedAt(arrivals: readonly Arrival[], positionMs: number): number {
  let startMs = Number.NEGATIVE_INFINITY;
  let blocks = 0;
  for (const [atMs, bytes] of arrivals) {
    for (; (blocks + 1) * READ_BLOCK_BYTES <= bytes - HEAD.length; blocks++) {
      const fromMs = (blocks * READ_BLOCK_BYTES) / BYTES_PER_MS;
      if (fromMs > positionMs) return startMs + positionMs;
      startMs = Math.max(startMs, atMs - fromMs);
    }
  }
  return blocks * READ_BLOCK_BYTES > positionMs * BYTES_PER_MS ? startMs + positionMs : Number.NaN;
}

/** Plays for so many seconds, and says how far off the titles were that the player reached. */
async function errorsOf(t: Test, seconds: number, options: SlowReaderOptions): Promise<Offset[]> {
  const clock = new SystemClock();
  const heard: { positionMs: number; atMs: number }[] = [];
  const output = {
    onBegan: () => undefined,
    onWritten: () => undefined,
    onHeard: (_: Session, { positionMs }: HeardTitle) => heard.push({ positionMs, atMs: clock.now() }),
  };
  const sessions = new Sessions(clock, output, { keepMs: 1000, max: 10 });
  const audience = new Audience(clock, sessions);
  const channel = new ChannelAudio({ key: 'demo', lagMs: 60_000, bitrateKbps: 128, now: () => clock.now() });
  let writtenMs = 0;
  let titles = 0;
  const feed = () => {
    if (writtenMs % TITLE_MS === 0) channel.title(viewOf(`T${titles}`, { id: `${titles}`, version: ++titles }));
    channel.write(frameOf(Buffer.alloc(BYTES_PER_MS * FRAME_MS, 1), FRAME_MS, 128));
    writtenMs += FRAME_MS;
  };
  while (writtenMs < 12_000) feed();
  const beganMs = clock.now() - writtenMs;
  const onAlarm = (nowMs: number) => {
    while (writtenMs < nowMs - beganMs) feed();
  };
  clock.everyTick({ onAlarm });
  const server = net.createServer((socket) => {
    audience.enter(channel);
    const session = sessions.open({ metaid: 'm', channel: 'demo', mount: '/', blockBytes: READ_BLOCK_BYTES });
    const rest = { limitMs: Number.POSITIVE_INFINITY, onEnd: () => undefined };
    audience.join(socket, channel, HEAD, { icy: false, burstMs: 5000, session, ...rest });
  });
  t.teardown(() => {
    audience.endAll('broken');
    clock.stop();
    server.close();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const arrivals = readSlowly(t, (server.address() as net.AddressInfo).port, options);
  await until(() => arrivals.length > 0, 10_000);
  const firstMs = clock.now();
  await pause(seconds * 1000);
  // Both clocks are the machine's monotonic one.
  const offsetMs = Number(process.hrtime.bigint()) / 1e6 - clock.now();
  const errors = heard.map(({ positionMs, atMs }) => ({
    atMs: atMs - firstMs,
    ms: positionMs === 0 ? Number.NaN : atMs + offsetMs - playedAt(arrivals, positionMs),
  }));
  return errors.filter(({ ms }) => !Number.isNaN(ms));
}

/** The p-th part of the errors' sizes. */
function quantile(errors: readonly Offset[], p: number): number {
  const sizes = errors.map(({ ms }) => Math.abs(ms)).sort((a, b) => a - b);
  return sizes[Math.min(sizes.length - 1, Math.floor(p * sizes.length))]!;
}

/** What other tests have left a minute ago makes looks at the queues rare: src/listener/README.md, "The socket's backlog". */
const MAX_CONNECTIONS = 2000;

t.before(async () => {
  if (SKIP) return;
  await until(
    () => connectionsOfMachine() < MAX_CONNECTIONS,
    90_000,
    () => `${connectionsOfMachine()} connections`,
    500,
  );
});

const FAST = 1_000_000;
const CASES: readonly {
  name: string;
  seconds: number;
  reader: SlowReaderOptions;
  fromMs: number;
  most: [number, number];
}[] = [
  { name: 'in real time', seconds: 15, reader: { rate: FAST }, fromMs: 0, most: [60, 150] },
  {
    name: 'from the start on a slow link, 300 kb/s',
    seconds: 12,
    reader: { rate: 37_500 },
    fromMs: 0,
    most: [250, 250],
  },
  // Its buffer holds it.
  {
    name: 'after 4 s without link',
    seconds: 15,
    reader: { rate: FAST, pauseAt: 3, pauseSeconds: 4 },
    fromMs: 0,
    most: [250, 250],
  },
  {
    name: 'after 8 s without link',
    seconds: 20,
    reader: { rate: FAST, pauseAt: 3, pauseSeconds: 8 },
    fromMs: 11_500,
    most: [250, 250],
  },
];

for (const { name, seconds, reader, fromMs, most } of CASES) {
  t.test(`titles come with their sound, ${name}`, { skip: SKIP }, async (t) => {
    const overMs = await bestOfThree(1, async () => {
      const late = new LoopDelay(t);
      const errors = (await errorsOf(t, seconds, reader)).filter(({ atMs }) => atMs >= fromMs);
      const [median, p95] = [quantile(errors, 0.5), quantile(errors, 0.95)];
      // A moment at which this process did not run may lie between a listener's first bytes and their reader.
      const { worstMs } = late;
      t.comment(
        `${errors.length} titles: ${Math.round(median)} / ${Math.round(p95)} ms, this process was late by ${Math.round(worstMs)} ms`,
      );
      t.ok(errors.length >= 5, `${errors.length} titles`);
      return Math.max(median - most[0], p95 - most[1]) - worstMs;
    });
    t.ok(overMs < 1, `${Math.round(overMs)} ms more than ${most} ms at the median and the 95th percentile`);
  });
}
