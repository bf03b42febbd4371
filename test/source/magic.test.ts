/** What cannot be audio of ours has a name, by the first bytes that real programs write, in whatever pieces they come. */

import { execFileSync } from 'node:child_process';
import t from 'tap';
import { framerFor } from '../../src/audio/frames/format.js';
import { BEGINNING_BYTES, Beginning, foreignSentence, nameOfFormat, UNKNOWN } from '../../src/source/magic.js';
import { opusLink } from '../kit/made-ogg.js';
import { missing } from '../kit/program.js';
import { Random } from '../kit/random.js';

/** As ffmpeg writes two seconds of it to a pipe. */
function made(...args: string[]): Buffer {
  const sine = ['-f', 'lavfi', '-i', 'sine=frequency=500:sample_rate=44100:duration=2'];
  return execFileSync('ffmpeg', ['-v', 'error', ...sine, ...args, 'pipe:1'], { maxBuffer: 8e6 });
}

const FRAGMENTED = ['-movflags', 'frag_keyframe+empty_moov', '-f', 'mp4'];
const MADE: readonly (readonly [name: string, args: readonly string[]])[] = [
  ['WebM or Matroska', ['-c:a', 'libopus', '-f', 'webm']],
  ['WebM or Matroska', ['-c:a', 'libmp3lame', '-f', 'matroska']],
  ['MP4', ['-c:a', 'aac', ...FRAGMENTED]],
  ['FLAC without Ogg', ['-f', 'flac']],
  ['WAV', ['-f', 'wav']],
  ['WAV', ['-rf64', 'always', '-f', 'wav']],
  ['AIFF', ['-f', 'aiff']],
  ['CAF', ['-f', 'caf']],
  ['WavPack', ['-f', 'wv']],
  ['Windows Media', ['-c:a', 'wmav2', '-f', 'asf']],
  ['FLV', ['-c:a', 'aac', '-f', 'flv']],
  ['AAC in LOAS (LATM)', ['-c:a', 'aac', '-f', 'latm']],
  ['MPEG-TS', ['-c:a', 'aac', '-f', 'mpegts']],
  ['MPEG-PS', ['-c:a', 'libmp3lame', '-f', 'mpeg']],
  ['DTS', ['-strict', '-2', '-ac', '2', '-c:a', 'dca', '-f', 'dts']],
  ['Speex', ['-c:a', 'libspeex', '-ar', '16000', '-f', 'ogg']],
  ['Theora', ['-f', 'lavfi', '-i', 'testsrc=duration=1:size=64x64', '-map', '1:v', '-c:v', 'libtheora', '-f', 'ogg']],
];
const OURS: readonly (readonly string[])[] = [
  ['-c:a', 'libmp3lame', '-f', 'mp3'],
  ['-c:a', 'aac', '-f', 'adts'],
  ['-c:a', 'libopus', '-f', 'ogg'],
  ['-c:a', 'flac', '-f', 'ogg'],
  ['-f', 'lavfi', '-i', 'testsrc=duration=1:size=64x64', '-c:v', 'libtheora', '-c:a', 'libvorbis', '-f', 'ogg'],
  // Their frames stand in the WAV as they are.
  ['-c:a', 'libmp3lame', '-f', 'wav'],
];

/** When it was certain, bytes; 0: never. */
function certainAt(stream: Buffer, pieceBytes: number): [number, string] {
  const beginning = new Beginning();
  for (let at = 0; at < Math.min(stream.length, 3 * BEGINNING_BYTES); at += pieceBytes) {
    const foreign = beginning.push(stream.subarray(at, at + pieceBytes));
    if (foreign !== null) return [at + pieceBytes, foreign.name];
  }
  return [0, beginning.whole().name];
}

t.test('what ffmpeg writes', { skip: missing('ffmpeg') }, async (t) => {
  const random = new Random();
  for (const [name, args] of MADE) {
    const stream = made(...args);
    for (const pieceBytes of [1, 7, random.int(1, 1500), stream.length]) {
      const [at, found] = certainAt(stream, pieceBytes);
      t.equal(found, name, `${args.join(' ')} in pieces of ${pieceBytes}`);
      t.ok(at > 0 && (pieceBytes > BEGINNING_BYTES || at <= BEGINNING_BYTES + pieceBytes), `certain after ${at} bytes`);
    }
    const tag = Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\x30\x00', 'latin1'), random.bytes(0x30 << 7)]);
    t.equal(certainAt(Buffer.concat([tag, stream]), 1)[1], name, `${name} behind a tag`);
    t.equal(nameOfFormat(Buffer.concat([Buffer.from('\r\n\r\n  '), stream])), name, `${name} behind junk`);
  }
  for (const args of OURS) {
    const stream = made(...args);
    const framer = framerFor({ onFrame: () => undefined });
    framer.push(stream);
    t.ok(framer.counters.frames > 10, args.join(' '));
    for (const pieceBytes of [1, random.int(1, 1500)]) t.equal(certainAt(stream, pieceBytes)[0], 0, args.join(' '));
  }
});

/** MP3 of 44.1 kHz whose header states no bitrate, 1000 bytes a frame. */
function freeFormat(frames: number): Buffer {
  const bytes = new Random().bytes(1000 * frames);
  for (let at = 0; at < bytes.length; at += 1000) bytes.set([0xff, 0xfb, 0x00, 0x64], at);
  return bytes;
}

t.test('what ffmpeg does not write', async (t) => {
  t.equal(certainAt(freeFormat(5), 1)[1], 'MP3 with free-format bitrate');
  t.equal(certainAt(freeFormat(1), 1)[1], 'unknown', 'one frame shows nothing');
  t.equal(certainAt(Buffer.from(`#EXTM3U\n${'#EXTINF:4,\nseg.ts\n'.repeat(3)}`), 1)[1], 'an HLS playlist');
  t.equal(certainAt(Buffer.from(`Z\0\x10\x09\0\x04${'2.1\0'.repeat(9)}`, 'latin1'), 1)[1], 'SHOUTcast 2 (uvox)');
  t.equal(nameOfFormat(Buffer.from('OggS')), 'Ogg');
  t.equal(nameOfFormat(Buffer.from('RIFF1234WAVEfmt ')), 'WAV');
  t.equal(nameOfFormat(Buffer.from('0000ftypM4A ')), 'MP4');
  t.equal(nameOfFormat(Buffer.from('<html>')), 'text');
  for (const nothing of [Buffer.alloc(0), Buffer.alloc(100), Buffer.from('ID3')])
    t.equal(nameOfFormat(nothing), 'unknown');
  t.equal(certainAt(opusLink(1, 100), 1)[0], 0);
});

t.test('noise is nothing, and costs little to look at', async (t) => {
  const random = new Random();
  for (let i = 0; i < 200; i++) t.equal(certainAt(random.bytes(2 * BEGINNING_BYTES), random.int(1, 4000))[0], 0);
});

t.test('a sentence names it and says what to do', async (t) => {
  const flac = new Beginning();
  const foreign = flac.push(Buffer.from(`fLaC${'\0'.repeat(28)}`));
  t.equal(
    foreignSentence(foreign!, 'the encoder'),
    'no MP3, AAC or Ogg audio in what the encoder sends (FLAC without Ogg): send FLAC in Ogg',
  );
  t.equal(
    foreignSentence(UNKNOWN, 'the upstream'),
    'no MP3, AAC or Ogg audio in what the upstream sends: choose MP3, AAC (ADTS) or Ogg in the encoder',
  );
});
