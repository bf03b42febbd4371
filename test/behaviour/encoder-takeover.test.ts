/**
 * What becomes of a channel when its encoder goes and another connection takes its place, seen from listeners and from titles: the
 * whole server, bare sockets, the demo's audio.
 */

import t, { type Test } from 'tap';
import { DEMO_FRAMES, Feeder, framesIn } from '../kit/feeder.js';
import { LoopDelay } from '../kit/loop-delay.js';
import { pause, quietFor } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { Random } from '../kit/random.js';
import { restartStory } from '../kit/restarts.js';
import { atOnce, DEMO_AUDIO, metricsOf, startServer, type TestServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { arrived } from '../kit/wire.js';

// They wait more than they compute.
t.jobs = atOnce(8);

/** Long enough that who has just sent something is not silent, however busy the machine is. */
const STALL_MS = 2000;
/** Too short to be a wait for another silence. */
const AT_ONCE_MS = STALL_MS * 0.9;
const FRAME_MS = 1152 / 44.1;
const yaml = (encoder: string, more = '') => `
addresses: [{ host: 127.0.0.1, port: 0 }]
streams: { burstSeconds: 1 }
sources: { stallMs: ${STALL_MS}, bodyTimeoutSeconds: 30 }
stations:
  demo:
    channels:
      live:
        metaint: 4000
        pushTokens: [studio-token]
        ${more}
        sources:
          - { type: encoder, password: demo-source, ${encoder} }
          - { type: file, path: ${DEMO_AUDIO} }
`;

/** Of all machines. */
async function metric(server: TestServer, name: string, labels: string): Promise<number> {
  const values = (await metricsOf(server)).map((text) => {
    const line = text
      .split('\n')
      .find((one) => one.startsWith(`${name}{`) && labels.split(' ').every((label) => one.includes(label)));
    return Number(line?.split(' ').at(-1) ?? Number.NaN);
  });
  return values.reduce((sum, value) => sum + value);
}

const heardEncoder = (server: TestServer) => metric(server, 'airsplice_source_heard', 'kind="encoder"');
const events = (server: TestServer, event: string) =>
  metric(server, 'airsplice_source_events_total', `kind="encoder" event="${event}"`);

async function listener(t: Test, server: TestServer): Promise<Player> {
  const player = new Player(server.port, '/live', { keep: true });
  t.teardown(() => player.close());
  await player.until((one) => one.audioBytes > 0);
  return player;
}

t.test('silent: a dead connection locks no client out, and one that still sends is not cut', async (t) => {
  const server = (await startServer(t, yaml('takeover: silent'))).one;
  const first = new Feeder(t, server.port, '/live').stream(t);
  t.equal(await first.answered(), 200);
  const player = await listener(t, server);
  const second = new Feeder(t, server.port, '/live');
  t.equal(await second.answered(), 409);
  t.notOk(first.closed, 'it goes on');

  const ghost = new Feeder(t, server.port, '/live', { password: 'wrong' });
  first.socket.destroy();
  await first.over();
  t.equal(await ghost.answered(), 401);
  let dead = new Feeder(t, server.port, '/live');
  while ((await dead.answered()) === 409) dead = new Feeder(t, server.port, '/live');
  t.equal(dead.status, 200);
  dead.send(2);
  const early = new Feeder(t, server.port, '/live');
  t.equal(await early.answered(), 409, 'it has only just sent something');
  await pause(STALL_MS + 200);
  const wrong = new Feeder(t, server.port, '/live', { password: 'wrong' });
  t.equal(await wrong.answered(), 401, 'only who knows the password');
  t.notOk(dead.closed || dead.ended);
  const late = new LoopDelay(t);
  const startMs = performance.now();
  const next = new Feeder(t, server.port, '/live').stream(t);
  t.equal(await next.answered(), 200);
  t.ok(performance.now() - startMs < AT_ONCE_MS + late.totalMs, 'at once');
  await dead.over();
  t.equal(await events(server, 'takeover'), 1);
  await until(async () => (await heardEncoder(server)) === 1, 5000);
  const bytes = player.audioBytes;
  await player.until((one) => one.audioBytes > bytes + 12_000);
  t.notOk(player.closed);
  t.equal(framesIn(player.audio).skippedBytes, 0, 'whole frames, and the ICY phase goes on');
});

t.test(
  'silent: who sends pieces of seconds is not dead between two of them, and is once they have been played',
  async (t) => {
    const [stallMs, pieceMs] = [500, 2500];
    const { one: server } = await startServer(
      t,
      yaml('takeover: silent').replace(`stallMs: ${STALL_MS}`, `stallMs: ${stallMs}`),
    );
    const first = new Feeder(t, server.port, '/live');
    await first.answered();
    const startMs = performance.now();
    first.send(Math.ceil(pieceMs / FRAME_MS));
    await until(() => performance.now() - startMs > stallMs + 500, 5000);
    const early = new Feeder(t, server.port, '/live');
    t.equal(await early.answered(), 409);
    t.notOk(first.closed || first.ended);
    let next = early;
    while ((await next.answered()) === 409) next = new Feeder(t, server.port, '/live');
    t.equal(next.status, 200);
    t.ok(performance.now() - startMs > pieceMs + stallMs - 100, 'not before');
    await first.over();
  },
);

t.test('always: the newcomer is on air at once and the first is cut; never: 409, however silent', async (t) => {
  const server = (await startServer(t, yaml('takeover: always'))).one;
  const first = new Feeder(t, server.port, '/live').stream(t);
  await first.answered();
  const player = await listener(t, server);
  const second = new Feeder(t, server.port, '/live', { from: 1000 }).stream(t);
  t.equal(await second.answered(), 200);
  await first.over();
  await until(async () => (await events(server, 'takeover')) === 1, 3000);
  const tail = (frame: Buffer) => frame.subarray(-48);
  await player.until((one) => one.audio.includes(tail(DEMO_FRAMES[1010]!)));
  const { frames, skippedBytes } = framesIn(player.audio);
  t.equal(skippedBytes, 0);
  const keys = frames.map((frame) => tail(frame).toString('hex'));
  const seam = keys.indexOf(tail(DEMO_FRAMES[1000]!).toString('hex'));
  t.ok(seam > 0, 'the second from its first frame on');
  const before = DEMO_FRAMES.findIndex((frame) => tail(frame).toString('hex') === keys[seam - 1]);
  t.ok(before >= 0 && before < 900, `straight behind a whole frame of the first, ${before}: no fallback between`);

  const strict = (await startServer(t, yaml('takeover: never'))).one;
  const mute = new Feeder(t, strict.port, '/live');
  t.equal(await mute.answered(), 200);
  await quietFor(STALL_MS + 200);
  t.equal(await new Feeder(t, strict.port, '/live').answered(), 409);
});

t.test('linger: who comes back in time is waited for; titles and the fallback title do not move', async (t) => {
  const fallback = 'fallback: { song: Nobody, whenSourceLost: true }';
  const server = (await startServer(t, yaml('lingerSeconds: 5', fallback))).one;
  const now = async () => {
    const answer = await fetch(`${server.base}/metadata/channel/live.json`);
    return answer.status === 200 ? ((await answer.json()) as { song: string }).song : await answer.text();
  };
  const first = new Feeder(t, server.port, '/live').stream(t);
  await first.answered();
  const player = await listener(t, server);
  await until(async () => (await heardEncoder(server)) === 1, 3000);
  await (await fetch(`${server.base}/metapush/live/studio-token?song=Song`)).arrayBuffer();
  await player.until((one) => one.titles.at(-1)?.title === 'Song');
  first.socket.destroy();
  const goneMs = performance.now();
  let flapped = '';
  while (performance.now() - goneMs < STALL_MS + 1000) {
    const song = await now();
    if (song !== 'Song') flapped = song;
    if ((await heardEncoder(server)) !== 1) flapped = 'the file';
    await quietFor(50);
  }
  t.equal(flapped, '', 'well past the stall time');
  const bytes = player.audioBytes;
  const back = new Feeder(t, server.port, '/live', { from: 1000 }).stream(t);
  t.equal(await back.answered(), 200);
  await player.until((one) => one.audioBytes > bytes + 16_000);
  t.notOk(player.closed);
  t.same(
    player.titles.map(({ title }) => title).filter((title) => title === 'Nobody').length,
    player.titles[0]!.title === 'Nobody' ? 1 : 0,
    'the fallback title was at most the one from before the first encoder',
  );
  t.equal(await now(), 'Song');

  back.socket.destroy();
  await until(async () => (await heardEncoder(server)) === 0, 20_000);
  await until(async () => (await now()) === 'Nobody', 3000);
  t.notOk(player.closed, 'nor is a listener dropped when it stays away');
  t.equal(framesIn(player.audio).skippedBytes, 0);
});

t.test("an encoder's headers are the channel's while it is heard, where the configuration says nothing", async (t) => {
  const server = (await startServer(t, yaml('takeover: always', 'genre: Configured'))).one;
  const ask = async () => {
    const player = await listener(t, server);
    player.close();
    return player.headers;
  };
  await until(async () => (await metric(server, 'airsplice_source_heard', 'kind="file"')) > 0, 5000);
  t.equal((await ask()).get('icy-name'), 'live');
  const headers = [
    ...['Content-Type: audio/aac', 'ice-name: M\xfcnchen FM', 'ice-genre: Other', 'icy-url: https://x.example/a?b'],
    ...[
      'ice-description: Zo\xc3\xab',
      'ice-public: 1',
      'ice-audio-info: ice-bitrate=96;ice-channels=2',
      'ice-bitrate: 96',
    ],
  ];
  const feeder = new Feeder(t, server.port, '/live', { headers: `${headers.join('\r\n')}\r\n` }).stream(t);
  t.equal(await feeder.answered(), 200);
  await until(async () => (await heardEncoder(server)) === 1, 5000);
  const answer = await ask();
  t.match(Object.fromEntries(answer), {
    'icy-name': 'München FM',
    'icy-genre': 'Configured',
    'icy-url': 'https://x.example/a?b',
    'icy-description': 'Zoë',
    'icy-pub': '1',
    'icy-br': '96',
    'ice-audio-info': 'ice-bitrate=96;ice-channels=2',
    'content-type': 'audio/mpeg',
  });
  t.equal(await events(server, 'content-type'), 1, 'the wrong content type is counted');
  feeder.socket.destroy();
  await until(async () => (await heardEncoder(server)) === 0, 5000);
  const ogg = new Feeder(t, server.port, '/live', { headers: 'Content-Type: application/ogg\r\n' }).stream(t);
  t.equal(await ogg.answered(), 200);
  await until(async () => (await events(server, 'content-type')) === 2, 5000);
  ogg.socket.destroy();
  await until(async () => (await heardEncoder(server)) === 0, 5000);
  const after = await ask();
  t.match(Object.fromEntries(after), {
    'icy-name': 'live',
    'icy-genre': 'Configured',
    'icy-br': '128',
    'icy-pub': '0',
  });
  t.notOk(after.has('icy-description'));
});

t.test('what cannot be played is sent away at the limit, with the name of what it is', async (t) => {
  const warnings: Record<string, unknown>[] = [];
  const log = {
    debug: () => undefined,
    info: () => undefined,
    error: () => undefined,
    warn: (fields: Record<string, unknown>) => void warnings.push(fields),
  };
  const text = yaml('takeover: always').replace('sources: {', 'sources: { framelessBytes: 4096,');
  const server = (await startServer(t, text, undefined, log as never)).one;
  const picture = Buffer.concat([Buffer.from('ffd8ff', 'hex'), Buffer.alloc(20_000, 3)]);
  const feeder = new Feeder(t, server.port, '/live');
  await feeder.answered();
  feeder.socket.write(picture.subarray(0, 4096 + 6)); // up to 6 bytes wait for what could be a head
  await arrived(feeder.socket);
  await quietFor(50);
  t.notOk(feeder.closed || feeder.ended, 'at the limit');
  feeder.socket.write(picture.subarray(3, 5));
  await feeder.over();
  const warning = () => warnings.find(({ event }) => event === 'no-frames');
  await until(() => warning() !== undefined, 5000);
  t.match(warning(), { channel: 'live', source: 'encoder', sends: 'a JPEG image', declared: 'audio/mpeg' });
  t.equal(await events(server, 'no-frames'), 1);
});

t.test('20 restarts with 10 listeners connected', (t) => restartStory(t, new Random(), 20, 10));

t.test('an encoder that drips bytes and no audio locks no client out, and is closed', async (t) => {
  const { one: server } = await startServer(
    t,
    yaml('takeover: silent').replace('bodyTimeoutSeconds: 30', 'bodyTimeoutSeconds: 4, pieceSeconds: 1'),
  );
  const drip = (feeder: Feeder) => {
    const timer = setInterval(() => feeder.socket.write(Buffer.alloc(1)), 200);
    t.teardown(() => clearInterval(timer));
  };
  const first = new Feeder(t, server.port, '/live');
  first.socket.write(DEMO_FRAMES.slice(0, 20).reduce((all, frame) => Buffer.concat([all, frame]), Buffer.alloc(0)));
  t.equal(await first.answered(), 200);
  await until(async () => (await heardEncoder(server)) === 1, 5000);
  drip(first);
  let status = 409;
  await until(
    async () => {
      const other = new Feeder(t, server.port, '/live');
      status = await other.answered();
      if (status !== 409) drip(other);
      return status !== 409;
    },
    8000,
    () => `${status}`,
  );
  t.equal(status, 200, 'audio that is overdue counts, not bytes');
  await until(async () => (await metric(server, 'airsplice_source_up', 'kind="encoder"')) === 0, 12_000);
  t.pass('nor does the one that has never had any stay');
});
