/**
 * `attach` with the real hls.js in Chromium: titles when they are heard, on the lock screen too, a pause that ends the download, a restart of the server.
 * And the page at `/`, which plays HLS where the stream does not play, and loads hls.js only then.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { ADMIN_USERS, AdminClient } from '../kit/admin-client.js';
import { otherOrigin } from '../kit/browser.js';
import { AUDIO } from '../kit/listener-page.js';
import { pause, quietFor } from '../kit/pause.js';
import { freePort, ServerProcess } from '../kit/process.js';
import { missing } from '../kit/program.js';
import { demoYaml, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';
import { Watching } from '../kit/wire.js';

// They sleep most of their time.
t.jobs = 4;

const SKIP = missing('chromium');
const HLS = 'streams: { hls: { enabled: true, segmentSeconds: 2 } }';
const SCRIPT = readFileSync(new URL('../../node_modules/hls.js/dist/hls.light.min.mjs', import.meta.url));

/** A page, and the paths of what it has asked for. */
async function openPage(t: Test, url: string) {
  const args = ['--no-sandbox', '--disable-gpu', '--mute-audio', '--autoplay-policy=no-user-gesture-required'];
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args });
  t.teardown(() => browser.close());
  const page = await browser.newPage();
  const asked: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => message.text().includes('Content Security') && complaints.push(message.text()));
  return { page, asked, complaints, open: () => page.goto(url) };
}

/** Presses play of the page's first channel. */
async function playIn(page: Page): Promise<void> {
  await page.locator('.lit .play').first().click();
}

async function push(base: string, song: string, more = ''): Promise<void> {
  const answer = await fetch(`${base}/metapush/demo/demo-token?artist=A&song=${song}${more}`);
  if (answer.status !== 200) throw new Error(`push: ${answer.status}`);
}

interface Heard {
  readonly calls: readonly string[];
  /** Of what was heard: milliseconds behind its date. */
  readonly lateMs: readonly number[];
  readonly system: { readonly title: string; readonly artist: string; readonly state: string };
}

function attachIn(page: Page, origin: string, base: string, query = '', settings = {}): Promise<void> {
  return page.evaluate(`(async () => {
    const [{ attach }, { default: Hls }] = await Promise.all([import('${base}/client.js'), import('${origin}/hls.js')]);
    const audio = document.body.appendChild(document.createElement('audio'));
    window.calls = [];
    window.lateMs = [];
    let hls;
    class Seen extends Hls {
      constructor(config) {
        super({ ...config, ...${JSON.stringify(settings)} });
        hls = this;
      }
    }
    window.attachment = attach(audio, '${base}/demo.mp3/hls.m3u8${query}', {
      Hls: Seen,
      onNow: ({ song, startMs }) => {
        calls.push(song);
        lateMs.push(hls.playingDate.getTime() - startMs);
      },
      onNext: (record) => calls.push('next ' + (record?.song ?? 'none')),
      onState: (state) => calls.push('(' + state + ')'),
    });
    await attachment.play();
  })()`);
}

function heardIn(page: Page): Promise<Heard> {
  return page.evaluate(`(() => {
    const { metadata, playbackState } = navigator.mediaSession ?? {};
    const { title = '', artist = '' } = metadata ?? {};
    return { calls, lateMs, system: { title, artist, state: playbackState } };
  })()`);
}

/** The origin of a page that has hls.js. */
function scriptOrigin(t: Test): Promise<string> {
  return otherOrigin(t, (request, response) => {
    response.writeHead(request.url === '/hls.js' ? 200 : 404, { 'Content-Type': 'text/javascript' });
    response.end(SCRIPT);
  });
}

t.test('attach with hls.js, as a private listener', { skip: SKIP, timeout: 120_000 }, async (t) => {
  const server = await startServer(t, demoYaml(`${HLS}\n${ADMIN_USERS}`));
  const { base } = server;
  const origin = await scriptOrigin(t);
  const { page, complaints, open } = await openPage(t, origin);
  await open();
  const times = async (song: string) => (await heardIn(page)).calls.filter((call) => call === song).length;
  await push(base, 'first');
  await attachIn(page, origin, base, '?metaid=mine');
  await until(async () => (await times('first')) > 0, 40_000);
  const admin = new AdminClient(server);
  const listeners = async () => (await admin.get('listeners')).body.listeners;
  t.match(await listeners(), [{ hls: true, metaid: 'm…', mount: '/demo.mp3' }]);
  const feed = await new Watching(t, `${server.ws}/metadata/listener/mine?sync=audio`).opened();
  const said = (song: string) => feed.records.some((record) => record.song === song);
  await push(base, 'second');
  let [shownMs, saidMs] = [0, 0];
  const isBoth = async () => {
    if (saidMs === 0 && said('second')) saidMs = performance.now();
    if (shownMs === 0 && (await times('second')) > 0) shownMs = performance.now();
    return shownMs > 0 && saidMs > 0;
  };
  await until(isBoth, 40_000, undefined, 10);
  t.comment(`the feed says it ${Math.round(saidMs - shownMs)} ms after the page`);
  t.ok(Math.abs(saidMs - shownMs) < 1000, 'the feed says what is heard when it is');
  await admin.delete(`listeners/${(await listeners())[0].id}`);
  await until(async () => (await times('second')) > 1, 40_000);
  t.equal((await listeners()).length, 1, 'it has begun anew');
  t.strictSame(complaints, []);
});

t.test('attach with hls.js', { skip: SKIP, timeout: 180_000 }, async (t) => {
  const yaml = demoYaml(HLS, await freePort());
  let server = await startServer(t, yaml);
  const origin = await scriptOrigin(t);
  const { page, asked, complaints, open } = await openPage(t, origin);
  await open();
  let heard: Heard | null = null;
  const has = async (song: string, count = 1) => {
    const isHeard = async () => {
      heard = await heardIn(page);
      return heard.calls.filter((call) => call === song).length >= count;
    };
    await until(isHeard, 40_000, () => `no ${song} in: ${heard?.calls}`);
  };
  await push(server.base, 'first');
  await attachIn(page, origin, server.base);
  await has('first');
  await push(server.base, 'second');
  await has('next second');
  await push(server.base, 'wrong', '&id=third');
  await pause(1200);
  await push(server.base, 'right', '&id=third');
  await has('right');
  const { calls } = heard!;
  t.strictSame(calls.slice(0, 2), ['(connecting)', '(playing)']);
  t.strictSame(
    calls.filter((call) => !/^(next|\()/.test(call)),
    ['first', 'second', 'right'],
    'in order, and never the wrong one',
  );
  t.ok(calls.lastIndexOf('next none') > calls.indexOf('right'));
  t.comment(`behind their dates: ${heard!.lateMs.slice(1).map(Math.round).join(', ')} ms`);
  for (const ms of heard!.lateMs.slice(1)) t.ok(ms >= -5 && ms < 250, `${ms} ms behind its date`);
  t.match(heard!.system, { title: 'right', artist: 'A', state: 'playing' });

  await page.evaluate("document.querySelector('audio').pause()");
  await has('(stopped)');
  t.match((await heardIn(page)).system, { title: '', state: 'paused' });
  await quietFor(500);
  const before = asked.length;
  await quietFor(3000);
  t.equal(asked.length, before, 'nothing more is loaded');
  await page.evaluate('attachment.play()');
  await has('right', 2);

  await server.app.stop();
  await has('(retrying)');
  server = await startServer(t, yaml, server.folder);
  await has('right', 3);
  t.strictSame(complaints, []);
});

t.test(
  'attach with hls.js: kill -9, and a start three seconds later, are not heard',
  { skip: SKIP, timeout: 240_000 },
  async (t) => {
    const folder = tempFolder(t);
    const port = await freePort();
    const path = join(folder, 'config.yaml');
    const hls = 'streams: { hls: { enabled: true, segmentSeconds: 4 } }';
    writeFileSync(path, demoYaml(`${hls}\ndata: { folder: ${join(folder, 'data')} }`, port));
    const start = async () => {
      const server = new ServerProcess(t, port, [path], {});
      await server.ready();
      return server;
    };
    const server = await start();
    const { base } = server;
    const list = async () => (await fetch(`${base}/demo.mp3/hls/live.m3u8`)).text();
    await until(async () => ((await list()).match(/#EXTINF/g)?.length ?? 0) > 3, 60_000);
    const origin = await scriptOrigin(t);
    const { page, asked, open } = await openPage(t, origin);
    await open();
    // Without a network a browser says that it is offline, and then hls.js requests again by itself.
    await page.evaluate("Object.defineProperty(navigator, 'onLine', { get: () => true })");
    await attachIn(page, origin, base, '', { liveSyncDurationCount: 3 });
    await page.evaluate(`(() => {
      const audio = document.querySelector('audio');
      let [seconds, ms] = [0, 0];
      window.stillMs = 0;
      setInterval(() => {
        if (audio.currentTime === seconds) stillMs += performance.now() - ms;
        [seconds, ms] = [audio.currentTime, performance.now()];
      }, 20);
    })()`);
    const number = (expression: string) => page.evaluate(expression).then(Number);
    const seconds = () => number("document.querySelector('audio').currentTime");
    const hasPlayed = (count: number, from: number) => until(async () => (await seconds()) > from + count, 60_000);
    await hasPlayed(5, await seconds());
    const [from, stillMs] = [await seconds(), await number('stillMs')];
    // What is to come next is asked for while nobody answers, and hls.js by itself gives up three seconds later.
    const lists = () => asked.filter((url) => url.endsWith('/live.m3u8')).length;
    const before = lists();
    await until(() => lists() > before, 30_000, undefined, 10);
    await pause(3700);
    await server.end('SIGKILL');
    await pause(3000);
    const next = await start();
    await hasPlayed(25, from);
    const silentMs = (await number('stillMs')) - stillMs;
    t.comment(`${Math.round(silentMs)} ms without sound`);
    t.ok(silentMs <= 1000, `${silentMs} ms without sound`);
    const states = (await heardIn(page)).calls.filter((call) => call.startsWith('('));
    t.notOk(states.includes('(retrying)') || states.includes('(failed)'), `${states}`);
    await next.end('SIGTERM');
  },
);

t.test('the page: hls.js is loaded where the stream does not play', { skip: SKIP, timeout: 120_000 }, async (t) => {
  const { base } = await startServer(t, demoYaml(HLS));
  await push(base, 'first');
  const { page, asked, complaints, open } = await openPage(t, base);
  const shown = (selector: string) => page.locator(selector).first().textContent();
  const shows = (selector: string, text: string) =>
    until(
      async () => (await shown(selector)) === text,
      40_000,
      () => `${selector} does not show ${text}`,
      100,
    );
  await open();
  await playIn(page);
  await shows('.status-text', 'You are listening');
  await shows('.song', 'first');
  t.ok(asked.includes('/demo.mp3'), 'the stream');
  t.notOk(
    asked.some((path) => /hls/.test(path) && !path.startsWith('/web/client/')),
    'no HLS',
  );

  await page.route('**/demo.mp3?metaid=*', (route) => route.abort());
  await open();
  asked.length = 0;
  await playIn(page);
  await shows('.status-text', 'You are listening');
  await shows('.song', 'first');
  for (const path of ['/demo.mp3', '/web/hls.js', '/demo.mp3/hls.m3u8', '/demo.mp3/hls/live.m3u8'])
    t.ok(asked.includes(path), path);
  await push(base, 'second');
  await shows('.song', 'second');
  t.ok(Number(await page.evaluate(`${AUDIO}.currentTime`)) > 0);
  await page.locator('.play').first().click();
  await shows('.status-text', 'On air');
  t.strictSame(complaints, []);
});

t.test('the page: an HLS that does not play gives way to the stream', { skip: SKIP, timeout: 120_000 }, async (t) => {
  const { base } = await startServer(t, demoYaml(HLS));
  await push(base, 'first');
  const { page, asked, open } = await openPage(t, base);
  // As Safari says it, which prefers HLS.
  await page.addInitScript('HTMLMediaElement.prototype.getStartDate = () => new Date(NaN)');
  await page.route('**/hls.m3u8', (route) => route.fulfill({ status: 404 }));
  await open();
  await playIn(page);
  await until(async () => (await page.locator('.status-text').first().textContent()) === 'You are listening', 40_000);
  t.ok(asked.includes('/demo.mp3/hls.m3u8'), 'it was tried');
  t.notOk(asked.includes('/web/hls.js'), 'by the browser itself');
});
