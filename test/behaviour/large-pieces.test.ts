/**
 * Encoders that send large pieces, seen by listeners of the whole server: in real time, with the default patience and burst. And a file
 * of Ogg whose quiet pages hold seconds each, as the only source.
 */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { Feeder } from '../kit/feeder.js';
import { FrameRecorder } from '../kit/frame-recorder.js';
import { keepLines, sourceChanges } from '../kit/log-lines.js';
import { LoopDelay } from '../kit/loop-delay.js';
import { Player } from '../kit/player.js';
import { missing } from '../kit/program.js';
import { atOnce, DEMO_AUDIO, metricsOf, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

// They wait more than they compute.
t.jobs = atOnce(4);

const FRAME_MS = 1152 / 44.1;

function changesIn() {
  const { log, lines } = keepLines();
  return { log, of: (channel: string) => sourceChanges(lines, channel) };
}

t.test(
  'pieces of 1.6 s and of 5 s: listeners hear the encoder all along, and no listener is disconnected',
  async (t) => {
    const sources = `{ sources: [{ type: encoder, password: demo-source }, { type: file, path: ${DEMO_AUDIO} }] }`;
    const changes = changesIn();
    const server = await startServer(
      t,
      `
addresses: [{ host: 127.0.0.1, port: 0 }]
streams: { burstSeconds: 5, silenceSeconds: 2 }
stations:
  demo:
    channels:
      short: ${sources}
      long: ${sources}
`,
      undefined,
      changes.log,
    );
    const late = new LoopDelay(t);
    await Promise.all(
      Object.entries({ short: 1600, long: 5000 }).map(async ([name, pieceMs]) => {
        const feeder = new Feeder(t, server.port, `/${name}`);
        t.equal(await feeder.answered(), 200);
        const startMs = performance.now();
        let sent = 0;
        // As many frames as have been played by the end of this piece, so that the pace does not drift.
        const piece = () => {
          const frames = Math.ceil((performance.now() - startMs + pieceMs) / FRAME_MS) - sent;
          sent += frames;
          feeder.send(frames);
        };
        piece();
        const sending = setInterval(piece, pieceMs);
        t.teardown(() => clearInterval(sending));
        await until(() => changes.of(name).at(-1) === 'encoder', 10_000);
        const before = changes.of(name).length;
        // The burst lies on the tape by then, and the next long piece is still four seconds off.
        await until(() => performance.now() - startMs > 6000, 20_000);
        const player = new Player(server.port, `/${name}`, { keep: true });
        const recorder = new FrameRecorder(t, player);
        t.teardown(() => player.close());
        await until(() => performance.now() - startMs > 12_000, 30_000);

        recorder.listen();
        t.comment(`${name}: a player in real time had at least ${recorder.minHandMs.toFixed(0)} ms in hand`);
        t.notOk(player.closed, `${name}: still there`);
        if (late.worstMs > 700) return;
        t.strictSame(changes.of(name).slice(before), [], `${name}: never left`);
        t.equal(recorder.breaks, 0, `${name}: frame by frame`);
        t.ok(recorder.minHandMs > 0, `${name}: it never runs dry`);
      }),
    );
    for (const text of await metricsOf(server)) {
      for (const reason of ['lagged', 'silence', 'broken']) {
        t.match(text, new RegExp(`listener_endings_total\\{reason="${reason}"\\} 0\\n`));
      }
    }
  },
);

t.test('a quiet Ogg file is one source all the time', { skip: missing('ffmpeg') }, async (t) => {
  const path = join(tempFolder(t), 'quiet.opus');
  const silence = ['-f', 'lavfi', '-i', 'anullsrc=r=48000:cl=mono:d=30'];
  // Pages of 255 packets: 5.1 s.
  const pages = ['-c:a', 'libopus', '-page_duration', '10000000', '-f', 'ogg', path];
  execFileSync('ffmpeg', ['-v', 'error', ...silence, ...pages]);
  const changes = changesIn();
  const server = await startServer(
    t,
    `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations: { demo: { channels: { quiet: { sources: [{ type: file, path: ${path} }] } } } }
`,
    undefined,
    changes.log,
  );
  // One of the machines feeds the channel.
  const audioSeconds = async () => {
    const seconds = /audio_seconds_total\{[^}]*\} (\S+)/;
    return Math.max(...(await metricsOf(server)).map((text) => Number(seconds.exec(text)?.[1] ?? 0)));
  };
  await until(async () => (await audioSeconds()) > 9, 30_000);
  t.strictSame(
    changes.of('quiet'),
    server.machines.map(() => 'file'),
  );
});
