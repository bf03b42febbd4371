/**
 * The configurations of config/deploy/caches, each in the real program, with other ports. A crowd of players: each segment is asked for once, each
 * playlist once a second. And before an origin that answers what the test says: what is shared, what never is, what is kept while the origin is gone.
 */

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { HlsRecorder } from '../kit/hls-recorder.js';
import { pause } from '../kit/pause.js';
import { freePort } from '../kit/process.js';
import { missing, Program } from '../kit/program.js';
import { demoYaml, startServer } from '../kit/server.js';
import { adapted, NGINX, nginxCache } from '../kit/shipped-nginx.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

// They sleep most of their time.
t.jobs = 4;

const VARNISH = '/usr/sbin/varnishd';

/** Starts a cache before this port, and returns its own. */
type Start = (t: Test, origin: number) => Promise<{ readonly port: number; readonly program: Program }>;

const nginx: Start = async (t, origin) => {
  const port = await freePort();
  return { port, program: new Program(t, NGINX, nginxCache(tempFolder(t), port, origin)) };
};

const varnish: Start = async (t, origin) => {
  const folder = tempFolder(t);
  mkdirSync(join(folder, 'run'));
  const port = await freePort();
  const file = join(folder, 'hls.vcl');
  writeFileSync(file, adapted('hls.vcl', [['.port = "8000"', `.port = "${origin}"`]]));
  const args = ['-F', '-j', 'none', '-n', join(folder, 'run'), '-a', `127.0.0.1:${port}`, '-f', file];
  const program = new Program(t, VARNISH, [...args, '-s', 'malloc,64m', '-T', 'none']);
  // Its worker ends with it, where it is asked to end.
  t.teardown(() => program.ended ?? program.stop());
  return { port, program };
};

const CACHES: readonly { readonly name: string; readonly start: Start; readonly skip: string | false }[] = [
  { name: 'nginx', start: nginx, skip: existsSync(NGINX) ? false : 'not installed: nginx' },
  { name: 'Varnish', start: varnish, skip: existsSync(VARNISH) ? false : missing('varnishd') },
];

interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

function ask(port: number, path: string, options: http.RequestOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port, path, agent: false, ...options }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, body }));
    });
    request.on('error', reject).end();
  });
}

/** An origin whose requests are counted. */
async function serve(t: Test, answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const asked: string[] = [];
  const server = http.createServer((request, response) => {
    if (request.url !== '/healthz') asked.push(request.url!);
    answer(request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  t.teardown(close);
  const times = (path: string | RegExp) =>
    asked.filter((url) => (typeof path === 'string' ? url === path : path.test(url))).length;
  return { port: (server.address() as AddressInfo).port, asked, times, close };
}

const SHARED = { 'Content-Type': 'application/vnd.apple.mpegurl', 'Access-Control-Allow-Origin': '*' };
/** Longer than nginx keeps others waiting by default. */
const FIRST_MS = 6000;
/** Others ask meanwhile. */
const OTHERS_MS = 100;
const LONG = `#EXTM3U\n${'# a line\n'.repeat(300)}`;

/** Answers as airsplice has them, and as it is to have them for listeners with a list of their own (`s`). */
function made() {
  const state = { hasAudio: false, lists: 0, passwords: 0 };
  const answer = ({ url, method, headers }: IncomingMessage, response: ServerResponse): void => {
    if (headers.authorization !== undefined) state.passwords++;
    const [path, query = ''] = url!.split('?') as [string, string?];
    const say = (status: number, cache: string, body = url!) => {
      response.writeHead(status, { ...SHARED, 'Cache-Control': cache, Vary: 'Accept-Encoding' });
      response.end(method === 'HEAD' ? undefined : body);
    };
    if (path === '/healthz') say(200, 'no-store');
    else if (path === '/m/hls.m3u8') say(200, query === '' ? 'public, max-age=10' : 'no-store');
    else if (path === '/m/hls/live.m3u8' && query === '') {
      const body = `${LONG}# list ${++state.lists}\n`;
      void pause(OTHERS_MS).then(() => say(200, 'public, max-age=1', body));
    } else if (path === '/m/hls/live.m3u8') say(query === 's=gone' ? 403 : 200, 'no-store');
    else if (path === '/first/hls/live.m3u8') void pause(FIRST_MS).then(() => say(200, 'public, max-age=1'));
    else if (path === '/silent/hls/live.m3u8')
      say(state.hasAudio ? 200 : 503, state.hasAudio ? 'public, max-age=1' : 'no-store');
    else if (path === '/m/hls/rewind.m3u8') say(200, 'public, max-age=4', `${LONG}# rewind\n`);
    else if (path === '/m/hls/1-aa.mp3') say(200, 'public, max-age=3600, immutable', 'bytes');
    else if (path === '/m.m3u8')
      response.writeHead(302, { Location: `/m/hls.m3u8?${query}`, 'Cache-Control': 'no-store' }).end();
    else say(404, 'public, max-age=1');
  };
  return { state, answer };
}

const at = (times: number, path: string, port: number) =>
  Promise.all(Array.from({ length: times }, (_, i) => ask(port, path.replace('#', String(i)))));

for (const { name, start, skip } of CACHES) {
  t.test(`${name}: a crowd`, { skip, timeout: 120_000 }, async (t) => {
    const { port: server } = await startServer(t, demoYaml('streams: { hls: { enabled: true, segmentSeconds: 2 } }'));
    const origin = await serve(t, (request, response) => {
      const { url, method, headers } = request;
      http
        .request({ host: '127.0.0.1', port: server, path: url, method, headers }, (answer) => {
          response.writeHead(answer.statusCode!, answer.headers);
          answer.pipe(response);
        })
        .on('error', () => response.destroy())
        .end();
    });
    const { port, program } = await start(t, origin.port);
    const list = `http://127.0.0.1:${port}/demo.mp3/hls/live.m3u8`;
    const isListed = () =>
      fetch(list).then(
        ({ status }) => status === 200,
        () => false,
      );
    await program.until(isListed, 60_000, 'no playlist');
    origin.asked.length = 0;
    const fromMs = performance.now();
    const players = Array.from({ length: 50 }, (_, i) => new HlsRecorder(t, `${list}?player=${i}`));
    await until(() => players.every(({ segments }) => segments.length >= 8), 60_000);
    const seconds = (performance.now() - fromMs) / 1000;
    const lists = origin.times('/demo.mp3/hls/live.m3u8');
    const segments = origin.asked.filter((url) => url.endsWith('.mp3'));
    const loads = players.reduce((sum, { playlists, bytes }) => sum + playlists.length + bytes.size, 0);
    t.comment(
      `${loads} requests in ${seconds.toFixed(1)} s: ${lists} for the playlist, ${segments.length} for segments`,
    );
    t.strictSame(segments.length, new Set(segments).size, 'each segment once');
    t.ok(lists <= 1.1 * seconds + 2, `${lists} playlists in ${seconds} s`);
    t.equal(origin.asked.length, lists + segments.length, 'without the query');
    const [first, ...others] = players;
    for (const [segment, bytes] of first!.bytes)
      for (const other of others) if (other.bytes.get(segment)?.equals(bytes) === false) t.fail(`${segment} differs`);
  });

  t.test(`${name}: what is shared, and what never is`, { skip, timeout: 120_000 }, async (t) => {
    const { state, answer } = made();
    const origin = await serve(t, answer);
    const { port, program } = await start(t, origin.port);
    await program.until(
      () =>
        ask(port, '/m/hls.m3u8').then(
          ({ status }) => status === 200,
          () => false,
        ),
      60_000,
      'no answer',
    );

    const segments = await at(5, '/m/hls/1-aa.mp3?x=#', port);
    t.ok(segments.every(({ status, body }) => status === 200 && body === 'bytes'));
    t.equal(origin.times(/1-aa/), 1);
    t.equal(origin.times('/m/hls/1-aa.mp3'), 1, 'without the query');
    await ask(port, '/m/hls/1-aa.mp3', {
      headers: { Host: 'other.example', Cookie: 'a=b', Authorization: 'Basic eDp5' },
    });
    await ask(port, '/m/hls/1-aa.mp3', { method: 'HEAD' });
    t.equal(origin.times(/1-aa/), 1, 'whatever else is sent');
    t.match(segments[0]!.headers, {
      'access-control-allow-origin': '*',
      'cache-control': 'public, max-age=3600, immutable',
    });

    const lists = await Promise.all([
      ask(port, '/m/hls/live.m3u8', { headers: { 'Accept-Encoding': 'gzip, br' } }),
      ask(port, '/m/hls/live.m3u8?_=1', { headers: { 'Accept-Encoding': 'deflate' } }),
      ...Array.from({ length: 18 }, () => ask(port, '/m/hls/live.m3u8')),
    ]);
    t.ok(lists.every(({ status }) => status === 200));
    t.ok(state.lists <= 2, `${state.lists} for 20`);
    t.equal(lists[0]!.headers['content-encoding'], 'gzip');
    t.match(lists[2]!.headers, { 'content-type': 'application/vnd.apple.mpegurl' });
    const before = state.lists;
    await pause(2100);
    t.ok((await at(20, '/m/hls/live.m3u8?#', port)).every(({ status }) => status === 200));
    t.equal(state.lists, before + 1, 'what has become old is asked for once too');
    const isNewer = async () => Number(/# list (\d+)/.exec((await ask(port, '/m/hls/live.m3u8')).body)?.[1]) > before;
    await until(isNewer, 10_000);
    t.pass('a second later it is another one');

    const rewinds = await at(20, '/m/hls/rewind.m3u8?x=#', port);
    t.ok(rewinds.every(({ status, body }) => status === 200 && body.endsWith('# rewind\n')));
    t.equal(origin.times(/rewind/), 1, 'a rewind is asked for once');

    for (const token of ['one', 'two', 'one'])
      t.equal(
        (await ask(port, `/m/hls/live.m3u8?x=1&s=${token}`)).body.replace('x=1&', ''),
        `/m/hls/live.m3u8?s=${token}`,
      );
    t.equal(origin.times(/live\.m3u8\?.*s=one$/), 2, 'a private list is asked for each time');
    t.equal((await ask(port, '/m/hls/live.m3u8?s=gone')).status, 403);
    for (const query of ['metaid=1', 'metaid=2', 'metaid=1', 'expires=1&sig=2'])
      t.equal(
        (await ask(port, `/m/hls.m3u8?${query}`)).body,
        `/m/hls.m3u8?${query}`,
        'an admission has its whole query',
      );
    t.equal(origin.times(/hls\.m3u8\?metaid/), 3);
    t.equal((await ask(port, '/m/hls.m3u8')).body, '/m/hls.m3u8', 'and is never kept');
    const askedBefore = origin.times('/m/hls.m3u8');
    for (let i = 0; i < 2; i++) await ask(port, '/m/hls.m3u8', { headers: { Authorization: 'Basic eDp5' } });
    t.equal(origin.times('/m/hls.m3u8'), askedBefore + 2, 'a password may admit too');
    t.equal(state.passwords, 2);
    t.equal((await ask(port, '/m.m3u8?metaid=1')).headers.location, '/m/hls.m3u8?metaid=1');

    const gone = await at(20, '/m/hls/0-0.mp3?#', port);
    t.ok(gone.every(({ status }) => status === 404));
    t.equal(origin.times(/0-0/), 1, 'what is gone is asked for once');
    t.equal((await ask(port, '/silent/hls/live.m3u8')).status, 503);
    state.hasAudio = true;
    t.equal((await ask(port, '/silent/hls/live.m3u8')).status, 200, 'a 503 is not kept');
    const first = await at(20, '/first/hls/live.m3u8', port);
    t.ok(first.every(({ status }) => status === 200));
    t.equal(origin.times(/first/), 1, 'all wait for the first list, and one asks for it');

    for (const path of ['/', '/metapush/demo/demo-token', '/m', '/metadata/stations.json', '/hls'])
      t.equal((await ask(port, path)).status, 404, path);
    t.equal(origin.asked.filter((url) => !/m3u8|\/hls\//.test(url)).length, 0, 'all else stays outside');
    await ask(port, '//m/hls/2-bb.mp3');
    await ask(port, '/m/./hls/1-aa.mp3');
    t.equal((await ask(port, '/m/hls/1-aa.mp3')).body, 'bytes', 'another spelling is not kept in its place');

    await ask(port, '/m/hls/live.m3u8');
    origin.close();
    await pause(1500);
    t.equal((await ask(port, '/m/hls/1-aa.mp3')).body, 'bytes');
    await until(async () => (await ask(port, '/m/hls/live.m3u8')).status === 200, 15_000);
    t.pass('what there is goes on while the origin is gone');
  });
}
