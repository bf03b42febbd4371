/** What operators made ends with their rights: push tokens, by a reload and by a restart. */

import { join } from 'node:path';
import { open } from 'lmdb';
import t from 'tap';
import { NO_ADMIN_STATE } from '../../../src/admin/admin-queries.js';
import { makeCore } from '../../../src/app/core.js';
import { HubAdmin } from '../../../src/app/hub/hub-admin.js';
import { Channel } from '../../../src/channel/channel.js';
import { loadConfig } from '../../../src/config/load.js';
import { ADMIN_USERS, AdminClient } from '../../kit/admin-client.js';
import { FakeClock } from '../../kit/clock.js';
import { keepLines } from '../../kit/log-lines.js';
import { MemoryStore } from '../../kit/memory-store.js';
import { demoYaml, startServer, type TestServer } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';

const ONE_CHANNEL = `stations: { demo: { channels: { demo: { sources: [{ type: encoder, password: 'sha256:${'a'.repeat(64)}' }] } } } }`;
const YAML = demoYaml(ADMIN_USERS);
const USER = "all: { password: 'env:ADMIN_TEST_ALL', rights: [read, titles, operate] }";
const without = (user: string) => YAML.replace(USER, user);
const GONE = without("boss: { password: 'env:ADMIN_TEST_ALL', rights: [read, titles, operate] }");
/** Each of these takes the user `all`, or one of its rights, away. */
const CHANGES: Readonly<Record<string, string>> = {
  'the user is gone': GONE,
  'the right titles is gone': without(USER.replace('titles, ', '')),
  'the right operate is gone': without(USER.replace(', operate', '')),
};

async function made(server: TestServer, channel = 'demo'): Promise<string> {
  const { status, body } = await new AdminClient(server).post(`channels/${channel}/tokens`, { name: 'automation' });
  if (status !== 201) throw new Error(`${status}`);
  return body.token;
}

async function pushed({ base }: TestServer, token: string): Promise<number> {
  const answer = await fetch(`${base}/metapush/demo/${token}?song=x`);
  await answer.body?.cancel();
  return answer.status;
}

t.test('a token is wrong from the reload on that takes its maker away, and stays so', async (t) => {
  for (const [what, yaml] of Object.entries(CHANGES)) {
    const { log, lines } = keepLines();
    const server = await startServer(t, YAML, undefined, log);
    const token = await made(server);
    t.equal(await pushed(server, token), 200, what);
    await server.reload(yaml);
    t.equal(await pushed(server, token), 403, `${what}: at once`);
    t.equal(await pushed(server, 'demo-token'), 200, 'that of the configuration stays');
    await until(() => lines.some(({ message }) => message.startsWith('a push token was removed')), 8000);
    await server.reload(YAML);
    t.equal(await pushed(server, token), 403, `${what}: another user of that name does not get it back`);
    t.strictSame(
      (await new AdminClient(server).get('tokens')).body.filter((one: { by: string }) => one.by),
      [],
    );
    t.equal(await pushed(server, await made(server)), 200, 'it makes its own');
  }
});

t.test('the same by a restart; and a token that an older version kept without its maker is wrong', async (t) => {
  const folder = tempFolder(t);
  let server = await startServer(t, YAML, folder);
  const [token, other] = [await made(server), await made(server)];
  await server.app.stop();
  const root = open({ path: join(folder, 'data', 'airsplice.mdb'), noSubdir: true, overlappingSync: false });
  const documents = root.openDB<string, string>({ name: 'documents', encoding: 'string' });
  const { tokens, ...state } = JSON.parse(documents.get('admin')!);
  const [, { by, ...unsigned }] = tokens;
  t.equal(by, 'all');
  await documents.put('admin', JSON.stringify({ ...state, tokens: [tokens[0], unsigned] }));
  await root.close();

  server = await startServer(t, YAML, folder);
  t.strictSame([await pushed(server, token), await pushed(server, other)], [200, 403]);
  await server.app.stop();
  server = await startServer(t, GONE, folder);
  t.equal(await pushed(server, token), 403, 'at once');
  const listed = async () => (await boss(server)).filter((one) => one.by);
  await until(async () => (await listed()).length === 0, 8000);
  await server.app.stop();
  server = await startServer(t, YAML, folder);
  t.equal(await pushed(server, token), 403, 'and for good');
});

async function boss({ base }: TestServer): Promise<readonly { readonly by: string | null }[]> {
  const login = `Basic ${Buffer.from('boss:may do all of it').toString('base64')}`;
  return (await (await fetch(`${base}/admin/api/tokens`, { headers: { Authorization: login } })).json()) as [];
}

t.test('what a worker asks again, since the hub ended before it answered, is done once', async (t) => {
  const { log } = keepLines();
  const clock = new FakeClock();
  const config = loadConfig('/nowhere/config.yaml', {}, ONE_CHANNEL);
  const channel = new Channel('demo', config.stations['demo']!.channels['demo']!, config, { clock, log });
  const admin = new HubAdmin(makeCore(config, clock, log), new Map([['demo', channel]]), new MemoryStore(), {
    onState: () => undefined,
    used: async () => [],
    hlsOf: () => 'resting',
  });
  const token = (id: string) => ({
    ...{ id, channel: 'demo', name: 'automation', by: 'all', sinceMs: clock.wallMs() },
    ...{ sha256: id.repeat(64), untilMs: null },
  });
  const made = async () => (await admin.answer('state', null)).tokens.map(({ id }) => id);
  // The last for which there is room.
  for (const id of '1234567') await admin.answer('putToken', token(id));
  for (let i = 0; i < 2; i++) await admin.answer('putToken', token('8'));
  t.strictSame(await made(), [...'12345678']);
  for (let i = 0; i < 2; i++) await admin.answer('rotateToken', { id: '1', made: token('9'), untilMs: null });
  t.strictSame(await made(), [...'23456789']);
});

t.test('whatever the store has of operators, the server starts, with what can be read of it', async (t) => {
  const block = { network: '192.0.2.7', untilMs: 4e12, reason: '', by: 'boss', sinceMs: 1 };
  const login = { id: 'x'.repeat(22), user: 'boss', untilMs: 4e12 };
  const logins = { key: 'k'.repeat(43), ended: [login] };
  const whole = { blocks: [block], tokens: [], fallbacks: [], logins };
  const cases: readonly (readonly [stored: unknown, state: object, reasons: readonly RegExp[]])[] = [
    [undefined, NO_ADMIN_STATE, []],
    [whole, whole, []],
    [{ ...whole, later: 1 }, whole, []],
    [7, NO_ADMIN_STATE, [/the state/]],
    [null, NO_ADMIN_STATE, [/the state/]],
    [{ ...whole, blocks: 5 }, { ...whole, blocks: [] }, [/^blocks: /]],
    [{ ...whole, blocks: [block, null, { ...block, network: 'x' }] }, whole, [/^blocks\.1: /, /^blocks\.2: network/]],
    [{ ...whole, tokens: [{}], fallbacks: { a: 1 } }, whole, [/^tokens\.0: /, /^fallbacks: /]],
    [
      { ...whole, logins: { ...logins, ended: [login, {}] } },
      { ...whole, logins: NO_ADMIN_STATE.logins },
      [/^logins: /],
    ],
    [{ ...whole, logins: null }, { ...whole, logins: NO_ADMIN_STATE.logins }, [/^logins: /]],
  ];
  for (const [stored, state, reasons] of cases) {
    for (const used of [{ id: 5 }, [], 'x', null, { id: null }]) {
      const { log, lines } = keepLines();
      const clock = new FakeClock();
      const config = loadConfig('/nowhere/config.yaml', {}, ONE_CHANNEL);
      const store = new MemoryStore();
      if (stored !== undefined) await store.saveDocument('admin', stored);
      await store.saveDocument('tokens used', used);
      const put: unknown[] = [];
      const admin = new HubAdmin(makeCore(config, clock, log), new Map(), store, {
        onState: (each) => put.push(each),
        used: async () => [],
        hlsOf: () => 'resting',
      });
      admin.restore();
      t.match(put, [state], JSON.stringify(stored));
      await admin.answer('beginLogins', null);
      t.match(await admin.answer('state', null), { blocks: (state as typeof whole).blocks });
      const said = lines.flatMap((line) => (line['reasons'] as readonly string[] | undefined) ?? []);
      const ofState = said.filter((reason) => !reason.startsWith('tokens used'));
      t.equal(ofState.length, reasons.length);
      t.match(ofState, reasons);
    }
  }
});
