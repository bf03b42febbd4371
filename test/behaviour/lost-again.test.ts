/** What a listener has ahead while the source of its channel is lost again and again, seen by one who plays in real time. */

import t, { type Test } from 'tap';
import { Feeder } from '../kit/feeder.js';
import { LoopDelay } from '../kit/loop-delay.js';
import { pause } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { atOnce, DEMO_AUDIO, startServer } from '../kit/server.js';

// They wait more than they compute.
t.jobs = atOnce(2);

const BURST_SECONDS = 3;
const AHEAD_SECONDS = 2;
const STALL_MS = 600;
const SEGMENT_MS = 1000;
const LOSSES = 5;
const FRAMES_PER_SECOND = 44_100 / 1152;
const BYTES_PER_MS = 16;

/** A channel with an encoder and a file, and a listener. @param story what its encoder does each time @returns what the listener had ahead then */
async function play(t: Test, story: (feeder: Feeder) => Promise<void>): Promise<number[]> {
  const server = await startServer(
    t,
    `
addresses: [{ host: 127.0.0.1, port: 0 }]
streams: { burstSeconds: ${BURST_SECONDS} }
sources: { aheadSeconds: ${AHEAD_SECONDS}, stallMs: ${STALL_MS}, stallsPerMinute: 100 }
stations:
  demo: { channels: { live: { sources: [{ type: encoder, password: demo-source }, { type: file, path: ${DEMO_AUDIO} }] } } }
`,
  );
  await pause(1000 * BURST_SECONDS + SEGMENT_MS);
  const player = new Player(server.port, '/live', { icy: false });
  t.teardown(() => player.close());
  await player.until(({ audioBytes }) => audioBytes > 0);
  const aheadMs = () => player.audioBytes / BYTES_PER_MS - (performance.now() - player.firstByteMs);
  const seen: number[] = [];
  for (let i = 0; i < LOSSES; i++) {
    const feeder = new Feeder(t, server.port, '/live');
    t.equal(await feeder.answered(), 200);
    await story(feeder);
    feeder.socket.destroy();
    await pause(2 * SEGMENT_MS);
    seen.push(Math.round(aheadMs()));
  }
  t.comment(`ahead: ${seen.join(', ')} ms`);
  return seen;
}

t.test('an encoder that sends a burst each time runs no listener further ahead than one may', async (t) => {
  const seen = await play(t, async (feeder) => {
    feeder.send(Math.ceil(AHEAD_SECONDS * FRAMES_PER_SECOND));
    await pause(500);
  });
  const maxMs = 1000 * (BURST_SECONDS + AHEAD_SECONDS) + 3 * SEGMENT_MS;
  t.ok(seen.at(-1)! < maxMs, `${seen.at(-1)} ms, at most ${maxMs}`);
});

t.test('what a stall has taken from listeners the file that follows gives back', async (t) => {
  const late = new LoopDelay(t);
  const seen = await play(t, async (feeder) => {
    const sending = setInterval(() => feeder.send(4), 104);
    await pause(1000);
    clearInterval(sending);
    await pause(2 * STALL_MS);
  });
  const minMs = 1000 * BURST_SECONDS - SEGMENT_MS - late.worstMs;
  t.ok(seen.at(-1)! > minMs, `${seen.at(-1)} ms, at least ${minMs}`);
});
