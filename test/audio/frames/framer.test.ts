/**
 * The framer against real ffmpeg output: for any chunking, what it hands on equals what a simple walk over the whole file finds,
 * and what ffmpeg itself copies. The walk knows only what ffmpeg writes (layer III, ADTS), by its own arithmetic.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { Framer, type FrameSink, MAX_TAGS_BYTES, SCRATCH_BYTES } from '../../../src/audio/frames/framer.js';
import { isLong } from '../../kit/long.js';
import { Random } from '../../kit/random.js';

/** A third of the seeds, but for the long form. */
const rounds = (count: number) => (isLong ? count : Math.ceil(count / 3));

const folder = t.testdir();
const SINE = ['-f', 'lavfi', '-i', 'aevalsrc=0.4*sin(300*t*t)+0.1*random(0)|0.4*sin(900*t):d=3.3:s=48000'];

function ffmpeg(name: string, ...options: string[]): string {
  const path = join(folder, name);
  execFileSync('ffmpeg', ['-v', 'error', '-y', ...SINE, '-metadata', 'title=Tëst', ...options, path]);
  return path;
}

const files = {
  cbr: ffmpeg('cbr.mp3', '-ar', '44100', '-b:a', '128k', '-write_id3v1', '1'),
  vbr: ffmpeg('vbr.mp3', '-ar', '44100', '-q:a', '2'),
  high: ffmpeg('high.mp3', '-ar', '44100', '-b:a', '320k', '-joint_stereo', '0'),
  mono: ffmpeg('mono.mp3', '-ar', '48000', '-ac', '1', '-b:a', '64k', '-id3v2_version', '3'),
  lsf: ffmpeg('lsf.mp3', '-ar', '22050', '-b:a', '48k'),
  lsfMono: ffmpeg('lsfmono.mp3', '-ar', '16000', '-ac', '1', '-q:a', '5'),
  layer2: ffmpeg('layer2.mp2', '-c:a', 'mp2', '-ar', '32000', '-b:a', '160k'),
  aac: ffmpeg('aac.aac', '-ar', '44100', '-b:a', '96k'),
};
type Name = keyof typeof files;
const names = Object.keys(files) as Name[];
const data = Object.fromEntries(names.map((name) => [name, readFileSync(files[name])])) as Record<Name, Buffer>;

interface Walked {
  bytes: Buffer;
  frames: Buffer[];
  seconds: number;
  infoFrames: number;
}

/** A file that begins and ends cleanly; throws on anything unknown. */
function walk(file: Buffer): Walked {
  const frames: Buffer[] = [];
  let seconds = 0;
  let infoFrames = 0;
  let at = 0;
  while (at < file.length) {
    if (file.toString('latin1', at, at + 3) === 'ID3') {
      at += 10 + file[at + 6]! * 2 ** 21 + file[at + 7]! * 2 ** 14 + file[at + 8]! * 2 ** 7 + file[at + 9]!;
      continue;
    }
    if (file.toString('latin1', at, at + 3) === 'TAG') {
      at += 128;
      continue;
    }
    const [length, duration] = measure(file.readUInt32BE(at), file.readUInt32BE(at + 4));
    const frame = file.subarray(at, at + length);
    if (frame.length !== length) throw new Error(`cut at ${at}`);
    at += length;
    if (/Xing|Info|VBRI/.test(frame.toString('latin1', 0, 40))) {
      infoFrames++;
      continue;
    }
    frames.push(frame);
    seconds += duration;
  }
  return { bytes: Buffer.concat(frames), frames, seconds, infoFrames };
}

function measure(head: number, more: number): [number, number] {
  const bits = (shift: number, width: number) => Math.floor(head / 2 ** shift) % 2 ** width;
  if (bits(20, 12) === 0xfff && bits(17, 2) === 0) {
    const rate = { 3: 48000, 4: 44100 }[bits(10, 4)]!;
    return [bits(0, 2) * 2 ** 11 + Math.floor(more / 2 ** 21), 1024 / rate];
  }
  if (bits(20, 12) !== 0xfff) throw new Error(`no frame: ${head.toString(16)}`);
  const mpeg1 = bits(19, 1) === 1;
  const layer2 = bits(17, 2) === 2;
  const rate = [44100, 48000, 32000][bits(10, 2)]! / (mpeg1 ? 1 : 2);
  const row = layer2
    ? '0 32 48 56 64 80 96 112 128 160 192 224 256 320 384'
    : mpeg1
      ? '0 32 40 48 56 64 80 96 112 128 160 192 224 256 320'
      : '0 8 16 24 32 40 48 56 64 80 96 112 128 144 160';
  const samples = mpeg1 ? 1152 : 576;
  return [Math.floor((samples * Number(row.split(' ')[bits(12, 4)]) * 125) / rate) + bits(9, 1), samples / rate];
}

/** mulberry32: the same numbers for the same seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function randomBytes(random: () => number, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
}

function collector() {
  const parts: Buffer[] = [];
  const out = {
    framer: undefined as unknown as Framer,
    durationMs: 0,
    bitrateKbps: 0,
    calls: 0,
    bytes: () => Buffer.concat(parts),
  };
  out.framer = new Framer({
    onFrame({ bytes, durationMs, bitrateKbps }) {
      parts.push(Buffer.from(bytes));
      out.durationMs += durationMs;
      out.bitrateKbps = bitrateKbps;
      out.calls++;
    },
  });
  return out;
}

/** Pushes in random chunks; every chunk is overwritten afterwards, so that a framer that keeps views is found out. */
function pushChunks(framer: Framer, bytes: Buffer, random: () => number): void {
  const most = [1, 40, 700, 5000, 70_000][Math.floor(random() * 5)]!;
  for (let at = 0; at < bytes.length; ) {
    const chunk = Buffer.from(bytes.subarray(at, at + 1 + Math.floor(random() * most)));
    framer.push(chunk);
    at += chunk.length;
    chunk.fill(0xee);
  }
}

t.test('real files in any chunking', async (t) => {
  for (const name of names) {
    const expected = walk(data[name]);
    const raw = join(folder, `${name}.raw`);
    const format = name === 'aac' ? ['-f', 'adts'] : ['-f', name === 'layer2' ? 'mp2' : 'mp3', '-write_xing', '0'];
    const copy = ['-v', 'error', '-y', '-i', files[name], '-c', 'copy', '-id3v2_version', '0', ...format, raw];
    execFileSync('ffmpeg', copy);
    t.ok(expected.bytes.equals(readFileSync(raw)), `${name}: the walk equals what ffmpeg copies`);
    const probe = execFileSync('ffprobe', [
      '-v',
      'error',
      '-show_entries',
      'packet=duration_time',
      '-of',
      'csv=p=0',
      raw,
    ]);
    const probed = String(probe).trim().split('\n').map(Number.parseFloat);
    const seconds = probed.reduce((sum, value) => sum + value, 0);
    for (let seed = 1; seed <= rounds(12); seed++) {
      const got = collector();
      pushChunks(got.framer, data[name], seeded(seed));
      const facts = `${name}, seed ${seed}`;
      if (!t.ok(got.bytes().equals(expected.bytes), `${facts}: the same bytes`)) return;
      t.ok(Math.abs(got.durationMs / 1000 - expected.seconds) < 1e-6, `${facts}: the same duration`);
      t.ok(Math.abs(got.durationMs / 1000 - seconds) < 0.073, `${facts}: ffprobe's duration within a frame`);
      const { counters } = got.framer;
      t.match(counters, { frames: expected.frames.length, skippedBytes: 0, infoFrames: expected.infoFrames }, facts);
    }
  }
  t.ok(walk(data.cbr).infoFrames === 1 && walk(data.lsfMono).infoFrames === 1, 'there were info frames to drop');
});

t.test('what it says of the stream, and one view for each frame', async (t) => {
  const say: Record<Name, [string, number, number, number]> = {
    cbr: ['mp3', 44100, 2, 128],
    vbr: ['mp3', 44100, 2, 0],
    high: ['mp3', 44100, 2, 320],
    mono: ['mp3', 48000, 1, 64],
    lsf: ['mp3', 22050, 2, 48],
    lsfMono: ['mp3', 16000, 1, 0],
    layer2: ['mp2', 32000, 2, 160],
    aac: ['aac', 44100, 2, 0],
  };
  for (const name of names) {
    const got = collector();
    t.equal(got.framer.codec, undefined);
    got.framer.push(data[name]);
    const [codec, sampleRate, channels, bitrateKbps] = say[name];
    t.match(got.framer, { codec, sampleRate, channels }, name);
    if (bitrateKbps > 0) t.equal(got.bitrateKbps, bitrateKbps, name);
    t.equal(got.calls, walk(data[name]).frames.length, name);
  }
  const aac = collector();
  aac.framer.push(data.aac);
  const mean = (data.aac.length * 8) / walk(data.aac).seconds / 1000;
  t.ok(Math.abs(aac.bitrateKbps - mean) < mean * 0.25, `aac: ${aac.bitrateKbps} is about ${mean} kb/s`);
});

t.test('a frame in sync is handed on with its last byte', async (t) => {
  const { frames } = walk(data.cbr);
  const got = collector();
  got.framer.push(Buffer.concat(frames.slice(0, 3)));
  for (const frame of frames.slice(3, 20)) {
    const before = got.framer.counters.frames;
    got.framer.push(frame.subarray(0, frame.length - 1));
    t.equal(got.framer.counters.frames, before);
    got.framer.push(frame.subarray(frame.length - 1));
    t.equal(got.framer.counters.frames, before + 1);
  }
});

t.test('only a frame that a chunk cuts is copied', async (t) => {
  const { frames, bytes } = walk(data.cbr);
  for (const cut of [1, 5, 400, frames[0]!.length + 300]) {
    let chunk = Buffer.from(bytes.subarray(0, cut));
    let copied = 0;
    const framer = new Framer({
      onFrame({ bytes: view }) {
        if (view.buffer !== chunk.buffer) copied += view.length;
      },
    });
    framer.push(chunk);
    chunk = Buffer.alloc(20_000);
    bytes.copy(chunk, 0, cut);
    framer.push(chunk);
    t.ok(copied > 0 && copied <= frames[1]!.length, `cut after ${cut} bytes: ${copied} bytes copied`);
    t.ok(framer.counters.frames > 40);
  }
});

t.test('files in a row: other rates, other codecs, tags between, the same again', async (t) => {
  for (let seed = 100; seed < 100 + rounds(30); seed++) {
    const random = seeded(seed);
    const row = Array.from({ length: 4 }, () => names[Math.floor(random() * names.length)]!);
    const got = collector();
    pushChunks(got.framer, Buffer.concat(row.map((name) => data[name])), random);
    const expected = row.map((name) => walk(data[name]));
    const facts = `${row}, seed ${seed}`;
    if (!t.ok(got.bytes().equals(Buffer.concat(expected.map((one) => one.bytes))), `${facts}: the same bytes`)) return;
    const seconds = expected.reduce((sum, one) => sum + one.seconds, 0);
    t.ok(Math.abs(got.durationMs / 1000 - seconds) < 1e-6, `${facts}: the same duration`);
    t.equal(got.framer.counters.skippedBytes, 0, facts);
  }
});

t.test('garbage between frames never gets through', async (t) => {
  for (let seed = 200; seed < 200 + rounds(40); seed++) {
    const random = seeded(seed);
    const name = names[seed % names.length]!;
    const { frames } = walk(data[name]);
    const parts: Buffer[] = [];
    const kept: Buffer[] = [];
    let garbageBytes = 0;
    for (let at = 0; at < frames.length; ) {
      const run = frames.slice(at, at + 2 + Math.floor(random() * 12));
      at += run.length;
      // a lone frame in garbage cannot be confirmed
      if (run.length === 1) break;
      const garbage = randomBytes(random, Math.floor(random() * 3000));
      garbageBytes += garbage.length;
      parts.push(garbage, ...run);
      kept.push(...run);
    }
    const got = collector();
    // the last garbage may look like a frame whose end has not come yet: let it come
    pushChunks(got.framer, Buffer.concat([...parts, Buffer.alloc(SCRATCH_BYTES)]), random);
    got.framer.reset();
    const facts = `${name}, seed ${seed}`;
    if (!t.ok(got.bytes().equals(Buffer.concat(kept)), `${facts}: frames only`)) return;
    t.equal(got.framer.counters.skippedBytes, garbageBytes + SCRATCH_BYTES, `${facts}: garbage counted`);
  }
});

t.test('a cut frame at a join, and info frames only where a file begins', async (t) => {
  const { frames } = walk(data.high);
  const got = collector();
  got.framer.push(Buffer.concat([frames[4]!.subarray(200), ...frames.slice(5, 20)]));
  t.ok(got.bytes().equals(Buffer.concat(frames.slice(5, 20))), 'a partial frame in front is dropped');
  t.equal(got.framer.counters.skippedBytes, frames[4]!.length - 200);

  // a frame that happens to hold the word at the right place, in the middle of a stream
  const odd = Buffer.from(frames[10]!);
  odd.write('Info', 36, 'latin1');
  const middle = collector();
  middle.framer.push(Buffer.concat([frames[9]!, odd, frames[11]!]));
  t.equal(middle.framer.counters.infoFrames, 0);
  t.equal(middle.framer.counters.frames, 3);
  for (const [word, offset] of [
    ['VBRI', 36],
    ['Xing', 36],
    ['Info', 36],
  ] as const) {
    const info = Buffer.from(frames[0]!);
    info.write(word, offset, 'latin1');
    const first = collector();
    first.framer.push(Buffer.concat([info, frames[1]!, frames[2]!]));
    t.equal(first.framer.counters.infoFrames, 1, word);
    first.framer.reset();
    first.framer.push(Buffer.concat([info, frames[1]!, frames[2]!]));
    t.equal(first.framer.counters.infoFrames, 2, `${word} again after a reset`);
    t.equal(first.framer.counters.frames, 4);
  }
});

t.test(
  'files in a row without tags: the info frame that each begins with goes, and the next frame continues nothing',
  async (t) => {
    for (const [word, hasCrc] of [
      ['Xing', false],
      ['Info', true],
      ['VBRI', false],
    ] as const) {
      const { frames } = walk(data.cbr);
      const info = Buffer.alloc(frames[1]!.length);
      frames[1]!.copy(info, 0, 0, 4);
      if (hasCrc) {
        info[1]! &= 0xfe;
        info.fill(0x7f, 4, 6);
      }
      info.write(word, hasCrc ? 38 : 36, 'latin1');
      const got = collector();
      const fresh: boolean[] = [];
      const framer = new Framer({ onFrame: (frame) => void fresh.push(frame.fresh) });
      const bytes = Buffer.concat([...frames.slice(0, 9), info, ...frames.slice(0, 9), info, ...frames.slice(0, 9)]);
      for (const each of [got.framer, framer]) each.push(bytes);
      t.strictSame(
        fresh.flatMap((is, i) => (is ? [i] : [])),
        [0, 9, 18],
      );
      t.ok(got.bytes().equals(Buffer.concat([0, 1, 2].flatMap(() => frames.slice(0, 9)))), word);
      t.match(got.framer.counters, { frames: 27, infoFrames: 2, skippedBytes: 0 });
    }
  },
);

t.test('tags between frames', async (t) => {
  const { frames } = walk(data.cbr);
  const id3 = (length: number, flags = 0, major = 4) => {
    const size = [length >> 21, (length >> 14) & 127, (length >> 7) & 127, length & 127];
    const footer = flags & 0x10 ? 10 : 0;
    // a tag full of what looks like frames
    return Buffer.concat([
      Buffer.from(['I', 'D', '3'].map((c) => c.charCodeAt(0)).concat(major, 0, flags, size)),
      Buffer.alloc(length + footer, frames[0]!),
    ]);
  };
  const ape = (items: number) => {
    const head = Buffer.alloc(32);
    head.write('APETAGEX');
    head.writeUInt32LE(2000, 8);
    head.writeUInt32LE(items + 32, 12);
    head.writeUInt32LE(0xa0000000, 20);
    const foot = Buffer.from(head);
    foot.writeUInt32LE(0x80000000, 20);
    return Buffer.concat([head, Buffer.alloc(items, frames[0]!), foot]);
  };
  const id3v1 = Buffer.alloc(128, 0x41);
  id3v1.write('TAG');
  const tags = [id3(0), id3(21), id3(300_000), id3(70_000, 0x10), id3(500, 0, 2), ape(0), ape(900), id3v1];
  for (let seed = 300; seed < 300 + rounds(30); seed++) {
    const random = seeded(seed);
    const parts: Buffer[] = [];
    let count = 0;
    frames.slice(0, 60).forEach((frame, index) => {
      // in front of the first frame too, and several in a row
      while (index % 7 === 0 && random() < 0.6) {
        parts.push(tags[Math.floor(random() * tags.length)]!);
        count++;
      }
      parts.push(frame);
    });
    const got = collector();
    pushChunks(got.framer, Buffer.concat(parts), random);
    if (!t.ok(got.bytes().equals(Buffer.concat(frames.slice(0, 60))), `seed ${seed}: frames only`)) return;
    t.match(got.framer.counters, { tags: count, skippedBytes: 0 }, `seed ${seed}`);
  }
});

t.test('a file that was cut within its last frame, and another behind it that begins with a picture', async (t) => {
  for (const [name, file] of Object.entries({ mp3: data.cbr, aac: data.aac })) {
    const { frames } = walk(file);
    for (let seed = 1; seed <= rounds(20); seed++) {
      const random = seeded(seed);
      const picture = Buffer.concat([Buffer.from('ID3\x03\0\0\0\x06\x1a\x50', 'latin1'), randomBytes(random, 101_712)]);
      const torn = frames[20]!.subarray(0, 1 + Math.floor(random() * (frames[20]!.length - 1)));
      const got = collector();
      pushChunks(got.framer, Buffer.concat([...frames.slice(0, 20), torn, picture, ...frames.slice(0, 20)]), random);
      const facts = `${name}, seed ${seed}, ${torn.length} bytes`;
      t.ok(got.bytes().equals(Buffer.concat([...frames.slice(0, 20), ...frames.slice(0, 20)])), facts);
      t.match(got.framer.counters, { tags: 1, skippedBytes: torn.length }, facts);
    }
  }
});

t.test('tags of 16 MB between two frames are skipped, what is more is counted as no audio', async (t) => {
  const { frames } = walk(data.cbr);
  const some = frames.slice(0, 4);
  const tag = (bytes: number) => {
    const body = bytes - 10;
    const size = [body >> 21, (body >> 14) & 127, (body >> 7) & 127, body & 127];
    return Buffer.concat([Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, ...size]), Buffer.alloc(body)]);
  };
  for (const [tags, skippedBytes] of [
    [[MAX_TAGS_BYTES], 0],
    [[MAX_TAGS_BYTES + 1], 1],
    [[MAX_TAGS_BYTES - 1000, 500, 500], 0],
    [[MAX_TAGS_BYTES - 1000, 500, 500, 20], 20],
    [[2 * MAX_TAGS_BYTES], MAX_TAGS_BYTES],
  ] as const) {
    const got = collector();
    const part = Buffer.concat([...tags.map(tag), ...some]);
    // Twice: a frame settles what was before it.
    for (let i = 0; i < 2; i++)
      for (let at = 0; at < part.length; at += 1024) got.framer.push(part.subarray(at, at + 1024));
    t.ok(got.bytes().equals(Buffer.concat([...some, ...some])), 'frames only');
    t.match(got.framer.counters, { tags: 2 * tags.length, skippedBytes: 2 * skippedBytes });
  }
});

t.test('a reset in the middle of anything, and three letters in garbage', async (t) => {
  const file = data.cbr;
  const { bytes, frames } = walk(file);
  for (const cut of [4, 30, 200, 3000, file.length - 60]) {
    const got = collector();
    got.framer.push(file.subarray(0, cut));
    const before = got.bytes().length;
    got.framer.reset();
    const { skippedBytes } = got.framer.counters;
    got.framer.push(file);
    t.ok(got.bytes().subarray(before).equals(bytes), `cut after ${cut} bytes`);
    t.equal(got.framer.counters.skippedBytes, skippedBytes, 'what was held is counted by the reset');
  }
  const got = collector();
  got.framer.push(Buffer.concat([Buffer.from('xTAG'), ...frames.slice(0, 9)]));
  t.equal(got.framer.counters.frames, 9, 'TAG counts only straight behind a frame');
});

t.test('a reset forgets the tags before it', async (t) => {
  const { frames } = walk(data.cbr);
  const some = Buffer.concat(frames.slice(0, 4));
  const got = collector();
  const body = MAX_TAGS_BYTES - 10;
  const size = [body >> 21, (body >> 14) & 127, (body >> 7) & 127, body & 127];
  const tag = Buffer.concat([Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, ...size]), Buffer.alloc(body)]);
  got.framer.push(tag);
  got.framer.reset();
  got.framer.push(Buffer.concat([tag, some]));
  t.match(got.framer.counters, { tags: 2, skippedBytes: 0 }, 'each file has a MB of tags');
  t.ok(got.bytes().equals(some));

  // Garbage, at whose end an ID3v1 tag would be none.
  got.framer.push(Buffer.from('garbage'));
  got.framer.reset();
  const { tags, skippedBytes } = got.framer.counters;
  const id3v1 = Buffer.alloc(128, 0x41);
  id3v1.write('TAG');
  got.framer.push(Buffer.concat([id3v1, some]));
  t.match(got.framer.counters, { tags: tags + 1, skippedBytes }, 'a file may begin with one');
  t.ok(got.bytes().equals(Buffer.concat([some, some])));
});

t.test('an ADTS frame in which nothing is, is none', async (t) => {
  const adts = (length: number, hasCrc: boolean) => {
    const frame = Buffer.alloc(length);
    frame.set([0xff, hasCrc ? 0xf0 : 0xf1, 0x50, 0x80, length >> 3, ((length & 7) << 5) | 0x1f, 0xfc]);
    return Buffer.concat([frame, frame, frame]);
  };
  for (const [length, hasCrc, frames] of [
    [7, false, 0],
    [8, false, 3],
    [9, true, 0],
    [10, true, 3],
  ] as const) {
    const got = collector();
    got.framer.push(adts(length, hasCrc));
    t.equal(got.framer.counters.frames, frames, `${length} bytes${hasCrc ? ' with a CRC' : ''}`);
  }
});

t.test('headers that are refused, and ADTS with several blocks', async (t) => {
  const frame = walk(data.cbr).frames[3]!;
  for (const [index, value, why] of [
    [2, 0x00, 'free format'],
    [2, 0xf0, 'bitrate 15'],
    [2, 0x9c, 'reserved sample rate'],
    [1, 0xeb, 'reserved version'],
    [3, 0x02, 'reserved emphasis'],
  ] as const) {
    const bad = Buffer.from(frame);
    bad[index] = value;
    const got = collector();
    got.framer.push(Buffer.concat([bad, bad, bad]));
    t.equal(got.framer.counters.frames, 0, why);
  }
  // ID 1, CRC, LC, 48 kHz, stereo, 8191 bytes, four blocks: the largest frame there is
  const blocks = Buffer.alloc(8191, 0x55);
  Buffer.from([0xff, 0xf8, 0x4c, 0x83, 0xff, 0xff, 0xff]).copy(blocks);
  const got = collector();
  pushChunks(got.framer, Buffer.concat([blocks, blocks, blocks]), seeded(1));
  t.ok(got.bytes().equals(Buffer.concat([blocks, blocks, blocks])));
  t.ok(Math.abs(got.durationMs - (3 * 4096 * 1000) / 48000) < 1e-9);
});

t.test('random bytes: never throws, keeps no more than its scratch', async (t) => {
  for (let seed = 400; seed < 400 + rounds(20); seed++) {
    const random = seeded(seed);
    // a few byte values only, so that heads, tags and their lengths are frequent
    const letters = [0xff, 0xfb, 0xf1, 0x90, 0x64, 0x00, 0x49, 0x44, 0x33, 0x54, 0x41, 0x47, 0x04];
    const noise = randomBytes(random, 60_000).map((byte) => (seed % 2 ? byte : letters[byte % letters.length]!));
    let out = 0;
    const framer = new Framer({
      onFrame({ bytes, durationMs }) {
        out += bytes.length;
        if (!(durationMs > 0)) throw new Error('no duration');
      },
    });
    pushChunks(framer, Buffer.from(noise), random);
    framer.reset();
    const { skippedBytes } = framer.counters;
    if (!t.ok(out + skippedBytes <= noise.length, `seed ${seed}: ${out} out, ${skippedBytes} skipped`)) return;
  }
  // all audio after any noise is found again within one scratch
  const got = collector();
  got.framer.push(Buffer.from('ff f1 4c 83 ff ff fc'.replaceAll(' ', ''), 'hex'));
  const { frames } = walk(data.high);
  got.framer.push(Buffer.concat(frames));
  t.equal(got.framer.counters.frames, frames.length);
  t.equal(SCRATCH_BYTES, 8198);
});

t.test('another framer goes on wherever the first one stood', async (t) => {
  for (const name of names) {
    const random = new Random();
    const stream = Buffer.concat([random.bytes(50), data[name], data.aac, data[name]]);
    const whole = record(stream);
    for (let round = 0; round < rounds(20); round++) {
      const seen: string[] = [];
      const sink: FrameSink = {
        onFrame: ({ bytes, durationMs, fresh }) => void seen.push(`${bytes.toString('base64')} ${durationMs} ${fresh}`),
      };
      let framer = new Framer(sink);
      for (let at = 0; at < stream.length; ) {
        const chunk = stream.subarray(at, at + random.int(1, 3000));
        framer.push(chunk);
        at += chunk.length;
        const next = new Framer(sink);
        next.adopt(framer.state);
        t.ok(isDeepStrictEqual(next.state, framer.state));
        framer = next;
      }
      t.ok(seen.length > 100 && seen.join() === whole, `${name}, seed ${random.seed}`);
    }
  }
});

function record(stream: Buffer): string {
  const seen: string[] = [];
  const onFrame: FrameSink['onFrame'] = ({ bytes, durationMs, fresh }) =>
    void seen.push(`${bytes.toString('base64')} ${durationMs} ${fresh}`);
  new Framer({ onFrame }).push(stream);
  return seen.join();
}
