/** What an address serves: each role alone, over all paths; and `ops` without a name, for this machine's direct peers only. */

import { networkInterfaces } from 'node:os';
import t, { type Test } from 'tap';
import { ROLES, type Role } from '../../src/config/addresses/addresses-config.js';
import { demoYaml, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { ask, Wire } from '../kit/wire.js';

// They wait more than they compute.
t.jobs = 4;

const UPGRADE = `Connection: Upgrade\r
Upgrade: websocket\r
Sec-WebSocket-Version: 13\r
Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==`;
const LOGIN = `Authorization: Basic ${Buffer.from('source:demo-source').toString('base64')}`;
const EVERYWHERE = ROLES;

/** What is asked, the status where it is served, and the roles that serve it. What the old host served, legacy does. */
const TABLE: readonly (readonly [line: string, headers: string, status: number, roles: readonly Role[]])[] = [
  ['GET /metapush/demo/demo-token?song=x', '', 200, ['push', 'legacy']],
  ['GET /metapush/demo?song=y', 'Authorization: Bearer demo-token', 200, ['push', 'legacy']],
  ['HEAD /metapush/demo/demo-token', '', 405, ['push', 'legacy']],
  ['GET /metadata/channel/demo.json', '', 200, ['poll', 'legacy']],
  ['GET /metadata/channel/demo.txt', '', 200, ['poll', 'legacy']],
  ['GET /metadata/station/demo.json', '', 200, ['poll', 'legacy']],
  ['GET /metadata/channel/demo/history.csv', '', 200, ['poll', 'legacy']],
  ['OPTIONS /metadata/channel/demo.json', '', 204, ['poll', 'legacy']],
  ['GET /metadata/channel/demo', UPGRADE, 101, ['watch', 'legacy']],
  ['GET /metadata/channel/demo', '', 426, ['poll', 'watch', 'legacy']],
  ['GET /metadata/listener/someone', '', 426, ['poll', 'watch', 'legacy']],
  ['GET /metadata/listener/someone.json', '', 404, EVERYWHERE],
  ['GET /metadata/station/demo', UPGRADE, 101, ['watch', 'legacy']],
  ['GET /metadata/listener/someone', UPGRADE, 101, ['watch', 'legacy']],
  ['GET /metadata/sse/channel/demo', '', 200, ['watch', 'legacy']],
  ['GET /demo.mp3', '', 200, ['stream', 'legacy']],
  ['HEAD /demo', '', 200, ['stream', 'legacy']],
  ['OPTIONS /demo', '', 204, ['stream', 'legacy', 'encoder']],
  ['GET /demo.m3u', '', 200, ['stream', 'legacy']],
  ['GET /demo.mp3.xspf', '', 200, ['stream', 'legacy']],
  ['OPTIONS /demo.pls', '', 204, ['stream', 'legacy']],
  ['GET /status-json.xsl', '', 200, ['stream', 'legacy']],
  ['GET /7.html', '', 200, ['stream', 'legacy']],
  ['GET /stats?sid=1', '', 200, ['stream', 'legacy']],
  ['GET /statistics', '', 200, ['stream', 'legacy']],
  ['GET /nextsongs', '', 200, ['stream', 'legacy']],
  ['GET /admin/publicstats', '', 200, ['stream', 'legacy']],
  ['GET /admin/publicstats.json', '', 200, ['stream', 'legacy']],
  ['GET /admin/metadata?mode=updinfo&song=a&mount=/studio', LOGIN, 200, ['encoder']],
  ['GET /admin.cgi?mode=updinfo&song=a&pass=demo-source', '', 200, ['encoder']],
  ['PUT /nothing', LOGIN, 404, EVERYWHERE],
  ['GET /metrics', '', 200, ['ops']],
  ['GET /metrics', 'X-Forwarded-For: 192.0.2.1', 200, ['ops']],
  ['GET /', UPGRADE, 101, ['legacy']],
  ['GET /', '', 200, EVERYWHERE],
  ['GET /healthz', '', 200, EVERYWHERE],
  ['GET /readyz', '', 200, EVERYWHERE],
  ['GET /docs', '', 200, EVERYWHERE],
  ['GET /openapi.json', '', 200, EVERYWHERE],
];

/** The status line's number; streams and sockets are let go after it. */
async function statusOf(t: Test, port: number, line: string, headers: string, host = '127.0.0.1'): Promise<number> {
  const wire = new Wire(t, port, { host });
  wire.send(`${line} HTTP/1.1\r\nHost: localhost\r\n${headers}${headers && '\r\n'}\r\n`);
  await until(
    () => wire.got.includes('\r\n\r\n'),
    5000,
    () => `${line}: nothing came`,
  );
  wire.socket.destroy();
  return Number(wire.got.split(' ')[1]);
}

t.test('a push where there are none is counted, as no channel’s', async (t) => {
  const { app } = await startServer(
    t,
    demoYaml().replace(/^addresses: .*$/m, 'addresses: [{ host: 127.0.0.1, port: 0, roles: [poll, ops] }]'),
  );
  t.equal(await statusOf(t, app.ports[0]!, 'GET /metapush/demo/demo-token?song=x', ''), 404);
  const counted = async () => (await ask(t, app.ports[0]!, 'GET /metrics HTTP/1.1')).body;
  await until(async () => /^airsplice_pushes_total{channel="",status="404"} 1$/m.test(await counted()), 5000);
});

t.test('each role alone serves its part and nothing else', async (t) => {
  const addresses = ROLES.map((role) => `{ host: 127.0.0.1, port: 0, roles: [${role}] }`).join(', ');
  const legacy = 'legacy: { deprecatedOn: 2024-01-01, sunsetOn: 2027-12-31, successor: "https://api.example.com/" }';
  const yaml = demoYaml(legacy).replace(/^addresses: .*$/m, `addresses: [${addresses}]`);
  const { app } = await startServer(t, yaml);
  // So that there is something to poll.
  await statusOf(t, app.ports[0]!, TABLE[0]![0], '');
  for (const [line, headers, status, roles] of TABLE) {
    for (const [index, role] of ROLES.entries()) {
      const got = await statusOf(t, app.ports[index]!, line, headers);
      t.equal(got, roles.includes(role) ? status : 404, `${line} ${headers.slice(0, 15)} at ${role}`);
    }
  }
  for (const [index, role] of ROLES.entries()) {
    // Where there are streams but no encoders the path is known, the method is not.
    const expected = role === 'encoder' ? 200 : ['stream', 'legacy'].includes(role) ? 405 : 404;
    t.equal(await statusOf(t, app.ports[index]!, 'PUT /studio', LOGIN), expected, `PUT at ${role}`);
  }
});

t.test('ops without a name: direct peers on this machine, whatever headers they make up', async (t) => {
  const other = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
  const hasV6 = Object.values(networkInterfaces()).some((each) => each?.some(({ address }) => address === '::1'));
  const yaml = demoYaml()
    .replaceAll(/demo-(token|source)|studio-token/g, `'sha256:${'7'.repeat(64)}'`)
    .replace(/^addresses: .*$/m, `addresses: [{ host: '${hasV6 ? '::' : '0.0.0.0'}', port: 0 }]`);
  const { port } = await startServer(t, yaml);
  const metrics = (headers = '', host = '127.0.0.1') => statusOf(t, port, 'GET /metrics', headers, host);
  t.equal(await metrics(), 200);
  if (hasV6) t.equal(await metrics('', '::1'), 200, 'IPv6');
  else t.pass('IPv6', { skip: 'this machine has no ::1' });
  const proxied = [
    'X-Forwarded-For: 127.0.0.1',
    'X-Forwarded-For:',
    'x-forwarded-host: x',
    'X-Forwarded-Proto: https',
    'Forwarded: for=127.0.0.1',
    'Via: 1.1 proxy',
    'X-Real-IP: 127.0.0.1',
    'X-Client-IP: ::1',
    'CF-Connecting-IP: 192.0.2.1',
    'True-Client-IP: 192.0.2.1',
  ];
  for (const head of proxied) t.equal(await metrics(head), 404, head);
  if (other !== undefined) {
    t.equal(await metrics('', other), 404, 'from an address that is not this machine’s own business');
    t.equal(await metrics('X-Forwarded-For: 127.0.0.1', other), 404);
    t.equal(await statusOf(t, port, 'GET /healthz', '', other), 200);
  } else t.pass('another address', { skip: 'this machine has none' });
  t.equal(
    (await ask(t, port, 'GET /%6detrics HTTP/1.1\nX-Forwarded-For: x')).status,
    404,
    'nor under another spelling',
  );
});

t.test('a page whose name was rebound to this machine does not read what is for this machine only', async (t) => {
  const { port } = await startServer(t, demoYaml());
  const metrics = async (target: string, headers: string, version = '1.1') => {
    const wire = new Wire(t, port).send(`GET ${target} HTTP/${version}\r\n${headers}\r\n`);
    return (await wire.take(1))[0]!.status;
  };
  const ours = [
    'localhost',
    'localhost:8000',
    'LOCALHOST',
    'localhost.',
    'radio.localhost:1',
    '127.0.0.1',
    '127.9.8.7:80',
  ];
  for (const host of [...ours, '[::1]', '[::1]:8000'])
    t.equal(await metrics('/metrics', `Host: ${host}\r\n`), 200, host);
  t.equal(await metrics('/metrics', '', '1.0'), 200, 'no host');
  const theirs = [
    'evil.example',
    'evil.example:8000',
    'notlocalhost',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
  ];
  for (const host of [...theirs, '127.0.0.1@evil.example', '192.0.2.1', '[2001:db8::1]', '0.0.0.0', '']) {
    t.equal(await metrics('/metrics', `Host: ${host}\r\n`), 404, host);
    t.equal(await metrics('/%6detrics', `Host: ${host}\r\n`), 404, `${host}, another spelling`);
  }
  t.equal(await metrics('http://localhost/metrics', 'Host: evil.example\r\n'), 200, 'the host of the target counts');
  t.equal(await metrics('http://evil.example:80/metrics', 'Host: localhost\r\n'), 404);
  t.equal(await metrics('http:///metrics', 'Host: localhost\r\n'), 404);
  t.equal(await metrics('/metrics', 'Host: evil.example\r\n', '1.0'), 404);
  t.equal(await metrics('/healthz', 'Host: evil.example\r\n'), 200, 'what is for all is under any name');
  const named = demoYaml().replace('port: 0', 'port: 0, roles: [ops]');
  const ops = await startServer(t, named);
  const wire = new Wire(t, ops.port).send('GET /metrics HTTP/1.1\r\nHost: radio.example\r\n\r\n');
  t.equal((await wire.take(1))[0]!.status, 200, 'an address that has the role by name answers to any');
});

t.test('behind more headers than Node reads nothing of a proxy is lost: the request is refused', async (t) => {
  const { port } = await startServer(t, demoYaml());
  const behind = (count: number, header: string) => `${'a:\r\n'.repeat(count)}${header}`;
  for (const header of ['X-Forwarded-For: 192.0.2.1', 'Via: 1.1 proxy']) {
    t.equal(await statusOf(t, port, 'GET /metrics', behind(900, header)), 404, header);
    for (const count of [1000, 2000, 5000]) {
      t.equal(await statusOf(t, port, 'GET /metrics', behind(count, header)), 431, `${header} behind ${count}`);
    }
  }
  t.equal(await statusOf(t, port, 'GET /metadata/channel/demo', behind(1000, UPGRADE)), 431, 'an upgrade');
  t.equal(await statusOf(t, port, 'GET /healthz', behind(1000, 'Expect: 100-continue')), 431);
});
