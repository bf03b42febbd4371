/** Logging in and out of the operator page: the form, what the cookie is good for, and every way in which it is not. */

import { createHash } from 'node:crypto';
import t from 'tap';
import { MAX_ENDED_OF_USER, MAX_RENEWED, NO_LOGINS, withEnded, withKey } from '../../../src/admin/logins.js';
import type { AdminUserConfig } from '../../../src/config/admin-config.js';
import { AdminLogins } from '../../../src/http/admin/admin-logins.js';
import { registerLogin } from '../../../src/http/admin/login-routes.js';
import type { AdminParts } from '../../../src/http/admin/parts.js';
import { startRouted } from '../../kit/routed.js';
import { demoYaml, NODES, startServer, type TestServer, WORKERS } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';

process.env['LOGIN_ANN'] = 'correct horse';
process.env['LOGIN_BOB'] = 'battery staple';
const ANN = "ann: { password: 'env:LOGIN_ANN', rights: [read, operate] }";
const BOB = "bob: { password: 'env:LOGIN_BOB', rights: [titles] }";
const yamlOf = (users: string, more = '') =>
  demoYaml(`
admin:
  users:
    robot: { tokens: ['env:LOGIN_BOB'], rights: [read] }
    ${users}
${more}`);
const YAML = yamlOf(`${ANN}\n    ${BOB}`);
const BROWSER = 'text/html,application/xhtml+xml,*/*;q=0.8';

interface Form {
  readonly user?: string;
  readonly password?: string;
  readonly headers?: Record<string, string>;
}

function logIn({ base }: TestServer, { user = 'ann', password = 'correct horse', headers }: Form = {}) {
  const origin = {
    Origin: base,
    'Sec-Fetch-Site': 'same-origin',
    'Sec-Fetch-Dest': 'document',
    'User-Agent': 'Mozilla/5.0',
  };
  const body = new URLSearchParams({ user, password });
  return fetch(`${base}/admin/login`, { method: 'POST', body, redirect: 'manual', headers: { ...origin, ...headers } });
}

/** `airsplice-admin=…`, as a browser sends it back. */
async function cookieOf(server: TestServer): Promise<string> {
  const answer = await logIn(server);
  await answer.body?.cancel();
  return answer.headers.get('set-cookie')!.split(';')[0]!;
}

async function self({ base }: TestServer, cookie: string, path = '/admin/api/self'): Promise<number> {
  const answer = await fetch(base + path, { headers: { Cookie: cookie, 'X-Requested-With': 'airsplice' } });
  await answer.body?.cancel();
  return answer.status;
}

const logOut = ({ base }: TestServer, headers: Record<string, string>) =>
  fetch(`${base}/admin/logout`, { method: 'POST', headers: { 'X-Requested-With': 'airsplice', ...headers } });

t.test('a person gets the form, a program the challenge', async (t) => {
  const { base } = await startServer(t, YAML);
  const form = await fetch(`${base}/admin`, { headers: { Accept: BROWSER } });
  t.equal(form.status, 401);
  t.notMatch(form.headers.get('www-authenticate'), /Basic/, 'no dialogue of the browser');
  t.match(
    form.headers.get('content-security-policy'),
    /^default-src 'none';.*form-action 'self'; frame-ancestors 'none'$/,
  );
  t.match(await form.text(), '<form method="post" action="admin/login">');
  const program = await fetch(`${base}/admin`);
  t.equal(program.status, 401);
  t.match(program.headers.get('www-authenticate'), /^Basic /);
  const basic = { Accept: BROWSER, Authorization: `Basic ${btoa('ann:correct horse')}` };
  t.equal((await fetch(`${base}/admin`, { headers: basic })).status, 200, 'Basic goes on');
  const get = await fetch(`${base}/admin/login?next=https://evil.example/`, { redirect: 'manual' });
  t.same([get.status, get.headers.get('location')], [303, '../admin'], 'it leads nowhere else');
});

t.test('in, and out: then the cookie is no more', async (t) => {
  const server = await startServer(t, YAML);
  const answer = await logIn(server);
  t.same([answer.status, answer.headers.get('location')], [303, '../admin']);
  const set = answer.headers.get('set-cookie')!;
  t.match(set, /^airsplice-admin=[\w.-]+; Max-Age=43200; HttpOnly; SameSite=Strict$/, 'no Secure over http');
  const cookie = set.split(';')[0]!;
  t.equal(await self(server, cookie), 200);
  t.equal(await self(server, `other=1; ${cookie}; airsplice-admin=x`), 200, 'beside others');
  t.equal(await self(server, cookie, '/admin'), 200);
  const { name, loginUntilMs } = (await (
    await fetch(`${server.base}/admin/api/self`, { headers: { Cookie: cookie } })
  ).json()) as Record<string, unknown>;
  t.equal(name, 'ann');
  t.ok(Number(loginUntilMs) > Date.now() + 11 * 3_600_000);

  const second = await cookieOf(server);
  const events = await fetch(`${server.base}/admin/api/events`, { headers: { Cookie: cookie } });
  const out = await logOut(server, { Cookie: cookie });
  t.equal(out.status, 204);
  t.match(out.headers.get('set-cookie'), /^airsplice-admin=; Max-Age=0; HttpOnly; SameSite=Strict$/);
  t.equal(await self(server, cookie), 401, 'replayed');
  t.equal((await logOut(server, { Cookie: cookie })).status, 401);
  t.equal(await self(server, second), 200, 'another login goes on');
  // It ends; without that the test would not.
  await events.text();
  t.equal((await logOut(server, { Authorization: `Basic ${btoa('ann:correct horse')}` })).status, 409);
});

t.test('over https the cookie is Secure', async (t) => {
  const server = await startServer(
    t,
    `${YAML}proxies: { trusted: [127.0.0.1] }\n`.replace('port: 0', 'port: 0, roles: [admin]'),
  );
  const answer = await logIn(server, { headers: { 'X-Forwarded-Proto': 'https' } });
  t.equal(answer.status, 303);
  t.match(answer.headers.get('set-cookie'), /; Secure$/);
});

t.test('forged, cut, of another user, without a password', async (t) => {
  const server = await startServer(t, YAML);
  const other = await startServer(t, YAML);
  const cookie = await cookieOf(server);
  const [name, until, id, mac] = cookie.slice('airsplice-admin='.length).split('.') as [string, string, string, string];
  const bob = Buffer.from('bob').toString('base64url');
  const robot = Buffer.from('robot').toString('base64url');
  const proto = Buffer.from('__proto__').toString('base64url');
  const bad = [
    [name, until, id, `A${mac.slice(1)}`.replace(mac, `B${mac.slice(1)}`)],
    [name, String(Number(until) + 1), id, mac],
    [name, until, `A${id.slice(1)}`.replace(id, `B${id.slice(1)}`), mac],
    [bob, until, id, mac],
    [robot, until, id, mac],
    [proto, until, id, mac],
    [name, until, id, mac.slice(0, -1)],
    [name, until, id, ''],
    [name, until, id],
    [name, until],
    [name],
    [''],
    [name, until, id, mac, mac],
    [name, '99999999999999', id, mac],
  ].map((parts) => `airsplice-admin=${parts.join('.')}`);
  for (const each of [...bad, 'airsplice-admin', '=;;;=', 'x'.repeat(4000)])
    t.equal(await self(server, each), 401, each.slice(0, 100));
  t.equal(await self(server, cookie), 200);
  t.equal(await self(server, await cookieOf(other)), 401, 'of another server');
});

t.test('a changed password and a removed user end it, and so does its time', async (t) => {
  const server = await startServer(t, YAML);
  const cookie = await cookieOf(server);
  await server.reload(YAML.replace("'env:LOGIN_ANN', rights: [read, operate]", "'env:LOGIN_ANN', rights: [read]"));
  t.equal(await self(server, cookie), 200, 'other rights');
  await server.reload(YAML.replace("ann: { password: 'env:LOGIN_ANN'", "ann: { password: 'env:LOGIN_BOB'"));
  t.equal(await self(server, cookie), 401, 'another password');
  await server.reload(YAML);
  t.equal(await self(server, cookie), 200);
  await server.reload(yamlOf(BOB));
  t.equal(await self(server, cookie), 401, 'no such user');
});

t.test('who has lost the right to look can log out all the same, for good', async (t) => {
  const server = await startServer(t, YAML);
  const cookie = await cookieOf(server);
  await server.reload(YAML.replace('rights: [read, operate]', 'rights: [titles]'));
  t.equal(await self(server, cookie), 403);
  t.equal((await logOut(server, { Cookie: cookie })).status, 204);
  await server.reload(YAML);
  t.equal(await self(server, cookie), 401);
});

t.test('from other pages, in other forms, without the right, and too often', async (t) => {
  const server = await startServer(t, `${YAML}limits: { wrongSecretsPerMinute: 3, secretQueue: 0 }\n`);
  const status = async (form: Form) => {
    const answer = await logIn(server, form);
    t.equal(answer.headers.get('set-cookie'), null);
    return [answer.status, await answer.text()] as const;
  };
  t.equal((await status({ headers: { Origin: 'https://evil.example' } }))[0], 403);
  t.equal((await status({ headers: { Origin: 'null', 'Sec-Fetch-Site': 'cross-site' } }))[0], 403);
  t.equal((await status({ headers: { 'Content-Type': 'text/plain' } }))[0], 415);
  t.equal((await status({ password: 'x'.repeat(3000) }))[0], 413);
  t.equal((await status({ user: 'bob', password: 'battery staple' }))[0], 403, 'may not look');
  const cookie = await cookieOf(server);
  const act = (headers: Record<string, string>) =>
    fetch(`${server.base}/admin/reload`, { method: 'POST', headers: { Cookie: cookie, ...headers } });
  t.equal((await act({ 'X-Requested-With': 'x', Origin: 'https://evil.example' })).status, 403);
  t.equal((await act({})).status, 403, 'as a form');
  for (const user of ['ann', '<b>', '__proto__']) {
    const [code, text] = await status({ user, password: 'wrong' });
    t.equal(code, 401, user);
    t.match(text, 'The user is unknown or the password is wrong.');
    t.notMatch(text, '<b>');
  }
  const [code, text] = await status({});
  t.equal(code, 429, 'the right one has to wait too');
  t.match(text, 'Too many wrong secrets');
  t.equal(await self(server, cookie), 200, 'who is in stays in');
});

t.test('its time, and how many ends are remembered', async (t) => {
  let [nowMs, hours] = [1_800_000_000_000, 2];
  const user = {
    password: { sha256: createHash('sha256').update('a').digest(), demo: '' },
    tokens: [],
    rights: ['read' as const],
  };
  const users = { ann: user, bob: user };
  const config = {
    admin: {
      users,
      get loginHours() {
        return hours;
      },
    },
  };
  const logins = new AdminLogins(config, { wallMs: () => nowMs });
  t.equal(logins.isReady, false);
  t.equal(logins.of(`airsplice-admin=YW5u.1.${'A'.repeat(22)}.${'A'.repeat(43)}`), null, 'no key signs nothing');
  let state = withKey(NO_LOGINS);
  t.equal(withKey(state), state);
  logins.set(state);
  const { value, seconds } = logins.begin('ann')!;
  t.equal(seconds, 7200);
  const cookie = `airsplice-admin=${value}`;
  t.match(logins.of(cookie), { user: 'ann', untilMs: nowMs + 7_200_000 });
  hours = 1;
  t.equal(logins.of(cookie), null, 'longer than what is allowed now');
  hours = 2;
  nowMs += 7_199_999;
  t.ok(logins.of(cookie));
  nowMs += 1;
  t.equal(logins.of(cookie), null, 'over');
  const { key } = state;
  const [ann, bob] = ['ann', 'bob'].map((user) => `airsplice-admin=${logins.begin(user)!.value}`);
  const end = (user: string, ids: number) => {
    for (let i = 0; i < ids; i++) state = withEnded(state, { id: `${user}${i}`, user, untilMs: 1 });
    logins.set(state);
  };
  end('bob', 1);
  end('ann', MAX_ENDED_OF_USER);
  t.same([state.key, state.ended.length], [key, MAX_ENDED_OF_USER + 1]);
  t.match([logins.of(ann), logins.of(bob)], [{ user: 'ann' }, { user: 'bob' }]);
  const open = logins.of(ann)!;
  state = withEnded(state, { id: 'one more', user: 'ann', untilMs: 1 });
  logins.set(state);
  t.same([logins.of(ann), logins.isValid(open)], [null, false], 'all of the one are out');
  t.ok(logins.of(bob), 'the other is not');
  t.match(logins.of(`airsplice-admin=${logins.begin('ann')!.value}`), { user: 'ann' }, 'who may begin anew');
  t.same(
    state.ended.map(({ id }) => id),
    ['bob0'],
  );
  for (let i = 1; i < MAX_RENEWED; i++) end(`gone${i}`, MAX_ENDED_OF_USER + 1);
  t.same([state.key, state.renewed!.length], [key, MAX_RENEWED]);
  end('one more', MAX_ENDED_OF_USER + 1);
  t.not(state.key, key, 'everybody is out');
  t.same([state.ended, state.renewed], [[], undefined]);
});

t.test('whose password a reload removes while the key is made gets no cookie, and the form again', async (t) => {
  const password = { sha256: createHash('sha256').update('a').digest(), demo: '' };
  const users: Record<string, AdminUserConfig> = { ann: { password, tokens: [], rights: ['read'] } };
  const logins = new AdminLogins({ admin: { users, loginHours: 1 } }, { wallMs: () => 1_800_000_000_000 });
  const asked: string[] = [];
  const hub = async (question: string) => {
    asked.push(question);
    users['ann'] = { tokens: [password], rights: ['read'] };
    logins.set(withKey(NO_LOGINS));
  };
  const access = { logins, logIn: async () => ({ name: 'ann', rights: ['read'], address: '', connection: undefined }) };
  const parts = { access, queries: { hub }, isSecure: () => false } as unknown as AdminParts;
  const port = await startRouted(t, {
    register: (app) => {
      app.addContentTypeParser('*', { parseAs: 'string' }, (_, body, done) => done(null, body));
      registerLogin(app, parts);
    },
  });
  const body = new URLSearchParams({ user: 'ann', password: 'a' });
  const answer = await fetch(`http://127.0.0.1:${port}/admin/login`, { method: 'POST', body, redirect: 'manual' });
  t.strictSame([answer.status, answer.headers.get('set-cookie'), asked], [401, null, ['beginLogins']]);
  t.match(await answer.text(), /The user is unknown or the password is wrong/);
});

t.test('it outlives a restart, and so does its end', { skip: WORKERS > 0 || NODES > 0 }, async (t) => {
  const folder = tempFolder(t);
  const before = await startServer(t, YAML, folder);
  const [cookie, ended] = [await cookieOf(before), await cookieOf(before)];
  t.equal((await logOut(before, { Cookie: ended })).status, 204);
  await before.app.stop();
  const after = await startServer(t, YAML, folder);
  t.same([await self(after, cookie), await self(after, ended)], [200, 401]);
});
