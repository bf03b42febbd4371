/** The operator page in a real browser: who gets it, what it shows as it changes, by keyboard, on a phone, light and dark without violations that axe finds. */

import type { BrowserContextOptions } from 'playwright-core';
import t from 'tap';
import { ADMIN_LOGIN, AdminClient } from '../../kit/admin-client.js';
import { unfit } from '../../kit/axe.js';
import { otherOrigin } from '../../kit/browser.js';
import {
  LOOKER,
  openPage,
  PAGE_YAML,
  PATIENCE_MS,
  pushTitle,
  SKIP,
  sees,
  studioEncoder,
} from '../../kit/operator-page.js';
import { Player } from '../../kit/player.js';
import { startServer } from '../../kit/server.js';
import { patient } from '../../kit/until.js';

// They wait more than they compute.
t.jobs = 3;

const FILES = [
  '/admin',
  ...['admin.css', 'tables.css', 'views.css', 'admin.js', 'dom.js'].map((name) => `/admin/web/${name}`),
];

t.test('its files are for users with the right read, and for nobody else', async (t) => {
  const { base } = await startServer(t, PAGE_YAML);
  const ask = (path: string, headers: Record<string, string> = { Authorization: ADMIN_LOGIN }, method = 'GET') =>
    fetch(base + path, { method, headers, redirect: 'manual' });
  for (const path of FILES) {
    const plain = await ask(path, {});
    t.equal(plain.status, 401, path);
    t.match(plain.headers.get('www-authenticate'), /^Basic /, 'a browser asks for the password');
    t.equal((await ask(path, { Authorization: 'Bearer may change titles' })).status, 403, path);
    t.equal((await ask(path, { Authorization: `Basic ${btoa('all:wrong')}` })).status, 401, path);
    const got = await ask(path);
    t.equal(got.status, 200, path);
    t.equal(got.headers.get('cache-control'), 'private, no-cache');
    t.equal(got.headers.get('x-frame-options'), 'DENY');
    t.equal(got.headers.get('cross-origin-resource-policy'), 'same-origin');
    t.equal(got.headers.get('access-control-allow-origin'), null);
    const policy = got.headers.get('content-security-policy')!;
    t.match(policy, /^default-src 'none';.*frame-ancestors 'none'$/);
    t.notMatch(policy, /unsafe|https?:|\*/);
    const headers = { Authorization: ADMIN_LOGIN, 'If-None-Match': got.headers.get('etag')! };
    t.equal((await ask(path, headers)).status, 304, path);
    t.equal((await ask(path, { ...headers, Authorization: '' })).status, 401, `${path}: a tag is no credential`);
    const post = await ask(path, undefined, 'POST');
    t.same([post.status, post.headers.get('allow')], [405, 'GET, HEAD'], path);
  }
  const slash = await ask('/admin/', {});
  t.same([slash.status, slash.headers.get('location')], [308, '../admin']);
  for (const path of ['/admin/web/', '/admin/web/index.html', '/admin/web/..%2fpage.js']) {
    t.equal((await ask(path)).status, 404, path);
  }
});

t.test('without the rights there are no buttons', { skip: SKIP, timeout: patient(60_000) }, async (t) => {
  const server = await startServer(t, PAGE_YAML);
  const admin = new AdminClient(server);
  // Of each there is one that a button would stand beside.
  await admin.post('blocks', { network: '203.0.113.0/24', seconds: 3600 });
  await admin.post('channels/demo/tokens', { name: 'studio 2' });
  await admin.post('channels/demo/titles', { artist: 'A', song: 'now', duration: 600 });
  await admin.post('channels/demo/titles', { artist: 'A', song: 'next', duration: 0, tracktype: 'next' });
  await admin.post('channels/demo/titles', { artist: 'A', song: 'held', duration: 0, time: Date.now() / 1000 + 200 });
  const player = new Player(server.port, '/demo.mp3', { agent: 'VLC' });
  const { page } = await openPage(t, `${server.base}/admin`, { httpCredentials: LOOKER });
  await sees(page, '#user', 'looker');
  await sees(page, '.channel', 'Demo Channel');
  t.equal(await page.locator('main').getByRole('button').count(), 0);
  await page.goto(`${server.base}/admin#/channel/demo`);
  await sees(page, '.sources li', 'on air');
  await sees(page, '.next', 'A - next');
  await sees(page, '.held li', 'A - held');
  await sees(page, 'section[aria-labelledby=section-listeners] tbody th', 'VLC');
  t.equal(await page.locator('main').getByRole('button').count(), 0);
  await page.goto(`${server.base}/admin#/access`);
  await sees(page, 'section[aria-labelledby=section-push-tokens] tbody tr', 'studio 2');
  await sees(page, 'section[aria-labelledby=section-blocked-addresses] tbody tr', '203.0.113.0/24');
  t.equal(await page.locator('main').getByRole('button').count(), 0);
  player.close();
});

t.test('what pages of other origins get from it', { skip: SKIP, timeout: patient(60_000) }, async (t) => {
  const server = await startServer(t, PAGE_YAML);
  const listener = new Player(server.port, '/demo.mp3', { agent: 'VLC' });
  await listener.until(({ audioBytes }) => audioBytes > 0, PATIENCE_MS);
  const evil = await otherOrigin(t);
  const { page } = await openPage(t, `${server.base}/admin`);
  await sees(page, '.channel', 'Demo Channel');
  // The browser has the password by now, and another page in it tries.
  const frames: string[] = [];
  page.on('framenavigated', (frame) => frame !== page.mainFrame() && frames.push(frame.url()));
  await page.goto(evil);
  const tried = (await page.evaluate(`(async (base) => {
    const frame = document.createElement('iframe');
    frame.src = base + '/admin';
    const loaded = new Promise((done) => { frame.onload = done; });
    document.body.append(frame);
    await loaded;
    const said = [];
    const asked = [
      ['POST', '/admin/api/listeners/end', { 'Content-Type': 'text/plain' }, '{"channel":"demo"}'],
      ['POST', '/admin/api/listeners/end', { 'Content-Type': 'application/json' }, '{"channel":"demo"}'],
      ['DELETE', '/admin/api/channels/demo/titles/now', {}, undefined],
      ['POST', '/admin/reload', {}, undefined],
      ['GET', '/admin/api/channels', {}, undefined],
    ];
    for (const [method, path, headers, body] of asked) {
      for (const mode of ['cors', 'no-cors']) {
        const what = await fetch(base + path, { method, headers, body, mode, credentials: 'include' })
          .then(async (answer) => answer.type + ' ' + answer.status + ' ' + (await answer.text()), () => 'failed');
        said.push(what);
      }
    }
    for (const path of ['/admin/killsource?mount=/studio.mp3', '/admin/moveclients?mount=/demo.mp3&destination=/studio.mp3']) {
      await new Promise((done) => { const image = new Image(); image.onload = image.onerror = done; image.src = base + path; });
    }
    return said;
  })(${JSON.stringify(server.base)})`)) as readonly string[];
  for (const said of tried) t.match(said, /^(failed|opaque 0 $)/);
  // By itself: what is asked of a page that leaves may get no answer.
  const posted = page.waitForURL(`${server.base}/**`);
  await page.evaluate(`((base) => {
    const form = document.createElement('form');
    form.method = 'post';
    form.enctype = 'text/plain';
    form.action = base + '/admin/api/listeners/end';
    const input = document.createElement('input');
    input.name = '{"channel":"demo","agent":"';
    input.value = '"}';
    form.append(input);
    document.body.append(form);
    requestAnimationFrame(() => form.submit());
  })(${JSON.stringify(server.base)})`);
  await posted;
  t.match(await page.content(), /another origin|X-Requested-With|not-allowed/i, 'the form is refused');
  t.same(
    frames.filter((url) => url.startsWith(server.base)),
    [],
    'it cannot be framed',
  );
  const { body } = await new AdminClient(server).get('listeners?channel=demo');
  t.equal(body.total, 1);
  t.equal(listener.closed, false);
  listener.close();
});

t.test('channels at a glance, as they change', { skip: SKIP, timeout: 120_000 }, async (t) => {
  const server = await startServer(t, PAGE_YAML);
  await pushTitle(server, 'First');
  const { page, complaints } = await openPage(t, `${server.base}/admin`);
  const demo = page.locator('.channel', { hasText: 'Demo Channel' });
  const studio = page.locator('.channel', { hasText: 'Studio' });
  await sees(page, '#state-text', 'live');
  await demo.locator('.playing', { hasText: 'First' }).waitFor();
  await demo.locator('.status', { hasText: 'on air' }).waitFor();
  const hostile = '<img src=x onerror="document.title=1"> & "Ünïcode" 😀';
  await pushTitle(server, hostile);
  await demo.locator('.playing').filter({ hasText: hostile }).waitFor();
  t.equal(await page.locator('.channels img').count(), 0, 'nothing became an element');
  const players = ['VLC', 'mpv'].map((agent) => new Player(server.port, '/demo.mp3', { agent }));
  await demo.locator('.listeners').getByText('2', { exact: true }).waitFor();
  await page.getByText('2 listeners', { exact: false }).first().waitFor();
  for (const player of players) player.close();
  await demo.locator('.listeners').getByText('0', { exact: true }).waitFor();
  // Its fallback plays until the encoder comes.
  await studio.locator('.status', { hasText: /fallback|no audio/ }).waitFor();
  studioEncoder(t, server.port);
  await studio.locator('.status', { hasText: 'on air' }).waitFor();
  await studio.locator('.source', { hasText: 'source 1 · encoder' }).waitFor();
  t.same(complaints, []);
});

t.test(
  'a list has one child for each item, and a listener is counted at one title',
  { skip: SKIP, timeout: patient(60_000) },
  async (t) => {
    const server = await startServer(t, PAGE_YAML);
    const { page } = await openPage(t, `${server.base}/admin`);
    const shown = await page.evaluate(`import('/admin/web/dom.js').then(({ list, make }) => {
    const parent = make('ul');
    return ['abab', 'abab', 'ba', 'aab'].map((items) => {
      list(parent, [...items], String, (item) => make('li', {}, item));
      return parent.textContent;
    });
  })`);
    t.same(shown, ['abab', 'abab', 'ba', 'aab']);
    // Titles 5.4 s and 2.5 s behind: of those who hear a second that two share nobody is counted twice.
    const heard = await page.evaluate(`import('/admin/web/titles.js').then(({ hearing }) => {
    const bySecondsBehind = [1, 0, 3, 2, 0, 4, 5];
    return [[Infinity, 5400], [5400, 2500], [2500, 0]].map(([from, to]) => hearing(bySecondsBehind, from, to));
  })`);
    t.same(heard, [5, 6, 4]);
  },
);

t.test('by keyboard alone', { skip: SKIP, timeout: patient(60_000) }, async (t) => {
  const server = await startServer(t, PAGE_YAML);
  const { page } = await openPage(t, `${server.base}/admin`);
  await sees(page, '.channel', 'Demo Channel');
  const focused = () => page.evaluate('document.activeElement.textContent') as Promise<string>;
  await page.keyboard.press('Tab');
  t.equal(await focused(), 'Skip to content');
  for (let i = 0; i < 20 && !(await focused()).includes('Demo Channel'); i++) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await sees(page, 'h1', 'Demo Channel');
  t.equal(await page.evaluate('document.activeElement.id'), 'main', 'the focus goes along');
  await sees(page, '.sources li', 'on air');
  for (let i = 0; i < 20 && !(await focused()).startsWith('Push a title'); i++) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.locator('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  t.match(await focused(), /^Push a title/, 'the focus comes back');
  await page.keyboard.press('Enter');
  await page.getByLabel('Song').focus();
  await page.keyboard.type('By keyboard');
  await page.keyboard.press('Enter');
  await sees(page, '.now', 'By keyboard');
});

t.test(
  'axe finds nothing, and a phone has no need to scroll sideways',
  { skip: SKIP, timeout: patient(300_000) },
  async (t) => {
    const server = await startServer(t, PAGE_YAML);
    studioEncoder(t, server.port);
    await pushTitle(
      server,
      'A title with a very long word: Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft',
    );
    const player = new Player(server.port, '/demo.mp3', { agent: 'VLC' });
    await player.until(({ audioBytes }) => audioBytes > 0, PATIENCE_MS);
    await new AdminClient(server).post('blocks', { network: '203.0.113.0/24', seconds: 3600 });
    await new AdminClient(server).post('channels/demo/tokens', { name: 'studio 2' });
    const looks: Record<string, Omit<BrowserContextOptions, 'httpCredentials'>> = {
      light: { viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
      dark: { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' },
      phone: { viewport: { width: 320, height: 640 }, colorScheme: 'light', hasTouch: true, isMobile: true },
    };
    for (const [look, options] of Object.entries(looks)) {
      // What axe itself evaluates is not the page's.
      const { page } = await openPage(t, `${server.base}/admin`, { ...options, bypassCSP: true });
      const violations = async (what: string) => t.same(await unfit(page), [], `${what}, ${look}`);
      await sees(page, '.channel', 'Donaudampfschifffahrt');
      await violations('channels');
      await page.evaluate('location.hash = "#/channel/demo"');
      await sees(page, 'section[aria-labelledby=section-listeners] tbody th', 'VLC');
      // Until the first minute is over.
      await page.locator('.drawn .note, .drawn svg').first().waitFor();
      await violations('a channel');
      await page.getByRole('button', { name: 'Push a title' }).click();
      await violations('a question');
      await page.keyboard.press('Escape');
      await page.locator('dialog').waitFor({ state: 'detached' });
      if (look === 'phone') {
        const move = page.getByRole('button', { name: 'Move VLC' });
        t.equal(await move.count(), 0, 'it is in the menu');
        await sees(page, '.cards .title', 'Donaudampfschifffahrt');
        await page.getByRole('button', { name: 'Actions for VLC' }).press('Enter');
        await violations('a menu');
        await move.press('Enter');
        await violations('a choice');
        await page.keyboard.press('Escape');
      }
      await page.evaluate('location.hash = "#/access"');
      await sees(page, 'section[aria-labelledby=section-blocked-addresses] tbody tr', '203.0.113.0/24');
      await sees(page, 'section[aria-labelledby=section-push-tokens] tbody tr', 'studio 2');
      await violations('access');
      await page.evaluate('location.hash = "#/log"');
      await sees(page, '.lines li', 'admin act');
      await violations('the log');
      await page.evaluate('location.hash = "#/statistics"');
      // The present minute is not in it, and the page looks again by itself.
      await sees(page, 'section[aria-labelledby=section-players] tbody th', 'VLC', patient(100_000));
      await sees(page, '.downloads li', 'Royalty report');
      await violations('statistics');
    }
    player.close();
  },
);

t.test('what is old is grey and says its time', { skip: SKIP, timeout: patient(60_000) }, async (t) => {
  const server = await startServer(t, PAGE_YAML);
  const { page } = await openPage(t, `${server.base}/admin`);
  await sees(page, '#state-text', 'live');
  t.equal(await page.locator('html[data-stale]').count(), 0);
  await server.app.stop();
  await sees(page, '#stale', /No connection to the server\. This is as of \d\d:\d\d:\d\d\./);
  const colour = 'getComputedStyle(document.querySelector(".channel .status")).color';
  t.equal(
    await page.evaluate(colour),
    await page.evaluate('getComputedStyle(document.querySelector(".station")).color'),
  );
  t.notOk((await page.locator('.channel .status').first().textContent()) === '', 'what it knew stays');
});
