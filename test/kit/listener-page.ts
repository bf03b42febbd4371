/** Opens the pages for listeners in Chromium, and collects the browser's complaints and the state of the page's first player. */

import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Test } from 'tap';
import { missing } from './program.js';
import { until } from './until.js';

export const SKIP = missing('chromium');
const ARGS = ['--no-sandbox', '--disable-gpu', '--mute-audio', '--autoplay-policy=no-user-gesture-required'];

/** The audio element of the first player. It is in a shadow root, which locators pierce. */
export const AUDIO = `document.querySelector('airsplice-player').shadowRoot.querySelector('audio')`;

let shared: Promise<Browser> | null = null;

export interface OpenedPage {
  readonly page: Page;
  /** Errors of scripts, and violations of policies. */
  readonly complaints: readonly string[];
  /** The requested URLs. */
  readonly asked: string[];
}

export async function openListenerPage(
  t: Test,
  url: string,
  options: BrowserContextOptions = {},
  before?: (page: Page) => Promise<unknown>,
): Promise<OpenedPage> {
  shared ??= chromium.launch({ executablePath: '/usr/bin/chromium', args: ARGS });
  const browser = await shared;
  const context = await browser.newContext({ locale: 'en-GB', ...options });
  t.teardown(async () => {
    await context.close();
    if (browser.contexts().length > 0) return;
    shared = null;
    await browser.close();
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  const asked: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => message.text().includes('Content Security') && complaints.push(message.text()));
  page.on('request', (request) => asked.push(request.url()));
  await before?.(page);
  await page.goto(url);
  return { page, complaints, asked };
}

/** Waits until the first matching element has this text. */
export async function shows(page: Page, selector: string, text: string, withinMs = 10_000): Promise<void> {
  const element = page.locator(selector).first();
  let seen: string | null = null;
  const isThere = async () => {
    seen = await element.textContent();
    return seen === text;
  };
  await until(isThere, withinMs, () => `${selector} shows "${seen}", not "${text}"`, 50);
}

/** Waits until the server reports that a channel is on air. */
export async function saysOnAir(base: string, channel = 'demo'): Promise<void> {
  const url = `${base}/web/channels.json?channel=${channel}`;
  const isOnAir = async () => ((await (await fetch(url)).json()) as { onAir: boolean }[])[0]?.onAir === true;
  await until(isOnAir, 10_000, () => `${channel} is not on air`);
}

/** Pushes as a playout system does. Throws if it is refused. */
export async function pushTrack(
  base: string,
  track: Readonly<Record<string, unknown>>,
  channel = 'demo',
): Promise<void> {
  const answer = await fetch(`${base}/metapush/${channel}/${channel}-token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ duration: 180, artist: '', ...track }),
  });
  if (answer.status !== 200) throw new Error(`push: ${answer.status} ${await answer.text()}`);
  await answer.body?.cancel();
}
