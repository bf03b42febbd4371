/**
 * What the operator page shows as it changes, by keyboard, on a phone, light and dark, without violations that axe finds.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { BrowserContextOptions } from 'playwright-core';
import t from 'tap';
import { AdminClient } from '../../kit/admin-client.js';
import { openPage, PAGE_YAML, PATIENCE_MS, pushTitle, SKIP, sees, studioEncoder } from '../../kit/operator-page.js';
import { Player } from '../../kit/player.js';
import { startServer } from '../../kit/server.js';

// They wait more than they compute.
t.jobs = 3;

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

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
  { skip: SKIP, timeout: 60_000 },
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

t.test('by keyboard alone', { skip: SKIP, timeout: 60_000 }, async (t) => {
  const server = await startServer(t, PAGE_YAML);
  const { page } = await openPage(t, `${server.base}/admin`);
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

t.test('axe finds nothing, and a phone has no need to scroll sideways', { skip: SKIP, timeout: 180_000 }, async (t) => {
  const server = await startServer(t, PAGE_YAML);
  studioEncoder(t, server.port);
  await pushTitle(
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
    const { page } = await openPage(t, `${server.base}/admin`, { ...options, bypassCSP: true });
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
    await page.locator('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Move VLC' }).click();
    await violations('a choice');
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
