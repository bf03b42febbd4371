/**
 * Pulled streams against real upstream servers on loopback: bare sockets whose answer each test sets. What is passed on is held
 * against what was sent, byte for byte, and each title against the place where the upstream had it, also as a Player sees it.
 */

import net from 'node:net';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { PullOptions } from '../../src/source/pull.js';
import { IcyStripper } from '../../src/source/strip.js';
import { FakeClock } from '../kit/clock.js';
import { LoopDelay } from '../kit/loop-delay.js';
import { Player, until } from '../kit/player.js';
import { Random } from '../kit/random.js';
import { startServer } from '../kit/server.js';
import { audioOf, FRAME_BYTES, icyBody, setUp, streamHead, type Tap, Upstream } from '../kit/upstream.js';

// They wait more than they compute.
t.jobs = 5;

t.test('blocks are taken out whatever the split: at every byte', async (t) => {
  const random = new Random();
  const audio = audioOf(random, 4);
  const texts = new Map([
    [0, "StreamTitle='One';"],
    [2, "StreamTitle='';StreamUrl='http://x/';"],
    [5, "StreamTitle='It's \u00e9';"],
    [6, "StreamUrl='no title';"],
  ]);
  const body = icyBody(audio, 200, texts);
  for (let split = 0; split <= body.length; split++) {
    const stripper = new IcyStripper(200);
    const parts: Buffer[] = [];
    const titles: [string, number][] = [];
    for (const chunk of [body.subarray(0, split), body.subarray(split)]) {
      for (const piece of stripper.pieces(chunk)) {
        if (piece.audio !== undefined) parts.push(Buffer.from(piece.audio));
        if (piece.title !== undefined) titles.push([piece.title, Buffer.concat(parts).length]);
      }
    }
    const expected = [
      ['One', 200],
      ['', 600],
      ["It's \u00e9", 1200],
    ];
    if (!Buffer.concat(parts).equals(audio)) t.fail(`split at ${split}, seed ${random.seed}: audio`);
    if (JSON.stringify(titles) !== JSON.stringify(expected)) t.fail(`split at ${split}: ${JSON.stringify(titles)}`);
  }
  t.pass(`${body.length} splits`);
});

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
    tap.hold = () => (random.chance(0.5) ? Promise.resolve() : sleep(random.int(0, 3)));
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
  t.match(upstream.heads[0], /^GET \/live HTTP\/1.1\r\n/);
  t.match(upstream.heads[0], /^icy-metadata: 1\r$/im);
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
    await sleep(150);
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
  t.strictSame([first.heads.length, second.heads.length, tap.titles[0]?.line], [2, 1, 'there']);
  t.match(second.heads[0], /^icy-metadata: 1\r$/im, 'asks there too');
  source.stop();

  first.answer = (socket) => socket.end(`HTTP/1.1 302 Found\r\nLocation: /live\r\nContent-Length: 0\r\n\r\n`);
  const lost = setUp(t, first, { retryMinMs: 60_000, retryMaxMs: 60_000 });
  lost.source.start();
  await until(() => lost.tap.losses.length === 1, 3000);
  t.ok(first.heads.length <= 10);
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
    /** Waits for the loss, then moves the clock until the next try; returns the pause. */
    const pause = async () => {
      const [losses, tries, fromMs] = [tap.losses.length, triesMs.length, clock.now()];
      await until(() => tap.losses.length > losses || tap.losses.length === triesMs.length, 2000);
      t.equal(source.state, 'starting');
      for (let i = 0; i < 500 && triesMs.length === tries; i++) {
        clock.advance(20);
        await sleep(1);
      }
      await until(() => tap.losses.length === tries + 1, 2000);
      return triesMs[tries]! - fromMs;
    };
    await until(() => tap.losses.length === 1, 2000);
    t.match(tap.losses[0], /404/);
    const shares: number[] = [];
    for (const ceilingMs of [1000, 2000, ...Array<number>(8).fill(4000)]) {
      const ms = await pause();
      if (ceilingMs === 4000) shares.push(ms / ceilingMs);
      // the clock goes by 20 ms, and the try is seen some steps late
      t.ok(ms >= ceilingMs / 2 && ms <= ceilingMs + 500, `${ms} ms, ceiling ${ceilingMs}`);
    }
    t.ok(Math.max(...shares) - Math.min(...shares) > 0.03, `jitter: ${shares}`);
    good = true;
    await pause();
    t.equal(tap.audioBytes, 10 * FRAME_BYTES);
    t.ok((await pause()) >= 2000, 'a bit of audio, again and again, is no reason to come back sooner');
    stays = true;
    while (triesMs.length === tap.losses.length) {
      clock.advance(20);
      await sleep(1);
    }
    await until(() => tap.audioBytes === 30 * FRAME_BYTES, 2000);
    clock.advance(4000);
    good = stays = false;
    upstream.sockets.at(-1)!.end();
    await until(() => tap.losses.length === triesMs.length, 2000);
    t.ok((await pause()) <= 1500, 'from retryMin again');
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
    const ending = endings[upstream.heads.length - 1];
    socket.write(stream, () => void sleep(50).then(() => ending?.(socket)));
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
  t.equal(upstream.heads.length, 5);
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
  const { tap, source } = setUp(t, upstream, { aheadMs: 2000, stallMs: 1000 });
  const late = new LoopDelay(t);
  source.start();
  await until(() => tap.audioBytes > 0, 2000);
  const startMs = performance.now();
  await until(() => tap.audioMs > 1900, 2000);
  tap.longestGapMs = 0;
  await sleep(2500);
  const aheadMs = tap.audioMs - (performance.now() - startMs);
  t.ok(aheadMs > 1800 - late.totalMs && aheadMs < 2200 + late.totalMs, `${aheadMs} ms ahead`);
  t.ok(tap.longestGapMs < 400 + late.totalMs, `longest gap ${tap.longestGapMs} ms: no stall for the switch`);
  t.strictSame(tap.losses, [], 'being held back is no stall of the upstream');
  t.ok(audio.subarray(0, tap.audioBytes).equals(tap.bytes), `seed ${random.seed}`);
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
  const states: [
    string,
    Partial<PullOptions>,
    (tap: Tap, socket: net.Socket) => void,
    (tap: Tap) => Promise<unknown>,
  ][] = [
    ['connecting', {}, () => undefined, async () => undefined],
    ['connected', {}, () => undefined, () => until(() => upstream.openSockets > 0, 2000)],
    ['asked', {}, () => undefined, () => until(() => upstream.heads.length > 0, 2000)],
    ['up', {}, (_, socket) => void socket.write(stream), (tap) => until(() => tap.audioBytes > 100_000, 2000)],
    ['up and silent', {}, (_, socket) => void socket.write(streamHead()), () => sleep(100)],
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
        tap.hold = () => sleep(100);
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
      { retryMinMs: 300, retryMaxMs: 300 },
      (_, socket) => socket.destroy(),
      (tap) => until(() => tap.losses.length > 0, 2000),
    ],
  ];
  for (const [name, options, answer, reached] of states) {
    upstream.sockets.length = 0;
    upstream.heads.length = 0;
    const { tap, source } = setUp(t, upstream, options);
    upstream.answer = (socket) => answer(tap, socket);
    source.start();
    source.start();
    await reached(tap);
    source.stop();
    source.stop();
    t.equal(source.state, 'idle', name);
    const [bytes, losses] = [tap.audioBytes, tap.losses.length];
    await sleep(250);
    t.equal(upstream.openSockets, 0, `${name}: no socket`);
    const sockets = upstream.sockets.length;
    await sleep(100);
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

/** A channel `relay` that pulls from here. */
const relayYaml = (url: string, options = '', rest = '') => `
addresses: [{ host: 127.0.0.1, port: 0 }]
streams: { startTimeoutSeconds: 1, lagSeconds: 60 }
sources: { aheadSeconds: 60, stallMs: 20000 }
${rest}
stations:
  demo:
    channels:
      relay:
        mounts: [/relay.mp3]
        metaint: 8000
        pushTokens: [relay-token]
        sources: [{ type: pull, url: '${url}', retrySeconds: { min: 0.1, max: 0.2 }${options} }]
`;

const now = async (base: string) =>
  (await fetch(`${base}/metadata/channel/relay.json`)).json() as Promise<Record<string, unknown>>;

t.test('through a Player: the first block that closes after the title’s place carries it', async (t) => {
  const random = new Random();
  const upstream = await Upstream.open(t);
  const audio = audioOf(random, 1000);
  const metaint = 700;
  const blocks = Math.floor(audio.length / metaint);
  const texts = new Map<number, string>();
  for (let i = 100; i < blocks; i += random.int(1, 20)) texts.set(i, `StreamTitle='Artist - Song ${i}';`);
  const body = icyBody(audio, metaint, texts);
  const first = 40_000;
  upstream.answer = (socket) => {
    socket.write(Buffer.concat([Buffer.from(streamHead(metaint)), body.subarray(0, first)]));
  };
  const server = await startServer(t, relayYaml(upstream.url, ', onDemand: true'));
  t.equal(upstream.sockets.length, 0);
  const player = new Player(server.port, '/relay.mp3', { keep: true });
  t.teardown(() => player.close());
  await player.until(() => player.audioBytes > 30_000);
  for (let at = first; at < body.length; ) {
    const length = random.int(1, 4000);
    upstream.sockets[0]!.write(body.subarray(at, at + length));
    at += length;
    if (random.chance(0.3)) await turn();
  }
  await player.until(() => player.audioBytes >= audio.length - 8000);
  t.ok(player.audio.equals(audio.subarray(0, player.audioBytes)), `byte-exact, seed ${random.seed}`);
  // Where each title lay on our tape: at the end of the last whole frame before its place.
  const marks = [...texts.keys()].map((i) => ({
    title: `Artist - Song ${i}`,
    atByte: Math.floor(((i + 1) * metaint) / FRAME_BYTES) * FRAME_BYTES,
  }));
  const expected: { title: string; atByte: number }[] = [];
  for (let atByte = 8000; atByte <= player.audioBytes; atByte += 8000) {
    const mark = marks.findLast((candidate) => candidate.atByte < atByte);
    if (mark !== undefined && mark.title !== expected.at(-1)?.title) expected.push({ title: mark.title, atByte });
  }
  const seen = player.titles.map(({ title, atByte }) => ({ title, atByte }));
  t.strictSame(seen, expected, `seed ${random.seed}`);
  t.ok(expected.length > 20);
});

/** A server that gets titles in two ways. */
async function titled(t: Test, yaml: (url: string) => string) {
  const upstream = await Upstream.open(t);
  const random = new Random();
  upstream.answer = (to) => void to.write(streamHead(1000));
  const { base } = await startServer(t, yaml(upstream.url));
  await until(() => upstream.heads.length === 1, 2000);
  /** A second of audio in pieces of metaint, whole frames of it, and this title at its first block. */
  const say = (title: string) => {
    const audio = audioOf(random, 1000);
    const body = icyBody(audio.subarray(0, 40_000), 1000, new Map([[0, `StreamTitle='${title}';`]]));
    upstream.sockets[0]!.write(body);
  };
  const rawdata = async () => {
    const response = await fetch(`${base}/metadata/channel/relay.json`);
    if (response.status !== 200) return response.status;
    const record = (await response.json()) as Record<string, unknown>;
    return `${record['rawdata']} (${record['source']})`;
  };
  const push = async (query: string) => (await fetch(`${base}/metapush/relay/relay-token?${query}`)).status;
  const settles = async (expected: unknown) => {
    const endMs = performance.now() + 10_000;
    while ((await rawdata()) !== expected && performance.now() < endMs) await sleep(20);
    t.equal(await rawdata(), expected);
  };
  return { base, say, rawdata, push, settles };
}

t.test('titles: upstream’s where nothing was pushed; a push silences them for its time', async (t) => {
  const yaml = (url: string) => relayYaml(url, '', 'titles: { graceSeconds: 0.5 }');
  const { base, say, rawdata, push, settles } = await titled(t, yaml);
  t.equal(await rawdata(), 204);
  say('A - One');
  await settles('A - One (upstream)');
  const one = await now(base);
  t.strictSame([one['artist'], one['song'], one['duration'], one['type']], ['A', 'One', 0, 'now']);
  say('A - Two');
  await settles('A - Two (upstream)');
  t.equal(await push('artist=P&song=Pushed&duration=2'), 200);
  t.equal(await rawdata(), 'P - Pushed (metapush)');
  say('A - Three');
  await sleep(300);
  t.equal(await rawdata(), 'P - Pushed (metapush)', 'while it lasts');
  await settles('A - Three (upstream)');
  say('A - Four');
  await settles('A - Four (upstream)');
});

t.test('an upstream that has fallen silent does not end a push', async (t) => {
  // It falls silent long before the push would give way.
  const yaml = (url: string) =>
    relayYaml(url, '', 'titles: { pushHoldSeconds: 3 }').replace('stallMs: 20000', 'stallMs: 500, pieceSeconds: 0.1');
  const { base, say, rawdata, push, settles } = await titled(t, yaml);
  say('A - Four');
  await settles('A - Four (upstream)');
  const pushedMs = performance.now();
  t.equal(await push('song=Without'), 200);
  say('A - Five');
  await sleep(800);
  await until(
    async () => /^airsplice_source_heard\{.*\} 0$/m.test(await (await fetch(`${base}/metrics`)).text()),
    2000,
    () => 'still heard',
  );
  t.equal(await rawdata(), 'Without (metapush)');
  await sleep(pushedMs + 3700 - performance.now());
  t.equal(await rawdata(), 'Without (metapush)', 'the upstream has fallen silent meanwhile');
  say('A - Six');
  await settles('A - Six (upstream)');
});

t.test('the title of an upstream that was only a spare is in force once it is on air', async (t) => {
  const upstream = await Upstream.open(t);
  const audio = audioOf(new Random(), 2000);
  upstream.answer = async (socket) => {
    socket.write(streamHead(1000));
    const body = icyBody(audio, 1000, new Map([[0, "StreamTitle='Spare - Title';"]]));
    for (let at = 0; at < body.length && !socket.destroyed; at += 4000) {
      socket.write(body.subarray(at, at + 4000));
      await sleep(250);
    }
  };
  const yaml = relayYaml(upstream.url).replace(
    'sources: [{ type: pull',
    'sources: [{ type: encoder, password: demo-source }, { type: pull',
  );
  const server = await startServer(t, yaml);
  const encoder = net.connect(server.port, '127.0.0.1');
  encoder.on('error', () => undefined);
  const basic = Buffer.from('source:demo-source').toString('base64');
  encoder.write(`PUT /relay.mp3 HTTP/1.0\r\nAuthorization: Basic ${basic}\r\nContent-Type: audio/mpeg\r\n\r\n`);
  encoder.write(audioOf(new Random(), 20));
  const player = new Player(server.port, '/relay.mp3');
  t.teardown(() => player.close());
  encoder.write(audioOf(new Random(), 100));
  await player.until(() => player.audioBytes > 0);
  const timer = setInterval(() => encoder.write(audioOf(new Random(), 4)), 100);
  await sleep(700);
  encoder.destroy();
  clearInterval(timer);
  await until(() => player.titles.at(-1)?.title === 'Spare - Title', 3000);
  t.equal((await now(server.base))['rawdata'], 'Spare - Title');
});

t.test('titles with entities and en dashes, as Icecast relays them in Latin-1', async (t) => {
  // Entities are read once: what they spell is text.
  const TITLE = 'Björk – Jóga & R&B &lt;';
  const upstream = await Upstream.open(t);
  const line = Buffer.from("StreamTitle='Bj\xf6rk &#8211; J\xf3ga &amp; R&B &amp;lt;';", 'latin1');
  const body = icyBody(audioOf(new Random(), 400), 1000, new Map([[0, line]]));
  upstream.answer = (socket) => void socket.write(Buffer.concat([Buffer.from(streamHead(1000)), body]));
  const server = await startServer(t, relayYaml(upstream.url));
  const player = new Player(server.port, '/relay.mp3');
  t.teardown(() => player.close());
  await player.until((one) => one.titles.at(-1)?.title === TITLE, 5000);
  const expected = { artist: 'Björk', song: 'Jóga & R&B &lt;', separator: ' – ', rawdata: TITLE };
  t.match(await now(server.base), expected, 'the line stays as it came');
});

t.test('on demand: 503 with Retry-After when the upstream never answers; connected only while asked for', async (t) => {
  const upstream = await Upstream.open(t);
  const server = await startServer(t, relayYaml(upstream.url, ', onDemand: true, lingerSeconds: 0.5'));
  const late = new LoopDelay(t);
  const startMs = performance.now();
  const early = new Player(server.port, '/relay.mp3');
  await early.until(() => early.status !== 0);
  const tookMs = performance.now() - startMs;
  t.strictSame([early.status, early.heads.get('retry-after')], [503, '5']);
  t.ok(tookMs >= 990 && tookMs < 1400 + late.totalMs, `after ${tookMs} ms`);
  t.equal(upstream.sockets.length, 1);
  await until(
    () => upstream.openSockets === 0,
    2000,
    () => 'after the linger',
  );
  early.close();

  const audio = audioOf(new Random(), 400);
  upstream.answer = (socket) => void socket.write(Buffer.concat([Buffer.from(streamHead()), audio]));
  const players = [1, 2, 3].map(() => new Player(server.port, '/relay.mp3'));
  for (const player of players) await player.until(() => player.audioBytes > 40_000, 3000);
  t.equal(upstream.sockets.length, 2, 'one connection for all');
  for (const player of players) player.close();
  await sleep(300);
  t.equal(upstream.openSockets, 1, 'lingers');
  await until(() => upstream.openSockets === 0, 1000);
  await server.app.stop();
  await sleep(100);
  t.equal(upstream.sockets.length, 2);
});

t.test('stopping the server leaves no socket to an upstream', async (t) => {
  const upstream = await Upstream.open(t);
  upstream.answer = (socket) =>
    void socket.write(Buffer.concat([Buffer.from(streamHead()), audioOf(new Random(), 50)]));
  const server = await startServer(t, relayYaml(upstream.url));
  await until(() => upstream.heads.length === 1, 2000);
  await sleep(50);
  await server.app.stop();
  await until(() => upstream.openSockets === 0, 500);
  await sleep(500);
  t.equal(upstream.sockets.length, 1);
});

t.test('an upstream that comes back does not bring back old audio', async (t) => {
  const upstream = await Upstream.open(t);
  const random = new Random();
  const [old, fresh] = [audioOf(random, 200), audioOf(random, 200)];
  upstream.answer = (socket) => void socket.end(Buffer.concat([Buffer.from(streamHead()), old]));
  const server = await startServer(
    t,
    relayYaml(upstream.url).replace('startTimeoutSeconds: 1', 'startTimeoutSeconds: 30, silenceSeconds: 1'),
  );
  await until(() => upstream.heads.length === 1, 2000);
  upstream.answer = (socket) => socket.destroy();
  await sleep(100);
  // A listener that waits all the time must not get the tape of before.
  const player = new Player(server.port, '/relay.mp3', { keep: true });
  t.teardown(() => player.close());
  await sleep(2500);
  upstream.answer = (socket) => void socket.write(Buffer.concat([Buffer.from(streamHead()), fresh]));
  await until(
    () => player.closed || player.audioBytes > 60_000,
    3000,
    () => `${player.audioBytes} bytes`,
  );
  const fresher = fresh.subarray(0, player.audioBytes).equals(player.audio);
  t.ok(fresher, 'the first byte is fresh audio');
});
