/**
 * A sound card for players, and recordings of it: a separate PulseAudio with null sinks, and a recording of each sink's monitor, whose samples have
 * times by this machine's clock.
 *
 *   player ─► null sink ─► monitor ─► parec ─► samples ─► time of each: its index / rate, relative to the least delayed chunk
 *
 * Its socket and its home are in a folder that the owner removes. Linux; needs `pulseaudio` and `parec`.
 */

import { chmodSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Started } from '../process.js';

/** The rate of recordings. */
export const SAMPLE_RATE = 24_000;
const SINK_RATE = 2 * SAMPLE_RATE;
const START_MS = 30_000;
/** Chunks within this time determine when a sample was played, so that earlier losses do not count. */
const NEAR_MS = 4000;

/** The clock of the experiment: unix milliseconds without steps, the same as in a page. */
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
    // VLC runs as another user, who must reach its folder.
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
    // Without -n it would look for a sound card, and exit if there is none.
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

  /** Folder and home of its clients. */
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
  /** The bytes of an incomplete pair of samples. */
  #rest: Buffer = Buffer.alloc(0);
  /** Arrival time of each chunk. */
  readonly #moments: number[] = [];
  /** Number of samples up to the end of each chunk. */
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

  /** When a sample was played, unix milliseconds. No chunk arrives before its last sample was played. */
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

  /** Halves the rate; tones are far below the frequencies that alias. */
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
