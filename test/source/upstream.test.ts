/**
 * One pulled URL and what it may lead through: redirects, playlists, TLS, credentials, heads that are no HTTP. Every limit is tried
 * at the limit and one past it.
 */

import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { basic } from '../../src/net/outbound/target.js';
import type { PullOptions } from '../../src/source/pull-source.js';
import { isPlaylist, readPlaylist } from '../../src/source/upstream-playlist.js';
import { PEM } from '../kit/certificate.js';
import { pause } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { Random } from '../kit/random.js';
import { startServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import {
  audioOf,
  FRAME_BYTES,
  icyBody,
  type PullSetup,
  setUp,
  streamHead,
  type Tap,
  Upstream,
} from '../kit/upstream.js';

t.jobs = 4;

const FRAMES = 12;
const AUDIO = audioOf(new Random(), FRAMES);
const STREAM = Buffer.concat([
  Buffer.from(streamHead(FRAME_BYTES)),
  icyBody(AUDIO, FRAME_BYTES, new Map([[3, "StreamTitle='there';"]])),
]);
const ONCE = { retryMinMs: 60_000, retryMaxMs: 60_000 } satisfies Partial<PullOptions>;

/** Pulls until it plays all of STREAM (`plays`) or fails (the reason). */
async function pull(t: Test, from: { readonly url: string }, options: PullSetup = {}): Promise<string> {
  const { tap, source } = setUp(t, from, { ...ONCE, ...options });
  source.start();
  await until(
    () => tap.losses.length > 0 || tap.audioBytes === AUDIO.length,
    8000,
    () => stateOf(tap),
  );
  const result = tap.losses[0] ?? (tap.bytes.equals(AUDIO) && tap.titles[0]?.line === 'there' ? 'plays' : stateOf(tap));
  source.stop();
  return result;
}

const stateOf = (tap: Tap) => JSON.stringify([tap.losses, tap.audioBytes, tap.titles]);

const answered = (status: string, headers: string, body = '') =>
  `HTTP/1.1 ${status}\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** Answers by path; `live` is the stream. */
function serve(upstream: Upstream, paths: Readonly<Record<string, string | Buffer>>): string[] {
  const asked: string[] = [];
  upstream.answer = (socket, head) => {
    const path = /^GET (\S+) /.exec(head)![1]!;
    asked.push(path);
    const answer = paths[path] ?? (path === '/live' ? STREAM : answered('404 Not Found', ''));
    if (answer === STREAM) socket.write(answer);
    else socket.end(answer);
  };
  return asked;
}

const at = (upstream: Upstream, path: string) => ({ url: upstream.url.replace('/live', path) });
const listed = (type: string, text: string) => answered('200 OK', `Content-Type: ${type}\r\n`, text);

t.test('redirects: every kind, as many as are allowed, and not one more', async (t) => {
  const upstream = await Upstream.open(t);
  for (const status of [301, 302, 303, 307, 308]) {
    serve(upstream, { '/go': answered(`${status} Moved`, 'Location: live\r\n') });
    t.equal(await pull(t, at(upstream, '/go')), 'plays', `${status}`);
  }
  // As bytes come from a server that writes UTF-8, or Latin-1, into its heads.
  for (const bytes of [Buffer.from('/räuber/live'), Buffer.from('/räuber/live', 'latin1')]) {
    const location = `Location: ${bytes.toString('latin1')}\r\n`;
    const go = Buffer.from(answered('302 Found', location), 'latin1');
    serve(upstream, { '/go': go, '/r%C3%A4uber/live': STREAM });
    t.equal(await pull(t, at(upstream, '/go')), 'plays', location);
  }
  const hops: Record<string, string> = {};
  for (let i = 1; i <= 4; i++) {
    hops[`/${i}`] = answered('302 Found', `Location: ${i === 1 ? '/live' : `/${i - 1}`}\r\n`, 'elsewhere');
  }
  serve(upstream, hops);
  t.equal(await pull(t, at(upstream, '/3'), { redirects: 3 }), 'plays');
  t.match(await pull(t, at(upstream, '/4'), { redirects: 3 }), /redirects too often/);
  for (const location of [
    '',
    'Location: ftp://127.0.0.1/x\r\n',
    'Location: http://[/\r\n',
    'Location: file:///etc/passwd\r\n',
  ]) {
    serve(upstream, { '/go': answered('302 Found', location) });
    t.match(await pull(t, at(upstream, '/go')), /302 without a redirect URL/, location);
  }
  await until(() => upstream.openSockets === 0, 3000);
});

t.test('what is a playlist: its type, or its ending where the type says nothing', async (t) => {
  for (const type of ['audio/x-mpegurl', 'Audio/MPEGURL; charset=utf-8', 'audio/x-scpls', 'application/pls+xml']) {
    t.ok(isPlaylist(type, '/live'), type);
  }
  for (const path of ['/a.m3u', '/A.M3U', '/a.m3u8', '/a.pls']) {
    for (const type of [undefined, '', 'text/plain; charset=x', 'application/octet-stream'])
      t.ok(isPlaylist(type, path));
    for (const type of ['audio/mpeg', 'audio/aacp', 'application/ogg', 'text/html'])
      t.notOk(isPlaylist(type, path), type);
  }
  for (const path of ['/a.m3u/live', '/am3u', '/live', '/a.plsx']) t.notOk(isPlaylist('text/plain', path), path);
});

t.test('playlists are read: comments, blanks, every line end, PLS by number', async (t) => {
  const entries = (text: string) => readPlaylist(text).entries;
  t.strictSame(entries('\ufeff#EXTM3U\r\n#EXTINF:-1,A\r\n a \r\n\r\nhttp://b/\rc\n'), ['a', 'http://b/', 'c']);
  const pls =
    '; x\r\n[Playlist]\r\nFile10=ten\r\nTitle1=no\r\nfile2 = two?a=b\r\nFile1=one\r\nFile=no\r\nNumberOfEntries=9\r\nVersion=2\r\n';
  t.strictSame(entries(pls), ['one', 'two?a=b', 'ten']);
  t.strictSame(entries(''), []);
  t.strictSame(entries('[playlist]\n'), []);
  t.equal(readPlaylist('#EXTM3U\n#EXT-X-VERSION:3\n').isHls, true);
  t.equal(readPlaylist('#EXTM3U\n#EXTINF:1,#EXT-X-\nhttp://x/\n').isHls, false);
});

t.test('a playlist’s entries are asked in order, relative ones too; what is no URL of ours is skipped', async (t) => {
  const upstream = await Upstream.open(t);
  const full = upstream.url;
  for (const list of [
    listed('audio/x-mpegurl', '#EXTM3U\nrtsp://x/\ngone\n/gone\nlive\nnever\n'),
    listed('text/plain', `mms://x/y\nhttp://[/\n/a/gone\n/gone\n${full}\n/never`),
    listed('audio/x-scpls', '[playlist]\nFile3=/live\nFile1=gone\nFile2=/gone\nFile4=/never\n'),
    listed('audio/x-mpegurl', '[playlist]\nFile3=/live\nFile1=gone\nFile2=/gone\nFile4=/never\n'),
    'HTTP/1.0 200 OK\r\n\r\n/a/gone\n/gone\n/live',
  ]) {
    const asked = serve(upstream, { '/a/list.m3u8': list, '/a/live': STREAM });
    t.equal(await pull(t, at(upstream, '/a/list.m3u8')), 'plays', list);
    t.strictSame(asked.slice(0, 3), ['/a/list.m3u8', '/a/gone', '/gone']);
    t.equal(asked.length, 4, 'none after the one that plays');
  }
  serve(upstream, { '/e.m3u': listed('audio/mpegurl', '#EXTM3U\nmms://x/\n') });
  t.match(await pull(t, at(upstream, '/e.m3u')), /contains no stream/);
});

t.test('HLS is refused, and the reason says so', async (t) => {
  const upstream = await Upstream.open(t);
  const text = '#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\nsegment1.ts\n';
  const asked = serve(upstream, { '/x.m3u8': listed('application/vnd.apple.mpegurl', text) });
  t.match(await pull(t, at(upstream, '/x.m3u8')), /HLS.*plain stream/);
  t.strictSame(asked, ['/x.m3u8'], 'no segment is asked for');
});

t.test('playlists: bytes, entries and lists within lists, at the limit and one past', async (t) => {
  const upstream = await Upstream.open(t);
  const text = '# padding\n/live\n';
  serve(upstream, { '/x.m3u': listed('audio/x-mpegurl', text) });
  t.equal(await pull(t, at(upstream, '/x.m3u'), { playlistBytes: text.length }), 'plays');
  t.match(await pull(t, at(upstream, '/x.m3u'), { playlistBytes: text.length - 1 }), /longer than 15 bytes/);

  const four = listed('audio/x-mpegurl', '/1\n/2\n/3\n/live\n');
  let asked = serve(upstream, { '/x.m3u': four });
  t.equal(await pull(t, at(upstream, '/x.m3u'), { playlistEntries: 4 }), 'plays');
  asked = serve(upstream, { '/x.m3u': four });
  t.match(await pull(t, at(upstream, '/x.m3u'), { playlistEntries: 3 }), /404/);
  t.strictSame(asked, ['/x.m3u', '/1', '/2', '/3']);
  // A list that names itself: what is asked in one try is bounded over all levels.
  asked = serve(upstream, { '/x.m3u': listed('audio/x-mpegurl', '/x.m3u\n/x.m3u\n/x.m3u\n') });
  await pull(t, at(upstream, '/x.m3u'), { playlistEntries: 5, playlistDepth: 10 });
  t.equal(asked.length, 6);

  const nested = {
    '/1.m3u': listed('audio/x-mpegurl', '/live\n'),
    '/2.m3u': listed('audio/x-mpegurl', '/1.m3u\n/2\n'),
    '/3.m3u': listed('audio/x-mpegurl', '/2.m3u\n'),
  };
  asked = serve(upstream, nested);
  t.equal(await pull(t, at(upstream, '/2.m3u'), { playlistDepth: 2 }), 'plays');
  t.strictSame(asked, ['/2.m3u', '/1.m3u', '/live']);
  serve(upstream, { ...nested, '/2': answered('302 Found', 'Location: /1.m3u\r\n') });
  t.match(await pull(t, at(upstream, '/3.m3u'), { playlistDepth: 2 }), /nested more than 2 deep/);
  await until(() => upstream.openSockets === 0, 3000);
});

t.test('an entry that delivered is looked for anew when it ends; one that delivers nothing makes room', async (t) => {
  const upstream = await Upstream.open(t);
  const asked: string[] = [];
  upstream.answer = (socket, head) => {
    const path = /^GET (\S+) /.exec(head)![1]!;
    asked.push(path);
    if (path === '/x.m3u') socket.end(listed('audio/x-mpegurl', '/silent\n/live\n/never\n'));
    else if (path === '/silent') socket.write(streamHead());
    else if (asked.length === 3) socket.end(STREAM);
    else socket.write(STREAM);
  };
  const { tap, source } = setUp(t, at(upstream, '/x.m3u'), { stallMs: 2000 });
  source.start();
  await until(
    () => tap.audioBytes >= 2 * AUDIO.length,
    20_000,
    () => stateOf(tap),
  );
  t.strictSame(asked.slice(0, 6), ['/x.m3u', '/silent', '/live', '/x.m3u', '/silent', '/live']);
  t.match(tap.losses, [/closed the stream/]);
});

t.test('an upstream that sends bytes but no frame is not waited for', async (t) => {
  const upstream = await Upstream.open(t);
  upstream.answer = (socket) => {
    socket.write(streamHead());
    const drip = setInterval(() => socket.write('x'), 50);
    socket.on('close', () => clearInterval(drip));
  };
  t.match(await pull(t, upstream, { stallMs: 400 }), /no audio/);
});

t.test('an upstream that has played and then sends bytes but no frame is given up', async (t) => {
  const upstream = await Upstream.open(t);
  upstream.answer = (socket) => {
    socket.write(Buffer.concat([Buffer.from(streamHead()), AUDIO.subarray(0, 5 * FRAME_BYTES)]));
    const drip = setInterval(() => socket.write('x'), 50);
    socket.on('close', () => clearInterval(drip));
  };
  t.equal(await pull(t, upstream, { stallMs: 400 }), 'no audio from the upstream');
});

t.test('titles without audio are no sign of life of an upstream', async (t) => {
  const upstream = await Upstream.open(t);
  upstream.answer = (socket) => {
    const titled = (n: number) =>
      icyBody(Buffer.alloc(FRAME_BYTES, 'x'), FRAME_BYTES, new Map([[0, `StreamTitle='${n}';`]]));
    socket.write(
      Buffer.concat([
        Buffer.from(streamHead(FRAME_BYTES)),
        icyBody(AUDIO.subarray(0, 5 * FRAME_BYTES), FRAME_BYTES, new Map()),
      ]),
    );
    let n = 0;
    const drip = setInterval(() => socket.write(titled(n++)), 50);
    socket.on('close', () => clearInterval(drip));
  };
  t.equal(await pull(t, upstream, { stallMs: 400 }), 'no audio from the upstream');
});

t.test('an upstream that sends audio, slowly, or whose title takes long to commit, is not given up', async (t) => {
  const upstream = await Upstream.open(t);
  upstream.answer = (socket) => {
    socket.write(streamHead(FRAME_BYTES));
    let at = 0;
    const body = STREAM.subarray(STREAM.indexOf('\r\n\r\n') + 4);
    const drip = setInterval(() => socket.write(body.subarray(at, (at += FRAME_BYTES))), 200);
    socket.on('close', () => clearInterval(drip));
  };
  const { tap, source } = setUp(t, upstream, { ...ONCE, stallMs: 1000 });
  tap.hold = () => pause(1500);
  source.start();
  await until(() => tap.losses.length > 0 || tap.audioBytes >= (FRAMES - 1) * FRAME_BYTES, 15_000);
  t.strictSame(tap.losses, []);
});

t.test('an upstream that sends a tag without end is given up', async (t) => {
  const upstream = await Upstream.open(t);
  for (const frames of [0, 5]) {
    upstream.answer = (socket) => {
      const tag = Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, 0x7f, 0x7f, 0x7f, 0x7f]);
      socket.write(Buffer.concat([Buffer.from(streamHead()), AUDIO.subarray(0, frames * FRAME_BYTES), tag]));
      const flood = setInterval(() => socket.writableLength === 0 && socket.write(Buffer.alloc(1_000_000)), 10);
      socket.on('close', () => clearInterval(flood));
    };
    t.match(await pull(t, upstream), /no MP3, AAC or Ogg audio/);
  }
});

t.test('credentials: of the URL before those beside it, to the same origin and nowhere else', async (t) => {
  const [first, second] = [await Upstream.open(t), await Upstream.open(t)];
  const sent = (upstream: Upstream) => upstream.requestHeads.map((head) => /^authorization: (.*)\r$/im.exec(head)?.[1]);
  const wants = (upstream: Upstream, authorization: string, answer: string | Buffer) => {
    upstream.requestHeads.length = 0;
    upstream.answer = (socket, head) => {
      if (head.includes('GET /away ')) socket.end(answered('302 Found', `Location: ${second.url}\r\n`));
      else if (head.includes('GET /list.pls ')) socket.end(listed('audio/x-scpls', '[playlist]\nFile1=/live\n'));
      else if (head.includes(`authorization: ${authorization}\r\n`)) socket.write(answer);
      else socket.end(answered('401 Unauthorized', 'WWW-Authenticate: Basic realm="x"\r\n'));
    };
  };
  const mine = basic('me', 'pä:ss wörd');
  t.equal(mine, `Basic ${Buffer.from('me:pä:ss wörd').toString('base64')}`);
  const withUser = (path: string, user = 'me:p%C3%A4:ss%20w%C3%B6rd@') => ({
    url: first.url.replace('http://', `http://${user}`).replace('/live', path),
  });
  wants(first, mine, STREAM);
  t.equal(await pull(t, withUser('/live')), 'plays');
  t.equal(await pull(t, withUser('/live'), { authorization: basic('other', 'x') }), 'plays');
  t.equal(await pull(t, first, { authorization: mine }), 'plays');
  t.equal(await pull(t, withUser('/list.pls')), 'plays');
  t.match(await pull(t, first), /requires a user and password, or rejects/);
  t.match(await pull(t, withUser('/live', 'me@')), /requires a user and password, or rejects/);
  t.strictSame(sent(first).slice(-2), [undefined, basic('me', '')]);
  t.ok(
    first.requestHeads.every((head) => /^host: 127\.0\.0\.1:\d+\r$/im.test(head)),
    'no user in the Host',
  );

  wants(first, mine, STREAM);
  second.answer = (socket) => void socket.write(STREAM);
  t.equal(await pull(t, withUser('/away'), { allowPrivate: true }), 'plays');
  t.strictSame([sent(first), sent(second)], [[mine], [undefined]]);
});

t.test('a 401 that names no login may be a SHOUTcast server without a source', async (t) => {
  const upstream = await Upstream.open(t);
  upstream.answer = (socket) =>
    socket.end('ICY 401 Service Unavailable\r\nicy-notice2:SHOUTcast/Linux v1.9.8<BR>\r\n\r\n');
  t.match(await pull(t, upstream), /401: a login is missing, or it has no audio now/);
});

t.test('no reason of a failure holds a URL, a user or a password', async (t) => {
  const upstream = await Upstream.open(t);
  const reasons: string[] = [];
  const failed = (_: number, reason: string) => reasons.push(reason);
  const user = 'hunter2:hunter2@';
  const answers = [
    answered('401 No', ''),
    answered('500 hunter2', ''),
    answered('302 Found', 'Location: ftp://hunter2:hunter2@x/hunter2\r\n'),
    answered('302 Found', 'Location: http://hunter2:hunter2@[/\r\n'),
    answered('302 Found', 'Location: http://%zz:hunter2@127.0.0.1:1/hunter2\r\n'),
    'hunter2\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: hunter2\r\n\r\n',
    listed('audio/x-mpegurl', 'http://hunter2:hunter2@10.0.0.1/hunter2'),
  ];
  for (const answer of answers) {
    upstream.answer = (socket) => void socket.end(answer);
    const before = reasons.length;
    const url = upstream.url.replace('http://', `http://${user}`).replace('/live', '/hunter2?hunter2');
    const { source } = setUp(t, { url }, { ...ONCE, onFailed: failed });
    source.start();
    await until(
      () => reasons.length > before,
      5000,
      () => answer,
    );
    source.stop();
  }
  t.equal(reasons.length, answers.length);
  t.notMatch(reasons.join('\n'), /unter2/);
});

t.test('https: the certificate is checked, by Node’s authorities or the configured ones', async (t) => {
  const tls = { cert: readFileSync(`${PEM}one.cert.pem`), key: readFileSync(`${PEM}one.key.pem`) };
  const other = readFileSync(`${PEM}two.cert.pem`);
  const asked: http.IncomingMessage[] = [];
  const server = https.createServer(tls, (request, response) => {
    asked.push(request);
    // An ICY status line over TLS as well, and that in two packets.
    const socket = request.socket;
    socket.write('IC');
    const rest = Buffer.concat([Buffer.from('Y 200 OK\r\n'), STREAM.subarray(STREAM.indexOf('\n') + 1)]);
    void pause(20).then(() => socket.write(rest));
    response.on('error', () => undefined);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/live`;
  t.match(await pull(t, { url }), /self.signed certificate/);
  t.match(await pull(t, { url }, { ca: other }), /self.signed certificate/);
  t.equal(asked.length, 0, 'nothing was asked of whom it cannot trust');
  t.equal(await pull(t, { url }, { ca: tls.cert }), 'plays');
  const lookup: PullOptions['lookup'] = (_host, _options, callback) =>
    callback(null, [{ address: '127.0.0.1', family: 4 }]);
  const named = { url: url.replace('127.0.0.1', 'radio.example') };
  t.match(await pull(t, named, { ca: tls.cert, lookup, allowPrivate: true }), /does not match certificate/);
  t.equal(asked.length, 1);
});

t.test('from an ordinary HTTP server: chunked', async (t) => {
  const server = http.createServer((_, response) => {
    response.setHeader('icy-metaint', FRAME_BYTES);
    const body = STREAM.subarray(STREAM.indexOf('\r\n\r\n') + 4);
    for (let at = 0; at < body.length; at += 333) response.write(body.subarray(at, at + 333));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  t.equal(await pull(t, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }), 'plays');
});

t.test('sloppy heads at every split, and byte by byte', async (t) => {
  const upstream = await Upstream.open(t);
  for (const head of [
    `ICY 200 OK\r\nicy-notice1:<BR>a server of 1999<BR>\r\nicy-metaint:${FRAME_BYTES}\r\n\r\n`,
    `ICY 200 OK\nicy-metaint: ${FRAME_BYTES}\n\n`,
    `HTTP/1.0 200 OK\nicy-name: caf\xe9\nicy-metaint:${FRAME_BYTES}\n\n`,
  ]) {
    const stream = Buffer.concat([Buffer.from(head, 'latin1'), STREAM.subarray(STREAM.indexOf('\r\n\r\n') + 4)]);
    for (const splits of [
      [1],
      [2],
      [3],
      [4],
      [5],
      [10, 11],
      [head.length - 1],
      [head.length],
      [...Array(head.length).keys()],
    ]) {
      upstream.answer = async (socket) => {
        let from = 0;
        for (const to of [...splits, stream.length]) {
          socket.write(stream.subarray(from, to));
          from = to;
          for (let i = 0; i < 3; i++) await turn();
        }
      };
      t.equal(await pull(t, upstream), 'plays', JSON.stringify([head, splits.length, splits[0]]));
    }
  }
  upstream.answer = (socket) => void socket.end('IC');
  t.not(await pull(t, upstream), 'plays', 'an end in the middle of the first line');
  upstream.answer = (socket) => void socket.end();
  t.not(await pull(t, upstream), 'plays');
  upstream.answer = (socket) => void socket.end('ICY 404 Resource Not Found\r\n\r\n');
  t.match(await pull(t, upstream), /answered 404/);
});

t.test('the head of an answer is bounded', async (t) => {
  const upstream = await Upstream.open(t);
  const rest = STREAM.subarray(STREAM.indexOf('\n') + 1);
  /** An answer whose head is so long. */
  const answer = (bytes: number) => {
    const start = 'HTTP/1.0 200 OK\r\n';
    const padding = bytes - start.length - rest.indexOf('\r\n\r\n') - 4 - 'X: \r\n'.length;
    return Buffer.concat([Buffer.from(`${start}X: ${'x'.repeat(padding)}\r\n`), rest]);
  };
  upstream.answer = (socket) => void socket.write(answer(1900));
  t.equal(await pull(t, upstream, { headBytes: 2048 }), 'plays');
  upstream.answer = (socket) => void socket.write(answer(2200));
  t.match(await pull(t, upstream, { headBytes: 2048 }), /Overflow|HEADER_OVERFLOW/i);
});

t.test('what an upstream says of itself is sent on where the configuration says nothing', async (t) => {
  const upstream = await Upstream.open(t);
  const headers = 'icy-name: Caf\u00e9 Radio\r\nicy-genre: Jazz\r\nicy-br: 128\r\nicy-url: javascript:x\r\n';
  for (const charset of ['latin1', 'utf8'] as const) {
    const { tap, source } = setUp(t, upstream);
    upstream.answer = (socket) =>
      void socket.write(
        Buffer.concat([Buffer.from(`ICY 200 OK\r\n${headers}\r\n`, charset), audioOf(new Random(), 90)]),
      );
    t.equal(source.facts, undefined);
    source.start();
    await until(() => tap.audioBytes > 0, 5000);
    t.match(source.facts, { name: 'Caf\u00e9 Radio', genre: 'Jazz', bitrateKbps: 128, url: '' });
    source.stop();
    t.equal(source.facts, undefined);
  }
  const server = await startServer(
    t,
    `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations: { s: { channels: { relay: { genre: Rock, sources: [{ type: pull, url: '${upstream.url}' }] } } } }
`,
  );
  const player = new Player(server.port, '/relay');
  t.teardown(() => player.close());
  await player.until(() => player.status !== 0);
  t.strictSame([player.headers.get('icy-name'), player.headers.get('icy-genre')], ['Caf\u00e9 Radio', 'Rock']);
});

t.test('bytes without a frame: some are skipped, too many are no audio', async (t) => {
  const upstream = await Upstream.open(t);
  const send = (garbageBytes: number) => {
    upstream.answer = (socket) =>
      void socket.write(
        Buffer.concat([
          Buffer.from(streamHead()),
          AUDIO.subarray(0, 3 * FRAME_BYTES),
          Buffer.alloc(garbageBytes, 'x'),
          AUDIO,
        ]),
      );
  };
  const play = async (garbageBytes: number) => {
    send(garbageBytes);
    const { tap, source } = setUp(t, upstream, { ...ONCE, framelessBytes: 20_000 });
    source.start();
    await until(
      () => tap.losses.length > 0 || tap.audioBytes === AUDIO.length + 3 * FRAME_BYTES,
      5000,
      () => stateOf(tap),
    );
    source.stop();
    return tap.losses[0] ?? 'plays';
  };
  t.equal(await play(20_000), 'plays');
  // Looked at after each slice of 1 KiB.
  t.match(await play(20_000 + 2048), /no MP3, AAC or Ogg audio/);
});
