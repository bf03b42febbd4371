/** AAC of ffmpeg whose first frame alone names its channels: who joins anywhere plays all six, without a complaint of ffmpeg's decoder. */

import { execFileSync, spawnSync } from 'node:child_process';
import t from 'tap';
import { Framer } from '../../../src/audio/frames/framer.js';
import { MAX_FRAME_BYTES } from '../../../src/audio/frames/header.js';
import { namesChannels, ProgramConfig } from '../../../src/audio/frames/program-config.js';
import { Health } from '../../../src/source/health.js';
import { missing } from '../../kit/program.js';
import { DEMO_AUDIO } from '../../kit/server.js';

const skip = missing('ffmpeg');
const SIDE = ['-af', 'aformat=channel_layouts=5.1(side)', '-ar', '48000', '-c:a', 'aac', '-f', 'adts', '-'];

function make(): Buffer {
  return execFileSync('ffmpeg', ['-v', 'error', '-t', '2', '-i', DEMO_AUDIO, ...SIDE], { maxBuffer: 2 ** 24 });
}

function framesIn(bytes: Buffer, size = bytes.length): Buffer[] {
  const frames: Buffer[] = [];
  const framer = new Framer({ onFrame: ({ bytes: frame }) => void frames.push(Buffer.from(frame)) });
  for (let at = 0; at < bytes.length; at += size) framer.push(bytes.subarray(at, at + size));
  return frames;
}

/** What ffmpeg says, and how many samples of six channels it finds. */
function decode(bytes: Buffer) {
  const args = ['-v', 'error', '-f', 'aac', '-i', '-', '-f', 's16le', '-'];
  const { stdout, stderr } = spawnSync('ffmpeg', args, { input: bytes, maxBuffer: 2 ** 26 });
  return { said: stderr.toString(), samples: stdout.length / 12 };
}

t.test('each frame names its channels, and decodes as before', { skip }, async (t) => {
  const bytes = make();
  const frames = framesIn(bytes);
  t.same(
    frames.map((frame) => namesChannels(frame)),
    frames.map(() => true),
  );
  t.same(framesIn(bytes, 7), frames, 'whatever the chunks');
  t.same(framesIn(Buffer.concat(frames)), frames, 'nothing is added twice');
  t.same(decode(Buffer.concat(frames)), decode(bytes));
  for (const from of [1, 2, frames.length - 5]) {
    const { said, samples } = decode(Buffer.concat(frames.slice(from)));
    t.equal(said, '', `from ${from}`);
    t.ok(samples >= (frames.length - from) * 1024, `${samples}`);
  }
});

t.test('no frame before that one is changed, nor one that has no room: at the limit, and one past it', async (t) => {
  const named = Buffer.from('fff14c00021ffca09908800400188000', 'hex');
  const frame = (bytes: number) => {
    const one = Buffer.alloc(bytes, 0x21);
    one.set([0xff, 0xf1, 0x4c, bytes >> 11, (bytes >> 3) & 255, ((bytes & 7) << 5) | 0x1f, 0xfc]);
    return one;
  };
  const config = new ProgramConfig();
  t.notOk(namesChannels(frame(100)));
  t.equal(config.mend(frame(100)).length, 100);
  t.ok(namesChannels(named));
  t.equal(config.mend(named).length, named.length);
  t.equal(config.mend(frame(100)).length, 109);
  t.equal(config.mend(frame(MAX_FRAME_BYTES - 9)).length, MAX_FRAME_BYTES);
  t.equal(config.mend(frame(MAX_FRAME_BYTES - 8)).length, MAX_FRAME_BYTES - 8);
  for (let end = 7; end < named.length; end++) t.notOk(namesChannels(named.subarray(0, end)), 'not all of it');
});

t.test('AAC that never names its channels is reported, once', { skip }, async (t) => {
  const frames = framesIn(make());
  const events: string[] = [];
  const health = new Health({ stallMs: 1000, silentMs: 60_000 }, (event) => void events.push(event));
  for (const frame of frames) health.frame(frame, 21, 0);
  t.same(events, []);
  health.reset();
  for (const frame of frames) health.frame(Buffer.concat([frame.subarray(0, 7), frame.subarray(16)]), 21, 0);
  t.same(events, ['no-channels']);
});
