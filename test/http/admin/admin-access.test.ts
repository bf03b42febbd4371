/** Who may ask at /admin/api: credentials, rights, the gate of secrets, roles, and pages of other origins. */

import t from 'tap';
import { demoYaml, startServer } from '../../kit/server.js';

process.env['ADMIN_PASSWORD'] = 'correct horse';
process.env['ADMIN_TOKEN'] = 'battery staple';
process.env['ADMIN_NEXT'] = 'sigur rós';

const USERS = `
admin:
  users:
    ann: { password: 'env:ADMIN_PASSWORD', tokens: ['env:ADMIN_TOKEN', 'env:ADMIN_NEXT'], rights: [read, operate] }
    bob: { password: 'env:ADMIN_NEXT', rights: [titles] }
`;
const basic = (user: string, password: string) => ({
  Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});
const bearer = (token: string) => ({ Authorization: `Bearer ${Buffer.from(token).toString('latin1')}` });
const ANN = basic('ann', 'correct horse');

t.test('a user is known by password or by either token; all else gets 401 with a challenge', async (t) => {
  const { base } = await startServer(t, demoYaml(USERS));
  const self = (headers: Record<string, string>) => fetch(`${base}/admin/api/self`, { headers });
  for (const headers of [ANN, bearer('battery staple'), bearer('sigur rós')]) {
    const answer = await self(headers);
    t.equal(answer.status, 200);
    t.strictSame(await answer.json(), { name: 'ann', rights: ['read', 'operate'] });
    t.match(Object.fromEntries(answer.headers), {
      'x-frame-options': 'DENY',
      'content-security-policy': /frame-ancestors 'none'/,
      'cache-control': 'no-store',
    });
    t.equal(answer.headers.get('access-control-allow-origin'), null);
  }
  const wrong = [
    {},
    basic('ann', 'sigur rós'),
    basic('bob', 'correct horse'),
    basic('__proto__', ''),
    basic('nobody', 'correct horse'),
    bearer('correct horse'),
    bearer(''),
    { Authorization: 'Digest x' },
  ];
  for (const headers of wrong) {
    const answer = await self(headers);
    t.equal(answer.status, 401, JSON.stringify(headers));
    t.match(answer.headers.get('www-authenticate'), /^Basic realm=.*Bearer/);
    t.match(answer.headers.get('x-frame-options'), 'DENY');
    t.match(answer.headers.get('content-type'), 'application/problem+json');
  }
  t.match(
    (await self({ 'X-Requested-With': 'x' })).headers.get('www-authenticate'),
    /^Bearer/,
    'no dialogue in a page',
  );
  t.equal((await self(basic('bob', 'sigur rós'))).status, 403, 'a right that is missing');
  t.equal((await fetch(`${base}/admin/api/self`, { method: 'POST', headers: ANN })).status, 405);
});

t.test('wrong secrets are limited, and count with those of pushes', async (t) => {
  const limits = 'limits: { wrongSecretsPerMinute: 2, secretQueue: 0 }';
  const { base } = await startServer(t, demoYaml(`${USERS}${limits}`));
  const status = async (headers: Record<string, string>) => (await fetch(`${base}/admin/api/self`, { headers })).status;
  t.equal(await status({}), 401, 'no secret is none that is wrong');
  t.equal(await status(bearer('a')), 401);
  t.equal((await fetch(`${base}/metapush/demo/wrong?song=x`)).status, 403);
  t.equal(await status(ANN), 429);
});

t.test('without users there is nothing; with roles only where they say so', async (t) => {
  const { base } = await startServer(t, demoYaml());
  t.equal((await fetch(`${base}/admin/api/self`, { headers: ANN })).status, 404);
  const named = demoYaml(USERS).replace(
    'port: 0 }]',
    'port: 0, roles: [poll] }, { host: 127.0.0.1, port: 0, roles: [admin] }]',
  );
  const { app } = await startServer(t, named);
  const status = async (port: number, headers: Record<string, string>) =>
    (await fetch(`http://127.0.0.1:${port}/admin/api/self`, { headers })).status;
  t.equal(await status(app.ports[0]!, ANN), 404);
  t.equal(await status(app.ports[1]!, { ...ANN, 'X-Forwarded-For': '192.0.2.1' }), 200);
  const unnamed = await startServer(t, demoYaml(USERS));
  t.equal(await status(unnamed.port, ANN), 200);
  t.equal(await status(unnamed.port, { ...ANN, 'X-Forwarded-For': '192.0.2.1' }), 404, 'for this machine only');
});
