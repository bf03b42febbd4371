/**
 * Ogg in and out, on real files of ffmpeg, oggenc and opusenc: every packet is found at every chunking and past any garbage, chains are
 * followed, and what a listener gets from any segment on is accepted by ffmpeg, ogginfo and opusinfo, with each title in its place
 * and not a sample lost or given twice at a link, by opusdec and ffmpeg.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import t, { type Test } from 'tap';
import { ChannelAudio } from '../../../src/audio/channel-audio.js';
import { framerFor } from '../../../src/audio/frames/format.js';
import { OggFramer } from '../../../src/audio/ogg/ogg.js';
import type { OggLink } from '../../../src/audio/ogg/ogg-link.js';
import { MAX_PACKET_BYTES } from '../../../src/audio/ogg/ogg-packets.js';
import {
  CONTINUED,
  FIRST,
  isFilled,
  MAX_PAGE_BYTES,
  PAGE_HEADER_BYTES,
  PageWriter,
  pageBytes,
  pageCrc,
  readPage,
} from '../../../src/audio/ogg/ogg-page.js';
import type { OggTape } from '../../../src/audio/ogg/ogg-tape.js';
import { OPUS_HEAD, OPUS_TAGS } from '../../kit/forged.js';
import { frameOf } from '../../kit/frame-of.js';
import { isLong } from '../../kit/long.js';
import { forgedHead } from '../../kit/made-ogg.js';
import { joinedAt } from '../../kit/ogg-joins.js';
import { Random } from '../../kit/random.js';
import { viewOf } from '../../kit/record.js';
import { DEMO_AUDIO } from '../../kit/server.js';

// They wait more than they compute.
t.jobs = 3;

/** Of every codec. */
const JOINS = isLong ? 100 : 6;
const folder = t.testdir();

interface Packet {
  readonly bytes: Buffer;
  readonly ms: number;
  readonly fresh: boolean;
  readonly link: OggLink;
}

function make(name: string, seconds: number, ...options: string[]): Buffer {
  const path = join(folder, `${name}.ogg`);
  execFileSync('ffmpeg', ['-v', 'error', '-y', '-t', String(seconds), '-i', DEMO_AUDIO, ...options, path]);
  return readFileSync(path);
}
const title = (text: string) => ['-metadata', `title=${text}`, '-metadata', 'artist=Anna', '-metadata', 'album=Berge'];
const files = {
  vorbis: make('vorbis', 12, '-c:a', 'libvorbis', '-b:a', '96k', ...title('Lied')),
  // Pages of 64 KB in which packets go on from one to the next.
  high: make('high', 8, '-c:a', 'libvorbis', '-q:a', '10'),
  opus: make('opus', 12, '-c:a', 'libopus', '-b:a', '64k', ...title('Öde')),
  long: make('long', 12, '-c:a', 'libopus', '-b:a', '24k', '-frame_duration', '60'),
  flac: make('flac', 8, '-c:a', 'flac', ...title('Stein')),
};
type Name = keyof typeof files;
const names = Object.keys(files) as Name[];
const chains: Record<string, Buffer> = {
  opus: Buffer.concat([files.opus, make('o2', 3, '-c:a', 'libopus', ...title('Zwei')), files.opus]),
  vorbis: Buffer.concat([files.vorbis, files.high]),
};

function read(
  bytes: Buffer,
  nextBytes: () => number = () => 4096,
): { packets: Packet[]; titles: string[]; skippedBytes: number } {
  const packets: Packet[] = [];
  const titles: string[] = [];
  const framer = framerFor({
    onFrame: ({ bytes: one, durationMs: ms, fresh, link }) =>
      void packets.push({ bytes: Buffer.from(one), ms, fresh, link: link! }),
    onTitle: ({ artist, song }) => void titles.push(`${artist} - ${song}`),
  });
  for (let at = 0; at < bytes.length; ) {
    const n = nextBytes();
    framer.push(bytes.subarray(at, at + n));
    at += n;
  }
  return { packets, titles, skippedBytes: framer.counters.skippedBytes };
}

t.test('a page that ended because it was full is known from one that ended by time', async (t) => {
  const page = (count: number, bytes: number) =>
    Array.from({ length: count }, () => [...Array(Math.floor(bytes / 255)).fill(255), bytes % 255]).flat();
  for (const [lacings, is, what] of [
    [page(64, 64), false, '4096 bytes'],
    [page(65, 64), true, 'one packet past it'],
    [page(66, 64), false, 'two: libogg would have ended it before'],
    [page(3, 8000), false, 'three large packets'],
    [page(4, 8000), true, 'four'],
    [page(5, 8000), false, 'five'],
    [page(254, 1), false, '254 packets of silence'],
    [page(255, 1), true, '255'],
    [[...page(2, 64), ...Array(253).fill(255)], true, 'no room for more'],
    [[], false, 'nothing'],
  ] as const) {
    t.equal(isFilled(Uint8Array.from(lacings)), is, what);
  }
  const pageMs = (bytes: Buffer) => {
    const seen: number[] = [];
    const framer = framerFor({ onFrame: () => void seen.push(framer.pageMs) });
    framer.push(bytes);
    return seen;
  };
  t.ok(
    [...pageMs(files.opus), ...pageMs(files.vorbis)].every((ms) => ms === 0),
    "ffmpeg's pages end by time",
  );
  const path = join(folder, 'filled.ogg');
  const wav = ['-f', 'lavfi', '-i', 'sine=frequency=500:sample_rate=48000:duration=8', '-f', 'wav', '-'];
  const { status } = spawnSync('oggenc', ['-Q', '-q', '1', '-o', path, '-'], {
    input: execFileSync('ffmpeg', ['-v', 'error', ...wav]),
  });
  if (status !== 0) return void t.pass("libogg's by bytes", { skip: 'oggenc is missing' });
  const seen = pageMs(readFileSync(path)).filter((ms) => ms > 0);
  t.ok(seen.length > 100, "libogg's by bytes");
  t.ok(Math.abs(seen.at(-1)! - (255 * 1024) / 48) < 1, `${seen.at(-1)} ms of long blocks`);
});

const same = (a: readonly Packet[], b: readonly Packet[]) =>
  a.length === b.length &&
  a.every((one, i) => one.bytes.equals(b[i]!.bytes) && one.ms === b[i]!.ms && one.fresh === b[i]!.fresh);
const msOf = (packets: readonly Packet[]) => packets.reduce((sum, { ms }) => sum + ms, 0);

/** A tape with titles, and every listener's bytes from a segment on. */
function tapeOf(
  packets: readonly Packet[],
  titleEvery = Number.POSITIVE_INFINITY,
): { tape: OggTape; titles: string[] } {
  const channel = new ChannelAudio({ now: () => performance.now(), key: 'one', lagMs: 3_600_000 });
  const titles: string[] = [];
  for (const [i, { bytes, ms, fresh, link }] of packets.entries()) {
    if (i % titleEvery === titleEvery - 1) {
      titles.push(`Titel ${titles.length} ä`);
      channel.title(viewOf(titles.at(-1)!));
    }
    channel.write(frameOf(bytes, ms, 64, fresh, link));
  }
  return { tape: channel.tape as OggTape, titles };
}

/** What ffmpeg says; its samples at this rate where it says nothing. */
function decode(bytes: Buffer, rate = 44_100): { said: string; samples: number } {
  const args = ['-v', 'error', '-xerror', '-err_detect', 'crccheck+bitstream+buffer', '-f', 'ogg', '-i', '-'];
  const out = ['-f', 's16le', '-ac', '1', '-ar', String(rate), '-'];
  const ffmpeg = spawnSync('ffmpeg', [...args, ...out], { input: bytes, maxBuffer: 2 ** 28 });
  return { said: ffmpeg.stderr.toString() + (ffmpeg.status === 0 ? '' : 'failed'), samples: ffmpeg.stdout.length / 2 };
}

/** What ogginfo or opusinfo complain of, without what every live stream has: no end.
 * ogginfo also reads the number of some new links' first page from nowhere, and of the last head sees no audio. */
function complaints(bytes: Buffer, name: string): string[] {
  const tool = name === 'opus' || name === 'long' ? '/usr/bin/opusinfo' : '/usr/bin/ogginfo';
  if (!existsSync(tool)) return [];
  const path = join(folder, 'heard.ogg');
  writeFileSync(path, bytes);
  const said = spawnSync(tool, [path], { encoding: 'utf8' });
  return `${said.stdout}${said.stderr}`
    .split('\n')
    .filter((line) => /warn|error|hole|invalid/i.test(line))
    .filter((line) => !/EOS not set on|did not contain data|is empty|Got page 0 when/.test(line));
}

t.test('the CRC is that of RFC 3533', async (t) => {
  const page = files.opus.subarray(0, 47);
  t.equal(pageCrc(page, 0, page.length), page.readUInt32LE(22), 'as in a page of ffmpeg');
});

t.test('the same packets, whatever the chunks', async (t) => {
  const random = new Random();
  for (const name of names) {
    const whole = read(files[name]);
    t.equal(whole.skippedBytes, 0, name);
    t.equal(whole.packets.filter(({ fresh }) => fresh).length, 1);
    const trimmedMs = name === 'opus' || name === 'long' ? 6.5 : 0;
    const wantedMs = name === 'vorbis' || name === 'opus' || name === 'long' ? 12_000 : 8000;
    t.ok(Math.abs(msOf(whole.packets) - wantedMs - trimmedMs) < 1, `${name}: ${msOf(whole.packets)} ms`);
    for (let i = 0; i < 3; i++) {
      const most = random.int(1, 9000);
      const again = read(files[name], () => random.int(1, most));
      t.ok(same(again.packets, whole.packets), `${name}, seed ${random.seed}`);
    }
  }
  t.strictSame(read(files.opus).titles, ['Anna - Öde']);
  t.strictSame(read(files.flac).titles, ['Anna - Stein']);
});

t.test('every split point of the first pages', async (t) => {
  const bytes = files.long.subarray(0, 4000);
  const whole = read(bytes);
  t.ok(whole.packets.length > 10);
  let wrong = 0;
  for (let at = 1; at < bytes.length; at++) {
    const sizes = [at, bytes.length];
    if (!same(read(bytes, () => sizes.shift()!).packets, whole.packets)) wrong++;
  }
  t.equal(wrong, 0);
});

t.test('chains are followed, and their titles handed on', async (t) => {
  const chain = read(chains['opus']!);
  t.strictSame(chain.titles, ['Anna - Öde', 'Anna - Zwei', 'Anna - Öde']);
  t.equal(new Set(chain.packets.map(({ link }) => link)).size, 3);
  t.equal(chain.packets.filter(({ fresh }) => fresh).length, 3);
  t.ok(Math.abs(msOf(chain.packets) - 27_000 - 3 * 6.5) < 1);
  t.equal(read(chains['vorbis']!).packets.length, read(files.vorbis).packets.length + read(files.high).packets.length);
});

t.test('garbage, holes and truncated pages lose what they hit and nothing else', async (t) => {
  const random = new Random();
  for (let round = 0; round < 60; round++) {
    const name = names[round % names.length]!;
    const { packets } = read(files[name]);
    const known = new Set(packets.map(({ bytes }) => bytes.toString('latin1')));
    // Behind the heads: without those nothing can be played.
    const from = random.int(8_000, files[name].length - 25_000);
    const lost = random.int(1, 20_000);
    const middle = random.chance(0.5) ? Buffer.alloc(0) : random.bytes(random.int(1, 3000));
    const broken = Buffer.concat([files[name].subarray(0, from), middle, files[name].subarray(from + lost)]);
    // A head that was cut may promise a page to come that never does: let the rest of it come.
    const got = read(Buffer.concat([broken, Buffer.alloc(MAX_PAGE_BYTES)]), () => random.int(1, 5000));
    if (got.packets.some(({ bytes }) => !known.has(bytes.toString('latin1'))))
      t.fail(`seed ${random.seed}: a packet of its own`);
    const seconds = msOf(packets) / 1000 - msOf(got.packets) / 1000;
    // A page of Vorbis or Opus holds a second, and of each end one may be hit.
    if (seconds > 2.5 + (lost / files[name].length) * 12) t.fail(`seed ${random.seed}: ${name} lost ${seconds} s`);
    if (got.packets.filter(({ fresh }) => fresh).length > 3)
      t.fail(`seed ${random.seed}: ${name} starts anew too often`);
  }
  const noise = read(Random.prototype.bytes.call(random, 300_000));
  t.equal(noise.packets.length, 0);
  // Nothing but capture patterns, and pages that promise more than ever comes.
  const framer = new OggFramer({ onFrame: () => t.fail('no packet is there') });
  framer.push(Buffer.from('OggS\0'.repeat(50_000), 'latin1'));
  framer.push(Buffer.concat([Buffer.from('OggS\0'), Buffer.alloc(MAX_PAGE_BYTES, 0xff)]));
  t.ok(framer.counters.skippedBytes > 200_000);
});

t.test(
  'a packet of more than 10,000 kb/s says that, at the limit and past it: other processes take no more',
  async (t) => {
    for (const [bytes, kbps] of [
      [12_499, 9999],
      [12_500, 10_000],
      [12_501, 10_000],
      [MAX_PACKET_BYTES, 10_000],
    ] as const) {
      const seen: number[] = [];
      const writer = new PageWriter(7, 2, 0);
      // 10 ms of Opus.
      writer.packet(Buffer.alloc(bytes, 0xf0), 480);
      writer.packet(Buffer.alloc(bytes, 0xf0), 960);
      writer.finish(960);
      const framer = new OggFramer({ onFrame: ({ bitrateKbps }) => seen.push(bitrateKbps) });
      framer.push(Buffer.concat([opusHeads(new PageWriter(7, 0, FIRST)), writer.take()]));
      t.strictSame(seen, [kbps, kbps], `${bytes}`);
      t.equal(framer.state.bitrateKbps, kbps);
    }
  },
);

t.test('a packet larger than any is dropped at the limit', async (t) => {
  for (const bytes of [MAX_PACKET_BYTES, MAX_PACKET_BYTES + 66_000]) {
    const writer = new PageWriter(7, 0, FIRST);
    const [head, comments] = [Buffer.alloc(19), Buffer.from('OpusTags\0\0\0\0\0\0\0\0', 'latin1')];
    head.write('OpusHead\x01\x02', 'latin1');
    writer.packet(head, 0);
    writer.end();
    writer.packet(comments, 0);
    writer.end();
    writer.packet(Buffer.alloc(bytes), 480);
    writer.packet(Buffer.alloc(100), 960);
    writer.finish(0);
    const { packets } = read(writer.take());
    t.strictSame(
      packets.map((one) => one.bytes.length),
      bytes === MAX_PACKET_BYTES ? [bytes, 100] : [100],
    );
  }
});

/** Opus: both heads, each on its page. */
function opusHeads(writer: PageWriter, tagsAt = 1): Buffer {
  const head = Buffer.alloc(19);
  head.write('OpusHead\x01\x02', 'latin1');
  writer.packet(head, 0);
  writer.end();
  const first = writer.take();
  const tags = new PageWriter(7, tagsAt, 0);
  tags.packet(Buffer.from('OpusTags\0\0\0\0\0\0\0\0', 'latin1'), 0);
  tags.end();
  return Buffer.concat([first, tags.take()]);
}

t.test(
  'a hole within the headers: the stream is not followed, and all of it is counted; the next link is',
  async (t) => {
    const stream = (tagsAt: number) => {
      const heads = opusHeads(new PageWriter(7, 0, FIRST), tagsAt);
      const writer = new PageWriter(7, tagsAt + 1, 0);
      for (let n = 1; n <= 5; n++) writer.packet(Buffer.alloc(100, 0xfc), n * 960);
      writer.finish(0);
      return Buffer.concat([heads, writer.take()]);
    };
    const whole = read(stream(1));
    t.strictSame([whole.packets.length, whole.skippedBytes], [5, 0]);
    const holed = read(stream(2));
    t.strictSame([holed.packets.length, holed.skippedBytes], [0, stream(2).length]);
    const both = read(Buffer.concat([stream(2), stream(1)]));
    t.strictSame([both.packets.length, both.skippedBytes], [5, stream(2).length]);
  },
);

t.test(
  'a page in which no packet ends has no position: the end of the link is trimmed behind it all the same',
  async (t) => {
    const heads = opusHeads(new PageWriter(7, 0, FIRST));
    const writer = new PageWriter(7, 2, 0);
    for (let n = 1; n <= 3; n++) writer.packet(Buffer.alloc(100, 0xfc), n * 960);
    writer.end();
    const before = writer.take();
    // More than a page holds; half of it is to be played.
    writer.packet(Buffer.alloc(MAX_PAGE_BYTES, 0xfc), 3 * 960 + 480);
    writer.finish(0);
    const last = writer.take();
    const bytes = pageBytes(last, 0, last.length);
    t.strictSame([readPage(last.subarray(0, bytes))!.granule, readPage(last.subarray(bytes))!.granule], [-1, 3360]);
    const { packets, skippedBytes } = read(Buffer.concat([heads, before, last]));
    t.strictSame(
      packets.map(({ bytes, ms }) => [bytes.length, ms]),
      [...Array(3).fill([100, 20]), [MAX_PAGE_BYTES, 10]],
    );
    t.equal(skippedBytes, 0);
  },
);

t.test('a first page whose packet is no identification, or a longer one than there is, begins no stream', async (t) => {
  const read = (...first: Buffer[]) => {
    const writer = new PageWriter(7, 0, FIRST);
    for (const packet of first) writer.packet(packet, 0);
    writer.end();
    writer.packet(OPUS_TAGS, 0);
    writer.end();
    writer.packet(Buffer.alloc(40, 0x18), 960);
    writer.end();
    const framer = new OggFramer({ onFrame: () => undefined });
    const bytes = writer.take();
    framer.push(bytes);
    t.equal(framer.counters.frames === 0, framer.counters.links === 0);
    return framer.counters.links;
  };
  const longest = Buffer.concat([OPUS_HEAD, Buffer.alloc(276 - OPUS_HEAD.length)]);
  t.equal(read(longest), 1);
  t.equal(read(Buffer.concat([longest, Buffer.alloc(1)])), 0);
  t.equal(read(OPUS_HEAD.subarray(0, 8), OPUS_HEAD.subarray(8)), 0, 'only its packets together look like one');
  t.equal(read(OPUS_HEAD.subarray(0, 18), Buffer.alloc(0), OPUS_HEAD.subarray(18)), 0);
});

t.test('pages in which no packet of audio is are counted, whole', async (t) => {
  const heads = opusHeads(new PageWriter(7, 0, FIRST));
  const writer = new PageWriter(7, 2, 0);
  const page = (...packets: Buffer[]) => {
    for (const packet of packets) writer.packet(packet, 0);
    writer.end();
    return writer.take();
  };
  const empty = page(Buffer.alloc(0));
  const emptier = page(Buffer.alloc(0)).subarray(0, PAGE_HEADER_BYTES);
  emptier[26] = 0;
  emptier.writeUInt32LE(pageCrc(emptier, 0, emptier.length), 22);
  // Opus with a count of frames, and none.
  const noAudio = page(Buffer.from([0xff, 0]), Buffer.alloc(0), Buffer.from([0xff, 0]));
  const audio = page(Buffer.alloc(100, 0xfc), Buffer.alloc(0));
  const { packets, skippedBytes } = read(Buffer.concat([heads, empty, emptier, noAudio, audio]));
  t.strictSame(
    packets.map(({ bytes, fresh }) => [bytes.length, fresh]),
    [[100, true]],
  );
  t.equal(skippedBytes, empty.length + emptier.length + noAudio.length);
});

t.test('a packet that never ends is counted, whichever way it is lost', async (t) => {
  const piece = (sequence: number, flags: number) => {
    const writer = new PageWriter(7, sequence, flags);
    writer.packet(Buffer.alloc(MAX_PAGE_BYTES), 0);
    writer.end();
    const pages = writer.take();
    return pages.subarray(0, pageBytes(pages, 0, pages.length));
  };
  const bodyBytes = 255 * 255;
  const heads = opusHeads(new PageWriter(7, 0, FIRST));
  const audio = new PageWriter(7, 2, 0);
  audio.packet(Buffer.alloc(100, 0xfc), 960);
  audio.end();
  const begun = Buffer.concat([heads, audio.take()]);
  for (const [name, pages] of [
    ['the next page does not go on with it', [piece(3, 0), piece(4, 0)]],
    ['the next page is missing', [piece(3, 0), piece(5, 0)]],
    ['nor does its beginning come', [piece(4, CONTINUED), piece(6, CONTINUED)]],
  ] as const) {
    const framer = framerFor({ onFrame: () => undefined });
    framer.push(Buffer.concat([begun, ...pages]));
    framer.reset();
    t.equal(framer.counters.skippedBytes, 2 * bodyBytes, name);
  }
});

t.test('damage now and then costs nothing but itself, however long the stream has run', async (t) => {
  const parts = [opusHeads(new PageWriter(7, 0, FIRST))];
  const writer = new PageWriter(7, 2, 0);
  let packets = 0;
  // Each claims 64 KB of what comes behind it, and is looked through: more in all than may be at once.
  for (let round = 0; round < 20; round++) {
    parts.push(forgedHead());
    for (let i = 0; i < 400; i++) writer.packet(Buffer.alloc(200, 0xfc), ++packets * 960);
    writer.end();
    parts.push(writer.take());
  }
  const got = read(Buffer.concat(parts));
  t.equal(got.packets.length, packets);
  t.equal(got.skippedBytes, 20 * forgedHead().length);
});

t.test('paused by its sink, it hands on a packet with each push, and loses none', async (t) => {
  const random = new Random();
  for (const name of ['opus', 'high'] as const) {
    const bytes = files[name].subarray(0, 150_000);
    const packets: Packet[] = [];
    const framer = framerFor({
      onFrame: ({ bytes: one, durationMs: ms, fresh, link }) => {
        packets.push({ bytes: Buffer.from(one), ms, fresh, link: link! });
        framer.pause();
      },
    });
    let most = 0;
    for (let at = 0, before = -1; at < bytes.length || packets.length > before; ) {
      before = packets.length;
      at += framer.push(bytes.subarray(at, at + random.int(0, 9000)));
      most = Math.max(most, packets.length - before);
    }
    t.equal(most, 1, name);
    t.ok(same(packets, read(bytes).packets), `${name}, seed ${random.seed}`);
  }
});

t.test('a reset in the middle of anything: what was held is counted, and a file begins', async (t) => {
  for (const name of ['opus', 'high'] as const) {
    const file = files[name];
    const whole = read(file).packets;
    const ends: number[] = [0];
    for (let at = 0; at < file.length; ends.push(at)) at += pageBytes(file, at, file.length - at);
    // In the first head, behind it, in a page of audio, behind one.
    for (const cut of [20, ends[1]!, ends[5]! + 500, ends[6]!]) {
      const packets: Packet[] = [];
      const framer = framerFor({
        onFrame: ({ bytes: one, durationMs: ms, fresh, link }) =>
          void packets.push({ bytes: Buffer.from(one), ms, fresh, link: link! }),
      });
      framer.push(file.subarray(0, cut));
      const audio = ends.slice(3, ends.findLastIndex((end) => end <= cut) + 1);
      const audioBytes = audio.reduce(
        (sum, end, i) => sum + readPage(file.subarray(ends[i + 2]!, end))!.body.length,
        0,
      );
      // Of a packet that goes on in the next page.
      const openBytes = packets.reduce((left, { bytes }) => left - bytes.length, audioBytes);
      packets.length = 0;
      framer.reset();
      const taken = cut <= ends[1]! ? 0 : ends.findLast((end) => end <= cut)!;
      const counted = cut - taken + openBytes;
      t.equal(framer.counters.skippedBytes, counted, `${name}, cut after ${cut} bytes`);
      framer.push(file);
      t.ok(same(packets, whole), `${name}, cut after ${cut} bytes: the file from its first packet`);
      t.equal(framer.counters.skippedBytes, counted, 'and nothing of it is counted');
    }
  }
});

t.test('a stream beside the audio is not followed', async (t) => {
  const bytes = make(
    'theora',
    4,
    '-f',
    'lavfi',
    '-i',
    'color=s=32x32',
    '-c:v',
    'libtheora',
    '-c:a',
    'libvorbis',
    '-shortest',
  );
  const { packets, skippedBytes } = read(bytes);
  t.ok(Math.abs(msOf(packets) - 4000) < 100, `${msOf(packets)}`);
  t.ok(skippedBytes > 100);
});

t.test('joins anywhere are accepted, with titles changing all the while', async (t) => {
  const random = new Random();
  for (const name of names) {
    const { packets } = read(files[name]);
    const { tape } = tapeOf(packets, random.int(20, 60));
    for (let i = 0; i < JOINS; i++) {
      const from = random.int(0, tape.head - 1);
      const bytes = joinedAt(tape, from);
      const { said } = decode(bytes);
      if (said !== '') t.fail(`seed ${random.seed}: ${name} from ${from}: ${said}`);
      const found = complaints(bytes, name);
      if (found.length > 0) t.fail(`seed ${random.seed}: ${name} from ${from}: ${found.join(' | ')}`);
    }
    t.pass(name);
  }
});

t.test('a title waits until its segment is worth joining at', async (t) => {
  for (const name of names) {
    const { packets } = read(files[name]);
    let changes = 0;
    for (let titleEvery = 15; titleEvery < 25; titleEvery++) {
      const { tape, titles } = tapeOf(packets, titleEvery);
      changes += titles.length;
      for (let seq = tape.tail; seq < tape.head; seq++) {
        const { startMs, endMs } = tape.at(seq)!;
        if (endMs - startMs < 249)
          t.fail(`${name}, a title every ${titleEvery} packets: ${endMs - startMs} ms at ${seq}`);
      }
    }
    t.ok(changes > 20, `${name}: ${changes} titles`);
  }
});

t.test('not a sample is lost at a title, and its link says it', async (t) => {
  for (const name of names) {
    const { packets } = read(files[name]);
    const one = tapeOf(packets);
    const many = tapeOf(packets, 70);
    t.ok(many.titles.length >= 1, name);
    // Up to the same place of the audio.
    const endMs = many.tape.edgeMs;
    const count = packets.findIndex((_, i) => msOf(packets.slice(0, i + 1)) >= endMs - 0.01) + 1;
    const rate = packets[0]!.link.facts.sampleRate;
    const wanted =
      Math.round((msOf(packets.slice(0, count)) * rate) / 1000) - (name === 'opus' || name === 'long' ? 312 : 0);
    const { samples, said } = decode(joinedAt(many.tape, 0), rate);
    t.equal(said, '');
    // ffmpeg's Vorbis drops a short block of the very first link when another follows; a packet for each title would be ten times that.
    const few = packets[0]!.link.facts.codec === 'vorbis' ? 576 : 2;
    t.ok(Math.abs(samples - wanted) <= few, `${name}: ${samples} of ${wanted}`);
    t.equal(decode(joinedAt(one.tape, 0)).said, '');
    if (many.titles.length < 2) continue;
    const links = joinedAt(many.tape, 0).toString('latin1').split('OggS').length;
    t.ok(links > many.titles.length * 2, 'each title has a head of its own');
  }
});

t.test('comments: ours in the place of theirs, the rest as it was, bounded', async (t) => {
  const big = make(
    'big',
    2,
    '-c:a',
    'libopus',
    ...title('Alt'),
    '-metadata',
    'genre=Jodel',
    '-metadata',
    `comment=${'x'.repeat(9000)}`,
  );
  const { packets } = read(big);
  const tagsOf = (bytes: Buffer) => {
    const path = join(folder, 'tags.ogg');
    writeFileSync(path, bytes);
    const tags = execFileSync('ffprobe', ['-v', 'quiet', '-show_entries', 'stream_tags', '-of', 'json', path], {
      encoding: 'utf8',
    });
    const all: Record<string, string> = JSON.parse(tags).streams[0].tags;
    return Object.fromEntries(Object.entries(all).map(([name, value]) => [name.toLowerCase(), value]));
  };
  const channel = new ChannelAudio({ now: () => performance.now(), key: 'one', lagMs: 60_000 });
  const write = () =>
    packets.forEach(({ bytes, ms, fresh, link }) => void channel.write(frameOf(bytes, ms, 64, fresh, link)));
  write();
  const before = tagsOf(joinedAt(channel.tape as OggTape, 0));
  t.match(before, { title: 'Alt', artist: 'Anna', album: 'Berge', genre: 'Jodel' });
  t.notOk('comment' in before, 'too long to be sent to everybody');
  channel.title(viewOf('Neu'));
  write();
  const tape = channel.tape as OggTape;
  const after = tagsOf(joinedAt(tape, tape.head - 1));
  t.match(after, { title: 'Neu', genre: 'Jodel', encoder: /libopus/ });
  t.notOk('album' in after, 'of another track');
});

t.test(
  'a title stands at the end of the segment before its link; a listener that joins later begins with it',
  async (t: Test) => {
    const { packets } = read(files.opus);
    const channel = new ChannelAudio({ now: () => performance.now(), key: 'one', lagMs: 60_000 });
    const write = (from: number, to: number) => {
      for (const { bytes, ms, fresh, link } of packets.slice(from, to))
        channel.write(frameOf(bytes, ms, 64, fresh, link));
    };
    channel.title(viewOf('Eins'));
    write(0, 125);
    channel.title(viewOf('Zwei'));
    write(125, 300);
    const tape = channel.tape as OggTape;
    const all = Array.from({ length: tape.head }, (_, seq) => tape.at(seq)!);
    t.strictSame(
      all.slice(0, 5).map((one) => [one.before?.view.title, one.mark?.view.title, Math.round(one.endMs)]),
      [
        ['Eins', 'Eins', 1000],
        ['Eins', 'Eins', 2000],
        ['Eins', 'Zwei', 2500],
        ['Zwei', 'Zwei', 3500],
        ['Zwei', 'Zwei', 4500],
      ],
    );
    t.ok(all[2]!.plain.includes('TITLE=Zwei'), 'the head of the new link');
    t.notOk(all[3]!.plain.includes('TITLE='));
    t.ok(all[3]!.entered().includes('TITLE=Zwei'));
    t.ok(all[2]!.entered().includes('TITLE=Eins'));
    t.equal(all[3]!.entered(), all[3]!.entered(), 'one buffer for all that begin here');
  },
);

t.test('another format is another tape, and the old one says that it is over', async (t) => {
  const channel = new ChannelAudio({ now: () => performance.now(), key: 'one', lagMs: 60_000 });
  const mp3 = Buffer.alloc(417);
  mp3.set([0xff, 0xfb, 0x90, 0x00]);
  for (let i = 0; i < 100; i++) channel.write(frameOf(mp3, 26, 128));
  const first = channel.tape!;
  t.equal(channel.metaint, first.metaint);
  const ogg = (name: Name) => {
    for (const { bytes, ms, fresh, link } of read(files[name]).packets.slice(0, 100))
      channel.write(frameOf(bytes, ms, 64, fresh, link));
  };
  ogg('opus');
  const second = channel.tape!;
  t.strictSame(
    [first.isOver, first.at(0), second.isOver, channel.contentType, channel.metaint],
    [true, undefined, false, 'audio/ogg', null],
  );
  ogg('long');
  t.equal(channel.tape, second, 'the same codec is a link of the same stream');
  ogg('vorbis');
  t.not(channel.tape, second, 'players do not follow a chain into another codec');
  t.ok(second.isOver);
  channel.write(frameOf(mp3, 26, 128));
  t.strictSame([channel.contentType, channel.tape!.isOver], ['audio/mpeg', false]);
});

t.test(
  'another framer goes on wherever the first one stood, also behind a packet of which more stand in the page',
  async (t) => {
    for (const name of [...names, 'chain'] as const) {
      const random = new Random();
      const stream = Buffer.concat([name === 'chain' ? chains['vorbis']! : files[name], random.bytes(50), files.long]);
      const line = ({ bytes, ms, fresh, link }: Packet) => `${bytes.toString('base64')} ${ms} ${fresh} ${link.title}`;
      const whole = read(stream);
      const seen: string[] = [];
      let skippedBytes = 0;
      let isPausing = false;
      const make = () => {
        const framer = framerFor({
          onFrame: ({ bytes, durationMs: ms, fresh, link }) => {
            seen.push(line({ bytes, ms, fresh, link: link! }));
            if (isPausing) framer.pause();
          },
        });
        return framer;
      };
      let framer = make();
      for (let at = 0; at < stream.length; ) {
        isPausing = random.chance(0.5);
        at += framer.push(stream.subarray(at, at + random.int(1, 20_000)));
        const { state } = framer;
        if (state === null) continue;
        const next = make();
        // As between two processes.
        next.adopt(deserialize(serialize(state)));
        t.ok(isDeepStrictEqual(next.state, state));
        skippedBytes += framer.counters.skippedBytes;
        framer = next;
      }
      isPausing = false;
      framer.push(Buffer.alloc(0));
      t.same(seen.length, whole.packets.length, `${name}, seed ${random.seed}`);
      t.ok(seen.join() === whole.packets.map(line).join(), `${name}, seed ${random.seed}`);
      t.equal(skippedBytes + framer.counters.skippedBytes, whole.skippedBytes, `${name}, seed ${random.seed}`);
    }
  },
);
