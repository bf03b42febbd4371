/**
 * A push whose `time` has passed: the title stands where that moment lies on the tape, to the frame. Listeners who have not heard that
 * place yet get it when they do, those who have, at once. An encoder whose frames are known sends in real time.
 */

import t from 'tap';
import { DEMO_FRAMES, Feeder } from '../kit/feeder.js';
import { LoopDelay } from '../kit/loop-delay.js';
import { pause } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { startServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { Watching } from '../kit/wire.js';

const BURST_SECONDS = 5;
const LATE_MS = 2000;
/** 1152 samples of 44.1 kHz. */
const FRAME_MS = 1152 / 44.1;
/** What is promised of a late title's place. */
const EXACT_MS = 60;
const YAML = `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  house:
    channels:
      live: { bitrateKbps: 128, pushTokens: [studio-token], sources: [{ type: encoder, password: demo-source }] }
streams: { burstSeconds: ${BURST_SECONDS} }
`;

t.test('a push that comes late', async (t) => {
  const { port, base, ws } = await startServer(t, YAML);
  const feeder = new Feeder(t, port, '/live');
  await feeder.answered();
  feeder.stream(t, 1);
  const push = (song: string, time = '') => fetch(`${base}/metapush/live/studio-token?song=${song}${time}`);
  const lateness = new LoopDelay(t);
  /** Has heard the whole tape. */
  const early = new Player(port, '/live?metaid=early', { keep: true });
  await early.until((p) => p.audioBytes > 0, 10_000);
  await pause((BURST_SECONDS + 3) * 1000);
  /** What it hears was sent some seconds ago. */
  const behind = new Player(port, '/live?metaid=behind', { keep: true });
  await behind.until((p) => p.audioBytes > 0);
  const feeds = {
    early: await new Watching(t, `${ws}/metadata/listener/early`).opened(),
    audio: await new Watching(t, `${ws}/metadata/listener/behind`).opened(),
    wire: await new Watching(t, `${ws}/metadata/listener/behind?sync=wire`).opened(),
  };

  lateness.reset();
  await push('First');
  await pause(1500);
  // The sound of the second title begins with the next frame; nobody knows its name yet.
  const [sound] = feeder.send(1) as [Buffer];
  const startsMs = Date.now();
  await pause(LATE_MS);
  await push('Second', `&time=${startsMs / 1000}`);
  const pushedMs = performance.now();

  await feeds.wire.has(2);
  t.ok(feeds.audio.records.length < 2, 'sync=wire: long before it is heard, its place was sent already');
  await feeds.early.has(2, 10_000);
  const position = Number(feeds.wire.records[1].position);
  await behind.until((p) => p.titles.length === 2, 10_000);
  const soundMs = (framesBefore(behind.audio, sound) * FRAME_MS) | 0;
  t.ok(Math.abs(position - soundMs) < EXACT_MS + lateness.worstMs, `position ${position}, its sound at ${soundMs} ms`);
  t.same(
    behind.titles.map(({ title }) => title),
    ['First', 'Second'],
  );

  // In real time, the first byte of the burst was heard when it came.
  await feeds.audio.has(2, 15_000);
  const heardMs = performance.now() - pushedMs;
  const { audio } = feeds;
  t.equal(audio.records[1].position, String(position));
  t.ok(heardMs > 1000, `heard ${Math.round(heardMs)} ms after the push: what lies in the burst is not heard yet`);
  t.equal(audio.records[1].song, 'Second');

  const [first, second] = feeds.early.records;
  const apartMs = second.position - first.position;
  t.ok(
    Math.abs(apartMs - 1500) < EXACT_MS + lateness.totalMs,
    `${apartMs} ms behind the first title, however late it came`,
  );
  const ofSecond = () => early.titles.find(({ title }) => title === 'Second');
  await until(() => ofSecond() !== undefined, 5000);
  const block = ofSecond()!;
  const behindMs = block.atByte / 16 - second.position;
  t.ok(behindMs > early.metaint / 16, `ICY: in the first block not yet sent, ${behindMs} ms behind its place`);
  t.ok(behindMs < LATE_MS + early.metaint / 16 + lateness.totalMs, 'and no later');
});

/** Frames of the demo before this one, from the first whole one on. */
function framesBefore(audio: Buffer, frame: Buffer): number {
  const at = audio.indexOf(frame);
  if (at < 0) throw new Error('the frame was not received');
  let first = audio.indexOf(Buffer.from([0xff, 0xfb]));
  if (first < 0) first = 0;
  return Math.round((at - first) / (DEMO_FRAMES.reduce((sum, { length }) => sum + length, 0) / DEMO_FRAMES.length));
}
