/** The live streams of the admin interface at their limits: long lines, users who lose their rights, users who take all. Also with workers. */

import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { FastifyReply } from 'fastify';
import t, { type Test } from 'tap';
import type { ChannelReport } from '../../../src/admin/channel-rows.js';
import type { LogLine } from '../../../src/admin/rows.js';
import type { Refusal } from '../../../src/base/refusal.js';
import { LiveStreams } from '../../../src/http/admin/live-streams.js';
import { ADMIN_BEARER, ADMIN_LOGIN, ADMIN_USERS, AdminClient } from '../../kit/admin-client.js';
import { atOnce, demoYaml, startServer, type TestServer, WORKERS } from '../../kit/server.js';
import { until } from '../../kit/until.js';

t.jobs = atOnce(4);
const PATIENCE_MS = 20_000;
const YAML = demoYaml(ADMIN_USERS);

class LiveReader {
  status = 0;
  text = '';
  hasEnded = false;

  static async open(
    t: Test,
    { base }: Pick<TestServer, 'base'>,
    path: string,
    authorization: string,
  ): Promise<LiveReader> {
    const reader = new LiveReader();
    const controller = new AbortController();
    t.teardown(() => controller.abort());
    const { signal } = controller;
    const answer = await fetch(`${base}/admin/api/${path}`, { headers: { Authorization: authorization }, signal });
    reader.status = answer.status;
    void reader.#read(answer).catch(() => {
      reader.hasEnded = true;
    });
    return reader;
  }

  async #read(answer: Response): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of answer.body!) this.text += decoder.decode(chunk as Uint8Array, { stream: true });
    this.hasEnded = true;
  }
}

t.test('a log of long lines is shown: the newest of them, and those that follow', async (t) => {
  const server = await startServer(t, YAML.replace('admin:', 'limits: { pushBurst: 1000 }\nadmin:'));
  const admin = new AdminClient(server);
  const long = '"'.repeat(1024);
  for (let i = 0; i < 300; i++) {
    const { status } = await admin.post('channels/demo/titles', {
      artist: long,
      song: `${i}${long.slice(4)}`,
      duration: 1,
    });
    t.equal(status, 200);
  }
  await admin.post('channels/demo/titles', { artist: 'The last', song: 'before', duration: 1 });
  const reader = await LiveReader.open(t, server, 'log?lines=10000', ADMIN_LOGIN);
  await until(() => reader.text.includes('The last'), PATIENCE_MS);
  await admin.post('channels/demo/titles', { artist: 'The first', song: 'behind', duration: 1 });
  await until(() => reader.text.includes('The first'), PATIENCE_MS);
  t.notOk(reader.hasEnded);
});

t.test('who may look no more sees no more', async (t) => {
  const server = await startServer(t, YAML);
  const looks = ['events', 'log'];
  const readers = await Promise.all(looks.map((path) => LiveReader.open(t, server, path, ADMIN_BEARER.read)));
  const others = await Promise.all(looks.map((path) => LiveReader.open(t, server, path, ADMIN_LOGIN)));
  for (const reader of [...readers, ...others]) await until(() => reader.text !== '', PATIENCE_MS);
  await server.reload(YAML.replace(/ +reader: .*\n/, ''));
  for (const reader of readers) await until(() => reader.hasEnded, PATIENCE_MS);
  t.same(
    others.map(({ hasEnded }) => hasEnded),
    [false, false],
    'others go on',
  );
  await server.reload(YAML.replace("password: 'env:ADMIN_TEST_ALL'", "password: 'env:ADMIN_TEST_READ'"));
  for (const reader of others) await until(() => reader.hasEnded, PATIENCE_MS);
});

t.test('one user does not take all of them', { skip: WORKERS > 0 && 'each process has as many' }, async (t) => {
  const server = await startServer(t, YAML.replace('  users:', '  streams: 4\n  users:'));
  const many: LiveReader[] = [];
  for (let i = 0; i < 4; i++) many.push(await LiveReader.open(t, server, 'events', ADMIN_BEARER.read));
  const counted = async () => many.filter(({ hasEnded }) => hasEnded).length;
  t.equal((await LiveReader.open(t, server, 'events', ADMIN_BEARER.read)).status, 503);
  const first = await LiveReader.open(t, server, 'events', ADMIN_LOGIN);
  const second = await LiveReader.open(t, server, 'log', ADMIN_LOGIN);
  t.same([first.status, second.status], [200, 200]);
  await until(async () => (await counted()) === 2, PATIENCE_MS);
  t.same(
    many.map(({ hasEnded }) => hasEnded),
    [true, true, false, false],
    'the oldest of who had the most',
  );
  t.equal((await LiveReader.open(t, server, 'events', ADMIN_LOGIN)).status, 503, 'no more than the others have');
});

interface Said {
  lines?: LogLine[];
  standing?: () => string | null;
  channels?: () => Promise<ChannelReport[]>;
  /** In place of `lines`. */
  said?: () => Promise<LogLine[]>;
}

interface StartedLive {
  readonly port: number;
  readonly base: string;
  readonly responses: readonly ServerResponse[];
  readonly live: LiveStreams;
  /** Statuses. */
  readonly refused: readonly number[];
}

/** The live streams alone, of a server whose processes say this. Of any path it opens the log, of /events the channels. */
async function startLive(t: Test, { lines = [], standing, channels, said }: Said): Promise<StartedLive> {
  const responses: ServerResponse[] = [];
  const refused: number[] = [];
  const all = async (_: string, { afterMs }: { afterMs: number }) => [
    said === undefined ? lines.filter(({ atMs }) => atMs > afterMs) : await said(),
  ];
  const live = new LiveStreams({
    access: { standing: standing ?? (() => 'the same') },
    channels: channels ?? (async () => []),
    queries: { all },
    maxStreams: () => 1,
  } as unknown as ConstructorParameters<typeof LiveStreams>[0]);
  const server = createServer(({ url }, raw) => {
    responses.push(raw);
    const reply = { raw, hijack: () => undefined } as unknown as FastifyReply;
    const opened = url === '/admin/api/events' ? live.events(reply, { name: 'a' }) : live.log(reply, { name: 'a' }, 10);
    opened.catch(({ status }: Refusal) => refused.push(status));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { port, base: `http://127.0.0.1:${port}`, responses, live, refused };
}

t.test('a process that says its lines later than others: none is missing, and none comes twice', async (t) => {
  const lines: LogLine[] = [{ atMs: 1000, process: 1, line: '"before"' }];
  const reader = await LiveReader.open(t, await startLive(t, { lines }), 'log', '');
  await until(() => reader.text.includes('before'), PATIENCE_MS);
  lines.push({ atMs: 3000, process: 2, line: '"of another"' });
  await until(() => reader.text.includes('of another'), PATIENCE_MS);
  lines.push({ atMs: 2000, process: 1, line: '"late"' }, { atMs: 3500, process: 2, line: '"the last"' });
  await until(() => reader.text.includes('the last'), PATIENCE_MS);
  const seen = [...reader.text.matchAll(/"line":"(.*?)"\}/g)].map(([, line]) => line!.replaceAll('\\"', ''));
  t.same(seen.sort(), ['before', 'late', 'of another', 'the last']);
});

t.test('many long lines in one second: who reads them gets all, and those that follow', async (t) => {
  const lines: LogLine[] = [];
  const reader = await LiveReader.open(t, await startLive(t, { lines }), 'log', '');
  await until(() => reader.text !== '', PATIENCE_MS);
  for (let i = 1; i <= 500; i++) lines.push({ atMs: i, process: 1, line: '"'.repeat(4000) });
  await until(() => reader.hasEnded || (reader.text.match(/event: line/g) ?? []).length === 500, PATIENCE_MS);
  lines.push({ atMs: 501, process: 1, line: 'the first behind' });
  await until(() => reader.hasEnded || reader.text.includes('the first behind'), PATIENCE_MS);
  t.notOk(reader.hasEnded);
});

t.test('who does not read is cut', async (t) => {
  const lines: LogLine[] = [];
  const { port, responses } = await startLive(t, { lines });
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  t.teardown(() => socket.destroy());
  socket.pause().write('GET /admin/api/log HTTP/1.1\r\nHost: a\r\n\r\n');
  let atMs = 0;
  await until(() => {
    lines.splice(0);
    for (let i = 0; i < 400; i++) lines.push({ atMs: ++atMs, process: 1, line: 'x'.repeat(20_000) });
    return responses[0]?.destroyed === true;
  }, PATIENCE_MS);
  t.pass();
});

t.test('whose secret changes while a stream is opened for it: the stream ends', async (t) => {
  let standing = 'of before';
  const opening: { go?: () => void } = {};
  const channels = () => new Promise<ChannelReport[]>((resolve) => (opening.go = () => resolve([])));
  const server = await startLive(t, { standing: () => standing, channels });
  const opened = LiveReader.open(t, server, 'events', '');
  await until(() => opening.go !== undefined, PATIENCE_MS);
  standing = 'of now';
  opening.go!();
  const reader = await opened;
  await until(() => reader.hasEnded, PATIENCE_MS);
  t.equal(reader.status, 200);
});

t.test('who goes while a stream is opened for it takes no place', async (t) => {
  const opening: (() => void)[] = [];
  const asked = <T>(answer: T) => new Promise<T>((resolve) => void opening.push(() => resolve(answer)));
  const { port, responses, live, refused } = await startLive(t, { channels: () => asked([]), said: () => asked([]) });
  for (const path of ['events', 'log']) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    t.teardown(() => socket.destroy());
    socket.write(`GET /admin/api/${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await until(() => opening.length === 1, PATIENCE_MS);
    socket.destroy();
    await until(() => responses.at(-1)!.destroyed, PATIENCE_MS);
    opening.pop()!();
    await until(() => refused.length === responses.length, PATIENCE_MS);
    t.equal(live.count, 0, path);
  }
  t.strictSame(refused, [503, 503]);
});

t.test('who may look no more and does not read either: nothing more is written, and the connection ends', async (t) => {
  const lines: LogLine[] = [];
  let standing = 'of before';
  const { port, responses, live } = await startLive(t, { lines, standing: () => standing });
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  t.teardown(() => socket.destroy());
  socket.pause().write('GET /admin/api/log HTTP/1.1\r\nHost: a\r\n\r\n');
  await until(() => live.count === 1, PATIENCE_MS);
  for (let i = 1; i <= 1000; i++) lines.push({ atMs: i, process: 1, line: 'x'.repeat(20_000) });
  await until(() => responses[0]!.writableLength > 0, PATIENCE_MS);
  standing = 'of now';
  live.refresh();
  t.equal(live.count, 0, 'it takes no place from others');
  lines.push({ atMs: 1001, process: 1, line: 'not for it' });
  await until(() => responses[0]!.destroyed, PATIENCE_MS);
});
