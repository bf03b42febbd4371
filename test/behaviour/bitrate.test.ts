/** MP3 of variable bitrate from an encoder that announces none: one mean, wherever a bitrate is said. Also with workers. */

import t from 'tap';
import { ADMIN_USERS, AdminClient } from '../kit/admin-client.js';
import { Feeder } from '../kit/feeder.js';
import { Player } from '../kit/player.js';
import { metricsOf, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';

const YAML = `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations: { s: { channels: { live: { sources: [{ type: encoder, password: demo-source }] } } } }
${ADMIN_USERS}`;

/** Silent frames, MPEG 1 layer III at 44.1 kHz. */
const [KBPS_32, KBPS_112, KBPS_320] = (
  [
    [0x10, 104],
    [0x80, 365],
    [0xe0, 1044],
  ] as const
).map(([third, bytes]) => Buffer.concat([Buffer.from([0xff, 0xfb, third, 0x00]), Buffer.alloc(bytes - 4)])) as [
  Buffer,
  Buffer,
  Buffer,
];
const FRAMES = [...new Array(4).fill(KBPS_32), ...new Array(6).fill(KBPS_112), ...new Array(2).fill(KBPS_320)];
const MEAN_KBPS = Math.round((4 * 32 + 6 * 112 + 2 * 320) / 12);

t.test('the mean, the same everywhere', { timeout: 120_000 }, async (t) => {
  const server = await startServer(t, YAML);
  const { port, base } = server;
  const feeder = new Feeder(t, port, '/live', { frames: FRAMES }).stream(t, 4);
  t.equal(await feeder.answered(), 200);
  feeder.send(20 * FRAMES.length);
  // biome-ignore lint/suspicious/noExplicitAny: as it comes
  const json = async (path: string): Promise<any> => (await fetch(`${base}${path}`)).json();
  const said = async () => {
    const player = new Player(port, '/live');
    t.teardown(() => player.close());
    await player.until(({ status }) => status === 200);
    const info = player.headers.get('ice-audio-info') ?? '';
    const [station] = await json('/metadata/stations.json');
    const { body } = await new AdminClient(server.one).get('channels/live');
    const metrics = (await metricsOf(server)).map(
      (text) => /airsplice_bitrate_kbps\{channel="live"\} (\d+)/.exec(text)?.[1],
    );
    player.close();
    return [
      player.headers.get('icy-br'),
      /bitrate=(\d+)/.exec(info)?.[1],
      (await json('/status-json.xsl')).icestats.source.bitrate,
      station.channels[0].bitrate,
      (await (await fetch(`${base}/7.html`)).text()).split(',')[5],
      (await json('/stats?json=1')).streams?.[0]?.bitrate ?? (await json('/stats?json=1')).bitrate,
      body.bitrateKbps,
      // On the page of a machine that does not feed it nothing is known of its source.
      body.sources[0].bitrateKbps || body.bitrateKbps,
      ...metrics.filter((each) => each !== undefined && each !== '0'),
    ].map(Number);
  };
  const isNear = (kbps: number) => Math.abs(kbps / MEAN_KBPS - 1) < 0.1;
  let all: number[] = [];
  await until(
    async () => (all = await said()).every(isNear),
    20_000,
    () => `${all}, and not ${MEAN_KBPS}`,
  );
  for (let round = 0; round < 5; round++) {
    all = await said();
    t.ok(all.every(isNear), `${all}`);
    t.ok(
      Math.max(...all) - Math.min(...all) <= 8,
      `one and the same, as they are asked for one after the other: ${all}`,
    );
  }
});
