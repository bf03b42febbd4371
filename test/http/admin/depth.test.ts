/** One channel in depth: what became of its sources, its tape with titles at their places, who hears which second of it, how listeners ended. Also with workers. */

import t from 'tap';
import { ADMIN_USERS, AdminClient } from '../../kit/admin-client.js';
import { Feeder } from '../../kit/feeder.js';
import { Player } from '../../kit/player.js';
import { demoYaml, startServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

const PATIENCE_MS = 20_000;
/** Of a listener's place, and of two answers that were made one behind the other. */
const SLACK_MS = 2500;

t.test('sources, tape, titles and listeners of one channel', async (t) => {
  const server = await startServer(t, demoYaml(`${ADMIN_USERS}\nstreams: { burstSeconds: 3, lagSeconds: 30 }`));
  const admin = new AdminClient(server);
  const studio = async () => (await admin.get('channels/studio')).body;
  const push = async (song: string) => {
    const { status } = await admin.post('channels/studio/titles', { artist: 'A', song, duration: 600 });
    t.equal(status, 200);
  };
  await until(async () => (await studio()).onAir === 1, PATIENCE_MS);
  const feeder = new Feeder(t, server.port, '/studio.mp3').stream(t);
  await until(async () => (await studio()).onAir === 0, PATIENCE_MS);
  await until(async () => (await studio()).tape?.heldMs >= 5000, PATIENCE_MS);
  const players = ['One', 'Two', 'Three'].map((agent) => new Player(server.port, '/studio.mp3', { agent }));
  for (const player of players) await player.until(({ audioBytes }) => audioBytes > 0, PATIENCE_MS);
  await push('first');
  await push('second');

  await until(async () => (await studio()).titles.length >= 2, PATIENCE_MS);
  const atOnce = await studio();
  t.match(
    atOnce.titles.map(({ title }: { title: string }) => title).slice(-2),
    ['A - first', 'A - second'],
    'in the order of the tape',
  );
  const { heldMs, bytes, segments, metaint } = atOnce.tape;
  t.ok(heldMs > 4000 && heldMs <= 30_000, `${heldMs} ms of audio`);
  t.ok(Math.abs(bytes / (heldMs * 16) - 1) < 0.02, `${bytes} bytes of 128 kb/s`);
  t.ok(segments >= 4);
  t.equal(metaint, players[0]!.metaint);
  const { behindMs } = atOnce.titles.at(-1);
  t.ok(behindMs >= -1000 && behindMs < 6000, `the last is ${behindMs} ms behind`);

  // They hear what is a burst behind: the title that is on air later than the apps of the channel show it.
  const hears = async () => (await admin.get('listeners?channel=studio')).body.listeners;
  const [listener] = await hears();
  t.ok(listener.lagMs > 3000 - SLACK_MS && listener.lagMs < 3000 + SLACK_MS, `${listener.lagMs} ms behind`);
  await until(async () => (await hears()).every((each: { hears: string }) => each.hears === 'A - second'), PATIENCE_MS);
  const { bySecondsBehind } = await studio();
  t.equal(
    bySecondsBehind.reduce((sum: number, each: number) => sum + each, 0),
    3,
  );
  t.ok(bySecondsBehind.length >= 2 && bySecondsBehind.length <= 7, `heard so far behind: ${bySecondsBehind}`);

  await admin.post('listeners/end', { channel: 'studio', agent: 'One' });
  players[1]!.close();
  await until(async () => (await studio()).endings.left === 1, PATIENCE_MS);
  t.match((await studio()).endings, { operator: 1, left: 1, lagged: 0 });
  t.match((await admin.get('channels/demo')).body.endings, { operator: 0, left: 0 }, 'of another channel nothing');

  feeder.socket.destroy();
  await until(async () => (await studio()).onAir === 1, PATIENCE_MS);
  const { timeline } = await studio();
  const plays = timeline.filter(({ what }: { what: string }) => what === 'on-air');
  t.match(
    plays.map(({ kind }: { kind: string }) => kind),
    ['file', 'encoder', 'file'],
    'the moment between two is none',
  );
  t.match(plays[1], { place: 0, reason: 'has bytes', isOver: false, count: 1 });
  t.ok(plays[0].atMs <= plays[1].atMs && plays[1].atMs < plays[2].atMs && plays[2].atMs <= Date.now());
  players[2]!.close();
});

t.test('the title in force, and whether it can be corrected', async (t) => {
  const server = await startServer(t, demoYaml(ADMIN_USERS));
  const admin = new AdminClient(server);
  const now = async (channel: string) => (await admin.get(`channels/${channel}`)).body.now;
  t.equal(await now('demo'), null);
  const push = (fields: object) =>
    admin.post('channels/demo/titles', { artist: 'Nina', song: 'Sinnerman', duration: 600, ...fields });
  const { body } = await push({ id: 'one', album: 'Pastel Blues', cover: 'https://x.example/c.jpg' });
  const about = { artist: 'Nina', song: 'Sinnerman', album: 'Pastel Blues', cover: 'https://x.example/c.jpg' };
  const sent = { id: 'one', title: 'Nina - Sinnerman', ...about, durationSeconds: 600, source: 'metapush' };
  t.same(Object.keys(await now('demo')), [...Object.keys(sent), 'sinceMs', 'isCorrectable']);
  t.match(await now('demo'), { ...sent, isCorrectable: true });
  const { sinceMs } = await now('demo');
  t.ok(Math.abs(sinceMs - body.start_timestamp * 1000) < 2000);
  await push({ id: 'one', song: 'Sinnerman (live)' });
  t.match(await now('demo'), { ...sent, title: 'Nina - Sinnerman (live)', song: 'Sinnerman (live)', sinceMs });

  await push({ id: 'two', duration: 1 });
  t.equal((await now('demo')).isCorrectable, true);
  await until(async () => !(await now('demo')).isCorrectable, PATIENCE_MS);
  t.equal((await now('demo')).id, 'two', 'it has run out, and is still in force');

  // A title of the encoder is its own: a push with that id would be another play.
  const feeder = new Feeder(t, server.port, '/studio.mp3').stream(t);
  await until(async () => (await admin.get('channels/studio')).body.onAir === 0, PATIENCE_MS);
  const login = `Basic ${btoa('source:demo-source')}`;
  const path = '/admin/metadata?mount=/studio.mp3&mode=updinfo&song=A%20-%20B';
  const answer = await fetch(`${server.base}${path}`, { headers: { Authorization: login } });
  t.equal(answer.status, 200);
  await answer.body?.cancel();
  await until(async () => (await now('studio'))?.title === 'A - B', PATIENCE_MS);
  t.match(await now('studio'), { source: 'encoder', artist: 'A', song: 'B', isCorrectable: false });
  feeder.socket.destroy();
});
