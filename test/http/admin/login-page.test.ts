/** The form by which an operator logs in, in a real browser: what axe finds, a phone, and that a link to a view leads there behind it. */

import type { BrowserContextOptions, Page } from 'playwright-core';
import t from 'tap';
import { unfit } from '../../kit/axe.js';
import { openForm, PAGE_YAML, SKIP, sees } from '../../kit/operator-page.js';
import { startServer } from '../../kit/server.js';
import { patient } from '../../kit/until.js';

const TIMES = { skip: SKIP, timeout: patient(60_000) };
const LOOKS: Record<string, BrowserContextOptions> = {
  light: { viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  dark: { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' },
  phone: { viewport: { width: 320, height: 640 }, colorScheme: 'light', hasTouch: true, isMobile: true },
  'phone at night': { viewport: { width: 320, height: 640 }, colorScheme: 'dark', hasTouch: true, isMobile: true },
};

async function fill(page: Page, user: string, password: string): Promise<void> {
  await page.getByLabel('User').fill(user);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Log in' }).click();
}

t.test(
  'axe finds nothing, also where the password was wrong, and a phone need not scroll sideways',
  TIMES,
  async (t) => {
    const { base } = await startServer(t, PAGE_YAML);
    for (const [look, options] of Object.entries(LOOKS)) {
      const { page } = await openForm(t, `${base}/admin`, { ...options, bypassCSP: true });
      t.same(await unfit(page), [], look);
      await fill(page, 'all', 'wrong');
      await sees(page, '.trouble', 'The user is unknown or the password is wrong.');
      t.same(await unfit(page), [], `${look}, refused`);
    }
  },
);

t.test('a link to a view leads there behind the form, also at the second try', TIMES, async (t) => {
  const { base } = await startServer(t, PAGE_YAML);
  const { page, complaints } = await openForm(t, `${base}/admin/#/channel/demo`);
  await fill(page, 'all', 'wrong');
  await sees(page, '.trouble', 'The user is unknown');
  t.equal(page.url(), `${base}/admin/login#/channel/demo`);
  await fill(page, 'all', 'may do all of it');
  await sees(page, '#user', 'all');
  t.equal(page.url(), `${base}/admin#/channel/demo`);
  await sees(page, 'h1', 'Demo Channel');
  t.same(
    complaints.filter((line) => !line.includes('401')),
    [],
    'its own policy lets its script run',
  );
});

t.test('what stands behind # leads nowhere else, and is no part of the page', TIMES, async (t) => {
  const { base } = await startServer(t, PAGE_YAML);
  for (const hash of ['#//evil.example/', '#https://evil.example/', '#"><img src=x onerror=document.title=1>', '#%']) {
    const { page } = await openForm(t, `${base}/admin${hash}`);
    await fill(page, 'all', 'may do all of it');
    await sees(page, '#user', 'all');
    t.ok(page.url().startsWith(`${base}/admin#`), page.url());
    await sees(page, '.channel', 'Demo Channel');
  }
});

t.test('without scripts it is the overview', TIMES, async (t) => {
  const { base } = await startServer(t, PAGE_YAML);
  const { page } = await openForm(t, `${base}/admin#/log`, { javaScriptEnabled: false });
  await fill(page, 'all', 'may do all of it');
  await page.waitForURL(`${base}/admin`);
  t.match(await page.content(), 'needs JavaScript');
});
