/**
 * Covers that follow their titles: by a hook, a real web server, and from a folder, whose pictures this server serves. The title is there first, its cover
 * is a correction; the hook is asked once for a song, whatever happens.
 */

import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { quietFor } from '../kit/pause.js';
import { Receiver } from '../kit/receiver.js';
import { atOnce, DEMO_AUDIO, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';
import { Watching } from '../kit/wire.js';

t.jobs = atOnce(4);

const LONG_MS = 10_000;

/** A hook: what it was asked, and what it answers to a song. */
class Hook {
  readonly asked: string[] = [];
  answer: (song: string, response: http.ServerResponse) => void = (song, response) => says(response, song);
  url = '';

  static async open(t: Test): Promise<Hook> {
    const hook = new Hook();
    const server = http.createServer((request, response) => {
      const { searchParams } = new URL(request.url!, 'http://x');
      const [artist, song] = ['artist', 'song'].map((name) => searchParams.get(name));
      hook.asked.push(`${artist} - ${song}`);
      hook.answer(song!, response);
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    hook.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/covers?key=s3cret`;
    return hook;
  }
}

const coverOf = (song: string) => `https://img.example/${encodeURIComponent(song)}.jpg`;
const says = (response: http.ServerResponse, song: string) =>
  void response.writeHead(200).end(JSON.stringify({ cover: coverOf(song) }));

const yaml = (covers: string, more = '', top = '') => `
addresses: [{ host: 127.0.0.1, port: 0 }]
${top}
stations:
  house:
    channels:
      live:
        pushTokens: [demo-token]
        ${covers === '' ? '' : `covers: { ${covers} }`}
        ${more}
        sources: [{ type: file, path: ${DEMO_AUDIO} }]
`;

async function push(t: Test, base: string, query: string): Promise<void> {
  const answer = await fetch(`${base}/metapush/live/demo-token?${query}`);
  t.equal(answer.status, 200, await answer.text());
}

const now = async (base: string) =>
  (await (await fetch(`${base}/metadata/channel/live.json`)).json()) as Record<string, unknown>;
const hasCover = (base: string, cover: string) =>
  until(
    async () => (await now(base))['cover'] === cover,
    LONG_MS,
    () => `no ${cover}`,
  );

t.test('the title is there at once, its cover follows, in the same play', async (t) => {
  const hook = await Hook.open(t);
  let answer: () => void = () => undefined;
  hook.answer = (song, response) => {
    answer = () => says(response, song);
  };
  const { base, ws } = await startServer(t, yaml(`hook: '${hook.url}'`));
  const watching = await new Watching(t, `${ws}/metadata/channel/live`).opened();
  await push(t, base, 'artist=A&song=One');
  const first = await now(base);
  t.match(first, { song: 'One', cover: '' });
  await until(() => hook.asked.length === 1, LONG_MS);
  answer();
  await hasCover(base, coverOf('One'));
  t.match(await now(base), { id: first['id'], start_timestamp: first['start_timestamp'] });
  await until(() => watching.records.length === 2, LONG_MS);
  t.strictSame(
    watching.records.map(({ cover }) => cover),
    ['', coverOf('One')],
  );
  const history = (await (await fetch(`${base}/metadata/channel/live/history.json`)).json()) as unknown[];
  t.equal(history.length, 1);
  t.match(history, [{ cover: coverOf('One') }]);
});

t.test('a push that says it again, with an empty cover, leaves the cover that was found', async (t) => {
  const hook = await Hook.open(t);
  const { base, ws } = await startServer(t, yaml(`hook: '${hook.url}'`));
  const watching = await new Watching(t, `${ws}/metadata/channel/live`).opened();
  const body = JSON.stringify({ artist: 'A', song: 'One', duration: 100, cover: '', album: '', isrc: '' });
  const send = () =>
    fetch(`${base}/metapush/live/demo-token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body,
    });
  t.equal((await send()).status, 200);
  await hasCover(base, coverOf('One'));
  for (let i = 0; i < 3; i++) t.equal((await send()).status, 200);
  await push(t, base, 'artist=B&song=Two');
  await until(() => watching.records.some(({ song }) => song === 'Two'), LONG_MS);
  t.strictSame(
    watching.records.slice(0, 3).map(({ song, cover }) => [song, cover]),
    [
      ['One', ''],
      ['One', coverOf('One')],
      ['Two', ''],
    ],
  );
});

t.test('it is asked once for a song, and ahead for a next', async (t) => {
  const hook = await Hook.open(t);
  const { base } = await startServer(t, yaml(`hook: '${hook.url}'`));
  await push(t, base, 'artist=A&song=Two&tracktype=next');
  await until(() => hook.asked.length === 1, LONG_MS);
  for (const song of ['One', 'Two', 'One', 'Two']) {
    await push(t, base, `artist=A&song=${song}`);
    await hasCover(base, coverOf(song));
  }
  t.strictSame(hook.asked, ['A - Two', 'A - One']);
});

t.test('of more songs than it remembers the oldest is asked for again', async (t) => {
  const hook = await Hook.open(t);
  const { base } = await startServer(t, yaml(`hook: '${hook.url}', cacheEntries: 2`));
  for (const song of ['One', 'Two', 'One', 'Three', 'One', 'Two']) {
    await push(t, base, `song=${song}`);
    await hasCover(base, coverOf(song));
  }
  t.strictSame(hook.asked, [' - One', ' - Two', ' - Three', ' - Two']);
});

t.test('what is not asked: adverts, titles with a cover, none; and what was overtaken stays without', async (t) => {
  const hook = await Hook.open(t);
  const answers: (() => void)[] = [];
  hook.answer = (song, response) => void answers.push(() => says(response, song));
  const { base } = await startServer(t, yaml(`hook: '${hook.url}', etypes: [1001-1008]`));
  await push(t, base, 'song=Soap&etype=103');
  await push(t, base, 'song=Unknown');
  await push(t, base, 'song=');
  const headers = { 'Content-Type': 'application/json' };
  const body = JSON.stringify({
    song: 'Own',
    artist: '',
    duration: 0,
    etype: 1001,
    cover: 'https://x.example/own.png',
  });
  await fetch(`${base}/metapush/live/demo-token`, { method: 'POST', headers, body });
  await push(t, base, 'song=Gone&etype=1001');
  await until(() => answers.length === 1, LONG_MS);
  await push(t, base, 'song=Soap&etype=103');
  answers[0]!();
  await push(t, base, 'song=Last&etype=1008');
  await until(() => answers.length === 2, LONG_MS);
  answers[1]!();
  await hasCover(base, coverOf('Last'));
  t.strictSame(hook.asked, [' - Gone', ' - Last']);
  const history = (await (await fetch(`${base}/metadata/channel/live/history.json`)).json()) as { cover: string }[];
  t.strictSame(
    history.map(({ cover }) => cover),
    [coverOf('Last'), '', '', 'https://x.example/own.png', '', ''],
  );
});

t.test('answers that say nothing, or are none, hold nothing up', async (t) => {
  const hook = await Hook.open(t);
  const bad: Readonly<Record<string, (response: http.ServerResponse) => void>> = {
    nothing: (response) => void response.writeHead(204).end(),
    unknown: (response) => void response.writeHead(404).end(),
    broken: (response) => void response.writeHead(500).end(),
    moved: (response) => void response.writeHead(302, { location: '/' }).end(),
    page: (response) => void response.writeHead(200).end('<html>'),
    script: (response) => void response.writeHead(200).end('{"cover":"javascript:x"}'),
    number: (response) => void response.writeHead(200).end('{"cover":1}'),
    long: (response) => void response.writeHead(200).end(`{"cover":"https://x.example/${'x'.repeat(4097)}"}`),
    huge: (response) => void response.writeHead(200).end('x'.repeat(100_000)),
    cut: (response) => response.destroy(),
    silent: () => undefined,
  };
  hook.answer = (song, response) => (bad[song] ?? ((one) => says(one, song)))(response);
  const { base, machines } = await startServer(t, yaml(`hook: '${hook.url}', timeoutSeconds: 2`));
  for (const song of [...Object.keys(bad), ...Object.keys(bad)]) {
    await push(t, base, `song=${song}`);
    await until(async () => (await now(base))['song'] === song, LONG_MS);
    t.equal((await now(base))['cover'], '', song);
    // Each is answered before the next one is asked.
    if (song !== 'silent') await until(() => hook.asked.at(-1) === ` - ${song}` || hook.asked.length >= 11, LONG_MS);
  }
  // One machine asks.
  const hasCounted = async (outcome: string, count: number) => {
    const metrics = await Promise.all(machines.map(async (each) => (await fetch(`${each}/metrics`)).text()));
    return metrics.some((text) =>
      text.includes(`airsplice_covers_total{channel="live",outcome="${outcome}"} ${count}\n`),
    );
  };
  await until(() => hasCounted('failed', 5), LONG_MS);
  await push(t, base, 'song=good');
  await hasCover(base, coverOf('good'));
  t.strictSame(
    hook.asked,
    [...Object.keys(bad), 'good'].map((song) => ` - ${song}`),
    'what failed is not asked for at once',
  );
  t.ok(await hasCounted('found', 1));
  t.ok(await hasCounted('failed', 5));
});

t.test('a cover with line ends, controls and half a character is clean, as that of a push', async (t) => {
  const hook = await Hook.open(t);
  const chat = await Receiver.open(t);
  hook.answer = (_, response) => void response.end('{"cover":" https://x.example/a\\r\\nb\\u0000\\ud83d.jpg\\n"}');
  const webhooks = `webhooks: [{ url: '${chat.url}?c={cover}', format: custom, dampSeconds: 0 }]`;
  const { base } = await startServer(t, yaml(`hook: '${hook.url}'`, webhooks));
  await push(t, base, 'song=one');
  await hasCover(base, 'https://x.example/a b\ufffd.jpg');
  await until(() => chat.received.length === 2, LONG_MS);
  t.match(chat.received[1]!.path, '?c=https%3A%2F%2Fx.example%2Fa%20b%EF%BF%BD.jpg');
});

t.test('a folder: by the id that was sent, before the hook; served with its tag', async (t) => {
  const hook = await Hook.open(t);
  const folder = tempFolder(t);
  const picture = randomBytes(5000);
  writeFileSync(join(folder, 'song-1.png'), picture);
  writeFileSync(join(folder, 'small.gif'), Buffer.from([0xff, 0xfe, 0x80]));
  mkdirSync(join(folder, 'sub'));
  writeFileSync(join(folder, 'sub', 'in.png'), 'x');
  const top = 'streams: { publicUrl: https://radio.example }';
  const { base } = await startServer(t, yaml(`folder: ${folder}, hook: '${hook.url}'`, '', top));
  await push(t, base, 'song=One&id=song-1');
  const path = '/metadata/channel/live/cover/song-1.png';
  await hasCover(base, `https://radio.example${path}`);
  await push(t, base, 'song=Two&id=song-2');
  await hasCover(base, coverOf('Two'));
  t.strictSame(hook.asked, [' - Two']);
  const answer = await fetch(base + path);
  t.equal(answer.status, 200);
  t.match(Object.fromEntries(answer.headers), {
    'content-type': 'image/png',
    'content-length': '5000',
    'cache-control': 'public, max-age=3600',
    'access-control-allow-origin': '*',
    'x-content-type-options': 'nosniff',
  });
  t.ok(Buffer.from(await answer.arrayBuffer()).equals(picture));
  const etag = answer.headers.get('etag')!;
  t.equal((await fetch(base + path, { headers: { 'If-None-Match': etag } })).status, 304);
  const head = await fetch(base + path, { method: 'HEAD' });
  t.match([head.status, head.headers.get('content-length')], [200, '5000']);
  const small = await fetch(`${base}/metadata/channel/live/cover/small.gif`);
  t.strictSame([...new Uint8Array(await small.arrayBuffer())], [0xff, 0xfe, 0x80]);
  t.equal((await fetch(base + path, { method: 'POST' })).status, 405);
  t.equal((await fetch(base + path, { method: 'OPTIONS' })).status, 204);
  for (const name of [
    'song-2.png',
    'song-1.jpg',
    'sub',
    'sub%2Fin.png',
    '..%2F..%2Fetc%2Fpasswd',
    '%00.png',
    '%zz.png',
  ]) {
    t.equal((await fetch(`${base}/metadata/channel/live/cover/${name}`)).status, 404, name);
  }
  t.equal((await fetch(`${base}/metadata/channel/other/cover/song-1.png`)).status, 404);
  writeFileSync(join(folder, 'song-1.png'), 'another');
  t.equal(await (await fetch(base + path)).text(), 'another');
});

t.test('a reload, and what a webhook gets', async (t) => {
  const [hook, receiver] = [await Hook.open(t), await Receiver.open(t)];
  const webhooks = `webhooks: [{ url: '${receiver.url}', dampSeconds: 0 }]`;
  const server = await startServer(t, yaml('', webhooks));
  const { base } = server;
  await push(t, base, 'song=Before');
  const plan = await server.reload(yaml(`hook: '${hook.url}'`, webhooks));
  t.notMatch(JSON.stringify(plan.changes), /s3cret/);
  await push(t, base, 'song=After');
  await hasCover(base, coverOf('After'));
  await until(() => receiver.received.length === 3, LONG_MS);
  t.strictSame(
    receiver.received.map(({ body }) => JSON.parse(body).data.cover),
    ['', '', coverOf('After')],
  );
  t.notMatch(JSON.stringify((await server.reload(yaml(`hook: '${hook.url}2'`, webhooks))).changes), /s3cret/);
  await server.reload(yaml('', webhooks));
  await push(t, base, 'song=Last');
  await quietFor(300);
  t.strictSame(hook.asked, [' - After']);
  for (const [covers, problem] of [
    ['etypes: [0]', /covers: needs folder or hook/],
    [`folder: ${tempFolder(t)}`, /covers.folder: needs streams.publicUrl/],
    ['folder: /nowhere', /must be a folder that can be read/],
  ] as const) {
    await t.rejects(server.reload(yaml(covers)), problem);
  }
});
