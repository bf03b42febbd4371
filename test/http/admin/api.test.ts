/** Every read and every act of /admin/api by a real HTTP client, each right missing once, and what it leaves in the log. Also with workers. */

import net from 'node:net';
import t from 'tap';
import { ADMIN_LOGIN, ADMIN_USERS, AdminClient } from '../../kit/admin-client.js';
import { Feeder, framesIn } from '../../kit/feeder.js';
import { readBack } from '../../kit/icy.js';
import { keepLines } from '../../kit/log-lines.js';
import { Player, until } from '../../kit/player.js';
import { DEMO_AUDIO, demoYaml, startServer, tempFolder, WORKERS } from '../../kit/server.js';

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

t.test('each right is needed for its own routes, and is enough', async (t) => {
  const server = await startServer(t, YAML);
  const routes: [right: 'read' | 'titles' | 'operate', method: string, path: string, body: unknown][] = [
    ...['self', 'channels', 'channels/demo', 'listeners', 'sessions', 'watchers', 'upstreams', 'held'].map(
      (path): [right: 'read', method: string, path: string, body: unknown] => ['read', 'GET', path, undefined],
    ),
    ['read', 'GET', 'refusals', undefined],
    ['read', 'GET', 'blocks', undefined],
    ['read', 'GET', 'tokens', undefined],
    ['titles', 'POST', 'channels/demo/titles', { artist: 'A', song: 'S', duration: 1 }],
    ['titles', 'DELETE', 'channels/demo/titles/now', undefined],
    ['titles', 'DELETE', 'channels/demo/titles/next', undefined],
    ['titles', 'DELETE', 'channels/demo/held/x', undefined],
    ['operate', 'POST', 'listeners/end', { channel: 'demo' }],
    ['operate', 'DELETE', 'listeners/9-9', undefined],
    ['operate', 'POST', 'listeners/move', { channel: 'demo', to: 'studio' }],
    ['operate', 'DELETE', 'channels/studio/encoder', undefined],
    ['operate', 'POST', 'channels/demo/source', { place: 0 }],
    ['operate', 'DELETE', 'channels/demo/source', undefined],
    ['operate', 'PUT', 'channels/demo/fallback', { to: '/studio' }],
    ['operate', 'DELETE', 'channels/demo/fallback', undefined],
    ['operate', 'POST', 'blocks', { network: '192.0.2.1', seconds: 60 }],
    ['operate', 'DELETE', 'blocks/192.0.2.1', undefined],
    ['operate', 'POST', 'channels/demo/tokens', { name: 'x' }],
    ['operate', 'POST', 'tokens/x/rotate', {}],
    ['operate', 'DELETE', 'tokens/x', undefined],
  ];
  for (const [right, method, path, body] of routes) {
    for (const as of ['read', 'titles', 'operate'] as const) {
      const { status } = await new AdminClient(server, as).ask(method, path, body);
      if (as === right) t.ok([200, 201, 204, 404].includes(status), `${method} ${path} with ${as}: ${status}`);
      else t.equal(status, 403, `${method} ${path} with ${as}`);
    }
    const plain = await fetch(`${server.base}/admin/api/${path}`, { method, ...(body ? { body: '{}' } : {}) });
    t.equal(plain.status, method === 'POST' ? 403 : 401, `${method} ${path} without credentials`);
    await plain.body?.cancel();
    const headers = { Authorization: ADMIN_LOGIN, Origin: 'http://evil.example', 'Content-Type': 'application/json' };
    const foreign = await fetch(`${server.base}/admin/api/${path}`, {
      method,
      headers,
      ...(body ? { body: '{}' } : {}),
    });
    t.equal(foreign.status === 403, method !== 'GET', `${method} ${path} from another page: ${foreign.status}`);
    t.equal(foreign.headers.get('x-frame-options'), 'DENY');
    t.equal(foreign.headers.get('access-control-allow-origin'), null);
    await foreign.body?.cancel();
  }
  const admin = new AdminClient(server);
  t.equal((await admin.ask('PATCH', 'channels')).status, 405);
  t.equal((await admin.get('channels/nothing')).status, 404);
});

t.test('a channel, its source and its listeners are seen, and can be ended', async (t) => {
  const { log, lines } = keepLines();
  const server = await startServer(t, YAML, undefined, log);
  const admin = new AdminClient(server);
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
  await until(async () => (await admin.get('channels/studio')).body.connections === 3, 5000);
  const { body: channel } = await settled(
    () => admin.get('channels/studio'),
    ({ body }) => body.connections === 3,
  );
  t.match(channel, {
    ...{
      channel: 'studio',
      station: 'demo',
      name: 'Studio',
      mounts: ['/studio.mp3', '/studio'],
      onAir: 0,
      pinned: null,
    },
    ...{ silentSinceMs: null, listeners: 1, connections: 3, contentType: 'audio/mpeg', bitrateKbps: 128 },
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
  t.ok(Math.abs(Date.now() - encoder.sinceMs) < 20_000);
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
  t.match((await admin.get('sessions')).body[0], { metaid: 'abc…', channel: 'studio' });

  const one = all.find(({ agent }) => agent === 'one');
  t.equal((await admin.delete(`listeners/${one.id}`)).status, 204);
  await until(() => players[0]!.closed, 5000);
  t.equal((await admin.delete(`listeners/${one.id}`)).status, 404);
  t.equal((await admin.post('listeners/end', {})).status, 422, 'nobody is named');
  t.same((await admin.post('listeners/end', { channel: 'demo' })).body, { ended: 0 });
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
    { user: 'all', address: '127.0.0.1', id: one.id, outcome: 'done' },
  );
  t.match(
    acts.find(({ outcome }) => outcome === 'not-found'),
    { act: 'end listener', user: 'all' },
  );
});

t.test('an operator chooses a source, until it is released or lost', async (t) => {
  const server = await startServer(t, YAML);
  const admin = new AdminClient(server);
  const onAir = async () => {
    const { onAir, pinned } = (await admin.get('channels/studio')).body;
    return `${onAir} ${pinned}`;
  };
  t.equal((await admin.post('channels/studio/source', { place: 0 })).status, 409, 'no encoder is there');
  t.equal((await admin.post('channels/studio/source', { place: 2 })).status, 404);
  const feeder = new Feeder(t, server.port, '/studio.mp3');
  feeder.stream(t);
  await until(async () => (await onAir()) === '0 null', 5000);
  const player = new Player(server.port, '/studio.mp3', { keep: true });
  await player.until(({ audioBytes }) => audioBytes > 100_000);
  t.equal((await admin.post('channels/studio/source', { place: 1 })).status, 200);
  await until(async () => (await onAir()) === '1 1', 5000);
  const before = player.audioBytes;
  await player.until(({ audioBytes }) => audioBytes > before + 32_000, 8000);
  t.equal(await onAir(), '1 1', 'the encoder is better, and waits');
  t.equal((await admin.delete('channels/studio/source')).status, 200);
  await until(async () => (await onAir()) === '0 null', 5000);
  t.equal((await admin.post('channels/studio/source', { place: 0 })).status, 200);
  t.equal(await onAir(), '0 0');
  feeder.socket.destroy();
  await until(
    async () => (await onAir()) === '1 null',
    5000,
    () => 'what was chosen is lost',
  );
  const again = new Feeder(t, server.port, '/studio.mp3');
  again.stream(t);
  await until(async () => (await onAir()) === '0 null', 8000);
  t.notOk(player.closed);
  player.close();
});

t.test('listeners are moved without a cut, and their titles stay in place', async (t) => {
  const server = await startServer(t, YAML);
  const admin = new AdminClient(server);
  for (const channel of ['demo', 'studio'])
    await admin.post(`channels/${channel}/titles`, { artist: '', song: channel, duration: 600 });
  const players = [true, false].map(
    (icy) => new Player(server.port, '/demo.mp3', { icy, keep: true, agent: `icy ${icy}` }),
  );
  for (const player of players) await player.until(({ audioBytes }) => audioBytes > 100_000);
  t.same((await admin.post('listeners/move', { channel: 'demo', to: 'studio' })).body, { moved: 2, refused: 0 });
  await until(async () => (await admin.get('listeners?channel=studio')).body.total === 2, 8000);
  await until(async () => (await admin.get('channels/demo')).body.connections === 0, 5000);
  for (const player of players) {
    const from = player.audioBytes;
    await player.until(({ audioBytes }) => audioBytes > from + 64_000, 10_000);
    t.notOk(player.closed);
  }
  const [titled, plain] = players;
  await titled!.until(({ titles }) => titles.at(-1)?.title === 'studio');
  t.same(
    titled!.titles.map(({ title }) => title),
    ['demo', 'studio'],
  );
  const { audio } = readBack(titled!.body, titled!.metaint);
  t.ok(
    framesIn(audio).skippedBytes < 1100,
    `of the one frame that is cut ${framesIn(audio).skippedBytes} bytes are left`,
  );
  t.ok(framesIn(plain!.audio).skippedBytes <= 417, 'without titles no frame is cut but the last');
  t.match((await admin.get('listeners?channel=studio')).body.listeners, [{ mount: '/studio' }, { mount: '/studio' }]);
  t.same(
    (await admin.post('listeners/move', { channel: 'studio', to: 'other' })).body,
    { moved: 1, refused: 1 },
    'another metaint',
  );
  await until(async () => (await admin.get('listeners?channel=other')).body.total === 1, 8000);
  t.equal((await admin.post('listeners/move', { channel: 'studio', to: 'nowhere' })).status, 404);
  t.notOk(titled!.closed || plain!.closed);
  for (const player of players) player.close();
  await until(async () => (await admin.get('channels/studio')).body.connections === 0, 5000);
  await until(async () => (await admin.get('channels/demo')).body.connections === 0, 5000);
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
  t.equal(await push(made.body.token), 200);
  t.equal(await push(made.body.token, 'studio'), 403, 'another channel');
  const tokens = async () => (await admin.get('tokens')).body as Json[];
  const [listed] = (await tokens()).filter(({ id }) => id === made.body.id);
  t.match(listed, { name: 'playout', by: 'all', isConfigured: false });
  t.ok(Date.now() - listed.lastUsedMs < 5000);
  t.notOk(JSON.stringify(await tokens()).includes(made.body.token));
  t.notOk(JSON.stringify(await tokens()).includes('sha256'));
  t.match((await tokens())[0], { id: 'config-1', isConfigured: true, lastUsedMs: null });
  t.equal(await push('demo-token'), 200);
  t.ok((await tokens())[0].lastUsedMs !== null);
  t.equal((await admin.delete('tokens/config-1')).status, 409);

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
