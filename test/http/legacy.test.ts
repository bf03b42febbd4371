/** The deprecated host: its three headers on every HTTP answer, however it is written, and on no answer elsewhere; its roles. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { loadConfig } from '../../src/config/load.js';
import { legacyHeaders } from '../../src/http/legacy.js';
import { Roles } from '../../src/http/roles.js';
import { demoYaml, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';
import { Watching, Wire } from '../kit/wire.js';

// They wait more than they compute.
t.jobs = 4;

const OPTIONS = 'legacy: { deprecatedOn: 2024-01-01, sunsetOn: 2027-12-31, successor: "https://api.example.com/new" }';
const HEADS = {
  deprecation: '@1704067200',
  sunset: 'Fri, 31 Dec 2027 00:00:00 GMT',
  link: '<https://api.example.com/new>; rel="successor-version"',
};
const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';

/** An ordinary address, and a deprecated one. */
const yaml = (roles = '[legacy]') =>
  demoYaml(OPTIONS).replace(
    /^addresses: .*$/m,
    `addresses: [{ host: 127.0.0.1, port: 0 }, { host: 127.0.0.1, port: 0, roles: ${roles} }]`,
  );

interface Head {
  readonly status: number;
  /** How often each of the three stands there, and with what. */
  readonly legacy: Readonly<Record<string, string[]>>;
  readonly text: string;
}

/** The head that comes for these bytes, maybe after another request on the same connection; bodies without end are left. */
async function headFor(t: Test, port: number, bytes: string, before = ''): Promise<Head> {
  const wire = new Wire(t, port);
  if (before !== '') {
    await wire.send(before).take(1);
    wire.got = '';
  }
  wire.send(bytes);
  await until(
    () => wire.got.includes('\r\n\r\n'),
    5000,
    () => `${JSON.stringify(bytes.slice(0, 100))}: ${wire.got.slice(0, 300)}`,
  );
  const text = wire.got.split('\r\n\r\n')[0]!;
  wire.socket.destroy();
  const legacy: Record<string, string[]> = { deprecation: [], sunset: [], link: [] };
  for (const line of text.split('\r\n').slice(1)) {
    const [name, ...rest] = line.split(': ');
    legacy[name!.toLowerCase()]?.push(rest.join(': '));
  }
  return { status: Number(text.split(' ')[1]), legacy, text };
}

const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}${headers && '\r\n'}\r\n`;
const POLL = '/metadata/channel/demo.json';

/** What is asked, and the status of the answer. */
const ANSWERS: readonly [what: string, bytes: string, status: number, before?: string][] = [
  ['the page', get('/'), 200],
  ['the page with a query', get('/?x'), 200],
  ['a push', get('/metapush/demo/demo-token?song=Bar&artist=Foo&time=2024-01-01T00:00:00Z'), 200],
  ['a push with a wrong token', get('/metapush/demo/wrong?song=x&artist=y'), 403],
  ['polling', get(POLL), 200],
  ['polling what is there already', get(POLL, 'If-None-Match: *'), 304],
  ['nothing to poll', get('/metadata/channel/studio.json'), 204],
  ['an unknown channel', get('/metadata/channel/none.json'), 404],
  ['a preflight', `OPTIONS ${POLL} HTTP/1.1\r\nHost: x\r\n\r\n`, 204],
  ['a method that is not allowed', `DELETE ${POLL} HTTP/1.1\r\nHost: x\r\n\r\n`, 405],
  ['a WebSocket path without upgrade', get('/metadata/channel/demo'), 426],
  ['no such path', get('/none'), 404],
  ['a path that cannot be decoded', get('/metapush/%zz/x'), 400],
  ['operations, which are not served here', get('/metrics'), 404],
  ['a stream', get('/demo.mp3'), 200],
  ['a stream by its older session name', get('/demo?sabcsid=abc'), 200],
  ['a stream, second on its connection', get('/demo.mp3'), 200, get(POLL)],
  ['the head of a stream', 'HEAD /demo.mp3 HTTP/1.1\r\nHost: x\r\n\r\n', 200],
  ['the preflight of a stream', 'OPTIONS /demo.mp3 HTTP/1.1\r\nHost: x\r\n\r\n', 204],
  ['a stream that cannot be changed', 'POST /demo.mp3 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n', 405],
  ['a mount with a head that is too long', `GET /demo.mp3 HTTP/1.1\r\nX: ${'x'.repeat(40_000)}`, 431],
  ['a mount with a broken head', 'GET /demo.mp3 NOTHING\r\n\r\n', 400],
  ['a head that is too long', `GET /none HTTP/1.1\r\nX: ${'x'.repeat(40_000)}`, 431],
  ['what is no HTTP', 'GET / HTTP/1.1\r\nbroken\r\n\r\n', 400],
  ["no Host (answered by Node's server itself)", 'GET /none HTTP/1.1\r\n\r\n', 400],
  ["an unknown expectation (Node's server too)", get('/none', 'Expect: wonders'), 417],
  ['SSE', get('/metadata/sse/channel/demo'), 200],
  ['a WebSocket', get('/metadata/channel/demo', `${UPGRADE}\r\nSec-WebSocket-Version: 13`), 101],
  ['a WebSocket of no channel', get('/metadata/channel/none', `${UPGRADE}\r\nSec-WebSocket-Version: 13`), 404],
  ['a WebSocket of another version', get('/metadata/channel/demo', `${UPGRADE}\r\nSec-WebSocket-Version: 7`), 400],
];

t.test(
  'every answer of a deprecated address has the three headers once, none of another address has one',
  async (t) => {
    const { app } = await startServer(t, yaml());
    const [ordinary, legacy] = app.ports as [number, number];
    const none = { deprecation: [], sunset: [], link: [] };
    const all = Object.fromEntries(Object.entries(HEADS).map(([name, value]) => [name, [value]]));
    for (const [what, bytes, status, before] of ANSWERS) {
      const there = await headFor(t, legacy, bytes, before);
      t.equal(there.status, status, `${what}: ${status}`);
      t.strictSame(there.legacy, all, what);
      const here = await headFor(t, ordinary, bytes, before);
      t.strictSame(here.legacy, none, `${what}, elsewhere`);
    }
    const old = get('/', `${UPGRADE}\r\nSec-WebSocket-Version: 13`);
    const nes = await headFor(t, legacy, old);
    t.equal(nes.status, 101, 'the old WebSocket');
    t.strictSame(nes.legacy, all);
    const refused = await headFor(t, legacy, get('/', `${UPGRADE}\r\nSec-WebSocket-Version: 7`));
    t.equal(refused.status, 400, 'refused');
    t.strictSame(refused.legacy, all);
    t.match(refused.text, /^Sec-WebSocket-Version: 13, 8$/m, 'the versions there are');
    t.match(await headFor(t, ordinary, old), { status: 404, legacy: none }, 'not served elsewhere');
    const post = await headFor(t, legacy, old.replace('GET', 'POST'));
    t.equal(post.status, 405);
    t.match(post.text, /^Allow: GET$/m);
  },
);

t.test('a deprecated address serves what the old host did; encoders and operations when they are named', async (t) => {
  const { app } = await startServer(t, yaml('[legacy, ops]'));
  const legacy = app.ports[1]!;
  t.equal((await headFor(t, legacy, get('/metrics'))).status, 200);
  const watching = await new Watching(t, `ws://127.0.0.1:${legacy}/metadata/station/demo`).opened();
  t.equal((await headFor(t, legacy, get('/metapush/demo/demo-token?song=Here'))).status, 200);
  await watching.has(1);
  t.strictSame(watching.songs, ['now Here']);

  const of = (roles: Roles) =>
    (['push', 'poll', 'watch', 'stream', 'encoder', 'ops', 'legacy'] as const).filter((role) => roles.has(role)).join();
  t.equal(of(new Roles(['legacy'])), 'push,poll,watch,stream,legacy');
  t.equal(of(new Roles(['encoder', 'legacy'])), 'push,poll,watch,stream,encoder,legacy');
  t.equal(of(new Roles(['poll'])), 'poll');
  t.equal(of(new Roles(undefined)), 'push,poll,watch,stream,encoder,ops');
});

t.test('the options: all three where a role needs them, days that exist, in order', async (t) => {
  const file = join(tempFolder(t), 'config.yaml');
  const load = (from: string, to: string) => {
    writeFileSync(file, yaml().replace(from, to));
    return loadConfig(file, process.env);
  };
  t.strictSame(load('', '').legacy, {
    deprecatedOn: '2024-01-01',
    sunsetOn: '2027-12-31',
    successor: 'https://api.example.com/new',
  });
  t.throws(() => load(OPTIONS, ''), /addresses\[1\]\.roles\[0\]: needs the options of legacy/);
  t.throws(() => load('deprecatedOn: 2024-01-01, ', ''), /legacy\.deprecatedOn: is missing/);
  for (const day of ['2024-02-30', '2024-1-1', 'soon', '"2024-01-01T00:00:00Z"']) {
    t.throws(() => load('2024-01-01', day), /legacy\.deprecatedOn: must be a day such as/, day);
  }
  t.doesNotThrow(() => load('2027-12-31', '2024-01-01'), 'the same day');
  t.throws(() => load('2027-12-31', '2023-12-31'), /legacy\.sunsetOn: must not be before/, 'a day too early');
  t.throws(() => load('https:', 'ftp:'), /legacy\.successor: must be an http/);
});

t.test('no text of an operator breaks out of the Link', async (t) => {
  const headers = legacyHeaders({
    deprecatedOn: '2024-01-01',
    sunsetOn: '2024-01-02',
    successor: 'https://é.example/a>b ü',
  });
  t.equal(headers['Link'], '<https://xn--9ca.example/a%3Eb%20%C3%BC>; rel="successor-version"');
});
