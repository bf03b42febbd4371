/**
 * Listener statistics of a whole server: real connections with times that are known, read by the admin interface behind a restart, after which all that
 * was counted is there. By process (TEST_WORKERS): each counts its own, the hub adds up.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { mmdb } from '../kit/mmdb.js';
import { pause } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { atOnce, demoYaml, startServer, type TestServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

t.jobs = atOnce(4);
process.env['STATISTICS_PASSWORD'] = 'let me count';

const HEADERS = { Authorization: `Basic ${Buffer.from('ann:let me count').toString('base64')}` };
const EXTRA = `
proxies: { trusted: [127.0.0.1] }
admin: { users: { ann: { password: 'env:STATISTICS_PASSWORD' }, bob: { password: 'env:STATISTICS_PASSWORD', rights: [titles] } } }
`;

const API = '/admin/api/statistics';

function ask(base: string, path: string, headers: Record<string, string> = HEADERS): Promise<Response> {
  return fetch(`${base}${API}${path}`, { headers });
}

async function read(t: Test, base: string, path: string) {
  const answer = await ask(base, path);
  const text = await answer.text();
  t.equal(answer.status, 200, `${path}: ${text.slice(0, 300)}`);
  return JSON.parse(text);
}

/** Plays until it is cut. */
async function listen(t: Test, { port }: TestServer, address: string, agent: string, more = ''): Promise<Player> {
  const headers = `X-Forwarded-For: ${address}\r\n${more}`;
  const player = new Player(port, '/demo.mp3', { headers, agent });
  t.teardown(() => player.socket.destroy());
  await until(() => player.audioBytes > 0, 20_000);
  return player;
}

async function push(t: Test, base: string, fields: Record<string, string>): Promise<void> {
  const answer = await fetch(`${base}/metapush/demo/demo-token?${new URLSearchParams(fields)}`);
  t.equal(answer.status, 200);
}

t.test('connections, listeners, countries, players, pages, titles: kept over a restart', async (t) => {
  const folder = tempFolder(t);
  const countries = join(folder, 'country.mmdb');
  writeFileSync(countries, mmdb({ '192.0.2.0/24': { country: { iso_code: 'DE' } } }));
  const yaml = demoYaml(`${EXTRA}statistics: { countryFile: ${countries}, answerRows: 30 }`);
  const server = (await startServer(t, yaml, folder)).one;
  await push(t, server.base, { artist: 'Ann', song: '=HYPERLINK("x")', isrc: 'GBAYE6800011' });
  const startedMs = performance.now();
  const one = await listen(t, server, '192.0.2.1', 'VLC/3.0.20 LibVLC/3.0.20');
  const two = await listen(t, server, '192.0.2.1', 'VLC/3.0.20 LibVLC/3.0.20');
  const three = await listen(
    t,
    server,
    '198.51.100.9',
    'Mozilla/5.0 Firefox/131.0',
    'Referer: https://www.radio.example/?u=ann\r\n',
  );
  const joinedMs = performance.now();
  await pause(2000);
  two.socket.destroy();
  await push(t, server.base, { artist: 'Ben', song: 'Second' });
  await pause(1500);
  await server.app.stop();
  const endedMs = performance.now();
  one.socket.destroy();
  three.socket.destroy();

  const { base } = (await startServer(t, yaml, folder)).one;
  const day = await read(t, base, '?channel=demo&by=day');
  t.match(day.totals, { connections: 3, listeners: 2, peak: 3 });
  t.equal(day.timezone, 'Europe/Zurich');
  t.match(day.series[0].at, /T0[12]:00:00\+0[12]:00$/, "UTC's day, in Zurich");
  const hours = day.totals.listeningHours * 3600;
  const [least, most] = [2 * 3.5 + 2 - 1, (3 * (endedMs - startedMs)) / 1000 + 0.5];
  t.ok(hours > least && hours < most, `${hours} s of listening, between ${least} and ${most}`);
  t.ok(day.totals.averageSeconds >= 2 && day.totals.averageSeconds < (endedMs - startedMs) / 1000);
  t.match((await read(t, base, '?station=demo')).totals, { connections: 3, listeners: 2, peak: 3 });
  const rows = (await read(t, base, '?channel=demo&of=country')).totals;
  t.match(
    rows.find(({ country }: { country: string }) => country === 'DE'),
    { connections: 2, listeners: 1 },
  );
  t.match(
    rows.find(({ country }: { country: string }) => country === 'unknown'),
    { connections: 1 },
  );
  const players = (await read(t, base, '?station=demo&of=player')).totals;
  t.same(players.map(({ player }: { player: string }) => player).sort(), ['Firefox', 'VLC']);
  const pages = (await read(t, base, '?channel=demo&of=page')).totals;
  t.same(pages.map(({ page }: { page: string }) => page).sort(), ['radio.example', 'unknown']);

  const { plays } = await read(t, base, '/titles?channel=demo');
  const [first, second] = plays.filter(({ source }: { source: string }) => source === 'metapush');
  t.match(first, { title: '=HYPERLINK("x")', artist: 'Ann', isrc: 'GBAYE6800011', performances: 3 });
  const title = first.listenerMinutes * 60;
  t.ok(title > 3 * 2 - 1 && title < (3 * (joinedMs - startedMs)) / 1000 + 3 * 2 + 4, `${title} s`);
  t.match(second, { title: 'Second', performances: 2 });
  t.ok(Math.abs(second.listenerMinutes * 60 - 2 * 1.5) < 2, `${second.listenerMinutes * 60} s`);

  const month = day.to.slice(0, 7);
  const csv = await (await ask(base, `/royalty.csv?station=demo&month=${month}`)).text();
  t.match(csv, /^channel,start,duration_seconds,artist,title/);
  t.match(csv, /,Ann,"'=HYPERLINK\(""x""\)",/, 'no formula');
  const use = await ask(base, `/royalty.csv?station=demo&month=${month}&form=use&category=B`);
  t.equal(use.headers.get('content-type'), 'text/csv; charset=utf-8');
  t.match(await use.text(), /Demo,B,Ann,"'=HYPERLINK\(""x""\)",GBAYE6800011,,,3\r\n/);
  t.match((await read(t, base, `/royalty?station=demo&channel=studio&month=${month}`)).totals, { plays: 0 });
  t.match(
    await (await ask(base, '.csv?channel=demo&of=player&by=day')).text(),
    /^at,player,connections,listeners,listening_hours,peak,average_seconds\r\n/,
  );

  for (const [path, status, fields] of [
    ['', 422, ['station']],
    ['?channel=demo&station=demo', 422, ['channel']],
    ['?channel=nowhere', 404, []],
    ['?channel=demo&by=week&of=age&from=2026-02-30&to=yesterday', 422, ['by', 'of', 'to', 'from']],
    ['?channel=demo&from=2026-11-02&to=2026-11-01', 422, ['from']],
    ['?channel=demo&by=minute', 422, ['from']],
    ['/royalty?station=demo&month=2026-13&form=x&category=%00', 422, ['month', 'form', 'category']],
    ['/royalty?station=demo', 422, ['month']],
  ] as const) {
    const answer = await ask(base, path);
    t.equal(answer.status, status, path);
    const problem = (await answer.json()) as { errors?: { field: string }[] };
    t.same(problem.errors?.map(({ field }) => field) ?? [], fields, path);
  }
  t.equal((await ask(base, '?channel=demo', {})).status, 401);
  const bob = { Authorization: `Basic ${Buffer.from('bob:let me count').toString('base64')}` };
  t.equal((await ask(base, '?channel=demo', bob)).status, 403);

  for (let i = 0; i < 12; i++) await push(t, base, { artist: 'Long', song: `${i} ${'x'.repeat(190)}` });
  await until(async () => (await ask(base, '/titles?channel=demo')).headers.get('content-encoding') === 'gzip', 20_000);
  t.match(await read(t, base, '/titles?channel=demo'), { channel: 'demo' }, 'a long answer is compressed');
  const long = await (await ask(base, '/titles.csv?channel=demo&bom=1')).arrayBuffer();
  t.equal(Buffer.from(long).subarray(0, 10).toString(), '\ufeffchannel', 'a spreadsheet reads it as UTF-8');
});

t.test('nothing is kept where that is not wanted', async (t) => {
  const folder = tempFolder(t);
  const yaml = demoYaml(`${EXTRA}statistics: { enabled: false }`);
  const server = (await startServer(t, yaml, folder)).one;
  await listen(t, server, '192.0.2.1', 'VLC');
  await push(t, server.base, { song: 'x' });
  await server.app.stop();
  const { base } = (await startServer(t, yaml, folder)).one;
  t.same((await read(t, base, '?channel=demo')).series, []);
  t.same((await read(t, base, '/titles?channel=demo')).plays, []);
});
