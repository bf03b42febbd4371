/** Who joins in the very moment in which an encoder goes, and the file behind it has not begun yet: gets the stream like all others. */

import t from 'tap';
import { Feeder } from '../kit/feeder.js';
import { pause } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { DEMO_AUDIO, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';

const YAML = `
addresses: [{ host: 127.0.0.1, port: 0 }]
streams: { burstSeconds: 1 }
stations: { s: { channels: { live: { sources: [{ type: encoder, password: demo-source }, { type: file, path: ${DEMO_AUDIO} }] } } } }
`;
const SWITCHES = 6;
const JOINS = 30;

t.test('nobody is sent away at a switch', async (t) => {
  const { port, base } = await startServer(t, YAML);
  await until(async () => (await fetch(`${base}/live`, { method: 'HEAD' })).status === 200, 10_000);
  const statuses = new Map<number, number>();
  for (let round = 0; round < SWITCHES; round++) {
    const feeder = new Feeder(t, port, '/live').stream(t);
    t.equal(await feeder.answered(), 200);
    await pause(500);
    feeder.socket.destroy();
    const players: Player[] = [];
    for (let i = 0; i < JOINS; i++) {
      players.push(new Player(port, '/live'));
      await pause(3);
    }
    for (const player of players) {
      await player.until(({ status }) => status !== 0);
      statuses.set(player.status, (statuses.get(player.status) ?? 0) + 1);
      player.close();
    }
  }
  t.strictSame([...statuses], [[200, SWITCHES * JOINS]]);
});
