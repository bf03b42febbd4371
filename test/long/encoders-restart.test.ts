/**
 * Which encoders come back after the server was away for longer than a moment, as they come and as config/README.md says to set them ("After a
 * restart of the server"): all at once, each on a channel of its own.
 */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { butt } from '../kit/butt.js';
import { startDarkice } from '../kit/darkice.js';
import type { EncoderKind, Target } from '../kit/encoder-kind.js';
import { ezstream, makeList, startEzstream } from '../kit/ezstream.js';
import { ffmpegEncoder } from '../kit/ffmpeg-encoder.js';
import { gstreamers } from '../kit/gstreamer.js';
import { ices2 } from '../kit/ices2.js';
import { startLiquidsoap } from '../kit/liquidsoap.js';
import { keepLines, sourceChanges } from '../kit/log-lines.js';
import { mpds, playAgain } from '../kit/mpd.js';
import { oggfwds } from '../kit/oggfwd.js';
import { pause } from '../kit/pause.js';
import { freePorts } from '../kit/process.js';
import { missing, type Program } from '../kit/program.js';
import { startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { vlcs } from '../kit/vlc.js';

const PASSWORD = 'demo-source';
/** Longer than the 20 tries of ices2, each a second after the other. */
const AWAY_MS = 75_000;
const BACK_MS = 60_000;
/** Of a supervisor, or of a loop beside it. */
const LOOK_MS = 2000;

interface Row {
  readonly name: string;
  /** As the table has it; empty: as it comes. */
  readonly set: string;
  readonly needs: readonly string[];
  start(t: Test, to: Target): Promise<Program>;
  readonly comesBack: boolean;
  /** What happens beside it, each time that is looked. */
  readonly beside?: 'started again' | ((program: Program) => Promise<void>);
}

const asItComes = (kind: EncoderKind, comesBack: boolean): Row => ({ ...kind, set: '', comesBack });
const supervised = (kind: EncoderKind): Row => ({
  ...kind,
  set: 'a supervisor',
  comesBack: true,
  beside: 'started again',
});

const ROWS: readonly Row[] = [
  asItComes(butt, true),
  {
    name: 'DarkIce',
    set: '',
    needs: ['darkice', 'mkfifo'],
    start: async (t, to) => startDarkice(t, to, 'yes'),
    comesBack: true,
  },
  asItComes(ezstream, false),
  {
    ...ezstream,
    set: 'reconnect_attempts 1, a supervisor',
    start: async (t, { port, mount, password }) => {
      const list = makeList(t, [{ artist: 'Björk', title: 'Jóga' }], 15, 44_100);
      const more = '<reconnect_attempts>1</reconnect_attempts>';
      return startEzstream(t, list, { protocol: 'HTTP', tls: 'May', port, mount, password, more });
    },
    comesBack: true,
    beside: 'started again',
  },
  asItComes(ffmpegEncoder, false),
  supervised(ffmpegEncoder),
  asItComes(gstreamers[0]!, false),
  supervised(gstreamers[0]!),
  asItComes(ices2, false),
  supervised(ices2),
  {
    name: 'Liquidsoap',
    set: '',
    needs: ['liquidsoap'],
    start: async (t, { port, mount, password }) =>
      startLiquidsoap(t, [`port=${port}, mount="${mount}", password="${password}"`], []),
    comesBack: true,
  },
  asItComes(mpds[0]!, false),
  { ...mpds[0]!, set: 'mpc play', comesBack: true, beside: playAgain },
  asItComes(oggfwds[0]!, false),
  supervised(oggfwds[0]!),
  asItComes(vlcs[0]!, true),
];

const digest = (text: string) => createHash('sha256').update(text).digest('hex');

t.setTimeout(420_000);

t.test('encoders, after the server was away for more than a minute', { skip: missing('ffmpeg') }, async (t) => {
  const folder = tempFolder(t);
  const sound = join(folder, 'sound.wav');
  const sine = 'sine=frequency=500:sample_rate=44100:duration=600';
  execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', sine, '-ac', '2', sound]);
  const rows = ROWS.filter(({ name, needs }) => {
    const skip = missing(...needs);
    if (skip !== false) t.pass(name, { skip });
    return skip === false;
  });
  const port = await freePorts(2);
  const channels = rows.map(
    // By its password SHOUTcast v1 names a channel.
    (_, i) => `c${i}: { sources: [{ type: encoder, password: 'sha256:${digest(`${PASSWORD}-${i}`)}' }] }`,
  );
  const yaml = `
addresses: [{ host: 127.0.0.1, port: ${port} }]
stations: { demo: { channels: { ${channels.join(', ')} } } }
`;
  const { log, lines } = keepLines();
  let server = await startServer(t, yaml, folder, log);
  const isHeard = (i: number) => sourceChanges(lines, `c${i}`).at(-1) === 'encoder';
  const programs = await Promise.all(
    rows.map(async (row, i) => {
      const to = { port, mount: `/c${i}`, password: `${PASSWORD}-${i}`, sound };
      const fromMs = performance.now();
      const one = { row, i, to, program: await row.start(t, to), startMs: 0, backMs: Number.NaN };
      await one.program.until(() => isHeard(i), 60_000, 'it is not heard');
      one.startMs = performance.now() - fromMs;
      return one;
    }),
  );
  let isOver = false;
  t.teardown(() => {
    isOver = true;
  });
  await server.app.stop();
  const looks = programs.map(async (one) => {
    const { beside, start } = one.row;
    if (beside === undefined) return;
    while (!isOver) {
      await pause(LOOK_MS);
      if (isOver) return;
      if (typeof beside === 'function') await beside(one.program);
      else if (one.program.ended !== undefined) one.program = await start(t, one.to);
    }
  });
  for (const look of looks) look.catch((error: unknown) => t.comment(String(error)));
  await pause(AWAY_MS);
  const mark = lines.length;
  server = await startServer(t, yaml, folder, log);
  const upMs = performance.now();
  const isBack = (i: number) => sourceChanges(lines.slice(mark), `c${i}`).includes('encoder');
  const note = () => {
    for (const one of programs) if (Number.isNaN(one.backMs) && isBack(one.i)) one.backMs = performance.now() - upMs;
  };
  while (performance.now() - upMs < BACK_MS) {
    note();
    await pause(200);
  }
  isOver = true;
  for (const { row, startMs, backMs, program } of programs) {
    const what = `${row.name}, ${row.set || 'as it comes'}`;
    const is = Number.isNaN(backMs) ? 'does not come back' : `comes back after ${(backMs / 1000).toFixed(1)} s`;
    t.comment(
      `${what}: starts after ${(startMs / 1000).toFixed(1)} s, ${is}${program.ended === undefined ? '' : `; ended: ${program.ended}`}`,
    );
    t.equal(!Number.isNaN(backMs), row.comesBack, `${what} ${is}: ${program.said.slice(-200)}`);
  }
});
