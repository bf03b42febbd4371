/** Acts that come at the same time, and more of them than there may be. Also with workers. */

import t from 'tap';
import { ADMIN_USERS, AdminClient } from '../../kit/admin-client.js';
import { pause } from '../../kit/pause.js';
import { Player } from '../../kit/player.js';
import { Random } from '../../kit/random.js';
import { demoYaml, startServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';
import { Wire } from '../../kit/wire.js';

const YAML = demoYaml(ADMIN_USERS);

t.test('a token that is rotated and revoked at once: what was revoked is wrong', async (t) => {
  const random = new Random();
  const server = await startServer(t, YAML);
  const admin = new AdminClient(server);
  const pushed = async (token: string) => {
    const { status, body } = await fetch(`${server.base}/metapush/demo/${token}?song=x`);
    await body?.cancel();
    return status;
  };
  for (let i = 0; i < 12; i++) {
    const { body: made } = await admin.post('channels/demo/tokens', { name: `token ${i}` });
    const rotation = admin.post(`tokens/${made.id}/rotate`, { keepSeconds: 3600 });
    await pause(random.int(0, 4));
    const [rotated, revoked] = await Promise.all([rotation, admin.delete(`tokens/${made.id}`)]);
    t.ok(revoked.status === 204 && [201, 404].includes(rotated.status), `${rotated.status} ${revoked.status}`);
    t.equal(await pushed(made.token), 403, `seed ${random.seed}`);
    if (rotated.status !== 201) continue;
    t.equal(await pushed(rotated.body.token), 200);
    t.equal((await admin.delete(`tokens/${rotated.body.id}`)).status, 204);
  }
});

t.test('rotated three times at once: once', async (t) => {
  const admin = new AdminClient(await startServer(t, YAML));
  const made = (await admin.post('channels/demo/tokens', { name: 'one' })).body;
  const all = await Promise.all([1, 2, 3].map(() => admin.post(`tokens/${made.id}/rotate`, { keepSeconds: 3600 })));
  t.same(all.map(({ status }) => status).sort(), [201, 409, 409]);
  for (let i = 0; i < 6; i++) t.equal((await admin.post('channels/demo/tokens', { name: `${i}` })).status, 201);
  const next = all.find(({ status }) => status === 201)!.body;
  t.equal((await admin.post('channels/demo/tokens', { name: 'too many' })).status, 429);
  t.equal(
    (await admin.post(`tokens/${next.id}/rotate`, { keepSeconds: 60 })).status,
    429,
    'one more than there may be',
  );
  t.equal((await admin.post(`tokens/${next.id}/rotate`, { keepSeconds: 0 })).status, 201, 'as many as before');
});

t.test('operate alone makes no push token and rotates none: that takes the right to push, too', async (t) => {
  const server = await startServer(t, YAML);
  const made = (await new AdminClient(server).post('channels/demo/tokens', { name: 'one' })).body;
  for (const right of ['operate', 'titles', 'read'] as const) {
    const one = new AdminClient(server, right);
    t.equal((await one.post('channels/demo/tokens', { name: 'mine' })).status, 403, right);
    t.equal((await one.post(`tokens/${made.id}/rotate`, { keepSeconds: 60 })).status, 403, right);
  }
  t.match(
    (await new AdminClient(server, 'operate').post('channels/demo/tokens', { name: 'mine' })).body.detail,
    /titles/,
  );
  t.equal((await new AdminClient(server, 'operate').delete(`tokens/${made.id}`)).status, 204, 'it may revoke');
});

t.test('titles have the rate of pushes here too', async (t) => {
  const limits = 'limits: { pushesPerMinute: 1, pushBurst: 5 }\n';
  const admin = new AdminClient(await startServer(t, YAML.replace('admin:', `${limits}admin:`)));
  const push = async () => await admin.post('channels/demo/titles', { artist: 'A', song: 'S', duration: 1 });
  for (let i = 0; i < 5; i++) t.equal((await push()).status, 200);
  const { status, headers } = await push();
  t.equal(status, 429);
  t.ok(Number(headers.get('retry-after')) > 0);
  t.equal((await admin.delete('channels/demo/titles/now')).status, 429);
});

t.test('a network that is blocked in one way and unblocked in another', async (t) => {
  const admin = new AdminClient(await startServer(t, YAML));
  for (const [blocked, unblocked, network] of [
    ['192.0.2.9/24', '192.0.2.0/24', '192.0.2.0/24'],
    ['2001:DB8::1', '2001:db8:0:0::1', '2001:db8::1'],
  ] as const) {
    const { status, body } = await admin.post('blocks', { network: blocked, seconds: 60 });
    t.same([status, body.network], [201, network]);
    t.equal((await admin.post('blocks', { network: unblocked, seconds: 60 })).status, 201);
    t.equal((await admin.get('blocks')).body.length, 1, 'the same one again');
    t.equal((await admin.delete(`blocks/${encodeURIComponent(unblocked)}`)).status, 204);
    t.same((await admin.get('blocks')).body, []);
  }
});

t.test('taken away twice at once: once', async (t) => {
  const admin = new AdminClient(await startServer(t, YAML));
  const twice = async (path: string) => {
    const answers = await Promise.all([admin.delete(path), admin.delete(path)]);
    return answers.map(({ status }) => status).sort();
  };
  for (let i = 0; i < 5; i++) {
    t.equal((await admin.post('blocks', { network: '192.0.2.1', seconds: 60 })).status, 201);
    t.same(await twice('blocks/192.0.2.1'), [204, 404]);
    t.equal((await admin.ask('PUT', 'channels/demo/fallback', { to: '/studio.mp3' })).status, 200);
    t.same(await twice('channels/demo/fallback'), [204, 404]);
  }
});

t.test('what other processes would refuse is refused here, and ends no link', async (t) => {
  const admin = new AdminClient(await startServer(t, YAML));
  const status = async (method: string, path: string, body?: unknown) => (await admin.ask(method, path, body)).status;
  for (const path of ['listeners', 'sessions']) {
    t.equal(await status('GET', `${path}?channel=${'x'.repeat(64)}`), 200);
    for (const channel of ['a%20b', 'x'.repeat(65)]) t.equal(await status('GET', `${path}?channel=${channel}`), 422);
  }
  t.equal(await status('GET', 'listeners?limit=1000&offset=999000'), 200, 'at the limit');
  t.match((await admin.get('listeners?limit=1000&offset=999001')).body.errors, [{ field: 'offset' }], 'one past it');
  t.equal(await status('GET', 'listeners?offset=1000000'), 422);
  for (const who of [{ channel: 'a b' }, { ids: ['x'.repeat(65)] }, { ids: ['1\n'] }, { ids: [''] }]) {
    t.equal(await status('POST', 'listeners/end', who), 422, JSON.stringify(who));
    t.equal(await status('POST', 'listeners/move', { ...who, to: 'demo' }), 422);
  }
  t.equal(await status('POST', 'listeners/end', { ids: ['x'.repeat(64)] }), 200);
  for (const id of ['x'.repeat(64), 'x'.repeat(65), '1%0A', '%00']) {
    t.equal(await status('DELETE', `listeners/${id}`), 404, id);
  }
  for (const network of ['x', 'x'.repeat(4000), '%00', '192.0.2.0%2F33']) {
    t.equal(await status('DELETE', `blocks/${network}`), 404, network.slice(0, 9));
  }
  for (const id of ['x'.repeat(300), '%00', '%F0%9F%8E%B5'])
    t.equal(await status('DELETE', `channels/demo/held/${id}`), 404);
  const [id, time] = ['x'.repeat(1024), Math.floor(Date.now() / 1000) + 200];
  await admin.post('channels/demo/titles', { id, artist: 'B', song: 'Later', duration: 9, time });
  t.equal(await status('DELETE', `channels/demo/held/${id}`), 204, 'as long as an id may be');
});

t.test('a blank user agent selects nobody, and blanks around one do not count', async (t) => {
  const server = await startServer(t, YAML);
  const admin = new AdminClient(server);
  const player = new Player(server.port, '/demo.mp3', { agent: 'Some Player/1' });
  t.teardown(() => player.close());
  await player.until(({ audioBytes }) => audioBytes > 0);
  for (const agent of [' ', '\u00a0\u200b']) {
    t.match(await admin.post('listeners/end', { agent }), { status: 422, body: { errors: [{ field: 'agent' }] } });
    t.equal((await admin.get(`listeners?agent=${encodeURIComponent(agent)}`)).status, 422);
  }
  t.same((await admin.post('listeners/end', { agent: 'others' })).body, { ended: 0 });
  t.notOk(player.closed);
  await until(async () => (await admin.get('listeners?agent=%20some%20player%20')).body.total === 1, 5000);
  t.same((await admin.post('listeners/end', { agent: ' some player ' })).body, { ended: 1 });
});

t.test('an encoder of a blocked address is refused behind an HTTP proxy too', async (t) => {
  const server = await startServer(t, YAML.replace('admin:', 'proxies: { trusted: [127.0.0.1] }\nadmin:'));
  const admin = new AdminClient(server);
  const login = Buffer.from('source:demo-source').toString('base64');
  const statusOf = async (method: string, address: string) => {
    const headers = `Host: x\r\nX-Forwarded-For: ${address}\r\nAuthorization: Basic ${login}\r\nContent-Length: 0`;
    const wire = new Wire(t, server.port).send(`${method} /studio HTTP/1.1\r\n${headers}\r\n\r\n`);
    await until(() => wire.got.includes('\r\n\r\n'), 10_000);
    return Number(wire.got.split(' ')[1]);
  };
  t.equal((await admin.post('blocks', { network: '192.0.2.0/24', seconds: 60 })).status, 201);
  for (const method of ['PUT', 'SOURCE']) {
    t.equal(await statusOf(method, '192.0.2.7'), 403, method);
    t.equal(await statusOf(method, '198.51.100.7'), 200, `${method} from elsewhere`);
  }
  const { body } = await admin.get('refusals');
  t.match(body, [{ address: '192.0.2.7', status: 403, why: /blocked/ }]);
});
