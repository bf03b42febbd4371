/**
 * What real players show beside what they play: an encoder's tone changes, its title is pushed at that moment, and the players' own sound is recorded.
 * VLC and ffplay show titles when they read them, mpv when it plays their place.
 */

import { spawn } from 'node:child_process';
import { chmodSync } from 'node:fs';
import t, { type Test } from 'tap';
import { Feeder } from '../kit/feeder.js';
import { asNobody, giveToNobody } from '../kit/nobody.js';
import { pause } from '../kit/pause.js';
import { missing } from '../kit/program.js';
import { startPulse } from '../kit/pulse.js';
import { startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { PITCHES, ToneRecorder, toneFrames } from '../kit/tone-recorder.js';
import { until } from '../kit/until.js';

interface SoundedPlayer {
  readonly program: string;
  command(url: string): string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What it prints when it shows a title, with the title as its group. */
  readonly shows: RegExp;
}

const PLAYERS: readonly SoundedPlayer[] = [
  {
    program: 'cvlc',
    command: (url) => [...asNobody, 'cvlc', '-vv', '--no-color', '--no-dbus', '-I', 'dummy', '--aout', 'pulse', url],
    shows: /New Icy-Title=(T\d+)/g,
  },
  {
    program: 'ffplay',
    command: (url) => ['ffplay', '-nodisp', '-v', 'verbose', url],
    env: { SDL_AUDIODRIVER: 'pulse' },
    shows: /Metadata update for StreamTitle: (T\d+)/g,
  },
  {
    program: 'mpv',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: its own property expansion
    command: (url) => ['mpv', '--no-config', '--ao=pulse', '--term-status-msg=title=${media-title}=', url],
    shows: /title=(T\d+)=/g,
  },
];
/** A title is late by the burst, which browsers' needs may lengthen, and by a write. */
const BURST_SECONDS = 5;
const PATIENCE_MS = 15_000;
const CHANGES = 6;
/** Between title and sound, on a machine that does other things too. */
const MAX_OFF_MS = 600;

t.setTimeout(300_000);

for (const player of PLAYERS) {
  const skip = missing(player.program, 'pulseaudio', 'parec', 'ffmpeg', ...asNobody.slice(0, 1));
  t.test(player.program, { skip }, (t) => story(t, player));
}

async function story(t: Test, { program, command, env, shows }: SoundedPlayer): Promise<void> {
  const yaml = `
addresses: [{ host: 127.0.0.1, port: 0 }]
streams: { burstSeconds: ${BURST_SECONDS} }
stations: { demo: { channels: { tone: { pushTokens: [demo-token], sources: [{ type: encoder, password: demo-source }] } } } }
`;
  const { base, port } = await startServer(t, yaml);
  const tones = PITCHES.map(toneFrames);
  const feeder = new Feeder(t, port, '/tone', { frames: tones[0]! }).stream(t);
  t.equal(await feeder.answered(), 200);
  await pause((BURST_SECONDS + 2) * 1000);

  const pulse = await startPulse(t);
  const recorder = new ToneRecorder(t, pulse);
  const home = tempFolder(t);
  chmodSync(home, 0o700);
  giveToNobody(home);
  const [name, ...args] = command(`${base}/tone`);
  const child = spawn(name!, args, {
    env: { ...process.env, ...pulse.env, ...env, HOME: home, XDG_RUNTIME_DIR: home },
  });
  t.teardown(() => child.kill('SIGKILL'));
  const shown = new Map<string, number>();
  const read = (chunk: Buffer) => {
    for (const [, title] of chunk.toString().matchAll(shows))
      if (!shown.has(title!)) shown.set(title!, performance.now());
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  await until(
    () => recorder.heard.length > 0,
    PATIENCE_MS,
    () => 'it plays nothing',
  );

  const off: number[] = [];
  for (let i = 1; i <= CHANGES; i++) {
    const title = `T${i}`;
    const heard = recorder.heard.length;
    feeder.frames = tones[i % tones.length]!;
    t.equal((await fetch(`${base}/metapush/tone/demo-token?song=${title}`)).status, 200);
    const both = () => recorder.heard.length > heard && shown.has(title);
    await until(both, PATIENCE_MS, () => `${title}: heard ${recorder.heard.length - heard}, shown ${shown.has(title)}`);
    const { pitch, atMs } = recorder.heard[heard]!;
    t.equal(pitch, PITCHES[i % PITCHES.length]);
    off.push(Math.round(shown.get(title)! - atMs));
    await pause(337 * i);
  }
  t.comment(`${program}: title − sound, ms: ${off.join(' ')}`);
  const median = off.toSorted((a, b) => a - b)[off.length >> 1]!;
  t.ok(Math.abs(median) <= MAX_OFF_MS, `${program}, median: ${median} ms`);
  t.ok(off.filter((ms) => Math.abs(ms) <= MAX_OFF_MS).length >= CHANGES - 1, `${program}: ${off.join(' ')}`);
}
