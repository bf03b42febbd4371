/**
 * The clock of one of two machines is wrong, ahead and behind, and is set while it runs (libfaketime; the monotonic clock is right). Readers of all kinds get the
 * same titles in the same order at both machines, without delay; the log and /readyz?cluster name the clock.
 */

import t from 'tap';
import { FAKETIME_LIBRARY, settableClock } from '../kit/faked-clock.js';
import { isLong } from '../kit/long.js';
import { ClusterNode } from '../kit/nodes.js';
import { Player } from '../kit/player.js';
import { noRedis, RedisServer } from '../kit/redis.js';
import { StampedEncoder } from '../kit/stamped.js';
import { until, untilPromised } from '../kit/until.js';
import { ask, Watching } from '../kit/wire.js';

const DAY_S = 86_400;
/** Seconds beside the true time, one after the other; it starts with the first. */
const SKEWS = isLong ? [600, -600, 1, -1, 60, -60, 0, DAY_S, -DAY_S, 0] : [600, -60, DAY_S, 0];
/** From a push to the last reader: a listener is sent a title with what comes next, and a player reads a few seconds ahead of it. */
const HEARD_MS = 15_000;
const NO_FAKETIME = FAKETIME_LIBRARY === undefined && 'no libfaketime here';

interface Report {
  readonly ready: boolean;
  readonly log: { readonly clockSeconds: number };
  readonly warnings: readonly string[];
}

t.test('one of two clocks is wrong', { skip: noRedis || NO_FAKETIME, timeout: 280_000 }, async (t) => {
  const redis = await RedisServer.start(t);
  const { env, set } = settableClock(t, SKEWS[0]!);
  const [wrong, right] = await Promise.all([
    ClusterNode.start(t, 'wrong', redis, { env }),
    ClusterNode.start(t, 'right', redis),
  ]);
  const nodes = [wrong, right];
  const encoder = new StampedEncoder(t, wrong.port, '/live', 'demo-source', 'mp3', 1);
  await until(
    () => encoder.isTaken,
    10_000,
    () => `no answer: ${encoder.answer} ${wrong.said}`,
  );
  const readers: { readonly name: string; songs(): readonly string[] }[] = [];
  for (const [i, { port, name, ws }] of nodes.entries()) {
    const hasAudio = async () => (await ask(t, port, 'GET /readyz?channels=live HTTP/1.1')).status === 200;
    await until(hasAudio, 5000, () => `${name} has no audio`);
    const metaid = `11111111-2222-4333-8444-00000000000${i}`;
    const player = new Player(port, `/live?metaid=${metaid}`, { keep: true });
    t.teardown(() => player.close());
    const channel = new Watching(t, `${ws}/metadata/channel/live`);
    // At the other machine than it plays at.
    const listener = new Watching(t, `${nodes[1 - i]!.ws}/metadata/listener/${metaid}?sync=wire`);
    await Promise.all([channel.opened(), listener.opened()]);
    readers.push({ name: `player at ${name}`, songs: () => player.titles.map(({ title }) => title) });
    for (const [kind, watching] of Object.entries({ channel, listener }))
      readers.push({
        name: `${kind} at ${name}`,
        songs: () => watching.songs.flatMap((song) => (song.startsWith('now ') ? [song.slice(4)] : [])),
      });
  }
  await until(() => wrong.said.includes('the clock of this machine differs from the clock of the cluster'), 5000);
  const { body: metrics } = await ask(t, wrong.port, 'GET /metrics HTTP/1.1');
  const [, seconds] = /^airsplice_cluster_clock_seconds (-?[\d.]+)/m.exec(metrics) ?? [];
  t.ok(Math.abs(Number(seconds) - SKEWS[0]!) < 5, `a metric has its sign, too: ${seconds}`);

  const pushed: string[] = [];
  for (const [i, skew] of SKEWS.entries()) {
    t.comment(`${skew} s`);
    set(skew);
    for (const [j, { port, name }] of [wrong, right, right, wrong].entries()) {
      const song = `${i}-${j}-at-${name}`;
      pushed.push(song);
      const answer = await ask(t, port, `GET /metapush/live/demo-token?song=${song} HTTP/1.1`);
      t.equal(answer.status, 200, song);
      const { start_timestamp } = JSON.parse(answer.body) as { start_timestamp: number };
      t.ok(Math.abs(start_timestamp - Date.now() / 1000) < 10, `${song}: by the clock of all, ${start_timestamp}`);
      for (const reader of readers)
        await untilPromised(
          () => reader.songs().at(-1) === song,
          HEARD_MS,
          () => `${reader.name} does not get ${song}: ${reader.songs().join(' ')}`,
        );
    }
    const report = JSON.parse((await ask(t, wrong.port, 'GET /readyz?cluster HTTP/1.1')).body) as Report;
    t.equal(report.ready, true);
    t.ok(Math.abs(report.log.clockSeconds - skew) < 0.5, `it says ${report.log.clockSeconds}`);
    const says = report.warnings.some((warning) => warning.startsWith('the clock of this machine is'));
    t.equal(says, skew !== 0, `${report.warnings}`);
  }
  for (const reader of readers)
    t.strictSame(
      reader.songs().filter((song) => pushed.includes(song)),
      pushed,
      `${reader.name}: each once, in order`,
    );
  await until(() => wrong.said.includes('the clock of this machine agrees with the clock of the cluster again'), 5000);
  t.notMatch(right.said, /the clock of this machine/, 'the right one says nothing');
  const plays = await Promise.all(
    nodes.map(async ({ port }) => {
      const { body } = await ask(t, port, 'GET /metadata/channel/live/history.json?limit=200 HTTP/1.1');
      return (JSON.parse(body) as { song: string; from: string; to: string | null }[]).map(({ song, from, to }) => ({
        song,
        from,
        to,
      }));
    }),
  );
  t.strictSame(plays[0], plays[1], 'the histories are the same');
  t.strictSame(
    plays[0]!.map(({ song }) => song),
    [...pushed].reverse(),
  );
});
