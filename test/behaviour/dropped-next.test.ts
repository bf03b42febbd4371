/** A following track that will not come: readers of all scopes get it once more, without words, by WebSocket and server-sent events. */

import t, { type Test } from 'tap';
import { type FollowOptions, follow } from '../../src/client/client.js';
import { ADMIN_USERS, AdminClient } from '../kit/admin-client.js';
import { Events } from '../kit/events.js';
import { Player } from '../kit/player.js';
import { demoYaml, startServer, type TestServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { Watching } from '../kit/wire.js';

// They wait more than they compute.
t.jobs = 3;

async function push({ base }: TestServer, fields: Record<string, string>): Promise<void> {
  const answer = await fetch(`${base}/metapush/demo/demo-token?${new URLSearchParams({ artist: 'A', ...fields })}`);
  if (answer.status !== 200) throw new Error(await answer.text());
}

const next = (server: TestServer, song: string, more: Record<string, string> = {}) =>
  push(server, { song, id: song, tracktype: 'next', ...more });
const SCOPES = ['channel/demo', 'station/demo', 'listener/dropped-next-1', 'listener/dropped-next-1?sync=wire'];

/** Readers of all scopes in both ways, where a listener plays. */
async function readers(t: Test, server: TestServer) {
  const player = new Player(server.port, '/demo?metaid=dropped-next-1');
  t.teardown(() => player.close());
  await player.until(() => player.audioBytes > 0);
  const sockets = SCOPES.map((scope) => new Watching(t, `${server.ws}/metadata/${scope}`));
  await until(() => sockets.every(({ open }) => open), 5000);
  const events = await Promise.all(SCOPES.map((scope) => new Events(t, server.port, scope).opened()));
  const nexts = () => [
    ...sockets.map(({ records }) => records.filter(({ type }) => type === 'next')),
    ...events.map(({ seen }) => seen.map(({ record }) => record).filter(({ type }) => type === 'next')),
  ];
  /** Each has exactly these, as `id song`. */
  const have = async (...expected: string[]) => {
    const said = () => nexts().map((all) => all.map(({ id, song }) => `${id} ${song}`.trim()).join());
    const isSaid = () => said().every((one) => one === expected.join());
    await until(isSaid, 10_000, () => `${said().join(' | ')}, not ${expected}`);
    t.pass(`${expected}`);
  };
  return { sockets, events, nexts, have };
}

t.test('at the second other now, before it; not where it has its turn', async (t) => {
  const server = await startServer(t, demoYaml(''));
  await push(server, { song: 'one' });
  const { sockets, nexts, have } = await readers(t, server);
  await next(server, 'B', { isrc: 'X1', etype: '1001', duration: '7' });
  await push(server, { song: 'other' });
  await have('B B');
  await push(server, { song: 'another' });
  await have('B B', 'B');
  for (const [, dropped] of nexts()) {
    t.match(dropped, {
      type: 'next',
      id: 'B',
      channelkey: 'demo',
      rawdata: '',
      artist: '',
      song: '',
      isrc: '',
      cover: '',
    });
    t.strictSame(
      [dropped.duration, dropped.etype, dropped.extdata, dropped.position],
      [0, 0, null, ''],
      'an empty record',
    );
  }
  const [channel] = sockets;
  await until(() => channel!.records.at(-1).song === 'another', 5000);
  t.equal(channel!.records.at(-2).id, 'B', 'the last frame is the now');
  t.equal((await fetch(`${server.base}/metadata/channel/demo.json?type=next`)).status, 204);
  await next(server, 'C');
  await push(server, { song: 'C', id: 'C' });
  await next(server, 'D');
  await have('B B', 'B', 'C C', 'D D');
});

t.test('one that was pushed without words is not said again', async (t) => {
  const server = await startServer(t, demoYaml(''));
  await push(server, { song: 'one' });
  const { have } = await readers(t, server);
  await next(server, '', { artist: '', id: 'E' });
  await push(server, { song: 'other' });
  await push(server, { song: 'another' });
  t.equal((await fetch(`${server.base}/metadata/channel/demo.json?type=next`)).status, 204);
  await next(server, 'B');
  await have('E', 'B B');
});

t.test('60 s after its time, and when it is withdrawn; a newer one takes its place', async (t) => {
  const server = await startServer(t, demoYaml('') + ADMIN_USERS);
  await push(server, { song: 'one' });
  const { have } = await readers(t, server);
  await next(server, 'B');
  await next(server, 'late', { time: String(Math.floor(Date.now() / 1000) - 58) });
  await have('B B', 'late late', 'late');
  await next(server, 'C');
  t.equal((await new AdminClient(server, 'titles').delete('channels/demo/titles/next')).status, 204);
  await have('B B', 'late late', 'late', 'C C', 'C');
  t.equal((await fetch(`${server.base}/metadata/channel/demo.json?type=next`)).status, 204);
});

t.test('a reader that was away gets it by Last-Event-ID, and once; a new one gets nothing', async (t) => {
  const server = await startServer(t, demoYaml(''));
  await push(server, { song: 'one' });
  const { events } = await readers(t, server);
  await next(server, 'late', { time: String(Math.floor(Date.now() / 1000) - 56) });
  await until(() => events.every(({ songs }) => songs.includes('next late')), 5000);
  const ids = events.map(({ lastId }) => lastId);
  for (const each of events) each.close();
  const stays = await new Events(t, server.port, 'channel/demo').has(2);
  await until(
    () => stays.songs.at(-1) === 'next ',
    15_000,
    () => `${stays.songs}`,
  );
  await push(server, { song: 'two' });
  await stays.has(4);
  t.strictSame(stays.songs, ['next late', 'now one', 'next ', 'now two']);

  const again = (i: number, id: string) => new Events(t, server.port, SCOPES[i]!, `Last-Event-ID: ${id}\r\n`);
  t.strictSame((await new Events(t, server.port, 'channel/demo').has(1)).songs, ['now two'], 'a new one');
  for (const i of [0, 1]) t.strictSame((await again(i, ids[i]!).has(2)).songs, ['next ', 'now two'], SCOPES[i]!);
  t.strictSame((await again(0, stays.seen[2]!.id).has(1)).songs, ['now two'], 'with the id of that message');
  const known = await again(0, stays.lastId).opened();
  const listener = await again(2, ids[2]!).has(1);
  t.equal(listener.songs[0], 'next ');
  const knows = await again(2, listener.lastId).opened();
  await push(server, { song: 'three' });
  t.strictSame((await known.has(1)).songs, ['now three'], 'who has it already does not get it again');
  await until(
    () => knows.songs.includes('now three'),
    20_000,
    () => `${knows.songs}`,
  );
  t.notOk(knows.songs.includes('next '));
});

t.test('the client reports null once', async (t) => {
  const server = await startServer(t, demoYaml(''));
  for (const target of [{ channel: 'demo' }, { station: 'demo' }]) {
    const calls: string[] = [];
    const options: FollowOptions = { ...target, server: server.base, transport: 'sse' };
    const following = follow({
      ...options,
      onNow: ({ song }) => void calls.push(`now ${song}`),
      onNext: (record) => void calls.push(`next ${record === null ? 'none' : record.song}`),
    });
    t.teardown(() => following.close());
    await push(server, { song: 'one' });
    await until(() => calls.includes('now one'), 10_000);
    await next(server, 'late', { time: String(Math.floor(Date.now() / 1000) - 58) });
    await until(() => calls.includes('next none'), 10_000);
    await push(server, { song: 'two' });
    await push(server, { song: 'three' });
    await until(() => calls.includes('now three'), 10_000);
    t.strictSame(
      calls.filter((call) => call.startsWith('next')),
      ['next late', 'next none'],
      Object.keys(target)[0]!,
    );
    following.close();
    await push(server, { song: 'one again' });
  }
});
