/** A machine that sent a bad message on one of its links: it has one name, whichever end has connected, and all of its links are left alone. */

import type { Duplex } from 'node:stream';
import t, { type Test } from 'tap';
import { NO_FACTS } from '../../../src/channel/channel-facts-schema.js';
import { askForSessions } from '../../../src/cluster/tapes/tape-client.js';
import { TapeServer } from '../../../src/cluster/tapes/tape-server.js';
import { greeting } from '../../../src/link/wire/link-version.js';
import { startNode } from '../../kit/cluster.js';
import { framed } from '../../kit/lies.js';
import { askedLease, leaseQuestion } from '../../kit/log-questions.js';
import { ClusterNode, FILE_SOURCE, SECRET } from '../../kit/nodes.js';
import { quietFor } from '../../kit/pause.js';
import { Player } from '../../kit/player.js';
import { noRedis, RedisServer } from '../../kit/redis.js';
import { until } from '../../kit/until.js';

const FACTS = JSON.stringify({ ...NO_FACTS, hopeful: true, hasSegments: true, onAir: 0, metaint: 256 });
/** Of no known type. */
const BAD = framed(63, Buffer.alloc(0));
/** Less than the first pause (link/wire/left-alone.ts), in which it would be asked several times. */
const ALONE_MS = 800;
const secret = Buffer.from(SECRET);

async function start(t: Test) {
  const redis = await RedisServer.start(t);
  const more = '      c0: { pushTokens: [demo-token], sources: [{ type: encoder, password: demo-source }] }\n';
  const victim = await ClusterNode.start(t, 'victim', redis, { sources: [FILE_SOURCE], more });
  const { engine } = await startNode(t, redis.url, 'engine', { prefix: 'airsplice:' });
  return { victim, engine };
}

/** A machine that has the lease of c0, and does this with each connection for its tape. */
async function ownerOf({ victim, engine }: Awaited<ReturnType<typeof start>>, t: Test, act: (stream: Duplex) => void) {
  let asked = 0;
  const ignore = (_: unknown, stream: Duplex) => void stream.destroy();
  const server = new TapeServer({
    host: '127.0.0.1',
    port: 0,
    secret,
    isOwnHost: () => true,
    onError: () => undefined,
    onSessions: ignore,
    onLog: (stream) => void stream.destroy(),
    onTape: (_, stream) => {
      asked++;
      stream.on('error', () => undefined).resume();
      stream.write(greeting());
      act(stream);
      return true;
    },
  });
  const url = `http://127.0.0.1:${await server.listen()}`;
  const lease = leaseQuestion('mallory', url, askedLease('c0', { wish: 3, facts: FACTS }));
  const timer = setInterval(() => void engine.lease(lease).catch(() => null), 200);
  const player = new Player(victim.port, '/c0');
  t.teardown(() => {
    clearInterval(timer);
    player.close();
    server.close();
  });
  const client = { secret, node: 'mallory', url };
  return { asked: () => asked, sessions: () => askForSessions(`http://127.0.0.1:${victim.tapesPort}`, client) };
}

const NAME = /machine mallory \(127\.0\.0\.1\): /;

t.test('bad on the connection that it was asked for', { skip: noRedis }, async (t) => {
  const setting = await start(t);
  const { sessions } = await ownerOf(setting, t, (stream) => void stream.write(BAD));
  await until(
    () => NAME.test(setting.victim.said),
    10_000,
    () => setting.victim.said.slice(-500),
  );
  t.notMatch(setting.victim.said, /machine at/);
  // It does so again and again, and is left alone for longer each time.
  const isRefused = async () => {
    const stream = await sessions();
    const first = await new Promise((resolve) => stream.once('data', () => resolve('data')).once('close', resolve));
    stream.destroy();
    return first !== 'data';
  };
  await until(isRefused, 10_000, () => 'its sessions are taken');
});

t.test('bad on a connection of its own', { skip: noRedis }, async (t) => {
  const setting = await start(t);
  const { asked, sessions } = await ownerOf(setting, t, (stream) => void setImmediate(() => stream.destroy()));
  await until(
    () => asked() > 3,
    10_000,
    () => 'it is not asked',
  );
  const stream = await sessions();
  stream.on('error', () => undefined).resume();
  stream.write(Buffer.concat([greeting(), BAD]));
  await until(
    () => NAME.test(setting.victim.said),
    10_000,
    () => setting.victim.said.slice(-500),
  );
  const before = asked();
  await quietFor(ALONE_MS);
  t.ok(asked() - before <= 1, `it was asked ${asked() - before} times more`);
});
