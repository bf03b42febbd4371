/** `feed.channelDelay` on the whole server: what readers of channels and stations get later, and what is not delayed. */

import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { bestOfThree } from '../kit/best-of-three.js';
import { LoopDelay } from '../kit/loop-delay.js';
import { quietFor } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { DEMO_AUDIO, metricsOf, startServer, type TestServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until, untilPromised } from '../kit/until.js';

const yaml = (delay: string) => `
addresses: [{ host: 127.0.0.1, port: 0 }]
feed: { channelDelay: ${delay} }
streams: { burstSeconds: 4 }
stations:
  demo: { channels: { demo: { bitrateKbps: 128, pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] } } }
`;

async function push(t: Test, base: string, query: string): Promise<void> {
  const answer = await fetch(`${base}/metapush/demo/demo-token?${query}`);
  t.match([answer.status, await answer.json()], [200, { type: query.includes('next') ? 'next' : 'now' }]);
}

/** What a WebSocket is sent, and when. */
function watch(t: Test, url: string): { readonly songs: string[]; readonly atMs: number[] } {
  const seen = { songs: [] as string[], atMs: [] as number[] };
  const socket = new WebSocket(url);
  socket.on('message', (data) => {
    const { type, song } = JSON.parse(String(data)) as { type: string; song: string };
    seen.songs.push(`${type} ${song}`);
    seen.atMs.push(performance.now());
  });
  t.teardown(() => socket.terminate());
  return seen;
}

async function songOf(url: string): Promise<string | undefined> {
  const answer = await fetch(url);
  if (answer.status === 204) return undefined;
  const body = (await answer.json()) as { song: string } | readonly { song: string }[];
  return (Array.isArray(body) ? body[0] : (body as { song: string }))?.song;
}

/** Of all machines: each counts what was pushed to it. */
async function published(server: TestServer): Promise<number> {
  const counts = (await metricsOf(server)).map((metrics) =>
    Number(/^airsplice_push_to_socket_seconds_count (\d+)/m.exec(metrics)?.[1]),
  );
  return counts.reduce((one, other) => one + other);
}

t.test('in seconds', async (t) => {
  const folder = tempFolder(t);
  const server = await startServer(t, yaml('2'), folder);
  const { app, base, ws } = server;
  const channel = `${base}/metadata/channel/demo.json`;
  const watchers = ['channel', 'station'].map((scope) => watch(t, `${ws}/metadata/${scope}/demo`));
  await push(t, base, 'song=One&tracktype=next');
  for (const { songs } of watchers) await until(() => songs.length > 0, 2000);
  await until(async () => (await published(server)) === 1, 2000);
  const pushedMs = performance.now();
  await push(t, base, 'song=One');
  await quietFor(1000);
  t.equal(await songOf(channel), undefined);
  t.equal(await songOf(`${channel}?type=next`), 'One', 'the next stays until then');
  const { etag } = Object.fromEntries((await fetch(`${channel}?type=next`)).headers);
  for (const { songs, atMs } of watchers) {
    await untilPromised(() => songs.length > 1, 4000);
    t.same(songs, ['next One', 'now One']);
    t.ok(atMs[1]! - pushedMs >= 1950, `${atMs[1]! - pushedMs} ms`);
  }
  // Each worker waits for itself: the one that answers may be a little later than that of the watchers.
  for (const url of [channel, `${base}/metadata/station/demo.json`]) {
    await until(async () => (await songOf(url)) === 'One', 1000);
  }
  const next = async () => (await fetch(`${channel}?type=next`, { headers: { 'If-None-Match': etag! } })).status;
  await until(async () => (await next()) === 204, 1000);
  t.equal(await published(server), 1, 'its push is not counted as one that was written to readers');

  await push(t, base, 'song=Two');
  t.match(await (await fetch(`${base}/metadata/channel/demo/history.json`)).json(), [{ song: 'Two' }, { song: 'One' }]);
  t.equal(await songOf(channel), 'One');
  await app.stop();
  const { base: again } = await startServer(t, yaml('2'), folder);
  t.equal(await songOf(`${again}/metadata/channel/demo.json`), 'Two', 'after a restart at once');
});

t.test('typical: when the listener hears it', async (t) => {
  // By the listeners of each machine.
  const { base, port } = (await startServer(t, yaml('typical'))).one;
  await push(t, base, 'song=One');
  t.equal(await songOf(`${base}/metadata/channel/demo.json`), 'One', 'without listeners at once');
  const early = new Player(port, '/demo');
  await early.until(({ audioBytes }) => audioBytes > 6 * 16_000);
  early.close();
  const player = new Player(port, '/demo');
  await player.until(({ audioBytes }) => audioBytes > 0);
  const lag = async () => {
    const metrics = await (await fetch(`${base}/metrics`)).text();
    return Number(/^airsplice_typical_lag_seconds\{channel="demo"\} ([\d.]+)/m.exec(metrics)?.[1]);
  };
  const listed = async () => {
    const status = (await (await fetch(`${base}/status-json.xsl`)).json()) as {
      icestats: { source: { typical_lag: number } };
    };
    return status.icestats.source.typical_lag;
  };
  // Asked at once they are answered by all processes, each of which hears of the others' listeners once a second.
  const listedByAll = () => Promise.all(Array.from({ length: 16 }, listed));
  await until(async () => (await listedByAll()).every((one) => one > 3), 15_000);
  const seconds = await lag();
  for (const one of new Set(await listedByAll())) t.ok(Math.abs(one - seconds) < 1.5, `${one}, ${seconds} s`);
  const tookMs = await bestOfThree(seconds * 1000 + 1500, async (attempt) => {
    const late = new LoopDelay(t);
    const pushedMs = performance.now();
    await push(t, base, `song=Two${attempt}`);
    await until(async () => (await songOf(`${base}/metadata/channel/demo.json`)) === `Two${attempt}`, 15_000);
    const ms = performance.now() - pushedMs;
    t.ok(ms > seconds * 1000 - 1500, `not before: ${ms} ms`);
    return ms - late.totalMs;
  });
  t.ok(tookMs < seconds * 1000 + 1500, `${tookMs} ms`);
  player.close();
});
