/** HLS as clients ask for it: what is answered, what a cache is told, and what is no playlist and no segment of ours. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { Feeder } from '../../kit/feeder.js';
import { readPacked, readPlaylist, titleAt } from '../../kit/hls-channel.js';
import { readFragment, readInit } from '../../kit/mp4.js';
import { quietFor } from '../../kit/pause.js';
import { missing } from '../../kit/program.js';
import { leaveRewind } from '../../kit/rewind-log.js';
import { demoYaml, startServer, WORKERS } from '../../kit/server.js';
import { StoppedWrite } from '../../kit/stopped-write.js';
import { makeTagged } from '../../kit/tagged.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';
import { arrived, ask, Wire } from '../../kit/wire.js';

// They wait more than they compute.
t.jobs = 6;

process.env['HLS_SIGNING_KEY'] = 'a key that is as long as it has to be';
const HLS = 'streams: { hls: { enabled: true, segmentSeconds: 2 } }';
const LIVE = `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  house:
    channels:
      live: { bitrateKbps: 128, mounts: [/live.mp3], pushTokens: [studio-token], sources: [{ type: encoder, password: demo-source }] }
`;

/** The media playlist, once it has so many segments. */
async function playlistOf(base: string, mount: string, least = 1) {
  let text = '';
  await until(async () => {
    const answer = await fetch(`${base}${mount}/hls/live.m3u8`);
    text = await answer.text();
    return answer.status === 200 && readPlaylist(text).segments.length >= least;
  }, 30_000);
  return readPlaylist(text);
}

t.test('from the multivariant playlist to the audio, with types, CORS and how long it may be kept', async (t) => {
  const { port, base } = await startServer(t, demoYaml(HLS));
  await playlistOf(base, '/demo.mp3', 3);
  const variant = await ask(t, port, 'GET /demo.mp3/hls.m3u8 HTTP/1.1');
  t.equal(variant.status, 200);
  t.match(
    variant.body,
    /^#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-STREAM-INF:BANDWIDTH=1\d\d000,CODECS="mp4a\.40\.34",NAME="Demo Channel"\nhls\/live\.m3u8\n$/,
  );
  const media = await ask(t, port, 'GET /demo.mp3/hls/live.m3u8 HTTP/1.1');
  const { name } = readPlaylist(media.body).segments[0]!;
  const segment = await ask(t, port, `GET /demo.mp3/hls/${name} HTTP/1.1`);
  for (const [answer, cache, type] of [
    [variant, 'public, max-age=10', 'application/vnd.apple.mpegurl'],
    [media, 'public, max-age=1', 'application/vnd.apple.mpegurl'],
    [segment, 'public, max-age=3600, immutable', 'audio/mpeg'],
  ] as const) {
    t.equal(answer.status, 200);
    t.equal(answer.headers.get('cache-control'), cache);
    t.equal(answer.headers.get('content-type'), type);
    t.equal(answer.headers.get('access-control-allow-origin'), '*');
    t.equal(answer.headers.get('timing-allow-origin'), '*');
    t.ok(Number(answer.headers.get('content-length')) > 0);
  }
  t.equal(segment.headers.get('accept-ranges'), 'none');
  const bytes = Buffer.from(await (await fetch(`${base}/demo.mp3/hls/${name}`)).arrayBuffer());
  t.ok(readPacked(bytes).audio.length > 20_000);
  const other = Buffer.from(await (await fetch(`${base}/demo/hls/${name}`)).arrayBuffer());
  t.ok(other.equals(bytes), 'the same under each mount of the channel');
});

t.test('HEAD, Range, OPTIONS and other methods', async (t) => {
  const { port, base } = await startServer(t, demoYaml(HLS));
  const { segments } = await playlistOf(base, '/demo');
  const path = `/demo/hls/${segments[0]!.name}`;
  const whole = await ask(t, port, `GET ${path} HTTP/1.1`);
  const length = whole.headers.get('content-length');
  const head = await ask(t, port, `HEAD ${path} HTTP/1.1`);
  t.strictSame([head.status, head.headers.get('content-length'), head.body], [200, length, '']);
  t.equal((await ask(t, port, 'HEAD /demo/hls/live.m3u8 HTTP/1.1')).status, 200);
  const range = await ask(t, port, `GET ${path} HTTP/1.1\nRange: bytes=0-1`);
  t.strictSame([range.status, range.headers.get('content-length')], [200, length]);
  const options = await ask(t, port, `OPTIONS ${path} HTTP/1.1`);
  t.strictSame([options.status, options.headers.get('allow')], [204, 'GET, HEAD, OPTIONS']);
  for (const method of ['POST', 'DELETE']) {
    const answer = await ask(t, port, `${method} /demo/hls/live.m3u8 HTTP/1.1\nContent-Length: 0`);
    t.strictSame([answer.status, answer.headers.get('allow')], [405, 'GET, HEAD, OPTIONS'], method);
  }
});

t.test('a playlist is kept by its tag, and compressed where it is long', async (t) => {
  const { port, base } = await startServer(t, demoYaml(HLS.replace('2 }', '2, window: 12, keep: 20 }')));
  await playlistOf(base, '/demo', 3);
  for (let i = 0; i < 4; i++) {
    await fetch(`${base}/metapush/demo/demo-token?song=${'x'.repeat(200)}${i}`);
    await quietFor(500);
  }
  await until(async () => (await (await fetch(`${base}/demo/hls/live.m3u8`)).text()).length > 1200, 20_000);
  const wire = new Wire(t, port).send('GET /demo/hls/live.m3u8 HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n');
  const [coded] = await wire.take(1);
  t.equal(coded!.headers.get('content-encoding'), 'gzip');
  t.equal(coded!.headers.get('vary'), 'Accept-Encoding');
  const at = wire.got.indexOf('\r\n\r\n') + 4;
  t.match(gunzipSync(Buffer.from(wire.got.slice(at), 'latin1')).toString(), '#EXTM3U');
  await until(async () => {
    const plain = await ask(t, port, 'GET /demo/hls/live.m3u8 HTTP/1.1');
    const again = await ask(t, port, `GET /demo/hls/live.m3u8 HTTP/1.1\nIf-None-Match: ${plain.headers.get('etag')}`);
    return again.status === 304 && again.headers.get('access-control-allow-origin') === '*';
  }, 20_000);
});

t.test('what is not there', async (t) => {
  const { port, base } = await startServer(t, demoYaml(HLS));
  const { mediaSequence, segments } = await playlistOf(base, '/demo', 2);
  const { name } = segments[0]!;
  const names = [
    ...[
      `${mediaSequence}-0123456789abcdef.mp3`,
      `${2n ** 63n}-0123456789abcdef.mp3`,
      '-1-0123456789abcdef.mp3',
      '',
      '.mp3',
    ],
    ...[`${name}/`, `${name}%00`, name.replace('.mp3', '.aac'), `${name}.mp3`, `%2e%2e/${name}`, `x/../${name}`],
    ...['live.m3u9', 'init.mp4', '..', '%2e%2e', '.', '__proto__', 'constructor', `${'9'.repeat(200)}.mp3`],
  ];
  for (const each of names) t.equal((await ask(t, port, `GET /demo/hls/${each} HTTP/1.1`)).status, 404, each);
  const gone = await ask(t, port, 'GET /demo/hls/1-0123456789abcdef.mp3 HTTP/1.1');
  t.equal(gone.headers.get('cache-control'), 'public, max-age=1');
  t.equal(gone.headers.get('access-control-allow-origin'), '*');
  for (const path of ['/none/hls.m3u8', '/none/hls/live.m3u8', '/hls.m3u8', '/hls/live.m3u8', '/.m3u8', '/none.m3u8']) {
    t.equal((await ask(t, port, `GET ${path} HTTP/1.1`)).status, 404, path);
  }
  for (const path of [
    '//demo//hls//live.m3u8',
    '/%64emo/hls/live.m3u8',
    '/demo/hls/live.m3u8?x=1',
    '/demo.mp3/hls.m3u8?',
  ]) {
    t.equal((await fetch(`${base}${path}`)).status, 200, path);
  }
  t.equal((await ask(t, port, `GET /demo/hls/live.m3u8?${'x'.repeat(8000)} HTTP/1.1`)).status, 200);
});

t.test('a channel without HLS has none, and says so; one with access rules refuses who is not admitted', async (t) => {
  const { port } = await startServer(t, demoYaml());
  for (const path of ['hls.m3u8', 'hls/live.m3u8', 'hls/1-0123456789abcdef.mp3']) {
    t.equal((await ask(t, port, `GET /demo/${path} HTTP/1.1`)).status, 404, path);
  }
  t.equal((await ask(t, port, 'GET /demo.m3u8 HTTP/1.1')).status, 404);
  const [station] = (await ask(t, port, 'GET /metadata/stations.json HTTP/1.1')).json();
  t.equal(station.channels[0].hlsUrl, null);
  const signed = `${LIVE.replace('mounts:', 'access: signed, mounts:')}\nsignedUrls: { keys: [env:HLS_SIGNING_KEY] }\n${HLS}`;
  const other = await startServer(t, signed);
  t.equal((await ask(t, other.port, 'GET /live/hls/live.m3u8 HTTP/1.1')).status, 403);
});

t.test('Vorbis is not served so, and says so', { skip: missing('ffmpeg') }, async (t) => {
  const path = makeTagged(t, { artist: 'A', title: 'B' }, { hertz: 44_100, seconds: 10, type: 'ogg' });
  const yaml = demoYaml(HLS).replace(/type: file, path: [^ }]*/, `type: file, path: ${path}`);
  const { port } = await startServer(t, yaml);
  await until(async () => (await ask(t, port, 'GET /demo/hls/live.m3u8 HTTP/1.1')).status === 404, 20_000);
  const { body } = await ask(t, port, 'GET /demo/hls.m3u8 HTTP/1.1');
  t.match(body, 'Vorbis is not served as HLS');
  const [station] = (await ask(t, port, 'GET /metadata/stations.json HTTP/1.1')).json();
  t.strictSame(
    station.channels.map(({ hlsUrl }: { hlsUrl: string | null }) => hlsUrl !== null),
    [false, true],
  );
});

t.test(
  'Opus as fMP4: the playlist names what its segments need, with types',
  { skip: missing('ffmpeg') },
  async (t) => {
    const path = makeTagged(t, { artist: 'A', title: 'B' }, { hertz: 48_000, seconds: 10, type: 'opus' });
    const yaml = demoYaml(HLS).replace(/type: file, path: [^ }]*/, `type: file, path: ${path}`);
    const { port, base } = await startServer(t, yaml);
    const { segments } = await playlistOf(base, '/demo', 2);
    const { body } = await ask(t, port, 'GET /demo/hls.m3u8 HTTP/1.1');
    t.match(body, /CODECS="opus"/);
    const init = segments[0]!.init!;
    for (const name of [init, segments[0]!.name]) {
      const answer = await ask(t, port, `GET /demo/hls/${name} HTTP/1.1`);
      t.strictSame(
        ['content-type', 'cache-control', 'accept-ranges'].map((each) => answer.headers.get(each)),
        ['audio/mp4', 'public, max-age=3600, immutable', 'none'],
      );
      t.equal((await ask(t, port, `HEAD /demo/hls/${name} HTTP/1.1`)).status, 200);
    }
    const bytesOf = async (name: string) => Buffer.from(await (await fetch(`${base}/demo/hls/${name}`)).arrayBuffer());
    t.equal(readInit(await bytesOf(init)).entry, 'Opus');
    t.ok(readFragment(await bytesOf(segments[0]!.name)).frames.length > 50);
    const wrong = init.replace(/[0-9a-f]{16}/, '0123456789abcdef');
    for (const name of [wrong, 'init-.mp4', 'init.mp4']) {
      const answer = await ask(t, port, `GET /demo/hls/${name} HTTP/1.1`);
      t.strictSame([answer.status, answer.headers.get('cache-control')], [404, 'public, max-age=1'], name);
    }
    const [station] = (await ask(t, port, 'GET /metadata/stations.json HTTP/1.1')).json();
    t.match(station.channels[0].hlsUrl, /hls\.m3u8$/);
  },
);

t.test('what a playlist names is written: a disk that does not answer is waited for, a second at most', async (t) => {
  const { base, folder } = await startServer(t, demoYaml(HLS));
  const { segments } = await playlistOf(base, '/demo', 3);
  const listed = async () =>
    (await (await fetch(`${base}/demo/hls/live.m3u8`)).text()).match(/^\d+-\w+\.mp3$/gm)!.at(-1)!;
  const index = join(folder, 'data/hls/demo/window.json');
  const write = new StoppedWrite(t, `${index}.part`);
  const written = () => JSON.parse(readFileSync(index, 'utf8')).segments.at(-1).name;
  const names = new Set(segments.map(({ name }) => name));
  let waitedMs = 0;
  await until(async () => {
    const beganMs = performance.now();
    const name = await listed();
    waitedMs = performance.now() - beganMs;
    if (waitedMs < 500 && name !== written()) names.add(`${name} is not written`);
    return waitedMs > 500;
  }, 20_000);
  t.ok(waitedMs < 1700, `${waitedMs} ms`);
  t.equal(names.size, segments.length, 'until then nothing was listed that is not written');
  const next = await listed();
  await until(async () => (await listed()) !== next, 20_000);
  write.release();
});

t.test('a playlist wakes a source on demand', async (t) => {
  const { base } = await startServer(t, demoYaml());
  const pull = `sources: [{ type: pull, url: '${base}/demo.mp3', onDemand: true }]`;
  const relay = `addresses: [{ host: 127.0.0.1, port: 0 }]\nstations: { r: { channels: { relay: { ${pull} } } } }\n${HLS}`;
  const server = await startServer(t, relay);
  const { segments } = await playlistOf(server.base, '/relay');
  t.ok(segments.length > 0);
});

t.test('where it is: stations.json, and M.m3u8 leads there; a mount of that very name wins', async (t) => {
  const yaml = demoYaml(HLS).replace('[/studio.mp3]', '[/studio.mp3, /demo.m3u8]');
  const { port } = await startServer(t, yaml);
  const [station] = (await ask(t, port, 'GET /metadata/stations.json HTTP/1.1')).json();
  t.strictSame(
    station.channels.map(({ hlsUrl }: { hlsUrl: string }) => hlsUrl),
    ['http://x/demo.mp3/hls.m3u8', 'http://x/studio.mp3/hls.m3u8'],
  );
  const led = await ask(t, port, 'GET /demo.mp3.m3u8?ref=web HTTP/1.1');
  t.strictSame([led.status, led.headers.get('location')], [302, 'http://x/demo.mp3/hls.m3u8?ref=web']);
  const mount = new Wire(t, port).send('GET /demo.m3u8 HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(() => mount.got.includes('audio/mpeg'), 10_000);
  t.equal((await ask(t, port, 'GET /demo.mp3.m3u HTTP/1.1')).status, 200, 'the older playlists are as they were');
});

t.test('a mount whose path ends with a slash, beside one of another channel without', async (t) => {
  const yaml = demoYaml(HLS).replace('[/demo.mp3]', '[/high/]').replace('[/studio.mp3]', '[/low, /studio/, /high]');
  const { port, base } = await startServer(t, yaml);
  const [station] = (await ask(t, port, 'GET /metadata/stations.json HTTP/1.1')).json();
  const [demo] = station.channels;
  t.equal(demo.hlsUrl, 'http://x/high//hls.m3u8');
  const { segments } = await playlistOf(base, '/demo');
  const nameAt = async (path: string) => /NAME="(.*)"/.exec((await ask(t, port, `GET ${path} HTTP/1.1`)).body)?.[1];
  t.equal(await nameAt('/high//hls.m3u8'), 'Demo Channel');
  t.equal(await nameAt('/high/hls.m3u8'), 'Studio', 'a mount that is named exactly comes first');
  t.equal(await nameAt('/studio/hls.m3u8'), 'Studio');
  t.match((await ask(t, port, 'GET /high//hls/live.m3u8 HTTP/1.1')).body, segments.at(-1)!.name);
  t.equal((await ask(t, port, `GET /high//hls/${segments[0]!.name} HTTP/1.1`)).status, 200);
  const led = await ask(t, port, 'GET /high/.m3u8 HTTP/1.1');
  t.strictSame([led.status, led.headers.get('location')], [302, 'http://x/high//hls.m3u8']);
});

t.test('no source: 503 at once; a source without audio: the request waits, and has its time', async (t) => {
  const { port } = await startServer(t, `${LIVE}${HLS}`);
  const none = await ask(t, port, 'GET /live/hls/live.m3u8 HTTP/1.1');
  t.strictSame([none.status, none.headers.get('retry-after')], [503, '2']);
  const feeder = new Feeder(t, port, '/live');
  await feeder.answered();
  t.equal((await ask(t, port, 'HEAD /live/hls/live.m3u8 HTTP/1.1')).status, 503, 'HEAD never waits');
  const held = new Wire(t, port).send('GET /live/hls.m3u8 HTTP/1.1\r\nHost: x\r\n\r\n');
  feeder.send(250);
  const [answer] = await held.take(1);
  t.equal(answer!.status, 200);
  t.match(answer!.body, '#EXT-X-STREAM-INF');
});

t.test('10,000 requests that wait: as many as the limit says, the others are sent away at once', async (t) => {
  const { port } = await startServer(t, `${LIVE}${HLS}\nlimits: { hlsWaiting: 20 }`);
  const feeder = new Feeder(t, port, '/live');
  await feeder.answered();
  // Each worker has as many.
  const limit = 20 * Math.max(1, WORKERS);
  const wires = Array.from({ length: 3 * limit }, () =>
    new Wire(t, port).send('GET /live/hls/live.m3u8 HTTP/1.1\r\nHost: x\r\n\r\n'),
  );
  await until(() => wires.filter(({ got }) => got.startsWith('HTTP/1.1 503')).length === 2 * limit, 10_000);
  const held = wires.filter(({ got }) => got === '');
  for (const { socket } of held.slice(0, 5)) socket.destroy();
  feeder.send(250);
  await until(() => wires.filter(({ got }) => got.startsWith('HTTP/1.1 200')).length === limit - 5, 20_000);
  t.equal(wires.filter(({ got }) => got === '').length, 5, 'all others were answered');
});

t.test('those of one address are sent away while there is room for the others', async (t) => {
  const trusted = 'proxies: { trusted: [127.0.0.1] }\nlimits: { hlsWaiting: 20, hlsWaitingPerAddress: 5 }';
  const { port } = await startServer(t, `${LIVE}${HLS}\n${trusted}`);
  const feeder = new Feeder(t, port, '/live');
  await feeder.answered();
  const limit = 5 * Math.max(1, WORKERS);
  const ask = (from: string) => new Wire(t, port).send(`GET /live/hls/live.m3u8 HTTP/1.1\r\nHost: x\r\n${from}\r\n`);
  const wires = Array.from({ length: 3 * limit }, () => ask('X-Forwarded-For: 192.0.2.1\r\n'));
  await until(() => wires.filter(({ got }) => got.startsWith('HTTP/1.1 503')).length === 2 * limit, 10_000);
  const others = [ask('X-Forwarded-For: 192.0.2.2\r\n'), ...Array.from({ length: 6 }, () => ask(''))];
  feeder.send(250);
  const listed = (all: readonly Wire[]) => all.filter(({ got }) => got.startsWith('HTTP/1.1 200')).length;
  await until(() => listed(wires) === limit && listed(others) === others.length, 20_000);
});

t.test('what waits is sent away when the server stops', async (t) => {
  const { app, port } = await startServer(t, `${LIVE}${HLS}`);
  const feeder = new Feeder(t, port, '/live');
  await feeder.answered();
  const held = new Wire(t, port).send('GET /live/hls/live.m3u8 HTTP/1.1\r\nHost: x\r\n\r\n');
  await arrived(held.socket);
  await quietFor(100);
  const stopped = app.stop();
  const [answer] = await held.take(1);
  t.equal(answer!.status, 503);
  await stopped;
});

t.test('titles: pushed ones at their frame in playlist and segments', async (t) => {
  const { base } = await startServer(t, demoYaml(HLS));
  await playlistOf(base, '/demo', 2);
  const push = (query: string) => fetch(`${base}/metapush/demo/demo-token?${query}`);
  await push('artist=Nina+Simone&song=Feeling+Good&duration=174&etype=1001&id=nina');
  const pushedMs = Date.now();
  let read = await playlistOf(base, '/demo');
  await until(async () => {
    read = await playlistOf(base, '/demo');
    return read.titles.some(({ title }) => title === 'Feeling Good');
  }, 20_000);
  const { startMs, attributes } = read.titles.find(({ title }) => title === 'Feeling Good')!;
  t.ok(Math.abs(startMs - pushedMs) < 1500, `${startMs - pushedMs}`);
  t.match(attributes, { 'X-ARTIST': 'Nina Simone', 'X-DURATION': '174', 'X-ETYPE': '1001', 'X-RECORD': 'nina' });
  // Dates have whole milliseconds; a title's and its segment's are rounded apart.
  const segment = read.segments.findLast(({ dateMs }) => dateMs <= startMs + 1)!;
  const bytes = Buffer.from(await (await fetch(`${base}/demo/hls/${segment.name}`)).arrayBuffer());
  t.match(readPacked(bytes).tag, { TIT2: 'Feeling Good', TPE1: 'Nina Simone', TXXX: 'nina' });
  await push('artist=Nina+Simone&song=Feeling+Better&id=nina');
  await until(async () => titleAt(await playlistOf(base, '/demo'), startMs) === 'Feeling Better', 20_000);
});

t.test('a reload switches it on and off, and changes its length', async (t) => {
  const { port, base, reload } = await startServer(t, demoYaml());
  const status = async () => (await ask(t, port, 'GET /demo/hls/live.m3u8 HTTP/1.1')).status;
  t.equal(await status(), 404);
  await reload(demoYaml(HLS));
  const before = await playlistOf(base, '/demo', 2);
  await reload(demoYaml(HLS.replace('2 }', '3 }')));
  const after = await playlistOf(base, '/demo');
  t.equal(after.targetSeconds, 3);
  t.ok(after.mediaSequence > before.segments.length - 1 + before.mediaSequence);
  t.ok(after.segments[0]!.isDiscontinuity);
  await reload(demoYaml());
  t.equal(await status(), 404);
});

const REWIND = 'streams: { hls: { enabled: true, segmentSeconds: 2, window: 3, keep: 6, rewindHours: 1 } }';

t.test('rewind: none where it is off; else what no window has any more is served from its file', async (t) => {
  const off = await startServer(t, demoYaml(HLS));
  await playlistOf(off.base, '/demo');
  t.equal((await ask(t, off.port, 'GET /demo/hls/rewind.m3u8 HTTP/1.1')).status, 404);
  const { port, base } = await startServer(t, demoYaml(REWIND));
  const [first] = (await playlistOf(base, '/demo')).segments;
  const early = Buffer.from(await (await fetch(`${base}/demo/hls/${first!.name}`)).arrayBuffer());
  await until(async () => {
    const { segments } = await playlistOf(base, '/demo');
    return Number.parseInt(segments[0]!.name, 10) > Number.parseInt(first!.name, 10) + 4;
  }, 40_000);
  const urlAt = async (at: number) =>
    (await ask(t, at, 'GET /metadata/stations.json HTTP/1.1')).json()[0].channels[0].rewindUrl;
  t.match(await urlAt(port), /\/demo\.mp3\/hls\/rewind\.m3u8$/);
  t.equal(await urlAt(off.port), null);
  const answer = await ask(t, port, 'GET /demo.mp3/hls/rewind.m3u8 HTTP/1.1');
  t.equal(answer.status, 200);
  t.equal(answer.headers.get('cache-control'), 'public, max-age=4');
  t.equal(answer.headers.get('content-type'), 'application/vnd.apple.mpegurl');
  t.equal(answer.headers.get('access-control-allow-origin'), '*');
  t.notMatch(answer.body, 'EXT-X-PLAYLIST-TYPE');
  const { segments } = readPlaylist(answer.body);
  t.ok(segments.some(({ name }) => name === first!.name));
  for (const mount of ['/demo', '/demo.mp3']) {
    const old = await fetch(`${base}${mount}/hls/${first!.name}`);
    t.equal(old.headers.get('cache-control'), 'public, max-age=3600, immutable');
    t.ok(Buffer.from(await old.arrayBuffer()).equals(early), 'the same bytes as when it was listed live');
  }
  const head = await ask(t, port, `HEAD /demo/hls/${first!.name} HTTP/1.1`);
  t.strictSame([head.status, head.headers.get('content-length'), head.body], [200, String(early.length), '']);
  for (const { name } of segments) t.equal((await fetch(`${base}/demo/hls/${name}`)).status, 200, name);
  const other = first!.name.replace(/-./, (start) => (start === '-0' ? '-1' : '-0'));
  t.equal((await fetch(`${base}/demo/hls/${other}`)).status, 404, 'the number with another name');
});

t.test('rewind: a long list is compressed, and what clients leave unread is bounded', async (t) => {
  const folder = tempFolder(t);
  // 1.2 MB twice, for itself and its compressed forms, and half of that once more.
  const limits = 'limits: { rewindBytesInFlight: 3600000, rewindBytesInFlightPerAddress: 3600000 }';
  leaveRewind(join(folder, 'data'), 'demo', 20_000, Date.now() - 60_000, 3);
  const yaml = demoYaml(`${REWIND.replace('rewindHours: 1', 'rewindHours: 24, segmentSeconds: 4')}\n${limits}`);
  const { port, base } = await startServer(t, yaml.replace('segmentSeconds: 2, ', ''), folder);
  const path = '/demo/hls/rewind.m3u8';
  await until(async () => (await (await fetch(`${base}${path}`)).text()).includes('EXT-X-DISCONTINUITY\n'), 30_000);
  const coded = new Wire(t, port).send(`GET ${path} HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n`);
  const [gzipped] = await coded.take(1);
  t.equal(gzipped!.headers.get('content-encoding'), 'gzip');
  const body = gunzipSync(Buffer.from(coded.got.slice(coded.got.indexOf('\r\n\r\n') + 4), 'latin1')).toString();
  t.ok(readPlaylist(body).segments.length > 20_000);
  t.ok(body.length > 4 * Number(gzipped!.headers.get('content-length')));
  const [old] = readPlaylist(body).segments;
  t.equal((await (await fetch(`${base}/demo/hls/${old!.name}`)).arrayBuffer()).byteLength, 1000);

  const slow = new Wire(t, port);
  slow.socket.pause();
  // More than the system takes.
  slow.send(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(12));
  const status = async () => (await ask(t, port, `GET ${path} HTTP/1.1`)).status;
  await until(
    async () => (await status()) === 503,
    30_000,
    () => 'the next list beside one that is not read',
  );
  slow.socket.destroy();
  await until(async () => (await status()) === 200, 10_000);
});
