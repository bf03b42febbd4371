/**
 * Firefox as a listener, beside Chromium (chromium.test.ts): its audio element begins with each codec at once, also where the bitrate is
 * low; a page of another origin reads titles and audio. What takes longer is test/long/firefox.test.ts.
 */

import t, { type Test } from 'tap';
import { decodeRead, fetchIcy, median, otherOrigin, readSoFar, start, type Tab } from '../kit/browser.js';
import { CODEC_NAMES, CODECS_FILL_MS, pushTo, startCodecs } from '../kit/codecs.js';
import { FIREFOX, Firefox } from '../kit/firefox.js';
import { pause } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { missing } from '../kit/program.js';
import { Random } from '../kit/random.js';
import type { TestServer } from '../kit/server.js';
import { until } from '../kit/until.js';

const JOINS = 4;
/** One that begins when enough has come in real time takes seconds. */
const MAX_START_MS = 1000;

t.test('firefox', { skip: missing(FIREFOX, 'ffmpeg'), timeout: 110_000 }, async (t) => {
  const server = await startCodecs(t, CODEC_NAMES);
  const fromMs = performance.now();
  const firefox = await Firefox.start(t);
  await t.test('a page of another origin reads titles and audio', (t) => otherPage(t, server, firefox));
  await until(() => performance.now() - fromMs > CODECS_FILL_MS, 2 * CODECS_FILL_MS);
  await t.test('the audio element plays at once', (t) => atOnce(t, server, firefox));
  t.strictSame(firefox.strangers, [], 'nothing but loopback was asked');
});

async function otherPage(t: Test, server: TestServer, tab: Firefox): Promise<void> {
  await tab.goto(await otherOrigin(t));
  for (const [channel, type] of [
    ['mp3', 'audio/mpeg'],
    ['aac', 'audio/aac'],
  ] as const) {
    await pushTo(server, channel, 'Anna', 'Frühling');
    // Who joins begins with the title of the place where it begins.
    const icy = new Player(server.port, `/${channel}`);
    t.teardown(() => icy.close());
    await icy.until(({ titles }) => titles.length > 0);
    await fetchIcy(tab, `${server.base}/${channel}`);
    await until(async () => (await readSoFar(tab)).titles.at(-1) === "StreamTitle='Anna - Frühling';", 15_000);
    await pushTo(server, channel, 'Anna', 'Sommer');
    await until(async () => (await readSoFar(tab)).titles.at(-1) === "StreamTitle='Anna - Sommer';", 15_000);
    const { metaint, headers, audioBytes } = await readSoFar(tab);
    t.same([metaint, headers], [icy.metaint, [channel, channel]]);
    const { decoded, buffered } = await decodeRead(tab, type);
    t.comment(`${channel}: ${audioBytes} bytes, ${decoded} s decoded, ${buffered} s by a MediaSource`);
    const seconds = (audioBytes * 8) / (channel === 'mp3' ? 128_000 : 96_000);
    t.ok(decoded > seconds * 0.8, 'decodeAudioData takes all of it');
    t.ok(buffered === null || buffered > seconds * 0.8, 'a MediaSource too');
  }
  t.strictSame(tab.complaints, []);
}

async function atOnce(t: Test, server: TestServer, tab: Tab): Promise<void> {
  const random = new Random();
  await tab.goto(await otherOrigin(t));
  for (const name of CODEC_NAMES) {
    const moved: number[] = [];
    for (let i = 0; i < JOINS; i++) {
      await pause(random.int(0, 300));
      moved.push(await start(tab, `${server.base}/${name}?n=${i}`));
    }
    const figures = `${name}: median ${median(moved).toFixed(0)} ms (${moved.map(Math.round).join(', ')})`;
    t.comment(figures);
    t.ok(median(moved) < MAX_START_MS, figures);
  }
}
