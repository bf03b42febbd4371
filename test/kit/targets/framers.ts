/**
 * Untrusted audio: MP3 and AAC frames, Ogg, chunks, ICY blocks. The output must not depend on how the input was cut, must consist of input bytes,
 * and must not claim a longer duration than any codec's packet can have.
 */

import { Framer, type FrameSink } from '../../../src/audio/frames/framer.js';
import { MAX_PCE_BYTES, namesChannels } from '../../../src/audio/frames/program-config.js';
import { OggFramer } from '../../../src/audio/ogg/ogg.js';
import { FIRST, PageWriter } from '../../../src/audio/ogg/ogg-page.js';
import { icyBlock } from '../../../src/metadata/title.js';
import { bodyOf } from '../../../src/source/dechunk.js';
import { IcyStripper } from '../../../src/source/strip.js';
import { DEMO_FRAMES } from '../feeder.js';
import { cut, type FuzzTarget } from '../fuzz.js';
import { comments, flacLink, forgedHead, forgedHeads, opusLink, opusPages } from '../made-ogg.js';
import type { Random } from '../random.js';
import { block } from '../upstream.js';

const latin = (text: string) => Buffer.from(text, 'latin1');
/** The largest FLAC block (65,536 samples) at 1 kHz: no codec that is streamed has longer packets. */
const LONGEST_MS = 65_536;

interface Taken {
  /** Bytes, duration and freshness of each frame, and each title, in order; then the counters. */
  readonly output: string[];
  readonly bytes: number;
  readonly longestMs: number;
}

interface AnyFramer {
  push(chunk: Buffer): void;
  reset(): void;
  readonly counters: { readonly skippedBytes: number };
}

function take(make: (sink: FrameSink) => AnyFramer, pieces: readonly Buffer[]): Taken {
  const output: string[] = [];
  let [bytes, longestMs] = [0, 0];
  const framer = make({
    onFrame: ({ bytes: frame, durationMs, fresh }) => {
      // AAC without a channel configuration gets a program config in each frame (program-config.ts).
      bytes += Math.max(0, frame.length - (namesChannels(frame) ? MAX_PCE_BYTES : 0));
      longestMs = Number.isFinite(durationMs) && durationMs >= 0 ? Math.max(longestMs, durationMs) : Infinity;
      output.push(`${frame.toString('latin1')} ${durationMs} ${fresh}`);
    },
    onTitle: (title) => void output.push(JSON.stringify(title)),
  });
  for (const piece of pieces) framer.push(piece);
  framer.reset();
  output.push(JSON.stringify(framer.counters));
  return { output, bytes: bytes + framer.counters.skippedBytes, longestMs };
}

function playFramer(make: (sink: FrameSink) => AnyFramer, bytes: Buffer, random: Random): void {
  const whole = take(make, [bytes]);
  const inPieces = take(make, cut(bytes, random));
  const at = whole.output.findIndex((text, i) => text !== inPieces.output[i]);
  if (at >= 0 || whole.output.length !== inPieces.output.length) {
    throw new Error(
      `cut elsewhere it gives something else at ${at}: ${whole.output.at(-1)} and ${inPieces.output.at(-1)}`,
    );
  }
  if (whole.bytes > bytes.length) throw new Error(`${whole.bytes} bytes came out of ${bytes.length}`);
  if (whole.longestMs > LONGEST_MS) throw new Error(`a packet claims to play for ${whole.longestMs} ms`);
}

const frames = (from: number, count: number) => Buffer.concat(DEMO_FRAMES.slice(from, from + count));
/** MPEG 2 layer III, 64 kb/s, 22.05 kHz, mono: 208 bytes. */
const LSF = Buffer.concat([latin('\xff\xf3\x80\xc0'), Buffer.alloc(204, 1)]);
const ID3 = latin(`ID3\x04\0\0\0\0\0\x14${'\0'.repeat(20)}`);

const mp3: FuzzTarget = {
  name: 'mp3',
  seeds: [frames(0, 3), frames(50, 2), Buffer.concat([ID3, frames(9, 3)]), Buffer.concat([LSF, LSF, LSF])],
  words: [
    ...[
      '\xff\xfb\x90\x64',
      '\xff\xf3\x80\xc0',
      '\xff\xfd\x80\x04',
      '\xff',
      '\xff\xff',
      'ID3\x04\0\0\0\0\0\x01',
      'TAG',
      'Xing',
      'Info',
      'VBRI',
    ]
      .concat([
        '\xff\xfb\x00\x00',
        '\xff\xfb\xf0\x00',
        '\xff\xf1\x50\x80\x01\x1f\xfc',
        'ID3\x04\0\0\x7f\x7f\x7f\x7f',
        '\0',
      ])
      .map(latin),
    DEMO_FRAMES[20]!,
    LSF,
  ],
  muchBytes: 60_000,
  play: (bytes, random) => playFramer((sink) => new Framer(sink), bytes, random),
};

/** ADTS, AAC-LC, 44.1 kHz, stereo. */
function adts(payload: number): Buffer {
  const length = payload + 7;
  const frame = Buffer.alloc(length, 0x21);
  frame.set([0xff, 0xf1, 0x50, 0x80 | (length >> 11), (length >> 3) & 0xff, ((length & 7) << 5) | 0x1f, 0xfc]);
  return frame;
}

const aac: FuzzTarget = {
  name: 'adts',
  seeds: [
    Buffer.concat([adts(200), adts(201), adts(190)]),
    Buffer.concat([ID3, adts(90), adts(1)]),
    Buffer.concat([adts(0), adts(0)]),
  ],
  words: [
    adts(0),
    adts(100),
    ...[
      '\xff\xf1',
      '\xff\xf9\x50\x80\0\xff\xfc',
      '\xff\xf1\x50\x83\xff\xff\xfc',
      '\xff\xf1\x50\x80\0\x1f\xfc',
      'ID3\x04\0\0\0\0\0\x01',
      '\xff',
      '\0',
    ].map(latin),
  ],
  muchBytes: 60_000,
  play: (bytes, random) => playFramer((sink) => new Framer(sink), bytes, random),
};

/** Headers that no decoder would accept, but complete for code that only counts: one mode, short blocks. */
function vorbisLink(): Buffer {
  const head = Buffer.alloc(30);
  head.write('\x01vorbis', 0, 'latin1');
  head[11] = 2;
  head.writeUInt32LE(44_100, 12);
  head[28] = 0xb8;
  head[29] = 1;
  const setup = Buffer.concat([latin('\x05vorbis'), Buffer.alloc(12), Buffer.from([1])]);
  const writer = new PageWriter(9, 0, FIRST);
  writer.packet(head, 0);
  writer.end();
  writer.packet(Buffer.concat([latin('\x03vorbis'), comments('ARTIST=a', 'TITLE=b'), Buffer.from([1])]), 0);
  writer.packet(setup, 0);
  writer.end();
  for (let n = 1; n < 8; n++) writer.packet(Buffer.from([n % 2 === 0 ? 2 : 0, 7, 7]), n * 576);
  writer.end();
  return writer.take();
}

const ogg: FuzzTarget = {
  name: 'ogg',
  seeds: [
    opusLink(7, 20, 'TITLE=t', 'ARTIST=a'),
    Buffer.concat([opusLink(7, 5), opusLink(8, 5, 'TITLE=next')]),
    flacLink(3, 44_100, 10),
    vorbisLink(),
    Buffer.concat([opusLink(7, 10), forgedHeads(20), opusPages(7, 3, 10)]),
  ],
  words: [
    opusPages(7, 2, 1),
    opusPages(7, 3, 1),
    flacLink(4, 1000, 1),
    forgedHead(),
    forgedHead().subarray(0, 27),
    ...[
      'OggS',
      'OggS\0\0',
      'OggS\0\x02',
      'OggS\0\x04',
      'OggS\0\x01',
      'OpusHead',
      'OpusTags',
      '\x7fFLAC',
      '\x01vorbis',
      '\xff',
      '\0',
    ].map(latin),
  ],
  muchBytes: 70_000,
  play: (bytes, random) => playFramer((sink) => new OggFramer(sink), bytes, random),
};

/** Reads it: joins the pieces of audio, and keeps the titles between them. */
function read(
  pieces: readonly Buffer[],
  step: (piece: Buffer, audio: (bytes: Buffer) => void, mark: (text: string) => void) => void,
): string[] {
  const output = [''];
  const audio = (bytes: Buffer) => {
    output[output.length - 1] += bytes.toString('latin1');
  };
  const mark = (text: string) => void output.push(text, '');
  for (const piece of pieces) step(piece, audio, mark);
  return output;
}

function same(bytes: Buffer, random: Random, by: (pieces: readonly Buffer[]) => string[]): string[] {
  const whole = by([bytes]);
  const inPieces = by(cut(bytes, random));
  if (whole.join('\n') !== inPieces.join('\n')) {
    throw new Error(`cut elsewhere it gives something else: ${JSON.stringify([whole, inPieces]).slice(0, 4000)}`);
  }
  return whole;
}

/** The first byte of the input is the metaint minus one. */
const icy: FuzzTarget = {
  name: 'icy',
  seeds: [
    Buffer.concat([
      latin('\x0faaaaaaaaaaaaaaaa'),
      block("StreamTitle='a - b';"),
      latin('b'.repeat(16)),
      block(''),
      latin('c'.repeat(16)),
    ]),
    Buffer.concat([
      latin('\0a'),
      block("StreamTitle='it's';StreamUrl='x';"),
      latin('b'),
      block("StreamTitle='';"),
      latin('b'),
    ]),
    Buffer.concat([latin('\x03aaaa'), block(`StreamTitle='${'ü'.repeat(900)}';`), latin('b'.repeat(20))]),
  ],
  words: [
    ...[
      "StreamTitle='",
      "';",
      "';StreamUrl='",
      "='",
      ';',
      "'",
      '\0',
      '\xff',
      '\x01',
      '\xc3',
      '\xfc',
      '\ufeff',
      'StreamTitle',
      "='a';b='c'",
    ].map((word) => Buffer.from(word, 'latin1')),
    block("StreamTitle='x';"),
    block("x='y';".repeat(200)),
  ],
  play: (bytes, random) => {
    const metaint = (bytes[0] ?? 0) + 1;
    const output = same(bytes.subarray(1), random, (pieces) => {
      const stripper = new IcyStripper(metaint);
      return read(pieces, (piece, audio, mark) => {
        stripper.read(piece, { onAudio: audio, onTitle: mark });
      });
    });
    for (const title of output.filter((_, i) => i % 2 === 1)) holdsOneTitle(icyBlock(title));
  },
};

/** Checks a block that we wrote: it is complete, and its title cannot end it. */
function holdsOneTitle(made: Buffer): void {
  const text = made.toString('latin1', 1).replace(/\0*$/, '');
  if (made.length !== 1 + made[0]! * 16 || made.length > 4081) throw new Error(`a block of ${made.length} bytes`);
  if (!/^StreamTitle='[\s\S]*';$/.test(text) || text.slice(13, -2).includes("';")) throw new Error(`block ${text}`);
  if (/[\0-\x1f\x7f]/.test(text)) throw new Error(`a control in the block ${JSON.stringify(text)}`);
}

const chunks: FuzzTarget = {
  name: 'chunks',
  seeds: [
    '5\r\nabcde\r\n0\r\n\r\n',
    '3;ext="x"\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n',
    ' 2 \nab\n0\n\n',
  ].map(latin),
  words: [
    '\r\n',
    '\n',
    '\r',
    '0',
    'FFFFFFFF',
    '00000000',
    'fffffffff',
    ';',
    ' ',
    '\t',
    '-1',
    '0x5',
    '0\r\n\r\n',
    '5\r\nabcde\r\n',
    '\0',
    ':',
  ].map(latin),
  play: (bytes, random) => {
    same(bytes, random, (pieces) => {
      const body = bodyOf(new Map([['transfer-encoding', 'chunked']]))!;
      const output = read(pieces, (piece, audio) => {
        if (body.state === 'more') body.push(piece, { onAudio: audio });
      });
      return [...output, body.state];
    });
  },
};

export const FRAMER_TARGETS: readonly FuzzTarget[] = [mp3, aac, ogg, icy, chunks];
