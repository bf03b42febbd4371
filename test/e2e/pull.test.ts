/**
 * Pulled from Debian's Icecast 2, fed by ffmpeg: with Icecast's own head, burst, ICY blocks and playlist, over two mounts, one of
 * which goes away and comes back.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import t, { type Test } from 'tap';
import { leftover } from '../kit/frame-recorder.js';
import { ICECAST_PASSWORD, Icecast, noIcecast } from '../kit/icecast.js';
import { Player } from '../kit/player.js';
import { freePort } from '../kit/process.js';
import { startServer } from '../kit/server.js';
import { patient, until } from '../kit/until.js';

const noFfmpeg = spawnSync('ffmpeg', ['-version']).error === undefined ? false : 'no ffmpeg here';

/** Streams a tone in real time until the test ends or it is killed. */
function encode(t: Test, port: number, mount: string): ChildProcess {
  const input = ['-re', '-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=44100'];
  const output = ['-c:a', 'libmp3lame', '-b:a', '128k', '-f', 'mp3', '-content_type', 'audio/mpeg'];
  const url = `icecast://source:${ICECAST_PASSWORD}@127.0.0.1:${port}${mount}`;
  const child = spawn('ffmpeg', ['-v', 'error', '-nostdin', ...input, ...output, url], { stdio: 'ignore' });
  t.teardown(() => child.kill('SIGKILL'));
  return child;
}

t.test('from Icecast, fed by ffmpeg', { skip: noIcecast || noFfmpeg, timeout: patient(60_000) }, async (t) => {
  const icecast = new Icecast(t, await freePort());
  await icecast.start();
  const { port } = icecast;
  let first = encode(t, port, '/first');
  encode(t, port, '/second');
  await until(async () => (await icecast.has('/first')) && (await icecast.has('/second')), 15_000);
  await icecast.setTitle('/first', 'One - From Icecast');
  await icecast.setTitle('/second', 'Two - From Icecast');
  const server = await startServer(
    t,
    `
addresses: [{ host: 127.0.0.1, port: 0 }]
sources: { stallMs: 10000 }
stations:
  demo:
    channels:
      relay:
        sources:
          - type: pull
            url: ['http://127.0.0.1:${port}/first.m3u', 'http://127.0.0.1:${port}/second']
            returnSeconds: 0.5
            onDemand: true
`,
  );
  const player = new Player(server.port, '/relay', { keep: true });
  t.teardown(() => player.close());
  const title = () => player.titles.at(-1)?.title;
  await player.until(() => title() === 'One - From Icecast');
  first.kill('SIGKILL');
  await player.until(() => title() === 'Two - From Icecast', 15_000);
  first = encode(t, port, '/first');
  await until(() => icecast.has('/first'), 15_000);
  await icecast.setTitle('/first', 'Again - From Icecast');
  await player.until(() => title() === 'Again - From Icecast', 15_000);
  const { audioBytes } = player;
  await player.until(() => player.audioBytes > audioBytes + 32_000, 15_000);
  t.equal(player.closed, false, 'through all of it');

  const { audio } = player;
  // Of one frame in twenty that was cut off ffmpeg complains.
  const input = audio.subarray(0, audio.length - leftover(audio));
  const args = ['-v', 'error', '-xerror', '-f', 'mp3', '-i', '-', '-f', 'null', '-'];
  const decoded = spawnSync('ffmpeg', args, { input });
  t.strictSame([decoded.status, decoded.stderr.toString()], [0, ''], 'ffmpeg has no complaint');
});
