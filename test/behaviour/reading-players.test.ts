/** Players that show a title when they read it get it when they play its place: known by their user agents, as these are sent. */

import t from 'tap';
import { Player } from '../kit/player.js';
import { DEMO_AUDIO, startServer } from '../kit/server.js';

const BURST_SECONDS = 4;
const BYTES_PER_MS = 16;
/** A turn of the writes, and what a machine that is busy takes. */
const SLACK_MS = 1000;

t.test('VLC, ffplay and mpv, by their user agents', async (t) => {
  const { base, port } = await startServer(
    t,
    `
addresses: [{ host: 127.0.0.1, port: 0 }]
streams: { burstSeconds: ${BURST_SECONDS}, showsOnReading: { Wave/: all } }
stations:
  demo: { channels: { demo: { bitrateKbps: 128, pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] } } }
`,
  );
  const push = async (song: string) => {
    t.equal((await fetch(`${base}/metapush/demo/demo-token?song=${song}`)).status, 200);
  };
  await push('first');
  const early = new Player(port, '/demo');
  await early.until(({ audioBytes }) => audioBytes > (BURST_SECONDS + 2) * 1000 * BYTES_PER_MS);
  early.close();
  const join = (agent: string) => new Player(port, '/demo', { agent });
  const mpv = join('libmpv');
  const ffplay = join('Lavf/59.27.100');
  const readers = [join('VLC/3.0.24 LibVLC/3.0.24'), join('Wave/2.1 (Android)')];
  const all = [mpv, ffplay, ...readers];
  for (const player of all) await player.until(({ titles }) => titles[0]?.title === 'first');
  await push('second');
  const titleOf = ({ titles }: Player) => titles.find(({ title }) => title === 'second');
  for (const player of all) await player.until((one) => titleOf(one) !== undefined);
  const placeMs = titleOf(mpv)!.atByte / BYTES_PER_MS;
  t.ok(titleOf(mpv)!.atMs - mpv.firstByteMs < placeMs - 500, 'mpv shows it when it plays it: it has it before');
  const laterMs = titleOf(ffplay)!.atByte / BYTES_PER_MS - placeMs;
  t.ok(laterMs >= 750 && laterMs <= 1500, `ffplay reads 1.1 s ahead: ${laterMs} ms`);
  for (const reader of readers) {
    const offMs = titleOf(reader)!.atMs - reader.firstByteMs - placeMs;
    t.ok(Math.abs(offMs) < SLACK_MS, `one that reads all gets it when it plays it: ${offMs} ms`);
  }
  for (const player of all) player.close();
});
