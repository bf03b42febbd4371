/** `airsplice cluster`: what a machine knows of the others, as a table and as JSON, from the program itself. */

import t from 'tap';
import { clusterLines } from '../../src/cli/cluster-command.js';
import { airsplice } from '../kit/command-line.js';
import { ClusterNode } from '../kit/nodes.js';
import { noRedis, RedisServer } from '../kit/redis.js';
import { demoYaml, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { ask } from '../kit/wire.js';

t.setTimeout(120_000);

t.test('two machines, one with a file; then without Redis', { skip: noRedis }, async (t) => {
  const redis = await RedisServer.start(t);
  const [a] = await Promise.all([
    ClusterNode.start(t, 'a', redis, { sources: [900] }),
    ClusterNode.start(t, 'b', redis, { mayFeed: false, delaySeconds: 2 }),
  ]);
  const run = (more: readonly string[] = []) => airsplice(['cluster', '--url', `http://127.0.0.1:${a.port}`, ...more]);
  await until(
    async () => / b +\d/.test((await run()).out.replace(/\n/g, ' ')),
    10_000,
    () => 'b is not known',
  );
  await until(
    async () => (await run()).out.includes('\nwarning: channel live: delaySeconds is 0 here, 2 at b\n'),
    10_000,
    () => 'it is not said what differs',
  );
  const named = a.said
    .split('\n')
    .filter((line) => line.includes('two machines have different settings for a channel'));
  t.equal(named.length, 1, 'and once in the log');
  t.match(JSON.parse(named[0]!), { channel: 'live', option: 'delaySeconds', node: 'b', here: '0', there: '2' });
  const { code, out, err } = await run();
  t.strictSame({ code, err }, { code: 0, err: '' });
  t.match(
    out,
    /^a: ready\nRedis: reachable, up to date \d\.\d s ago; change \d+; 0 waiting; the clock of this machine is -?\d\.\d+ s ahead\n/,
  );
  t.match(out, /\nMACHINE +SEEN\n/);
  t.match(out, /\nCHANNEL +FED BY +EPOCH {2}HERE\nlive +a +\d+ {2}owning\n$/);
  t.match(JSON.parse((await run(['--json'])).out), {
    ready: true,
    node: 'a',
    channels: [{ channelkey: 'live', owner: 'a' }],
  });
  const metrics = await ask(t, a.port, 'GET /metrics HTTP/1.1');
  t.match(metrics.body, /^airsplice_cluster_reached(\{[^}]*\})? 1$/m);
  t.match(metrics.body, /^airsplice_cluster_owner_epoch\{[^}]*node="a"[^}]*\} \d+$/m);
  await redis.kill();
  t.equal((await ask(t, a.port, 'GET /metapush/live/demo-token?song=x HTTP/1.1')).status, 200);
  await until(
    async () => (await run()).out.includes('Redis: unreachable'),
    5000,
    () => 'it is not said',
  );
  t.match((await run()).out, /; 1 waiting;/);
  t.equal((await run()).code, 0, 'it serves');
});

t.test('a server that is alone says so', async (t) => {
  const { base } = await startServer(t, demoYaml());
  t.strictSame(await airsplice(['cluster', '--url', base]), {
    code: 1,
    out: '',
    err: 'airsplice: this server is not in a cluster\n',
  });
});

t.test('names of others do not reach the terminal as they are', async (t) => {
  const log = { place: 'Redis', reached: false, behindSeconds: 3, clockSeconds: 0, waitingChanges: 2, position: 7 };
  const channels = [{ channelkey: 'live', owner: '', epoch: 0, phase: 'following' }];
  const lines = clusterLines({
    ready: false,
    node: 'x\u001b[2J',
    log,
    nodes: [{ node: '\u0007', seenSeconds: 1 }],
    channels,
  });
  t.notMatch(lines.join(''), /[\u0000-\u001f]/);
  t.match(lines, [/not ready/, /unreachable for 3\.0 s/, '', /MACHINE/, /1\.0 s/, '', /CHANNEL/, /–/]);
});
