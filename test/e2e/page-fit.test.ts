/**
 * What a listener sees without scrolling, and without scripts, in Chromium before the whole server: the button that plays, logos, a player in a
 * frame of any size, why nothing plays.
 */

import type { Locator, Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { openListenerPage, pushTrack, SKIP, saysOnAir, shows } from '../kit/listener-page.js';
import { DEMO_AUDIO, demoYaml, startServer } from '../kit/server.js';
import { patient, until } from '../kit/until.js';

const LOGO = new URL('../../config/demo/logo.svg', import.meta.url).pathname;
/** A phone whose browser shows its bars. */
const PHONE = { width: 390, height: 664 };
const SMALL_PHONE = { width: 320, height: 568 };
const DESK = { width: 1280, height: 800 };
const PLAIN = { javaScriptEnabled: false };

const YAML = `
addresses: [{ host: 127.0.0.1, port: 0 }]
page: { logo: ${LOGO}, frameAncestors: ['*'] }
stations:
  wave:
    name: Radio Wave
    channels:
      one: { name: One, description: The first, mounts: [/one.mp3], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      club: { name: Club, access: signed, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
signedUrls: { keys: [env:PAGE_FIT_KEY] }
`;
process.env['PAGE_FIT_KEY'] = 'a key that is as long as it has to be';

const THIRD = '      quiet: { name: Quiet, sources: [{ type: encoder, password: demo-source }] }\nsignedUrls';

async function fits(t: Test, page: Page, element: Locator, what: string): Promise<void> {
  const { width, height } = page.viewportSize()!;
  const box = (await element.boundingBox())!;
  t.ok(box.x >= 0 && box.x + box.width <= width, `${what}: within the width: ${JSON.stringify(box)}`);
  t.ok(box.y >= 0 && box.y + box.height <= height, `${what}: within the height: ${JSON.stringify(box)}`);
}

t.test('the button that plays is seen without scrolling', { skip: SKIP, timeout: patient(60_000) }, async (t) => {
  const { base } = await startServer(t, YAML);
  await saysOnAir(base, 'one');
  for (const [path, viewport] of [
    ['/listen/one', PHONE],
    ['/', PHONE],
    ['/listen/one', SMALL_PHONE],
    ['/listen/one', DESK],
    ['/', DESK],
  ] as const) {
    const { page } = await openListenerPage(t, base + path, { viewport });
    await fits(t, page, page.locator('.play').first(), `${path} ${viewport.width}`);
    await page.context().close();
  }
});

t.test(
  'a player in a frame of any size, with and without scripts',
  { skip: SKIP, timeout: patient(60_000) },
  async (t) => {
    const { base } = await startServer(t, YAML);
    await saysOnAir(base, 'one');
    for (const viewport of [
      { width: 600, height: 88 },
      { width: 320, height: 88 },
      { width: 390, height: 360 },
      PHONE,
    ]) {
      const what = `${viewport.width} × ${viewport.height}`;
      const plain = (await openListenerPage(t, `${base}/embed/one`, { viewport, ...PLAIN })).page;
      await fits(t, plain, plain.locator('audio'), `${what}, plain`);
      await fits(t, plain, plain.locator('.plain-song'), `${what}, plain`);
      const { page } = await openListenerPage(t, `${base}/embed/one`, { viewport });
      for (const part of ['.play', '.cover', '.song']) await fits(t, page, page.locator(part), `${what} ${part}`);
      const wide = (await page.locator('.cover').boundingBox())!.width;
      if (viewport === PHONE) t.ok(wide > 250, `a phone that shows nothing else has a large cover: ${wide}`);
    }
  },
);

t.test('without scripts: logos are there, and no button that does nothing', { skip: SKIP }, async (t) => {
  const { base } = await startServer(t, YAML.replace('signedUrls', THIRD));
  await saysOnAir(base, 'one');
  const { page, complaints } = await openListenerPage(t, base, PLAIN);
  t.equal(await page.locator('.row:visible').count(), 3);
  t.equal(await page.locator('.row-play:visible').count(), 0);
  t.equal(await page.locator('.tile iframe:visible').count(), 3);
  t.equal(await page.locator('.brand iframe:visible').count(), 1);
  const src = await page.locator('.tile iframe').first().getAttribute('src');
  const frame = await fetch(new URL(src!, `${base}/`));
  t.match(frame.headers.get('content-security-policy'), `img-src ${base}/web/logo;`);
  t.match(await frame.text(), `url("${base}/web/logo")`);
  t.strictSame(complaints, []);
});

t.test('a channel that is for members says what to do', { skip: SKIP, timeout: patient(30_000) }, async (t) => {
  const { base } = await startServer(t, YAML);
  await saysOnAir(base, 'club');
  const { page } = await openListenerPage(t, `${base}/embed/club`, { viewport: { width: 390, height: 360 } });
  await page.locator('.play').click();
  await shows(page, '.status-text', 'For members only', 20_000);
  await shows(page, '.artist', 'Open the link that your station gave you.');
  t.ok(await page.locator('.play').isDisabled());
  t.notOk(await page.locator('.name').isVisible(), 'the name is there once');
  const { scrollHeight, clientHeight } = (await page
    .locator('.artist')
    .evaluate(({ scrollHeight, clientHeight }) => ({ scrollHeight, clientHeight }))) as Record<string, number>;
  t.ok(scrollHeight! <= clientHeight! + 1, 'all of it');
});

t.test('nothing played yet takes no room', { skip: SKIP }, async (t) => {
  const { base } = await startServer(t, demoYaml());
  await saysOnAir(base);
  const { page } = await openListenerPage(t, `${base}/listen/demo`, { viewport: PHONE });
  await shows(page, '.empty', 'Nothing played yet.');
  const heightOf = async () => (await page.locator('.history').boundingBox())!.height;
  t.ok((await heightOf()) < 120, `${await heightOf()} px`);
  for (const song of ['one', 'two']) await pushTrack(base, { artist: 'A', song });
  await until(async () => (await heightOf()) > 300, 10_000);
});

t.test('a time with AM or PM has room in its line', { skip: SKIP }, async (t) => {
  const { base } = await startServer(t, demoYaml());
  await saysOnAir(base);
  for (const song of ['one', 'two']) await pushTrack(base, { artist: 'A', song });
  for (const [locale, text] of [
    ['en-US', /^\d+:\d\d\s[AP]M$/],
    ['en-GB', /^\d+:\d\d$/],
  ] as const) {
    const { page } = await openListenerPage(t, `${base}/listen/demo`, { viewport: PHONE, locale });
    const time = page.locator('.history time').first();
    t.match(await time.textContent(), text);
    const { own, line, cover } = (await page.evaluate(`(() => {
      const time = document.querySelector('.history time');
      const range = document.createRange();
      range.selectNodeContents(time);
      const { right, height } = range.getBoundingClientRect();
      return { own: right, line: height, cover: time.nextElementSibling.getBoundingClientRect().left };
    })()`)) as Record<string, number>;
    t.ok(own! <= cover! && line! < 24, `${locale}: ends at ${own} px before ${cover} px, ${line} px high`);
  }
});
