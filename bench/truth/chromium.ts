/**
 * Chromium as the player: one page (page.js) whose audio elements play into one sink, and a reference file whose tones change at known seconds. The
 * delay from its `currentTime` to its sound is the player's own lag.
 */

import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, chromium, type Page } from 'playwright-core';
import { path } from '../target.js';
import type { Sound } from './sound.js';
import { BANDS, render, schedule } from './tones.js';

const CHROMIUM = '/usr/bin/chromium';
/** The reference uses the last band. */
export const REFERENCE_BAND = BANDS - 1;
const REFERENCE_RATE = 44_100;
const WAV_HEAD_BYTES = 44;
const PAGE =
  '<!doctype html><title>truth</title><script src="/hls.js"></script><script type="module" src="/page.js"></script>';

export interface Spec {
  readonly name: string;
  /** Port of the stream, which may be a link's. */
  readonly port: number;
  /** Port of the server itself, for feeds. */
  readonly feedPort: number;
  readonly path: string;
  /** Whether it is played as HLS. */
  readonly isHls?: true;
  /** The channel whose feed is watched too; undefined: none. */
  readonly channel?: string;
}

export interface DisplayedTitle {
  readonly song: string;
  readonly ms: number;
}

export interface Seen {
  readonly listeners: readonly {
    readonly name: string;
    readonly wire: readonly DisplayedTitle[];
    readonly audio: readonly DisplayedTitle[];
    readonly channel: readonly DisplayedTitle[];
    /** HLS titles by the dates of the playlist. */
    readonly date: readonly DisplayedTitle[];
    /** HLS titles by ID3. */
    readonly cue: readonly DisplayedTitle[];
    readonly states: readonly { readonly type: string; readonly ms: number; readonly seconds: number }[];
  }[];
  /** Times at which `currentTime` passed the changes of the reference's tones. */
  readonly passed: readonly number[];
}

// biome-ignore-start lint/suspicious/noExplicitAny: objects of the page, for which Node has no types

export class ChromiumPlayer {
  readonly #browser: Browser;
  readonly #page: Page;
  readonly #server: Server;

  private constructor(browser: Browser, page: Page, server: Server) {
    this.#browser = browser;
    this.#page = page;
    this.#server = server;
  }

  /** Resolves when the reference plays. @param seconds minimum duration of the reference */
  static async start(sound: Sound, sink: string, seconds: number): Promise<ChromiumPlayer> {
    const moments = schedule(REFERENCE_BAND, seconds, 0);
    const wav = makeWav(moments, seconds);
    const server = createServer((request, response) => {
      const [type, body] =
        request.url === '/reference.wav'
          ? ['audio/wav', wav]
          : request.url === '/page.js'
            ? ['text/javascript', readFileSync(path('truth/page.js'))]
            : request.url === '/hls.js'
              ? ['text/javascript', readFileSync(path('../node_modules/hls.js/dist/hls.light.min.js'))]
              : ['text/html', PAGE];
      response.writeHead(200, { 'Content-Type': type, 'Content-Length': body.length }).end(body);
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const args = ['--no-sandbox', '--disable-gpu', '--autoplay-policy=no-user-gesture-required'];
    const browser = await chromium.launch({
      executablePath: CHROMIUM,
      args,
      ignoreDefaultArgs: ['--mute-audio'],
      env: { ...(process.env as Record<string, string>), ...sound.env(sink) },
    });
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const secondsOfChanges = moments.map((ms) => ms / 1000);
    await page.evaluate((each) => (globalThis as any).truth.playReference('/reference.wav', each), secondsOfChanges);
    return new ChromiumPlayer(browser, page, server);
  }

  play(spec: Spec): Promise<void> {
    return this.#page.evaluate((one) => (globalThis as any).truth.play(one), spec);
  }

  pause(name: string): Promise<void> {
    return this.#page.evaluate((one) => (globalThis as any).truth.pause(one), name);
  }

  resume(name: string): Promise<void> {
    return this.#page.evaluate((one) => (globalThis as any).truth.resume(one), name);
  }

  /** Ends all playback. */
  end(): Promise<Seen> {
    return this.#page.evaluate(() => (globalThis as any).truth.end());
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await this.#browser.close();
  }
}

// biome-ignore-end lint/suspicious/noExplicitAny: as above

function makeWav(moments: readonly number[], seconds: number): Buffer {
  const changes = moments.map((ms) => Math.round((ms * REFERENCE_RATE) / 1000));
  const samples = seconds * REFERENCE_RATE;
  const pcm = render({ band: REFERENCE_BAND, sampleRate: REFERENCE_RATE, samples, changes, restless: false });
  const head = Buffer.alloc(WAV_HEAD_BYTES);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(WAV_HEAD_BYTES - 8 + pcm.length, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  // PCM, one channel of 16 bits.
  for (const [at, value] of [
    [16, 16],
    [24, REFERENCE_RATE],
    [28, 2 * REFERENCE_RATE],
  ] as const)
    head.writeUInt32LE(value, at);
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ] as const)
    head.writeUInt16LE(value, at);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(pcm.length, 40);
  return Buffer.concat([head, pcm]);
}
