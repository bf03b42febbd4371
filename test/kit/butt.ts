/**
 * BUTT (broadcast using this tool), a desktop program of presenters that sends its sound input. It has its own configuration and log here; tests
 * control it over its command server.
 */

import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { DESKTOP_NEEDS, desktop } from './desktop.js';
import type { EncoderKind, Target } from './encoder-kind.js';
import { freePort } from './process.js';
import { Program } from './program.js';

const START_MS = 30_000;
const CONTROL_MS = 10_000;
/** BUTT's names for the codecs. */
const CODECS = { mp3: 'mp3', vorbis: 'ogg', opus: 'opus' } as const;

interface Running {
  readonly log: string;
  /** Sends a command to its command server; resolves with the answer. */
  command(...args: string[]): Promise<string>;
}

const running = new WeakMap<Program, Running>();

async function start(t: Test, { port, mount, password }: Target, codec: keyof typeof CODECS): Promise<Program> {
  const { folder: home, env } = await desktop(t);
  const folder = mkdtempSync(join(home, 'butt-'));
  const [config, log, control] = [join(folder, 'butt.cfg'), join(folder, 'log'), String(await freePort())];
  writeFileSync(
    config,
    `[main]
server = ours
srv_ent = ours
num_of_srv = 1
num_of_icy = 0
log_file = ${log}
connect_at_startup = 1
[ours]
address = 127.0.0.1
port = ${port}
password = ${password}
type = 1
tls = 0
mount = ${mount.slice(1)}
usr = source
[audio]
device = default
samplerate = ${codec === 'opus' ? 48_000 : 44_100}
bitrate = 128
channel = 2
codec = ${CODECS[codec]}
`,
    { mode: 0o600 },
  );
  writeFileSync(log, '');
  const program = new Program(t, 'butt', ['-c', config, '-p', control], env);
  const command = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)('butt', ['-p', control, ...args], { timeout: CONTROL_MS });
    return stdout;
  };
  running.set(program, { log, command });
  await program.until(() => readFileSync(log, 'utf8').includes('Connecting to'), START_MS, 'it does not start');
  return program;
}

const runningOf = (program: Program) => running.get(program)!;

export const butt: EncoderKind = {
  name: 'BUTT mp3',
  needs: ['butt', ...DESKTOP_NEEDS],
  codec: 'mp3',
  start: (t, to) => start(t, to, 'mp3'),
  title: async (_, program, artist, song) => {
    await runningOf(program).command('-u', `${artist} – ${song}`);
  },
  titleLine: 'Björk – Jóga',
  words: async (program) => readFileSync(runningOf(program).log, 'utf8'),
  rests: async (program) => /^connected: 0\nconnecting: 0$/m.test(await runningOf(program).command('-S')),
  stop: async (program) => {
    await runningOf(program).command('-q');
    await program.until(() => program.ended !== undefined, CONTROL_MS, 'it does not end').catch(() => undefined);
  },
  // By default it retries after 403 only: in silence, five times a second.
  refused: {
    400: { tries: [2, 2], says: /server answered with 400!/, ends: true },
    401: { tries: [1, 1], says: /invalid user\/password!/, ends: true },
    404: { tries: [2, 2], says: /server answered with 404!/, ends: true },
    409: { tries: [1, 1], says: /server answered with 409!/, ends: true },
    429: { tries: [1, 1], says: /server answered with 429!/, ends: true },
    501: { tries: [1, 1], says: /server answered with 501!/, ends: true },
    503: { tries: [1, 1], says: /server answered with 503!/, ends: true },
  },
  onLoss: { backWithinMs: 15_000 },
};

export const buttOpus: EncoderKind = {
  ...butt,
  name: 'BUTT opus',
  codec: 'opus',
  start: (t, to) => start(t, to, 'opus'),
  refused: {},
};
