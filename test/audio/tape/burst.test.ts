/**
 * What a joiner gets at once, of every codec at high and low bitrates: the burst's seconds and what browsers read before they begin, as soon
 * as the tape has it, and not a segment more; in Ogg at least two pages of audio.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ChannelAudio } from '../../../src/audio/channel-audio.js';
import { framerFor } from '../../../src/audio/frames/format.js';
import { PAGE_HEADER_BYTES, pageBytes } from '../../../src/audio/ogg/ogg-page.js';
import type { AudioTape } from '../../../src/audio/tape/audio-tape.js';
import { Tape } from '../../../src/audio/tape/tape.js';
import { adtsFrame } from '../../kit/adts.js';
import { Random } from '../../kit/random.js';
import { DEMO_AUDIO } from '../../kit/server.js';

// They wait more than they compute.
t.jobs = 3;

/** What Firefox and Chromium read at a time, and the time that may pass until the next segment comes. */
const BLOCK_BYTES = 32_768;
const LATE_MS = 2000;
const LAG_MS = 30_000;
const low = ['-ac', '1', '-ar', '22050'];
const ENCODED = {
  'mp3 at 128 kb/s': ['mp3', '-b:a', '128k'],
  'mp3 at 32 kb/s': ['mp3', '-b:a', '32k', ...low],
  'aac at 24 kb/s': ['aac', '-b:a', '24k', ...low],
  'vorbis at 96 kb/s': ['ogg', '-c:a', 'libvorbis', '-b:a', '96k'],
  'vorbis at 30 kb/s': ['ogg', '-c:a', 'libvorbis', '-q:a', '-1', ...low],
  'opus at 64 kb/s': ['ogg', '-c:a', 'libopus', '-b:a', '64k'],
  'opus at 16 kb/s': ['ogg', '-c:a', 'libopus', '-b:a', '16k', '-ac', '1'],
  flac: ['ogg', '-c:a', 'flac'],
} as const;
type Name = keyof typeof ENCODED;
const folder = t.testdir();

/** The tape after each second of the audio. */
function* tapes(name: Name, lagMs = LAG_MS): Generator<AudioTape> {
  const [extension, ...options] = ENCODED[name];
  const path = join(folder, `${name.replaceAll(/\W/g, '-')}.${extension}`);
  const input = ['-v', 'error', '-y', '-stream_loop', '-1', '-t', '40', '-i', DEMO_AUDIO];
  execFileSync('ffmpeg', [...input, ...options, path]);
  const channel = new ChannelAudio({ now: () => performance.now(), key: 'one', lagMs });
  let audioMs = 0;
  const framer = framerFor({
    onFrame: (frame) => {
      channel.write(frame);
      audioMs += frame.durationMs;
    },
  });
  const bytes = readFileSync(path);
  for (let at = 0, nextMs = 1000; at < bytes.length; at += 512) {
    framer.push(bytes.subarray(at, at + 512));
    if (audioMs < nextMs || channel.tape === undefined) continue;
    nextMs = audioMs + 1000;
    yield channel.tape;
  }
}

function segmentsFrom(tape: AudioTape, seq: number) {
  return Array.from({ length: tape.head - seq }, (_, i) => tape.at(seq + i)!);
}

/** Bytes on the tape from a segment on that do not belong to its last seconds. */
function blockFrom(tape: AudioTape, seq: number): number {
  return segmentsFrom(tape, seq)
    .filter(({ startMs }) => tape.edgeMs - startMs > LATE_MS)
    .reduce((sum, { bytes }) => sum + bytes.length, 0);
}

function pagesIn(bytes: Buffer): number {
  let pages = 0;
  for (let at = 0; at + PAGE_HEADER_BYTES < bytes.length; pages++) at += pageBytes(bytes, at, bytes.length - at);
  return pages;
}

for (const name of Object.keys(ENCODED) as Name[]) {
  t.test(`${name}: a browser begins at once`, async (t) => {
    let [full, short] = [0, 0];
    const wrong: string[] = [];
    for (const tape of tapes(name)) {
      for (const burstMs of [1000, 2000, 5000]) {
        const from = tape.joinAt(burstMs);
        if (from === tape.head) continue;
        const enough = (seq: number) =>
          tape.edgeMs - tape.at(seq)!.entryMs >= burstMs && blockFrom(tape, seq) >= BLOCK_BYTES;
        if (!enough(from)) {
          const oldest = segmentsFrom(tape, tape.tail).find(({ entry }) => entry >= 0);
          if (tape.at(from) !== oldest) wrong.push(`${tape.edgeMs} ms, burst ${burstMs}: there is more on the tape`);
          short++;
          continue;
        }
        full++;
        if (segmentsFrom(tape, from + 1).some(({ entry }, i) => entry >= 0 && enough(from + 1 + i)))
          wrong.push(`${tape.edgeMs} ms, burst ${burstMs}: more than is needed`);
        const audio = Buffer.concat(segmentsFrom(tape, from).map(({ bytes }) => bytes));
        if (ENCODED[name][0] === 'ogg' && pagesIn(audio) < 2) wrong.push(`${tape.edgeMs} ms: one page`);
      }
    }
    t.strictSame(wrong.slice(0, 5), [], `${wrong.length} are wrong`);
    t.ok(full > 30, `${full} joins begin at once, ${short} came when the channel had just begun`);
  });
}

t.test('at a usual bitrate the burst is what is configured', async (t) => {
  for (const tape of tapes('mp3 at 128 kb/s')) {
    const burst = tape.edgeMs - (tape.at(tape.joinAt(5000))?.entryMs ?? 0);
    t.ok(burst < 6100, `${burst} ms`);
  }
});

t.test('no burst is none, and no listener begins where the tape soon ends', async (t) => {
  for (const tape of tapes('opus at 16 kb/s', 12_000)) {
    t.equal(tape.joinAt(0), tape.head);
    const from = tape.at(tape.joinAt(5000));
    if (from !== undefined) t.ok(tape.edgeMs - from.entryMs <= 7000, `${tape.edgeMs - from.entryMs} ms of 12,000`);
  }
});

t.test('a join costs what can be joined: segments of which none can are not looked at one by one', async (t) => {
  let looks = 0;
  class CountingTape extends Tape {
    override at(seq: number) {
      looks++;
      return super.at(seq);
    }
  }
  const random = new Random();
  const tape = new CountingTape(1000, 1, LAG_MS, null);
  const write = (bytes: number, count: number) => {
    for (let i = 0; i < count; i++) tape.write(adtsFrame(random, bytes - 7, {}).frame, 20);
  };
  write(500, 1);
  // Each begins in the middle of a segment, and would be longer than a frame can be if it were stretched to its beginning.
  write(8000, 2000);
  t.ok(tape.head - tape.tail > 10_000, `${tape.head - tape.tail} segments`);
  t.equal(tape.joinAt(5000), tape.head);
  t.ok(looks < 100, `${looks} were looked at`);
  write(1000, 1);
  write(8000, 100);
  const [last] = segmentsFrom(tape, tape.tail).filter(({ entry }) => entry >= 0);
  looks = 0;
  const from = tape.joinAt(500);
  t.equal(tape.at(from), last, 'the one that can be');
  t.ok(looks < 100, `${looks} were looked at`);
});
