/**
 * Every read and every act of /admin/api by a real HTTP client, each right missing once, and what it leaves in the log; what listeners hear of an act:
 * test/behaviour/heard-acts.test.ts. Also with workers.
 */

import net from 'node:net';
import t from 'tap';
import { ADMIN_BEARER, ADMIN_LOGIN, ADMIN_USERS, AdminClient } from '../../kit/admin-client.js';
import { Feeder } from '../../kit/feeder.js';
import { keepLines } from '../../kit/log-lines.js';
import { Player } from '../../kit/player.js';
import { DEMO_AUDIO, demoYaml, startServer, WORKERS } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';

const YAML = demoYaml(`
      other: { bitrateKbps: 128, metaint: 8192, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
${ADMIN_USERS}`);
// biome-ignore lint/suspicious/noExplicitAny: as it comes
type Json = any;

/** What processes say of each other's listeners comes a moment later, to each of them. */
async function settled<T>(read: () => Promise<T>, is: (value: T) => boolean): Promise<T> {
  let value = await read();
  await until(async () => is((value = await read())), 5000);
  return value;
}

/** What needs a user. */
interface Guarded {
  /** All of these; none: every user may. */
  readonly rights: readonly string[];
  readonly method: string;
  readonly path: string;
  readonly isAct: boolean;
}

/** All that the document has of it, in which every route is (test/docs/routes.test.ts): an act names its right, all else is seen with `read`. */
async function guarded(base: string): Promise<Guarded[]> {
  const { paths } = (await (await fetch(`${base}/openapi.json`)).json()) as Json;
  // That one takes encoders' credentials too, and has a test of its own (test/http/ingest/title-updates.test.ts).
  const own = Object.entries<Json>(paths).filter(([path]) => path !== '/admin/metadata');
  const all = own.flatMap(([path, item]) =>
    Object.entries<Json>(item).flatMap(([method, operation]): Guarded[] => {
      if (operation.security?.some((each: object) => 'adminToken' in each) !== true) return [];
      const [, any, named] = /\((?:(any right)|rights? (.+))\)$/.exec(operation.summary) ?? [];
      const rights = any === undefined ? named?.split(' and ') : [];
      const asked = path.replace('{channelkey}', 'demo').replace('{network}', '192.0.2.1').replace('{id}', '9-9');
      const one = { method: method.toUpperCase(), path: asked, isAct: rights !== undefined };
      return [{ ...one, rights: rights ?? ['read'] }];
    }),
  );
  // The document names GET only.
  return all.flatMap((each) => (each.method === 'GET' && !each.isAct ? [each, { ...each, method: 'HEAD' }] : [each]));
}

t.test('each right is needed for its own routes, and is enough', async (t) => {
  const server = await startServer(t, YAML);
  const routes = await guarded(server.base);
  const wanted = [
    ...['GET /admin/api/events', 'GET /admin/api/log', 'GET /admin/api/statistics', 'POST /admin/reload'],
    ...['GET /admin/stats.json', 'GET /admin/killclient', 'POST /admin/killsource', 'HEAD /admin/api/self'],
  ];
  const named = routes.map(({ method, path }) => `${method} ${path}`);
  t.strictSame(
    wanted.filter((each) => !named.includes(each)),
    [],
    'the document has them all',
  );
  const page = ['/admin', '/admin/web/admin.js'].map((path): Guarded => {
    return { rights: ['read'], method: 'GET', path, isAct: false };
  });
  for (const { rights, method, path, isAct } of [...routes, ...page]) {
    const status = async (headers: Record<string, string>) => {
      const body = method === 'POST' && !/^\/admin\/[a-z]+$/.test(path) ? '{}' : null;
      const type: Record<string, string> = body === null ? {} : { 'Content-Type': 'application/json' };
      const answer = await fetch(server.base + path, { method, body, headers: { ...type, ...headers } });
      t.equal(answer.headers.get('x-frame-options'), 'DENY');
      t.equal(answer.headers.get('access-control-allow-origin'), null);
      // Some are streams.
      await answer.body?.cancel();
      return answer.status;
    };
    for (const as of ['read', 'titles', 'operate', 'all'] as const) {
      const Authorization = as === 'all' ? ADMIN_LOGIN : ADMIN_BEARER[as];
      const got = await status({ Authorization, 'X-Requested-With': 'test' });
      const what = `${method} ${path} with ${as}: ${got}`;
      if (as === 'all' || rights.length === 0 || (rights.length === 1 && as === rights[0]))
        t.ok(got < 500 && ![401, 403, 405].includes(got), what);
      else t.equal(got, 403, what);
    }
    t.equal(await status({ 'X-Requested-With': 'test' }), 401, `${method} ${path} without credentials`);
    const foreign = await status({ Authorization: ADMIN_LOGIN, Origin: 'http://evil.example' });
    t.equal(foreign === 403, isAct, `${method} ${path} from another page: ${foreign}`);
  }
  const admin = new AdminClient(server);
  t.equal((await admin.ask('PATCH', 'channels')).status, 405);
  t.equal((await admin.get('channels/nothing')).status, 404);
  const simple = { method: 'POST', headers: { Authorization: ADMIN_LOGIN }, body: '{}' };
  t.equal((await fetch(`${server.base}/admin/api/blocks`, simple)).status, 403, 'a form of another page can do that');
});

t.test('an act that is refused is a line too, at the pace of refusals, and is shown', async (t) => {
  const { log, lines } = keepLines();
  const server = await startServer(t, YAML, undefined, log);
  const admin = new AdminClient(server);
  const refused = (act: string) => lines.filter((line) => line.message === 'admin act refused' && line['act'] === act);
  const reader = new AdminClient(server, 'read');
  t.equal((await reader.post('channels/demo/titles', { song: 'x' })).status, 403);
  await until(() => refused('push title').length === 1, 5000);
  const about = { level: 'warn', address: '127.0.0.1', connection: /^[\d-]+$/, status: 403, outcome: 'refused' };
  t.match(refused('push title'), [
    { ...about, user: 'reader', reason: 'missing right', why: 'This requires the right titles.' },
  ]);

  const foreign = { Authorization: ADMIN_LOGIN, Origin: 'http://evil.example' };
  const ended = await fetch(`${server.base}/admin/api/channels/studio/encoder`, { method: 'DELETE', headers: foreign });
  t.equal(ended.status, 403);
  await until(() => refused('end encoder').length === 1, 5000);
  t.match(refused('end encoder'), [{ ...about, user: null, reason: 'from another page', why: /another origin/ }]);

  const startMs = performance.now();
  for (let i = 0; i < 40; i++) t.equal((await reader.delete(`listeners/9-${i}`)).status, 403);
  // Icecast's acts too; the first that is logged counts those before it.
  const headers = { Authorization: ADMIN_BEARER.read, 'User-Agent': 'script' };
  const kill = () => fetch(`${server.base}/admin/killsource?mount=/studio.mp3`, { headers });
  await until(async () => (await kill()).status === 403 && refused('killsource').length > 0, 10_000, undefined, 100);
  const seconds = Math.floor((performance.now() - startMs) / 1000) + 2;
  const counted = [...refused('end listener'), ...refused('killsource')];
  t.ok(counted.length <= seconds * Math.max(1, WORKERS), `${counted.length} lines in ${seconds} s`);
  t.ok(counted.some(({ suppressed }) => Number(suppressed) > 0));
  t.match(refused('killsource')[0], { ...about, user: 'reader', reason: 'missing right' });

  const shown = (await admin.get('refusals')).body as Json[];
  for (const why of ['missing right', 'from another page'])
    t.match(
      shown.find((each) => each.why === why),
      { what: 'admin act refused', address: '127.0.0.1', status: 403 },
    );
  t.equal((await new AdminClient(server, 'operate').get('held')).status, 403);
  await until(() => lines.some(({ message, user }) => message === 'admin refused' && user === 'operator'), 5000);
});

t.test('a channel, its source and its listeners are seen, and can be ended', async (t) => {
  const { log, lines } = keepLines();
  const server = await startServer(t, YAML, undefined, log);
  const admin = new AdminClient(server);
  const beganMs = Date.now();
  const feeder = new Feeder(t, server.port, '/studio.mp3', {
    headers: 'Content-Type: audio/mpeg\r\nUser-Agent: Studio/1.0\r\n',
  });
  feeder.stream(t);
  const players = ['one', 'two', 'three'].map(
    (agent) =>
      new Player(server.port, '/studio.mp3?metaid=abcdefghijkl', {
        agent,
        headers: 'Referer: http://page/?token=x\r\n',
      }),
  );
  for (const player of players) await player.until(({ audioBytes }) => audioBytes > 10_000);
  // The file may be heard first.
  const { body: channel } = await settled(
    () => admin.get('channels/studio'),
    ({ body }) => body.connections === 3 && body.onAir === 0,
  );
  t.match(channel, {
    channel: 'studio',
    station: 'demo',
    name: 'Studio',
    mounts: ['/studio.mp3', '/studio'],
    onAir: 0,
    pinned: null,
    silentSinceMs: null,
    listeners: 1,
    connections: 3,
    contentType: 'audio/mpeg',
    bitrateKbps: 128,
  });
  const [encoder, file] = channel.sources;
  t.match(encoder, {
    kind: 'encoder',
    state: 'up',
    isOnAir: true,
    address: '127.0.0.1',
    agent: 'Studio/1.0',
    troubles: [],
  });
  t.ok(encoder.sinceMs >= beganMs - 1000 && encoder.sinceMs <= Date.now() + 1000);
  t.match(file, { kind: 'file', isOnAir: false, address: '' });

  const { body: page } = await admin.get('listeners?channel=studio&limit=2');
  t.match({ ...page, listeners: page.listeners.length }, { total: 3, listeners: 2, offset: 0 });
  const rest = (await admin.get('listeners?channel=studio&limit=2&offset=2')).body.listeners;
  const all: Json[] = [...page.listeners, ...rest];
  t.same(new Set(all.map(({ agent }) => agent)), new Set(['one', 'two', 'three']));
  t.match(all[0], { mount: '/studio.mp3', address: '127.0.0.1', metaid: 'abc…', icy: true, referer: /token=-/ });
  t.equal((await admin.get('listeners?agent=TW')).body.total, 1);
  t.equal((await admin.get('listeners?address=127.0.0.0/8')).body.total, 3);
  t.equal((await admin.get('listeners?address=192.0.2.0/24')).body.total, 0);
  t.equal((await admin.get('listeners?limit=1001')).status, 422);
  t.equal((await admin.get('listeners?nonsense=1')).status, 422);
  t.equal((await admin.get('watchers?channel=demo')).status, 422, 'they are not counted by channel');
  t.match((await admin.get('sessions')).body[0], { metaid: 'abc…', channel: 'studio' });

  const one = all.find(({ agent }) => agent === 'one');
  t.equal((await admin.delete(`listeners/${one.id}`)).status, 204);
  await until(() => players[0]!.closed, 5000);
  t.equal((await admin.delete(`listeners/${one.id}`)).status, 404);
  t.equal((await admin.post('listeners/end', {})).status, 422, 'nobody is named');
  t.same((await admin.post('listeners/end', { channel: 'demo' })).body, { ended: 0 });
  t.same((await admin.post('listeners/end', { agent: 'two', address: '192.0.2.0/24' })).body, { ended: 0 });
  t.same((await admin.post('listeners/end', { agent: 'two', address: '127.0.0.1' })).body, { ended: 1 });
  await until(() => players[1]!.closed, 5000);
  t.notOk(players[2]!.closed, 'the others play on');

  t.equal((await admin.delete('channels/studio/encoder')).status, 204);
  await until(() => feeder.closed, 5000);
  await until(async () => (await admin.get('channels/studio')).body.onAir === 1, 5000);
  t.equal((await admin.delete('channels/studio/encoder')).status, 404);
  t.notOk(players[2]!.closed, 'the file goes on');
  players[2]!.close();
  await until(() => lines.some(({ act }) => act === 'end encoder'), 5000);
  const acts = lines.filter(({ message, msg }) => /^admin act/.test(String(message ?? msg)));
  t.match(
    acts.find(({ act }) => act === 'end listener'),
    { user: 'all', address: '127.0.0.1', connection: /^[\d-]+$/, id: one.id, outcome: 'done' },
  );
  t.match(
    acts.find(({ outcome }) => outcome === 'not-found'),
    { act: 'end listener', user: 'all', connection: /^[\d-]+$/ },
  );
  t.match(
    acts.find(({ act, agent }) => act === 'end listeners' && agent === 'two'),
    { address: '127.0.0.1', from: '192.0.2.0/24', ended: 0 },
    'the address is the user’s',
  );
});

t.test('titles are pushed, corrected and withdrawn', async (t) => {
  const server = await startServer(t, YAML);
  const admin = new AdminClient(server, 'titles');
  const song = async () => ((await (await fetch(`${server.base}/metadata/channel/demo.json`)).json()) as Json).song;
  const pushed = await admin.post('channels/demo/titles', {
    id: 'a',
    artist: 'Nina',
    song: 'Felling Good',
    duration: 300,
  });
  t.match(pushed, { status: 200, body: { song: 'Felling Good' } });
  await admin.post('channels/demo/titles', { id: 'a', artist: 'Nina', song: 'Feeling Good', duration: 300 });
  t.equal(await song(), 'Feeling Good');
  t.equal((await admin.post('channels/demo/titles', { song: 1 })).status, 422);
  t.equal((await admin.post('channels/nothing/titles', { song: 'x' })).status, 404);
  const time = Math.floor(Date.now() / 1000) + 200;
  await admin.post('channels/demo/titles', { id: 'later', artist: 'B', song: 'Later', duration: 9, time });
  const held = async () => (await new AdminClient(server, 'read').get('held')).body;
  t.match(await held(), [{ channel: 'demo', id: 'later', song: 'Later', atMs: time * 1000 }]);
  t.equal((await admin.delete('channels/demo/held/later')).status, 204);
  t.same(await held(), []);
  t.equal((await admin.delete('channels/demo/held/later')).status, 404);
  await admin.post('channels/demo/titles', { tracktype: 'next', artist: 'C', song: 'Next', duration: 9 });
  t.equal((await admin.delete('channels/demo/titles/next')).status, 204);
  t.equal((await admin.delete('channels/demo/titles/next')).status, 404);
  t.equal((await admin.delete('channels/demo/titles/now')).status, 204);
  t.equal(await song(), '');
});

t.test('an address is blocked for a time: its listeners end, its connections are refused', async (t) => {
  const yaml = `${YAML}proxies: { trusted: [127.0.0.1] }\n`.replace(
    'port: 0 }',
    `port: 0, roles: [stream, admin, poll] }, { host: 127.0.0.1, port: 0, proxyProtocol: true, roles: [stream] }`,
  );
  const server = await startServer(t, yaml);
  const admin = new AdminClient(server);
  const from = { headers: 'X-Forwarded-For: 198.51.100.9\r\n' };
  const player = new Player(server.port, '/demo.mp3', from);
  await player.until(({ audioBytes }) => audioBytes > 10_000);
  t.equal((await admin.post('blocks', { network: '127.0.0.0/8', seconds: 60 })).status, 409, 'oneself');
  t.equal((await admin.post('blocks', { network: 'x', seconds: 60 })).status, 422);
  t.match(await admin.post('blocks', { network: '198.51.100.0/24', seconds: 60, reason: 'leech' }), {
    status: 201,
    body: { ended: 1 },
  });
  await until(() => player.closed, 5000);
  const refused = new Player(server.port, '/demo.mp3', from);
  await refused.until(({ status }) => status === 403);
  t.equal(
    (await fetch(`${server.base}/status-json.xsl`, { headers: { 'X-Forwarded-For': '198.51.100.7' } })).status,
    403,
  );
  t.equal(
    (await fetch(`${server.base}/status-json.xsl`, { headers: { 'X-Forwarded-For': '198.51.101.7' } })).status,
    200,
  );
  // By the PROXY protocol it is known before a byte of the request.
  const closed = await new Promise<string>((resolve) => {
    let got = '';
    const socket = net.connect(server.app.ports[1]!, '127.0.0.1', () =>
      socket.write('PROXY TCP4 198.51.100.9 127.0.0.1 5000 8000\r\nGET /demo.mp3 HTTP/1.0\r\n\r\n'),
    );
    socket.on('data', (bytes) => {
      got += bytes;
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(got));
  });
  t.equal(closed, '');
  t.match((await admin.get('blocks')).body, [{ network: '198.51.100.0/24', reason: 'leech', by: 'all' }]);
  t.ok((await admin.get('refusals')).body.some(({ why }: Json) => why === 'blocked'));
  t.equal((await admin.delete('blocks/198.51.100.0%2F24')).status, 204);
  t.equal((await admin.delete('blocks/198.51.100.0%2F24')).status, 404);
  const back = new Player(server.port, '/demo.mp3', from);
  await back.until(({ audioBytes }) => audioBytes > 10_000);
  await admin.post('blocks', { network: '198.51.100.9', seconds: 1 });
  await until(() => back.closed, 5000);
  await until(async () => (await admin.get('blocks')).body.length === 0, 5000);
  const over = new Player(server.port, '/demo.mp3', from);
  await over.until(({ audioBytes }) => audioBytes > 10_000);
  over.close();
});

t.test('blocks have a limit', async (t) => {
  const server = await startServer(t, YAML.replace('admin:\n', 'admin:\n  blocks: 2\n'));
  const admin = new AdminClient(server);
  const block = async (network: string) => (await admin.post('blocks', { network, seconds: 60 })).status;
  t.equal(await block('192.0.2.1'), 201);
  t.equal(await block('192.0.2.2'), 201);
  t.equal(await block('192.0.2.3'), 429);
  t.equal(await block('192.0.2.2'), 201, 'the same again');
});

t.test('tokens are made, used, rotated and revoked, and outlive a restart', async (t) => {
  const folder = tempFolder(t);
  let server = await startServer(t, YAML, folder);
  let admin = new AdminClient(server);
  const push = async (token: string, channel = 'demo') =>
    (await fetch(`${server.base}/metapush/${channel}/${token}?song=${Math.random()}`)).status;
  const made = await admin.post('channels/demo/tokens', { name: 'playout' });
  t.match(made, { status: 201, body: { channel: 'demo', name: 'playout', token: /^[\w-]{32}$/ } });
  const beganMs = Date.now();
  t.equal(await push(made.body.token), 200);
  t.equal(await push(made.body.token, 'studio'), 403, 'another channel');
  const tokens = async () => (await admin.get('tokens')).body as Json[];
  const [listed] = (await tokens()).filter(({ id }) => id === made.body.id);
  t.match(listed, { name: 'playout', by: 'all', isConfigured: false });
  t.ok(listed.lastUsedMs >= beganMs - 1000 && listed.lastUsedMs <= Date.now() + 1000);
  t.notOk(JSON.stringify(await tokens()).includes(made.body.token));
  t.notOk(JSON.stringify(await tokens()).includes('sha256'));
  const configured = (await tokens()).filter(({ isConfigured }) => isConfigured);
  t.strictSame(
    configured.map(({ id, channel }) => `${channel} ${id}`),
    ['demo config-demo-1', 'studio config-studio-1'],
    'each its own',
  );
  t.equal(configured[0].lastUsedMs, null);
  t.equal(await push('demo-token'), 200);
  t.ok((await tokens())[0].lastUsedMs !== null);
  t.equal((await tokens())[1].lastUsedMs, null, 'that of the other channel');
  t.equal((await admin.delete('tokens/config-demo-1')).status, 409);

  await server.app.stop();
  server = await startServer(t, YAML, folder);
  admin = new AdminClient(server);
  t.equal(await push(made.body.token), 200, 'after a restart');
  const next = await admin.post(`tokens/${made.body.id}/rotate`, { keepSeconds: 2 });
  t.equal(next.status, 201);
  t.equal(await push(made.body.token), 200, 'both for a while');
  t.equal(await push(next.body.token), 200);
  // Not often: pushes have a rate.
  await until(async () => (await push(made.body.token)) === 403, 6000, undefined, 250);
  t.equal(await push(next.body.token), 200);
  t.equal((await admin.delete(`tokens/${next.body.id}`)).status, 204);
  t.equal(await push(next.body.token), 403);
  for (let i = 0; i < 8; i++) t.equal((await admin.post('channels/demo/tokens', { name: `t${i}` })).status, 201);
  t.equal((await admin.post('channels/demo/tokens', { name: 'one too many' })).status, 429);
});

t.test('live: channels as they change, the log as it is written, and no more streams than may be', async (t) => {
  const server = await startServer(t, YAML.replace('admin:\n', 'admin:\n  streams: 2\n'));
  const admin = new AdminClient(server);
  const open = async (path: string) => {
    const abort = new AbortController();
    const answer = await fetch(`${server.base}/admin/api/${path}`, {
      headers: { Authorization: ADMIN_LOGIN },
      signal: abort.signal,
    });
    const seen = { status: answer.status, headers: answer.headers, text: '', close: () => abort.abort() };
    void (async () => {
      for await (const chunk of answer.body!) seen.text += Buffer.from(chunk).toString();
    })().catch(() => undefined);
    return seen;
  };
  const events = await open('events');
  t.match(events.headers.get('content-type'), 'text/event-stream');
  t.equal(events.headers.get('x-frame-options'), 'DENY');
  await until(() => events.text.includes('event: snapshot'), 5000);
  await admin.post('channels/demo/titles', { artist: 'A', song: 'a live title', duration: 9 });
  await until(() => /event: change\ndata: .*a live title/.test(events.text), 5000);
  const log = await open('log?lines=50');
  await until(() => /event: line\ndata: .*push title/.test(log.text), 5000);
  await admin.post('channels/demo/titles', { artist: 'A', song: 'another', duration: 9 });
  await until(() => /event: line\ndata: .*another/.test(log.text), 5000);
  if (WORKERS === 0) t.equal((await admin.get('events')).status, 503);
  events.close();
  log.close();
  await until(async () => {
    const again = await open('log?lines=0');
    again.close();
    return again.status === 200;
  }, 5000);
});
