/**
 * What a stranger's bytes may cost the framers, and claim: CRCs in proportion to what came in, frames no longer than their codec allows,
 * and nothing handed on behind the frame that says stop.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ChannelAudio } from '../../src/audio/channel-audio.js';
import { framerFor } from '../../src/audio/frames/format.js';
import { OggFramer } from '../../src/audio/ogg/ogg.js';
import { readIdentification } from '../../src/audio/ogg/ogg-codec.js';
import { FIRST, MAX_PAGE_BYTES, PageWriter } from '../../src/audio/ogg/ogg-page.js';
import { FLAC_TAGS, flacFrame, flacHead, forgedHeads, OPUS_HEAD, OPUS_TAGS, oggOf, vorbisHead } from '../kit/forged.js';
import { frameOf } from '../kit/frame-of.js';
import { Random } from '../kit/random.js';
import { DEMO_AUDIO } from '../kit/server.js';

const folder = t.testdir();
function make(file: string, ...options: string[]): Buffer {
  const path = join(folder, file);
  execFileSync('ffmpeg', ['-v', 'error', '-y', '-t', '6', '-i', DEMO_AUDIO, ...options, path]);
  return readFileSync(path);
}
const files = {
  mp3: readFileSync(DEMO_AUDIO).subarray(0, 100_000),
  aac: make('a.aac', '-c:a', 'aac'),
  vorbis: make('v.ogg', '-c:a', 'libvorbis'),
  opus: make('o.ogg', '-c:a', 'libopus', '-b:a', '64k'),
  flac: make('f.ogg', '-c:a', 'flac'),
};

/** The most that CRCs may cover: each byte once for its own page, twice in vain, and 8 pages at once. */
const MAX_CHECKS = 3;
const AT_ONCE = 9 * MAX_PAGE_BYTES;

t.test('forged pages: the bytes that a CRC is taken of are in proportion to those that came', async (t) => {
  const random = new Random();
  const opus = oggOf([OPUS_HEAD, OPUS_TAGS], [[Buffer.alloc(100, 0xfc)]]);
  const mixed = Buffer.concat(
    Array.from({ length: 400 }, () => {
      const head = forgedHeads(27);
      head[26] = random.int(0, 255);
      return Buffer.concat([head, random.bytes(random.int(0, 600))]);
    }),
  );
  const hostile: Record<string, Buffer> = {
    'headers of 27 bytes': forgedHeads(400_000),
    'headers that claim nothing': Buffer.alloc(400_000, Buffer.from(`OggS${'\0'.repeat(23)}`, 'latin1')),
    'headers of 5 bytes': Buffer.alloc(400_000, 'OggS\0'),
    'headers and noise': mixed,
    'one bit of each page': files.opus.map((byte, i) => (i > 5000 && i % 1500 === 0 ? byte ^ 1 : byte)) as Buffer,
  };
  for (const [name, bytes] of Object.entries(hostile)) {
    const framer = new OggFramer({ onFrame: () => undefined });
    const all = Buffer.concat([opus, bytes]);
    for (let at = 0; at < all.length; ) {
      const next = at + random.int(1, 5000);
      framer.push(all.subarray(at, next));
      at = next;
    }
    const { checkedBytes } = framer.counters;
    t.ok(checkedBytes <= MAX_CHECKS * all.length + AT_ONCE, `${name}: ${(checkedBytes / all.length).toFixed(1)} times`);
  }
});

t.test('honest damage costs the pages that it hits, whatever the budget', async (t) => {
  const random = new Random();
  const packets = Array.from({ length: 2000 }, () => [Buffer.concat([Buffer.from([0xfc]), random.bytes(150)])]);
  const bytes = oggOf([OPUS_HEAD, OPUS_TAGS], packets);
  const headBytes = oggOf([OPUS_HEAD, OPUS_TAGS], []).length;
  let hit = 0;
  for (let page = 3; page < packets.length; page += random.int(5, 40)) {
    const at = headBytes + page * 179 + random.int(27, 178);
    bytes[at] = bytes[at]! ^ (1 << random.int(0, 7));
    hit++;
  }
  let frames = 0;
  new OggFramer({ onFrame: () => void frames++ }).push(bytes);
  t.equal(frames, packets.length - hit, `${hit} pages hit, seed ${random.seed}`);
});

t.test('a framer that is held hands on nothing more, and loses nothing', async (t) => {
  const random = new Random();
  for (const [name, bytes] of Object.entries(files)) {
    const read = (isHeld: () => boolean, nextBytes: () => number) => {
      const seen: [string, number, boolean][] = [];
      let since = 0;
      let most = 0;
      const framer = framerFor({
        onFrame: ({ bytes: one, durationMs: ms, fresh }) => {
          seen.push([one.toString('latin1'), ms, fresh]);
          most = Math.max(most, since);
          if (since > 0 || isHeld()) {
            since++;
            framer.pause();
          }
        },
      });
      for (let at = 0; at < bytes.length; ) {
        const piece = bytes.subarray(at, at + nextBytes());
        for (let taken = -1, done = 0; done < piece.length || taken < 0 || since > 0; done += taken) {
          since = 0;
          taken = framer.push(piece.subarray(done));
        }
        at += piece.length;
      }
      t.equal(most, 0, `${name}: nothing behind a hold, seed ${random.seed}`);
      return seen;
    };
    const whole = read(
      () => false,
      () => bytes.length,
    );
    t.ok(whole.length > 50, name);
    for (let i = 0; i < 4; i++) {
      const most = random.int(1, 9000);
      const held = read(
        () => random.chance(0.4),
        () => random.int(1, most),
      );
      t.strictSame(held.length, whole.length, `${name}, seed ${random.seed}`);
      t.ok(JSON.stringify(held) === JSON.stringify(whole), `${name}, seed ${random.seed}`);
    }
  }
  // Behind a hold more may lie in the scratch than the next step needs: small frames where a large one was promised.
  const small = Buffer.concat([Buffer.from([0xff, 0xf3, 0x14, 0xc4]), Buffer.alloc(20)]);
  const bytes = Buffer.concat([Buffer.from([0xff, 0xf1, 0x50, 0x83, 0xff, 0xff, 0xfc]), Buffer.alloc(9000, small)]);
  let frames = 0;
  const framer = framerFor({
    onFrame: () => {
      frames++;
      framer.pause();
    },
  });
  for (let at = 0; at < bytes.length; ) at += framer.push(bytes.subarray(at, at + 1000));
  for (let before = -1; before !== frames; ) {
    before = frames;
    framer.push(Buffer.alloc(0));
  }
  t.ok(frames >= 370, `${frames} of 375`);
});

t.test('what a head claims is held against its codec, at each limit and one past', async (t) => {
  const cases: [string, Buffer, boolean][] = [
    ['FLAC at 1 Hz', flacHead(1), false],
    ['FLAC at 7,999 Hz', flacHead(7999), false],
    ['FLAC at 8,000 Hz', flacHead(8000), true],
    ['FLAC at 655,350 Hz', flacHead(655_350), true],
    ['FLAC at 655,351 Hz', flacHead(655_351), false],
    ['FLAC in blocks of 16', flacHead(44_100, 16, 16), true],
    ['FLAC in blocks of 15', flacHead(44_100, 15, 4096), false],
    ['FLAC, least block over the largest', flacHead(44_100, 4097, 4096), false],
    ['Vorbis at 1 Hz', vorbisHead(1), false],
    ['Vorbis at 7,999 Hz', vorbisHead(7999), false],
    ['Vorbis at 8,000 Hz', vorbisHead(8000), true],
    ['Vorbis at 200,000 Hz', vorbisHead(200_000), true],
    ['Vorbis at 200,001 Hz', vorbisHead(200_001), false],
    ['Vorbis in blocks of 64 and 8,192', vorbisHead(44_100, 6, 13), true],
    ['Vorbis in blocks of 32', vorbisHead(44_100, 5, 11), false],
    ['Vorbis in blocks of 16,384', vorbisHead(44_100, 8, 14), false],
    ['Vorbis, the short block the longer', vorbisHead(44_100, 11, 8), false],
    ['Vorbis without channels', vorbisHead(44_100, 8, 11, 0), false],
    ['Opus', OPUS_HEAD, true],
    ['Opus of another kind', Buffer.from(OPUS_HEAD).fill(16, 8, 9), false],
  ];
  for (const [name, head, isKnown] of cases) t.equal(readIdentification(head) !== null, isKnown, name);
});

t.test('a frame of FLAC plays no more than its head, its bytes and two seconds allow', async (t) => {
  const durations = (head: Buffer, frames: readonly Buffer[]) => {
    const ms: number[] = [];
    new OggFramer({ onFrame: ({ durationMs }) => void ms.push(Math.round(durationMs)) }).push(
      oggOf([head, FLAC_TAGS], [frames]),
    );
    return ms;
  };
  t.strictSame(durations(flacHead(8000), [16_800, 16_801, 65_535].map(flacFrame)), [2100]);
  t.strictSame(durations(flacHead(96_000), [65_535].map(flacFrame)), [683]);
  t.strictSame(durations(flacHead(48_000, 16, 4800), [4801, 4800].map(flacFrame)), [100]);
  const large = (bytes: number) => Buffer.concat([flacFrame(4800), Buffer.alloc(bytes - 10)]);
  t.strictSame(durations(flacHead(48_000), [large(1024 + 4800 * 8), large(1025 + 4800 * 8)]), [100]);
});

t.test('pages in which nothing is, packets without an end and links without audio are no audio', async (t) => {
  const nothing = oggOf(
    [OPUS_HEAD, OPUS_TAGS],
    Array.from({ length: 200 }, () => Array.from({ length: 255 }, () => Buffer.alloc(0))),
  );
  const headers = oggOf([OPUS_HEAD, OPUS_TAGS], []);
  const endless = new PageWriter(7, 0, FIRST);
  endless.packet(OPUS_HEAD, 0);
  endless.end();
  endless.packet(OPUS_TAGS, 0);
  endless.end();
  endless.packet(Buffer.alloc(3_000_000), 960);
  const cases: Record<string, Buffer> = {
    'zero lacings': nothing,
    'first pages': Buffer.alloc(100_000, headers.subarray(0, 47)),
    'links without audio': Buffer.alloc(headers.length * 500, headers),
    'a packet of 3 MB': endless.take(),
  };
  for (const [name, bytes] of Object.entries(cases)) {
    const framer = new OggFramer({ onFrame: () => t.fail(name) });
    framer.push(bytes);
    t.ok(framer.counters.skippedBytes > bytes.length * 0.9, `${name}: ${framer.counters.skippedBytes}`);
  }
});

t.test('links with next to no audio do not make a tape longer than its lag allows', async (t) => {
  const channel = new ChannelAudio({ now: () => performance.now(), key: 'one', lagMs: 10_000 });
  let frames = 0;
  const framer = new OggFramer({
    onFrame: ({ bytes, fresh, link }) => {
      frames++;
      channel.write(frameOf(bytes, 0, 64, fresh, link));
    },
  });
  framer.push(
    oggOf(
      [OPUS_HEAD, OPUS_TAGS],
      Array.from({ length: 2000 }, () => [Buffer.from([0xe0])]),
      2,
    ),
  );
  t.equal(frames, 2000);
  const tape = channel.tape!;
  t.ok(tape.head - tape.tail <= 41, `${tape.head - tape.tail} segments`);
});
