/**
 * The pages for listeners in Chromium, before the whole server: what a listener hears is what it reads, off air is off air and is over by itself,
 * nothing that others chose becomes an element. And what a page costs: bytes, shifts, findings of axe.
 */

import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { AXE, findings } from '../kit/axe.js';
import { otherOrigin } from '../kit/browser.js';
import { Feeder } from '../kit/feeder.js';
import { FIREFOX, Firefox } from '../kit/firefox.js';
import { AUDIO, openListenerPage, pushTrack, SKIP, saysOnAir, shows } from '../kit/listener-page.js';
import { pause } from '../kit/pause.js';
import { freePort } from '../kit/process.js';
import { missing } from '../kit/program.js';
import { DEMO_AUDIO, demoYaml, startServer } from '../kit/server.js';
import { patient, until, untilPromised } from '../kit/until.js';
import { ask } from '../kit/wire.js';

const COVERS = new URL('../../config/demo/covers', import.meta.url).pathname;
const PHONE = { viewport: { width: 390, height: 844 } };
const DESK = { viewport: { width: 1280, height: 800 } };
const MAX_WIRE_BYTES = 60 * 1024;
const HOSTILE = '<img src=x onerror="document.title=1"><script>alert(1)</script>';

const YAML = `
addresses: [{ host: 127.0.0.1, port: 0 }]
page: { text: The coast at night, accent: '#7a1fa2', frameAncestors: ['*'], links: [{ text: Shows, url: 'https://wave.example/' }] }
streams: { startTimeoutSeconds: 1, silenceSeconds: 1 }
stations:
  wave:
    name: Radio Wave
    channels:
      demo: { name: Demo, description: A file, mounts: [/demo.mp3], pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      live: { name: Live, sources: [{ type: encoder, password: demo-source }] }
      full: { name: Full, maxListeners: 1, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      club: { name: Club, access: signed, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
signedUrls: { keys: [env:STATION_PAGE_KEY] }
`;
process.env['STATION_PAGE_KEY'] = 'a key that is as long as it has to be';

const press = (page: Page) => page.locator('.play').first().click();
const stateOf = (page: Page): Promise<string> => page.evaluate(`document.querySelector('airsplice-player').state`);

async function becomes(t: Test, page: Page, state: string, withinMs = 10_000): Promise<void> {
  let seen = '';
  await until(
    async () => (seen = await stateOf(page)) === state,
    withinMs,
    () => `it is ${seen}, not ${state}`,
    50,
  );
  t.equal(seen, state);
}

/** Runs in the page. */
async function axeFindings(source: string): Promise<string[]> {
  new Function(source)();
  // biome-ignore lint/suspicious/noExplicitAny: axe's own
  const { violations } = await (globalThis as any).axe.run();
  return violations.map(({ id }: { id: string }) => id);
}

t.test('titles arrive as text, hostile and long ones too', { skip: SKIP }, async (t) => {
  const { base } = await startServer(t, demoYaml());
  await saysOnAir(base);
  await pushTrack(base, { artist: 'Nina Simone', song: 'Sinnerman' });
  const { page, complaints } = await openListenerPage(t, base);
  await shows(page, '.song', 'Sinnerman');
  await shows(page, '.artist', 'Nina Simone');
  await pushTrack(base, { song: 'Coming <b>up</b>', tracktype: 'next' });
  await pushTrack(base, { artist: HOSTILE, song: HOSTILE, cover: 'javascript:alert(1)' });
  await shows(page, '.song', HOSTILE);
  await shows(page, '.artist', HOSTILE);
  await shows(page, '.next bdi', 'Coming <b>up</b>');
  t.equal(await page.locator('.player :is(script, b)').count(), 0, 'nothing became an element');
  t.equal(await page.locator('.picture').count(), 0, 'what is no web address is no cover');
  const heightOf = () => page.evaluate(`document.querySelector('airsplice-player').offsetHeight`);
  const height = await heightOf();
  await pushTrack(base, { artist: 'x'.repeat(500), song: 'Wörter '.repeat(70), cover: 'http://127.0.0.1:1/c.png' });
  await page.locator('.picture').first().waitFor({ state: 'attached' });
  t.equal(await heightOf(), height, 'a long title takes no more room');
  t.equal(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'), 0);
  t.strictSame(complaints, []);
});

t.test(
  'the one title is what this listener hears; a stop ends the download',
  { skip: SKIP, timeout: patient(60_000) },
  async (t) => {
    const { base, port, ws } = await startServer(t, demoYaml());
    await saysOnAir(base);
    await pushTrack(base, { artist: 'A', song: 'on air before', cover: 'http://127.0.0.1:1/c.png' });
    const sockets: string[] = [];
    const { page, asked, complaints } = await openListenerPage(t, `${base}/listen/demo`, {}, async (each) => {
      each.on('websocket', (socket) => sockets.push(socket.url()));
    });
    await shows(page, '.status-text', 'On air');
    await press(page);
    await becomes(t, page, 'playing', 30_000);
    const metaid = new URL(asked.find((url) => url.includes('/demo.mp3?'))!).searchParams.get('metaid')!;
    t.match(metaid, /^[0-9a-f]{32}$/);
    t.ok(sockets.includes(`${ws}/metadata/listener/${metaid}?sync=wire`), 'the listener feed is open');
    await shows(page, '.song', 'on air before');
    await until(async () => (await page.evaluate('navigator.mediaSession.metadata !== null')) === true, 10_000);
    const { title, artist, artwork } = (await page.evaluate(`(() => {
      const { title, artist, artwork } = navigator.mediaSession.metadata;
      return { title, artist, artwork: artwork.map(({ src }) => src) };
    })()`)) as Record<string, unknown>;
    t.strictSame([title, artist, artwork], ['on air before', 'A', ['http://127.0.0.1:1/c.png']], 'the lock screen');
    await page.locator('summary').first().click();
    await page.evaluate(`{
    const [shown, audio] = [document.querySelector('airsplice-player').shadowRoot.querySelector('.song'), ${AUDIO}];
    const look = () => {
      if (shown.textContent === 'pushed meanwhile') globalThis.heardMs ??= audio.currentTime * 1000;
    };
    new MutationObserver(look).observe(shown, { childList: true, characterData: true, subtree: true });
    let lastMs = performance.now();
    globalThis.heldUpMs = 0;
    setInterval(() => {
      if (globalThis.heardMs === undefined) globalThis.heldUpMs = Math.max(heldUpMs, performance.now() - lastMs);
      lastMs = performance.now();
    }, 20);
  }`);
    await pushTrack(base, { artist: 'B', song: 'pushed meanwhile' });
    const isLive = async () =>
      /^Live \d+ s ago: B - pushed meanwhile$/.test((await page.locator('details p').nth(1).textContent()) ?? '');
    await until(isLive, 10_000, () => 'the details do not say what is live', 50);
    t.equal(await page.locator('.song').first().textContent(), 'on air before', 'it is not heard yet');
    await shows(page, '.song', 'pushed meanwhile', 30_000);
    const heard = Number(await page.evaluate('heardMs'));
    const heldUpMs = Number(await page.evaluate('heldUpMs'));
    const record = async () => JSON.parse((await ask(t, port, `GET /metadata/listener/${metaid}.json HTTP/1.1`)).body);
    await until(
      async () => (await record()).song === 'pushed meanwhile',
      5000,
      () => 'the server does not say that B is heard',
      50,
    );
    const { position } = await record();
    const facts = `shown at ${heard} ms of audio, stands at ${position}, held up ${heldUpMs} ms`;
    t.ok(heard >= Number(position) - 4 && heard < Number(position) + 1000 + 2 * heldUpMs, facts);
    t.match(await page.title(), 'B - pushed meanwhile');
    await shows(page, '.history .line', 'on air before');

    await press(page);
    await becomes(t, page, 'ready');
    const playing = async () =>
      /airsplice_listeners\{channel="demo"\} (\d+)/.exec((await ask(t, port, 'GET /metrics HTTP/1.1')).body)?.[1];
    await until(
      async () => (await playing()) === '0',
      5000,
      () => 'a listener is left',
      50,
    );
    t.strictSame(complaints, []);
  },
);

t.test('the lock screen has a picture of the folder of covers, which the page fetches', { skip: SKIP }, async (t) => {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const yaml = demoYaml(`streams: { publicUrl: '${origin}' }`, port);
  const covers = `mounts: [/demo.mp3]\n        covers: { folder: '${COVERS}' }`;
  const { base } = await startServer(t, yaml.replace('mounts: [/demo.mp3]', covers));
  await saysOnAir(base);
  const { page, complaints } = await openListenerPage(t, `${base}/listen/demo`);
  await press(page);
  await becomes(t, page, 'playing', 30_000);
  const lockScreen = async () => {
    const text = await page.evaluate(`(async () => {
      const { title, artwork } = navigator.mediaSession.metadata ?? { title: '', artwork: [] };
      const sizeOf = (src) => new Promise((resolve) => {
        const image = new Image();
        image.onload = image.onerror = () => resolve(image.naturalWidth);
        image.src = src;
      });
      return JSON.stringify({ title, pictures: await Promise.all(artwork.map(async ({ src }) => [src, await sizeOf(src)])) });
    })()`);
    return JSON.parse(text as string) as { readonly title: string; readonly pictures: readonly [string, number][] };
  };
  const seen = new Set<string>();
  for (const id of ['first-light', 'carrier-wave', 'first-light']) {
    await pushTrack(base, { artist: 'A', song: id, id });
    let now = await lockScreen();
    const isThere = async () => {
      now = await lockScreen();
      return now.title === id && now.pictures.length === 1 && now.pictures[0]![1] > 0;
    };
    await until(isThere, 30_000, () => JSON.stringify(now));
    t.match(now.pictures[0]![0], /^blob:/);
    seen.add(now.pictures[0]![0]);
  }
  t.equal(seen.size, 3, 'the ones before are released');
  // Another URL of this server is none of its pictures.
  await pushTrack(base, { artist: 'B', song: 'elsewhere', cover: `${origin}/metadata/channel/demo.json` });
  await shows(page, '.song', 'elsewhere', 30_000);
  t.notOk((await lockScreen()).pictures.some(([src]) => src.startsWith('http')));
  t.strictSame(complaints, []);
});

t.test(
  'history: with times, without jingles and advertisements, and what is heard is not in it',
  { skip: SKIP },
  async (t) => {
    const { base } = await startServer(t, demoYaml());
    await saysOnAir(base);
    for (const [song, etype] of [
      ['one', 1001],
      ['jingle', 101],
      ['two', 0],
      ['advert', 103],
      ['promo', 102],
      ['now', 1001],
    ] as const)
      await pushTrack(base, { artist: 'A', song, etype });
    const { page } = await openListenerPage(t, `${base}/listen/demo`);
    const rows = async () =>
      (await page.locator('.history li').allTextContents()).map((text) => text.replace(/^[\d:]+/, ''));
    await until(async () => (await rows()).length > 0, 10_000);
    t.strictSame(await rows(), ['twoA', 'oneA']);
    t.match(await page.locator('.history time').first().getAttribute('datetime'), /^\d{4}-\d\d-\d\dT/);
    await pushTrack(base, { artist: 'A', song: 'later', etype: 1001 });
    await until(async () => (await rows()).length === 3, 10_000);
    t.strictSame(await rows(), ['nowA', 'twoA', 'oneA']);
  },
);

t.test('history: a song that is played again with its old id hides nothing', { skip: SKIP }, async (t) => {
  const { base } = await startServer(t, demoYaml());
  await saysOnAir(base);
  const play = (id: string, secondsAgo: number) =>
    pushTrack(base, { artist: 'A', song: id, id, time: Math.floor(Date.now() / 1000) - secondsAgo });
  await play('one', 400);
  await play('two', 200);
  const { page } = await openListenerPage(t, `${base}/listen/demo`);
  const songs = () => page.locator('.history .line:first-child').allTextContents();
  const shown = async (...expected: string[]) => {
    await until(async () => (await songs()).length === expected.length, 10_000);
    t.strictSame(await songs(), expected);
  };
  await shown('one');
  await play('one', 0);
  await shown('two', 'one');
  await play('three', 0);
  await shown('one', 'two', 'one');
});

t.test('history: a title that begins before the list has come is in it once', { skip: SKIP }, async (t) => {
  const { base } = await startServer(t, demoYaml());
  await saysOnAir(base);
  await pushTrack(base, { artist: 'A', song: 'one' });
  let answer = () => {};
  const { page } = await openListenerPage(t, `${base}/listen/demo`, {}, async (each) => {
    await each.route('**/history.json*', (route) => {
      answer = () => void route.continue();
    });
  });
  await shows(page, '.song', 'one');
  await pushTrack(base, { artist: 'A', song: 'two' });
  await shows(page, '.song', 'two');
  answer();
  const songs = () => page.locator('.history .line:first-child').allTextContents();
  await until(async () => (await songs()).length > 0, 10_000);
  t.strictSame(await songs(), ['one']);
});

t.test(
  'a title that is played twice in a row has its progress again',
  { skip: SKIP, timeout: patient(60_000) },
  async (t) => {
    const { base } = await startServer(t, demoYaml());
    await saysOnAir(base);
    await pushTrack(base, { artist: 'A', song: 'before' });
    const { page } = await openListenerPage(t, `${base}/listen/demo`);
    await press(page);
    await becomes(t, page, 'playing', 30_000);
    const play = (duration: number, secondsAgo: number) =>
      pushTrack(base, { artist: 'A', song: 'loop', id: 'loop', duration, time: Date.now() / 1000 - secondsAgo });
    await play(3, 100);
    await shows(page, '.song', 'loop', 20_000);
    const isShown = () => page.locator('.progress').first().isVisible();
    await until(async () => !(await isShown()), 20_000);
    await play(60, 0);
    await until(isShown, 20_000, () => 'the second play has no progress');
    t.match(await page.locator('.progress .times span').first().textContent(), /^0:0[0-4]$/);
  },
);

t.test('off air is said, and is over by itself', { skip: SKIP, timeout: patient(60_000) }, async (t) => {
  const { base, port } = await startServer(t, YAML);
  const { page } = await openListenerPage(t, `${base}/listen/live`);
  await becomes(t, page, 'offAir');
  await shows(page, '.status-text', 'Off air');
  await shows(page, '.artist', 'Resumes when the sound returns.');
  await press(page);
  t.equal(await stateOf(page), 'offAir', 'it waits');
  const encoder = new Feeder(t, port, '/live');
  encoder.stream(t);
  await becomes(t, page, 'playing', 30_000);
  await shows(page, '.status-text', 'You are listening');
  encoder.socket.destroy();
  await becomes(t, page, 'offAir', 60_000);
});

t.test(
  'why it does not play: no place, members only, a format',
  { skip: SKIP, timeout: patient(60_000) },
  async (t) => {
    const { base } = await startServer(t, YAML);
    await saysOnAir(base, 'full');
    const other = await fetch(`${base}/full`);
    const { page } = await openListenerPage(t, `${base}/listen/full`);
    await press(page);
    await becomes(t, page, 'full', 20_000);
    await shows(page, '.status-text', 'Too many listeners. Trying again …');
    await other.body?.cancel();
    await becomes(t, page, 'playing', 40_000);

    const club = (await openListenerPage(t, `${base}/listen/club`)).page;
    await press(club);
    await becomes(t, club, 'members', 20_000);
    const expires = Math.floor(Date.now() / 1000) + 60;
    const sig = createHmac('sha256', process.env['STATION_PAGE_KEY']!).update(`/club\n${expires}`).digest('hex');
    await club.goto(`${base}/listen/club?expires=${expires}&sig=${sig}`);
    await press(club);
    await becomes(t, club, 'playing', 20_000);

    const odd = await openListenerPage(t, `${base}/listen/demo`, {}, (each) =>
      each.addInitScript(
        `HTMLMediaElement.prototype.canPlayType = () => ''; MediaSource.isTypeSupported = () => false`,
      ),
    );
    await becomes(t, odd.page, 'codec', 20_000);
  },
);

t.test(
  'a server that is away is not alive, and is back by itself',
  { skip: SKIP, timeout: patient(90_000) },
  async (t) => {
    const fixed = demoYaml('', await freePort());
    let server = await startServer(t, fixed);
    await saysOnAir(server.base);
    await pushTrack(server.base, { artist: 'A', song: 'before' });
    const { page } = await openListenerPage(t, server.base);
    await shows(page, '.song', 'before');
    await server.app.stop();
    await becomes(t, page, 'away', 20_000);
    await shows(page, '.song', 'Demo Channel');
    server = await startServer(t, fixed);
    await saysOnAir(server.base);
    await pushTrack(server.base, { artist: 'C', song: 'after the restart' });
    await shows(page, '.song', 'after the restart', 30_000);
    await becomes(t, page, 'ready', 30_000);
  },
);

t.test(
  'a stream that breaks off at once is asked for at growing pauses, and then no longer',
  { skip: SKIP, timeout: patient(90_000) },
  async (t) => {
    const { base } = await startServer(t, demoYaml());
    await saysOnAir(base);
    const shortPauses = (each: Page) => each.addInitScript('Math.random = () => 0');
    const { page, asked } = await openListenerPage(t, `${base}/listen/demo`, {}, shortPauses);
    await page.route('**/demo.mp3?*', (route) => route.fulfill({ status: 502 }));
    await press(page);
    await becomes(t, page, 'failed', 60_000);
    const tries = () => asked.filter((url) => url.includes('/demo.mp3?metaid=')).length;
    t.equal(tries(), 6);
    await until(async () => (await page.evaluate(`document.querySelector('airsplice-player').isOn`)) === false, 10_000);
    await pause(5000);
    t.equal(tries(), 6, 'its button says play');
    await page.unroute('**/demo.mp3?*');
    await press(page);
    await becomes(t, page, 'playing', 20_000);
  },
);

t.test(
  'the media keys end the tries for a stream that broke off',
  { skip: SKIP, timeout: patient(60_000) },
  async (t) => {
    const { base } = await startServer(t, demoYaml());
    await saysOnAir(base);
    const { page } = await openListenerPage(t, `${base}/listen/demo`, {}, (each) =>
      each.addInitScript(`Math.random = () => 0.99;
      globalThis.keys = {};
      MediaSession.prototype.setActionHandler = (name, act) => { keys[name] = act; }`),
    );
    await page.route('**/demo.mp3?*', (route) => route.fulfill({ status: 502 }));
    for (const key of ['stop', 'pause']) {
      await press(page);
      await becomes(t, page, 'retrying');
      await page.evaluate(`keys.${key}()`);
      await becomes(t, page, 'ready');
      t.equal(await page.evaluate(`document.querySelector('airsplice-player').isOn`), false, key);
    }
  },
);

t.test('many channels: a list, a search, one player', { skip: SKIP, timeout: patient(60_000) }, async (t) => {
  const more = Array.from(
    { length: 8 },
    (_, i) => `      c${i}: { name: Number ${i}, sources: [{ type: encoder, password: demo-source }] }`,
  ).join('\n');
  const { base } = await startServer(t, demoYaml(more));
  await saysOnAir(base);
  await pushTrack(base, { artist: 'A', song: 'first' });
  const { page, complaints } = await openListenerPage(t, base, PHONE);
  await shows(page, '.row-title', 'A - first');
  await pushTrack(base, { artist: 'A', song: 'second' });
  await shows(page, '.row-title', 'A - second');
  t.strictSame(await page.locator('.row-state').allTextContents(), ['On air', 'On air', ...Array(8).fill('Off air')]);
  await page.locator('#search').fill('number 7');
  t.strictSame(await page.locator('.row:visible .row-name').allTextContents(), ['Number 7']);
  await page.locator('#search').fill('second');
  t.strictSame(await page.locator('.row:visible .row-name').allTextContents(), ['Demo Channel']);
  await page.locator('#search').fill('nothing of that');
  await shows(page, '#none', 'No channels match.');
  await page.locator('#search').fill('');
  await page.locator('.row-play').first().click();
  await becomes(t, page, 'playing', 30_000);
  const live = async () =>
    ((await (await fetch(`${base}/metadata/channel/demo.json`)).json()) as { song: string }).song;
  await pushTrack(base, { artist: 'A', song: 'third' });
  await until(async () => (await live()) === 'third', 10_000);
  t.equal(await page.locator('.row-title').first().textContent(), 'A - second', 'what is heard, not what is live');
  await shows(page, '.row-title', 'A - third', 20_000);
  await page.locator('.row-play').nth(1).click();
  await until(async () => (await page.locator('.playing .row-name').textContent()) === 'Studio', 10_000);
  await becomes(t, page, 'playing', 30_000);
  await page.locator('.row-play').nth(1).click();
  await until(async () => (await page.locator('.playing').count()) === 0, 10_000);
  t.strictSame(complaints, []);
});

t.test('logos, which the policy lets in as data alone', { skip: SKIP }, async (t) => {
  const logo = new URL('../../config/demo/logo.svg', import.meta.url).pathname;
  const { base } = await startServer(t, YAML.replace('page: {', `page: { logo: ${logo},`));
  for (const [path, selectors] of [
    ['/', ['.brand-logo', '.tile img']],
    ['/listen/live', ['.brand-logo', '.cover .logo']],
  ] as const) {
    const { page, complaints } = await openListenerPage(t, base + path);
    for (const selector of selectors) {
      const image = page.locator(selector).first();
      const width = () => image.evaluate((element: { naturalWidth?: number }) => element.naturalWidth);
      await until(
        async () => Number(await width()) > 0,
        10_000,
        () => `${path} ${selector}`,
      );
    }
    // Transparent corners of the logo would show it.
    await until(async () => (await page.locator('.cover .drawn, .tile > :not(img)').count()) === 0, 10_000);
    t.strictSame(complaints, [], path);
  }
});

t.test('without scripts', { skip: SKIP }, async (t) => {
  const { base } = await startServer(t, YAML);
  await saysOnAir(base);
  await pushTrack(base, { artist: 'Nina Simone', song: 'Sinnerman' });
  const url = `${base}/listen/demo`;
  const { page } = await openListenerPage(t, url, { javaScriptEnabled: false });
  await page.locator('.plain-song').filter({ hasText: 'Sinnerman' }).waitFor();
  t.ok(await page.locator('audio').isVisible());
  t.notOk(await page.locator('.history').isVisible(), 'nothing that does nothing');
  const href = await page.locator('.files a').first().getAttribute('href');
  t.equal((await fetch(new URL(href!, page.url()))).status, 200);
  for (const size of [PHONE, DESK]) {
    const topOf = async (selector: string, javaScriptEnabled: boolean) => {
      const opened = (await openListenerPage(t, url, { ...size, javaScriptEnabled })).page;
      const { y, height } = (await opened.locator(selector).first().boundingBox())!;
      await opened.context().close();
      return [y, height].map(Math.round);
    };
    const [plain, made] = [await topOf('.plain-song', false), await topOf('.song', true)];
    t.ok(Math.abs(plain[0]! - made[0]!) <= 1, `the title is where it will be: ${plain}, ${made}`);
    const below = [await topOf('.along', false), await topOf('.history', true)];
    t.ok(Math.abs(below[0]![0]! - below[1]![0]!) <= 4, `what follows is where it will be: ${below.join('; ')}`);
  }
});

/** Waits until what is loaded by itself is there. */
async function opened(t: Test, url: string, size: typeof PHONE, scheme: 'light' | 'dark') {
  const shifts = `globalThis.shifted = 0; new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.shifted += entry.value;
  }).observe({ type: 'layout-shift', buffered: true });`;
  const all = await openListenerPage(t, url, { ...size, colorScheme: scheme }, (each) => each.addInitScript(shifts));
  await all.page.waitForLoadState('networkidle');
  return all;
}

t.test(
  'no shift, no sideways scroll, no finding of axe: phone and desk, light and dark',
  { skip: SKIP, timeout: patient(90_000) },
  async (t) => {
    const { base } = await startServer(t, YAML);
    await saysOnAir(base);
    for (const song of ['one', 'two']) await pushTrack(base, { artist: 'A', song, cover: 'http://127.0.0.1:1/c.png' });
    for (const path of ['/', '/listen/demo', '/listen/live', '/embed/demo', '/?lang=de']) {
      for (const [size, scheme] of [
        [PHONE, 'light'],
        [DESK, 'dark'],
      ] as const) {
        const { page, complaints } = await opened(t, base + path, size, scheme);
        const what = `${path} ${scheme}`;
        t.strictSame(await findings(page), [], what);
        t.ok(Number(await page.evaluate('shifted')) < 0.01, `${what}: shifted by ${await page.evaluate('shifted')}`);
        t.equal(
          await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
          0,
          what,
        );
        t.strictSame(complaints, [], what);
        await page.context().close();
      }
    }
  },
);

t.test('by keyboard', { skip: SKIP, timeout: patient(30_000) }, async (t) => {
  const { base } = await startServer(t, YAML);
  await saysOnAir(base);
  const { page } = await openListenerPage(t, `${base}/listen/demo`);
  await becomes(t, page, 'ready');
  await page.locator('.play').focus();
  await page.keyboard.press('Enter');
  await becomes(t, page, 'playing', 20_000);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowLeft');
  t.ok(Number(await page.evaluate(`${AUDIO}.volume`)) < 1, 'the volume');
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Space');
  t.equal(await page.evaluate(`${AUDIO}.muted`), true);
});

t.test(
  '60 KB at most go over the wire, and the first sound is there within a second',
  { skip: SKIP, timeout: patient(30_000) },
  async (t) => {
    const { base } = await startServer(t, YAML);
    await saysOnAir(base);
    const { page } = await openListenerPage(t, 'about:blank');
    const session = await page.context().newCDPSession(page);
    let bytes = 0;
    await session.send('Network.enable');
    session.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
    await page.goto(`${base}/listen/demo`);
    await page.waitForLoadState('networkidle');
    t.comment(`${bytes} bytes`);
    t.ok(bytes > 10_000 && bytes <= MAX_WIRE_BYTES, `${bytes} bytes`);
    await becomes(t, page, 'ready');
    const ms = await page.evaluate(`new Promise((done) => {
    const [player, audio] = [document.querySelector('airsplice-player'), ${AUDIO}];
    const startMs = performance.now();
    audio.addEventListener('timeupdate', () => audio.currentTime > 0 && done(performance.now() - startMs));
    player.play();
  })`);
    t.comment(`first sound after ${Math.round(Number(ms))} ms`);
    t.ok(Number(ms) < patient(1000), `${ms} ms`);
  },
);

t.test('in Firefox', { skip: missing(FIREFOX), timeout: patient(90_000) }, async (t) => {
  const { base } = await startServer(t, YAML);
  await saysOnAir(base);
  for (const song of ['one', 'two']) await pushTrack(base, { artist: 'A', song });
  const firefox = await Firefox.start(t);
  const look = (script: string) => firefox.evaluate((text) => new Function(`return ${text}`)(), script);
  const is = (script: string, value: unknown) =>
    until(
      async () => (await look(script)) === value,
      20_000,
      () => `${script} is not ${value}`,
      100,
    );
  for (const viewport of [PHONE.viewport, DESK.viewport]) {
    await firefox.setViewport(viewport);
    await firefox.goto(`${base}/listen/demo`);
    await is(`document.querySelector('airsplice-player').state`, 'ready');
    await is(`document.querySelector('airsplice-player').now?.song`, 'two');
    await is(`document.querySelectorAll('.history li').length`, 1);
    t.equal(await look('document.documentElement.scrollWidth - document.documentElement.clientWidth'), 0);
    t.strictSame(await firefox.evaluate(axeFindings, AXE), [], `${viewport.width}`);
    if (process.env['SHOT']) writeFileSync(`${process.env['SHOT']}-${viewport.width}.png`, await firefox.screenshot());
  }
  await look(`document.querySelector('airsplice-player').play()`);
  await is(`document.querySelector('airsplice-player').state`, 'playing');
  await pushTrack(base, { artist: 'A', song: 'three' });
  await is(`document.querySelector('airsplice-player').now?.song`, 'three');
  t.ok(Number(await look(`${AUDIO}.currentTime`)) > 0);
  t.strictSame(firefox.complaints, []);
});

t.test(
  'the player on a page of another origin: as a frame and as an element',
  { skip: SKIP, timeout: patient(60_000) },
  async (t) => {
    const { base } = await startServer(t, YAML);
    await saysOnAir(base);
    await pushTrack(base, { artist: 'A', song: 'elsewhere' });
    const origin = await otherOrigin(t);
    const { page, complaints } = await openListenerPage(t, `${base}/listen/demo`);
    await page.locator('.snippets summary').click();
    const snippets = await page.locator('.snippet textarea').all();
    const texts = await Promise.all(snippets.map((each) => each.inputValue()));
    t.equal(texts.length, 3);
    await page.goto(origin);
    // As an author of that page would have written it.
    await page.evaluate(`for (const text of ${JSON.stringify(texts)}) {
    const range = document.createRange().createContextualFragment(text);
    document.body.append(range);
  }`);
    await shows(page, 'airsplice-player .song', 'elsewhere', 20_000);
    for (const i of [0, 1])
      await page.frameLocator('iframe').nth(i).locator('.song').filter({ hasText: 'elsewhere' }).waitFor();
    await page.emulateMedia({ colorScheme: 'dark' });
    const { x, y } = (await page.locator('iframe').first().boundingBox())!;
    const pixelAt = (left: number) => page.screenshot({ clip: { x: left, y: y + 1, width: 1, height: 1 } });
    t.strictSame(await pixelAt(x + 1), await pixelAt(x - 4), 'its corner is of the page, which knows no dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await press(page);
    await becomes(t, page, 'playing', 30_000);
    t.equal(await page.evaluate(`document.querySelector('airsplice-player').offsetHeight`), 88);
    const accent = `getComputedStyle(document.querySelector('airsplice-player')).getPropertyValue('--airsplice-accent')`;
    t.equal(await page.evaluate(accent), '#7a1fa2', 'the colour of the station');
    await page.evaluate(`document.querySelector('airsplice-player').style.setProperty('--airsplice-accent', 'red')`);
    t.equal(await page.evaluate(accent), 'red', 'or that of the page');
    t.strictSame(complaints, []);
  },
);

t.test('several players on a page of another origin: each is ready at once', { skip: SKIP }, async (t) => {
  const { base } = await startServer(t, YAML);
  for (const channel of ['demo', 'full']) await saysOnAir(base, channel);
  const { page } = await openListenerPage(t, await otherOrigin(t));
  await page.evaluate(`document.body.append(document.createRange().createContextualFragment(
    '<script type="module" src="${base}/player.js"></script>' +
    ['demo', 'full', 'live'].map((key) => '<airsplice-player channel="' + key + '"></airsplice-player>').join('')))`);
  const states = () =>
    page.evaluate(`[...document.querySelectorAll('airsplice-player')].map(({ state }) => state).join()`);
  let seen: unknown;
  await untilPromised(
    async () => (seen = await states()) === 'ready,ready,offAir',
    8000,
    () => `they are ${seen}`,
    50,
  );
  t.pass('none waits for the next look at the server, 20 s later');
});
