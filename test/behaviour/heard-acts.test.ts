/** What operators do with audio that listeners hear: another source, another channel. Also with workers. */

import t from 'tap';
import { ADMIN_USERS, AdminClient } from '../kit/admin-client.js';
import { Feeder, framesIn } from '../kit/feeder.js';
import { readBack } from '../kit/icy.js';
import { Player } from '../kit/player.js';
import { DEMO_AUDIO, demoYaml, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';

const YAML = demoYaml(`
      other: { bitrateKbps: 128, metaint: 8192, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
${ADMIN_USERS}`);

t.test('an operator chooses a source, until it is released or lost', async (t) => {
  const server = await startServer(t, YAML);
  const admin = new AdminClient(server);
  const onAir = async () => {
    const { onAir, pinned } = (await admin.get('channels/studio')).body;
    return `${onAir} ${pinned}`;
  };
  t.equal((await admin.post('channels/studio/source', { place: 0 })).status, 409, 'no encoder is there');
  t.equal((await admin.post('channels/studio/source', { place: 2 })).status, 404);
  const feeder = new Feeder(t, server.port, '/studio.mp3');
  feeder.stream(t);
  await until(async () => (await onAir()) === '0 null', 5000);
  const sinceMs = async (): Promise<number> => (await admin.get('channels/studio')).body.onAirSinceMs;
  const fedSinceMs = await sinceMs();
  const player = new Player(server.port, '/studio.mp3', { keep: true });
  await player.until(({ audioBytes }) => audioBytes > 100_000);
  t.equal((await admin.post('channels/studio/source', { place: 1 })).status, 200);
  await until(async () => (await onAir()) === '1 1', 5000);
  t.equal(await sinceMs(), fedSinceMs, 'the channel is fed without a gap');
  const before = player.audioBytes;
  await player.until(({ audioBytes }) => audioBytes > before + 32_000, 8000);
  t.equal(await onAir(), '1 1', 'the encoder is better, and waits');
  t.equal((await admin.delete('channels/studio/source')).status, 200);
  await until(async () => (await onAir()) === '0 null', 5000);
  t.equal((await admin.post('channels/studio/source', { place: 0 })).status, 200);
  t.equal(await onAir(), '0 0');
  feeder.socket.destroy();
  await until(
    async () => (await onAir()) === '1 null',
    5000,
    () => 'what was chosen is lost',
  );
  const again = new Feeder(t, server.port, '/studio.mp3');
  again.stream(t);
  await until(async () => (await onAir()) === '0 null', 8000);
  t.notOk(player.closed);
  player.close();
});

t.test('listeners are moved without a cut, and their titles stay in place', async (t) => {
  const server = await startServer(t, YAML);
  const admin = new AdminClient(server);
  for (const channel of ['demo', 'studio'])
    await admin.post(`channels/${channel}/titles`, { artist: '', song: channel, duration: 600 });
  const players = [true, false].map(
    (icy) => new Player(server.port, '/demo.mp3', { icy, keep: true, agent: `icy ${icy}` }),
  );
  for (const player of players) await player.until(({ audioBytes }) => audioBytes > 100_000);
  t.same((await admin.post('listeners/move', { channel: 'demo', to: 'studio' })).body, { moved: 2, refused: 0 });
  await until(async () => (await admin.get('listeners?channel=studio')).body.total === 2, 8000);
  await until(async () => (await admin.get('channels/demo')).body.connections === 0, 5000);
  for (const player of players) {
    const from = player.audioBytes;
    await player.until(({ audioBytes }) => audioBytes > from + 64_000, 10_000);
    t.notOk(player.closed);
  }
  const [titled, plain] = players;
  await titled!.until(({ titles }) => titles.at(-1)?.title === 'studio');
  t.same(
    titled!.titles.map(({ title }) => title),
    ['demo', 'studio'],
  );
  const { audio } = readBack(titled!.body, titled!.metaint);
  t.ok(
    framesIn(audio).skippedBytes < 1100,
    `of the one frame that is cut ${framesIn(audio).skippedBytes} bytes are left`,
  );
  t.ok(framesIn(plain!.audio).skippedBytes <= 417, 'without titles no frame is cut but the last');
  t.match((await admin.get('listeners?channel=studio')).body.listeners, [{ mount: '/studio' }, { mount: '/studio' }]);
  t.same(
    (await admin.post('listeners/move', { channel: 'studio', to: 'other' })).body,
    { moved: 1, refused: 1 },
    'another metaint',
  );
  await until(async () => (await admin.get('listeners?channel=other')).body.total === 1, 8000);
  t.equal((await admin.post('listeners/move', { channel: 'studio', to: 'nowhere' })).status, 404);
  t.notOk(titled!.closed || plain!.closed);
  for (const player of players) player.close();
  await until(async () => (await admin.get('channels/studio')).body.connections === 0, 5000);
  await until(async () => (await admin.get('channels/demo')).body.connections === 0, 5000);
});
