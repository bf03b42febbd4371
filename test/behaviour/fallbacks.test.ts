/** What plays in the place of a channel without audio, as an operator has set it. Real listeners, whose streams are taken apart. Also with workers. */

import t, { type Test } from 'tap';
import type { Mount } from '../../src/channel/mount.js';
import { Fallbacks } from '../../src/http/stream/fallbacks.js';
import { ADMIN_LOGIN, ADMIN_USERS, AdminClient } from '../kit/admin-client.js';
import { Feeder, framesIn } from '../kit/feeder.js';
import { readBack } from '../kit/icy.js';
import { keepLines } from '../kit/log-lines.js';
import { pause } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { atOnce, DEMO_AUDIO, demoYaml, startServer, type TestServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

// They wait more than they compute.
t.jobs = atOnce(4);

const ENCODER = '{ type: encoder, password: demo-source, titlesWhileAway: true }';
const YAML = demoYaml(`
      live: { bitrateKbps: 128, mounts: [/live.mp3], sources: [${ENCODER}] }
      spare: { bitrateKbps: 128, mounts: [/spare.mp3], sources: [${ENCODER}] }
      other: { bitrateKbps: 128, metaint: 8192, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      small: { bitrateKbps: 128, maxListeners: 1, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
streams: { startTimeoutSeconds: 2 }
${ADMIN_USERS}`);
/** A frame that is cut, its head apart, and what begins in the middle of one. */
const CUT_BYTES = 417;

class Station {
  readonly server: TestServer;
  readonly admin: AdminClient;
  readonly #t: Test;

  private constructor(t: Test, server: TestServer) {
    this.#t = t;
    this.server = server;
    this.admin = new AdminClient(server);
  }

  static async start(t: Test, yaml = YAML, ...more: [folder?: string, log?: ReturnType<typeof keepLines>['log']]) {
    const station = new Station(t, (await startServer(t, yaml, ...more)).one);
    for (const channel of ['live', 'spare', 'demo'])
      await station.admin.post(`channels/${channel}/titles`, { artist: '', song: channel, duration: 600 });
    return station;
  }

  async onAir(path: string): Promise<Feeder> {
    const feeder = new Feeder(this.#t, this.server.port, path).stream(this.#t);
    await until(async () => (await this.channel(path.slice(1).replace('.mp3', ''))).silentSinceMs === null, 8000);
    return feeder;
  }

  // biome-ignore lint/suspicious/noExplicitAny: as it comes
  async channel(key: string): Promise<any> {
    return (await this.admin.get(`channels/${key}`)).body;
  }

  async stands(channel: string, to: string): Promise<void> {
    const { status } = await this.admin.ask('PUT', `channels/${channel}/fallback`, { to });
    this.#t.equal(status, 200, `${to} stands in for ${channel}`);
  }

  async listeners(channel: string): Promise<number> {
    return (await this.admin.get(`listeners?channel=${channel}`)).body.total;
  }

  async untilOn(channel: string, count: number): Promise<void> {
    let seen = -1;
    await until(
      async () => (seen = await this.listeners(channel)) === count,
      12_000,
      () => `${seen} on ${channel}, not ${count}`,
    );
  }

  listen(path: string, icy = true, headers = ''): Player {
    const player = new Player(this.server.port, path, { icy, keep: true, agent: `icy ${icy}`, headers });
    this.#t.teardown(() => player.close());
    return player;
  }

  /** It gets audio, as fast as that plays. */
  async hears(player: Player): Promise<void> {
    const from = player.audioBytes;
    await player.until(({ audioBytes }) => audioBytes > from + 48_000, 12_000);
    this.#t.notOk(player.closed);
  }
}

const SAFARI = 'X-Playback-Session-Id: one\r\n';
const titlesOf = ({ titles }: Player) => titles.map(({ title }) => title);

t.test('listeners go where there is audio, and come back, without a cut', async (t) => {
  const station = await Station.start(t);
  const studio = await station.onAir('/live.mp3');
  await station.stands('live', '/demo.mp3');
  t.match(await station.channel('live'), { fallback: '/demo.mp3' });
  const [titled, plain, guest] = [
    station.listen('/live.mp3?metaid=abcdefghijkl'),
    station.listen('/live.mp3', false, SAFARI),
    station.listen('/demo.mp3', true, SAFARI),
  ];
  for (const player of [titled, plain, guest]) await station.hears(player);
  await station.untilOn('live', 2);
  const heard = async () => {
    const answer = await fetch(`${station.server.base}/metadata/listener/abcdefghijkl.json`);
    return (await answer.json()) as { song: string; session: string; position: string };
  };
  const before = await heard();
  t.equal(before.song, 'live');
  studio.socket.destroy();
  await station.untilOn('demo', 3);
  const counts = async () => {
    const text = await (await fetch(`${station.server.base}/status-json.xsl?mount=/demo`)).text();
    return /"connections":(\d+).*?"listeners":(\d+)/.exec(text)?.slice(1).join(' ');
  };
  await until(
    async () => (await counts()) === '3 2',
    5000,
    () => 'what makes two connections one listener goes along',
  );
  for (const player of [titled, plain]) await station.hears(player);
  await titled.until((player) => titlesOf(player).at(-1) === 'demo');
  await until(async () => (await heard()).song === 'demo', 12_000);
  const playedMs = performance.now() - titled.firstByteMs;
  const { session, position } = await heard();
  t.equal(session, before.session, 'readers of its titles have gone along');
  t.ok(Number(position) > 3000, `its position counts on: ${position}`);
  t.ok(playedMs > Number(position) - 100, `heard after ${playedMs} ms, not when it is sent: ${position}`);

  // Who comes now is served at once, and goes along later.
  const newcomer = station.listen('/live.mp3');
  await station.hears(newcomer);
  const head = await fetch(`${station.server.base}/live.mp3`, { method: 'HEAD' });
  t.equal(head.status, 200);
  t.match(titlesOf(newcomer), ['demo']);

  await station.onAir('/live.mp3');
  await station.untilOn('live', 3);
  for (const player of [titled, plain, newcomer, guest]) await station.hears(player);
  await titled.until((player) => titlesOf(player).at(-1) === 'live');
  t.same(titlesOf(titled), ['live', 'demo', 'live']);
  t.same(titlesOf(guest), ['demo'], 'whose channel it is stays there');
  for (const player of [titled, newcomer]) {
    const { skippedBytes } = framesIn(readBack(player.body, player.metaint).audio);
    t.ok(skippedBytes <= CUT_BYTES, `no frame is cut but the last: ${skippedBytes} bytes`);
  }
  t.ok(framesIn(plain.audio).skippedBytes <= 417, 'without titles no frame is cut but the last');
  for (const player of [titled, plain, newcomer, guest]) player.close();
  for (const key of ['live', 'demo'])
    await until(
      async () => (await station.channel(key)).connections === 0,
      8000,
      () => `places on ${key} are left`,
    );
});

t.test('it is set and taken away by both interfaces, told, and kept', async (t) => {
  const { log, lines } = keepLines();
  const folder = tempFolder(t);
  const station = await Station.start(t, YAML, folder, log);
  const { admin, server } = station;
  const icecast = async (query: string) => {
    const url = `${server.base}/admin/fallbacks?${query}`;
    return await (await fetch(url, { headers: { Authorization: ADMIN_LOGIN, 'User-Agent': 'script' } })).text();
  };
  t.match(await icecast('mount=/live.mp3&fallback=/demo.mp3'), /Fallback configured.*<return>1/);
  t.match(await station.channel('live'), { fallback: '/demo.mp3' });
  t.match(await icecast('mount=/live.mp3&fallback='), /Fallback configured/);
  t.match(await station.channel('live'), { fallback: null });
  const put = (channel: string, body: unknown) => admin.ask('PUT', `channels/${channel}/fallback`, body);
  t.match(await put('live', { to: '/demo' }), { status: 200, body: { channel: 'live', to: '/demo', by: 'all' } });
  t.equal((await put('none', { to: '/demo' })).status, 404);
  t.equal((await put('live', { to: '/none' })).status, 404);
  t.equal((await put('live', { to: '/live.mp3' })).status, 409, 'itself');
  t.equal((await put('live', { to: 'demo' })).status, 422);
  for (const as of ['read', 'titles'] as const) {
    t.equal((await new AdminClient(server, as).ask('PUT', 'channels/live/fallback', { to: '/demo' })).status, 403);
    t.equal((await new AdminClient(server, as).delete('channels/live/fallback')).status, 403);
  }
  t.match(await station.channel('live'), { fallback: '/demo' });
  await until(() => lines.some(({ act }) => act === 'set fallback'), 5000);
  t.match(
    lines.find(({ act }) => act === 'set fallback'),
    { user: 'all', channel: 'live', to: '/demo', outcome: 'done', level: 'info' },
  );
  await server.app.stop();
  const again = (await startServer(t, YAML, folder)).one;
  t.match((await new AdminClient(again).get('channels/live')).body, { fallback: '/demo' }, 'after a start');
  t.equal((await new AdminClient(again).delete('channels/live/fallback')).status, 204);
  t.equal((await new AdminClient(again).delete('channels/live/fallback')).status, 404);
});

t.test('a circle, a chain, and what is away itself', async (t) => {
  const station = await Station.start(t);
  const [live, spare] = [await station.onAir('/live.mp3'), await station.onAir('/spare.mp3')];
  await station.stands('live', '/spare.mp3');
  await station.stands('spare', '/live.mp3');
  const player = station.listen('/live.mp3');
  await station.hears(player);
  live.socket.destroy();
  await station.untilOn('spare', 1);
  await station.hears(player);
  spare.socket.destroy();
  await until(async () => (await station.channel('spare')).silentSinceMs !== null, 5000);
  const refused = station.listen('/live.mp3');
  await refused.until(({ status }) => status === 503);
  // A third one at the end of the chain, while both are away.
  await station.stands('spare', '/demo.mp3');
  await station.untilOn('demo', 1);
  await station.hears(player);
  await station.onAir('/spare.mp3');
  await station.untilOn('spare', 1);
  await station.onAir('/live.mp3');
  await station.untilOn('live', 1);
  await station.hears(player);
  t.notOk(player.closed);
});

t.test('a fallback on demand is started by who comes, and those who wait where they are follow', async (t) => {
  const far = await startServer(t, demoYaml());
  const pull = `{ type: pull, url: '${far.base}/demo.mp3', onDemand: true }`;
  const station = await Station.start(
    t,
    YAML.replace('streams:', `      far: { bitrateKbps: 128, sources: [${pull}] }\nstreams:`),
  );
  await station.stands('live', '/far');
  const feeder = await station.onAir('/live.mp3');
  const first = new Player(station.server.port, '/live.mp3', { icy: true, keep: true });
  await first.until((one) => one.audioBytes > 0);
  feeder.socket.destroy();
  await until(async () => (await station.channel('live')).silentSinceMs !== null, 8000);
  const second = new Player(station.server.port, '/live.mp3', { icy: true, keep: true });
  await second.until((one) => one.audioBytes > 20_000);
  t.equal(second.status, 200);
  await station.untilOn('far', 2);
  for (const player of [first, second]) player.close();
});

t.test('who comes from a source on demand returns to it: it is tried as long as somebody is away', async (t) => {
  const far = await startServer(t, YAML);
  const onAir = async () => {
    const feeder = new Feeder(t, far.port, '/live').stream(t);
    await until(async () => (await fetch(`${far.base}/live`, { method: 'HEAD' })).status === 200, 8000);
    return feeder;
  };
  const feeder = await onAir();
  const pull = `{ type: pull, url: '${far.base}/live', onDemand: true, lingerSeconds: 1, retrySeconds: { min: 1, max: 1 } }`;
  const station = await Station.start(
    t,
    YAML.replace('streams:', `      far: { bitrateKbps: 128, sources: [${pull}] }\nstreams:`),
  );
  await station.stands('far', '/demo');
  const players = [station.listen('/far'), station.listen('/far')];
  for (const player of players) await station.hears(player);
  feeder.socket.destroy();
  await station.untilOn('demo', 2);
  // Longer than it lingers without listeners.
  await pause(3000);
  const again = await onAir();
  await station.untilOn('far', 2);
  for (const player of players) await station.hears(player);
  again.socket.destroy();
  await station.untilOn('demo', 2);
  for (const player of players) player.close();
  // Nobody wants it any more: it would be here within a second.
  await until(async () => (await station.channel('far')).connections === 0, 8000);
  await until(
    async () =>
      !(await (await fetch(`${station.server.base}/metrics`)).text()).includes('airsplice_listeners{channel="far"} 1'),
    8000,
  );
});

t.test('whom the other stream does not fit stays, and waits', async (t) => {
  const station = await Station.start(t);
  const studio = await station.onAir('/live.mp3');
  await station.stands('live', '/other');
  const [titled, plain] = [station.listen('/live.mp3'), station.listen('/live.mp3', false)];
  for (const player of [titled, plain]) await station.hears(player);
  t.not(titled.metaint, 8192);
  studio.socket.destroy();
  await station.untilOn('other', 1);
  await station.hears(plain);
  t.equal(await station.listeners('live'), 1);
  const newcomer = station.listen('/live.mp3');
  await station.hears(newcomer);
  t.equal(newcomer.metaint, 8192, 'a new one gets the head of what it hears');
  await station.onAir('/live.mp3');
  await station.untilOn('live', 2);
  await station.hears(titled);
  t.equal(await station.listeners('other'), 1, 'who began there stays there');
  t.notOk(titled.closed || newcomer.closed);
});

t.test('no room there, an operator’s move, and a fallback that is taken away', async (t) => {
  const station = await Station.start(t);
  await station.stands('live', '/small');
  const first = station.listen('/live.mp3');
  await station.hears(first);
  await station.untilOn('small', 1);
  // Other processes know of it a moment later.
  await until(async () => {
    const second = station.listen('/live.mp3');
    await second.until(({ status }) => status > 0, 8000);
    second.close();
    return second.status === 503;
  }, 8000);
  await station.untilOn('small', 1);
  t.match((await station.admin.post('listeners/move', { channel: 'small', to: 'demo' })).body, { moved: 1 });
  await station.untilOn('demo', 1);
  // So with the place that is free again.
  let third = station.listen('/live.mp3');
  await until(async () => {
    await third.until(({ status }) => status > 0, 8000);
    if (third.status === 200) return true;
    third = station.listen('/live.mp3');
    return false;
  }, 8000);
  await station.hears(third);
  t.equal((await station.admin.delete('channels/live/fallback')).status, 204);
  const fourth = station.listen('/live.mp3');
  await fourth.until(({ status }) => status === 503, 8000);
  await station.hears(third);
  await station.onAir('/live.mp3');
  await station.untilOn('live', 1);
  await station.hears(third);
  t.equal(await station.listeners('demo'), 1, 'who was moved has another home');
});

t.test('which mounts stand in, in order', async (t) => {
  const at = (key: string) => ({ path: `/${key}`, audio: { key } }) as Mount;
  const fallbacks = new Fallbacks(new Map(['a', 'b', 'c'].map((key) => [`/${key}`, at(key)])));
  const of = (channel: string) => fallbacks.of(channel).map(({ path }) => path);
  t.same(of('a'), []);
  fallbacks.set([
    { channel: 'a', to: '/b' },
    { channel: 'b', to: '/c' },
    { channel: 'c', to: '/a' },
  ]);
  t.same(of('a'), ['/b', '/c']);
  t.same(of('b'), ['/c', '/a']);
  fallbacks.set([
    { channel: 'a', to: '/gone' },
    { channel: 'b', to: '/b' },
  ]);
  t.same([of('a'), of('b'), of('none')], [[], [], []]);
});
