/** The life of a pulled stream, against real upstreams on loopback, bare sockets whose answer each test sets: connect, redirect, loss, retry, stop. */

import type net from 'node:net';
import t from 'tap';
import type { PullOptions, PullSource } from '../../src/source/pull-source.js';
import { bestOfThree } from '../kit/best-of-three.js';
import { FakeClock } from '../kit/clock.js';
import { LoopDelay } from '../kit/loop-delay.js';
import { quietFor } from '../kit/pause.js';
import { Random } from '../kit/random.js';
import { until } from '../kit/until.js';
import { audioOf, FRAME_BYTES, icyBody, setUp, streamHead, type Tap, Upstream } from '../kit/upstream.js';

// They wait more than they compute.
t.jobs = 5;

t.test('servers that speak no proper HTTP: an ICY status line, heads that end in a bare LF', async (t) => {
  const upstream = await Upstream.open(t);
  const audio = audioOf(new Random(), 10);
  const body = icyBody(audio, 417, new Map([[3, "StreamTitle='there';"]]));
  for (const head of [
    'ICY 200 OK\r\nicy-notice1:<BR>a server of 1999<BR>\r\nicy-metaint:417\r\n\r\n',
    'HTTP/1.0 200 OK\nicy-metaint: 417\n\n',
    'ICY 200 OK\nicy-metaint:417\n\n',
  ]) {
    upstream.answer = (socket) => void socket.write(Buffer.concat([Buffer.from(head), body]));
    const { tap, source } = setUp(t, upstream);
    source.start();
    await until(
      () => tap.audioBytes === audio.length,
      2000,
      () => JSON.stringify([head, tap.losses]),
    );
    t.strictSame([tap.bytes.equals(audio), tap.titles], [true, [{ line: 'there', atByte: 4 * FRAME_BYTES }]]);
    source.stop();
  }
});

t.test('redirects are followed, and given up when they go round', async (t) => {
  const [first, second] = [await Upstream.open(t), await Upstream.open(t)];
  const audio = audioOf(new Random(), 20);
  first.answer = (socket, head) => {
    const to = head.startsWith('GET /live ') ? '/moved' : second.url;
    socket.end(`HTTP/1.1 302 Found\r\nLocation: ${to}\r\nContent-Length: 0\r\n\r\n`);
  };
  second.answer = (socket) =>
    void socket.write(
      Buffer.concat([Buffer.from(streamHead(417)), icyBody(audio, 417, new Map([[3, "StreamTitle='there';"]]))]),
    );
  const { tap, source } = setUp(t, first, { allowPrivate: true });
  source.start();
  await until(() => tap.audioBytes === audio.length, 3000);
  t.strictSame([first.requestHeads.length, second.requestHeads.length, tap.titles[0]?.line], [2, 1, 'there']);
  t.match(second.requestHeads[0], /^icy-metadata: 1\r$/im, 'asks there too');
  source.stop();

  first.answer = (socket) => socket.end(`HTTP/1.1 302 Found\r\nLocation: /live\r\nContent-Length: 0\r\n\r\n`);
  const lost = setUp(t, first, { retryMinMs: 60_000, retryMaxMs: 60_000 });
  lost.source.start();
  await until(() => lost.tap.losses.length === 1, 3000);
  t.ok(first.requestHeads.length <= 10);
});

t.test(
  '404: backs off with jitter from retryMin to retryMax, and begins anew once it has played for as long as the longest pause',
  async (t) => {
    const upstream = await Upstream.open(t);
    const clock = new FakeClock();
    const triesMs: number[] = [];
    let good = false;
    let stays = false;
    upstream.answer = (socket) => {
      triesMs.push(clock.now());
      if (good) socket.write(Buffer.concat([Buffer.from(streamHead()), audioOf(new Random(), 10)]));
      else socket.write('HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot here\n');
      if (!stays) socket.end();
    };
    const { tap, source } = setUp(t, upstream, { retryMinMs: 1000, retryMaxMs: 4000 }, clock);
    source.start();
    const nextTry = () => {
      const tries = triesMs.length;
      const moves = () => {
        if (triesMs.length === tries) clock.advance(20);
        return triesMs.length > tries;
      };
      return until(moves, 10_000, undefined, 1);
    };
    /** Waits for the loss, then moves the clock until the next try; returns the pause. */
    const pauseMs = async () => {
      const [losses, tries, fromMs] = [tap.losses.length, triesMs.length, clock.now()];
      await until(() => tap.losses.length > losses || tap.losses.length === triesMs.length, 2000);
      t.equal(source.state, 'starting');
      await nextTry();
      await until(() => tap.losses.length === tries + 1, 2000);
      return triesMs[tries]! - fromMs;
    };
    await until(() => tap.losses.length === 1, 2000);
    t.match(tap.losses[0], /404/);
    const shares: number[] = [];
    for (const ceilingMs of [1000, 2000, ...Array<number>(8).fill(4000)]) {
      const ms = await pauseMs();
      if (ceilingMs === 4000) shares.push(ms / ceilingMs);
      // the clock goes by 20 ms, and the try is seen some steps late
      t.ok(ms >= ceilingMs / 2 && ms <= ceilingMs + 500, `${ms} ms, ceiling ${ceilingMs}`);
    }
    t.ok(Math.max(...shares) - Math.min(...shares) > 0.03, `jitter: ${shares}`);
    good = true;
    await pauseMs();
    t.equal(tap.audioBytes, 10 * FRAME_BYTES);
    t.ok((await pauseMs()) >= 2000, 'a bit of audio, again and again, is no reason to come back sooner');
    stays = true;
    await nextTry();
    await until(() => tap.audioBytes === 30 * FRAME_BYTES, 2000);
    clock.advance(4000);
    good = stays = false;
    upstream.sockets.at(-1)!.end();
    await until(() => tap.losses.length === triesMs.length, 2000);
    t.ok((await pauseMs()) <= 1500, 'from retryMin again');
    await until(() => upstream.openSockets === 0, 2000);
  },
);

t.test('FIN, RST, a stall, a refused connection: a loss with a reason, and it tries again', async (t) => {
  const upstream = await Upstream.open(t);
  const audio = audioOf(new Random(), 20);
  const stream = Buffer.concat([Buffer.from(streamHead()), audio]);
  const endings: ((socket: net.Socket) => void)[] = [
    (socket) => socket.end(),
    (socket) => socket.resetAndDestroy(),
    () => undefined,
    (socket) => socket.end(),
  ];
  upstream.answer = (socket) => {
    const count = upstream.requestHeads.length;
    socket.write(stream);
    // A reset takes what has not been read.
    const isHeard = () => tap.audioBytes === count * audio.length;
    void until(isHeard, 2000).then(() => endings[count - 1]?.(socket));
  };
  const { tap, source } = setUp(t, upstream, { stallMs: 500 });
  source.start();
  await until(
    () => tap.losses.length === 4,
    8000,
    () => JSON.stringify(tap.losses),
  );
  t.ok(
    tap.losses.every((reason) => reason !== ''),
    JSON.stringify(tap.losses),
  );
  await until(() => tap.audioBytes === 5 * audio.length, 2000);
  t.equal(upstream.requestHeads.length, 5);
  source.stop();
  await upstream.close();
  const refused = setUp(t, upstream);
  refused.source.start();
  await until(() => refused.tap.losses.length === 3, 2000);
  t.match(refused.tap.losses[0], /ECONNREFUSED/);

  const silent = await Upstream.open(t);
  const never = setUp(t, silent, { connectTimeoutMs: 500 });
  never.source.start();
  await until(() => never.tap.losses.length === 1, 4000);
  never.source.stop();
});

t.test('an upstream faster than time is held back, smoothly', async (t) => {
  const random = new Random();
  const upstream = await Upstream.open(t);
  const audio = audioOf(random, 4000);
  const texts = new Map([[10, "StreamTitle='x';"]]);
  const body = icyBody(audio, 16_000, texts);
  upstream.answer = (socket) => {
    socket.write(streamHead(16_000));
    socket.write(body);
  };
  const gapMs = await bestOfThree(400, async () => {
    const { tap, source } = setUp(t, upstream, { aheadMs: 2000, stallMs: 1000 });
    const late = new LoopDelay(t);
    source.start();
    await until(() => tap.audioBytes > 0, 2000);
    const startMs = performance.now();
    await until(() => tap.audioMs > 1900, 2000);
    tap.longestGapMs = 0;
    // Longer than stallMs.
    await quietFor(1500);
    const aheadMs = tap.audioMs - (performance.now() - startMs);
    t.ok(aheadMs > 1800 - late.totalMs && aheadMs < 2200 + late.totalMs, `${aheadMs} ms ahead`);
    t.strictSame(tap.losses, [], 'being held back is no stall of the upstream');
    t.ok(audio.subarray(0, tap.audioBytes).equals(tap.bytes), `seed ${random.seed}`);
    source.stop();
    return tap.longestGapMs - late.totalMs;
  });
  t.ok(gapMs < 400, `longest gap ${gapMs} ms: no stall for the switch`);
});

t.test('an upstream that falls silent while it is held back has stalled after that', async (t) => {
  const upstream = await Upstream.open(t);
  upstream.answer = (socket) =>
    void socket.write(Buffer.concat([Buffer.from(streamHead()), audioOf(new Random(), 60)]));
  const { tap, source } = setUp(t, upstream, { aheadMs: 500, stallMs: 300 });
  source.start();
  await until(() => tap.losses.length === 1, 3000);
  t.equal(tap.audioBytes, 60 * FRAME_BYTES, 'not before all was passed on');
  // The bytes and the audio are waited for equally long.
  t.match(tap.losses[0], /^no (bytes|audio) from the upstream$/);
});

t.test('endless garbage is given up', async (t) => {
  const random = new Random();
  const upstream = await Upstream.open(t);
  const garbage = random.bytes(65_536).map((byte) => byte & 0x7f);
  upstream.answer = (socket) => {
    socket.write(streamHead());
    socket.write(audioOf(random, 5));
    const more = () => {
      if (!socket.destroyed) socket.write(garbage, more);
    };
    more();
  };
  const { tap, source } = setUp(t, upstream, { retryMinMs: 60_000, retryMaxMs: 60_000 });
  source.start();
  await until(() => tap.losses.length === 1, 5000);
  t.match(tap.losses[0], /no MP3, AAC or Ogg audio/);
  await until(() => upstream.openSockets === 0, 2000);
});

t.test('stop leaves no socket and delivers nothing more, in every state; start may follow', async (t) => {
  const upstream = await Upstream.open(t);
  const audio = audioOf(new Random(), 600);
  const stream = Buffer.concat([
    Buffer.from(streamHead(2000)),
    icyBody(audio, 2000, new Map([[3, "StreamTitle='x';"]])),
  ]);
  let commit = () => {};
  const states: [
    string,
    Partial<PullOptions>,
    (tap: Tap, socket: net.Socket) => void,
    (tap: Tap, source: PullSource) => Promise<unknown>,
  ][] = [
    ['connecting', {}, () => undefined, async () => undefined],
    ['connected', {}, () => undefined, () => until(() => upstream.openSockets > 0, 2000)],
    ['asked', {}, () => undefined, () => until(() => upstream.requestHeads.length > 0, 2000)],
    ['up', {}, (_, socket) => void socket.write(stream), (tap) => until(() => tap.audioBytes > 100_000, 2000)],
    [
      'up and silent',
      {},
      (_, socket) => void socket.write(streamHead()),
      (_, source) => until(() => source.state === 'up', 2000),
    ],
    [
      'ahead',
      { aheadMs: 500 },
      (_, socket) => void socket.write(stream),
      (tap) => until(() => tap.audioMs > 500, 2000),
    ],
    [
      'title under way',
      {},
      (tap, socket) => {
        tap.hold = () => new Promise((done) => (commit = done));
        socket.write(stream);
      },
      (tap) => until(() => tap.titles.length === 1, 2000),
    ],
    [
      'refused',
      {},
      (_, socket) => void socket.write('HTTP/1.1 500 No\r\n\r\n'),
      (tap) => until(() => tap.losses.length > 0, 2000),
    ],
    [
      'backing off',
      { retryMinMs: 150, retryMaxMs: 150 },
      (_, socket) => socket.destroy(),
      (tap) => until(() => tap.losses.length > 0, 2000),
    ],
  ];
  for (const [name, options, answer, reached] of states) {
    upstream.sockets.length = 0;
    upstream.requestHeads.length = 0;
    const { tap, source } = setUp(t, upstream, options);
    upstream.answer = (socket) => answer(tap, socket);
    source.start();
    source.start();
    await reached(tap, source);
    source.stop();
    source.stop();
    t.equal(source.state, 'idle', name);
    const [bytes, losses] = [tap.audioBytes, tap.losses.length];
    commit();
    await until(
      () => upstream.openSockets === 0,
      2000,
      () => `${name}: a socket`,
    );
    const sockets = upstream.sockets.length;
    // Longer than any pause before another try.
    await quietFor(200);
    t.strictSame([tap.audioBytes, tap.losses.length, upstream.sockets.length], [bytes, losses, sockets], name);
    upstream.answer = (socket) => void socket.write(Buffer.concat([Buffer.from(streamHead()), audio]));
    source.start();
    await until(
      () => tap.audioBytes > bytes,
      2000,
      () => `${name}: does not start again`,
    );
    source.stop();
  }
});
