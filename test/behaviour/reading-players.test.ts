/** Players that show a title when they read it get it when they play its place, and MOC has room between its blocks: by their user agents, as these are sent. */

import t from 'tap';
import { framesIn } from '../kit/feeder.js';
import { Player } from '../kit/player.js';
import { DEMO_AUDIO, startServer } from '../kit/server.js';

const BURST_SECONDS = 4;
const BYTES_PER_MS = 16;
/** Of a player's audio, within the burst: where others have it, too. */
const PIECE = [40_000, 44_000] as const;
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
  const join = (agent: string) => new Player(port, '/demo', { agent, keep: true });
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
  // On a busy machine one begins behind the other.
  const behindMs = (one: Player) => (mpv.audio.indexOf(one.audio.subarray(...PIECE)) - PIECE[0]) / BYTES_PER_MS;
  const laterMs = titleOf(ffplay)!.atByte / BYTES_PER_MS + behindMs(ffplay) - placeMs;
  // Blocks are 250 ms apart; to mpv a title comes a few blocks late where the machine is busy.
  t.ok(laterMs >= 250 && laterMs <= 1500, `ffplay reads 1.1 s ahead: ${laterMs} ms`);
  for (const reader of readers) {
    const offMs = titleOf(reader)!.atMs - reader.firstByteMs - (placeMs - behindMs(reader));
    t.ok(Math.abs(offMs) < SLACK_MS, `one that reads all gets it when it plays it: ${offMs} ms`);
  }
  for (const player of all) player.close();
});

t.test(
  'MOC takes no more of a write than lies before a block: four writes lie there, with the same audio and titles',
  async (t) => {
    const yaml = (metaint: string) => `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  demo: { channels: { demo: { bitrateKbps: 128,${metaint} pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] } } }
`;
    for (const [metaint, wide] of [
      ['', 64_000],
      [' metaint: 16001,', 64_004],
    ] as const) {
      const { base, port } = await startServer(t, yaml(metaint));
      const push = (song: string) => fetch(`${base}/metapush/demo/demo-token?song=${song}`);
      await push('first');
      const early = new Player(port, '/demo');
      await early.until(({ audioBytes }) => audioBytes > 7 * 16_000);
      early.close();
      const moc = new Player(port, '/demo', { agent: 'Music-On-Console/2.6-alpha3', keep: true });
      const plain = new Player(port, '/demo', { agent: 'Music-On-Console/2.6-alpha3', icy: false });
      await moc.until(({ titles }) => titles.length === 1);
      t.equal(moc.metaint, wide);
      t.equal(plain.metaint, 0);
      await push('second');
      await moc.until(({ titles }) => titles.length === 2, 20_000);
      t.same(
        moc.titles.map(({ title, atByte }) => [title, atByte % wide]),
        [
          ['first', 0],
          ['second', 0],
        ],
      );
      t.equal(framesIn(moc.audio).skippedBytes, 0, 'whole frames');
      for (const player of [moc, plain]) player.close();
    }
  },
);
