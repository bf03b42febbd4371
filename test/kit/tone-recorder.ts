/**
 * Tones, to compare a player's titles with its sound: frames of each pitch for an encoder, and a recorder at the monitor of a sink that notes
 * changes of pitch.
 */

import { execFileSync, spawn } from 'node:child_process';
import type { Test } from 'tap';
import { framesIn } from './feeder.js';
import type { Pulse } from './pulse.js';

/** Hertz; far enough apart to distinguish within 20 ms. */
export const PITCHES = [500, 800, 1250, 2000, 3150] as const;

/** A second of MP3 of this pitch, 128 kb/s, whose frames do not depend on previous ones. */
export function toneFrames(pitch: number): Buffer[] {
  const sine = `sine=frequency=${pitch}:sample_rate=44100:duration=1.5`;
  const codec = ['-ac', '2', '-c:a', 'libmp3lame', '-b:a', '128k', '-reservoir', '0', '-write_xing', '0', '-f', 'mp3'];
  const bytes = execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', sine, ...codec, '-']);
  // Without the fades at the start and the end of the encoding.
  return framesIn(bytes).frames.slice(8, 46);
}

const HERTZ = 8000;
const WINDOW = HERTZ / 50;
/** Minimum share of the loudest possible pitch in a window; less is silence, or a player's fade. */
const LEAST = 0.01;

export interface HeardTone {
  readonly pitch: number;
  /** When its first 20 ms had been recorded, by `performance.now`. */
  readonly atMs: number;
}

/** Start of a pitch in a sound file, seconds; -1: not found. */
export function toneAt(file: string, pitch: number): number {
  const raw = ['-ac', '1', '-ar', `${HERTZ}`, '-f', 's16le', '-'];
  const samples = execFileSync('ffmpeg', ['-v', 'error', '-i', file, ...raw]);
  for (let at = 0; at + 2 * WINDOW <= samples.length; at += 2 * WINDOW) {
    if (pitchOf(samples.subarray(at, at + 2 * WINDOW)) === pitch) return at / 2 / HERTZ;
  }
  return -1;
}

/** Records what plays into the sink, in real time. */
export class ToneRecorder {
  /** Each change of pitch. */
  readonly heard: HeardTone[] = [];
  /** The present pitch; 0: none of them. */
  now = 0;
  /** Whether there is no sound at all. */
  isSilent = true;
  /** Total time without a pitch since the first one, milliseconds. */
  lostMs = 0;
  #rest = Buffer.alloc(0);
  #last = 0;

  constructor(t: Test, { env }: Pulse) {
    const args = [
      '--raw',
      '--format=s16le',
      `--rate=${HERTZ}`,
      '--channels=1',
      '--latency-msec=20',
      '-d',
      '@DEFAULT_MONITOR@',
    ];
    const parec = spawn('parec', args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] });
    parec.stdout.on('data', (chunk: Buffer) => this.#record(chunk));
    t.teardown(() => parec.kill('SIGKILL'));
  }

  #record(chunk: Buffer): void {
    const nowMs = performance.now();
    const bytes = Buffer.concat([this.#rest, chunk]);
    let at = 0;
    for (; at + 2 * WINDOW <= bytes.length; at += 2 * WINDOW) {
      const samples = bytes.subarray(at, at + 2 * WINDOW);
      const pitch = pitchOf(samples);
      this.isSilent = pitch === 0 && !isLoud(samples);
      this.now = pitch;
      if (pitch === 0 && this.#last > 0) this.lostMs += 20;
      if (pitch === 0 || pitch === this.#last) continue;
      this.#last = pitch;
      const behindMs = ((bytes.length - at) / 2 / HERTZ) * 1000 - 20;
      this.heard.push({ pitch, atMs: nowMs - behindMs });
    }
    this.#rest = bytes.subarray(at);
  }
}

/** The pitch of a window; 0: none of them. */
function pitchOf(samples: Buffer): number {
  let [best, power] = [0, LEAST];
  for (const pitch of PITCHES) {
    const own = powerOf(samples, pitch);
    if (own > power) [best, power] = [pitch, own];
  }
  return best;
}

/** Whether it is louder than the end of a fade. */
function isLoud(samples: Buffer): boolean {
  for (let i = 0; i < samples.length; i += 2) if (Math.abs(samples.readInt16LE(i)) > 32_768 * LEAST) return true;
  return false;
}

/** Goertzel's algorithm: 1 for a sine of full scale. */
function powerOf(samples: Buffer, pitch: number): number {
  const factor = 2 * Math.cos((2 * Math.PI * pitch) / HERTZ);
  let [one, two] = [0, 0];
  for (let i = 0; i < samples.length; i += 2) {
    const next = samples.readInt16LE(i) / 32_768 + factor * one - two;
    two = one;
    one = next;
  }
  return Math.sqrt(Math.max(0, one * one + two * two - factor * one * two)) / (samples.length / 4);
}
