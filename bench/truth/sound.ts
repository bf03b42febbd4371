/**
 * A sound card for players, and what they play into it: a PulseAudio of our own with null sinks, and a recording of each sink's monitor, whose
 * samples have moments on the clock of this machine.
 *
 *   player ─► null sink ─► monitor ─► parec ─► samples ─► moment of each: its number / rate, behind the chunk that came soonest
 *
 * Its socket and its home lie in a folder that the owner removes. Linux; needs `pulseaudio` and `parec`.
 */

import { chmodSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Started } from '../process.js';

/** Of recordings. */
export const SAMPLE_RATE = 24_000;
const SINK_RATE = 2 * SAMPLE_RATE;
const START_MS = 30_000;
/** Within so much time of it a chunk says when a sample was played: what was lost before does not count. */
const NEAR_MS = 4000;

/** The clock of all moments of the experiment: unix milliseconds, which never step. A page in a browser has the same. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

export class Sound {
  readonly #env: Readonly<Record<string, string>>;
  readonly #folder: string;
  readonly #program: Started;

  private constructor(folder: string, env: Readonly<Record<string, string>>, program: Started) {
    this.#folder = folder;
    this.#env = env;
    this.#program = program;
  }

  /** Resolves when programs can play. @param sinks their names */
  static async start(parent: string, sinks: readonly string[]): Promise<Sound> {
    const folder = mkdtempSync(join(parent, 'sound-'));
    // VLC runs as another user, and must get through to its folder.
    chmodSync(folder, 0o711);
    const socket = join(folder, 'pulse.sock');
    mkdirSync(join(folder, 'run'), { mode: 0o700 });
    const alsa = join(folder, 'asound.conf');
    writeFileSync(alsa, 'pcm.default { type pulse }\nctl.default { type pulse }\n');
    const home = { HOME: folder, XDG_RUNTIME_DIR: join(folder, 'run') };
    const modules = [
      `module-native-protocol-unix socket=${socket} auth-anonymous=1`,
      ...sinks.map((name) => `module-null-sink sink_name=${name} rate=${SINK_RATE} channels=2`),
    ];
    const options = [
      '--daemonize=no',
      '--use-pid-file=no',
      '--exit-idle-time=-1',
      '--disable-shm=yes',
      '--realtime=no',
    ];
    // Without -n it would look for a sound card, and end where there is none.
    const args = ['-n', ...options, '--log-level=error', ...modules.flatMap((module) => ['-L', module])];
    const pulse = new Started('pulseaudio', args, home);
    for (const startMs = nowMs(); !existsSync(socket); await sleep(50))
      if (nowMs() - startMs > START_MS) throw pulse.failure('no sound');
    return new Sound(folder, { ...home, PULSE_SERVER: `unix:${socket}`, ALSA_CONFIG_PATH: alsa }, pulse);
  }

  /** The environment of a program that plays into a sink. */
  env(sink: string): Record<string, string> {
    return { ...this.#env, PULSE_SINK: sink };
  }

  /** For files of its programs; it is their home as well. */
  get folder(): string {
    return this.#folder;
  }

  stop(): Promise<void> {
    return this.#program.stop();
  }

  record(sink: string): SoundRecording {
    const format = ['--format=s16le', `--rate=${SINK_RATE}`, '--channels=1', '--raw'];
    const latency = ['--latency-msec=20', '--process-time-msec=10'];
    return new SoundRecording(
      new Started('parec', [`--device=${sink}.monitor`, ...format, ...latency], { ...this.#env }),
    );
  }
}

export class SoundRecording {
  readonly #program: Started;
  readonly #parts: Int16Array[] = [];
  #samples = 0;
  /** The half of a pair of samples that has come. */
  #rest: Buffer = Buffer.alloc(0);
  /** Each chunk's moment and how many samples there were with it. */
  readonly #moments: number[] = [];
  readonly #counts: number[] = [];

  constructor(program: Started) {
    this.#program = program;
    program.stdout.on('data', (chunk: Buffer) => this.#take(chunk));
  }

  get isRunning(): boolean {
    return this.#samples > 0;
  }

  get pcm(): Int16Array {
    const all = new Int16Array(this.#samples);
    let at = 0;
    for (const part of this.#parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }

  /** When a sample was played, unix milliseconds: no chunk can come before its last sample was. */
  momentOf(sample: number): number {
    const aboutMs = this.#moments[0]! + ((sample - this.#counts[0]!) * 1000) / SAMPLE_RATE;
    let soonestMs = Number.POSITIVE_INFINITY;
    for (let i = 0; i < this.#moments.length; i++) {
      if (Math.abs(this.#moments[i]! - aboutMs) > NEAR_MS) continue;
      soonestMs = Math.min(soonestMs, this.#moments[i]! - ((this.#counts[i]! - sample) * 1000) / SAMPLE_RATE);
    }
    return soonestMs;
  }

  stop(): Promise<void> {
    return this.#program.stop();
  }

  /** Halves the rate: tones are far below what that folds. */
  #take(chunk: Buffer): void {
    const moment = nowMs();
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const samples = bytes.length >> 2;
    const part = new Int16Array(samples);
    for (let i = 0; i < samples; i++) part[i] = (bytes.readInt16LE(4 * i) + bytes.readInt16LE(4 * i + 2)) >> 1;
    this.#rest = Buffer.from(bytes.subarray(4 * samples));
    this.#parts.push(part);
    this.#samples += samples;
    this.#moments.push(moment);
    this.#counts.push(this.#samples);
  }
}
