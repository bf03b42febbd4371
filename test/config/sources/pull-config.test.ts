/** The options of pulled sources: what is taken, what is refused, and that each of them reaches the source. */

import { readFileSync } from 'node:fs';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { inspect } from 'node:util';
import t, { type Test } from 'tap';
import type { PullConfig } from '../../../src/channel/pulled.js';
import { ConfigError, loadConfig } from '../../../src/config/load.js';
import { PEM } from '../../kit/certificate.js';
import { Random } from '../../kit/random.js';
import { startServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';
import { audioOf, streamHead, Upstream } from '../../kit/upstream.js';

/** The source as it was read, or what is wrong with it. */
function read(t: Test, options: string, env: NodeJS.ProcessEnv = {}): PullConfig | string {
  const text = `stations: { s: { channels: { c: { sources: [{ type: pull, ${options} }] } } } }`;
  try {
    return loadConfig(join(t.testdir({ 'a.yaml': text }), 'a.yaml'), env).stations['s']!.channels['c']!
      .sources[0] as PullConfig;
  } catch (error) {
    if (error instanceof ConfigError) return error.message.replace(/^.*sources\[0\]\./, '');
    throw error;
  }
}

t.test('one URL or up to 8, with or without a user and password', async (t) => {
  for (const url of ['http://x.example/', 'https://me:w%20rd@[2606:4700::1]:8000/live?x=1', 'http://me@10.0.0.1/']) {
    t.match(read(t, `url: '${url}'`), { url });
    t.match(read(t, `url: ['${url}', '${url}']`), { url: [url, url] });
  }
  const eight = Array.from({ length: 8 }, (_, i) => `http://x${i}.example/`);
  t.match(read(t, `url: [${eight}]`), { url: eight });
  const wrong = [
    ...['[]', `[${eight}, http://x/]`, 'x', 'ftp://x/', '[http://x/, 5]', 'http://me:%zz@x/', '"http://x/\\n"'],
    `http://x/${'x'.repeat(4096)}`,
  ];
  for (const url of wrong)
    t.match(read(t, `url: ${url}`), /^url(\[\d\])?: must be (an http:|a list of 1 to 8)/, url.slice(0, 50));
});

t.test('a password is named, never written, and not printed', async (t) => {
  const source = read(t, 'url: http://x/, user: me, password: env:WORD', { WORD: 'hunter2' }) as PullConfig;
  t.equal(source.password?.reveal(), 'hunter2');
  t.notMatch(JSON.stringify(source) + inspect(source, { depth: 9, showHidden: true }), /hunter2/);
  for (const [password, env] of [
    ['hunter2', {}],
    ['env:WORD', {}],
    ['env:WORD', { WORD: '' }],
    ['env:WORD', { WORD: 'hunter2\n' }],
  ] as const) {
    t.match(read(t, `url: http://x/, password: ${password}`, env), /^password: must be env:(?!.*unter2)/);
  }
  t.match(read(t, 'url: http://x/, caFile: nowhere.pem'), /^caFile: must be a file/);
});

const yaml = (options: string, rest = '') => `
addresses: [{ host: 127.0.0.1, port: 0 }]
${rest}
stations: { s: { channels: { c: { sources: [{ type: pull, retrySeconds: { min: 60, max: 60 }, ${options} }] } } } }
`;

t.test('they reach the source: user, password, authorities, leave to go to private places', async (t) => {
  process.env['WAVE_TEST_WORD'] = 'wörd';
  t.teardown(() => delete process.env['WAVE_TEST_WORD']);
  const inside = await Upstream.open(t);
  inside.answer = (socket) => void socket.write(Buffer.concat([Buffer.from(streamHead()), audioOf(new Random(), 9)]));
  const sent: (string | undefined)[] = [];
  const pair = { cert: readFileSync(`${PEM}one.cert.pem`), key: readFileSync(`${PEM}one.key.pem`) };
  const server = https.createServer(pair, (request, response) => {
    sent.push(request.headers.authorization);
    response.writeHead(302, { location: inside.url }).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const all = `url: 'https://127.0.0.1:${port}/', user: me, password: env:WAVE_TEST_WORD, caFile: ${PEM}one.cert.pem`;
  const lines: string[] = [];
  const keep = (fields: unknown, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log = { debug: keep, info: keep, warn: keep, error: keep } as never;

  await startServer(t, yaml(all), undefined, log);
  await until(() => lines.length > 0, 5000);
  t.match(lines[0], /^upstream failed .*"channel":"c","upstream":1,"reason":"its address is private/);
  lines.length = 0;
  await startServer(t, yaml(`${all}, allowPrivate: true`, 'limits: { redirects: 0 }'), undefined, log);
  await until(() => lines.length > 0, 5000);
  t.match(lines[0], /redirects too often/);
  t.equal(inside.sockets.length, 0);
  lines.length = 0;
  await startServer(t, yaml(`${all}, allowPrivate: true`, 'limits: { redirects: 1 }'), undefined, log);
  await until(() => lines.some((line) => line.startsWith('upstream plays')), 5000);
  const basic = `Basic ${Buffer.from('me:wörd').toString('base64')}`;
  t.strictSame(sent, [basic, basic, basic]);
  t.notMatch(inside.requestHeads[0], /authorization/i);
});

t.test('limits of playlists and headers reach it', async (t) => {
  const upstream = await Upstream.open(t);
  const lines: string[] = [];
  const keep = (fields: unknown) => void lines.push(JSON.stringify(fields));
  const log = { debug: keep, info: keep, warn: keep, error: keep } as never;
  const list = 'HTTP/1.0 200 OK\r\nContent-Type: audio/x-mpegurl\r\n\r\n';
  const big = `${list}${'#'.repeat(90)}\n`;
  for (const [limit, answer, reason] of [
    ['playlistBytes: 64', big, /longer than 64 bytes/],
    ['playlistDepth: 1', `${list}/live`, /playlists are nested more than 1 deep/],
    ['upstreamHeadBytes: 1024', `HTTP/1.0 200 OK\r\nX: ${'x'.repeat(2000)}\r\n\r\n`, /overflow/],
    ['playlistEntries: 2', null, /404/],
  ] as const) {
    lines.length = upstream.requestHeads.length = 0;
    upstream.answer = (socket, head) =>
      void socket.end(answer ?? (head.startsWith('GET /live ') ? `${list}/1\n/2\n/3\n` : 'HTTP/1.0 404 No\r\n\r\n'));
    const server = await startServer(t, yaml(`url: '${upstream.url}'`, `limits: { ${limit} }`), undefined, log);
    await until(() => lines.length > 0, 5000);
    t.match(lines[0], reason);
    if (answer === null) t.equal(upstream.requestHeads.length, 3);
    await server.app.stop();
  }
});
