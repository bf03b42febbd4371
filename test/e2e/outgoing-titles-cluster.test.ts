/**
 * Titles that go out from a cluster, and questions about their covers: two machines of one configuration, pushes to both, and each title goes out once;
 * also over the death of the machine that sends, with workers, and where machines share titles alone.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ClusterNode } from '../kit/nodes.js';
import { quietFor } from '../kit/pause.js';
import { freePorts, ServerProcess } from '../kit/process.js';
import { Receiver } from '../kit/receiver.js';
import { noRedis, RedisServer } from '../kit/redis.js';
import { atOnce, DEMO_AUDIO } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

t.jobs = atOnce(2);

/** For a machine that is busy; a lease of a machine that has died lasts 5 s. */
const LONG_MS = 30_000;

const outYaml = ({ url }: Receiver) => `
      out:
        pushTokens: [demo-token]
        webhooks: [{ url: '${url}', dampSeconds: 0 }]
        covers: { hook: '${url}' }
        sources: [{ type: file, path: ${DEMO_AUDIO} }]
`;

async function push(t: Test, port: number, song: string): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/metapush/out/demo-token?song=${song}`);
  t.equal(answer.status, 200, await answer.text());
}

const songs = (receiver: Receiver) =>
  receiver.received.filter(({ body }) => body !== '').map(({ body }) => JSON.parse(body).data.song as string);
/** Of which songs the same receiver was asked for covers. */
const asked = (receiver: Receiver) =>
  receiver.received
    .filter(({ body }) => body === '')
    .map(({ path }) => new URL(path, 'http://x').searchParams.get('song'));

/** Pushes until one goes out: a machine has the lease by then. */
async function isSending(t: Test, port: number, receiver: Receiver): Promise<void> {
  let made = 0;
  await until(async () => {
    await push(t, port, `first-${made++}`);
    return songs(receiver).length > 0;
  }, LONG_MS);
  await until(() => songs(receiver).at(-1) === `first-${made - 1}`, LONG_MS);
  receiver.received.length = 0;
}

t.test('each goes out once, and another machine goes on', { skip: noRedis, timeout: 240_000 }, async (t) => {
  const receiver = await Receiver.open(t);
  const redis = await RedisServer.start(t);
  const more = outYaml(receiver);
  const [one, two] = [
    await ClusterNode.start(t, 'one', redis, { more, workers: 1 }),
    await ClusterNode.start(t, 'two', redis, { more, workers: 1 }),
  ];
  await isSending(t, two.port, receiver);
  for (let i = 0; i < 10; i++) await push(t, [one, two][i % 2]!.port, `song-${i}`);
  await until(() => songs(receiver).length >= 10 && asked(receiver).length >= 10, LONG_MS);
  await quietFor(700);
  t.strictSame(
    songs(receiver),
    Array.from({ length: 10 }, (_, i) => `song-${i}`),
  );
  receiver.received.length = 0;
  // `one` was there first, and sends. What comes while nobody does is sent by the next one: the last of it.
  await one.kill();
  await push(t, two.port, 'lost');
  await push(t, two.port, 'last');
  await until(() => songs(receiver).length > 0, LONG_MS);
  await push(t, two.port, 'next');
  await until(() => songs(receiver).at(-1) === 'next', LONG_MS);
  t.strictSame(songs(receiver), ['last', 'next']);
});

t.test('of machines that share titles alone one sends', { skip: noRedis, timeout: 240_000 }, async (t) => {
  const receiver = await Receiver.open(t);
  const redis = await RedisServer.start(t);
  const started = ['one', 'two'].map(async (node) => {
    const folder = tempFolder(t);
    const port = await freePorts(2);
    const path = join(folder, 'config.yaml');
    writeFileSync(
      path,
      `addresses: [{ host: 127.0.0.1, port: ${port} }]
data: { folder: data }
cluster: { url: '${redis.url}', node: ${node} }
stations:
  house:
    channels:${outYaml(receiver)}`,
    );
    const server = new ServerProcess(t, port, [path], {});
    await server.ready();
    return server;
  });
  const [one, two] = await Promise.all(started);
  await isSending(t, one!.port, receiver);
  for (let i = 0; i < 10; i++) await push(t, [one, two][i % 2]!.port, `song-${i}`);
  await until(() => songs(receiver).length >= 10 && asked(receiver).length >= 10, LONG_MS);
  await quietFor(700);
  t.strictSame(
    songs(receiver),
    Array.from({ length: 10 }, (_, i) => `song-${i}`),
  );
});
