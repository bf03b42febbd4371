/**
 * Joins into AAC at random moments of a real server, with and without Icy-MetaData: what a listener gets begins with an ADTS frame, and every
 * decoder of the kit plays all of it, from the first frame on, without a complaint. How a frame is made longer: audio/frames/adts.ts.
 */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Framer } from '../../src/audio/frames/framer.js';
import { wholePceBytes } from '../../src/audio/frames/program-config.js';
import { AAC_DECODERS, decode } from '../kit/decoder-program.js';
import { Player } from '../kit/player.js';
import { missing } from '../kit/program.js';
import { Random } from '../kit/random.js';
import { DEMO_AUDIO, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

/** LC; there is no free encoder of HE-AAC in Debian. */
const STREAMS: Readonly<Record<string, readonly string[]>> = {
  mono: ['-ac', '1', '-ar', '22050', '-b:a', '32k'],
  stereo: ['-ar', '44100', '-b:a', '96k'],
  surround: ['-ac', '6', '-ar', '48000', '-b:a', '384k'],
  // Its channels stand in its first frame alone.
  side: ['-af', 'aformat=channel_layouts=5.1(side)', '-ar', '48000', '-b:a', '384k'],
};
/** Into each stream; half of them with ICY. */
const JOINS = 18;
const KEPT_MS = 2500;
const FRAME_SAMPLES = 1024;

t.setTimeout(170_000);

interface Joined {
  readonly path: string;
  readonly frames: number;
  readonly hertz: number;
}

t.test('AAC is decoded whole from its first frame on', { skip: missing('ffmpeg') }, async (t) => {
  const random = new Random();
  const folder = tempFolder(t);
  const names = Object.keys(STREAMS);
  for (const name of names) {
    const to = [...STREAMS[name]!, join(folder, `${name}.aac`)];
    execFileSync('ffmpeg', ['-v', 'error', '-t', '60', '-i', DEMO_AUDIO, ...to]);
  }
  const channels = names.map((name) => `${name}: { sources: [{ type: file, path: ${join(folder, `${name}.aac`)} }] }`);
  const { port } = await startServer(
    t,
    `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  demo:
    channels:
      ${channels.join('\n      ')}
`,
  );
  const joins: Promise<Joined>[] = [];
  let stretched = 0;
  const joinOnce = async (name: string, i: number): Promise<Joined> => {
    const icy = i % 2 === 0;
    const player = new Player(port, `/${name}`, { icy, keep: true });
    t.teardown(() => player.close());
    const frames: Buffer[] = [];
    let [keptMs, done, hertz] = [0, 0, 0];
    const framer: Framer = new Framer({
      onFrame: ({ bytes: frame, durationMs }) => {
        frames.push(Buffer.from(frame));
        keptMs += durationMs;
        hertz = framer.sampleRate;
      },
    });
    await player.until(() => {
      const fresh = player.audioFrom(done);
      done += fresh.length;
      framer.push(fresh);
      return keptMs > KEPT_MS;
    }, 20_000);
    player.close();
    const whole = Buffer.concat(frames);
    t.ok(player.audio.subarray(0, whole.length).equals(whole), `seed ${random.seed}: ${name} begins with a frame`);
    // A fill element is its first, but for what names its channels.
    if (icy && whole[7 + wholePceBytes(whole.subarray(7))]! >> 5 === 0b110) stretched++;
    const path = join(folder, `${name}-${i}.aac`);
    writeFileSync(path, whole);
    return { path, frames: frames.length, hertz };
  };
  // The tape holds more than a burst, which is 32 KiB: 8 s of the mono one. Its first segment begins with a frame.
  const early = new Player(port, '/mono');
  const startMs = performance.now();
  await until(() => performance.now() - startMs > 12_000, 20_000);
  early.close();
  for (let i = 0; i < JOINS; i++) {
    const atMs = performance.now() + random.int(50, 400);
    await until(() => performance.now() > atMs, 2000);
    joins.push(...names.map((name) => joinOnce(name, i)));
  }
  const files = await Promise.all(joins);
  t.ok(stretched > files.length / 4, `${stretched} of ${files.length} begin with a frame that was made longer`);

  for (const decoder of AAC_DECODERS) {
    await t.test(decoder.name, { skip: decoder.missing }, async (t) => {
      // GStreamer's parser takes no stream whose headers do not say its channels, from the first frame on neither.
      const isTaken = ({ path }: Joined) => !/^gstreamer/.test(decoder.name) || !path.includes('side-');
      const rest = files.filter(isTaken);
      const one = async () => {
        for (let file = rest.pop(); file !== undefined; file = rest.pop()) {
          const { samples, hertz, complaints } = await decode(decoder, file.path);
          t.same(complaints, [], `seed ${random.seed}: ${file.path}`);
          const frames = file.frames - (decoder.swallowsFirst ? 1 : 0);
          // Some output another rate than the stream's; some round.
          const wantedMs = (frames * FRAME_SAMPLES * 1000) / file.hertz;
          const gotMs = (samples * 1000) / hertz;
          t.ok(Math.abs(gotMs - wantedMs) < 2, `seed ${random.seed}: ${file.path}: ${gotMs} of ${wantedMs} ms`);
        }
      };
      await Promise.all([one(), one()]);
    });
  }
});
