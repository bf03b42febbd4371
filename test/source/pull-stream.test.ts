/** What a pulled stream brings, held against what was sent: its audio byte for byte, each title where the upstream had it. */

import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { pause, quietFor } from '../kit/pause.js';
import { Random } from '../kit/random.js';
import { until } from '../kit/until.js';
import { audioOf, FRAME_BYTES, icyBody, setUp, streamHead, Upstream } from '../kit/upstream.js';

// They wait more than they compute.
t.jobs = 5;

t.test('over sockets in random chunks: audio byte-exact, each title where the upstream had it', async (t) => {
  const random = new Random();
  const upstream = await Upstream.open(t);
  for (let round = 0; round < 6; round++) {
    const metaint = [1, 100, 417, 834, 3000, 16_000][round]!;
    const audio = audioOf(random, metaint === 1 ? 10 : 120);
    const blocks = Math.floor(audio.length / metaint);
    const places = new Set(Array.from({ length: 8 }, () => random.int(0, blocks - 1)));
    const texts = new Map([...places].sort((a, b) => a - b).map((i) => [i, `StreamTitle='Title ${i}';`]));
    const body = icyBody(audio, metaint, texts);
    upstream.answer = async (socket) => {
      socket.write(streamHead(metaint));
      for (let at = 0; at < body.length; ) {
        const length = random.chance(0.3) ? random.int(1, 5) : random.int(1, 3000);
        socket.write(body.subarray(at, at + length));
        at += length;
        if (random.chance(0.5)) await turn();
      }
    };
    const { tap, source } = setUp(t, upstream);
    tap.hold = () => (random.chance(0.5) ? Promise.resolve() : pause(random.int(0, 3)));
    source.start();
    await until(() => tap.audioBytes === audio.length, 5000);
    source.stop();
    t.ok(tap.bytes.equals(audio), `metaint ${metaint}, seed ${random.seed}`);
    const expected = [...texts.keys()].map((i) => ({
      line: `Title ${i}`,
      // whole frames only: the one that the block stands in comes behind the title
      atByte: Math.floor(((i + 1) * metaint) / FRAME_BYTES) * FRAME_BYTES,
    }));
    // before the second frame's head has come nothing is known to be audio
    const sure = (title: { atByte: number }) => title.atByte >= 2 * FRAME_BYTES;
    t.strictSame(tap.titles.filter(sure), expected.filter(sure), `metaint ${metaint}, seed ${random.seed}`);
    t.equal(tap.titles.length, expected.length);
  }
  t.match(upstream.requestHeads[0], /^GET \/live HTTP\/1.1\r\n/);
  t.match(upstream.requestHeads[0], /^icy-metadata: 1\r$/im);
});

t.test('audio behind a title waits until the title is committed, however much comes meanwhile', async (t) => {
  const random = new Random();
  const upstream = await Upstream.open(t);
  const audio = audioOf(random, 400);
  const texts = new Map([
    [1, "StreamTitle='slow';"],
    [3, "StreamTitle='slow too';"],
  ]);
  upstream.answer = (socket) => {
    socket.write(streamHead(20_000));
    socket.end(icyBody(audio, 20_000, texts));
  };
  const { tap, source } = setUp(t, upstream, { retryMinMs: 60_000, retryMaxMs: 60_000 });
  const commits: (() => void)[] = [];
  tap.hold = () => new Promise((commit) => commits.push(commit));
  source.start();
  for (const [i, atByte] of [40_000, 80_000].entries()) {
    await until(() => commits.length === i + 1, 2000);
    await quietFor(50);
    t.equal(tap.audioBytes, Math.floor(atByte / FRAME_BYTES) * FRAME_BYTES);
    t.equal(tap.titles.length, i + 1);
    t.strictSame(tap.losses, [], 'the end of the stream is behind the title too');
    commits[i]!();
  }
  await until(() => tap.losses.length === 1, 2000);
  t.ok(tap.bytes.equals(audio), `seed ${random.seed}`);
});

t.test('charsets: UTF-8, and Latin-1 or Windows-1252 where it is not', async (t) => {
  const upstream = await Upstream.open(t);
  const latin = (text: string) => Buffer.from(`StreamTitle='${text}';`, 'latin1');
  const texts = new Map<number, string | Buffer>([
    [0, "StreamTitle='Bj\u00f6rk \u2013 J\u00f3ga \u65e5\u672c';"],
    [1, latin('Bj\u00f6rk - J\u00f3ga')],
    [2, latin('Don\x92t \x80')],
    [3, "StreamTitle='Don't; 'stop'';"],
  ]);
  upstream.answer = (socket) =>
    socket.write(Buffer.concat([Buffer.from(streamHead(1000)), icyBody(audioOf(new Random(), 20), 1000, texts)]));
  const { tap, source } = setUp(t, upstream);
  source.start();
  await until(
    () => tap.titles.length === 4,
    2000,
    () => JSON.stringify(tap.titles),
  );
  t.strictSame(
    tap.titles.map(({ line }) => line),
    ['Bj\u00f6rk \u2013 J\u00f3ga \u65e5\u672c', 'Bj\u00f6rk - J\u00f3ga', 'Don\u2019t \u20ac', "Don't; 'stop'"],
  );
});

t.test('without icy-metaint every byte is audio; tags and a partial frame in front are not', async (t) => {
  const random = new Random();
  const upstream = await Upstream.open(t);
  const audio = audioOf(random, 50);
  upstream.answer = (socket) => {
    socket.write(streamHead());
    socket.write(audio.subarray(100));
  };
  const { tap, source } = setUp(t, upstream);
  t.strictSame([source.state, source.contentType], ['idle', undefined]);
  source.start();
  t.equal(source.state, 'starting');
  await until(() => tap.audioBytes === audio.length - FRAME_BYTES, 2000);
  t.ok(tap.bytes.equals(audio.subarray(FRAME_BYTES)), `seed ${random.seed}`);
  t.strictSame([source.state, source.contentType, tap.titles], ['up', 'audio/mpeg', []]);
});
