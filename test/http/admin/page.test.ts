/**
 * The operator page in a real browser before the whole server: what it shows as it changes, each act behind a question, by keyboard, on a phone, light
 * and dark without violations that axe finds; and what pages of other origins get from it. Skipped only where there is no Chromium.
 */

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { ADMIN_LOGIN, AdminClient } from '../../kit/admin-client.js';
import { otherOrigin } from '../../kit/browser.js';
import { Feeder } from '../../kit/feeder.js';
import { Player, until } from '../../kit/player.js';
import { DEMO_AUDIO, demoYaml, startServer, type TestServer } from '../../kit/server.js';

// They wait more than they compute.
t.jobs = 3;

const CHROMIUM = '/usr/bin/chromium';
const skip = existsSync(CHROMIUM) ? false : `${CHROMIUM} is missing`;
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PATIENCE_MS = 20_000;
const FILES = ['/admin', '/admin/web/admin.css', '/admin/web/views.css', '/admin/web/admin.js', '/admin/web/dom.js'];

process.env['ADMIN_TEST_ALL'] = 'may do all of it';
process.env['ADMIN_TEST_LOOKER'] = 'may look at the page';
const YAML = demoYaml(`
      other: { bitrateKbps: 128, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
admin:
  users:
    all: { password: 'env:ADMIN_TEST_ALL', rights: [read, titles, operate] }
    looker: { password: 'env:ADMIN_TEST_LOOKER', rights: [read] }
    editor: { tokens: ['env:ADMIN_TEST_TITLES'], rights: [titles] }
`);
/** And another channel that takes an encoder. */
const WITH_SECOND = YAML.replace(
  '      other:',
  `      second: { name: Second studio, sources: [{ type: encoder, password: demo-source }, { type: file, path: ${DEMO_AUDIO} }] }\n$&`,
);
const ALL = { username: 'all', password: 'may do all of it' };
const LOOKER = { username: 'looker', password: 'may look at the page' };

/** Of all tests that have a page open; closed with the last page, since nothing ends while it runs. */
let shared: Promise<Browser> | null = null;
let pages = 0;

interface Opened {
  readonly page: Page;
  /** Errors of scripts, and what the policy or a request refused. */
  readonly complaints: string[];
}

async function open(t: Test, url: string, options: BrowserContextOptions = {}): Promise<Opened> {
  shared ??= chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
  pages++;
  const browser = shared;
  const context = await (await browser).newContext({ httpCredentials: ALL, ...options });
  t.teardown(async () => {
    await context.close();
    if (--pages > 0) return;
    shared = null;
    await (await browser).close();
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  await page.goto(url);
  return { page, complaints };
}

/** Waits until an element is there that has this text. */
async function sees(page: Page, selector: string, text: string | RegExp): Promise<void> {
  await page.locator(selector).filter({ hasText: text }).first().waitFor();
}

/** Presses a button, looks at the question, and says yes. */
async function confirm(page: Page, button: string | RegExp, yes: string | RegExp): Promise<void> {
  await page.getByRole('button', { name: button }).first().click();
  await page.locator('dialog').getByRole('button', { name: yes }).click();
  await page.locator('dialog').waitFor({ state: 'detached' });
}

async function push({ base }: TestServer, song: string): Promise<void> {
  const answer = await fetch(`${base}/metapush/demo/demo-token?song=${encodeURIComponent(song)}&duration=600`);
  if (answer.status !== 200) throw new Error(`push: ${answer.status}`);
  await answer.body?.cancel();
}

function encoder(t: Test, port: number): Feeder {
  const headers = 'Content-Type: audio/mpeg\r\nUser-Agent: Studio/1.0\r\n';
  return new Feeder(t, port, '/studio.mp3', { headers }).stream(t);
}

t.test('its files are for users with the right read, and for nobody else', async (t) => {
  const { base } = await startServer(t, YAML);
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

t.test('channels at a glance, as they change', { skip, timeout: 120_000 }, async (t) => {
  const server = await startServer(t, YAML);
  await push(server, 'First');
  const { page, complaints } = await open(t, `${server.base}/admin`);
  const demo = page.locator('.channel', { hasText: 'Demo Channel' });
  const studio = page.locator('.channel', { hasText: 'Studio' });
  await sees(page, '#state-text', 'live');
  await demo.locator('.playing', { hasText: 'First' }).waitFor();
  await demo.locator('.status', { hasText: 'on air' }).waitFor();
  const hostile = '<img src=x onerror="document.title=1"> & "Ünïcode" 😀';
  await push(server, hostile);
  await demo.locator('.playing').filter({ hasText: hostile }).waitFor();
  t.equal(await page.locator('.channels img').count(), 0, 'nothing became an element');
  const players = ['VLC', 'mpv'].map((agent) => new Player(server.port, '/demo.mp3', { agent }));
  await demo.locator('.listeners').getByText('2', { exact: true }).waitFor();
  await page.getByText('2 listeners', { exact: false }).first().waitFor();
  for (const player of players) player.close();
  await demo.locator('.listeners').getByText('0', { exact: true }).waitFor();
  // Its fallback plays until the encoder comes.
  await studio.locator('.status', { hasText: /fallback|no audio/ }).waitFor();
  encoder(t, server.port);
  await studio.locator('.status', { hasText: 'on air' }).waitFor();
  await studio.locator('.source', { hasText: 'source 1 · encoder' }).waitFor();
  t.same(complaints, []);
});

t.test(
  'one channel in depth: sources, titles at their places, listeners, the day',
  { skip, timeout: 120_000 },
  async (t) => {
    const server = await startServer(t, WITH_SECOND);
    const admin = new AdminClient(server);
    const { page, complaints } = await open(t, `${server.base}/admin#/channel/studio`);
    await sees(page, 'h1', 'Studio');
    await sees(page, '.sources li', /plays.*2 · file/);
    const feeder = encoder(t, server.port);
    await sees(page, '.sources li', /plays.*1 · encoder/);
    await sees(page, '.sources li', 'Studio/1.0');
    await sees(page, 'tbody .what', 'plays: it delivers');
    const listener = new Player(server.port, '/studio.mp3', { agent: '<b>Player</b>/1' });
    await sees(page, 'section[aria-labelledby=section-listeners] tbody th', '<b>Player</b>/1');

    // Asked back, and nothing happens where the answer is no.
    await page.getByRole('button', { name: 'Push a title' }).click();
    await page.getByLabel('Song').fill('Not this');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.locator('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Push a title' }).click();
    await page.getByLabel('Artist').fill('Nina');
    await page.getByLabel('Song').fill('Sinnerman');
    await page.locator('dialog').getByRole('button', { name: 'Push' }).click();
    await sees(page, '#notice', 'The title is in force.');
    await sees(page, '.now', 'Nina - Sinnerman');
    await listener.until(({ titles }) => titles.at(-1)?.title === 'Nina - Sinnerman', PATIENCE_MS);
    t.equal(
      listener.titles.some(({ title }) => title.includes('Not this')),
      false,
    );
    await sees(page, 'section[aria-labelledby=section-titles] tbody th', 'Nina - Sinnerman');
    // The title that it hears, which comes later than the one that is on air.
    await page
      .locator('section[aria-labelledby=section-listeners] td.title', { hasText: 'Nina - Sinnerman' })
      .waitFor();
    await page
      .locator('section[aria-labelledby=section-titles] tbody tr', { hasText: /Sinnerman.*1 listener/ })
      .waitFor();
    await page.getByRole('button', { name: 'Push a title' }).click();
    await page.getByLabel('Song').fill('Waltz');
    await page.getByLabel('When').selectOption('next');
    await page.locator('dialog').getByRole('button', { name: 'Push' }).click();
    await sees(page, '.next', 'Next: Waltz');
    await confirm(page, 'Withdraw next', 'Withdraw');
    await page.getByText('Next: Waltz').waitFor({ state: 'hidden' });
    await confirm(page, 'Clear', 'Clear');
    await sees(page, '.now', 'No title');

    await confirm(page, 'Play this: 2 · file', 'Play');
    await sees(page, '.sources li', /plays, chosen.*2 · file/);
    t.equal((await admin.get('channels/studio')).body.pinned, 1);
    await confirm(page, 'Release the chosen source', 'Release');
    await sees(page, '.sources li', /plays.*1 · encoder/);

    await confirm(page, 'Move these', 'Move');
    await sees(page, '#notice', /listener.* (moved|stayed)/);
    const other = new Player(server.port, '/studio.mp3', { agent: 'Second/2' });
    await sees(page, 'section[aria-labelledby=section-listeners] tbody th', 'Second/2');
    await confirm(page, 'End Second/2 from', 'End');
    await until(() => other.closed, PATIENCE_MS);
    await sees(page, '.endings li', /by an operator.*1/);

    // To the one channel that could have it, and back.
    await page.getByRole('button', { name: 'Move connection: 1' }).click();
    t.same(await page.getByLabel('Channel').locator('option').allTextContents(), ['Second studio']);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await confirm(page, 'Move connection: 1', 'Move connection');
    await sees(page, '#notice', 'The encoder feeds Second studio.');
    await sees(page, '.sources li', /plays.*2 · file/);
    await page.getByRole('button', { name: 'Move connection: 1' }).waitFor({ state: 'hidden' });
    t.equal((await admin.get('channels/second')).body.sources[0].agent, 'Studio/1.0');
    t.equal((await admin.post('channels/second/encoder/move', { to: 'studio' })).status, 204);
    await sees(page, '.sources li', /plays.*1 · encoder/);
    t.notOk(feeder.closed);

    await confirm(page, 'End connection: 1', 'End connection');
    await feeder.over();
    await sees(page, '.sources li', /plays.*2 · file/);
    await page.locator('.day svg[role=img]').waitFor();
    await page.getByText('As a table').click();
    t.equal(await page.locator('.day tbody tr').count(), 24);
    listener.close();

    await page.goto(`${server.base}/admin#/channel/nothing`);
    await sees(page, '.trouble', 'not configured');
    t.equal(complaints.filter((line) => !line.includes('404')).join(), '');
  },
);

t.test('blocks, tokens, refusals, watchers and the log', { skip, timeout: 120_000 }, async (t) => {
  const server = await startServer(t, YAML);
  const { page, complaints } = await open(t, `${server.base}/admin#/access`);
  const refused = await fetch(`${server.base}/metapush/demo/wrong-token?song=x`);
  t.equal(refused.status, 403);
  await refused.body?.cancel();
  await sees(page, 'section[aria-labelledby=section-last-refusals] tbody tr', /push refused.*wrong secret.*403/);

  await page.getByRole('button', { name: 'Block an address' }).click();
  await page.getByLabel('Address or network').fill('not an address');
  await page.locator('dialog').getByRole('button', { name: 'Block' }).click();
  // What is wrong stands in the dialog, which stays.
  await sees(page, 'dialog .trouble', 'network');
  await page.getByLabel('Address or network').fill('203.0.113.0/24');
  await page.getByLabel('Why').fill('scrapers');
  await page.locator('dialog').getByRole('button', { name: 'Block' }).click();
  await sees(page, 'section[aria-labelledby=section-blocked] tbody tr', /203\.0\.113\.0\/24.*scrapers/);
  await confirm(page, 'Unblock 203.0.113.0/24', 'Unblock');
  await page.locator('section[aria-labelledby=section-blocked] tbody tr').waitFor({ state: 'detached' });

  await page.getByRole('button', { name: 'Make a token' }).click();
  await page.getByLabel('Channel').selectOption('demo');
  await page.getByLabel('Name').fill('studio 2');
  await page.locator('dialog').getByRole('button', { name: 'Make' }).click();
  const made = page.getByRole('textbox', { name: 'The token' });
  const token = await made.inputValue();
  await page.getByRole('button', { name: 'Done' }).click();
  const pushed = async (with_: string) => {
    const { status, body } = await fetch(`${server.base}/metapush/demo/${with_}?song=x`);
    await body?.cancel();
    return status;
  };
  t.equal(await pushed(token), 200);
  await page.getByRole('button', { name: 'Rotate studio 2 of demo' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Rotate' }).click();
  const next = await page.getByRole('textbox', { name: 'The new token' }).inputValue();
  await page.getByRole('button', { name: 'Done' }).click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  t.same([await pushed(token), await pushed(next)], [403, 200]);
  t.equal(await page.content().then((html) => html.includes(next)), false, 'it is nowhere on the page any more');
  await confirm(page, 'Revoke studio 2 of demo', 'Revoke');
  await until(async () => (await pushed(next)) === 403, PATIENCE_MS);

  await page.goto(`${server.base}/admin#/log`);
  await sees(page, '.lines li', /admin act.*act=revoke token/);
  await page.getByRole('button', { name: 'Hold' }).click();
  t.equal(await pushed('demo-token'), 200);
  await fetch(`${server.base}/metapush/demo/demo-token?song=While+held`).then(({ body }) => body?.cancel());
  await page.getByRole('button', { name: 'Hold' }).click();
  await sees(page, '.lines li', 'While held');
  await page.getByRole('searchbox').fill('revoke token');
  await page.locator('.lines li', { hasText: 'While held' }).waitFor({ state: 'hidden' });
  t.equal((await page.content()).includes(token), false, 'no secret is in the log');
  t.equal(complaints.filter((line) => !line.includes('422')).join(), '');
});

t.test('without the rights there are no buttons', { skip, timeout: 60_000 }, async (t) => {
  const server = await startServer(t, YAML);
  const { page } = await open(t, `${server.base}/admin`, { httpCredentials: LOOKER });
  await sees(page, '#user', 'looker');
  await sees(page, '.channel', 'Demo Channel');
  t.equal(await page.getByRole('button').count(), 0);
  await page.goto(`${server.base}/admin#/channel/demo`);
  await sees(page, '.sources li', 'plays');
  t.equal(await page.getByRole('button').count(), 0);
  await page.goto(`${server.base}/admin#/access`);
  await sees(page, 'section[aria-labelledby=section-push-tokens] tbody tr', 'config-demo-1');
  t.equal(await page.getByRole('button').count(), 0);
});

t.test('by keyboard alone', { skip, timeout: 60_000 }, async (t) => {
  const server = await startServer(t, YAML);
  const { page } = await open(t, `${server.base}/admin`);
  await sees(page, '.channel', 'Demo Channel');
  const focused = () => page.evaluate('document.activeElement.textContent') as Promise<string>;
  await page.keyboard.press('Tab');
  t.equal(await focused(), 'Skip to the content');
  for (let i = 0; i < 20 && !(await focused()).includes('Demo Channel'); i++) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await sees(page, 'h1', 'Demo Channel');
  t.equal(await page.evaluate('document.activeElement.id'), 'main', 'the focus goes along');
  await sees(page, '.sources li', 'plays');
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

t.test('axe finds nothing, and a phone has no need to scroll sideways', { skip, timeout: 180_000 }, async (t) => {
  const server = await startServer(t, YAML);
  encoder(t, server.port);
  await push(
    server,
    'A title with a very long word: Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft',
  );
  const player = new Player(server.port, '/demo.mp3', { agent: 'VLC' });
  await player.until(({ audioBytes }) => audioBytes > 0, PATIENCE_MS);
  await new AdminClient(server).post('blocks', { network: '203.0.113.0/24', seconds: 60 });
  await new AdminClient(server).post('channels/demo/tokens', { name: 'studio 2' });
  const looks: Record<string, BrowserContextOptions> = {
    light: { viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
    dark: { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' },
    phone: { viewport: { width: 320, height: 640 }, colorScheme: 'light', hasTouch: true, isMobile: true },
  };
  for (const [look, options] of Object.entries(looks)) {
    // What axe itself evaluates is not the page's.
    const { page } = await open(t, `${server.base}/admin`, { ...options, bypassCSP: true });
    await page.evaluate(AXE);
    const violations = async (what: string) => {
      const found = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
        readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
      };
      const each = found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
      t.same(each, [], `${what}, ${look}`);
      const [wide, width] = (await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')) as number[];
      t.ok(wide! <= width!, `${what}, ${look}: ${wide} of ${width} pixels`);
    };
    await sees(page, '.channel', 'Donaudampfschifffahrt');
    await violations('channels');
    await page.evaluate('location.hash = "#/channel/demo"');
    await sees(page, 'section[aria-labelledby=section-listeners] tbody th', 'VLC');
    await page.locator('.day svg').waitFor();
    await violations('a channel');
    await page.getByRole('button', { name: 'Push a title' }).click();
    await violations('a question');
    await page.keyboard.press('Escape');
    await page.evaluate('location.hash = "#/access"');
    await sees(page, 'section[aria-labelledby=section-blocked] tbody tr', '203.0.113.0/24');
    await sees(page, 'section[aria-labelledby=section-push-tokens] tbody tr', 'studio 2');
    await violations('access');
    await page.evaluate('location.hash = "#/log"');
    await sees(page, '.lines li', 'admin act');
    await violations('the log');
  }
  player.close();
});

t.test('what pages of other origins get from it', { skip, timeout: 60_000 }, async (t) => {
  const server = await startServer(t, YAML);
  const listener = new Player(server.port, '/demo.mp3', { agent: 'VLC' });
  await listener.until(({ audioBytes }) => audioBytes > 0, PATIENCE_MS);
  const evil = await otherOrigin(t);
  const { page } = await open(t, `${server.base}/admin`);
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
    const form = document.createElement('form');
    form.method = 'post';
    form.enctype = 'text/plain';
    form.action = base + '/admin/api/listeners/end';
    const input = document.createElement('input');
    input.name = '{"channel":"demo","agent":"';
    input.value = '"}';
    form.append(input);
    document.body.append(form);
    form.submit();
    return said;
  })(${JSON.stringify(server.base)})`)) as readonly string[];
  for (const said of tried) t.match(said, /^(failed|opaque 0 $)/);
  await page.waitForURL(`${server.base}/**`);
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
