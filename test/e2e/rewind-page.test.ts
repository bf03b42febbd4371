/** What was played before can be played again on a channel's page, from a title's beginning on, where the channel has a rewind: in Chromium. */

import t from 'tap';
import { findings } from '../kit/axe.js';
import { AUDIO, openListenerPage, pushTrack, SKIP, saysOnAir, shows } from '../kit/listener-page.js';
import { pause } from '../kit/pause.js';
import { demoYaml, startServer } from '../kit/server.js';
import { patient, until } from '../kit/until.js';

const HLS = 'streams: { hls: { enabled: true, segmentSeconds: 2, rewindHours: 1 } }';
const SHOTS = process.env['SCREENSHOTS'];
const SIZES = [
  { width: 390, height: 844 },
  { width: 1280, height: 900 },
];

t.test('from the beginning of a title on, and back to live', { skip: SKIP, timeout: patient(120_000) }, async (t) => {
  const { base } = await startServer(t, demoYaml(HLS));
  await saysOnAir(base);
  for (const song of ['one', 'two', 'three']) {
    await pushTrack(base, { artist: 'A', song, duration: 10, etype: 1001 });
    await pause(7000);
  }
  await pushTrack(base, { artist: 'A', song: 'four', etype: 1001 });
  await pause(4000);
  const { page, complaints } = await openListenerPage(t, `${base}/listen/demo`);
  const button = page.getByRole('button', { name: 'Play from here: A - two' });
  await button.waitFor();
  await button.focus();
  await page.keyboard.press('Enter');
  await shows(page, '.song', 'two', 20_000);
  const heard = page.locator('.history li[aria-current] .line');
  t.equal(await heard.first().textContent(), 'two', 'the list says what is heard');
  const seconds = () => page.evaluate(`${AUDIO}.currentTime`) as Promise<number>;
  const before = await seconds();
  await until(async () => (await seconds()) > before + 0.5, 20_000);
  t.equal(await page.evaluate(`document.querySelector('airsplice-player').state`), 'playing');
  t.ok(await page.locator('.to-live').isVisible());
  t.strictSame(await findings(page), []);
  for (const size of SHOTS === undefined ? [] : SIZES) {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: `${SHOTS}/rewind-${size.width}-${colorScheme}.png`, fullPage: true });
    }
  }
  const width = `document.documentElement.scrollWidth <= document.documentElement.clientWidth`;
  await page.setViewportSize(SIZES[0]!);
  t.ok(await page.evaluate(width), 'nothing is wider than the window');
  t.ok(
    await page.getByRole('button', { name: 'Play from here: A - three' }).isVisible(),
    'what follows can be played too',
  );
  await shows(page, '.song', 'three', 20_000);
  t.equal(await heard.first().textContent(), 'three');
  await page.locator('.to-live').click();
  await shows(page, '.song', 'four', 20_000);
  t.equal(await heard.count(), 0);
  t.notOk(await page.locator('.to-live').isVisible());
  await until(
    async () => (await page.evaluate(`document.querySelector('airsplice-player').state`)) === 'playing',
    20_000,
  );
  await button.click();
  await shows(page, '.song', 'two', 20_000);
  await page.locator('.play').first().click();
  await shows(page, '.song', 'four', 10_000);
  t.notOk(await page.locator('.to-live').isVisible(), 'the next play is live');
  t.strictSame(complaints, []);
});

t.test('what was played before the rewind began cannot be played', { skip: SKIP }, async (t) => {
  const before = await startServer(t, demoYaml());
  await pushTrack(before.base, { artist: 'A', song: 'one', etype: 1001 });
  await before.app.stop();
  const { base } = await startServer(t, demoYaml(HLS), before.folder);
  await saysOnAir(base);
  const { page, complaints } = await openListenerPage(t, `${base}/listen/demo`);
  const play = (song: string) => page.locator(`.history button[aria-label="Play from here: A - ${song}"]`);
  for (const song of ['two', 'three']) {
    await pushTrack(base, { artist: 'A', song, etype: 1001 });
    await pause(5000);
  }
  await pushTrack(base, { artist: 'A', song: 'four', etype: 1001 });
  await play('three').waitFor();
  t.ok(await play('three').isVisible(), 'without another load of the page');
  t.equal(await play('one').count(), 1);
  t.notOk(await play('one').isVisible());
  t.strictSame(complaints, []);
  // Of a device whose clock is two hours ahead.
  const ahead = `const { now } = Date;
    Date.now = () => now() + 7_200_000;
    Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + 7_200_000 });`;
  const other = (await openListenerPage(t, `${base}/listen/demo`, {}, (each) => each.addInitScript(ahead))).page;
  await other.locator('.history button[aria-label="Play from here: A - three"]').waitFor({ timeout: 10_000 });
});

t.test('without a rewind there is nothing to press', { skip: SKIP }, async (t) => {
  const { base } = await startServer(t, demoYaml());
  await saysOnAir(base);
  for (const song of ['one', 'two']) await pushTrack(base, { artist: 'A', song });
  const { page } = await openListenerPage(t, `${base}/listen/demo`);
  await page.locator('.history li').first().waitFor();
  t.equal(await page.locator('.history li button').count(), 0);
});
