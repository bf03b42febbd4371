/**
 * A display and a sound input for programs that have a window, on a machine with neither: Xvfb, which finds a free number itself, and
 * PulseAudio, whose default source is the monitor of a null sink into which ffmpeg plays a tone in real time. Its socket, its home and
 * ALSA's configuration lie in a folder of their own. One desktop for each test; it ends with the test.
 */

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { Program } from './program.js';
import { tempFolder } from './server.js';

/** Commands that must be there; libasound2-plugins too, by which ALSA reaches PulseAudio. */
export const DESKTOP_NEEDS = ['Xvfb', 'pulseaudio', 'ffmpeg'] as const;
const START_MS = 30_000;
const TONE_HERTZ = 500;

export interface Desktop {
  /** For files of its programs; it is their home as well. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

const ofTests = new WeakMap<Test, Promise<Desktop>>();

export function desktop(t: Test): Promise<Desktop> {
  const known = ofTests.get(t);
  if (known !== undefined) return known;
  const started = start(t);
  ofTests.set(t, started);
  return started;
}

async function start(t: Test): Promise<Desktop> {
  const folder = tempFolder(t);
  const [socket, alsa] = [join(folder, 'pulse.sock'), join(folder, 'asound.conf')];
  writeFileSync(alsa, 'pcm.default { type pulse }\nctl.default { type pulse }\n');
  mkdirSync(join(folder, 'run'), { mode: 0o700 });
  const home = { HOME: folder, XDG_RUNTIME_DIR: join(folder, 'run') };
  // The monitor of its only sink: PulseAudio's own tone (module-sine-source) comes at half the speed where a program asks for little at a time.
  const modules = [`module-native-protocol-unix socket=${socket} auth-anonymous=1`, 'module-null-sink'];
  const options = ['--daemonize=no', '--use-pid-file=no', '--exit-idle-time=-1', '--disable-shm=yes', '--realtime=no'];
  // Without -n it would look for a sound card, and end where there is none.
  const args = ['-n', ...options, '--log-level=notice', ...modules.flatMap((module) => ['-L', module])];
  const sound = new Program(t, 'pulseaudio', args, home);
  const x = new Program(t, 'Xvfb', ['-displayfd', '1', '-screen', '0', '800x600x24', '-nolisten', 'tcp'], home);
  let number: string | undefined;
  const hasDisplay = () => (number = /^(\d+)\n/m.exec(x.said)?.[1]) !== undefined;
  await x.until(hasDisplay, START_MS, 'no display');
  await sound.until(() => existsSync(socket), START_MS, 'no sound');
  const pulse = { ...home, PULSE_SERVER: `unix:${socket}` };
  const tone = `sine=frequency=${TONE_HERTZ}:sample_rate=44100`;
  new Program(t, 'ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', tone, '-ac', '2', '-f', 'pulse', 'tone'], pulse);
  return { folder, env: { ...pulse, ALSA_CONFIG_PATH: alsa, DISPLAY: `:${number}` } };
}
