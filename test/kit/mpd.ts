/**
 * MPD as an encoder: its shout output, with any of its encoder plugins, playing one file over and over. It paces itself by pages: each
 * is sent whole at the beginning of its playing time, so that Ogg comes in pieces of seconds. (Its FLAC is refused by libshout before any
 * audio is sent.)
 */

import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { Program } from './program.js';
import { tempFolder } from './server.js';

export interface MpdOptions {
  readonly port: number;
  readonly mount: string;
  readonly password: string;
  /** Of an `audio_output`: lines such as `encoder "vorbis"`. */
  readonly encoder: string;
}

/** A file of tone, digital silence and tone, each so many seconds. */
export function makeQuiet(t: Test, hertz: number, [first, silent, last]: readonly [number, number, number]): string {
  const path = join(tempFolder(t), 'quiet.wav');
  const tone = (seconds: number) => `sine=frequency=500:sample_rate=${hertz}:duration=${seconds}`;
  const inputs = [tone(first), `anullsrc=r=${hertz}:cl=mono:d=${silent}`, tone(last)];
  const args = inputs.flatMap((input) => ['-f', 'lavfi', '-i', input]);
  execFileSync('ffmpeg', ['-v', 'error', ...args, '-filter_complex', 'concat=n=3:v=0:a=1', '-ac', '2', path]);
  return path;
}

/** Resolves when it plays. @param file its folder becomes the music folder */
export async function startMpd(t: Test, file: string, hertz: number, options: MpdOptions): Promise<Program> {
  const { port, mount, password, encoder } = options;
  const folder = join(tempFolder(t), 'mpd');
  mkdirSync(folder);
  const [config, socket] = [join(folder, 'mpd.conf'), join(folder, 'socket')];
  const at = file.lastIndexOf('/');
  writeFileSync(
    config,
    `music_directory "${file.slice(0, at)}"
db_file "${join(folder, 'db')}"
bind_to_address "${socket}"
audio_output {
  type "shout"
  name "Prögramm"
  host "127.0.0.1"
  port "${port}"
  mount "${mount}"
  password "${password}"
  format "${hertz}:16:2"
  ${encoder}
}
`,
    { mode: 0o600 },
  );
  const program = new Program(t, 'mpd', ['--no-daemon', '--stderr', config]);
  const env = { ...process.env, MPD_HOST: socket };
  // Its answer may wait for ours: MPD connects before it says that it plays.
  const mpc = (...args: string[]) =>
    promisify(execFile)('mpc', args, { env, timeout: 10_000 }).then(
      () => true,
      () => false,
    );
  await program.until(() => mpc('-w', 'update'), 15_000, 'it does not start');
  for (const args of [['add', file.slice(at + 1)], ['repeat', 'on'], ['play']]) {
    if (!(await mpc(...args))) throw new Error(`mpc ${args.join(' ')}: ${program.said}`);
  }
  return program;
}
