/**
 * The documents say what the server does: every operation they name is driven here, with every status it knows, and each answer
 * and message is held against them. What the documents name and was never seen is a failure too.
 */

import { readdirSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import t from 'tap';
import {
  answerProblems,
  asyncAddresses,
  messageProblems,
  operations,
  seenAs,
  unknownHeaders,
} from '../kit/documents.js';
import { Events } from '../kit/events.js';
import { Player } from '../kit/player.js';
import { DEMO_AUDIO, demoYaml, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { type Answer, ask, Watching, Wire } from '../kit/wire.js';

/**
 * Statuses that any operation may answer, seen once each. Not seen: 408 needs a connection that no `ask` makes (front.test.ts
 * makes it), 500 would be a fault of ours.
 */
const ANYWHERE = [400, 404, 408, 431, 500];
const UNSEEN_ANYWHERE = [408, 500];
/**
 * A session, or a segment, whose process or machine is away: test/e2e/silent-links.test.ts, test/http/stream/hls-routes.test.ts. Pictures that are not read:
 * http/poll/cover-files.
 */
const UNSEEN = ['GET', 'HEAD'].flatMap((method) =>
  ['/metadata/listener/{metaid}.json', '/{mount}/hls/{segment}', '/metadata/channel/{channelkey}/cover/{name}'].map(
    (path) => `${method} ${path} 503`,
  ),
);

const PUSH = '/metapush/demo/demo-token';
const LISTENER = 'listener-of-the-documents-test';
const STATISTICS = [
  '/status-json.xsl',
  '/admin/publicstats',
  '/admin/publicstats.json',
  '/7.html',
  '/stats',
  '/stats?sid=2',
  '/statistics',
  '/nextsongs',
  '/streaminfo.json',
  '/listen/covered/streaminfo.json',
];

/** With pictures. */
const COVERS = dirname(DEMO_AUDIO);
const YAML = demoYaml(`
      asked: { encoderHook: { url: 'http://127.0.0.1:1/' }, sources: [{ type: encoder }] }
      covered: { streamInfo: { countryCode: DE }, covers: { folder: '${COVERS}' }, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      mute:
        sources: [{ type: encoder, titlesWhileAway: true, password: demo-source }]
      members: { access: hook, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      signed: { access: signed, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      full: { maxListeners: 1, overflowUrl: 'http://127.0.0.1:1/{mount}', sources: [{ type: file, path: ${DEMO_AUDIO} }] }
signedUrls: { keys: [env:DOCUMENTS_TEST_KEY] }
listenerHook: { url: '\${DOCUMENTS_TEST_HOOK}' }
streams: { burstSeconds: 1, publicUrl: 'http://radio.example', hls: { enabled: true, segmentSeconds: 2, rewindHours: 1 } }
limits: { pushesPerMinute: 60, pushBurst: 60, wrongSecretsPerMinute: 16, secretQueue: 0, watchersPerAddress: 6, historyWaiting: 1 }
shutdown: { graceSeconds: 2 }
`);

function json(fields: object = {}): string {
  return JSON.stringify({ song: 'S', artist: 'A', duration: 10, ...fields });
}

t.test('every documented operation and status is answered, and every message sent', async (t) => {
  // A listener hook that lets no listener in.
  const hook = http.createServer((_, response) => response.end());
  t.teardown(() => hook.close());
  await new Promise<void>((done) => hook.listen(0, '127.0.0.1', done));
  process.env['DOCUMENTS_TEST_HOOK'] = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`;
  process.env['DOCUMENTS_TEST_KEY'] = 'k'.repeat(32);
  const { app, port, ws } = await startServer(t, YAML);
  const seen = new Set<string>();
  const sent = new Set<string>();

  /** @param from an address of this machine's of its own, where a limit is counted by address */
  const say = async (method: string, path: string, headers: string[] = [], body = ''): Promise<Answer> => {
    const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
    const answer = await ask(t, port, [`${method} ${path} HTTP/1.1`, ...headers, ...length].join('\n'), body);
    seen.add(seenAs(method, path, answer.status));
    for (const problem of unknownHeaders(method, path, answer)) t.fail(problem);
    return answer;
  };
  const says = async (status: number, method: string, path: string, headers: string[] = [], body = '') => {
    const answer = await say(method, path, headers, body);
    t.equal(answer.status, status, `${method} ${path.slice(0, 80)}`);
    return answer;
  };
  const JSON_HEAD = 'Content-Type: application/json';

  // Nothing was pushed yet.
  for (const method of ['GET', 'HEAD']) {
    for (const form of ['json', 'txt']) await says(204, method, `/metadata/channel/demo.${form}`);
  }

  // A player with a metaid.
  for (const method of ['GET', 'HEAD']) await says(404, method, `/metadata/listener/${LISTENER}.json`);
  const player = new Player(port, `/demo.mp3?metaid=${LISTENER}`);
  t.teardown(() => player.close());
  await player.until((p) => p.audioBytes > 0);
  for (const method of ['GET', 'HEAD']) await says(204, method, `/metadata/listener/${LISTENER}.json`);

  // What it reports; two at once are taken.
  const heard = `/metadata/listener/${LISTENER}/heard`;
  await says(204, 'POST', heard, [JSON_HEAD], '{"heardMs": 0}');
  await says(422, 'POST', heard, [JSON_HEAD], '{"heardMs": -1}');
  await says(429, 'POST', heard, [JSON_HEAD], '{"heardMs": 0}');
  await until(async () => (await say('POST', heard, [JSON_HEAD], '{')).status === 400, 3000);
  await says(404, 'POST', '/metadata/listener/none/heard', [JSON_HEAD], '{"heardMs": 0}');
  await says(413, 'POST', heard, [JSON_HEAD], ' '.repeat(257));
  await says(415, 'POST', heard, ['Content-Type: text/html'], '0');
  await says(204, 'OPTIONS', heard);

  // Watchers of all scopes, by WebSocket and SSE.
  const scopes = { channel: 'demo', station: 'demo', listener: LISTENER };
  const sockets: Watching[] = [];
  for (const [scope, id] of Object.entries(scopes)) {
    const watching = new Watching(t, `${ws}/metadata/${scope}/${id}`);
    sockets.push(await watching.opened());
    seen.add(seenAs('GET', `/metadata/${scope}/${id}`, 101));
  }
  const events = Object.entries(scopes).map(([scope, id]) => new Events(t, port, `${scope}/${id}`));
  for (const each of events) {
    await each.opened();
    const headers = new Map([...each.headers].map(([name, value]) => [name.toLowerCase(), value]));
    t.strictSame(answerProblems('GET', each.path, { status: each.status, headers, body: '' }), []);
    seen.add(seenAs('GET', each.path, each.status));
  }
  for (const scope of Object.keys(scopes)) {
    const refused = await new Watching(t, `${ws}/metadata/${scope}/demo`).isRefused();
    t.equal(refused.status, 503, 'the seventh watcher of one address');
    t.strictSame(answerProblems('GET', `/metadata/${scope}/demo`, refused), []);
    seen.add(seenAs('GET', `/metadata/${scope}/demo`, refused.status));
    await says(503, 'GET', `/metadata/sse/${scope}/demo`);
  }

  // More pages of history at once than may wait.
  for (const method of ['GET', 'HEAD']) {
    for (const form of ['json', 'csv', 'rss']) {
      let page = 0;
      const ask = () => say(method, `/metadata/channel/demo/history.${form}?before=${2100 + page++}-01-01T00:00:00Z`);
      await until(
        async () => (await Promise.all([1, 2, 3, 4, 5, 6].map(ask))).some(({ status }) => status === 503),
        20_000,
      );
    }
  }

  // Pushes, accepted and refused. The bearer form is another operation.
  for (const [path, headers] of [
    [PUSH, []],
    ['/metapush/demo', ['Authorization: Bearer demo-token']],
  ] as const) {
    await says(200, 'GET', `${path}?artist=A&song=next+one&tracktype=next`, [...headers]);
    await says(200, 'GET', `${path}?artist=A&song=One&duration=3&etype=1001`, [...headers]);
    await says(400, 'GET', `${path}?song=%FF`, [...headers]);
    await says(413, 'GET', `${path}?song=${'x'.repeat(1025)}`, [...headers]);
    await says(422, 'GET', `${path}?etype=7`, [...headers]);
    const full = {
      images: { small: { url: 'https://x.example/s.png' } },
      extdata: { any: [1] },
      cover: 'https://x.example/c.png',
      album: 'Al',
      isrc: 'DE',
      timezone: 'UTC',
      id: 'mine',
      etype: 101,
    };
    await says(200, 'POST', path, [JSON_HEAD, ...headers], json(full));
    await says(400, 'POST', path, [JSON_HEAD, ...headers], '{');
    await says(413, 'POST', path, [JSON_HEAD, ...headers], json({ song: 'x'.repeat(1025) }));
    await says(415, 'POST', path, ['Content-Type: text/plain', ...headers], json());
    await says(422, 'POST', path, [JSON_HEAD, ...headers], '{}');
    await says(405, 'HEAD', path, [...headers]);
    await says(405, 'PUT', path, [...headers]);
  }

  // Reads.
  const reads = ['/metadata/channel/demo.json', '/metadata/channel/demo.txt', '/metadata/station/demo.json'];
  reads.push(...['json', 'csv', 'rss'].map((form) => `/metadata/channel/demo/history.${form}`));
  // None comes after it: what is read twice is the same.
  await says(200, 'GET', `${PUSH}?song=the+last`);
  await until(() => sockets[2]!.records.some(({ type, song }) => type === 'now' && song === 'the last'), 20_000);
  reads.push(`/metadata/listener/${LISTENER}.json`);
  for (const path of reads) {
    const bad = path.includes('history') ? 'limit=0' : 'type=x';
    for (const method of ['GET', 'HEAD']) {
      const { headers } = await says(200, method, path);
      await says(304, method, path, [`If-None-Match: ${headers.get('etag')}`]);
      await says(422, method, `${path}?${bad}`);
    }
    await says(404, 'GET', path.replace(/demo|listener-of-the-documents-test/, 'unknown'));
    await says(204, 'OPTIONS', path);
    await says(405, 'POST', path);
  }
  const pictures = readdirSync(COVERS).filter((name) => name.endsWith('.png'));
  const cover = `/metadata/channel/covered/cover/${pictures[0]}`;
  for (const method of ['GET', 'HEAD']) {
    const { headers } = await says(200, method, cover);
    await says(304, method, cover, [`If-None-Match: ${headers.get('etag')}`]);
    await says(404, method, `${cover}.jpg`);
  }
  await says(204, 'OPTIONS', cover);
  await says(405, 'POST', cover);
  for (const method of ['GET', 'HEAD']) {
    await says(200, method, '/metadata/stations.json');
    await says(304, method, '/metadata/stations.json', ['If-None-Match: *']);
  }
  await says(204, 'OPTIONS', '/metadata/stations.json');
  await says(405, 'POST', '/metadata/stations.json');
  for (const [scope, id] of Object.entries(scopes)) {
    for (const method of ['GET', 'HEAD']) await says(426, method, `/metadata/${scope}/${id}`);
    await says(204, 'OPTIONS', `/metadata/${scope}/${id}`);
    await says(204, 'OPTIONS', `/metadata/sse/${scope}/${id}`);
    await says(200, 'HEAD', `/metadata/sse/${scope}/${id}`);
  }
  for (const method of ['GET', 'HEAD']) await says(422, method, `/metadata/sse/listener/${LISTENER}?sync=x`);
  const unclear = await new Watching(t, `${ws}/metadata/listener/${LISTENER}?sync=x`).isRefused();
  t.strictSame(answerProblems('GET', `/metadata/listener/${LISTENER}`, unclear), []);
  seen.add(seenAs('GET', `/metadata/listener/${LISTENER}`, unclear.status));

  // Streams.
  for (const method of ['GET', 'HEAD']) {
    const heard = new Player(port, '/demo.mp3', { method });
    await heard.until((p) => p.status !== 0);
    heard.close();
    const answer = { status: heard.status, headers: heard.headers, body: '' };
    t.strictSame(answerProblems(method, '/demo.mp3', answer), []);
    t.strictSame(unknownHeaders(method, '/demo.mp3', answer), []);
    seen.add(seenAs(method, '/demo.mp3', heard.status));
    await says(503, method, '/mute');
    await says(404, method, '/nothing-here');
  }
  for (const method of ['GET', 'HEAD']) await says(401, method, '/members');
  for (const method of ['GET', 'HEAD']) await says(403, method, '/signed?expires=1&sig=x');
  const only = new Player(port, '/full');
  t.teardown(() => only.close());
  await only.until((p) => p.status === 200);
  for (const method of ['GET', 'HEAD']) await says(302, method, '/full?metaid=x');
  await says(204, 'OPTIONS', '/demo.mp3');
  await says(405, 'DELETE', '/demo.mp3');

  // Playlists and statistics.
  for (const path of ['/demo.mp3.m3u', '/demo.mp3.pls', '/demo.mp3.xspf', ...STATISTICS]) {
    for (const method of ['GET', 'HEAD']) await says(200, method, path);
    for (const method of ['GET', 'HEAD']) {
      await says(200, method, '/readyz?channels=demo');
      await says(422, method, '/readyz?channels&silentSeconds=x');
    }
    await says(204, 'OPTIONS', path);
    await says(405, 'POST', path);
  }
  for (const path of ['/none.m3u', '/none.pls', '/none.xspf', '/7.html?sid=99', '/stats?sid=99', '/nextsongs?sid=99'])
    await says(404, 'GET', path);

  // HLS.
  const playlists = ['/demo/hls.m3u8', '/demo/hls/live.m3u8', '/demo/hls/rewind.m3u8'];
  await until(async () => (await say('GET', playlists[2]!)).status === 200, 10_000);
  for (const path of playlists) {
    for (const method of ['GET', 'HEAD']) {
      await says(200, method, path);
      await until(async () => {
        const tag = (await say('HEAD', path)).headers.get('etag');
        return (await say(method, path, [`If-None-Match: ${tag}`])).status === 304;
      }, 10_000);
      await says(503, method, path.replace('demo', 'mute'));
      await says(404, method, path.replace('demo', 'none'));
    }
  }
  const [, name] = /^(\d.*)$/m.exec((await say('GET', '/demo/hls/live.m3u8')).body) ?? [];
  for (const method of ['GET', 'HEAD']) {
    await says(200, method, `/demo/hls/${name}`);
    await says(302, method, '/demo.m3u8');
    for (const path of ['/demo/hls/1-0123456789abcdef.mp3', '/none.m3u8']) await says(404, method, path);
    await says(401, method, '/members/hls.m3u8');
    for (const path of ['/signed/hls.m3u8', '/signed/hls/live.m3u8']) await says(403, method, path);
    // A listener of the stream has the only place.
    await says(302, method, '/full/hls.m3u8?metaid=x');
  }
  for (const path of [...playlists, `/demo/hls/${name}`, '/demo.m3u8']) {
    await says(204, 'OPTIONS', path);
    await says(405, 'POST', path);
  }

  // Encoders' titles.
  const basic = (password: string) => `Authorization: Basic ${Buffer.from(`source:${password}`).toString('base64')}`;
  for (const [path, right, wrong, more] of [
    ['/admin/metadata', basic('demo-source'), basic('wrong'), ''],
    ['/admin.cgi', 'X-None: 1', 'X-None: 1', '&pass=demo-source'],
  ] as const) {
    const form = 'Content-Type: application/x-www-form-urlencoded';
    for (const method of ['GET', 'POST']) {
      const ask = (status: number, query: string, headers: string[]) =>
        method === 'GET'
          ? says(status, method, `${path}?${query}`, headers)
          : says(status, method, path, [form, ...headers], query);
      await ask(200, `mode=updinfo&mount=/mute&song=x${more}`, [right]);
      await ask(400, `mode=viewxml&mount=/mute${more}`, [right]);
      if (path === '/admin/metadata') await ask(401, 'mode=updinfo', []);
      await ask(404, `mode=updinfo&mount=/nothing${more}`, [right]);
      await ask(401, 'mode=updinfo&mount=/mute&pass=wrong', [wrong]);
      await ask(503, `mode=updinfo&mount=/asked&song=x${more}`, [right]);
      // The password of two channels.
      await ask(403, `mode=updinfo&song=x${more}`, [right]);
    }
    await says(413, 'POST', path, [form, right], 'x'.repeat(65_537));
    await says(415, 'POST', path, ['Content-Type: text/csv', right], 'x');
    await says(204, 'OPTIONS', path);
    await says(405, 'DELETE', path);
  }

  // Who operates it, and the documents.
  for (const path of ['/healthz', '/readyz', '/metrics'])
    for (const method of ['GET', 'HEAD']) await says(200, method, path);
  for (const path of ['/openapi.json', '/asyncapi.json', '/schemas/record.json', '/client.js', '/player.js']) {
    for (const method of ['GET', 'HEAD']) {
      const { headers } = await says(200, method, path);
      await says(304, method, path, [`If-None-Match: ${headers.get('etag')}`]);
    }
  }
  await says(431, 'GET', '/healthz', [`X-Long: ${'x'.repeat(40_000)}`]);

  // Messages.
  for (const each of events) {
    await each.has(2, 10_000);
    for (const { record } of each.seen) sent.add(`${each.path} ${record.type}`);
  }
  for (const [index, path] of Object.entries(scopes)
    .map(([scope, id]) => `/metadata/${scope}/${id}`)
    .entries()) {
    for (const record of sockets[index]!.records) sent.add(`${path} ${record.type}`);
  }
  for (const address of asyncAddresses()) {
    const path = address.replace(/\{\w+\}/, address.includes('/listener/') ? LISTENER : 'demo');
    for (const type of ['now', 'next']) t.ok(sent.has(`${path} ${type}`), `a ${type} came by ${path}`);
  }

  // Too many wrong tokens; then too many pushes.
  for (const path of ['/metapush/demo', '/metapush/demo/wrong']) {
    await says(403, 'GET', path);
    await says(403, 'POST', path, [JSON_HEAD], json());
  }
  while ((await say('GET', '/metapush/demo/wrong')).status === 403);
  for (const path of ['/metapush/demo', '/metapush/demo/wrong']) {
    await says(429, 'GET', path);
    await says(429, 'POST', path, [JSON_HEAD], json());
  }
  for (const path of ['/admin/metadata', '/admin.cgi']) {
    for (const method of ['GET', 'POST']) await says(429, method, `${path}?pass=wrong&mode=updinfo`, [basic('wrong')]);
  }
  // None may wait here, so right ones are refused too, for as long as it takes to have one wrong one again.
  await until(async () => (await say('GET', `${PUSH}?song=x`)).status === 200, 20_000);

  // While it stops: on connections that were open before, with a head that was not finished.
  const lines = [
    'GET /readyz',
    'HEAD /readyz',
    `GET ${PUSH}`,
    `POST ${PUSH}`,
    'GET /metapush/demo',
    'POST /metapush/demo',
  ];
  const late = lines.map((line) => {
    const body = line.startsWith('POST') ? json() : '';
    const headers = [JSON_HEAD, 'Authorization: Bearer demo-token', `Content-Length: ${body.length}`].join('\r\n');
    return { line, body, wire: new Wire(t, port).send(`${line} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`) };
  });
  // An answer on a connection that was made later: those before it have been read.
  await says(200, 'GET', '/readyz');
  const stopped = app.stop();
  for (const { line, body, wire } of late) {
    const [method, path] = line.split(' ') as [string, string];
    const [answer] = await wire.send(`\r\n${body}`).take(1, 10_000, method === 'HEAD' ? 1 : 0);
    t.equal(answer!.status, 503, `${line} while it stops`);
    t.strictSame(answerProblems(method, path, answer!), []);
    seen.add(seenAs(method, path, answer!.status));
  }
  await stopped;

  const missing: string[] = [];
  for (const [operation, statuses] of operations()) {
    // Driven by http/admin/api.test.ts, icecast.test.ts and login-routes.test.ts there.
    if (/ \/admin\/(api\/|logout|reload|stats|list|kill|move|fallbacks)/.test(operation)) continue;
    const own = statuses.filter((status) => !ANYWHERE.includes(status));
    missing.push(
      ...own.map((status) => `${operation} ${status}`).filter((each) => !seen.has(each) && !UNSEEN.includes(each)),
    );
    if (![...seen].some((each) => each.startsWith(`${operation} `))) missing.push(operation);
  }
  t.strictSame(missing, [], 'what the document names was seen');
  for (const status of ANYWHERE.filter((each) => !UNSEEN_ANYWHERE.includes(each))) {
    t.ok(
      [...seen].some((each) => each.endsWith(` ${status}`)),
      `${status} was seen`,
    );
  }
});

t.test('the documents are served, whole in themselves, and a page may read them', async (t) => {
  const { port, base } = await startServer(t, demoYaml());
  for (const path of ['/openapi.json', '/asyncapi.json', '/schemas/record.json']) {
    const answer = await ask(t, port, `GET ${path} HTTP/1.1`);
    t.equal(answer.status, 200, path);
    t.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
    t.equal(answer.headers.get('access-control-allow-origin'), '*');
    const again = await ask(t, port, `GET ${path} HTTP/1.1\nIf-None-Match: ${answer.headers.get('etag')}`);
    t.equal(again.status, 304, path);
    const post = await ask(t, port, `POST ${path} HTTP/1.1`);
    t.strictSame([post.status, post.headers.get('allow')], [405, 'GET, HEAD'], path);
    const document = answer.json();
    const pointers = [...answer.body.matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, pointer]) => pointer!);
    t.ok(path === '/schemas/record.json' || pointers.length > 10, `${path}: references`);
    for (const pointer of new Set(pointers)) {
      // biome-ignore lint/suspicious/noExplicitAny: as below
      const found = pointer.split('/').reduce((part: any, name) => part?.[name], document);
      t.ok(found !== undefined, `${path}: #/${pointer} is there`);
    }
  }
  // biome-ignore lint/suspicious/noExplicitAny: it is walked by names
  const read = async (path: string) => (await (await fetch(base + path)).json()) as any;
  const record = await read('/schemas/record.json');
  const members =
    'rawdata, userplayout, channel, session, position, marker, id, mount, channelkey, timestamp, artist, song, station, ' +
    'start, duration, start_timestamp, type, etype, isrc, asin, cover, album, images, extdata, source, time, code, ' +
    'timezone, separator';
  t.equal(Object.keys(record.properties).join(', '), members, 'the members and their order');
  t.strictSame(record.required, members.split(', '), 'all are always there');
  const openapi = await read('/openapi.json');
  for (const name of ['PushQuery', 'PushBody', 'PushAnswer', 'ChannelRecord', 'HistoryRecord', 'Problem']) {
    for (const [field, { description }] of Object.entries<{ description?: string }>(
      openapi.components.schemas[name].properties,
    )) {
      t.match(description, /^[^ ].{4,}/, `${name}.${field} is explained`);
    }
  }
  t.match(
    openapi.components.schemas.PushBody.properties.song.description,
    /At most 1024 bytes/,
    'limits are described',
  );
});

t.test('the checker finds what is not in the documents', async (t) => {
  const { port } = await startServer(t, demoYaml(`      x: { sources: [{ type: file, path: ${DEMO_AUDIO} }] }`));
  await ask(t, port, `GET ${PUSH}?song=S HTTP/1.1`);
  const path = '/metadata/channel/demo.json';
  const good = await ask(t, port, `GET ${path} HTTP/1.1`);
  t.strictSame(answerProblems('GET', path, good), []);
  const problems = (change: Partial<Answer>) => answerProblems('GET', path, { ...good, ...change }).length;
  const record = good.json();
  const without = new Map(good.headers);
  without.delete('etag');
  t.ok(problems({ status: 201 }), 'a status');
  t.ok(problems({ headers: without }), 'a missing head');
  t.ok(problems({ headers: new Map([...good.headers, ['content-type', 'application/json']]) }), 'a content type');
  t.ok(problems({ headers: new Map([...good.headers, ['cache-control', 'no-store']]) }), "a head's value");
  t.ok(problems({ body: JSON.stringify({ ...record, more: 1 }) }), 'a member');
  t.ok(problems({ body: JSON.stringify({ ...record, duration: '3' }) }), 'a type');
  t.ok(problems({ body: JSON.stringify({ ...record, album: undefined }) }), 'a missing member');
  const { rawdata, ...rest } = record;
  t.ok(problems({ body: JSON.stringify({ ...rest, rawdata }) }), 'another order');
  t.ok(answerProblems('TRACE', path, good).length, 'a method');
  const url = 'ws://x/metadata/channel/demo';
  t.strictSame(messageProblems(url, record), []);
  for (const bad of [{ ...record, type: 'soon' }, { ...record, more: 1 }, 'binary']) {
    t.ok(messageProblems(url, bad).length, `a message: ${JSON.stringify(bad).slice(-20)}`);
  }
  t.ok(messageProblems('ws://x/metadata/planet/demo', record).length, 'an address');
});
