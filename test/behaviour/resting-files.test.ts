/** A file that nobody hears stands still, and who comes then finds the channel as if it had played: real sockets, also with workers. */

import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ADMIN_USERS, AdminClient } from '../kit/admin-client.js';
import { Feeder, framesIn } from '../kit/feeder.js';
import { quietFor } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { DEMO_AUDIO, demoYaml, NODES, startServer, type TestServer, WORKERS } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

t.jobs = 2;

const BURST_SECONDS = 10;
const YAML = demoYaml(`
      live: { bitrateKbps: 128, sources: [{ type: encoder, password: demo-source }] }
      held: { bitrateKbps: 128, delaySeconds: 3, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
streams: { burstSeconds: ${BURST_SECONDS}, hls: { enabled: true, segmentSeconds: 2 } }
sources: { restSeconds: 1 }
${ADMIN_USERS}`);
const AUDIO_BYTES = (128_000 / 8) * BURST_SECONDS;

/** Audio that has gone onto the channel's tapes. */
async function audioSeconds({ base }: TestServer, channel: string): Promise<number> {
  const text = await (await fetch(`${base}/metrics`)).text();
  const found = new RegExp(`^airsplice_audio_seconds_total\\{[^}]*channel="${channel}"[^}]*\\} (\\S+)`, 'm').exec(text);
  return Number(found?.[1] ?? Number.NaN);
}

async function rests(server: TestServer, channel: string): Promise<void> {
  let last = -1;
  await until(async () => {
    const now = await audioSeconds(server, channel);
    const isSame = now === last;
    last = now;
    await quietFor(600);
    return isSame;
  }, 20_000);
}

const skip = NODES > 0 && 'in a cluster files play on';

async function begin(t: Test): Promise<{ server: TestServer; admin: AdminClient }> {
  const server = await startServer(t, YAML);
  await until(async () => (await fetch(`${server.base}/demo`, { method: 'HEAD' })).status === 200, 10_000);
  await rests(server, 'demo');
  return { server, admin: new AdminClient(server) };
}

t.test('who joins gets a burst at once, with the title of now', { skip }, async (t) => {
  const { server, admin } = await begin(t);
  const { base, port } = server;
  const head = await fetch(`${base}/demo`, { method: 'HEAD', headers: { 'icy-metadata': '1' } });
  t.match([head.status, head.headers.get('content-type')], [200, 'audio/mpeg']);
  t.match((await admin.get('channels/demo')).body, { silentSinceMs: null });
  t.equal((await fetch(`${base}/metapush/demo/demo-token?song=Jóga`)).status, 200);

  for (let round = 1; round <= 2; round++) {
    const beganMs = performance.now();
    const player = new Player(port, '/demo', { keep: true });
    await player.until(({ audioBytes }) => audioBytes >= AUDIO_BYTES);
    t.ok(performance.now() - beganMs < BURST_SECONDS * 950, 'sooner than it plays');
    t.match(player.titles[0], { title: 'Jóga', atByte: player.metaint });
    await player.until(({ audioBytes }) => audioBytes >= 1.2 * AUDIO_BYTES);
    player.close();
    const { frames, skippedBytes } = framesIn(player.audio);
    t.ok(frames.length > 400);
    t.equal(skippedBytes, 0, 'whole frames, one behind the other');
    await rests(server, 'demo');
  }
  t.ok((await audioSeconds(server, 'held')) > 3, 'a delay line is fed');
});

t.test(
  'what nobody has heard yet plays no burst ahead, and is known; the first who joins gets one at once',
  { skip },
  async (t) => {
    const path = join(tempFolder(t), 'added.mp3');
    copyFileSync(DEMO_AUDIO, path);
    const added = `      added: { pushTokens: [demo-token], sources: [{ type: file, path: ${path} }] }\n`;
    const yaml = YAML.replace('restSeconds: 1 ', 'restSeconds: 3600 ');
    const server = await startServer(t, yaml);
    await server.reload(yaml.replace('      live:', `${added}      live:`));
    const { base, port } = server;
    const admin = new AdminClient(server);
    for (const channel of ['demo', 'added']) {
      await until(async () => (await fetch(`${base}/${channel}`, { method: 'HEAD' })).status === 200, 10_000);
      await until(async () => (await audioSeconds(server, channel)) > 2, 5000);
      const known = await audioSeconds(server, channel);
      await quietFor(1500);
      t.equal(await audioSeconds(server, channel), known, 'it rests');
      t.ok(known < 2.5, `${known} s: its bitrate is known`);
      const { headers } = await fetch(`${base}/${channel}`, { method: 'HEAD', headers: { 'icy-metadata': '1' } });
      t.match(
        Object.fromEntries(headers),
        { 'content-type': 'audio/mpeg', 'icy-br': '128', 'icy-metaint': '4000' },
        channel,
      );
      const { onAirSinceMs } = (await admin.get(`channels/${channel}`)).body;
      t.equal((await fetch(`${base}/metapush/${channel}/demo-token?song=Jóga`)).status, 200);
      const beganMs = performance.now();
      const player = new Player(port, `/${channel}`, { keep: true });
      await player.until(({ audioBytes }) => audioBytes >= AUDIO_BYTES);
      t.ok(performance.now() - beganMs < BURST_SECONDS * 950, 'sooner than it plays');
      t.match(player.titles[0], { title: 'Jóga', atByte: player.metaint });
      t.equal(framesIn(player.audio).skippedBytes, 0);
      player.close();
      t.equal((await admin.get(`channels/${channel}`)).body.onAirSinceMs, onAirSinceMs, 'it was on air all the time');
    }
  },
);

// Processes check that a file can be played before they start.
const skipLate = skip || (WORKERS > 0 && 'no file comes later');

t.test('who comes before the first frame gets a burst too', { skip: skipLate }, async (t) => {
  const path = join(tempFolder(t), 'late.mp3');
  writeFileSync(path, 'no audio yet');
  const late = `      late: { sources: [{ type: file, path: ${path} }] }\n`;
  const server = await startServer(t, YAML.replace('      live:', `${late}      live:`));
  const list = fetch(`${server.base}/late/hls/live.m3u8`);
  const player = new Player(server.port, '/late', { keep: true });
  await quietFor(500);
  copyFileSync(DEMO_AUDIO, path);
  await player.until(({ audioBytes }) => audioBytes > 0, 20_000);
  const beganMs = performance.now();
  await player.until(({ audioBytes }) => audioBytes >= AUDIO_BYTES);
  t.ok(performance.now() - beganMs < BURST_SECONDS * 950, 'sooner than it plays');
  player.close();
  await list;
});

t.test('HLS goes on for who asks', { skip }, async (t) => {
  const { server } = await begin(t);
  const segmentsMs = (list: string) =>
    [...list.matchAll(/#EXTINF:([\d.]+)/g)].map(([, seconds]) => Number(seconds) * 1000);
  let list = '';
  await until(async () => {
    const answer = await fetch(`${server.base}/demo/hls/live.m3u8`);
    t.equal(answer.status, 200);
    list = await answer.text();
    return segmentsMs(list).length >= 4;
  }, 5000);
  const beganMs = Date.parse(/#EXT-X-PROGRAM-DATE-TIME:(\S+)/.exec(list)?.[1] ?? '');
  const aheadMs = segmentsMs(list).reduce((endMs, ms) => endMs + ms, beganMs) - Date.now();
  t.ok(aheadMs < 1000, `dated as if it had played all the time: its end lies ${aheadMs} ms ahead`);
});

t.test('it stands in for a channel that has lost its audio', { skip }, async (t) => {
  const { server, admin } = await begin(t);
  t.equal((await admin.ask('PUT', 'channels/live/fallback', { to: '/demo.mp3' })).status, 200);
  const feeder = new Feeder(t, server.port, '/live').stream(t);
  await until(async () => (await admin.get('channels/live')).body.silentSinceMs === null, 8000);
  const player = new Player(server.port, '/live', { keep: true });
  await player.until(({ audioBytes }) => audioBytes >= AUDIO_BYTES);
  await rests(server, 'demo');
  feeder.socket.destroy();
  const before = player.audioBytes;
  await player.until(({ audioBytes }) => audioBytes >= before + 1.5 * AUDIO_BYTES, 25_000);
  t.notOk(player.closed);
  player.close();
});
