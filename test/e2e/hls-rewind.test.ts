/**
 * The rewind of HLS with real processes: what was cut is listed and there after the hub and after the whole server were killed, at whichever worker,
 * asked for or not. And hls.js in Chromium goes back in it to the beginning of a title, in a list of most of a day.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import t, { type Test } from 'tap';
import { otherOrigin } from '../kit/browser.js';
import { type ReadPlaylist, readPlaylist } from '../kit/hls-channel.js';
import { Machine, RESTARTED_MS } from '../kit/machine.js';
import { pause } from '../kit/pause.js';
import { freePort, ServerProcess } from '../kit/process.js';
import { missing } from '../kit/program.js';
import { LEFT_SECONDS, leaveRewind } from '../kit/rewind-log.js';
import { demoYaml, startServer } from '../kit/server.js';
import { StampedEncoder } from '../kit/stamped.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

// They sleep most of their time.
t.jobs = 2;

const yaml = (port: number) => `
addresses: [{ host: 127.0.0.1, port: ${port} }]
shutdown: { drainSeconds: 3 }
streams: { hls: { enabled: true, segmentSeconds: 2, window: 3, keep: 6, rewindHours: 1 } }
stations:
  house:
    channels:
      live: { bitrateKbps: 128, pushTokens: [studio-token], sources: [{ type: encoder, password: demo-source, lingerSeconds: 30 }] }
`;

/** At any worker. */
async function get(port: number, path: string): Promise<Response | null> {
  return await fetch(`http://127.0.0.1:${port}/live/hls/${path}`, { headers: { connection: 'close' } }).catch(
    () => null,
  );
}

/** The rewind, once it has so many segments. */
async function rewindOf(port: number, least: number): Promise<ReadPlaylist> {
  let rewind: ReadPlaylist | null = null;
  await until(
    async () => {
      const answer = await get(port, 'rewind.m3u8');
      if (answer?.status === 200) rewind = readPlaylist(await answer.text());
      return (rewind?.segments.length ?? 0) >= least;
    },
    RESTARTED_MS,
    () => `${rewind?.segments.length} segments of ${least}`,
  );
  return rewind!;
}

/** What was listed before stands as it was, and all of it is there. */
async function goesOn(t: Test, port: number, before: ReadPlaylist, now: ReadPlaylist, breaks: number): Promise<void> {
  t.equal(now.mediaSequence, before.mediaSequence);
  t.strictSame(now.segments.slice(0, before.segments.length), before.segments);
  t.equal(now.segments.filter(({ isDiscontinuity }) => isDiscontinuity).length, breaks);
  for (const { name } of now.segments) {
    const answer = await get(port, name);
    const bytes = (await answer?.arrayBuffer())?.byteLength ?? 0;
    t.ok(answer?.status === 200 && bytes > 1000, `${name}: ${answer?.status}, ${bytes} bytes`);
  }
}

t.test('a rolling restart is one of which the list says nothing', { timeout: 240_000 }, async (t) => {
  const machine = await Machine.start(t, yaml);
  const { port } = machine;
  new StampedEncoder(t, port, '/live', 'demo-source', 'mp3', 1);
  const before = await rewindOf(port, 6);
  machine.server.child.kill('SIGUSR2');
  await until(
    () => machine.logged('"restarted"') === 1,
    RESTARTED_MS,
    () => machine.news,
  );
  await goesOn(t, port, before, await rewindOf(port, before.segments.length + 6), 0);
});

t.test('the hub is killed: workers serve what there was, and the list goes on', { timeout: 240_000 }, async (t) => {
  const machine = await Machine.start(t, yaml);
  const { port } = machine;
  new StampedEncoder(t, port, '/live', 'demo-source', 'mp3', 1);
  // Nobody asks for the live list.
  await pause(8000);
  const before = await rewindOf(port, 6);
  process.kill(machine.pidsOf('hub')[0]!, 'SIGKILL');
  t.equal((await get(port, before.segments[0]!.name))?.status, 200, 'without a hub');
  await until(() => machine.pidsOf('hub').length === 1 && machine.logged('"process ready"') > 0, RESTARTED_MS);
  new StampedEncoder(t, port, '/live', 'demo-source', 'mp3', 2);
  const now = await rewindOf(port, before.segments.length + 6);
  const breaks = now.segments.filter(({ isDiscontinuity }) => isDiscontinuity).length;
  t.ok(breaks <= 1, 'the workers have given the tape back, or not');
  await goesOn(t, port, before, now, breaks);
});

t.test('kill -9 of one process: the list goes on behind EXT-X-DISCONTINUITY', { timeout: 240_000 }, async (t) => {
  const folder = tempFolder(t);
  const port = await freePort();
  const path = join(folder, 'config.yaml');
  writeFileSync(path, `data: { folder: ${join(folder, 'data')} }\n${yaml(port)}`);
  let server = new ServerProcess(t, port, [path], {});
  await server.ready();
  new StampedEncoder(t, port, '/live', 'demo-source', 'mp3', 1);
  const push = (song: string) => fetch(`${server.base}/metapush/live/studio-token?song=${song}`);
  await rewindOf(port, 2);
  await push('Before');
  await until(async () => (await rewindOf(port, 5)).titles.some(({ title }) => title === 'Before'), RESTARTED_MS);
  const before = await rewindOf(port, 10);
  await server.end('SIGKILL');
  server = new ServerProcess(t, port, [path], {});
  await server.ready();
  new StampedEncoder(t, port, '/live', 'demo-source', 'mp3', 2);
  const now = await rewindOf(port, before.segments.length + 5);
  await goesOn(t, port, before, now, 1);
  t.equal(now.titles.find(({ title }) => title === 'Before')?.startMs, before.titles.at(-1)!.startMs);
  await server.end('SIGTERM');
});

// biome-ignore-start lint/suspicious/noExplicitAny: the browser's own, which Node's types do not know
t.test(
  'hls.js in Chromium goes back to the beginning of a title, and to the live edge again',
  { skip: missing('chromium'), timeout: 180_000 },
  async (t) => {
    const folder = tempFolder(t);
    const left = 20_000;
    leaveRewind(join(folder, 'data'), 'demo', left, Date.now() - 60_000);
    const hls = `hls: { enabled: true, segmentSeconds: ${LEFT_SECONDS}, rewindHours: 24 }`;
    const server = await startServer(t, demoYaml(`streams: { ${hls} }`), folder);
    const script = readFileSync(new URL('../../node_modules/hls.js/dist/hls.light.min.js', import.meta.url));
    const origin = await otherOrigin(t, (request, response) => {
      response.writeHead(request.url === '/hls.js' ? 200 : 404, { 'Content-Type': 'text/javascript' });
      response.end(script);
    });
    const push = (song: string) => fetch(`${server.base}/metapush/demo/demo-token?song=${song}`);
    await pause(6000);
    await push('First');
    await pause(9000);
    await push('Second');
    const args = ['--no-sandbox', '--disable-gpu', '--autoplay-policy=no-user-gesture-required'];
    const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args });
    t.teardown(() => browser.close());
    const page = await browser.newPage();
    await page.goto(origin);
    await page.addScriptTag({ url: `${origin}/hls.js` });
    await page.evaluate((source) => {
      const { Hls, document } = globalThis as any;
      const audio = document.createElement('audio');
      const seen = { errors: [] as string[], stalls: 0, playing: '', segments: 0, edge: 0 };
      const hls = new Hls({ liveSyncDurationCount: 2 });
      let ranges: { atMs: number; title: string }[] = [];
      let details: any;
      hls.on(Hls.Events.LEVEL_UPDATED, (_: unknown, level: any) => {
        details = level.details;
        seen.segments = details.fragments.length;
        ranges = Object.values(details.dateRanges).map((range: any) => ({
          atMs: range.startDate.getTime(),
          title: range.attr['X-TITLE'],
        }));
      });
      hls.on(Hls.Events.ERROR, (_: unknown, { fatal, details }: any) => {
        if (fatal) seen.errors.push(details);
        else if (details === 'bufferStalledError') seen.stalls++;
      });
      setInterval(() => {
        const nowMs = hls.playingDate?.getTime() ?? 0;
        seen.playing = ranges.filter(({ atMs }) => atMs <= nowMs).sort((a, b) => b.atMs - a.atMs)[0]?.title ?? '';
        seen.edge = hls.latency;
      }, 50);
      const goTo = (title: string) => {
        const { atMs } = ranges.find((range) => range.title === title)!;
        const fragment = details.fragments.findLast((each: any) => each.programDateTime <= atMs);
        audio.currentTime = fragment.start + (atMs - fragment.programDateTime) / 1000 + 0.01;
      };
      const goLive = () => {
        audio.currentTime = hls.liveSyncPosition;
      };
      Object.assign(globalThis, { seen, goTo, goLive, audio });
      hls.loadSource(source);
      hls.attachMedia(audio);
      audio.play();
    }, `${server.base}/demo/hls/rewind.m3u8`);
    const seen = () => page.evaluate(() => (globalThis as any).seen);
    const plays = async () => {
      const at = () => page.evaluate(() => (globalThis as any).audio.currentTime as number);
      const from = await at();
      await until(async () => (await at()) > from + 2, 30_000);
    };
    await until(
      async () => (await seen()).playing === 'Second',
      60_000,
      () => 'at the live edge',
    );
    await plays();
    await page.evaluate(() => (globalThis as any).goTo('First'));
    await until(
      async () => (await seen()).playing === 'First',
      30_000,
      () => 'back',
    );
    await plays();
    const { edge } = await seen();
    t.ok(edge > 15, `${edge} s behind the live edge`);
    await until(
      async () => (await seen()).playing === 'Second',
      60_000,
      () => 'what came behind it',
    );
    await page.evaluate(() => (globalThis as any).goLive());
    await plays();
    const { errors, stalls, segments } = await seen();
    t.ok((await seen()).edge < 14, `${(await seen()).edge} s behind`);
    t.strictSame(errors, []);
    t.ok(segments > left);
    t.comment(`${segments} segments, ${stalls} stalls`);
  },
);
// biome-ignore-end lint/suspicious/noExplicitAny: the browser's own, which Node's types do not know
