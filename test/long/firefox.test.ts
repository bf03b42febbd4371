/** Firefox for longer than a moment: our own page, a stream over a new link of each Ogg codec, an encoder that is killed while it plays. */

import t, { type Test } from 'tap';
import { heard, otherOrigin, play } from '../kit/browser.js';
import { type CodecName, pushTo, startCodecs } from '../kit/codecs.js';
import { FIREFOX, Firefox } from '../kit/firefox.js';
import { keepLines, type LogLine, sourceChanges } from '../kit/log-lines.js';
import { missing, Program } from '../kit/program.js';
import { DEMO_AUDIO, type TestServer } from '../kit/server.js';
import { until } from '../kit/until.js';

const OGG = ['vorbis', 'opus', 'flac'] as const;
/** More than any burst here holds. */
const GOES_ON_SECONDS = 8;
const PAUSED_MS = 1500;

t.test('firefox', { skip: missing(FIREFOX, 'ffmpeg'), timeout: 170_000 }, async (t) => {
  const { log, lines } = keepLines();
  const server = await startCodecs(t, ['mp3', ...OGG], log);
  const firefox = await Firefox.start(t);
  await t.test("our page: titles, the listener's title, and a pause that ends the download", (t) =>
    ourPage(t, server, firefox),
  );
  await t.test('it plays on: the encoder is killed, titles make new links', (t) => playOn(t, server, firefox, lines));
  t.strictSame(firefox.strangers, [], 'nothing but loopback was asked');
});

async function ourPage(t: Test, server: TestServer, tab: Firefox): Promise<void> {
  const shows = async (selector: string, text: string) => {
    let seen: string | null = null;
    const isThere = async () => {
      seen = await tab.evaluate(
        (selector) =>
          // biome-ignore lint/suspicious/noExplicitAny: the browser's own, which Node's types do not know
          (globalThis as any).document.querySelector(selector)?.textContent ?? null,
        selector,
      );
      return seen === text;
    };
    await until(isThere, 20_000, () => `${selector} shows "${seen}", not "${text}"`);
    t.pass(`${selector}: ${text}`);
  };
  await pushTo(server, 'mp3', 'Björk', 'Jóga');
  await tab.goto(server.base);
  await shows('#state-text', 'connected');
  await shows('.song', 'Jóga');
  await shows('.artist', 'Björk');
  await tab.evaluate(
    // biome-ignore lint/suspicious/noExplicitAny: as above
    () => (globalThis as any).document.querySelector('audio').play(),
    null,
  );
  await shows('.heard', 'Björk - Jóga');
  await pushTo(server, 'mp3', 'Anna', 'Wälzer');
  await shows('.song', 'Wälzer');
  await shows('.heard', 'Anna - Wälzer');
  await tab.evaluate(
    // biome-ignore lint/suspicious/noExplicitAny: as above
    () => (globalThis as any).document.querySelector('audio').pause(),
    null,
  );
  await shows('.heard', 'Not playing');
  const listeners = async () =>
    /airsplice_listeners\{channel="mp3"\} (\d+)/.exec(await (await fetch(`${server.base}/metrics`)).text())?.[1];
  await until(async () => (await listeners()) === '0', 10_000);
  // The address of the next play is there already, and is not to be loaded.
  const pausedMs = performance.now();
  await until(() => performance.now() - pausedMs > PAUSED_MS, 4 * PAUSED_MS);
  t.equal(tab.requested.filter((url) => url.includes('/mp3?metaid=')).length, 1);
  t.equal(await listeners(), '0');
  t.strictSame(tab.complaints, []);
}

async function playOn(t: Test, server: TestServer, tab: Firefox, lines: readonly LogLine[]): Promise<void> {
  const url = (name: CodecName) => `${server.base}/${name}`;
  const encode = ['-c:a', 'libmp3lame', '-b:a', '128k', '-f', 'mp3', '-content_type', 'audio/mpeg'];
  const to = `icecast://source:demo-source@127.0.0.1:${server.port}/mp3`;
  const input = ['-v', 'error', '-nostdin', '-re', '-stream_loop', '-1', '-i', DEMO_AUDIO];
  const ffmpeg = new Program(t, 'ffmpeg', [...input, ...encode, to]);
  const source = () => sourceChanges(lines, 'mp3').at(-1);
  await ffmpeg.until(() => source() === 'encoder', 20_000, 'is not heard');
  await tab.goto(await otherOrigin(t));
  const names = ['mp3', ...OGG] as const;
  await Promise.all(names.map((name) => play(tab, url(name))));
  await ffmpeg.stop('SIGKILL');
  for (const name of OGG) await pushTo(server, name, 'Anna', 'Herbst');
  const before = new Map<CodecName, number>();
  for (const name of names) before.set(name, (await heard(tab, url(name))).seconds);
  await until(() => source() === 'file', 20_000);
  for (const name of names) {
    const now = () => heard(tab, url(name));
    const goesOn = async () => (await now()).seconds > before.get(name)! + GOES_ON_SECONDS;
    await until(goesOn, 30_000, () => `${name} stands still`);
    t.equal((await now()).error, null, `${name}: ${name === 'mp3' ? 'the file goes on' : 'a new link goes on'}`);
  }
}
