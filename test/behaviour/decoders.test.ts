/**
 * Real decoders on what listeners get: joins anywhere on a tape and switches between two sources (200 and 50 in the long form), each
 * accepted by ffmpeg, mpg123 and Chromium's decoder without one complaint, as those get it who ask for ICY and those who do not. The same joins with
 * a partial frame first, as other servers send, make them complain, so the silence means something. That listeners get these renderings is
 * splice.test.ts's business.
 */

import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import t, { type Test } from 'tap';
import { ChannelAudio } from '../../src/audio/channel-audio.js';
import { Framer } from '../../src/audio/frames/framer.js';
import { Listener } from '../../src/listener/cursor/listener.js';
import { frameOf } from '../kit/frame-of.js';
import { readBack } from '../kit/icy.js';
import { isLong } from '../kit/long.js';
import { Random } from '../kit/random.js';
import { DEMO_AUDIO } from '../kit/server.js';

const JOINS = isLong ? 200 : 50;
const SWITCHES = isLong ? 50 : 15;
const CHROMIUM = '/usr/bin/chromium';
const run = promisify(execFile);

interface Frame {
  readonly bytes: Buffer;
  readonly ms: number;
  readonly fresh?: boolean;
}

const folder = t.testdir();
const source = (name: string, ...options: string[]): Frame[] => {
  const path = join(folder, name);
  execFileSync('ffmpeg', ['-v', 'error', '-y', '-t', '20', '-i', DEMO_AUDIO, ...options, path]);
  return framesOf(readFileSync(path));
};
const sources = {
  demo: framesOf(readFileSync(DEMO_AUDIO)),
  cbr: source('cbr.mp3', '-b:a', '128k'),
  vbr: source('vbr.mp3', '-q:a', '2'),
  high: source('high.mp3', '-b:a', '320k'),
  low: source('low.mp3', '-ar', '22050', '-ac', '1', '-b:a', '32k'),
  aac: source('aac.aac', '-b:a', '96k'),
  mono: source('mono.aac', '-ac', '1', '-ar', '22050', '-b:a', '32k'),
  surround: source('surround.aac', '-ac', '6', '-b:a', '384k'),
};
type Name = keyof typeof sources;
const names = Object.keys(sources) as Name[];
const isAac = (name: Name) => ['aac', 'mono', 'surround'].includes(name);
/** How a listener begins: with a partial frame, as those without ICY, as those with it. */
type Begin = 'partial' | 'plain' | 'icy';

function framesOf(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  new Framer({
    onFrame: ({ bytes: frame, durationMs: ms }) => void frames.push({ bytes: Buffer.from(frame), ms }),
  }).push(bytes);
  return frames;
}

/** The audio that a listener gets who joins at a segment: some seconds, cut at the end of a frame. */
function joined(frames: readonly Frame[], metaint: number, at: number, begin: Begin): Buffer {
  const channel = new ChannelAudio({ now: () => performance.now(), key: 'one', lagMs: 3_600_000, metaint });
  const ends: number[] = [0];
  for (const { bytes, ms, fresh } of frames) {
    channel.write(frameOf(bytes, ms, 128, fresh));
    ends.push(ends.at(-1)! + bytes.length);
  }
  const tape = channel.tape!;
  let seq = Math.floor(at * (tape.head - 1));
  while (tape.at(seq)!.entry < 0) seq--;
  const segment = tape.at(seq)!;
  const { plain } = segment;
  const entered =
    begin === 'partial'
      ? plain
      : begin === 'icy'
        ? readBack(segment.entered(true), metaint).audio
        : segment.entered(false);
  const parts: Buffer[] = [entered];
  for (let next = seq + 1; next < tape.head && parts.length * metaint < 120_000; next++)
    parts.push(tape.at(next)!.plain);
  const whole = Buffer.concat(parts);
  const first = seq * tape.segmentBytes + plain.length - entered.length;
  const end = ends.filter((one) => one <= first + whole.length).at(-1)!;
  return whole.subarray(0, end - first);
}

/** The audio that a listener gets who goes on with another tape, to the end of a frame. */
function moved(frames: readonly Frame[], others: readonly Frame[], metaint: number): Buffer {
  const parts: Buffer[] = [];
  const takesAll = { writableLength: 0, cork: () => undefined, uncork: () => undefined };
  const socket = { ...takesAll, write: (bytes: Buffer) => void parts.push(bytes) } as unknown as Socket;
  let missing: Buffer = Buffer.alloc(0);
  for (const source of [frames, others]) {
    const channel = new ChannelAudio({ now: () => 0, key: 'one', lagMs: 3_600_000, metaint });
    for (const [i, { bytes, ms }] of source.entries()) channel.write(frameOf(bytes, ms, 128, i === 0));
    const tape = channel.tape!;
    const listener = new Listener(socket, tape, {
      channel: 'one',
      cursor: tape.joinAt(2000),
      icy: true,
      session: null,
      nowMs: 0,
    });
    listener.cut = missing;
    listener.start(Buffer.alloc(0), 0);
    while (!listener.isAtEdge) listener.advance(0);
    missing = listener.frameRest;
  }
  return Buffer.concat([readBack(Buffer.concat(parts), metaint).audio, missing]);
}

/** What ffmpeg and mpg123 have to say of each file, without what they say of every good one. */
async function complaints(paths: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  const rest = [...paths];
  const one = async () => {
    for (let path = rest.pop(); path !== undefined; path = rest.pop()) {
      const input = ['-xerror', '-err_detect', 'crccheck+bitstream+buffer', '-i', path, '-f', 'null', '-'];
      const ffmpeg = await run('ffmpeg', ['-v', 'error', ...input]).catch((error) => error);
      if (ffmpeg.stderr !== '' || ffmpeg.code) found.push(`${basename(path)}: ffmpeg: ${ffmpeg.stderr.trim()}`);
      if (path.endsWith('.aac')) continue;
      const mpg123 = await run('mpg123', ['-vv', '-t', path]).catch((error) => error);
      const said = mpg123.stderr
        .split('\n')
        .filter((line: string) => /junk|illegal|resync|skip|warning|error/i.test(line));
      if (said.length > 0 || mpg123.code) found.push(`${basename(path)}: mpg123: ${said.join(' | ')}`);
    }
  };
  await Promise.all([one(), one()]);
  return found;
}

/** How many seconds Chromium decodes of each file; -1: it refuses. */
async function decoded(t: Test, files: readonly Buffer[]): Promise<number[]> {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
  t.teardown(() => browser.close());
  const page = await browser.newPage();
  const seconds: number[] = [];
  for (const file of files) {
    seconds.push(
      await page.evaluate(async (base64) => {
        const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
        // biome-ignore lint/suspicious/noExplicitAny: the browser's own, which Node's types do not know
        const context = new (globalThis as any).OfflineAudioContext(2, 44_100, 44_100);
        return context.decodeAudioData(bytes.buffer).then(
          (audio: { duration: number }) => audio.duration,
          () => -1,
        );
      }, file.toString('base64')),
    );
  }
  return seconds;
}

/** Chromium decodes all that went in. */
async function mustPlay(t: Test, files: readonly { name: Name; bytes: Buffer }[], why: string): Promise<void> {
  if (!existsSync(CHROMIUM)) return void t.pass('Chromium decodes it', { skip: `${CHROMIUM} is missing` });
  const seconds = await decoded(
    t,
    files.map(({ bytes }) => bytes),
  );
  for (const [i, { name, bytes }] of files.entries()) {
    const wanted = msOf(bytes) / 1000;
    if (Math.abs(seconds[i]! - wanted) > 0.12) t.fail(`${why} ${i} (${name}): ${seconds[i]} of ${wanted} s`);
  }
}

function msOf(bytes: Buffer): number {
  return framesOf(bytes).reduce((sum, { ms }) => sum + ms, 0);
}

function save(files: readonly { name: Name; bytes: Buffer }[], kind: string): string[] {
  return files.map(({ name, bytes }, i) => {
    const path = join(folder, `${kind}-${i}-${name}.${isAac(name) ? 'aac' : 'mp3'}`);
    writeFileSync(path, bytes);
    return path;
  });
}

t.test('no decoder complains of a join', async (t) => {
  const random = new Random();
  const joins = Array.from({ length: JOINS }, (_, i) => {
    const name = names[i % names.length]!;
    // Not the very end: the decoders complain of any file that is a single frame.
    return { name, metaint: random.int(1000, 40_000), at: random.int(0, 990) / 1000 };
  });
  const begun = (begin: Begin) =>
    joins.map((one) => ({ ...one, bytes: joined(sources[one.name], one.metaint, one.at, begin) }));
  const files = begun('icy');
  t.same(await complaints(save(files, 'join')), [], `seed ${random.seed}`);
  const plain = begun('plain').filter(({ name }) => isAac(name));
  t.same(await complaints(save(plain, 'plain')), [], `seed ${random.seed}`);
  t.ok(
    [...files, ...plain].every(({ name, bytes }) => !isAac(name) || (bytes.readUInt16BE(0) & 0xfff6) === 0xfff0),
    'AAC begins with a frame of its own',
  );
  const partial = begun('partial');
  t.ok((await complaints(save(partial.slice(0, 40), 'partial'))).length > 10, 'a partial frame is noticed');
  await mustPlay(t, [...files.slice(0, isLong ? JOINS : 30), ...plain], `seed ${random.seed}: join`);
});

t.test('no decoder complains where a player of the demo leaves in the middle of a frame', async (t) => {
  const random = new Random();
  const files = Array.from({ length: 10 }, () => {
    const bytes = joined(sources.demo, random.int(1000, 20_000), random.int(0, 900) / 1000, 'icy');
    // Past the head of its last frame; what it plays lies in the reservoir.
    return { name: 'demo' as const, bytes: bytes.subarray(0, bytes.length - random.int(1, 417 - 36)) };
  });
  const said: string[] = [];
  for (const path of save(files, 'left')) {
    const { stderr } = await run('ffmpeg', ['-v', 'warning', '-i', path, '-f', 'null', '-']);
    said.push(...stderr.split('\n').filter((line) => line !== '' && !line.includes('Estimating duration')));
  }
  t.same(said, [], `seed ${random.seed}`);
});

t.test('no decoder complains of a switch', async (t) => {
  const random = new Random();
  const files = Array.from({ length: SWITCHES }, (_, i) => {
    const name = names[i % names.length]!;
    // Another place of the same kind of stream: what a second source of the station sends.
    const [from, to] = [random.int(0, 300), random.int(0, 300)];
    const other = sources[name].slice(to, to + 200).map((frame, i) => ({ ...frame, fresh: i === 0 }));
    const cut = [...sources[name].slice(from, from + random.int(20, 200)), ...other];
    return { name, bytes: joined(cut, random.int(1000, 20_000), 0, 'icy') };
  });
  t.same(await complaints(save(files, 'switch')), [], `seed ${random.seed}`);
  await mustPlay(t, files, `seed ${random.seed}: switch`);
});

t.test('with another tape: none of AAC, in MP3 ffmpeg of the tag, and all is played', async (t) => {
  const random = new Random();
  const files = Array.from({ length: SWITCHES }, (_, i) => {
    const name = names[i % names.length]!;
    const from = () => random.int(0, 300);
    const some = () => sources[name].slice(from()).slice(0, random.int(150, 250));
    return { name, bytes: moved(some(), some(), random.int(1000, 4000)) };
  });
  const said = await complaints(save(files, 'moved'));
  t.same(
    said.filter((line) => !/\.mp3: ffmpeg: \[\S+ @ \S+\] Header missing$/.test(line)),
    [],
    `seed ${random.seed}`,
  );
  await mustPlay(t, files, `seed ${random.seed}: moved`);
});
