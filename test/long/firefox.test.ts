/**
 * Firefox for longer than a moment: our own page, a stream over a new link of each Ogg codec, an encoder that is killed while it plays, another sample
 * rate, with which it stands still.
 */

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
/** A clock that stood still was noticed in this time, as its page saw it. */
const NOTICED_MS = 3000;
const PLAYER = `document.querySelector('airsplice-player')`;

t.test('firefox', { skip: missing(FIREFOX, 'ffmpeg'), timeout: 230_000 }, async (t) => {
  const { log, lines } = keepLines();
  const server = await startCodecs(t, ['mp3', ...OGG], log);
  const firefox = await Firefox.start(t);
  await t.test("our page: titles, the listener's title, and a pause that ends the download", (t) =>
    ourPage(t, server, firefox),
  );
  await t.test('it plays on: the encoder is killed, titles make new links', (t) => playOn(t, server, firefox, lines));
  await t.test('attach: a link of Ogg does not count as a stall, another sample rate is noticed', (t) =>
    attached(t, server, firefox, lines),
  );
  t.strictSame(firefox.strangers, [], 'nothing but loopback was asked');
});

async function ourPage(t: Test, server: TestServer, tab: Firefox): Promise<void> {
  const inPlayer = (script: string) => tab.evaluate((text) => new Function(text)(), script) as Promise<unknown>;
  const shows = async (selector: string, text: string) => {
    let seen: unknown = null;
    const isThere = async () => {
      seen = await inPlayer(`return ${PLAYER}?.shadowRoot?.querySelector('${selector}')?.textContent ?? null`);
      return seen === text;
    };
    await until(isThere, 20_000, () => `${selector} shows "${seen}", not "${text}"`);
    t.pass(`${selector}: ${text}`);
  };
  await pushTo(server, 'mp3', 'Björk', 'Jóga');
  await tab.goto(`${server.base}/listen/mp3`);
  await shows('.status-text', 'On air');
  await shows('.song', 'Jóga');
  await shows('.artist', 'Björk');
  await inPlayer(`${PLAYER}.play()`);
  await shows('.status-text', 'You are listening');
  await pushTo(server, 'mp3', 'Anna', 'Wälzer');
  await shows('.song', 'Wälzer');
  await inPlayer(`${PLAYER}.stop()`);
  await shows('.status-text', 'On air');
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

/** A state, and for how long the element's clock had not moved then. */
interface Noticed {
  readonly state: string;
  readonly stoodMs: number;
}

async function attached(t: Test, server: TestServer, tab: Firefox, lines: readonly LogLine[]): Promise<void> {
  await tab.goto(await otherOrigin(t));
  const names = ['mp3', 'vorbis', 'opus'] as const;
  for (const name of names) await attachIn(tab, server.base, name);
  const seen = () =>
    // biome-ignore lint/suspicious/noExplicitAny: as above
    tab.evaluate(() => (globalThis as any).seen as Record<string, { states: Noticed[]; seconds: number }>, null);
  const plays = async (name: string, count: number) => {
    const { states, seconds } = (await seen())[name]!;
    return states.filter(({ state }) => state === 'playing').length >= count && seconds > GOES_ON_SECONDS;
  };
  for (const name of names) await until(() => plays(name, 1), 30_000);
  for (const name of ['vorbis', 'opus'] as const) await pushTo(server, name, 'Anna', 'Winter');
  const input = ['-v', 'error', '-nostdin', '-re', '-stream_loop', '-1', '-i', DEMO_AUDIO, '-ar', '48000'];
  const encode = ['-c:a', 'libmp3lame', '-b:a', '128k', '-f', 'mp3', '-content_type', 'audio/mpeg'];
  const changes = sourceChanges(lines, 'mp3').length;
  const to = `icecast://source:demo-source@127.0.0.1:${server.port}/mp3`;
  const ffmpeg = new Program(t, 'ffmpeg', [...input, ...encode, to]);
  await ffmpeg.until(() => sourceChanges(lines, 'mp3').length > changes, 20_000, 'is not heard');
  await until(
    () => plays('mp3', 2),
    40_000,
    () => 'it does not play the other rate',
  );
  const { mp3, vorbis, opus } = await seen();
  t.comment(JSON.stringify(mp3!.states));
  for (const { state, stoodMs } of mp3!.states)
    t.ok(state !== 'retrying' || stoodMs < NOTICED_MS, `${state}: ${stoodMs} ms`);
  for (const { state, stoodMs } of [...vorbis!.states, ...opus!.states]) {
    t.ok(state !== 'stalled' || stoodMs > 900, `${state}: the clock has not moved for ${stoodMs} ms`);
  }
}

/** Notes its states until the page is left. */
function attachIn(tab: Firefox, base: string, name: CodecName): Promise<void> {
  return tab.evaluate(
    async ({ base, name }) => {
      // biome-ignore lint/suspicious/noExplicitAny: as above
      const page = globalThis as any;
      const { attach } = await import(`${base}/client.js`);
      const audio = new page.Audio();
      audio.muted = true;
      const noticed = { states: [] as Noticed[], seconds: 0 };
      page.seen = { ...page.seen, [name]: noticed };
      let movedMs = performance.now();
      page.setInterval(() => {
        if (audio.currentTime !== noticed.seconds) movedMs = performance.now();
        noticed.seconds = audio.currentTime;
      }, 20);
      const onState = (state: string) =>
        noticed.states.push({ state, stoodMs: Math.round(performance.now() - movedMs) });
      await attach(audio, `${base}/${name}`, { onState }).play();
    },
    { base, name },
  );
}
