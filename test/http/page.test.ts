/**
 * The page in a real browser before the whole server: titles come as text whatever they hold, and a listener sees what it hears.
 * Skipped only where there is no Chromium.
 */

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import t from 'tap';
import { freePort } from '../kit/process.js';
import { demoYaml, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';

// They wait more than they compute.
t.jobs = 4;

const CHROMIUM = '/usr/bin/chromium';
const skip = existsSync(CHROMIUM) ? false : `${CHROMIUM} is missing`;
const BROWSER_ARGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--mute-audio', '--autoplay-policy=no-user-gesture-required'],
];
/** What is used of an audio element; Node's types know none. */
interface Playable {
  readonly currentTime: number;
  play(): Promise<void>;
  pause(): void;
}

interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

function ask(port: number, path: string, options: http.RequestOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port, path, agent: false, ...options }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, body }));
    });
    request.on('error', reject).end();
  });
}

async function push(base: string, track: Record<string, unknown>): Promise<void> {
  const answer = await fetch(`${base}/metapush/demo/demo-token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ duration: 180, ...track }),
  });
  if (answer.status !== 200) throw new Error(`push: ${answer.status} ${await answer.text()}`);
}

/** Waits until the first element of this kind (so, in a card, the demo channel's) has this text. */
async function shows(page: Page, selector: string, text: string, withinMs = 10_000): Promise<void> {
  const element = page.locator(selector).first();
  let seen: string | null = null;
  const isThere = async () => {
    seen = await element.textContent();
    return seen === text;
  };
  await until(isThere, withinMs, () => `${selector} shows "${seen}", not "${text}"`, 50);
}

t.test('the page and its files are served with the headers they need', async (t) => {
  const { port } = await startServer(t, demoYaml());
  const types: Record<string, string> = {
    '/': 'text/html; charset=utf-8',
    '/web/page.css': 'text/css; charset=utf-8',
    '/web/page.js': 'text/javascript; charset=utf-8',
    '/web/player.js': 'text/javascript; charset=utf-8',
    '/web/hls.js': 'text/javascript; charset=utf-8',
    '/web/channels.json': 'application/json; charset=utf-8',
    '/favicon.ico': 'image/svg+xml; charset=utf-8',
    '/client.js': 'text/javascript; charset=utf-8',
    '/web/client/attach.js': 'text/javascript; charset=utf-8',
  };
  for (const [path, type] of Object.entries(types)) {
    const got = await ask(port, path);
    t.equal(got.status, 200, path);
    t.equal(got.headers['content-type'], type, path);
    t.equal(got.headers['cache-control'], 'no-cache', path);
    const origins = path.includes('client') ? '*' : undefined;
    t.equal(got.headers['access-control-allow-origin'], origins, `${path}: modules are for pages of any origin`);
    t.equal(got.headers['x-content-type-options'], 'nosniff', path);
    const again = await ask(port, path, { headers: { 'If-None-Match': got.headers.etag! } });
    t.strictSame([again.status, again.body, again.headers.etag], [304, '', got.headers.etag], path);
    const head = await ask(port, path, { method: 'HEAD' });
    t.strictSame([head.status, head.body], [200, ''], path);
    t.equal(head.headers['content-length'], String(Buffer.byteLength(got.body)), path);
    const post = await ask(port, path, { method: 'POST' });
    t.strictSame([post.status, post.headers.allow], [405, 'GET, HEAD'], path);
  }
  t.strictSame(JSON.parse((await ask(port, '/web/channels.json')).body)[0], {
    station: 'Demo',
    key: 'demo',
    name: 'Demo Channel',
    description: '',
    mount: '/demo.mp3',
    hls: '',
  });
  for (const path of ['/web/', '/web/card.ts', '/web/..%2fapp.js', '/index.html']) {
    t.equal((await ask(port, path)).status, 404, path);
  }
  const policyFor = async (host: string) =>
    (await ask(port, '/', { headers: { Host: host } })).headers['content-security-policy'] as string;
  t.match(
    await policyFor('radio.example:8000'),
    "connect-src 'self' ws://radio.example:8000 wss://radio.example:8000;",
  );
  for (const host of ["x; script-src 'unsafe-inline'", '[::1]:8000', 'a b']) {
    t.match(await policyFor(host), "connect-src 'self';", `a host that no policy can name: ${host}`);
  }
});

t.test('in a browser', { skip }, async (t) => {
  const fixed = demoYaml('', await freePort());
  let server = await startServer(t, fixed);
  const profile = mkdtempSync(join(tmpdir(), 'airsplice-chromium-'));
  const context = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, args: BROWSER_ARGS });
  t.teardown(async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  });
  const page = await context.newPage();
  const audio = page.locator('audio').first();
  const complaints: string[] = [];
  const sockets: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => message.text().includes('Content Security') && complaints.push(message.text()));
  page.on('websocket', (socket) => sockets.push(socket.url()));

  await t.test('titles arrive as text, hostile ones too', async (t) => {
    await push(server.base, { artist: 'Nina Simone', song: 'Sinnerman' });
    await page.goto(server.base);
    await shows(page, '.song', 'Sinnerman');
    await shows(page, '.artist', 'Nina Simone');
    const hostile = '<img src=x onerror="document.title=1"><script>alert(1)</script>';
    await push(server.base, { artist: '', song: 'Coming <b>up</b>', tracktype: 'next' });
    await push(server.base, { artist: hostile, song: hostile, cover: 'javascript:alert(1)' });
    await shows(page, '.song', hostile);
    await shows(page, '.artist', hostile);
    await shows(page, '.next-title', 'Coming <b>up</b>');
    t.equal(
      await page.locator('.channel:first-child :is(script, b, .on-air *:not(p))').count(),
      0,
      'nothing became an element',
    );
    t.equal(await page.locator('.cover').first().isVisible(), false, 'what is no web address is no cover');
    await push(server.base, { artist: '', song: 'Coming <b>up</b>', cover: 'http://127.0.0.1:1/c.png' });
    await shows(page, '.next-title', '');
    await page.locator('.cover').first().waitFor({ state: 'visible' });
    t.equal(await page.locator('#state-text').textContent(), 'connected');
    t.strictSame(complaints, []);
  });

  await t.test('a listener sees what it hears, and a stop ends the download', async (t) => {
    await push(server.base, { artist: 'A', song: 'on air before' });
    const asked = page.waitForRequest((request) => request.url().includes('/demo.mp3'));
    await audio.evaluate((element: Playable) => element.play());
    const metaid = new URL((await asked).url()).searchParams.get('metaid')!;
    t.match(metaid, /^[0-9a-f]{32}$/);
    t.ok(sockets.includes(`${server.ws}/metadata/listener/${metaid}?sync=wire`), 'the listener feed is open');
    await shows(page, '.heard', 'A - on air before', 30_000);

    // In the page itself, which also says how long it was kept from looking: a busy machine may hold it up for seconds.
    await page.evaluate(`{
      const [shown, audio] = [document.querySelector('.heard'), document.querySelector('audio')];
      const look = () => {
        if (shown.textContent.includes('B - pushed meanwhile')) globalThis.heardMs ??= audio.currentTime * 1000;
      };
      new MutationObserver(look).observe(shown, { childList: true, characterData: true, subtree: true });
      let lastMs = performance.now();
      globalThis.heldUpMs = 0;
      setInterval(() => {
        if (globalThis.heardMs === undefined) globalThis.heldUpMs = Math.max(heldUpMs, performance.now() - lastMs);
        lastMs = performance.now();
      }, 20);
    }`);
    // B is heard a burst later: while it is on its way, the page says so.
    await push(server.base, { artist: 'B', song: 'pushed meanwhile' });
    await shows(page, '.song', 'pushed meanwhile');
    await shows(page, '.heard', 'A - on air before');
    await shows(page, '.hint', 'The title on air is on its way to you.');
    await shows(page, '.heard', 'B - pushed meanwhile', 30_000);
    const heard = Number(await page.evaluate('heardMs'));
    const heldUpMs = Number(await page.evaluate('heldUpMs'));
    // The server goes by its own clock: it may take B for heard a moment later than the page.
    const record = async () => JSON.parse((await ask(server.port, `/metadata/listener/${metaid}.json`)).body);
    await until(
      async () => (await record()).song === 'pushed meanwhile',
      5000,
      () => 'the server does not say that B is heard',
      50,
    );
    const { position } = await record();
    const facts = `shown at ${heard} ms of audio, stands at ${position}, held up ${heldUpMs} ms`;
    t.ok(heard >= Number(position) - 4, facts);
    t.ok(heard < Number(position) + 1000 + 2 * heldUpMs, facts);
    t.match(await page.locator('.hint').first().textContent(), /^It reached you \d+ seconds? after it came on air\.$/);
    t.match(await page.title(), 'B - pushed meanwhile');

    // A clock that stands: nothing is heard, whatever the title was. It lasts a second or two.
    await page.evaluate(`{
      globalThis.hints = new Set();
      const hint = document.querySelector('.hint');
      new MutationObserver(() => hints.add(hint.textContent)).observe(hint, { childList: true, characterData: true, subtree: true });
      document.querySelector('audio').playbackRate = 0;
    }`);
    await until(
      async () => Boolean(await page.evaluate(`hints.has('Waiting for audio …')`)),
      20_000,
      () => 'it is not said that no audio comes',
      50,
    );

    await audio.evaluate((element: Playable) => element.pause());
    await shows(page, '.heard', 'Not playing');
    const playing = async () =>
      /airsplice_listeners\{channel="demo"\} (\d+)/.exec((await ask(server.port, '/metrics')).body)?.[1];
    await until(
      async () => (await playing()) === '0',
      5000,
      () => 'a listener is left',
      50,
    );
    t.notMatch((await audio.getAttribute('src')) ?? '', metaid, 'the next play has a metaid of its own');
    t.strictSame(complaints, []);
  });

  await t.test('after a restart of the server the titles come back by themselves', async (t) => {
    await server.app.stop();
    await shows(page, '#state-text', 'reconnecting');
    server = await startServer(t, fixed);
    await push(server.base, { artist: 'C', song: 'after the restart' });
    await shows(page, '.song', 'after the restart', 20_000);
    await shows(page, '#state-text', 'connected', 20_000);
    t.pass('they came back');
  });
});
