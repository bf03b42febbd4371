/**
 * A display and a sound input for desktop programs on a machine without them: Xvfb, which finds a free number itself, and PulseAudio (pulse.ts),
 * whose default source is the monitor of its sink, into which ffmpeg plays a tone in real time. Each test has its own, which ends with it.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { Program } from './program.js';
import { type Pulse, startPulse } from './pulse.js';

/** Required commands; libasound2-plugins too, by which ALSA reaches PulseAudio. */
export const DESKTOP_NEEDS = ['Xvfb', 'pulseaudio', 'ffmpeg'] as const;
const START_MS = 30_000;
const TONE_HERTZ = 500;

const ofTests = new WeakMap<Test, Promise<Pulse>>();

export function desktop(t: Test): Promise<Pulse> {
  const known = ofTests.get(t);
  if (known !== undefined) return known;
  const started = start(t);
  ofTests.set(t, started);
  return started;
}

async function start(t: Test): Promise<Pulse> {
  // Not PulseAudio's own tone (module-sine-source), which is too slow by half for programs that read small pieces.
  const { folder, env } = await startPulse(t);
  const alsa = join(folder, 'asound.conf');
  writeFileSync(alsa, 'pcm.default { type pulse }\nctl.default { type pulse }\n');
  const x = new Program(t, 'Xvfb', ['-displayfd', '1', '-screen', '0', '800x600x24', '-nolisten', 'tcp'], {
    HOME: folder,
  });
  let number: string | undefined;
  const hasDisplay = () => (number = /^(\d+)\n/m.exec(x.said)?.[1]) !== undefined;
  await x.until(hasDisplay, START_MS, 'no display');
  const tone = `sine=frequency=${TONE_HERTZ}:sample_rate=44100`;
  new Program(t, 'ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', tone, '-ac', '2', '-f', 'pulse', 'tone'], env);
  return { folder, env: { ...env, ALSA_CONFIG_PATH: alsa, DISPLAY: `:${number}` } };
}
