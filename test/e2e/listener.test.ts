/** What a player meets at a mount, and what becomes of one that does not read. Real server, real sockets. */

import { createReadStream } from 'node:fs';
import net from 'node:net';
import t from 'tap';
import { FrameWalk } from '../../bench/frames.js';
import { bestOfThree } from '../kit/best-of-three.js';
import { LoopDelay } from '../kit/loop-delay.js';
import { Player } from '../kit/player.js';
import { DEMO_AUDIO, demoYaml, startServer } from '../kit/server.js';
import { awaited, until } from '../kit/until.js';

// They wait more than they compute.
t.jobs = 5;

async function metrics(base: string): Promise<string> {
  return (await fetch(`${base}/metrics`)).text();
}

async function figure(base: string, line: string): Promise<number> {
  const text = await metrics(base);
  const found = text.split('\n').find((candidate) => candidate.startsWith(`${line} `));
  return Number(found?.split(' ').at(-1) ?? Number.NaN);
}

t.test('a player at a mount', async (t) => {
  const { port, base } = await startServer(t, demoYaml());
  const first = new Player(port, '/demo.mp3');
  await first.until((p) => p.audioBytes >= 16_000);

  await t.test('the head', async (t) => {
    t.equal(first.statusLine, 'HTTP/1.0 200 OK');
    const expected = {
      'content-type': 'audio/mpeg',
      connection: 'close',
      'accept-ranges': 'none',
      'cache-control': 'no-store',
      pragma: 'no-cache',
      'access-control-allow-origin': '*',
      'icy-name': 'Demo Channel',
      'icy-br': '128',
      'icy-pub': '0',
      'icy-metaint': '4000',
      'x-channelkey': 'demo',
      'ice-audio-info': 'bitrate=128;samplerate=44100;channels=2',
    };
    for (const [name, value] of Object.entries(expected)) t.equal(first.headers.get(name), value, name);
    t.ok(Date.parse(first.headers.get('expires')!) < Date.now(), 'expires in the past');
    for (const name of [
      'icy-metaint',
      'icy-name',
      'icy-genre',
      'icy-br',
      'icy-url',
      'icy-description',
      'x-channelkey',
    ]) {
      t.ok(first.headers.get('access-control-expose-headers')!.split(', ').includes(name), `${name} is exposed`);
    }
    for (const name of ['content-length', 'transfer-encoding']) t.notOk(first.headers.has(name), `no ${name}`);
  });

  await t.test(
    'the channel key is a mount, a query is fine, ICY only when asked for with a non-zero integer',
    async (t) => {
      for (const [headers, asked] of [
        ['', false],
        ['Icy-MetaData: 0\r\n', false],
        ['Icy-MetaData: yes\r\n', false],
        ['icy-metadata:2\r\n', true],
      ] as const) {
        const player = new Player(port, '/demo?x=1', { icy: false, headers });
        await player.until((p) => p.audioBytes > 0);
        t.equal(player.headers.has('icy-metaint'), asked, JSON.stringify(headers));
        player.close();
      }
    },
  );

  await t.test('HEAD, OPTIONS, Range, other methods, unknown mounts', async (t) => {
    for (const headers of ['', 'Range: bytes=0-1\r\n', 'Range: bytes=0-\r\n', 'Range: bytes=9-\r\n']) {
      const head = new Player(port, '/demo.mp3', { method: 'HEAD', headers });
      await head.until((p) => p.closed);
      t.same([...head.headers], [...first.headers], `HEAD as GET, to the byte: ${headers}`);
      t.equal(head.statusLine, first.statusLine);
      t.equal(head.audioBytes, 0);
    }
    const range = new Player(port, '/demo.mp3', { headers: 'Range: bytes=0-1\r\n' });
    await range.until((p) => p.closed);
    t.same([range.status, range.audioBytes], [200, 2], 'a probe');
    const options = await fetch(`${base}/demo.mp3`, { method: 'OPTIONS' });
    t.equal(options.status, 204);
    t.match(options.headers.get('access-control-allow-headers'), /icy-metadata, range/);
    const post = await fetch(`${base}/demo.mp3`, { method: 'POST' });
    t.equal(post.status, 405);
    t.match(post.headers.get('allow'), /GET/);
    t.match(post.headers.get('content-type'), /problem\+json/);
    for (const path of ['/demo.mp4', '/demo.mp3/', '/Demo']) {
      t.equal((await fetch(base + path)).status, 404, path);
    }
  });

  await t.test('the burst is five seconds, and unbroken frames follow', async (t) => {
    await until(() => first.audioBytes > 16_000 * 8, 15_000);
    const lateness = new LoopDelay(t);
    const startMs = performance.now();
    const player = new Player(port, '/demo.mp3', { keep: true });
    await player.until((p) => p.audioBytes >= 5 * 16_000);
    t.ok(performance.now() - startMs < 2500 + lateness.totalMs, 'at once: in less than half of the time that it plays');
    await player.until((p) => p.audioBytes >= 8 * 16_000);
    const walk = new FrameWalk();
    const { audio } = player;
    walk.feed(audio, 0, audio.length);
    t.equal(walk.breaks, 0);
    t.ok(walk.frames > 250, `${walk.frames} frames`);
    player.close();
  });
  first.close();
});

t.test('a new listener hears the title of its place, not of the live edge', async (t) => {
  const { port, base } = await startServer(t, demoYaml());
  const before = new Player(port, '/demo.mp3');
  await fetch(`${base}/metapush/demo/demo-token?song=Old`);
  // A burst lasts 5 s, and begins with a whole segment of the tape.
  await before.until(({ titles: [old], audioBytes }) => audioBytes >= (old?.atByte ?? Infinity) + 7 * 16_000, 25_000);
  await fetch(`${base}/metapush/demo/demo-token?song=New`);
  await before.until((p) => p.titles.length === 2);
  const player = new Player(port, '/demo.mp3');
  await player.until((p) => p.titles.length === 2);
  t.same(
    player.titles.map((seen) => seen.title),
    ['Old', 'New'],
  );
  t.equal(player.titles[0]!.atByte, player.metaint, 'the first block carries the title');
  t.ok(player.titles[1]!.atByte >= 2 * 16_000, `the new one lies ${player.titles[1]!.atByte} bytes in`);
  player.close();
  const bytes = before.audioBytes;
  await fetch(`${base}/metapush/demo/demo-token?song=New&id=another-play`);
  await before.until((p) => p.audioBytes >= bytes + 2 * 16_000, 15_000);
  await fetch(`${base}/metapush/demo/demo-token?song=Third`);
  await before.until((p) => p.titles.at(-1)!.title === 'Third', 15_000);
  t.equal(before.titles.length, 3, 'what renders to the same block is not sent again');
  before.close();
});

t.test('limits: at the limit it plays, one past it is 503', async (t) => {
  const yaml = demoYaml(`
      small:
        maxListeners: 2
        sources: [{ type: file, path: ${DEMO_AUDIO} }]
limits: { listeners: 5 }
`);
  const { port, base } = await startServer(t, yaml);
  const players: Player[] = [];
  const plays = async (path: string) => {
    const player = new Player(port, path);
    players.push(player);
    await player.until((p) => p.status === 200 && p.audioBytes > 0);
  };
  const refused = async (path: string) => {
    const response = await fetch(base + path);
    t.equal(response.status, 503, path);
    t.ok(Number(response.headers.get('retry-after')) > 0);
    t.match(response.headers.get('content-type'), /problem\+json/);
    await response.arrayBuffer();
  };
  await plays('/small');
  await plays('/small');
  await refused('/small');
  for (let i = 0; i < 3; i++) await plays('/demo');
  await refused('/demo');
  players[0]!.close();
  let again = 503;
  while (again === 503) {
    const player = new Player(port, '/small');
    await player.until((p) => p.status > 0);
    again = player.status;
    players.push(player);
  }
  t.equal(again, 200, 'a place that was left is free');
  for (const player of players) player.close();
});

t.test('a mount without audio: 503 with Retry-After, for HEAD too', async (t) => {
  const yaml = demoYaml('      empty: { sources: [{ type: encoder, password: demo-source }] }\n');
  const { base } = await startServer(t, yaml.replace('stations:', 'streams: { startTimeoutSeconds: 300 }\nstations:'));
  for (const method of ['GET', 'HEAD']) {
    // No source is on its way.
    const response = await awaited(fetch(`${base}/empty`, { method }), 10_000, () => `${method} waits for a source`);
    t.equal(response.status, 503);
    t.ok(Number(response.headers.get('retry-after')) > 0);
    await response.arrayBuffer();
  }
});

t.test('a channel that has lost its audio lets its listeners go after silenceSeconds', async (t) => {
  const yaml = demoYaml('      live: { sources: [{ type: encoder, password: demo-source }] }\n').replace(
    'stations:',
    'streams: { silenceSeconds: 1 }\nstations:',
  );
  const { port, base } = await startServer(t, yaml);
  let listeners = 0;
  // silenceSeconds, and the second in which listeners are looked at.
  const tookMs = await bestOfThree(2100, async () => {
    const encoder = net.connect(port, '127.0.0.1');
    const login = Buffer.from('source:demo-source').toString('base64');
    encoder.write(`PUT /live HTTP/1.1\r\nAuthorization: Basic ${login}\r\nContent-Type: audio/mpeg\r\n\r\n`);
    await new Promise((done) => encoder.once('data', done));
    for await (const chunk of createReadStream(DEMO_AUDIO, { end: 64_000 })) encoder.write(chunk as Buffer);
    const player = new Player(port, '/live');
    await player.until((p) => p.audioBytes > 0);
    listeners++;
    encoder.end();
    const lateness = new LoopDelay(t);
    const startMs = performance.now();
    await player.until((p) => p.closed);
    const ms = performance.now() - startMs;
    t.ok(ms > 950, `not before: ${Math.round(ms)} ms`);
    return ms - lateness.totalMs;
  });
  t.ok(tookMs < 2100, `after ${Math.round(tookMs)} ms`);
  t.equal(await figure(base, 'airsplice_listener_endings_total{reason="silence"}'), listeners);
  t.equal((await fetch(`${base}/live`)).status, 503);
});
