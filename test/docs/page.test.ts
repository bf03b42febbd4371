/** The readable page at /docs in a real browser: it shows every operation, takes everything from this host, and complains of nothing. */

import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import t from 'tap';
import { ADMIN_USERS } from '../kit/admin-client.js';
import { findings } from '../kit/axe.js';
import { operations } from '../kit/documents.js';
import { demoYaml, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { ask } from '../kit/wire.js';

/** What is used of Swagger UI. */
interface SwaggerUi {
  getSystem(): { readonly specSelectors: { allowTryItOutFor(path: string, method: string): boolean } };
}
type Bundle = (config: object) => SwaggerUi;
declare const window: { ui: SwaggerUi };

const CHROMIUM = '/usr/bin/chromium';
const skip = existsSync(CHROMIUM) ? false : `${CHROMIUM} is missing`;

t.test('the page at /docs and its files are open, with a policy that keeps everything here', async (t) => {
  const { port } = await startServer(t, demoYaml());
  for (const path of [
    '/docs',
    '/docs/',
    '/docs/messages',
    '/docs/static/swagger-ui-bundle.js',
    '/docs/static/swagger-ui.css',
    '/docs/json',
  ]) {
    const answer = await ask(t, port, `GET ${path} HTTP/1.1`);
    t.equal(answer.status, 200, path);
    const policy = answer.headers.get('content-security-policy') ?? '';
    t.match(policy, /default-src 'none'/, path);
    t.notMatch(policy, /https?:|\*/, 'no other host');
  }
  for (const path of ['/docs/nothing', '/docs/static/nothing.js', '/docs/static/../../../package.json']) {
    const answer = await ask(t, port, `GET ${path} HTTP/1.1`);
    t.equal(answer.status, path.includes('..') ? 403 : 404, path);
    t.match(answer.headers.get('content-type'), /problem\+json/);
  }
});

t.test('in a browser', { skip }, async (t) => {
  const { base, port } = await startServer(t, demoYaml(ADMIN_USERS));
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  });
  t.teardown(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
  const complaints: string[] = [];
  const elsewhere: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on(
    'request',
    (request) => /^(data:|http:\/\/127\.0\.0\.1)/.test(request.url()) || elsewhere.push(request.url()),
  );
  // The page keeps its parts to itself.
  await page.addInitScript(() => {
    let bundle: Bundle;
    Object.defineProperty(window, 'SwaggerUIBundle', {
      get: () => bundle,
      set: (made: Bundle) => {
        bundle = Object.assign((config: object) => (window.ui = made(config)), made);
      },
    });
  });
  await page.goto(`${base}/docs`);
  await page.locator('.opblock').first().waitFor();
  const published = [...operations().keys()].filter((operation) => /^(GET|POST|PUT|DELETE) /.test(operation));
  t.equal(await page.locator('.opblock').count(), published.length, 'one block for each operation');
  t.equal(await page.locator('.errors-wrapper').count(), 0);
  const isDark = `document.documentElement.classList.contains('dark-mode')`;
  const follows = async (colorScheme: 'light' | 'dark') => {
    await page.emulateMedia({ colorScheme });
    const has = async () => (await page.evaluate(isDark)) === (colorScheme === 'dark');
    await until(has, 5000, () => 'it follows the system');
  };
  for (const colorScheme of ['light', 'dark'] as const) {
    await follows(colorScheme);
    const rules = (await findings(page)).map((found) => found.slice(0, found.indexOf(':')));
    // Those are Swagger UI's own: buttons in its rows, and a list of one server.
    t.strictSame(rules.sort(), ['heading-order', 'nested-interactive', 'select-name'], colorScheme);
  }
  await page.locator('#operations-Push-pushPost .opblock-summary').click();
  await page.locator('#operations-Push-pushPost .responses-table').first().waitFor();
  t.match(await page.locator('#operations-Push-pushPost').textContent(), /Fields are missing or invalid/);
  t.equal(await page.locator('.try-out__btn').count(), 0, 'a push cannot be tried out');
  for (const operation of ['Push-pushGet', 'Hear-hear', 'Watch-eventsChannel']) {
    await page.locator(`#operations-${operation} .opblock-summary`).click();
    await page.locator(`#operations-${operation} .responses-table`).first().waitFor();
    t.equal(await page.locator('.try-out__btn').count(), 0, `${operation} cannot be tried out`);
  }
  const gets = published.filter((each) => each.startsWith('GET ')).map((each) => each.slice(4));
  const tried = await page.evaluate(
    (paths) => paths.filter((path) => window.ui.getSystem().specSelectors.allowTryItOutFor(path, 'get')),
    gets,
  );
  t.strictSame(
    gets.filter((path) => !tried.includes(path)).sort(),
    [
      ...['/admin.cgi', '/admin/api/events', '/admin/api/log', '/admin/fallbacks', '/admin/killclient'],
      ...['/admin/killsource', '/admin/metadata', '/admin/moveclients'],
      ...['/metadata/channel/{channelkey}', '/metadata/listener/{metaid}', '/metadata/sse/channel/{channelkey}'],
      ...['/metadata/sse/listener/{metaid}', '/metadata/sse/station/{stationkey}', '/metadata/station/{stationkey}'],
      ...['/metapush/{channelkey}', '/metapush/{channelkey}/{token}', '/{mount}'],
    ],
    'all that is read can be tried out, but not what acts, or never ends',
  );

  /** What the server says to a read that is tried out. */
  const answered = async (operation: string, fields: Readonly<Record<string, string>>, status: number) => {
    const block = page.locator(`#operations-${operation}`);
    await block.locator('.opblock-summary').click();
    await block.locator('.try-out__btn').click();
    for (const [name, value] of Object.entries(fields)) await block.locator(`input[placeholder="${name}"]`).fill(value);
    await block.locator('.execute').click();
    const row = block.locator('.live-responses-table .response').filter({ hasText: String(status) });
    await row
      .locator('.response-col_status')
      .filter({ hasText: String(status) })
      .waitFor();
    return (await row.textContent()) ?? '';
  };
  await ask(t, port, 'GET /metapush/demo/demo-token?artist=Tried&song=Out HTTP/1.1');
  t.match(await answered('Poll-pollStation', { stationkey: 'demo' }, 200), /Tried - Out/);
  await page.locator('.auth-wrapper .authorize').first().click();
  const way = page.locator('.auth-container').filter({ hasText: 'adminToken' });
  await way.locator('input').fill(process.env['ADMIN_TEST_READ']!);
  await way.locator('button.authorize').click();
  await page.locator('.close-modal').click();
  t.match(await answered('Admin-adminSelf', {}, 200), /reader/);
  const overflow = 'document.documentElement.scrollWidth - innerWidth';
  for (const colorScheme of ['light', 'dark'] as const) {
    await follows(colorScheme);
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 900 });
      t.equal(await page.evaluate(overflow), 0, `no sideways scroll at ${width} px`);
    }
  }
  if (process.env['SHOT']) await page.screenshot({ path: process.env['SHOT'], fullPage: false });

  await page.goto(`${base}/docs/messages`);
  t.match(await page.textContent('main'), /\/metadata\/sse\/listener\/\{metaid\}/, 'the messages, to read');
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    t.equal(await page.evaluate(overflow), 0, 'no sideways scroll');
    t.strictSame(await findings(page), [], colorScheme);
  }
  t.strictSame(complaints, []);
  t.strictSame(elsewhere, []);
});
