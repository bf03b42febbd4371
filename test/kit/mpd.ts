/**
 * MPD as an encoder: its shout output, with any of its encoder plugins, plays one file over and over. It sends each page whole at the start of its
 * playing time, so Ogg arrives in pieces of seconds. (libshout refuses its FLAC before any audio is sent.)
 */

import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { alwaysRefused, type EncoderKind } from './encoder-kind.js';
import { Program } from './program.js';
import { makeTagged } from './tagged.js';
import { tempFolder } from './temp-folder.js';

export interface MpdOptions {
  readonly port: number;
  readonly mount: string;
  readonly password: string;
  /** Lines of its `audio_output`, such as `encoder "vorbis"`. */
  readonly encoder: string;
}

/** Makes a file of a tone, digital silence and a tone, with the seconds of each. */
export function makeQuiet(t: Test, hertz: number, [first, silent, last]: readonly [number, number, number]): string {
  const path = join(tempFolder(t), 'quiet.wav');
  const tone = (seconds: number) => `sine=frequency=500:sample_rate=${hertz}:duration=${seconds}`;
  const inputs = [tone(first), `anullsrc=r=${hertz}:cl=mono:d=${silent}`, tone(last)];
  const args = inputs.flatMap((input) => ['-f', 'lavfi', '-i', input]);
  execFileSync('ffmpeg', ['-v', 'error', ...args, '-filter_complex', 'concat=n=3:v=0:a=1', '-ac', '2', path]);
  return path;
}

/** Sends a client's command; resolves with the answer, or null for an error. */
type Client = (...args: string[]) => Promise<string | null>;

const clients = new WeakMap<Program, Client>();

/** Resolves when it plays, or was asked to. @param file is played first, then `more` from its folder, which becomes the music folder */
export async function startMpd(
  t: Test,
  file: string,
  hertz: number,
  options: MpdOptions,
  more: readonly string[] = [],
): Promise<Program> {
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
  // MPD answers `play` only after it has connected, which waits for our server's answer.
  const client: Client = (...args) =>
    promisify(execFile)('mpc', args, { env, timeout: 10_000 }).then(
      ({ stdout }) => stdout,
      () => null,
    );
  clients.set(program, client);
  await program.until(() => client('-w', 'update').then((answer) => answer !== null), 15_000, 'it does not start');
  for (const args of [['add', file.slice(at + 1), ...more], ['repeat', 'on'], ['play']]) {
    if ((await client(...args)) === null) throw new Error(`mpc ${args.join(' ')}: ${program.said}`);
  }
  return program;
}

const HERTZ = 44_100;
const ENCODERS = {
  mp3: 'encoder "lame"\nbitrate "128"',
  vorbis: 'encoder "vorbis"\nquality "3.0"',
  opus: 'encoder "opus"\nbitrate "64000"',
};
const TAGGED = 'tagged.flac';

const mpd = (codec: keyof typeof ENCODERS, refused: EncoderKind['refused']): EncoderKind => ({
  name: `MPD ${codec}`,
  needs: ['mpd', 'mpc'],
  codec,
  start: async (t, { port, mount, password, sound }) => {
    const folder = tempFolder(t);
    const file = join(folder, 'sound.wav');
    symlinkSync(sound, file);
    const tone = { hertz: HERTZ, seconds: 60, type: 'flac' };
    makeTagged(t, { artist: 'Björk', title: 'Jóga' }, tone, join(folder, TAGGED));
    return startMpd(t, file, HERTZ, { port, mount, password, encoder: ENCODERS[codec] }, [TAGGED]);
  },
  title: async (_, program) => {
    if ((await clients.get(program)!('next')) === null) throw new Error(`mpc next: ${program.said}`);
  },
  rests: async (program) => !(await clients.get(program)!('status'))?.includes('[playing]'),
  refused,
  // Not even with another output that keeps it playing (observed for 45 s).
  onLoss: 'stays away',
});

/** Starts playback again, as its user or a loop in a shell does. */
export async function playAgain(program: Program): Promise<void> {
  await clients.get(program)!('play');
}

/** It stops with an error in `mpc status`, until its user starts it again. */
const REFUSED = { tries: [1, 1], says: /problem opening connection .*Login failed/, ends: true } as const;

export const mpds: readonly EncoderKind[] = [mpd('mp3', alwaysRefused(REFUSED)), mpd('vorbis', {}), mpd('opus', {})];
