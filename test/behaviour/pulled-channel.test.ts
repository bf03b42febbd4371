/** A channel that pulls its audio, at a whole server: on demand, when the server stops, and when the upstream comes back. */

import t from 'tap';
import { bestOfThree } from '../kit/best-of-three.js';
import { LoopDelay } from '../kit/loop-delay.js';
import { quietFor } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { Random } from '../kit/random.js';
import { atOnce, NODES, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { audioOf, isOnAir, patientRelayYaml, relayYaml, streamHead, Upstream } from '../kit/upstream.js';

/** Each machine pulls for itself. */
const PULLS = Math.max(1, NODES);
// They wait more than they compute.
t.jobs = atOnce(5);

t.test('on demand: 503 with Retry-After when the upstream never answers; connected only while asked for', async (t) => {
  const upstream = await Upstream.open(t);
  const options = ', onDemand: true, lingerSeconds: 0.5';
  const server = await startServer(t, relayYaml(upstream.url, options));
  let pulls = 0;
  const tookMs = await bestOfThree(1400, async () => {
    const late = new LoopDelay(t);
    const startMs = performance.now();
    const early = new Player(server.port, '/relay.mp3');
    await early.until(() => early.status !== 0);
    const ms = performance.now() - startMs;
    t.strictSame([early.status, early.headers.get('retry-after')], [503, '5']);
    t.ok(ms >= 990, `not before: ${ms} ms`);
    t.equal(upstream.sockets.length, ++pulls);
    await until(
      () => upstream.openSockets === 0,
      2000,
      () => 'after the linger',
    );
    early.close();
    return ms - late.totalMs;
  });
  t.ok(tookMs < 1400, `after ${tookMs} ms`);

  await server.reload(patientRelayYaml(upstream.url, options));
  const audio = audioOf(new Random(), 400);
  upstream.answer = (socket) => void socket.write(Buffer.concat([Buffer.from(streamHead()), audio]));
  const players = [1, 2, 3].map(() => new Player(server.port, '/relay.mp3'));
  for (const player of players) await player.until(() => player.audioBytes > 40_000, 3000);
  t.equal(upstream.sockets.length, pulls + 1, 'one connection for all');
  for (const player of players) player.close();
  const leftMs = performance.now();
  await until(() => upstream.openSockets === 0, 2000);
  t.ok(performance.now() - leftMs > 450, 'lingers');
  await server.app.stop();
  await quietFor(100);
  t.equal(upstream.sockets.length, pulls + 1);
});

t.test('stopping the server leaves no socket to an upstream', async (t) => {
  const upstream = await Upstream.open(t);
  upstream.answer = (socket) =>
    void socket.write(Buffer.concat([Buffer.from(streamHead()), audioOf(new Random(), 50)]));
  const server = await startServer(t, relayYaml(upstream.url));
  // Each machine has one: the first may have pulled anew while it waited for the second to start.
  await until(() => upstream.openSockets === PULLS && upstream.requestHeads.length >= PULLS, 10_000);
  await until(() => isOnAir(server.base), 2000);
  const pulls = upstream.sockets.length;
  await server.app.stop();
  await until(() => upstream.openSockets === 0, 500);
  // Longer than any pause before another try.
  await quietFor(300);
  t.equal(upstream.sockets.length, pulls);
});

t.test('an upstream that comes back does not bring back old audio', async (t) => {
  const upstream = await Upstream.open(t);
  const random = new Random();
  const [old, fresh] = [audioOf(random, 200), audioOf(random, 200)];
  upstream.answer = (socket) => {
    upstream.answer = (again) => again.destroy();
    socket.end(Buffer.concat([Buffer.from(streamHead()), old]));
  };
  const server = await startServer(
    t,
    relayYaml(upstream.url).replace('startTimeoutSeconds: 1', 'startTimeoutSeconds: 30, silenceSeconds: 1'),
  );
  // It has heard the end, and has come back.
  await until(() => upstream.requestHeads.length >= 2, 2000);
  // A listener that waits all the time must not get the tape of before.
  const player = new Player(server.port, '/relay.mp3', { keep: true });
  t.teardown(() => player.close());
  // Housekeeping lets go of the tape of a channel that is silent for a second, once a second.
  await quietFor(2200);
  t.equal(player.audioBytes, 0);
  upstream.answer = (socket) => void socket.write(Buffer.concat([Buffer.from(streamHead()), fresh]));
  await until(
    () => player.closed || player.audioBytes > 60_000,
    3000,
    () => `${player.audioBytes} bytes`,
  );
  const fresher = fresh.subarray(0, player.audioBytes).equals(player.audio);
  t.ok(fresher, 'the first byte is fresh audio');
});
