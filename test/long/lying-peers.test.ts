/**
 * Hostile machines of a cluster, and a hostile worker, beside a channel that the victim feeds itself. They have the secret and speak the link's protocol, and send each
 * member of each message at every boundary, by seed. The listener of that channel gets every byte, no process ends, and memory and answer times stay what they were
 * before. With LONG=1 for minutes (MINUTES=…), else for some seconds.
 */

import { readFileSync } from 'node:fs';
import t from 'tap';
import { startNode } from '../kit/cluster.js';
import { LyingMachine, LyingOwner, LyingWorker } from '../kit/liars.js';
import { isLong } from '../kit/long.js';
import { allAreWell, allHear, ClusterNode, FILE_SOURCE } from '../kit/nodes.js';
import { pause } from '../kit/pause.js';
import { Random } from '../kit/random.js';
import { noRedis, RedisServer } from '../kit/redis.js';
import { until } from '../kit/until.js';

const SECONDS = isLong ? 60 * Number.parseFloat(process.env['MINUTES'] ?? '3') : 40;
const CONTROL_SECONDS = isLong ? 30 : 10;
const CHANNELS = ['c0', 'c1', 'c2', 'c3'];
const SECRET = Buffer.from('a secret that all nodes of this test know');
const RENEW_MS = 200;
const ROUND_MS = 20;
/** Allowed growth: tapes of the hostile machines, and garbage. */
const MAX_GROWTH_MB = 400;

t.setTimeout(1000 * (2 * SECONDS + 300));

t.test('liars', { skip: noRedis }, async (t) => {
  const random = new Random();
  const redis = await RedisServer.start(t);
  const source = '{ type: encoder, password: demo-source }';
  const more = CHANNELS.map((key) => `      ${key}: { pushTokens: [demo-token], sources: [${source}] }\n`).join('');
  const victim = await ClusterNode.start(t, 'victim', redis, { sources: [FILE_SOURCE], workers: 2, more });
  const engine = (await startNode(t, redis.url, 'engine', { prefix: 'airsplice:' })).engine;
  const listeners = [victim.listen(), victim.listen(false)];
  await allHear(listeners, FILE_SOURCE);
  const pids = () => [...victim.pidsOf('hub'), ...victim.pidsOf('worker')].join();
  const before = pids();

  const control = await watch(victim, CONTROL_SECONDS, () => undefined);
  const url = `http://127.0.0.1:${victim.tapesPort}`;
  const owners = CHANNELS.map((key, i) => new LyingOwner(t, key, i, random));
  for (const owner of owners) await owner.start(SECRET, victim.port);
  const machine = new LyingMachine(random, 'live');
  const worker = new LyingWorker(random, victim.folder, CHANNELS[0]!);
  let renewedMs = 0;
  const found = await watch(victim, SECONDS, async () => {
    if (performance.now() - renewedMs > RENEW_MS) {
      renewedMs = performance.now();
      await Promise.all(owners.map((owner) => owner.renew(engine, victim.port)));
    }
    await Promise.all([machine.lie(url, 'live', { secret: SECRET, node: 'liar', url }), worker.lie()]);
  });

  const lies = `${owners.map(({ count }) => count)} of owners, ${machine.count} of machines, ${worker.count} of workers`;
  t.comment(`${lies}; ${found.text}; before ${control.text}`);
  const said = victim.said;
  t.equal(
    pids(),
    before,
    `seed ${random.seed}: no process has ended: ${said.match(/.*uncaught exception.*/)?.[0] ?? ''}`,
  );
  t.notMatch(said, /uncaught exception/, `seed ${random.seed}`);
  allAreWell(t, listeners, `seed ${random.seed}: the victim's own channel`);
  t.ok(owners.every(({ count }) => count > 5) && machine.count > 50 && worker.count > 50, lies);
  t.match(said, /machine (owner|liar)[^"]*: message /, 'machines are named');
  t.match(said, /worker 1[0-9]{6}: message /, 'workers are named');
  t.ok(found.mb - control.mb < MAX_GROWTH_MB, `${control.mb} MB, then ${found.mb}`);
  // Half of all answers, as others use the machine as well.
  t.ok(found.medianMs <= 3 * control.medianMs + 50, `${control.medianMs} ms, then ${found.medianMs}`);
  // It goes on as if nothing had been.
  const heard = listeners.map(({ player }) => player.audioBytes);
  await until(() => listeners.every(({ player }, i) => player.audioBytes > heard[i]! + 20_000), 10_000);
  const pushed = await fetch(`http://127.0.0.1:${victim.port}/metapush/live/demo-token?song=after`);
  t.equal(pushed.status, 200);
});

/** What it costs the victim. @param act again and again meanwhile */
async function watch(victim: ClusterNode, seconds: number, act: () => Promise<void> | void) {
  const times: number[] = [];
  const endMs = performance.now() + 1000 * seconds;
  const asking = (async () => {
    while (performance.now() < endMs) {
      const beganMs = performance.now();
      await fetch(`http://127.0.0.1:${victim.port}/metadata/channel/live.json`).then((answer) => answer.text());
      times.push(performance.now() - beganMs);
      await pause(100);
    }
  })();
  while (performance.now() < endMs) {
    await act();
    await pause(ROUND_MS);
  }
  await asking;
  times.sort((a, b) => a - b);
  const medianMs = Math.round(times[times.length >> 1]!);
  const mb = Math.max(...[...victim.pidsOf('hub'), ...victim.pidsOf('worker')].map(residentMb));
  return { medianMs, mb, text: `${medianMs} ms (longest ${Math.round(times.at(-1)!)}), ${mb} MB` };
}

function residentMb(pid: number): number {
  const [, kb] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kb) / 1024);
}
