/** What an operator has set to stand in for a channel, over a rolling restart: for listeners of before, which old workers keep, and for new ones. */

import t from 'tap';
import { ADMIN_USERS, AdminClient } from '../kit/admin-client.js';
import { Feeder, framesIn } from '../kit/feeder.js';
import { readBack } from '../kit/icy.js';
import { Machine, onePerWorker, RESTARTED_MS } from '../kit/machine.js';
import { Player } from '../kit/player.js';
import { DEMO_AUDIO } from '../kit/server.js';
import { until } from '../kit/until.js';

const yaml = (port: number) => `
addresses: [{ host: 127.0.0.1, port: ${port} }]
shutdown: { drainSeconds: 3600 }
demoSecretsInPublic: 'yes, anybody may push and stream to this server'
stations:
  house:
    channels:
      studio: { bitrateKbps: 128, pushTokens: [studio-token], sources: [{ type: encoder, password: demo-source }] }
      demo: { bitrateKbps: 128, pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
${ADMIN_USERS}`;
const lastTitle = ({ titles }: Player) => titles.at(-1)?.title ?? '';

t.test('a fallback is in force before, during and after a rolling restart', async (t) => {
  const machine = await Machine.start(t, yaml);
  const { port } = machine;
  const admin = () => new AdminClient({ base: `http://127.0.0.1:${port}` });
  for (const channel of ['studio', 'demo']) t.equal(await machine.push(channel, channel), 200);
  const studio = new Feeder(t, port, '/studio').stream(t, 40);
  await until(() => machine.logged('"heard":"encoder"') === 1, RESTARTED_MS);
  t.equal((await admin().ask('PUT', 'channels/studio/fallback', { to: '/demo' })).status, 200);
  const players = [...(await onePerWorker(t, machine, '/studio')).values()];
  const all = (title: string) => until(() => players.every((player) => lastTitle(player) === title), RESTARTED_MS);
  await all('studio');
  studio.socket.destroy();
  await all('demo');

  const before = new Set(machine.pidsOf('worker'));
  machine.server.child.kill('SIGUSR2');
  await until(() => machine.logged('"restarted"') === 1, RESTARTED_MS);
  t.ok(
    machine.ownersOf(players).every((pid) => before.has(pid)),
    'the old workers still have them',
  );
  t.match((await admin().get('channels/studio')).body, { fallback: '/demo' });
  const newcomer = new Player(port, '/studio', { keep: true });
  t.teardown(() => newcomer.close());
  players.push(newcomer);
  await all('demo');
  t.notOk(before.has(machine.ownerOf(newcomer)));

  new Feeder(t, port, '/studio').stream(t, 40);
  await until(() => machine.logged('"heard":"encoder"') === 2, RESTARTED_MS);
  await machine.push('back', 'studio');
  await all('back');
  for (const player of players) {
    const from = player.audioBytes;
    await player.until(({ audioBytes }) => audioBytes > from + 48_000, RESTARTED_MS);
    t.notOk(player.closed);
    t.ok(framesIn(readBack(player.body, player.metaint).audio).skippedBytes < 3000, 'frames all along');
  }
});
