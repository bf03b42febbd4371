/**
 * Encoded tones: frames (MP3, AAC) or pages (Ogg) from ffmpeg, and the frame in which each tone begins. In the decoded audio, a tone begins just
 * before the end of its frame, which is when an encoder has the frame. `misplacedMs` checks that with ffmpeg's decoder.
 */

import { spawn } from 'node:child_process';
import { Framer } from '../../src/audio/frames/framer.js';
import { findChanges } from './changes.js';
import { render, schedule } from './tones.js';

export type CodecName = 'cbr' | 'vbr' | 'aac' | 'opus';

/** The start of a tone within its frame, as a share of the frame. */
const SHARE = 0.95;

interface Codec {
  readonly type: string;
  readonly extension: string;
  readonly sampleRate: number;
  readonly frameSamples: number;
  /** Delay of the sound by encoder and decoder. */
  readonly delaySamples: number;
  readonly options: readonly string[];
}

const MP3 = {
  type: 'audio/mpeg',
  extension: 'mp3',
  sampleRate: 44_100,
  frameSamples: 1152,
  // 576 by LAME, and 529 by every decoder.
  delaySamples: 1105,
};
const PLAIN = ['-write_xing', '0', '-id3v2_version', '0', '-f', 'mp3'];
export const CODECS: Readonly<Record<CodecName, Codec>> = {
  cbr: { ...MP3, options: ['-c:a', 'libmp3lame', '-b:a', '128k', ...PLAIN] },
  vbr: { ...MP3, options: ['-c:a', 'libmp3lame', '-q:a', '2', ...PLAIN] },
  aac: {
    type: 'audio/aac',
    extension: 'aac',
    sampleRate: 44_100,
    frameSamples: 1024,
    delaySamples: 1024,
    options: ['-c:a', 'aac', '-b:a', '128k', '-f', 'adts'],
  },
  opus: {
    type: 'audio/ogg',
    extension: 'ogg',
    sampleRate: 48_000,
    frameSamples: 960,
    // The encoder's look-ahead, which the decoder skips (RFC 7845, 4.2): page n ends earlier by this.
    delaySamples: 312,
    // A page for each packet, so that it is sent when it is ready, like a frame of the other codecs.
    options: ['-c:a', 'libopus', '-b:a', '96k', '-page_duration', '20000', '-f', 'ogg'],
  },
};

export interface Frame {
  readonly bytes: Buffer;
  /** The end of its sound, milliseconds from the start of the first frame: when an encoder has it. */
  readonly endMs: number;
}

export interface ToneFile {
  readonly codec: CodecName;
  readonly band: number;
  readonly frames: readonly Frame[];
  /** Title number → frame in which its tone begins; title 0 begins with the first frame. */
  readonly firstFrames: readonly number[];
}

/** @param quietSeconds duration of the first tone */
export async function makeToneFile(
  codec: CodecName,
  band: number,
  seconds: number,
  quietSeconds: number,
): Promise<ToneFile> {
  const { sampleRate, frameSamples, delaySamples, options } = CODECS[codec];
  const firstFrames = schedule(band, seconds, quietSeconds).map((ms) =>
    Math.round((ms * sampleRate) / 1000 / frameSamples),
  );
  const changes = firstFrames.map((frame) => Math.round((frame + SHARE) * frameSamples) - delaySamples);
  const pcm = render({ band, sampleRate, samples: seconds * sampleRate, changes, restless: codec === 'vbr' });
  const input = ['-f', 's16le', '-ar', String(sampleRate), '-ac', '1', '-i', 'pipe:0'];
  const encoded = await ffmpeg([...input, '-ac', '2', ...options, 'pipe:1'], pcm);
  const frames = codec === 'opus' ? pagesIn(encoded) : framesIn(encoded).map(({ bytes, endMs }) => ({ bytes, endMs }));
  return { codec, band, frames, firstFrames: [0, ...firstFrames.filter((frame) => frame < frames.length - 1)] };
}

/** Runs ffmpeg on bytes. Rejects with its messages if it fails. */
export async function ffmpeg(args: readonly string[], input: Buffer): Promise<Buffer> {
  const child = spawn('ffmpeg', ['-v', 'error', '-nostdin', ...args], { timeout: 60_000, killSignal: 'SIGKILL' });
  const parts: Buffer[] = [];
  let said = '';
  child.stdout.on('data', (part: Buffer) => parts.push(part));
  child.stderr.on('data', (part: Buffer) => (said += part));
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  if (code !== 0) throw new Error(`ffmpeg ${args.join(' ')}: ${said}`);
  return Buffer.concat(parts);
}

/** Decodes to mono, at this sample rate. */
export async function decode(bytes: Buffer, sampleRate: number): Promise<Int16Array> {
  const pcm = await ffmpeg(['-i', 'pipe:0', '-f', 's16le', '-ac', '1', '-ar', String(sampleRate), 'pipe:1'], bytes);
  return new Int16Array(pcm.buffer, pcm.byteOffset, pcm.length >> 1);
}

export interface PlacedFrame extends Frame {
  /** Offset of its first byte. */
  readonly at: number;
}

/** MP3 and AAC frames. */
export function framesIn(bytes: Buffer): PlacedFrame[] {
  const frames: PlacedFrame[] = [];
  let [endMs, cursor] = [0, 0];
  const framer = new Framer({
    onFrame: ({ bytes: view, durationMs }) => {
      const at = bytes.indexOf(view, cursor);
      cursor = at + view.length;
      endMs += durationMs;
      frames.push({ bytes: bytes.subarray(at, cursor), endMs, at });
    },
  });
  framer.push(bytes);
  return frames;
}

/** The pages of one link of Opus; the two header pages are joined with the first audio page (RFC 3533; positions: RFC 7845, 4). */
function pagesIn(bytes: Buffer): Frame[] {
  const pages: Frame[] = [];
  let head: Buffer[] = [];
  let skipped = 0;
  for (let at = 0; at < bytes.length; ) {
    const lacings = bytes.subarray(at + 27, at + 27 + bytes[at + 26]!);
    const end = at + 27 + lacings.length + lacings.reduce((sum, lacing) => sum + lacing, 0);
    const page = bytes.subarray(at, end);
    const body = page.subarray(27 + lacings.length);
    if (body.toString('latin1', 0, 8) === 'OpusHead') skipped = body.readUInt16LE(10);
    const position = Number(page.readBigInt64LE(6));
    head.push(page);
    if (position > 0) {
      pages.push({ bytes: Buffer.concat(head), endMs: (position - skipped) / 48 });
      head = [];
    }
    at = end;
  }
  return pages;
}

/** The largest distance of a tone from its expected place, by ffmpeg's decoder, milliseconds. */
export async function misplacedMs(file: ToneFile): Promise<number> {
  const { sampleRate, frameSamples } = CODECS[file.codec];
  const frameMs = (frameSamples * 1000) / sampleRate;
  const pcm = await decode(Buffer.concat(file.frames.map(({ bytes }) => bytes)), sampleRate);
  const heard = findChanges(pcm, sampleRate, file.band).filter(({ afterSilence }) => !afterSilence);
  const most = heard.map(({ at }, index) => {
    const frame = file.frames[file.firstFrames[index + 1]!];
    return frame === undefined ? 0 : Math.abs((at * 1000) / sampleRate - (frame.endMs - (1 - SHARE) * frameMs));
  });
  return heard.length < file.firstFrames.length - 2 ? Number.POSITIVE_INFINITY : Math.max(...most);
}
