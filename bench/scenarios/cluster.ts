/**
 * Two nodes on this machine with a Redis that flushes each write to the disk before its answer: the time from when a push to one node was due until
 * it is at a reader of the other.
 */

import { execFileSync } from 'node:child_process';
import { WebSocket } from 'ws';
import { startAirsplice, track } from '../airsplice.js';
import type { Context, Scenario } from '../context.js';
import { pace } from '../pace.js';
import { freePort, Started, stopAll, usage } from '../process.js';
import { type Answer, Requests } from '../requests.js';
import { Figures } from '../result.js';
import { percentiles, shares } from '../statistics.js';
import { warm } from './pushing.js';

const CHANNELS = 64;
const CONNECTIONS = 32;
const ANSWER_SECONDS = 20;
const RATES = [50, 200, 500];
const QUICK_RATES = [50];
const WARM_PUSHES = 3000;

export const cluster: Scenario = {
  name: 'cluster',
  summary: `durable pushes to one of two machines, Redis between them with appendfsync always: read at the other, every one of them, in the order of its channel`,
  minutes: 2,
  takesUrl: false,
  async run(context: Context) {
    const figures = new Figures();
    if (!hasRedis()) {
      context.say('  left out: no redis-server here');
      return figures.result(this.name, this.summary);
    }
    const channels = Array.from({ length: CHANNELS }, (_, index) => `push-${index}`);
    const seconds = context.seconds(10);
    for (const subject of context.subjects) {
      const port = await freePort();
      const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', context.folder(), '--save', ''];
      const redis = new Started('redis-server', [...args, '--appendonly', 'yes', '--appendfsync', 'always']);
      const start = (node: string) =>
        startAirsplice(subject, {
          folder: context.folder(),
          silent: channels,
          options: { cluster: { url: `redis://127.0.0.1:${port}`, node } },
        });
      const [one, two] = [await start('one'), await start('two')];
      const reader = await Reader.open(`ws://127.0.0.1:${two.port}/metadata/station/bench`);
      const paths = channels.map((channel) => new URL(one.pushUrl(channel)).pathname);
      await warm(one.port, paths, context.either(WARM_PUSHES, 100));
      for (const round of context.rounds)
        for (const rate of context.either(RATES, QUICK_RATES)) {
          context.say(`  round ${round}: ${subject.name}, ${rate} a second`);
          const measured = new Requests(one.port, CONNECTIONS);
          reader.begin();
          const before = usage(redis.pid).cpuSeconds;
          const pushes = rate * seconds;
          await pace(rate, pushes, (index, dueAt) => {
            const song = `${rate} ${round} ${index}`;
            reader.expect(song, dueAt);
            const isRight = ({ status, body }: Answer) => status === 200 && body.includes(`"song":"${song}"`);
            measured.send(`POST ${paths[index % CHANNELS]}`, dueAt, isRight, { body: track(song) });
          });
          await measured.idle(ANSWER_SECONDS);
          await reader.all(ANSWER_SECONDS);
          const at = `${rate} a second`;
          for (const [share, value] of shares(percentiles(reader.ms)))
            figures.add(
              { name: `${at}: due to read at the other, ${share} %`, unit: 'ms', digits: 1 },
              subject.name,
              value,
            );
          for (const [share, value] of shares(percentiles(measured.ms)))
            figures.add({ name: `${at}: due to answer, ${share} %`, unit: 'ms', digits: 1 }, subject.name, value);
          const cpu = usage(redis.pid).cpuSeconds - before;
          figures.add(
            { name: `${at}: CPU of Redis per push`, unit: 'µs', digits: 0 },
            subject.name,
            (cpu / pushes) * 1e6,
          );
          figures.checkedBytes += measured.bytes + reader.bytes;
          if (measured.wrong > 0) figures.faults.push(`${at}: ${measured.wrong} wrong: ${measured.firstFault}`);
          if (reader.missing > 0) figures.faults.push(`${at}: ${reader.missing} pushes were never read`);
          measured.close();
        }
      reader.close();
      await stopAll();
    }
    return figures.result(this.name, this.summary);
  },
};

function hasRedis(): boolean {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Reads a station's titles with the times at which they were due. */
class Reader {
  readonly #socket: WebSocket;
  readonly #due = new Map<string, number>();
  ms: number[] = [];
  bytes = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data: Buffer) => {
      const nowMs = performance.now();
      this.bytes += data.length;
      const { song } = JSON.parse(data.toString()) as { readonly song: string };
      const dueMs = this.#due.get(song);
      if (dueMs === undefined) return;
      this.#due.delete(song);
      this.ms.push(nowMs - dueMs);
    });
  }

  static open(url: string): Promise<Reader> {
    const socket = new WebSocket(url, { perMessageDeflate: false });
    return new Promise((resolve, reject) => {
      socket.once('error', reject).once('open', () => resolve(new Reader(socket)));
    });
  }

  get missing(): number {
    return this.#due.size;
  }

  begin(): void {
    this.#due.clear();
    this.ms = [];
  }

  expect(song: string, dueMs: number): void {
    this.#due.set(song, dueMs);
  }

  async all(seconds: number): Promise<void> {
    const endMs = performance.now() + seconds * 1000;
    while (this.missing > 0 && performance.now() < endMs) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  close(): void {
    this.#socket.close();
  }
}
