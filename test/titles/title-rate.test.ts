/** Titles of encoders and upstreams come as fast as they like: they are taken at the pace of pushes, and the newest is never lost. */

import t, { type Test } from 'tap';
import { Rate } from '../../src/net/limits/rate.js';
import { TitleRate } from '../../src/titles/title-rate.js';
import { FakeClock } from '../kit/clock.js';
import { Feeder } from '../kit/feeder.js';
import { Player } from '../kit/player.js';
import { Random } from '../kit/random.js';
import { demoYaml, startServer, type TestServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { audioOf, FRAME_BYTES, icyBody, streamHead, Upstream } from '../kit/upstream.js';
import { ask } from '../kit/wire.js';

/** As the title service uses it, on a false clock; 60 a minute, 2 at once. */
function setUp() {
  const clock = new FakeClock();
  const taken: string[] = [];
  let held = 0;
  const rate = new TitleRate(clock, new Rate(clock, { perMinute: 60, burst: 2, remembered: 4 }), () => held++);
  const offer = (title: string, { channel = 'a', origin = 'upstream', isNew = true } = {}) =>
    rate.offer(channel, origin, async () => {
      if (isNew) taken.push(title);
      return isNew;
    });
  return { clock, rate, taken, offer, held: () => held };
}

t.test('at the limit and one past it: the newest waits, and comes as soon as there is room', async (t) => {
  const { clock, taken, offer, held } = setUp();
  await offer('one');
  await offer('two');
  t.same(taken, ['one', 'two']);
  await offer('three');
  await offer('four');
  await offer('five');
  t.same(taken, ['one', 'two'], 'its sender waits for nothing');
  t.equal(held(), 3);
  clock.advance(960);
  t.same(taken, ['one', 'two']);
  clock.advance(80);
  t.same(taken, ['one', 'two', 'five']);
  await offer('six');
  t.same(taken, ['one', 'two', 'five'], 'it has taken the room that there was');
  clock.advance(1000);
  t.same(taken, ['one', 'two', 'five', 'six']);
  clock.advance(60_000);
  t.same(taken, ['one', 'two', 'five', 'six'], 'once');
  for (const title of ['seven', 'eight']) await offer(title);
  await offer('eight', { isNew: false });
  clock.advance(1040);
  await new Promise((next) => setImmediate(next));
  await offer('nine');
  t.same(taken.slice(4), ['seven', 'eight', 'nine'], 'one that waited and says nothing new has cost none');
});

t.test('each channel and each title source has its own limit, and what says nothing new costs none', async (t) => {
  const { taken, offer } = setUp();
  for (let i = 0; i < 10; i++) await offer('again', { isNew: false });
  await offer('one');
  await offer('two');
  await offer('three', { origin: 'encoder' });
  await offer('four', { channel: 'b' });
  t.same(taken, ['one', 'two', 'three', 'four']);
});

t.test('a title that finds room takes the place of the one that waits; the end takes what waits', async (t) => {
  const { clock, rate, taken, offer } = setUp();
  clock.advance(20);
  for (const title of ['one', 'two', 'three']) await offer(title);
  // There is room from here on, and the alarm rings at the next tick.
  clock.advance(1000);
  await offer('four');
  t.same(taken, ['one', 'two', 'four']);
  await offer('five');
  await rate.close();
  t.same(taken, ['one', 'two', 'four', 'five']);
  clock.advance(60_000);
  t.same(taken, ['one', 'two', 'four', 'five']);
});

async function historyOf({ base }: TestServer, channel: string): Promise<{ song: string }[]> {
  return (await (await fetch(`${base}/metadata/channel/${channel}/history.json?limit=1000`)).json()) as {
    song: string;
  }[];
}

async function inForce(t: Test, server: TestServer, channel: string, last: string, startMs: number): Promise<void> {
  const songs = async () => (await historyOf(server, channel)).map(({ song }) => song);
  await until(
    async () => (await songs())[0] === last,
    20_000,
    () => `${last} is not in force`,
  );
  const all = await songs();
  // 5 at once, then one a second.
  const most = 5 + Math.ceil((performance.now() - startMs) / 1000) + 1;
  t.ok(all.length <= most, `${all.length} titles were taken, ${most} may be`);
  const metrics = await (await fetch(`${server.base}/metrics`)).text();
  const held = new RegExp(`airsplice_titles_held_total\\{channel="${channel}"\\} (\\d+)`).exec(metrics);
  t.ok(Number(held?.[1]) > 10, `${held?.[0]}`);
}

const LIMITS = '\nlimits: { pushesPerMinute: 60, pushBurst: 5 }';

t.test('an upstream with a new title every 16 bytes: its audio flows, its last title is in force', async (t) => {
  const upstream = await Upstream.open(t);
  const audio = audioOf(new Random(), 240);
  const blocks = Math.floor(audio.length / 16);
  const texts = new Map(Array.from({ length: blocks }, (_, i) => [i, `StreamTitle='title ${i}';`]));
  upstream.answer = (socket) => {
    socket.write(streamHead(16));
    socket.write(icyBody(audio, 16, texts));
    // Then it goes on in real time, with the same title.
    let frames = 0;
    const rest = setInterval(() => {
      if (socket.destroyed) return clearInterval(rest);
      const last = new Map([[0, `StreamTitle='title ${blocks - 1}';`]]);
      socket.write(icyBody(audio.subarray(0, 4 * FRAME_BYTES - ((4 * FRAME_BYTES) % 16)), 16, last));
      if (++frames > 300) clearInterval(rest);
    }, 104);
    t.teardown(() => clearInterval(rest));
  };
  const server = await startServer(
    t,
    `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations: { demo: { channels: { relay: { sources: [{ type: pull, url: '${upstream.url}' }] } } } }${LIMITS}`,
  );
  const startMs = performance.now();
  const player = new Player(server.port, '/relay');
  t.teardown(() => player.close());
  await player.until((p) => p.audioBytes > audio.length / 2, 5000);
  await inForce(t, server, 'relay', `title ${blocks - 1}`, startMs);
  await player.until((p) => p.titles.at(-1)?.title === `title ${blocks - 1}`, 20_000);
});

t.test('a title of an upstream is cut as an encoder’s is, at limits.textBytes for each part', async (t) => {
  const upstream = await Upstream.open(t);
  const audio = audioOf(new Random(), 240);
  const [artist, song] = ['\u0301'.repeat(5).concat('ä'.repeat(900)), 'x'.repeat(1900)];
  const title = `${artist} - ${song}`;
  upstream.answer = (socket) => {
    socket.write(streamHead(audio.length));
    socket.write(icyBody(Buffer.concat([audio, audio]), audio.length, new Map([[0, `StreamTitle='${title}';`]])));
  };
  const server = await startServer(
    t,
    `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations: { demo: { channels: { relay: { sources: [{ type: pull, url: '${upstream.url}' }] } } } }`,
  );
  await until(async () => (await historyOf(server, 'relay')).length > 0, 10_000);
  const [entry] = await historyOf(server, 'relay');
  t.equal(entry!.song, 'x'.repeat(1024));
});

t.test('a flood of /admin/metadata, with the encoder there', async (t) => {
  const server = await startServer(t, demoYaml(LIMITS));
  const feeder = new Feeder(t, server.port, '/studio.mp3').stream(t);
  await feeder.answered();
  const startMs = performance.now();
  const login = `Authorization: Basic ${Buffer.from('source:demo-source').toString('base64')}`;
  for (let i = 0; i < 100; i++) {
    const query = `mount=/studio.mp3&mode=updinfo&song=t${i}`;
    const answer = await ask(t, server.port, `GET /admin/metadata?${query} HTTP/1.0\n${login}`);
    t.equal(answer.status, 200);
  }
  await inForce(t, server, 'studio', 't99', startMs);
});
