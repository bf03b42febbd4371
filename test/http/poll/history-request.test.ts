/** History over HTTP: pages, times, CSV that no spreadsheet runs, and the manners of every read. */

import { SaxesParser } from 'saxes';
import t, { type Test } from 'tap';
import { HISTORY_FORMS } from '../../../src/http/poll/history-forms.js';
import { parseQueryMs } from '../../../src/metadata/time.js';
import { makeRecord } from '../../kit/record.js';
import { DEMO_AUDIO, startServer } from '../../kit/server.js';
import { ask } from '../../kit/wire.js';

const CHANNEL = `{ pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }`;
const FEED = CHANNEL.replace('{', "{ name: 'A feed & more', url: 'https://wave.example/feed?x=1&y=2',");
const YAML = `
addresses: [{ host: 127.0.0.1, port: 0 }]
history: { entries: 60 }
stations: { house: { timezone: Europe/Zurich, channels: { a: ${CHANNEL}, b: ${CHANNEL}, odd: ${CHANNEL}, none: ${CHANNEL}, span: ${CHANNEL}, feed: ${FEED} } } }
`;
const FACE = { key: 'a', name: '', station: 'house', timezone: 'Europe/Zurich' };
const UTC_MS = /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ$/;

const { port, base } = await startServer(t, YAML);
const get = (t: Test, path: string, headers = '') => ask(t, port, `GET /metadata/channel/${path} HTTP/1.1${headers}`);

async function push(channel: string, fields: Record<string, string>): Promise<void> {
  const response = await fetch(`${base}/metapush/${channel}/demo-token?${new URLSearchParams(fields)}`);
  if (response.status !== 200) throw new Error(await response.text());
}

t.test('what was on air, newest first', async (t) => {
  t.equal((await get(t, 'a/history.json')).body, '[]', 'nothing yet');
  await push('a', { song: 'one', artist: 'A', id: '1' });
  await push('a', { song: 'soon', tracktype: 'next' });
  await push('a', { song: 'later', time: String(Math.floor(Date.now() / 1000) + 200) });
  await push('a', { song: 'two', id: '2' });
  await push('a', { song: 'two!', id: '2' });
  await push('a', { song: 'two!', id: '2' });
  const answer = await get(t, 'a/history.json');
  t.equal(answer.status, 200);
  t.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
  const records = answer.json();
  t.same(
    records.map((record: { song: string }) => record.song),
    ['two!', 'two', 'one'],
    'a next and a held one were not on air; a correction stands beside what it corrects; a repeat makes nothing',
  );
  t.equal(records[0].to, null);
  for (const [i, record] of records.entries()) {
    t.match(record.from, UTC_MS);
    if (i > 0) t.equal(record.to, records[i - 1].from, 'one ends where the next begins');
  }
  const now = (await get(t, 'a.json')).json();
  const { from: _, to: __, ...newest } = records[0];
  t.same(newest, now, 'a channel record like any other');
  t.same(Object.keys(records[0]), [...Object.keys(now), 'from', 'to']);
  await push('a', {});
  t.match(
    (await get(t, 'a/history.json')).json()[0],
    { song: 'two!', to: UTC_MS },
    'a title that was cleared has ended',
  );
});

t.test('how many one answer may have is the configuration', async (t) => {
  const small = await startServer(t, YAML.replace('history:', 'limits: { historyEntries: 3 }\nhistory:'));
  for (let i = 1; i <= 4; i++) await fetch(`${small.base}/metapush/a/demo-token?song=${i}`);
  const page = (query: string) => ask(t, small.port, `GET /metadata/channel/a/history.json${query} HTTP/1.1`);
  t.equal((await page('?limit=3')).json().length, 3);
  t.equal((await page('')).json().length, 3, 'also where none is asked for');
  const past = await page('?limit=4');
  t.equal(past.status, 422);
  t.same(past.json().errors, [{ field: 'limit', message: 'must be 1 to 3' }]);
  const { paths, components } = (await ask(t, small.port, 'GET /openapi.json HTTP/1.1')).json();
  const { parameters } = paths['/metadata/channel/{channelkey}/history.json'].get as {
    parameters: { $ref?: string }[];
  };
  const named = parameters.map((one) => (one.$ref ? components.parameters[one.$ref.split('/').at(-1)!] : one));
  t.match(
    named.find(({ name }) => name === 'limit'),
    { schema: { maximum: 3, default: 3 } },
  );
});

t.test('limit and before', async (t) => {
  for (let i = 1; i <= 61; i++) await push('b', { song: `${i}` });
  const songs = async (query: string) =>
    (await get(t, `b/history.json${query}`)).json().map((one: { song: string }) => one.song);
  t.same((await songs('')).length, 50);
  t.same((await songs('?limit=')).length, 50);
  t.same(await songs('?limit=2'), ['61', '60']);
  t.equal((await songs('?limit=1000')).length, 60, 'no more than are kept');
  let all: string[] = [];
  let before = '';
  for (;;) {
    const page = (await get(t, `b/history.json?limit=7${before}`)).json();
    if (page.length === 0) break;
    all = [...all, ...page.map((one: { song: string }) => one.song)];
    before = `&before=${page.at(-1).from}`;
  }
  t.same(
    all,
    Array.from({ length: 60 }, (_, i) => `${61 - i}`),
    'page by page: nothing twice, nothing left out',
  );
  t.same(await songs('?before=2020-01-01T00:00:00Z'), []);
  t.same((await songs('?limit=1&before=2099-01-01T00:00:00+02:00'))[0], '61', 'a plus that was not encoded');
  for (const [query, fields] of [
    ['limit=0', ['limit']],
    ['limit=1001', ['limit']],
    ['limit=-1', ['limit']],
    ['limit=1e2', ['limit']],
    ['limit=99999999999999999999', ['limit']],
    ['before=yesterday', ['before']],
    ['before=1763642248', ['before']],
    ['limit=x&before=x', ['limit', 'before']],
  ] as const) {
    const refused = await get(t, `b/history.json?${query}`);
    t.equal(refused.status, 422, query);
    t.same(
      refused.json().errors.map((error: { field: string }) => error.field),
      fields,
    );
    t.equal(refused.headers.get('access-control-allow-origin'), '*');
  }
  t.equal(parseQueryMs('2026-11-20T12:37:28.1239Z'), Date.UTC(2026, 10, 20, 12, 37, 28, 123));
  t.equal(parseQueryMs('2026-11-20T12:37:28.5 01:00'), Date.UTC(2026, 10, 20, 11, 37, 28, 500));
  t.equal(parseQueryMs('2026-13-20T12:37:28Z'), null);
});

t.test('csv', async (t) => {
  const songs = [
    'plain',
    'with, comma',
    'with "quotes"',
    '=1+1',
    ' =cmd|calc',
    '+49',
    '-1',
    '@SUM(A1)',
    '＝1',
    '=a,"b"',
    "it's",
    'a=b',
    'a; =b',
    'ü',
  ];
  for (const song of songs) await push('odd', { song, artist: 'A', etype: '1001', id: `id-${song}`, isrc: 'CH1' });
  const answer = await get(t, 'odd/history.csv');
  t.equal(answer.status, 200);
  t.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8');
  t.equal(answer.headers.get('content-disposition'), 'attachment; filename="odd-history.csv"');
  const lines = answer.body.split('\r\n');
  t.equal(lines.shift(), 'from,to,artist,song,etype,source,id,isrc');
  t.equal(lines.pop(), '', 'the last line is ended too');
  t.match(lines[0], /^20[^,]{21}Z,,A,ü,1001,metapush,id-ü,CH1$/, 'on air: no end');
  t.match(lines[2], /^20[^,]{21}Z,20[^,]{21}Z,A,a=b,1001,/);
  const cells = lines.map((line) => /^[^,]*,[^,]*,A,(.*),1001,/.exec(line)![1]);
  t.same(cells.reverse(), [
    'plain',
    '"with, comma"',
    '"with ""quotes"""',
    "'=1+1",
    "'=cmd|calc",
    "'+49",
    "'-1",
    "'@SUM(A1)",
    "'＝1",
    `"'=a,""b"""`,
    "it's",
    'a=b',
    "a;' =b",
    'ü',
  ]);
  const stored = (song: string) =>
    HISTORY_FORMS.csv.line({ record: makeRecord({ song }), fromMs: 0, toMs: null }, FACE);
  t.match(stored('\t=1'), ",,'\t=1,0,", 'even what cannot be pushed');
  t.match(stored('\r=1'), `,,"'\r=1",0,`);
  t.match(stored('a\n=1'), ',,"a\n=1",0,');
  t.equal((await get(t, 'odd/history.csv?limit=2')).body.split('\r\n').length, 4);
  t.equal((await get(t, 'none/history.csv')).body, 'from,to,artist,song,etype,source,id,isrc\r\n');
});

t.test('a span of time, and content types', async (t) => {
  const types = [0, 101, 103, 1001, 1002, 1008, 104];
  for (const [i, etype] of types.entries()) await push('span', { song: `s${i}`, etype: `${etype}` });
  const records = (await get(t, 'span/history.json')).json().reverse();
  const songs = async (query: string) =>
    (await get(t, `span/history.json?${query}`)).json().map((one: { song: string }) => one.song);
  t.same(await songs(`from=${records[2].from}`), ['s6', 's5', 's4', 's3', 's2'], 'its first moment is in it');
  t.same(await songs(`to=${records[2].from}`), ['s1', 's0'], 'its last is not');
  t.same(await songs(`from=${records[1].from}&to=${records[3].from}`), ['s2', 's1']);
  t.same(await songs(`from=${records[1].from}&to=${records[5].from}&before=${records[2].from}`), ['s1']);
  t.same(await songs(`from=${records[1].from}&before=${records[2].from}&limit=5`), ['s1']);
  t.same(await songs('etype=1001-1008'), ['s5', 's4', 's3']);
  t.same(await songs('etype=1001-1008&limit=2'), ['s5', 's4']);
  t.same(await songs('etype=103,1002'), ['s4', 's2']);
  t.same(await songs('etype=999'), []);
  t.same(await songs(`etype=1001-1008&to=${records[4].from}`), ['s3']);
  const many = (count: number) => Array.from({ length: count }, () => '103').join(',');
  t.same(await songs(`etype=${many(16)}`), ['s2']);
  for (const [query, field] of [
    [`etype=${many(17)}`, 'etype'],
    ['etype=music', 'etype'],
    ['etype=1008-1001', 'etype'],
    ['etype=103,', 'etype'],
    ['from=yesterday', 'from'],
    ['to=1763642248', 'to'],
    [`from=${records[1].from}&to=${records[1].from}`, 'to'],
    ['bom=2', 'bom'],
  ] as const) {
    const refused = await get(t, `span/history.json?${query}`);
    t.equal(refused.status, 422, query);
    t.same(
      refused.json().errors.map((error: { field: string }) => error.field),
      [field],
    );
  }
});

t.test('csv for spreadsheets begins with a byte order mark, where that is asked for', async (t) => {
  const bytes = async (query: string) => {
    const answer = await fetch(`${base}/metadata/channel/span/history.csv${query}`);
    return Buffer.from(await answer.arrayBuffer());
  };
  const plain = await bytes('');
  t.same(await bytes('?bom=1'), Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), plain]));
  t.same(await bytes('?bom=0'), plain);
  t.equal((await get(t, 'span/history.json?bom=1')).body[0], '[', 'JSON has none');
});

t.test('rss', async (t) => {
  const titles = ['A & B <live>', `"quoted" 'so'`, 'ü'];
  for (const song of titles) await push('feed', { song, id: song });
  const cover = 'https://x.example/c.jpg?a=1&b=2';
  const body = JSON.stringify({ song: 'last', artist: 'X', duration: 0, cover, etype: 1001 });
  const headers = { 'Content-Type': 'application/json' };
  const sent = await fetch(`${base}/metapush/feed/demo-token`, { method: 'POST', headers, body });
  t.equal(sent.status, 200, await sent.text());
  await push('feed', { etype: '103' });
  const answer = await get(t, 'feed/history.rss?limit=5');
  t.equal(answer.headers.get('content-type'), 'application/rss+xml; charset=utf-8');
  const said = elementsOf(answer.body);
  const of = (name: string) => said.filter((one) => one.name === name).map(({ text }) => text);
  t.same(of('title'), ['A feed & more', 'Advertising', 'X - last', 'ü', `"quoted" 'so'`, 'A & B <live>']);
  t.same(of('link'), ['https://wave.example/feed?x=1&y=2']);
  t.equal(new Set(of('guid')).size, 5);
  t.same(
    said.filter(({ name }) => name === 'media:thumbnail').map(({ url }) => url),
    [cover],
  );
  for (const date of of('pubDate')) t.ok(Math.abs(Date.parse(date) - Date.now()) < 60_000, date);
  const guid = async () => {
    const elements = elementsOf((await get(t, 'feed/history.rss?limit=1')).body);
    return elements.find(({ name }) => name === 'guid')!.text;
  };
  await push('feed', { song: 'its id comes later' });
  const first = await guid();
  await push('feed', { song: 'its id comes later', id: 'real' });
  t.equal((await get(t, 'feed/history.json?limit=1')).json()[0].id, 'real');
  t.equal(await guid(), first, 'the same item');
  const empty = elementsOf((await get(t, 'none/history.rss')).body).map(({ name, text }) => `${name} ${text}`);
  t.same(empty, ['title none', 'link ', 'description What was on air: none', 'channel ', 'rss ']);
});

interface ReadElement {
  readonly name: string;
  readonly text: string;
  readonly url: unknown;
}

/** In the order of their ends. */
function elementsOf(xml: string): ReadElement[] {
  const found: ReadElement[] = [];
  const open: { text: string; url: unknown }[] = [];
  const parser = new SaxesParser();
  parser.on('opentag', ({ attributes }) => void open.push({ text: '', url: attributes['url'] }));
  parser.on('text', (text) => {
    if (open.length > 0) open.at(-1)!.text += text;
  });
  parser.on('closetag', ({ name }) => void found.push({ name, ...open.pop()! }));
  parser.write(xml).close();
  return found;
}

t.test('the manners of every read', async (t) => {
  for (const path of ['b/history.json?limit=2', 'b/history.csv?limit=2', 'b/history.rss?limit=2']) {
    const answer = await get(t, path);
    t.equal(answer.headers.get('access-control-allow-origin'), '*');
    t.equal(answer.headers.get('cache-control'), 'public, max-age=1');
    const etag = answer.headers.get('etag')!;
    t.match(etag, /^"[^"]+"$/);
    t.equal((await get(t, path, `\nIf-None-Match: ${etag}`)).status, 304);
    const head = await ask(t, port, `HEAD /metadata/channel/${path} HTTP/1.1`);
    t.equal(head.status, 200);
    t.equal(head.headers.get('content-length'), answer.headers.get('content-length'));
    t.equal((await ask(t, port, `OPTIONS /metadata/channel/${path} HTTP/1.1`)).status, 204);
    const post = await ask(t, port, `POST /metadata/channel/${path} HTTP/1.1\nContent-Length: 0`);
    t.equal(post.status, 405);
    t.equal(post.headers.get('allow'), 'GET, HEAD, OPTIONS');
  }
  for (const path of [
    'c/history.json',
    'c/history.csv',
    'b/history',
    'b/history.txt',
    'b/history.json/',
    'b/History.json',
    '/history.json',
  ]) {
    t.equal((await get(t, path)).status, 404, path);
  }
});
