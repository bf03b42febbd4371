/** The readable page at /docs in a real browser: it shows every operation, takes everything from this host, and complains of nothing. */

import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import t from 'tap';
import { operations } from '../kit/documents.js';
import { demoYaml, startServer } from '../kit/server.js';
import { ask } from '../kit/wire.js';

const CHROMIUM = '/usr/bin/chromium';
const skip = existsSync(CHROMIUM) ? false : `${CHROMIUM} is missing`;

t.test('the page at /docs and its files are open, with a policy that keeps everything here', async (t) => {
  const { port } = await startServer(t, demoYaml());
  for (const path of [
    '/docs',
    '/docs/',
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
  const { base } = await startServer(t, demoYaml());
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
  await page.goto(`${base}/docs`);
  await page.locator('.opblock').first().waitFor();
  t.equal(await page.locator('.opblock').count(), operations().size, 'one block for each operation');
  t.equal(await page.locator('.errors-wrapper').count(), 0);
  await page.locator('#operations-Push-pushPost .opblock-summary').click();
  await page.locator('#operations-Push-pushPost .responses-table').first().waitFor();
  t.match(await page.locator('#operations-Push-pushPost').textContent(), /Fields are missing or invalid/);
  if (process.env['SHOT']) await page.screenshot({ path: process.env['SHOT'], fullPage: false });
  t.strictSame(complaints, []);
  t.strictSame(elsewhere, []);
});
