/**
 * A server with HLS for real players: a channel for each form of segments, and a page in Chromium with hls.js. The files are made once for all
 * tests of a process.
 */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import t, { type Test } from 'tap';
import { ADMIN_USERS } from './admin-client.js';
import { otherOrigin } from './browser.js';
import { DEMO_AUDIO, startServer } from './server.js';
import { tempFolder } from './temp-folder.js';

export const SEGMENT_SECONDS = 2;
const AAC = ['-c:a', 'aac', '-b:a', '96k', '-f', 'adts'];
/** Arguments for ffmpeg to make each file, and the format that it must find. No arguments: the demo's file. */
export const FILES = {
  mp3: { args: [], codec: 'mp3', rate: 44_100, form: 'auto' },
  vbr: { args: ['-c:a', 'libmp3lame', '-q:a', '5', '-f', 'mp3'], codec: 'mp3', rate: 44_100, form: 'auto' },
  low: {
    args: ['-ar', '16000', '-c:a', 'libmp3lame', '-b:a', '8k', '-f', 'mp3'],
    codec: 'mp3',
    rate: 16_000,
    form: 'auto',
  },
  aac: { args: AAC, codec: 'aac', rate: 44_100, form: 'auto' },
  fmp4: { args: AAC, codec: 'aac', rate: 44_100, form: 'fmp4' },
  opus: { args: ['-c:a', 'libopus', '-b:a', '96k', '-f', 'ogg'], codec: 'opus', rate: 48_000, form: 'auto' },
  flac: { args: ['-c:a', 'flac', '-f', 'ogg'], codec: 'flac', rate: 44_100, form: 'auto' },
} as const;
export type HlsKind = keyof typeof FILES;

/** Longer than a test, since the last packet of a file is incomplete. */
const TONE = ['-f', 'lavfi', '-i', 'sine=frequency=500:sample_rate=44100:duration=150', '-ac', '2'];
const made = new Map<HlsKind, Promise<string>>();

/** Makes a file of this kind. @returns its path */
function fileOf(kind: HlsKind): Promise<string> {
  const { args } = FILES[kind];
  if (args.length === 0) return Promise.resolve(DEMO_AUDIO);
  const path = join(tempFolder(t), kind);
  const making = () => promisify(execFile)('ffmpeg', ['-v', 'error', '-y', ...TONE, ...args, path]).then(() => path);
  if (!made.has(kind)) made.set(kind, making());
  return made.get(kind)!;
}

/** Starts channels with a file in a loop, each in another form. */
export async function startHls(t: Test, ...kinds: readonly HlsKind[]) {
  const channels = kinds.map(async (kind) => {
    const source = `sources: [{ type: file, path: ${await fileOf(kind)} }]`;
    return `      ${kind}: { name: 'The ${kind}', pushTokens: [demo-token], hls: { form: ${FILES[kind].form} }, ${source} }`;
  });
  const yaml = `addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  house:
    channels:
${(await Promise.all(channels)).join('\n')}
streams: { hls: { enabled: true, segmentSeconds: ${SEGMENT_SECONDS} } }
${ADMIN_USERS}`;
  const server = await startServer(t, yaml);
  const push = async (kind: HlsKind, song: string, more = '') => {
    const { status } = await fetch(`${server.base}/metapush/${kind}/demo-token?artist=Berta&song=${song}${more}`);
    t.equal(status, 200);
  };
  const url = (kind: HlsKind) => `${server.base}/${kind}/hls.m3u8`;
  return { ...server, push, url };
}

/** The URL of a page with hls.js. */
export async function hlsPage(t: Test): Promise<string> {
  const script = readFileSync(new URL('../../node_modules/hls.js/dist/hls.light.min.js', import.meta.url));
  const origin = await otherOrigin(t, (request, response) => {
    const isScript = request.url === '/hls.js';
    response.writeHead(200, { 'Content-Type': isScript ? 'text/javascript' : 'text/html' });
    response.end(isScript ? script : '<!doctype html><title>HLS</title><script src="/hls.js"></script>');
  });
  return `${origin}/page`;
}

/** Opens a page with hls.js in Chromium. */
export async function openHlsPage(t: Test) {
  const args = ['--no-sandbox', '--disable-gpu', '--autoplay-policy=no-user-gesture-required'];
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args });
  t.teardown(() => browser.close());
  const page = await browser.newPage();
  await page.goto(await hlsPage(t));
  return page;
}
