/**
 * A channel that is heard as HLS only goes on as one that has listeners: its tape is not let go because nobody plays, where its encoder's network
 * stands still, or its MP3 goes on in another bitrate or sample rate. Streams are ffmpeg's.
 */

import { execFileSync } from 'node:child_process';
import t, { type Test } from 'tap';
import { Feeder, framesIn } from '../kit/feeder.js';
import { ffmpegEncoder } from '../kit/ffmpeg-encoder.js';
import { readPacked } from '../kit/hls-channel.js';
import { HlsRecorder } from '../kit/hls-recorder.js';
import { pause } from '../kit/pause.js';
import { freePort } from '../kit/process.js';
import { missing } from '../kit/program.js';
import { startServer } from '../kit/server.js';
import { SilentProxy } from '../kit/silent-proxy.js';
import { makeTagged } from '../kit/tagged.js';
import { until } from '../kit/until.js';

// They sleep most of their time.
t.jobs = 4;

const SKIP = { skip: missing('ffmpeg'), timeout: 120_000 };
const YAML = `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations: { s: { channels: { live: { sources: [{ type: encoder, password: demo-source }] } } } }
streams: { hls: { enabled: true, segmentSeconds: 2, window: 60, keep: 70 }, burstSeconds: 2 }
`;

/** Until so many seconds more are listed. */
function more(recorder: HlsRecorder, seconds: number): Promise<void> {
  const least = recorder.seconds + seconds;
  return until(
    () => recorder.seconds >= least,
    60_000,
    () => `${recorder.seconds} of ${least} s`,
  );
}

const seams = ({ segments }: HlsRecorder) => segments.filter(({ isDiscontinuity }) => isDiscontinuity).length;

t.test('the network of an encoder stands still, and brings all that waited', SKIP, async (t) => {
  const { port, base } = await startServer(t, YAML);
  const proxy = await SilentProxy.open(t, await freePort(), port);
  const sound = makeTagged(t, { artist: 'A', title: 'B' }, { hertz: 44_100, seconds: 60, type: 'mp3' });
  const parts = { port: proxy.port, mount: '/live', password: 'demo-source', sound };
  await ffmpegEncoder.start(t, parts as Parameters<typeof ffmpegEncoder.start>[1]);
  const recorder = new HlsRecorder(t, `${base}/live/hls/live.m3u8`);
  await more(recorder, 6);
  for (const stallMs of [1500, 5000]) {
    proxy.silence('there');
    await pause(stallMs);
    proxy.pass();
    await more(recorder, 6 + stallMs / 1000);
  }
  t.equal(seams(recorder), 0, 'no audio is missing');
});

/** MP3 of a tone, as ffmpeg encodes it. */
function frames(kbps: number, hertz: number): Buffer[] {
  const sine = `sine=frequency=500:sample_rate=${hertz}:duration=8`;
  const args = ['-v', 'error', '-f', 'lavfi', '-i', sine, '-ac', '2', '-b:a', `${kbps}k`, '-write_xing', '0'];
  return framesIn(execFileSync('ffmpeg', [...args, '-id3v2_version', '0', '-f', 'mp3', '-'])).frames;
}

/** One stream of several. @returns what was sent, and what the segments have of it */
async function send(t: Test, parts: readonly Buffer[][]) {
  const { port, base } = await startServer(t, YAML);
  const feeder = new Feeder(t, port, '/live', { frames: parts.flat() });
  t.equal(await feeder.answered(), 200);
  const count = parts.flat().length;
  let recorder: HlsRecorder | null = null;
  for (let sent = 0; sent < count; sent += 4) {
    feeder.send(Math.min(4, count - sent));
    await pause(100);
    recorder ??= sent > 80 ? new HlsRecorder(t, `${base}/live/hls/live.m3u8`) : null;
  }
  const last = recorder!;
  // The last second waits for more.
  await until(
    () => last.seconds > parts.length * 8 - 5,
    30_000,
    () => `${last.seconds}`,
  );
  const heard = last.segments.flatMap(({ name }) => framesIn(readPacked(last.bytes.get(name)!).audio).frames);
  return { sent: parts.flat(), heard, seams: seams(last) };
}

for (const [what, kbps, hertz, breaks] of [
  ['a lower bitrate', [128, 32], [44_100, 44_100], 0],
  ['a higher bitrate', [64, 320], [44_100, 44_100], 0],
  ['another sample rate', [128, 64], [44_100, 48_000], 1],
] as const) {
  t.test(`MP3 goes on in ${what}`, SKIP, async (t) => {
    const { sent, heard, seams } = await send(
      t,
      kbps.map((each, i) => frames(each, hertz[i]!)),
    );
    t.equal(seams, breaks);
    // Headers say bitrate and rate; those that may be muted have other bytes.
    const headers = (all: readonly Buffer[]) => all.map((frame) => frame.toString('hex', 0, 3));
    t.strictSame(headers(heard), headers(sent).slice(0, heard.length), 'each frame once');
  });
}
