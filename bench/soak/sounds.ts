/** The encoders' audio: the demo's MP3 without its tag, and the same as AAC if ffmpeg is installed. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { path } from '../target.js';
import type { Sound } from './encoder.js';

const DEMO = path('../config/demo/airsplice.mp3');
const MP3_BYTES_PER_SECOND = 16_000;
const AAC_SECONDS = 50;

export function mp3(): Sound {
  const file = readFileSync(DEMO);
  // ID3v2: a header of 10 bytes with the length of the rest in four times seven bits.
  const tag = file.toString('latin1', 0, 3) === 'ID3' ? 10 + file.readUInt8(8) * 128 + file.readUInt8(9) : 0;
  return { bytes: file.subarray(tag), bytesPerSecond: MP3_BYTES_PER_SECOND, contentType: 'audio/mpeg' };
}

/** null: without ffmpeg. */
export function aac(): Sound | null {
  const args = [
    '-v',
    'error',
    '-i',
    DEMO,
    '-t',
    String(AAC_SECONDS),
    '-c:a',
    'aac',
    '-b:a',
    '64k',
    '-ar',
    '44100',
    '-f',
    'adts',
    '-',
  ];
  const { stdout, status } = spawnSync('ffmpeg', args, { maxBuffer: 2 ** 24 });
  if (status !== 0) return null;
  let frames = 0;
  for (let at = 0; at + 6 < stdout.length; frames++) at += (stdout.readUIntBE(at + 3, 3) >> 5) & 0x1fff;
  return {
    bytes: stdout,
    bytesPerSecond: stdout.length / ((frames * 1024) / 44_100),
    contentType: 'audio/aac',
  };
}
