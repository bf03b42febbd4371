/** The operator page in a real browser with the whole server, for several test files. */

import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Test } from 'tap';
import './admin-client.js';
import { Feeder } from './feeder.js';
import { DEMO_AUDIO, demoYaml, type TestServer } from './server.js';

const CHROMIUM = '/usr/bin/chromium';
export const SKIP = existsSync(CHROMIUM) ? false : `${CHROMIUM} is missing`;
export const PATIENCE_MS = 20_000;

process.env['ADMIN_TEST_LOOKER'] = 'may look at the page';
/** `demo` plays a file; `studio` an encoder, or the file without one; `other` and `slow` the file, `slow` with another metaint. */
export const PAGE_YAML = demoYaml(`
      other: { bitrateKbps: 128, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      slow: { bitrateKbps: 128, metaint: 32768, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
admin:
  users:
    all: { password: 'env:ADMIN_TEST_ALL', rights: [read, titles, operate] }
    looker: { password: 'env:ADMIN_TEST_LOOKER', rights: [read] }
    editor: { tokens: ['env:ADMIN_TEST_TITLES'], rights: [titles] }
`);
const ALL = { username: 'all', password: 'may do all of it' };
export const LOOKER = { username: 'looker', password: 'may look at the page' };

/** Shared by all tests of a file that have a page open; closed with the last page, since it keeps the process alive. */
let shared: Promise<Browser> | null = null;
let pages = 0;

interface Opened {
  readonly page: Page;
  /** Errors of scripts, violations of policies, and refused requests. */
  readonly complaints: string[];
}

interface PageOptions extends Omit<BrowserContextOptions, 'httpCredentials'> {
  readonly httpCredentials?: typeof ALL;
}

/** Opens a page without a login. */
export async function openForm(t: Test, url: string, options: BrowserContextOptions = {}): Promise<Opened> {
  shared ??= chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
  pages++;
  const browser = shared;
  const context = await (await browser).newContext(options);
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

/** Opens a page, by default as the user with all rights. */
export async function openPage(t: Test, url: string, options: PageOptions = {}): Promise<Opened> {
  const { httpCredentials = ALL, ...others } = options;
  const { page, complaints } = await openForm(t, url, others);
  await page.getByLabel('User').fill(httpCredentials.username);
  await page.getByLabel('Password').fill(httpCredentials.password);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.locator('#user', { hasText: httpCredentials.username }).waitFor();
  // The form's 401 does not count.
  complaints.length = 0;
  await page.goto(url);
  return { page, complaints };
}

/** Waits for an element with this text. */
export async function sees(page: Page, selector: string, text: string | RegExp, withinMs?: number): Promise<void> {
  await page
    .locator(selector)
    .filter({ hasText: text })
    .first()
    .waitFor({ ...(withinMs !== undefined && { timeout: withinMs }) });
}

/** Presses a button, and confirms the question. */
export async function confirm(page: Page, button: string | RegExp, yes: string | RegExp): Promise<void> {
  await page.getByRole('button', { name: button }).first().click();
  await page.locator('dialog').getByRole('button', { name: yes }).click();
  await page.locator('dialog').waitFor({ state: 'detached' });
}

export async function pushTitle({ base }: TestServer, song: string): Promise<void> {
  const answer = await fetch(`${base}/metapush/demo/demo-token?song=${encodeURIComponent(song)}&duration=600`);
  if (answer.status !== 200) throw new Error(`push: ${answer.status}`);
  await answer.body?.cancel();
}

export function studioEncoder(t: Test, port: number): Feeder {
  const headers = 'Content-Type: audio/mpeg\r\nUser-Agent: Studio/1.0\r\n';
  return new Feeder(t, port, '/studio.mp3', { headers }).stream(t);
}
