/**
 * A PulseAudio for one test: a null sink, which takes sound in real time, and its monitor, from which that sound can be recorded. It has its own
 * folders for its socket and home; programs of another user can reach the socket. It ends with the test.
 */

import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { Program } from './program.js';
import { tempFolder } from './temp-folder.js';

const START_MS = 30_000;

export interface Pulse {
  /** Folder and home of its clients. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

export async function startPulse(t: Test): Promise<Pulse> {
  const [folder, open] = [tempFolder(t), tempFolder(t)];
  chmodSync(open, 0o755);
  const socket = join(open, 'pulse.sock');
  mkdirSync(join(folder, 'run'), { mode: 0o700 });
  const home = { HOME: folder, XDG_RUNTIME_DIR: join(folder, 'run') };
  const modules = [`module-native-protocol-unix socket=${socket} auth-anonymous=1`, 'module-null-sink'];
  const options = ['--daemonize=no', '--use-pid-file=no', '--exit-idle-time=-1', '--disable-shm=yes', '--realtime=no'];
  // Without -n it would look for a sound card, and exit if there is none.
  const args = ['-n', ...options, '--log-level=notice', ...modules.flatMap((module) => ['-L', module])];
  const sound = new Program(t, 'pulseaudio', args, home);
  await sound.until(() => existsSync(socket), START_MS, 'no sound');
  return { folder, env: { ...home, PULSE_SERVER: `unix:${socket}` } };
}
