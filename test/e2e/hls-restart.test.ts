/**
 * HLS over restarts, as players and caches see it: what a list names is there, at whichever worker, with one content; numbers go on. Real processes, an
 * encoder whose frames are numbered.
 */

import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { framesIn } from '../kit/feeder.js';
import { type ReadSegment, readPacked, readPlaylist } from '../kit/hls-channel.js';
import { Machine, RESTARTED_MS } from '../kit/machine.js';
import { pause } from '../kit/pause.js';
import { freePort, ServerProcess } from '../kit/process.js';
import { missing } from '../kit/program.js';
import { demoYaml } from '../kit/server.js';
import { StampedEncoder } from '../kit/stamped.js';
import { makeTagged } from '../kit/tagged.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

// They sleep most of their time.
t.jobs = 4;

/** How long one who is let go with its worker would not have its list. */
const PLAYED_MS = 5000;
/** Where a stamped frame has its number. */
const NUMBER_AT = 36;
const yaml = (port: number) => `
addresses: [{ host: 127.0.0.1, port: ${port} }]
shutdown: { drainSeconds: 3 }
streams: { hls: { enabled: true, segmentSeconds: 2, window: 6, keep: 30 } }
stations:
  house:
    channels:
      live: { bitrateKbps: 128, pushTokens: [studio-token], sources: [{ type: encoder, password: demo-source, lingerSeconds: 30 }] }
`;

/** Loads all that is listed, at any worker. */
class Recorder {
  readonly segments: ReadSegment[] = [];
  readonly bytes = new Map<string, Buffer>();
  readonly faults: string[] = [];
  readonly #base: string;

  constructor(port: number) {
    this.#base = `http://127.0.0.1:${port}/live/hls`;
  }

  get numbers(): number[] {
    return this.segments.map(({ name }) => Number(name.split('-')[0]));
  }

  /** Until so many more are listed. */
  async more(count: number): Promise<void> {
    const least = this.segments.length + count;
    await until(
      async () => {
        await this.load();
        return this.segments.length >= least;
      },
      RESTARTED_MS,
      () => `${this.segments.length} of ${least}`,
    );
  }

  async load(): Promise<void> {
    const list = await this.#get('live.m3u8');
    if (list?.status !== 200) return;
    for (const segment of readPlaylist(await list.text()).segments) {
      const { name } = segment;
      if (this.bytes.has(name)) continue;
      const answer = await this.#get(name);
      if (answer === null) return;
      if (answer.status !== 200) {
        // While a hub is away a worker that does not have it cannot say more.
        if (answer.status !== 503) this.faults.push(`${name}: ${answer.status}`);
        return;
      }
      this.bytes.set(name, Buffer.from(await answer.arrayBuffer()));
      this.segments.push(segment);
    }
  }

  /** Once more, at whichever worker. */
  async again(): Promise<void> {
    for (const [name, bytes] of [...this.bytes].slice(-6)) {
      const answer = await this.#get(name);
      const there = Buffer.from((await answer?.arrayBuffer()) ?? new ArrayBuffer(0));
      const sha = (of: Buffer) => createHash('sha256').update(of).digest('hex');
      if (sha(there) !== sha(bytes)) this.faults.push(`${name}: ${answer?.status} with ${there.length} other bytes`);
    }
  }

  /** The numbers of all frames, as they were heard. */
  get frames(): number[] {
    return this.segments.flatMap(({ name }) =>
      framesIn(readPacked(this.bytes.get(name)!).audio).frames.map((frame) => frame.readUInt32BE(NUMBER_AT)),
    );
  }

  /** Each time at another worker, as it comes. Null: one ended meanwhile. */
  async #get(path: string): Promise<Response | null> {
    return await fetch(`${this.#base}/${path}`, { headers: { connection: 'close' } }).catch(() => null);
  }
}

function goesOn(t: Test, { numbers, faults }: Recorder, what: string): void {
  t.strictSame(
    numbers,
    numbers.map((_, i) => numbers[0]! + i),
    `${what}: numbers go on`,
  );
  t.strictSame(faults, [], `${what}: what is listed is there`);
}

t.test(
  'a rolling restart is a restart of which no list and no segment says anything',
  { timeout: 240_000 },
  async (t) => {
    const machine = await Machine.start(t, yaml);
    new StampedEncoder(t, machine.port, '/live', 'demo-source', 'mp3', 1);
    const recorder = new Recorder(machine.port);
    await recorder.more(4);
    machine.server.child.kill('SIGUSR2');
    await until(
      async () => {
        await recorder.load();
        return machine.logged('"restarted"') === 1;
      },
      RESTARTED_MS,
      () => machine.news,
    );
    await recorder.more(4);
    await recorder.again();
    goesOn(t, recorder, 'restarted');
    t.notOk(
      recorder.segments.some(({ isDiscontinuity }) => isDiscontinuity),
      'without a seam',
    );
    const { frames } = recorder;
    t.strictSame(
      frames,
      frames.map((_, i) => frames[0]! + i),
      'each frame once',
    );
  },
);

t.test('a worker knows that Vorbis is not served so', { skip: missing('ffmpeg') }, async (t) => {
  const file = makeTagged(t, { artist: 'A', title: 'B' }, { hertz: 44_100, seconds: 10, type: 'ogg' });
  const hls = 'streams: { hls: { enabled: true, segmentSeconds: 2 } }';
  const machine = await Machine.start(t, (port) =>
    demoYaml(hls, port).replace(/type: file, path: [^ }]*/, `type: file, path: ${file}`),
  );
  const status = async () => (await fetch(`${machine.server.base}/demo/hls/live.m3u8`)).status;
  await until(async () => (await status()) === 404, RESTARTED_MS);
});

t.test('the hub is killed, then a worker: the list goes on', { timeout: 240_000 }, async (t) => {
  const machine = await Machine.start(t, yaml);
  new StampedEncoder(t, machine.port, '/live', 'demo-source', 'mp3', 1);
  const recorder = new Recorder(machine.port);
  await recorder.more(4);
  process.kill(machine.pidsOf('hub')[0]!, 'SIGKILL');
  await until(() => machine.pidsOf('hub').length === 1 && machine.logged('"process ready"') > 0, RESTARTED_MS);
  new StampedEncoder(t, machine.port, '/live', 'demo-source', 'mp3', 2);
  await recorder.more(4);
  goesOn(t, recorder, 'another hub');
  const [worker] = machine.pidsOf('worker');
  process.kill(worker!, 'SIGKILL');
  await recorder.more(4);
  await until(() => machine.pidsOf('worker').length === 2 && !machine.pidsOf('worker').includes(worker!), RESTARTED_MS);
  await recorder.more(2);
  await recorder.again();
  goesOn(t, recorder, 'another worker');
});

t.test('kill -9 of one process: the list goes on behind EXT-X-DISCONTINUITY', { timeout: 240_000 }, async (t) => {
  const folder = tempFolder(t);
  const port = await freePort();
  const path = join(folder, 'config.yaml');
  writeFileSync(path, `data: { folder: ${join(folder, 'data')} }\n${yaml(port)}`);
  let server = new ServerProcess(t, port, [path], {});
  await server.ready();
  new StampedEncoder(t, port, '/live', 'demo-source', 'mp3', 1);
  const recorder = new Recorder(port);
  await recorder.more(4);
  await server.end('SIGKILL');
  server = new ServerProcess(t, port, [path], {});
  await server.ready();
  await recorder.again();
  new StampedEncoder(t, port, '/live', 'demo-source', 'mp3', 2);
  await recorder.more(4);
  goesOn(t, recorder, 'started again');
  t.equal(recorder.segments.filter(({ isDiscontinuity }) => isDiscontinuity).length, 1);
  await server.end('SIGTERM');
});

t.test(
  'a process that stands still for seconds, and gets all that waited: nothing is said',
  { timeout: 240_000 },
  async (t) => {
    const folder = tempFolder(t);
    const port = await freePort();
    const path = join(folder, 'config.yaml');
    writeFileSync(path, `data: { folder: ${join(folder, 'data')} }\n${yaml(port)}`);
    const server = new ServerProcess(t, port, [path], {});
    await server.ready();
    new StampedEncoder(t, port, '/live', 'demo-source', 'mp3', 1);
    const recorder = new Recorder(port);
    await recorder.more(3);
    for (const stallMs of [1500, 3500]) {
      server.child.kill('SIGSTOP');
      await pause(stallMs);
      server.child.kill('SIGCONT');
      await recorder.more(4);
    }
    goesOn(t, recorder, 'stood still');
    t.notOk(
      recorder.segments.some(({ isDiscontinuity }) => isDiscontinuity),
      'no audio is missing',
    );
    const { frames } = recorder;
    t.strictSame(
      frames,
      frames.map((_, i) => frames[0]! + i),
      'each frame once',
    );
    await server.end('SIGTERM');
  },
);

t.test(
  'a private listener goes on over a rolling restart, at the worker that has it',
  { timeout: 240_000 },
  async (t) => {
    const machine = await Machine.start(t, (port) => yaml(port).replace('drainSeconds: 3', 'drainSeconds: 3600'));
    new StampedEncoder(t, machine.port, '/live', 'demo-source', 'mp3', 1);
    // A connection that is kept would be with one worker.
    const ask = async (path: string) => {
      const url = `http://127.0.0.1:${machine.port}/live/${path}`;
      const answer = await fetch(url, { headers: { connection: 'close' } });
      return { status: answer.status, text: await answer.text() };
    };
    let list = '';
    await until(async () => {
      const { text } = await ask('hls.m3u8?metaid=a-listener-of-its-own');
      list = /^hls\/live\.m3u8\?s=.*$/m.exec(text)?.[0] ?? '';
      return list !== '';
    }, RESTARTED_MS);
    const statuses = new Set<number>();
    const play = async (isDone: () => boolean) => {
      await until(
        async () => {
          statuses.add((await ask(list)).status);
          return isDone();
        },
        RESTARTED_MS,
        () => machine.news,
      );
    };
    for (let i = 1; i <= 2; i++) {
      machine.server.child.kill('SIGUSR2');
      await play(() => machine.logged('"restarted"') === i);
      const endMs = performance.now() + PLAYED_MS;
      await play(() => performance.now() > endMs);
      t.strictSame([...statuses], [200], `restart ${i}`);
    }
    // It stops: each worker of before that had nobody else ends.
    const left = () => machine.logged('a worker from before the restart has ended');
    await until(
      () => left() === 4,
      RESTARTED_MS,
      () => machine.news,
    );
  },
);
