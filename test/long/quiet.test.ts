/**
 * Real programs that fill Ogg pages: at low bitrates more than 1.5 s each, and up to 255 packets (5.9 s of Vorbis) where nothing is to be
 * heard. MPD sends a page at the beginning of its playing time, Liquidsoap when it is full. Each must be heard from its first page to its
 * end, by listeners who lose nothing, and then the file.
 */

import t, { type Test } from 'tap';
import { framerFor } from '../../src/audio/frames/format.js';
import { startLiquidsoap } from '../kit/liquidsoap.js';
import { keepLines, sourceChanges } from '../kit/log-lines.js';
import { makeQuiet, startMpd } from '../kit/mpd.js';
import { Player } from '../kit/player.js';
import { missing, type Program } from '../kit/program.js';
import { DEMO_AUDIO, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';

const HERTZ = 44_100;
const MPD = {
  'mpd-vorbis': 'encoder "vorbis"\nquality "3.0"',
  'mpd-opus': 'encoder "opus"\nbitrate "64000"',
  'mpd-mp3': 'encoder "lame"\nbitrate "64"',
};
const LIQUIDSOAP = {
  'liq-vorbis': '%vorbis(quality=0.3)',
  'liq-opus': '%opus(bitrate=64)',
  'liq-flac': '%ogg(%flac)',
};
/** Tone, digital silence, tone: once and a half. */
const SECONDS = [5, 8, 5] as const;
const LISTEN_MS = 27_000;
/** Three Liquidsoaps at once take their time. */
const START_MS = 60_000;
const MAX_SHORT_MS = 8000;

t.setTimeout(180_000);

t.test('mpd', { skip: missing('mpd', 'mpc', 'ffmpeg') }, (t) =>
  story(t, MPD, (port, name, encoder, file) => {
    const to = { port, mount: `/${name}`, password: 'demo-source', encoder };
    return startMpd(t, file, HERTZ, to);
  }),
);

t.test('liquidsoap', { skip: missing('liquidsoap', 'ffmpeg') }, (t) =>
  story(t, LIQUIDSOAP, async (port, name, encoder, file) => {
    const to = `port=${port}, mount="${name}", password="demo-source", method="put"`;
    return startLiquidsoap(t, [to], [], encoder, `mksafe(single("${file}"))`);
  }),
);

async function story(
  t: Test,
  encoders: Readonly<Record<string, string>>,
  start: (port: number, name: string, encoder: string, file: string) => Promise<Program>,
): Promise<void> {
  const { log, lines } = keepLines();
  const names = Object.keys(encoders);
  const channels = names.map(
    (name) =>
      `${name}: { sources: [{ type: encoder, password: demo-source }, { type: file, path: ${DEMO_AUDIO} }] }\n      `,
  );
  const server = await startServer(
    t,
    `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  demo:
    channels:
      ${channels.join('')}
`,
    undefined,
    log,
  );
  const file = makeQuiet(t, HERTZ, SECONDS);
  const changes = (name: string) => sourceChanges(lines, name);
  const troubles = (name: string) => lines.filter(({ event, channel }) => event !== undefined && channel === name);
  await Promise.all(
    names.map(async (name) => {
      const program = await start(server.port, name, encoders[name]!, file);
      await program.until(() => changes(name).at(-1) === 'encoder', START_MS, `${name} is not heard`);
      const before = changes(name).length;
      const player = new Player(server.port, `/${name}`, { icy: false, keep: true });
      t.teardown(() => player.close());
      await player.until((one) => one.audioBytes > 0, 20_000);
      const startMs = performance.now();
      await until(() => performance.now() - startMs > LISTEN_MS, 2 * LISTEN_MS);

      t.strictSame([changes(name).slice(before), troubles(name)], [[], []], `${name}: never left, nothing to tell`);
      let audioMs = 0;
      const framer = framerFor({ onFrame: ({ durationMs }) => void (audioMs += durationMs) });
      framer.push(player.audio);
      t.equal(framer.codec, name.endsWith('mp3') ? 'mp3' : 'ogg');
      const shortMs = performance.now() - startMs - audioMs;
      t.comment(`${name}: a player in real time has ${(-shortMs).toFixed(0)} ms in hand`);
      t.ok(
        shortMs < MAX_SHORT_MS,
        `${name}: nothing is missing but the page under way, ${shortMs.toFixed(0)} ms short`,
      );
      t.notOk(player.closed, `${name}: still there`);
      await program.stop();
      await until(
        () => changes(name).at(-1) === 'file',
        10_000,
        () => `${name}: no file`,
      );
    }),
  );
}
