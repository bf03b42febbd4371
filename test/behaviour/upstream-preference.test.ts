/**
 * Several URLs of one pulled source: which is requested when, the way back to a better one without a gap, and what is reported.
 * Upstreams send their audio in real time, each of its own kind, so that the audio itself says where it is from.
 */

import type net from 'node:net';
import t, { type Test } from 'tap';
import { TRIAL_MS } from '../../src/source/pull-source.js';
import { bestOfThree } from '../kit/best-of-three.js';
import { FakeClock } from '../kit/clock.js';
import { LoopDelay } from '../kit/loop-delay.js';
import { quietFor } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { Random } from '../kit/random.js';
import { atOnce, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { audioOf, FRAME_BYTES, icyBody, setUp, streamHead, type Tap, Upstream } from '../kit/upstream.js';
import { arrived } from '../kit/wire.js';

t.jobs = atOnce(4);

const FRAME_MS = 26.122;

/** An upstream whose frames carry its number, 40 frames to begin with and then as time goes on. */
class Station {
  readonly #number: number;
  readonly upstream: Upstream;
  readonly #timer: NodeJS.Timeout;
  readonly #titled: boolean;
  /** How much it sends at once; 0: it answers 503. */
  burst = 0;
  /** Ends the connection when the burst is sent. */
  ends = false;
  #on = new Set<net.Socket>();

  private constructor(t: Test, upstream: Upstream, number: number, titled: boolean) {
    this.upstream = upstream;
    this.#number = number;
    this.#titled = titled;
    upstream.answer = (socket) => this.#answer(socket);
    this.#timer = setInterval(() => {
      for (const socket of this.#on) socket.write(this.audio(2));
    }, 2 * FRAME_MS);
    t.teardown(() => clearInterval(this.#timer));
  }

  static async open(t: Test, number: number, titled = false): Promise<Station> {
    return new Station(t, await Upstream.open(t), number, titled);
  }

  get url(): string {
    return this.upstream.url;
  }

  get tries(): number {
    return this.upstream.requestHeads.length;
  }

  drop(): void {
    this.burst = 0;
    for (const socket of this.#on) socket.destroy();
    this.#on.clear();
  }

  #answer(socket: net.Socket): void {
    if (this.burst === 0) {
      socket.end('HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    const metaint = this.#titled ? 20 * FRAME_BYTES : 0;
    const texts = new Map([[0, `StreamTitle='Station ${this.#number}';`]]);
    const audio = this.audio(this.burst);
    socket.write(
      Buffer.concat([Buffer.from(streamHead(metaint)), metaint > 0 ? icyBody(audio, metaint, texts) : audio]),
    );
    if (this.ends) socket.end();
    else if (!this.#titled) this.#on.add(socket);
    socket.on('close', () => this.#on.delete(socket));
  }

  audio(frames: number): Buffer {
    const audio = audioOf(new Random(1), frames);
    for (let i = 0; i < frames; i++) audio.fill(this.#number, i * FRAME_BYTES + 6, (i + 1) * FRAME_BYTES);
    return audio;
  }
}

/** From which stations the frames came, in order: `1 1 1 2` is [[1, 3], [2, 1]]. */
function runs(tap: Tap): [number, number][] {
  const found: [number, number][] = [];
  for (const frame of tap.parts) {
    const number = frame[100]!;
    if (found.at(-1)?.[0] === number) found.at(-1)![1]++;
    else found.push([number, 1]);
  }
  return found;
}
const order = (tap: Tap) => runs(tap).map(([number]) => number);

t.test('the first that delivers plays; no pause and no loss between two URLs', async (t) => {
  const stations = [await Station.open(t, 1), await Station.open(t, 2), await Station.open(t, 3)];
  stations[2]!.burst = 10;
  const reported: string[] = [];
  const { tap, source } = setUp(t, stations, {
    retryMinMs: 60_000,
    retryMaxMs: 60_000,
    onPlaying: (index) => reported.push(`${index} plays`),
    onFailed: (index, reason) => reported.push(`${index} ${reason}`),
  });
  source.start();
  await until(() => tap.parts.length > 20, 5000);
  t.strictSame(reported, ['0 the upstream answered 503', '1 the upstream answered 503', '2 plays']);
  t.strictSame([order(tap), tap.losses, source.state], [[3], [], 'up']);
});

t.test('a round: one after the other, then a pause that grows; reported once, not every time', async (t) => {
  const stations = [await Station.open(t, 1), await Station.open(t, 2)];
  const clock = new FakeClock();
  const reported: string[] = [];
  const { tap, source } = setUp(
    t,
    stations,
    { retryMinMs: 1000, retryMaxMs: 4000, onFailed: (index, reason) => reported.push(`${index} ${reason}`) },
    clock,
  );
  source.start();
  for (const [round, ceilingMs] of [1000, 2000, 4000, 4000].entries()) {
    await until(() => tap.losses.length === round + 1, 5000);
    t.strictSame(
      stations.map(({ tries }) => tries),
      [round + 1, round + 1],
    );
    clock.advance(ceilingMs / 2 - 80);
    await quietFor(30);
    t.strictSame(
      stations.map(({ tries }) => tries),
      [round + 1, round + 1],
      'not yet',
    );
    clock.advance(ceilingMs / 2 + 160);
  }
  t.strictSame(reported, ['0 the upstream answered 503', '1 the upstream answered 503']);
});

t.test(
  'the next URL steps in when one is lost; the better one is tried meanwhile and takes over without a gap',
  async (t) => {
    const gapMs = await bestOfThree(400, () => thereAndBack(t));
    t.ok(gapMs < 400, `longest gap ${gapMs} ms`);
  },
);

/** @returns the longest gap on the way back, in ms, without this process's own delays */
async function thereAndBack(t: Test): Promise<number> {
  const [best, second] = [await Station.open(t, 1), await Station.open(t, 2)];
  best.burst = second.burst = 40;
  const reported: string[] = [];
  const { tap, source } = setUp(t, [best, second], {
    returnMs: 400,
    aheadMs: 3000,
    onPlaying: (index) => reported.push(`${index}`),
  });
  source.start();
  await until(() => tap.parts.length > 60, 5000);
  best.drop();
  await until(() => order(tap).length === 2, 5000);
  const late = new LoopDelay(t);
  const triesBefore = best.tries;
  await until(() => best.tries >= triesBefore + 3, 5000);
  t.strictSame(order(tap), [1, 2], 'while it is away the second plays on');
  t.equal(second.tries, 1);
  tap.longestGapMs = 0;
  best.burst = 45;
  await until(() => order(tap).length === 3, 5000);
  await until(() => second.upstream.openSockets === 0, 2000);
  await until(() => runs(tap)[2]![1] > 30, 5000);
  t.strictSame([order(tap), tap.losses, reported], [[1, 2, 1], [], ['0', '1', '0']]);
  const gapMs = tap.longestGapMs - late.totalMs;
  const tries = best.tries;
  await quietFor(600);
  t.strictSame([best.tries, second.tries], [tries, 1], 'nothing is better than the best');
  return gapMs;
}

t.test('a better one must deliver for a while: one that ends at once interrupts nothing', async (t) => {
  const [best, second] = [await Station.open(t, 1), await Station.open(t, 2)];
  second.burst = 40;
  const { tap, source } = setUp(t, [best, second], { returnMs: 200 });
  source.start();
  await until(() => tap.parts.length > 10, 5000);
  best.burst = Math.floor(TRIAL_MS / FRAME_MS) - 1; // the last frame of all waits for the one behind it, too
  best.ends = true;
  const tries = best.tries;
  await until(() => best.tries >= tries + 4, 8000);
  t.strictSame(order(tap), [2]);
  best.burst += 3;
  await until(() => order(tap).length > 1, 5000);
  t.equal(order(tap)[1], 1, 'one frame more than that and it takes over');
});

t.test('of several better ones each is tried, in order', async (t) => {
  const stations = [await Station.open(t, 1), await Station.open(t, 2), await Station.open(t, 3)];
  stations[2]!.burst = 40;
  const { tap, source } = setUp(t, stations, { returnMs: 200 });
  source.start();
  await until(() => tap.parts.length > 10, 5000);
  stations[1]!.burst = 45;
  await until(() => order(tap).length === 2, 5000);
  stations[0]!.burst = 45;
  await until(() => order(tap).length === 3, 5000);
  t.strictSame([order(tap), tap.losses], [[3, 2, 1], []]);
  const [third, second] = runs(tap).map(([, frames]) => frames) as [number, number];
  t.strictSame(tap.freshAt, [0, third, third + second], 'and what each sends has nothing to do with the last');
});

t.test('the one that is being tried is not tried twice when the other is lost', async (t) => {
  const [best, second] = [await Station.open(t, 1), await Station.open(t, 2)];
  second.burst = 40;
  const { tap, source } = setUp(t, [best, second], { returnMs: 200, retryMinMs: 60_000, retryMaxMs: 60_000 });
  source.start();
  await until(() => tap.parts.length > 10, 5000);
  let held!: net.Socket;
  best.upstream.answer = (socket) => {
    held = socket;
  };
  await until(() => held !== undefined, 5000);
  const tries = best.tries;
  second.drop();
  await quietFor(250);
  t.strictSame([tap.losses, best.tries, source.state], [[], tries, 'starting']);
  held.write(Buffer.concat([Buffer.from(streamHead()), best.audio(10)]));
  await until(() => order(tap).length === 2, 5000);
  t.strictSame([tap.losses, best.tries, source.state], [[], tries, 'up']);
  held.destroy();
  await until(() => tap.losses.length === 1, 5000);
  t.equal(second.tries, 2, 'it was asked once more before the round was over');
});

/** Two stations with titles, the second one on air, the better one's title being committed. */
async function whileTaking(t: Test) {
  const [best, second] = [await Station.open(t, 1, true), await Station.open(t, 2, true)];
  second.burst = 40;
  const { tap, source } = setUp(t, [best, second], { returnMs: 200 });
  source.start();
  await until(() => tap.parts.length > 20, 5000);
  best.burst = 100;
  const commits: (() => void)[] = [];
  tap.hold = () => new Promise((commit) => commits.push(commit));
  await until(() => commits.length === 1, 5000);
  return { best, second, tap, source, commits, lines: () => tap.titles.map(({ line }) => line) };
}

t.test(
  'the title of a better one is in force when it is heard, and no title of the other’s comes after it',
  async (t) => {
    const { best, second, tap, commits, lines } = await whileTaking(t);
    const late = icyBody(second.audio(20), 20 * FRAME_BYTES, new Map([[0, "StreamTitle='Late';"]]));
    const { length } = tap.parts;
    second.upstream.sockets[0]!.write(Buffer.concat([late, second.audio(5)]));
    await until(() => tap.parts.length > length + 22, 5000);
    t.strictSame(order(tap), [2], 'not heard before its title is committed');
    commits[0]!();
    // What it sent at once was not on air; what it sends from here on is.
    const socket = best.upstream.sockets.at(-1)!;
    socket.write(Buffer.concat([best.audio(20), Buffer.from([0])]));
    await until(() => order(tap).length === 2, 5000);
    t.strictSame(lines(), ['Station 2', 'Station 1']);
    t.ok(tap.titles[1]!.atByte <= runs(tap)[0]![1] * FRAME_BYTES);
  },
);

t.test('a title that a better one sends while the one before is being committed is in force too', async (t) => {
  const { best, tap, commits, lines } = await whileTaking(t);
  const socket = best.upstream.sockets.at(-1)!;
  const newer = icyBody(best.audio(20), 20 * FRAME_BYTES, new Map([[0, "StreamTitle='Newer';"]]));
  socket.write(Buffer.concat([best.audio(100).subarray(0, (20 - (100 % 20 || 20)) * FRAME_BYTES), newer]));
  await arrived(socket);
  commits[0]!();
  await until(() => commits.length === 2, 5000);
  t.strictSame([order(tap), lines()], [[2], ['Station 2', 'Station 1', 'Newer']]);
  commits[1]!();
  socket.write(Buffer.concat([best.audio(20), Buffer.from([0])]));
  await until(() => order(tap).length === 2, 5000);
  t.strictSame(lines(), ['Station 2', 'Station 1', 'Newer']);
});

t.test('a title has the name of the upstream that has said it', async (t) => {
  const [best, second] = [await Station.open(t, 1, true), await Station.open(t, 2, true)];
  second.burst = 40;
  const { tap, source } = setUp(t, [best, second], { returnMs: 200 });
  const said: (string | undefined)[] = [];
  tap.hold = () => {
    said.push(source.sender);
    return Promise.resolve();
  };
  source.start();
  await until(() => tap.parts.length > 20, 5000);
  t.strictSame(said, [source.sender]);
  best.burst = 100;
  await until(() => said.length === 2, 5000);
  const socket = best.upstream.sockets.at(-1)!;
  socket.write(Buffer.concat([best.audio(20), Buffer.from([0])]));
  await until(() => order(tap).length === 2, 5000);
  t.equal(said[1], source.sender);
  t.not(said[1], said[0]);
});

t.test('stopped while a title of a trial is being committed, and started again: titles come', async (t) => {
  const { tap, source, commits, lines } = await whileTaking(t);
  source.stop();
  commits[0]!();
  tap.hold = () => Promise.resolve();
  source.start();
  await until(() => order(tap).length === 2, 5000);
  t.strictSame(lines(), ['Station 2', 'Station 1', 'Station 1']);
});

t.test('when the other is lost in the middle of a trial, the title that stood in that is not forgotten', async (t) => {
  const [best, second] = [await Station.open(t, 1), await Station.open(t, 2)];
  second.burst = 40;
  const { tap, source } = setUp(t, [best, second], { returnMs: 200 });
  source.start();
  await until(() => tap.parts.length > 10, 5000);
  let held: net.Socket | undefined;
  const body = icyBody(best.audio(20), 5 * FRAME_BYTES, new Map([[1, "StreamTitle='There';"]]));
  best.upstream.answer = (socket) => {
    held = socket;
    socket.write(Buffer.concat([Buffer.from(streamHead(5 * FRAME_BYTES)), body]));
  };
  await until(() => held !== undefined, 5000);
  await arrived(held!);
  await quietFor(50);
  t.strictSame([order(tap), tap.titles], [[2], []], 'too little for a change');
  let said: string | undefined;
  tap.hold = () => {
    said = source.sender;
    return Promise.resolve();
  };
  second.drop();
  await until(() => tap.titles.length === 1, 5000);
  t.equal(said, source.sender, 'as one of its own');
  t.equal(source.state, 'up');
  held!.write(best.audio(5));
  await until(() => order(tap).length === 2, 5000);
  t.strictSame([tap.titles[0]!.line, tap.losses], ['There', []]);
});

t.test('stop ends both connections, and what is heard afterwards is nothing', async (t) => {
  const [best, second] = [await Station.open(t, 1), await Station.open(t, 2)];
  second.burst = 40;
  const { tap, source } = setUp(t, [best, second], { returnMs: 100 });
  source.start();
  await until(() => tap.parts.length > 10, 5000);
  best.upstream.answer = () => undefined;
  const tries = best.tries;
  await until(() => best.tries > tries, 5000);
  source.stop();
  const { length } = tap.parts;
  await until(() => best.upstream.openSockets + second.upstream.openSockets === 0, 3000);
  await quietFor(250);
  t.strictSame([tap.parts.length, tap.losses, source.state], [length, [], 'idle']);
});

t.test('listeners of a server hear no gap on the way there and back, and the log names no URL', async (t) => {
  const [best, second] = [await Station.open(t, 1), await Station.open(t, 2)];
  best.burst = second.burst = 45;
  const lines: string[] = [];
  const keep = (fields: unknown, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const url = (station: Station) => station.url.replace('http://', 'http://hunter2:hunter2@');
  const server = await startServer(
    t,
    `
addresses: [{ host: 127.0.0.1, port: 0 }]
sources: { stallMs: 5000 }
stations:
  demo:
    channels:
      relay:
        sources:
          - { type: pull, url: ['${url(best)}', '${url(second)}'], returnSeconds: 0.3, user: hunter2, onDemand: true }
`,
    undefined,
    { debug: keep, info: keep, warn: keep, error: keep } as never,
  );
  const player = new Player(server.port, '/relay', { keep: true });
  t.teardown(() => player.close());
  await player.until(() => player.audioBytes > 50 * FRAME_BYTES);
  best.drop();
  await until(() => second.tries === 1 && best.tries > 2, 5000);
  best.burst = 45;
  await until(() => second.upstream.openSockets === 0, 5000);
  const before = player.audioBytes;
  await player.until(() => player.audioBytes > before + 60 * FRAME_BYTES);
  t.equal(player.closed, false);
  // The listener's own line has its address.
  const text = lines.filter((line) => !line.startsWith('listener ')).join('\n');
  t.match(text, /upstream plays .*"upstream":1.*upstream failed .*"upstream":1.*"upstream":2.*"upstream":1/s);
  t.notMatch(text, /unter2|127\.0\.0\.1/);
  t.equal(lines.filter((line) => line.startsWith('source changed')).length, 1, 'one source all the time');
  // Each run of one station's frames is whole: no frame of the player's is cut or missing its neighbour.
  const { audio } = player;
  const start = audio.indexOf(Buffer.from([0xff, 0xfb, 0x90, 0x64]));
  let broken = 0;
  for (let at = start; at + FRAME_BYTES <= audio.length; at += FRAME_BYTES) {
    if (audio.readUInt32BE(at) !== 0xfffb9064) broken++;
  }
  t.equal(broken, 0, 'whole frames throughout');
});
