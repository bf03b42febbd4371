/**
 * kill -9 at random moments during 2,000 pushes over 50 channels, several in flight: whatever was answered is there after each
 * restart, in order (polling, history); no reader gets a record twice, or an older one after a newer; what is held comes in its
 * turn. What was under way is there or not, but never half. The clock stepped by an hour: titles/scheduler.test.ts.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Events } from '../kit/events.js';
import { isLong } from '../kit/long.js';
import { pause } from '../kit/pause.js';
import { freePort, ServerProcess } from '../kit/process.js';
import { PushModel } from '../kit/push-model.js';
import { LATE_MS, type Life, nameOf, type Pushed, type Read } from '../kit/pushed.js';
import { Random } from '../kit/random.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until, untilPromised } from '../kit/until.js';
import { Watching } from '../kit/wire.js';

const CHANNELS = 50;
const PUSHES = isLong ? 2000 : 800;
const KILLS = isLong ? 8 : 4;
const IN_FLIGHT = 16;
/** Every fifth channel holds. These are watched each by itself, beside their station. */
const WATCHED = ['c0', 'c1', 'c2', 'c5', 'c10'];

/** An SSE reader that comes back with the last id it has. */
class Returning {
  readonly topic: string;
  readonly records: Read[] = [];
  #events: Events | undefined;
  #lastId = '';

  constructor(topic: string) {
    this.topic = topic;
  }

  /** The connection before is over by now, or cut. */
  come(t: Test, port: number): Events {
    this.leave();
    const id = this.#lastId === '' ? '' : `Last-Event-ID: ${this.#lastId}\r\n`;
    this.#events = new Events(t, port, this.topic, id);
    return this.#events;
  }

  leave(): void {
    if (this.#events === undefined) return;
    this.#events.close();
    this.records.push(...this.#events.seen.map(({ record }) => record));
    this.#lastId = this.#events.lastId || this.#lastId;
    this.#events = undefined;
  }

  last(channel: string, type: string): string {
    const all = [...this.records, ...(this.#events?.seen.map(({ record }) => record) ?? [])];
    const record = all.findLast((one) => one.channelkey === channel && one.type === type);
    return record === undefined ? '' : nameOf(record);
  }
}

t.test('kill -9 at random moments', async (t) => {
  const random = new Random();
  const folder = tempFolder(t);
  const port = await freePort();
  const config = join(folder, 'config.yaml');
  const keys = Array.from({ length: CHANNELS }, (_, i) => `c${i}`);
  const channel = '{ pushTokens: [demo-token], sources: [{ type: encoder, password: demo-source }] }';
  writeFileSync(
    config,
    `
data: { folder: ${join(folder, 'data')} }
addresses: [{ host: 127.0.0.1, port: ${port} }]
watch: { bufferBytes: 16777216 } # no reader counts as slow: each gets everything
stations: { house: { channels: { ${keys.map((key) => `${key}: ${channel}`).join(', ')} } } }
`,
  );
  const models = keys.map((key, i) => new PushModel(key, i % 5 === 0, random));
  const wrong: string[] = [];
  const lives: Life[] = [];
  const sockets: { readonly watching: Watching; readonly life: number; readonly topic: string }[] = [];
  const streams = ['station/house', ...WATCHED.map((key) => `channel/${key}`)].map((topic) => new Returning(topic));
  const killAt = Array.from({ length: KILLS - 1 }, () => random.int(100, PUSHES - 100)).sort((a, b) => a - b);
  let server!: ServerProcess;
  let sentCount = 0;
  let doubtCount = 0;
  let isKilled = false;

  const start = async () => {
    const life: Life = {
      spawnedMs: Date.now(),
      readyMs: Number.POSITIVE_INFINITY,
      killedMs: Number.POSITIVE_INFINITY,
    };
    lives.push(life);
    server = new ServerProcess(t, port, [config], {});
    await server.ready();
    life.readyMs = Date.now();
    isKilled = false;
  };

  const kill = () => {
    lives.at(-1)!.killedMs = Date.now();
    server.child.kill('SIGKILL');
    isKilled = true;
  };

  const read = async (path: string): Promise<Read> => {
    const response = await fetch(`${server.base}/metadata/channel/${path}`);
    if (response.status === 204) return null;
    if (response.status !== 200) throw new Error(`${path}: ${response.status}`);
    return await response.json();
  };

  const auditOne = async (model: PushModel) => {
    // Titles take effect meanwhile: read until all is of one moment.
    for (;;) {
      const page = `${model.channel}/history.json?limit=1000`;
      const before: Read[] = await read(page);
      const [now, next] = [await read(`${model.channel}.json`), await read(`${model.channel}.json?type=next`)];
      const history: Read[] = await read(page);
      if (before.length === history.length) return wrong.push(...model.audit(history.reverse(), now, next, lives));
    }
  };
  // One after the other: an address may wait for 16 pages of history.
  const audit = async () => {
    for (const model of models) await auditOne(model);
  };

  const watch = async () => {
    for (const topic of ['station/house', ...WATCHED.map((key) => `channel/${key}`)]) {
      const watching = new Watching(t, `ws://127.0.0.1:${port}/metadata/${topic}`);
      sockets.push({ watching, life: lives.length, topic });
      await watching.opened();
    }
    for (const stream of streams) await stream.come(t, port).opened();
  };

  /** A reader that has come back has got what is in force, now or before. */
  const caughtUp = async (stream: Returning) => {
    for (const key of keysOf(stream.topic)) {
      for (const type of ['now', 'next']) {
        let name = '';
        const isThere = async () => {
          const record = await read(`${key}.json?type=${type}`);
          name = record === null ? '' : nameOf(record);
          return record === null || stream.last(key, type) === name;
        };
        await until(
          isThere,
          20_000,
          () => `${why()}: SSE ${stream.topic} missed ${name}, has ${stream.last(key, type)}`,
        );
      }
    }
  };

  const keysOf = (topic: string) => (topic === 'station/house' ? keys : [topic.slice('channel/'.length)]);
  const why = () => `seed ${random.seed}, process ${lives.length}`;

  const push = async (model: PushModel) => {
    const pushed = model.plan();
    sentCount++;
    try {
      const response = await send(server.base, model.channel, pushed);
      const answer = await response.json();
      if (response.status === 200) wrong.push(...model.answered(pushed, lives.length, answer));
      else wrong.push(`${model.channel}: ${response.status} ${JSON.stringify(answer)}`);
    } catch (error) {
      if (!isKilled) throw error;
      doubtCount++;
      model.failed(pushed);
    }
  };

  /** Pushes to whatever channel is free, now in bursts, now with pauses, from `end` on without, until the server is killed. */
  const pusher = async (end: number) => {
    while (!isKilled) {
      const model = models[random.int(0, CHANNELS - 1)]!;
      if (model.busy) continue;
      model.busy = true;
      await push(model);
      model.busy = false;
      if (random.chance(0.02)) streams[random.int(0, streams.length - 1)]!.come(t, port);
      if (random.chance(0.1)) {
        const resumeMs = performance.now() + random.int(50, 500);
        while (sentCount < end && performance.now() < resumeMs) await pause(10);
      }
    }
  };

  for (const end of [...killAt, PUSHES]) {
    await start();
    await audit();
    await watch();
    for (const stream of streams) await caughtUp(stream);
    const pushers = Array.from({ length: IN_FLIGHT }, () => pusher(end));
    await until(() => sentCount >= end, 60_000);
    await pause(random.int(0, 10));
    kill();
    await Promise.all(pushers);
    await server.end('SIGKILL');
  }
  await start();
  await watch();
  const isAllOnAir = async () => {
    for (const model of models) {
      if (!model.isOnAir(await read(`${model.channel}/history.json?limit=1000`))) return false;
    }
    return true;
  };
  // What does not come by then is lost, and the audit says which.
  await untilPromised(isAllOnAir, 4000 + LATE_MS).catch(() => undefined);
  await audit();
  for (const stream of streams) await caughtUp(stream);
  for (const stream of streams) stream.leave();

  for (const model of models) {
    const of = (records: readonly Read[]) => records.filter(({ channelkey }) => channelkey === model.channel);
    for (const { topic, records } of streams) {
      wrong.push(...model.auditReads(of(records)).map((text) => `SSE ${topic}: ${text}`));
    }
    for (const { watching, life, topic } of sockets) {
      if (keysOf(topic).includes(model.channel)) {
        wrong.push(
          ...model.auditReads(of(watching.records), life).map((text) => `WebSocket ${topic} ${life}: ${text}`),
        );
      }
    }
  }
  t.same(wrong.slice(0, 10), [], why());
  t.ok(doubtCount >= KILLS, `${doubtCount} pushes were under way when the server was killed`);
});

function send(base: string, channel: string, { sent, n }: Pushed): Promise<Response> {
  const url = `${base}/metapush/${channel}/demo-token`;
  const { time, extdata, cover, ...texts } = sent;
  if (extdata === undefined && cover === undefined && n % 3 > 0) {
    const query = new URLSearchParams(
      Object.entries(texts).map(([name, value]): [string, string] => [name, String(value)]),
    );
    if (time !== undefined) query.set('time', String(time));
    return fetch(`${url}?${query}`);
  }
  const rfc = time === undefined ? {} : { time: new Date(time * 1000).toISOString() };
  const body = JSON.stringify({ ...sent, ...rfc });
  return fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
}
