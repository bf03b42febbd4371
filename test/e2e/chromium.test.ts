/**
 * Chromium as a listener: how soon its audio element plays on a join of ours and on the same bytes with a partial frame first (what other
 * servers send), and what a page of another origin can read of a stream: the interval and the titles, by `fetch`.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chromium, type Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { Player, until } from '../kit/player.js';
import { missing } from '../kit/program.js';
import { demoYaml, startServer } from '../kit/server.js';

const CHROMIUM = '/usr/bin/chromium';
const JOINS = 5;
/** They take four seconds each. */
const PARTIAL_JOINS = 2;
/** 128 kb/s. */
const BYTES_PER_SECOND = 16_000;
const BURST_SECONDS = 5;
const ID3_HEAD_BYTES = 10;
const SKIP = missing('chromium');

/** Serves a page, and `audio()` as a stream: a burst at once, then in real time. */
async function serve(t: Test, audio: () => Buffer): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url === '/') {
      response.setHeader('Content-Type', 'text/html');
      response.end('<!doctype html><title>another origin</title>');
      return;
    }
    if (!request.url!.startsWith('/stream')) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'Content-Type': 'audio/mpeg', 'Cache-Control': 'no-store' });
    const bytes = audio();
    let sent = BURST_SECONDS * BYTES_PER_SECOND;
    response.write(bytes.subarray(0, sent));
    const timer = setInterval(() => {
      response.write(bytes.subarray(sent, sent + BYTES_PER_SECOND));
      sent += BYTES_PER_SECOND;
    }, 1000);
    response.on('close', () => clearInterval(timer));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function openPage(t: Test, origin: string): Promise<Page> {
  const args = ['--no-sandbox', '--disable-gpu', '--autoplay-policy=no-user-gesture-required'];
  const browser = await chromium.launch({ executablePath: CHROMIUM, args });
  t.teardown(() => browser.close());
  const page = await browser.newPage();
  await page.goto(origin);
  return page;
}

/** Milliseconds from asking a server that answers at once, to `playing`. Rejects where it does not play. */
function start(page: Page, url: string): Promise<number> {
  return page.evaluate(async (src) => {
    // biome-ignore lint/suspicious/noExplicitAny: the browser's own, which Node's types do not know
    const audio = new (globalThis as any).Audio();
    const playing = new Promise<number>((done, fail) => {
      audio.addEventListener('playing', () => done(performance.now()), { once: true });
      audio.addEventListener('error', () => fail(new Error(audio.error.message)), { once: true });
    });
    const askedMs = performance.now();
    audio.muted = true;
    audio.src = src;
    await audio.play();
    const tookMs = (await playing) - askedMs;
    audio.src = '';
    return tookMs;
  }, url);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

/** The place of the tag is filled with the end of a frame: what stands there on the tape, as far as a decoder can tell. */
function withPartialFrame(audio: Buffer): Buffer {
  const tagBytes = audio.toString('latin1', 0, 3) === 'ID3' ? ID3_HEAD_BYTES + audio[8]! * 128 + audio[9]! : 0;
  const frames = audio.subarray(tagBytes);
  const frameBytes = frames.indexOf(frames.subarray(0, 2), 2);
  return Buffer.concat([frames.subarray(frameBytes >> 1, frameBytes), frames]);
}

t.test('the audio element plays at once', { skip: SKIP, timeout: 110_000 }, async (t) => {
  const { port, base } = await startServer(t, demoYaml());
  const before = new Player(port, '/demo.mp3', { keep: true, icy: false });
  await before.until((p) => p.audioBytes >= 7 * BYTES_PER_SECOND, 20_000);
  const recording = new Player(port, '/demo.mp3', { keep: true, icy: false });
  let audio: Buffer = Buffer.alloc(0);
  const partial = await serve(t, () => withPartialFrame(audio));
  const page = await openPage(t, partial);
  await recording.until((p) => p.audioBytes >= 12 * BYTES_PER_SECOND, 20_000);
  audio = recording.audio;
  await start(page, `${base}/demo.mp3`);
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let i = 0; i < JOINS; i++) {
    ours.push(await start(page, `${base}/demo.mp3?n=${i}`));
    if (i < PARTIAL_JOINS) theirs.push(await start(page, `${partial}/stream?n=${i}`));
  }
  const told = (each: readonly number[]) => `median ${median(each).toFixed(0)} ms (${each.map(Math.round).join(', ')})`;
  t.comment(`to playing: whole frames ${told(ours)}; a partial frame first ${told(theirs)}`);
  // Half of the others' time where the machine is so busy that nothing is quick.
  t.ok(median(ours) < Math.max(1000, Math.min(...theirs) / 2), told(ours));
  for (const player of [before, recording]) player.close();
});

t.test('a page of another origin reads the titles', { skip: SKIP, timeout: 60_000 }, async (t) => {
  const { base } = await startServer(t, demoYaml());
  const push = (song: string) => fetch(`${base}/metapush/demo/demo-token?artist=Anna&song=${encodeURIComponent(song)}`);
  await push('Frühling');
  const page = await openPage(t, await serve(t, () => Buffer.alloc(0)));
  const titles: string[] = [];
  await page.exposeFunction('seen', (title: string) => void titles.push(title));
  const reading = page.evaluate(async (url) => {
    const response = await fetch(url, { headers: { 'Icy-MetaData': '1' } });
    const metaint = Number(response.headers.get('icy-metaint'));
    const heads = ['icy-name', 'x-channelkey'].map((name) => response.headers.get(name));
    const reader = response.body!.getReader();
    let [bytes, found] = [new Uint8Array(), 0];
    while (found < 2) {
      const { value } = await reader.read();
      bytes = new Uint8Array([...bytes, ...value!]);
      while (bytes.length > metaint && bytes.length > metaint + bytes[metaint]! * 16) {
        const end = metaint + 1 + bytes[metaint]! * 16;
        const text = new TextDecoder().decode(bytes.subarray(metaint + 1, end)).replace(/\0+$/, '');
        bytes = bytes.slice(end);
        if (text === '') continue;
        found++;
        // biome-ignore lint/suspicious/noExplicitAny: given to the page above
        await (globalThis as any).seen(text);
      }
    }
    await reader.cancel();
    return { metaint, heads };
  }, `${base}/demo.mp3`);
  await until(() => titles.length === 1, 15_000);
  await push('Sommer');
  t.same(await reading, { metaint: BYTES_PER_SECOND, heads: ['Demo Channel', 'demo'] });
  t.same(titles, ["StreamTitle='Anna - Frühling';", "StreamTitle='Anna - Sommer';"]);
});
