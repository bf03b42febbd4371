/**
 * Chromium as a listener: how soon its audio element plays on a join of ours and on the same bytes with a partial frame first (what other
 * servers send), and what a page of another origin can read of a stream: the interval and the titles, by `fetch`.
 */

import { chromium, type Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { fetchIcy, median, otherOrigin, readSoFar, start } from '../kit/browser.js';
import { Player } from '../kit/player.js';
import { missing } from '../kit/program.js';
import { demoYaml, startServer } from '../kit/server.js';
import { patient, until } from '../kit/until.js';

const CHROMIUM = '/usr/bin/chromium';
const JOINS = 5;
/** They take four seconds each. */
const PARTIAL_JOINS = 2;
/** 128 kb/s. */
const BYTES_PER_SECOND = 16_000;
const BURST_SECONDS = 5;
const ID3_HEADER_BYTES = 10;
const SKIP = missing('chromium');

/** Serves a page, and `audio()` as a stream: a burst at once, then in real time. */
function serve(t: Test, audio: () => Buffer): Promise<string> {
  return otherOrigin(t, (request, response) => {
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
}

async function openPage(t: Test, origin: string): Promise<Page> {
  const args = ['--no-sandbox', '--disable-gpu', '--autoplay-policy=no-user-gesture-required'];
  const browser = await chromium.launch({ executablePath: CHROMIUM, args });
  t.teardown(() => browser.close());
  const page = await browser.newPage();
  await page.goto(origin);
  return page;
}

/** The place of the tag is filled with the end of a frame: what stands there on the tape, as far as a decoder can see. */
function withPartialFrame(audio: Buffer): Buffer {
  const tagBytes = audio.toString('latin1', 0, 3) === 'ID3' ? ID3_HEADER_BYTES + audio[8]! * 128 + audio[9]! : 0;
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
  const describe = (each: readonly number[]) =>
    `median ${median(each).toFixed(0)} ms (${each.map(Math.round).join(', ')})`;
  t.comment(`until it plays: whole frames ${describe(ours)}; a partial frame first ${describe(theirs)}`);
  // Half of the others' time where the machine is so busy that nothing is quick.
  t.ok(median(ours) < Math.max(1000, Math.min(...theirs) / 2), describe(ours));
  for (const player of [before, recording]) player.close();
});

t.test('a page of another origin reads the titles', { skip: SKIP, timeout: patient(60_000) }, async (t) => {
  const { base } = await startServer(t, demoYaml());
  const push = (song: string) => fetch(`${base}/metapush/demo/demo-token?artist=Anna&song=${encodeURIComponent(song)}`);
  await push('Frühling');
  const page = await openPage(t, await otherOrigin(t));
  await fetchIcy(page, `${base}/demo.mp3`);
  const titles = async () => (await readSoFar(page)).titles.length;
  await until(async () => (await titles()) === 1, 15_000);
  await push('Sommer');
  await until(async () => (await titles()) === 2, 15_000);
  t.match(await readSoFar(page), {
    metaint: BYTES_PER_SECOND / 4,
    headers: ['Demo Channel', 'demo'],
    titles: ["StreamTitle='Anna - Frühling';", "StreamTitle='Anna - Sommer';"],
  });
});
