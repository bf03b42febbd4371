/**
 * Icecast's admin paths, held against those of Debian's Icecast 2: the same requests to both, the same elements in the same order. And by a
 * client that was written for Icecast, icecast-monitor of the npm registry.
 */

import { promisify } from 'node:util';
import IcecastMonitor from 'icecast-monitor';
import t from 'tap';
import { ADMIN_LOGIN, ADMIN_USERS } from '../../kit/admin-client.js';
import { feed, ICECAST_PASSWORD, Icecast, noIcecast } from '../../kit/icecast.js';
import { Player } from '../../kit/player.js';
import { freePort } from '../../kit/process.js';
import { demoYaml, startServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

const YAML = demoYaml(`
      one: { mounts: [/one.mp3], sources: [{ type: encoder, password: ${ICECAST_PASSWORD} }] }
      two: { mounts: [/two.mp3], sources: [{ type: encoder, password: ${ICECAST_PASSWORD} }] }
${ADMIN_USERS}`)
  // Only the two that both servers have.
  .replace(/ {6}demo:[\s\S]*?(?= {6}one:)/, '');
const ICECAST_LOGIN = `Basic ${Buffer.from(`admin:${ICECAST_PASSWORD}`).toString('base64')}`;
/** Requests of both, in this order. `ID` is that of the client. */
const REQUESTS = [
  'listmounts',
  'listclients?mount=/one.mp3',
  'killclient?mount=/one.mp3&id=99',
  'fallbacks?mount=/one.mp3&fallback=/two.mp3',
  'listmounts',
  'fallbacks?mount=/one.mp3&fallback=',
  'listmounts',
  'moveclients?mount=/one.mp3&destination=/two.mp3',
  'listclients?mount=/two.mp3',
  'killclient?mount=/two.mp3&id=ID',
  'killsource?mount=/one.mp3',
];
const WRONG = [
  'stats?mount=/no',
  'listclients',
  'listclients?mount=/no',
  'killclient?mount=/two.mp3',
  'moveclients?mount=/two.mp3&destination=/no',
  'moveclients?mount=/two.mp3&destination=/two.mp3',
  'fallbacks?mount=/two.mp3',
  'fallbacks?mount=/no&fallback=/two.mp3',
];

/** The elements in their order, without what is each server's own. */
function shape(xml: string): string {
  return xml
    .replace(/<(Connected|ID)>\d+</g, '<$1>0<')
    .replace(/Client \d+ (removed)/, 'Client 0 $1')
    .trim();
}

t.test('what Icecast answers is answered here too', { skip: noIcecast }, async (t) => {
  const icecast = new Icecast(t, await freePort());
  await icecast.start();
  const server = await startServer(t, YAML);
  const answers = await Promise.all(
    [
      { port: icecast.port, login: ICECAST_LOGIN },
      { port: server.port, login: ADMIN_LOGIN },
    ].map(async ({ port, login }) => {
      const ask = (path: string) =>
        fetch(`http://127.0.0.1:${port}/admin/${path}`, { headers: { Authorization: login, 'User-Agent': 'script' } });
      for (const mount of ['/one.mp3', '/two.mp3']) await feed(t, port, mount);
      await until(async () => (await (await ask('listmounts')).text()).includes('/two.mp3'), 8000);
      const player = new Player(port, '/one.mp3', { agent: 'A & <b>' });
      await player.until(({ audioBytes }) => audioBytes > 1000);
      const got: string[] = [];
      let id = '';
      for (const path of REQUESTS) {
        const answer = await ask(path.replace('ID', id));
        if (path.startsWith('moveclients')) {
          // Both move a moment later.
          await until(async () => (await (await ask('listclients?mount=/two.mp3')).text()).includes('<ID>'), 8000);
        }
        const text = await answer.text();
        id = /<ID>(\d+)</.exec(text)?.[1] ?? id;
        // There it is a page for people, even to programs.
        if (path.startsWith('fallbacks')) got.push(`${path}: ${answer.status} ${/Fallback configured/.exec(text)}`);
        else got.push(`${path}: ${answer.status} ${answer.headers.get('content-type')}\n${shape(text)}`);
      }
      await until(() => player.closed, 8000);
      const wrong = await Promise.all(WRONG.map(async (path) => (await ask(path)).status));
      const stats = await (await ask('stats')).text();
      return { got, wrong, stats, without: (await fetch(`http://127.0.0.1:${port}/admin/stats`)).status };
    }),
  );
  const [theirs, ours] = answers as [(typeof answers)[0], (typeof answers)[0]];
  t.same(ours.got, theirs.got);
  t.same(ours.wrong, theirs.wrong);
  t.same(ours.without, theirs.without);
  const members = (xml: string) => [...xml.split('<source ')[1]!.matchAll(/<(\w+)>/g)].map(([, name]) => name!);
  const missing = members(theirs.stats).filter((name) => !members(ours.stats).includes(name));
  t.same(missing, ['total_bytes_read', 'total_bytes_sent'], 'members of a source that are not ours');
});

t.test('icecast-monitor sees the server, its sources and who listens', async (t) => {
  const server = await startServer(t, YAML);
  for (const mount of ['/one.mp3', '/two.mp3'])
    await feed(t, server.port, mount, 'ice-name: Radio & <One>\r\nUser-Agent: Studio/1\r\n');
  const monitor = new IcecastMonitor({
    host: '127.0.0.1',
    port: server.port,
    user: 'all',
    password: 'may do all of it',
  });
  const sources = promisify(monitor.getSources.bind(monitor));
  await until(async () => (await sources()).length === 2, 8000);
  const players = ['A & <b>', 'Winamp'].map(
    (agent) => new Player(server.port, '/one.mp3', { agent, headers: 'Referer: http://page/?a=1&b=2\r\n' }),
  );
  players.push(new Player(server.port, '/two.mp3', { agent: 'third' }));
  for (const player of players) await player.until(({ audioBytes }) => audioBytes > 1000);
  await until(async () => (await sources())[0]!['listeners'] === 2, 8000);
  t.match(await promisify(monitor.getServerInfo.bind(monitor))(), {
    clients: 5,
    host: '127.0.0.1',
    listeners: 3,
    sources: 2,
    sourceClientConnections: 2,
    serverId: /^airsplice/,
    serverStart: /^\w{3}, \d\d \w{3} \d{4} [\d:]+ \+0000$/,
  });
  t.match(await sources(), [
    { mount: '/one.mp3', listeners: 2, listenerPeak: 2, serverName: 'Radio & <One>', serverType: 'audio/mpeg' },
    { mount: '/two.mp3', listeners: 1, sourceIp: '127.0.0.1', listenUrl: `http://127.0.0.1:${server.port}/two.mp3` },
  ]);
  const listeners = await promisify(monitor.getListeners.bind(monitor))();
  const known = { ip: '127.0.0.1', connected: Number, lag: Number, id: /^\d+$/ };
  t.match(
    [...listeners].sort((a, b) => Number(a['id']) - Number(b['id'])),
    [
      { ...known, mount: '/one.mp3', userAgent: 'A & <b>', referer: 'http://page/?a=1&b=2' },
      { ...known, mount: '/one.mp3', userAgent: 'Winamp' },
      { ...known, mount: '/two.mp3', userAgent: 'third', referer: null },
    ],
  );
  const one = await promisify(monitor.getSource.bind(monitor))('/one.mp3');
  t.match(one, { mount: '/one.mp3', listeners: [{ userAgent: 'A & <b>' }, { userAgent: 'Winamp' }] });
  await t.rejects(promisify(monitor.getSource.bind(monitor))('/none.mp3'), /400|not found/);
  // By the number under which it was seen.
  const ask = (path: string) =>
    fetch(`${server.base}/admin/${path}`, { headers: { Authorization: ADMIN_LOGIN, 'User-Agent': 'script' } });
  const id = listeners.find(({ userAgent }) => userAgent === 'Winamp')!['id'];
  t.match(await (await ask(`killclient.json?mount=/one.mp3&id=${id}`)).json(), {
    iceresponse: { message: `Client ${id} removed`, return: 1 },
  });
  await until(() => players[1]!.closed, 5000);
  t.notOk(players[0]!.closed);
  t.notMatch(await (await ask('listmounts')).text(), /<listener /, 'only where they are asked for');
  for (const player of players) player.close();
});

t.test('each path with .xml and .xsl answers the same, with .json as JSON', async (t) => {
  const server = await startServer(t, YAML);
  for (const mount of ['/one.mp3', '/two.mp3']) await feed(t, server.port, mount);
  const ask = (path: string, method = 'GET') =>
    fetch(`${server.base}/admin/${path}`, { method, headers: { Authorization: ADMIN_LOGIN, 'User-Agent': 'script' } });
  for (const mount of ['/one.mp3', '/two.mp3'])
    await until(async () => (await (await ask('listmounts')).text()).includes(mount), 8000);
  const paths = ['stats', 'listmounts', 'listclients', 'killclient', 'moveclients', 'killsource', 'publicstats'];
  const query = '?mount=/one.mp3&id=99&destination=/two.mp3';
  const changing = /(<Connected>)\d+/g;
  for (const path of paths.filter((path) => path !== 'killsource')) {
    const plain = await (await ask(`${path}${query}`)).text();
    t.match(plain, /^<\?xml [^>]+\?>\n<ice(stats|response)>/, path);
    for (const form of ['.xml', '.xsl']) {
      const answer = await ask(`${path}${form}${query}`);
      t.equal((await answer.text()).replace(changing, '$1'), plain.replace(changing, '$1'), `${path}${form}`);
      t.match(answer.headers.get('content-type'), /^text\/xml/);
    }
    const json = (await (await ask(`${path}.json${query}`)).json()) as object;
    t.equal(Object.keys(json)[0], /<(ice\w+)>/.exec(plain)![1], `${path}.json`);
    t.equal((await ask(`${path}.xsl${query}`, 'PATCH')).status, 405, path);
  }
  const other = '?mount=http://elsewhere//one%252Emp3&id=99&destination=two.mp3&fallback=//two.mp3';
  for (const path of ['stats', 'listclients', 'killclient', 'moveclients']) {
    const [one, two] = await Promise.all(
      [query, other].map(async (each) => (await (await ask(`${path}${each}`)).text()).replace(changing, '$1')),
    );
    t.equal(two, one, `${path} of a mount that is written in another way`);
  }
  t.match(await (await ask(`fallbacks${other}`)).text(), /<return>1/);
  t.match(await (await ask('stats')).text(), /<fallback>\/two.mp3<\/fallback>/);
  const itself = await ask('moveclients?mount=/one.mp3&destination=/one.mp3');
  t.equal(itself.status, 400, 'onto its own mount');
  t.match(await itself.text(), /identical/);
  t.match(await (await ask('killsource.xsl?mount=/one.mp3', 'POST')).text(), /Source Removed.*<return>1/);
});

t.test('rights, pages of others, and JSON', async (t) => {
  const server = await startServer(t, YAML);
  await feed(t, server.port, '/one.mp3');
  const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${server.base}/admin/${path}`, { method, headers: { Authorization: ADMIN_LOGIN, ...headers } });
  await until(async () => (await (await ask('listmounts')).text()).includes('/one.mp3'), 8000);
  const player = new Player(server.port, '/one.mp3');
  await player.until(({ audioBytes }) => audioBytes > 1000);
  const json = await (await ask('listclients.json?mount=/one.mp3')).json();
  t.match(json, {
    icestats: { source: { mount: '/one.mp3', Listeners: 1, listener: { IP: '127.0.0.1', UserAgent: 'test' } } },
  });
  t.match(await (await ask('stats.json')).json(), {
    icestats: { sources: 1, listeners: 1, source: { mount: '/one.mp3' } },
  });
  for (const act of ['killclient', 'killsource.json', 'moveclients.xsl', 'killclient.xml', 'fallbacks']) {
    const path = `${act}?mount=/one.mp3&id=1&destination=/one.mp3&fallback=/one.mp3`;
    t.equal(
      (await ask(path, { Authorization: 'Bearer may look at it' })).status,
      403,
      'the right to read is not enough',
    );
    t.equal(
      (await ask(path, { 'User-Agent': 'Mozilla/5.0', Referer: 'http://evil.example/' })).status,
      403,
      'an image of another page',
    );
    t.equal((await ask(path, { 'User-Agent': 'Mozilla/5.0' })).status, 403);
    const image = { 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Dest': 'image' };
    t.equal((await ask(path, { 'User-Agent': 'Mozilla/5.0', ...image })).status, 403, 'an image of our own page');
    t.equal((await ask(path, { Origin: 'http://evil.example' }, 'POST')).status, 403);
    t.equal((await ask(path, { Authorization: '' })).status, 401);
    t.equal((await ask(path, {}, 'PATCH')).status, 405);
  }
  t.notOk(player.closed);
  t.match(await (await ask('fallbacks.json?mount=/one.mp3&fallback=/two.mp3')).json(), { iceresponse: { return: 1 } });
  t.match(await (await ask('stats?mount=/one.mp3')).text(), /<fallback>\/two.mp3<\/fallback>/);
  for (const to of ['/none', '/one.mp3', `/${'x'.repeat(255)}`, '/%0A'])
    t.equal((await ask(`fallbacks?mount=/one.mp3&fallback=${to}`)).status, 400, to);
  const form = await fetch(`${server.base}/admin/killsource`, {
    method: 'POST',
    headers: { Authorization: ADMIN_LOGIN, 'User-Agent': 'script' },
    body: new URLSearchParams({ mount: '/one.mp3' }),
  });
  t.match(await form.text(), /Source Removed.*<return>1/);
  t.equal((await ask('stats', { 'User-Agent': 'Mozilla/5.0' })).status, 200, 'reading is for all');
  player.close();
});

t.test(
  'stats name streams as all statistics do: by streams.publicUrl, else as a trusted proxy was asked',
  async (t) => {
    const ask = async (more: string, headers: Readonly<Record<string, string>>) => {
      const yaml = demoYaml(`${more}\n${ADMIN_USERS}`).replace('port: 0 }', 'port: 0, roles: [admin] }');
      const { base } = await startServer(t, yaml);
      const stats = () =>
        fetch(`${base}/admin/stats.json?mount=/demo.mp3`, {
          headers: { Authorization: ADMIN_LOGIN, 'User-Agent': 'script', ...headers },
        });
      // It is on air a moment after the start.
      await until(async () => (await stats()).status === 200, 8000);
      const { icestats } = (await (await stats()).json()) as {
        icestats: { host: string; source: { listenurl: string } };
      };
      return [icestats.host, icestats.source.listenurl];
    };
    t.same(await ask('streams: { publicUrl: "https://radio.example/x/" }', {}), [
      'radio.example',
      'https://radio.example/x/demo.mp3',
    ]);
    const [host, url] = await ask('proxies: { trusted: [127.0.0.1] }', { 'X-Forwarded-Proto': 'https' });
    t.same([host, url!.replace(/:\d+/, '')], ['127.0.0.1', 'https://127.0.0.1/demo.mp3']);
  },
);
