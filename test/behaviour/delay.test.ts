/**
 * A delay and an offset between titles and sound, on the real server: where titles lie in what a listener gets, and that a lost source is not
 * missed. The encoder sends frame by frame in real time, and notes when.
 */

import t, { type Test } from 'tap';
import { bestOfThree } from '../kit/best-of-three.js';
import { DEMO_FRAMES, Feeder } from '../kit/feeder.js';
import { LoopDelay } from '../kit/loop-delay.js';
import { pause, quietFor } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { atOnce, DEMO_AUDIO, metricsOf, NODES, startServer, WORKERS } from '../kit/server.js';
import { until } from '../kit/until.js';
import { Watching } from '../kit/wire.js';

// They wait more than they compute.
t.jobs = atOnce(5);

const FRAME_MS = 1152 / 44.1;
const BYTES_PER_MS = 16;
/** Half a metaint, a quarter of a second, and a frame. */
const BLOCK_MS = 125 + FRAME_MS;
/** What a block may be off where no other is nearer. */
const NEXT_BLOCK_MS = 250 + FRAME_MS;
/** And by how long this process stood still between a frame and its note. */
const CLOSE_MS = 60;

const yaml = (options: string, sources = '{ type: encoder, password: demo-source }') => `
addresses: [{ host: 127.0.0.1, port: 0 }]
sources: { stallMs: 3000 }
stations:
  demo:
    channels:
      air: { bitrateKbps: 128, pushTokens: [demo-token], ${options}, sources: [${sources}] }
`;

/** An encoder in real time, to the frame. */
class Encoder {
  readonly feeder: Feeder;
  /** When each frame was sent, unix milliseconds. */
  readonly sentMs: number[] = [];
  #timer: NodeJS.Timeout;

  /** Once it has been let in: who listens then waits for it. */
  static async start(t: Test, port: number): Promise<Encoder> {
    const feeder = new Feeder(t, port, '/air');
    if ((await feeder.answered()) !== 200) throw new Error(feeder.answer);
    return new Encoder(t, feeder);
  }

  private constructor(t: Test, feeder: Feeder) {
    this.feeder = feeder;
    const startMs = performance.now();
    this.#timer = setInterval(() => {
      while (this.sentMs.length * FRAME_MS < performance.now() - startMs) {
        this.feeder.send(1);
        this.sentMs.push(Date.now());
      }
    }, 10);
    t.teardown(() => this.pause());
  }

  /** It stays connected. */
  pause(): void {
    clearInterval(this.#timer);
  }

  /** The byte of its stream with which the audio of this moment begins. */
  byteAt(momentMs: number): number {
    const frames = this.sentMs.filter((sentMs) => sentMs <= momentMs).length;
    return Array.from({ length: frames }, (_, i) => DEMO_FRAMES[i % DEMO_FRAMES.length]!.length).reduce(
      (a, b) => a + b,
      0,
    );
  }
}

/**
 * A listener that has this much audio, or 503.
 * @param withinMs how long it asks again: another process than the encoder's knows of it a moment later
 */
async function joined(
  t: Test,
  port: number,
  path: string,
  { icy = true, minBytes, withinMs }: { readonly icy?: boolean; readonly minBytes: number; readonly withinMs: number },
): Promise<Player> {
  const began = performance.now();
  for (;;) {
    const player = new Player(port, path, { icy, keep: true });
    t.teardown(() => player.close());
    await player.until(({ audioBytes, status }) => audioBytes >= minBytes || status === 503, 10_000);
    if (player.status !== 503 || performance.now() - began >= withinMs) return player;
  }
}

/** A listener with a metaid, its feed, and the place in the encoder's stream at which it began. */
async function listen(t: Test, port: number, ws: string) {
  const metaid = 'a-listener-of-these-tests';
  const watching = await new Watching(t, `${ws}/metadata/listener/${metaid}?sync=wire`).opened();
  const player = await joined(t, port, `/air?metaid=${metaid}`, {
    minBytes: 4001,
    withinMs: NODES + WORKERS > 0 ? 3000 : 0,
  });
  t.equal(player.status, 200);
  const began = () => {
    const sent = Buffer.concat(DEMO_FRAMES as Buffer[]);
    const at = 3000;
    const found = sent.indexOf(player.audio.subarray(at, at + 800));
    if (found < 0) throw new Error('what it gets is not what the encoder sent');
    return found - at;
  };
  /** How much later than this byte of the encoder's stream the title is, in its block and by its position, milliseconds. */
  const errorsOf = async (song: string, byte: number) => {
    await player.until(({ titles }) => titles.some(({ title }) => title === song), 20_000);
    await until(() => watching.records.some((record) => record.song === song), 5000);
    const block = player.titles.find(({ title }) => title === song)!;
    const record = watching.records.find((one) => one.song === song);
    const place = byte - began();
    return {
      blockMs: (block.atByte - place) / BYTES_PER_MS,
      positionMs: Number(record.position) - place / BYTES_PER_MS,
    };
  };
  return { errorsOf, late: new LoopDelay(t) };
}

/** A title that begins at this moment, however long the request takes. */
async function push(base: string, song: string, momentMs: number): Promise<void> {
  const time = new Date(momentMs).toISOString();
  const { status } = await fetch(`${base}/metapush/air/demo-token?song=${song}&time=${time}`);
  if (status !== 200) throw new Error(`the push was answered ${status}`);
}

t.test('delaySeconds: pushes that come two seconds late stand at the right byte', async (t) => {
  const { port, ws, base } = await startServer(t, yaml('delaySeconds: 4'));
  const encoder = await Encoder.start(t, port);
  const { errorsOf, late } = await listen(t, port, ws);
  const errors = [];
  for (const song of ['One', 'Two', 'Three']) {
    const momentMs = Date.now();
    await pause(2000);
    await push(base, song, momentMs);
    errors.push({ song, momentMs });
  }
  for (const { song, momentMs } of errors) {
    const { blockMs, positionMs } = await errorsOf(song, encoder.byteAt(momentMs));
    t.ok(Math.abs(positionMs) <= CLOSE_MS + late.worstMs, `${song}: its position is ${positionMs} ms late`);
    t.ok(Math.abs(blockMs) <= BLOCK_MS + CLOSE_MS + late.worstMs, `${song}: its block is ${blockMs} ms late`);
  }
});

t.test('titleOffsetMs: a push stands at the audio that comes in so much later, or came in before', async (t) => {
  const cases: [options: string, offsetMs: number, maxMs: number][] = [
    ['titleOffsetMs: 3000', 3000, NEXT_BLOCK_MS],
    ['delaySeconds: 3, titleOffsetMs: -1000', -1000, BLOCK_MS],
    ['delaySeconds: 1, titleOffsetMs: 3000', 3000, BLOCK_MS],
  ];
  const runs = cases.map(async ([options, offsetMs, maxMs]) => {
    const { port, ws, base, machines } = await startServer(t, yaml(options));
    const encoder = await Encoder.start(t, port);
    const { errorsOf, late } = await listen(t, port, ws);
    const inTimeMs = Math.max(0, offsetMs) + 500;
    const bestMs = await bestOfThree(inTimeMs, async (attempt) => {
      late.reset();
      const song = `Moved${attempt}`;
      const momentMs = Date.now();
      await push(base, song, momentMs);
      const isNow = async () => (await (await fetch(`${base}/metadata/channel/air.txt`)).text()) === `${song}\n`;
      // One that is not delayed may be under way to another machine.
      if (offsetMs > 0 || machines.length === 1)
        t.equal(await isNow(), offsetMs < 0, 'readers of the channel get it with its sound, and not before its push');
      await until(isNow, Math.max(0, offsetMs) + 1000);
      const sinceMs = Date.now() - momentMs;
      t.ok(sinceMs >= offsetMs, `${options}: ${sinceMs} ms after its push`);
      const ownMs = sinceMs - late.totalMs;
      await pause(100);
      const { blockMs, positionMs } = await errorsOf(song, encoder.byteAt(momentMs + offsetMs));
      t.ok(Math.abs(positionMs) <= CLOSE_MS + late.worstMs, `${options}: its position is ${positionMs} ms late`);
      t.ok(Math.abs(blockMs) <= maxMs + CLOSE_MS + late.worstMs, `${options}: its block is ${blockMs} ms late`);
      return ownMs;
    });
    t.ok(bestMs < inTimeMs, `${options}: ${bestMs} ms after its push`);
  });
  await Promise.all(runs);
});

t.test('titleOffsetMs of the source on air counts in place of the channel’s', async (t) => {
  const source = '{ type: encoder, password: demo-source, titleOffsetMs: 1000 }';
  const { port, ws, base } = await startServer(t, yaml('titleOffsetMs: 5000, delaySeconds: 1', source));
  const encoder = await Encoder.start(t, port);
  const { errorsOf, late } = await listen(t, port, ws);
  const momentMs = Date.now();
  await push(base, 'Moved', momentMs);
  await pause(1100);
  const { positionMs } = await errorsOf('Moved', encoder.byteAt(momentMs + 1000));
  t.ok(Math.abs(positionMs) <= CLOSE_MS + late.worstMs, `its position is ${positionMs} ms late`);
});

t.test('an encoder stalls: the fallback file goes on without a gap, and fills the line again', async (t) => {
  const sources = `{ type: encoder, password: demo-source }, { type: file, path: ${DEMO_AUDIO} }`;
  const server = await startServer(t, yaml('delaySeconds: 4', sources));
  const { port } = server;
  // Of the machine that feeds the channel, which may become another one.
  const levelSeconds = async () => {
    const level = /^airsplice_delay_seconds\{channel="air"\} (.*)$/m;
    return Math.max(...(await metricsOf(server)).map((metrics) => Number(level.exec(metrics)?.[1])));
  };
  const encoder = await Encoder.start(t, port);
  const late = new LoopDelay(t);
  let maxBehindMs = 0;
  let firstMs = 0;
  let bytes = 0;
  const behindMs = () => performance.now() - firstMs - bytes / BYTES_PER_MS;
  const player = new Player(port, '/air', {
    onAudio: (audio) => {
      firstMs ||= performance.now();
      maxBehindMs = Math.max(maxBehindMs, behindMs());
      bytes += audio.length;
    },
  });
  t.teardown(() => player.close());
  await player.until(({ audioBytes }) => audioBytes > 0, 20_000);
  await quietFor(4000);
  const steadyMs = maxBehindMs;
  const steadySeconds = await levelSeconds();
  t.ok(steadySeconds > 3.4 && steadySeconds <= 4, `${steadySeconds} s wait`);
  encoder.pause();
  await until(async () => (await levelSeconds()) < 1.5, 5000);
  await quietFor(1500);
  const shortSeconds = await levelSeconds();
  t.ok(shortSeconds < 2, `the stall lasted 3 s: ${shortSeconds} s are left`);
  await until(
    async () => (await levelSeconds()) >= shortSeconds + 0.8,
    30_000,
    () => 'the line stays short',
    200,
  );
  // Segments of a second, and a visit each second, may fall apart by as much.
  t.ok(maxBehindMs <= steadyMs + 1200 + late.worstMs, `at most ${steadyMs} ms behind before, ${maxBehindMs} ms after`);
  t.equal(player.closed, false);
});

t.test('who comes while the line fills waits; who is there when the last source is gone hears all of it', async (t) => {
  const { port } = await startServer(
    t,
    `streams: { startTimeoutSeconds: 2, silenceSeconds: 0.5 }\n${yaml('delaySeconds: 3')}`,
  );
  const encoder = await Encoder.start(t, port);
  const began = performance.now();
  const player = await joined(t, port, '/air', { icy: false, minBytes: 1, withinMs: WORKERS > 0 ? 500 : 0 });
  const waitedMs = performance.now() - began;
  t.ok(player.status === 200 && waitedMs > 3000, `${player.status} after ${waitedMs} ms`);
  await quietFor(1000);
  encoder.pause();
  encoder.feeder.socket.destroy();
  const goneMs = performance.now();
  const other = new Player(port, '/air', { icy: false });
  t.teardown(() => other.close());
  await other.until(({ audioBytes }) => audioBytes > 0, 5000);
  t.equal(other.status, 200, 'while there is audio, listeners are taken');
  await player.until(({ closed }) => closed, 15_000);
  t.ok(performance.now() - goneMs > 2500, `${performance.now() - goneMs} ms after the encoder`);
  const sent = Buffer.concat(encoder.sentMs.map((_, i) => DEMO_FRAMES[i]!));
  t.ok(player.audio.length > sent.length - 1000 * BYTES_PER_MS - 4000, `${player.audio.length} of ${sent.length}`);
  t.ok(sent.includes(player.audio.subarray(-8000, -4000)));
  const refused = new Player(port, '/air');
  t.teardown(() => refused.close());
  await refused.until(({ status }) => status > 0);
  t.equal(refused.status, 503);
});
