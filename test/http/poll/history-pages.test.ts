/** Pages of history on a server of their own, whose store gives what the test wants: what they cost, whom they wait for, what goes wrong. */

import http from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { Feed } from '../../../src/feed/feed.js';
import { type HistoryOptions, MAX_LOOKED_THROUGH } from '../../../src/http/poll/history-pages.js';
import { Poll } from '../../../src/http/poll/poll.js';
import type { Sessions } from '../../../src/listener/sessions/sessions.js';
import { Proxies } from '../../../src/net/front/client-address.js';
import type { HistoryEntry } from '../../../src/now-playing/state.js';
import { HISTORY } from '../../kit/history.js';
import { longestTurnMs } from '../../kit/longest-turn.js';
import { makeRecord } from '../../kit/record.js';
import { until } from '../../kit/until.js';
import { Wire } from '../../kit/wire.js';

const PATH = '/metadata/channel/a/history.json?limit=1000';
const KB = 1024;

/** An entry each second until 1970, the newest first; each with so much extdata. */
function entries(count: number, bytes: number): HistoryOptions['read'] {
  const extdata = JSON.stringify('x'.repeat(bytes));
  const entry = (i: number): HistoryEntry => ({
    record: makeRecord({ song: `${i}`, extdata, version: i }),
    fromMs: i * 1000,
    toMs: null,
  });
  return (_channel, { limit, beforeMs = Number.POSITIVE_INFINITY }) => {
    const newest = Math.min(count, Math.ceil(beforeMs / 1000) - 1);
    return Array.from({ length: Math.max(0, Math.min(limit, newest)) }, (_, i) => entry(newest - i));
  };
}

async function serve(t: Test, options: Partial<HistoryOptions>) {
  const feed = new Feed();
  feed.change(new Map([['house', [{ key: 'a', name: '', station: 'house', timezone: 'UTC' }]]]));
  const reported: unknown[] = [];
  const history = { ...HISTORY, ...options };
  const poll = new Poll(feed, undefined as unknown as Sessions, {
    history,
    // Each client says where it comes from.
    proxies: new Proxies(['127.0.0.1'], 'x-forwarded-for'),
    onError: (error) => reported.push(error),
  });
  const server = http.createServer((request, response) => poll.handle({ request, response }));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const ask = (before: number, from = '192.0.2.1') =>
    fetch(`http://127.0.0.1:${port}${PATH}&before=${new Date(before * 1000).toISOString()}`, {
      headers: { 'X-Forwarded-For': from, Connection: 'close' },
    });
  return { feed, port, reported, ask, history };
}

t.test('so many entries are looked through for one page, and no more', { timeout: 60_000 }, async (t) => {
  for (const [count, status] of [
    [MAX_LOOKED_THROUGH, 200],
    [MAX_LOOKED_THROUGH + 1, 422],
  ] as const) {
    const { port } = await serve(t, { read: entries(count, 1) });
    const ask = (query: string) => fetch(`http://127.0.0.1:${port}/metadata/channel/a/history.json?${query}`);
    const answer = await ask('etype=999');
    t.equal(answer.status, status, `${count}`);
    const body = await answer.text();
    if (status === 200) t.equal(body, '[]');
    else t.match(JSON.parse(body), { errors: [{ field: 'from' }] });
    t.equal((await ask(`etype=999&from=${new Date(5_000_000).toISOString()}`)).status, 200, 'of a shorter time');
    t.equal((await ask('etype=0')).status, 200, 'and where enough are found');
  }
});

t.test('a channel that a reload takes out while its page is made', async (t) => {
  const all = entries(100, 1);
  let takeOut: () => void = () => undefined;
  const served = await serve(t, {
    read: (...asked) => {
      takeOut();
      return all(...asked);
    },
  });
  takeOut = () => served.feed.change(new Map([['house', []]]));
  t.equal((await served.ask(2000)).status, 404);
  t.same(served.reported, []);
});

t.test('a page ends where it would be too long, and the next goes on', async (t) => {
  const { ask } = await serve(t, { read: entries(200, KB), pageBytes: 64 * KB });
  const songs: string[] = [];
  let before = 1_000_000;
  for (;;) {
    const body = await (await ask(before)).text();
    t.ok(body.length <= 64 * KB + 1);
    const page = JSON.parse(body) as { song: string; from: string }[];
    if (page.length === 0) break;
    t.ok(page.length < 60);
    songs.push(...page.map(({ song }) => song));
    before = Date.parse(page.at(-1)!.from) / 1000;
  }
  t.same(
    songs,
    Array.from({ length: 200 }, (_, i) => `${200 - i}`),
  );
  const long = await serve(t, { read: entries(3, 100 * KB), pageBytes: 64 * KB });
  t.equal(((await (await long.ask(99)).json()) as unknown[]).length, 1, 'one that is too long by itself is a page');
});

t.test('1,000 entries with 16 KB of extdata: no turn of the loop is long', async (t) => {
  const { ask } = await serve(t, { read: entries(1000, 16 * KB) });
  // What is collected meanwhile is nobody's turn, so the best of a few tries counts.
  const longest: number[] = [];
  for (let i = 0; i < 30 && !longest.some((ms) => ms <= 15); i++) {
    longest.push(await longestTurnMs(async () => (await ask(2000 + i)).arrayBuffer()));
  }
  t.ok(Math.min(...longest) <= 15, `${longest.map(Math.round)} ms of CPU`);
});

t.test('pages that wait: at the limit and one past it; each is right', async (t) => {
  const { ask } = await serve(t, { read: entries(1000, KB / 2), waiting: 2, cacheBytes: KB });
  const whole = await (await ask(2000)).text();
  t.equal(JSON.parse(whole).length, 1000);
  const two = await Promise.all([ask(2001), ask(2002)]);
  for (const answer of two) t.equal(await answer.text(), whole, 'rendered in slices, or not');
  const many = await Promise.all(Array.from({ length: 8 }, (_, i) => ask(3000 + i, `192.0.2.${i}`)));
  t.same(many.map(({ status }) => status).sort(), [200, 200, ...Array<number>(6).fill(503)]);
  t.equal(many.find(({ status }) => status === 503)?.headers.get('retry-after'), '1');
  for (const answer of many) if (answer.status === 200) t.equal(await answer.text(), whole);
  t.equal((await ask(2000)).status, 200, 'and it is over soon');
});

t.test('one address has a few places among the pages that wait; at the limit and one past it', async (t) => {
  const { ask } = await serve(t, { read: entries(1000, KB), waiting: 6, waitingPerAddress: 3 });
  const answers = [ask(2000), ask(2001), ask(2002), ask(2003)];
  const statuses = (await Promise.all(answers)).map(({ status }) => status).sort();
  t.same(statuses, [200, 200, 200, 503]);
  const many = Array.from({ length: 30 }, (_, i) => ask(3000 + i, '198.51.100.7'));
  const other = await ask(2010);
  t.equal(other.status, 200, 'a client that asks for one is not turned away by one that asks for many');
  const late = (await Promise.all(many)).filter(({ status }) => status === 503);
  t.ok(late.length > 0);
  t.equal(late[0]!.headers.get('retry-after'), '1');
  t.equal((await ask(2000)).status, 200);
});

/** Asks for pages in one go. @returns how many were answered 200 and 503 */
function askAtOnce(t: Test, port: number, count: number, from: string) {
  const wire = new Wire(t, port);
  const head = `Host: x\r\nX-Forwarded-For: ${from}\r\n\r\n`;
  const page = (i: number) => `GET ${PATH}&before=${new Date((2000 + i) * 1000).toISOString()} HTTP/1.1\r\n${head}`;
  wire.send(Array.from({ length: count }, (_, i) => page(i)).join(''));
  const answered = (status: number) => wire.got.split(`HTTP/1.1 ${status} `).length - 1;
  return () => ({ taken: answered(200), refused: answered(503) });
}

/** Of a store that notes that it is read, and takes its time. */
function slowEntries(count: number, ms: number) {
  const read = entries(count, 1);
  const reads = { count: 0 };
  const noting: HistoryOptions['read'] = (...asked) => {
    const endMs = performance.now() + ms;
    while (performance.now() < endMs);
    reads.count++;
    return read(...asked);
  };
  return { reads, read: noting };
}

t.test('addresses take turns, however many pages one of them waits for', async (t) => {
  const { reads, read } = slowEntries(1000, 0.05);
  const { port, ask } = await serve(t, { read, waiting: 64, waitingPerAddress: 16 });
  const many = askAtOnce(t, port, 16, '198.51.100.7');
  await until(() => reads.count > 0, 5000);
  t.equal((await ask(500, '192.0.2.1')).status, 200);
  const { taken } = many();
  t.ok(taken <= 4, `behind ${taken} pages of the other one`);
  await until(() => many().taken === 16, 30_000);
});

t.test('where no place is left, the address with most pages makes room', async (t) => {
  const { reads, read } = slowEntries(1000, 1);
  const { port, ask } = await serve(t, { read, waiting: 4, waitingPerAddress: 4 });
  const many = askAtOnce(t, port, 4, '198.51.100.7');
  await until(() => reads.count > 0, 5000);
  const others = await Promise.all([ask(500, '192.0.2.1'), ask(501, '192.0.2.2'), ask(502, '192.0.2.3')]);
  t.same(
    others.map(({ status }) => status),
    [200, 200, 200],
  );
  await until(() => many().taken + many().refused === 4, 30_000);
  t.same(many(), { taken: 1, refused: 3 });
});

t.test('a client that asks for ever new pages has a small part of the time', async (t) => {
  const { ask } = await serve(t, { read: entries(1000, KB), waiting: 100, waitingPerAddress: 100 });
  const shares: number[] = [];
  let taken = 0;
  // The loop does nothing else here but to ask and to read.
  for (let i = 0; i < 10 && !shares.some((share) => share <= 0.35); i++) {
    const before = performance.eventLoopUtilization();
    const asked = Array.from({ length: 8 }, (_, k) => ask(5000 + 100 * i + k, `192.0.2.${k}`));
    for (const answer of asked) if ((await (await answer).arrayBuffer()).byteLength > 1000) taken++;
    shares.push(performance.eventLoopUtilization(before).utilization);
  }
  t.ok(taken >= 8);
  t.ok(Math.min(...shares) <= 0.35, `${shares.map((share) => share.toFixed(2))}`);
});

t.test('pages that are not read: at the limit 200, past it 503; a client that reads makes room', async (t) => {
  const read = entries(1000, 16 * KB);
  // Pages of about 1 MB, each counted twice.
  const limits = { read, pageBytes: 1024 * KB, cacheBytes: KB, waitingPerAddress: 100 };
  const bounds = { bytesInFlight: 9_000_000, bytesInFlightPerAddress: 5_000_000 };
  const { port, ask, history } = await serve(t, { ...limits, ...bounds });
  const silent = (before: number, from: string) => {
    const wire = new Wire(t, port);
    wire.socket.pause();
    const head = `Host: x\r\nX-Forwarded-For: ${from}\r\n\r\n`;
    // The kernel takes the first ones.
    for (let i = 0; i < 30; i++) {
      wire.send(`GET ${PATH}&before=${new Date((before + i) * 1000).toISOString()} HTTP/1.1\r\n${head}`);
    }
    return wire;
  };
  const statusOf = async (before: number, from: string) => {
    const answer = await ask(before, from);
    await answer.arrayBuffer();
    return answer.status;
  };
  t.equal(await statusOf(1, '192.0.2.1'), 200);
  const wires = [silent(2000, '192.0.2.1'), silent(3000, '192.0.2.1')];
  let before = 10_000;
  await until(async () => (await statusOf(before++, '192.0.2.1')) === 503, 30_000);
  t.equal(await statusOf(before++, '198.51.100.7'), 200, 'the same from another address');
  wires.push(silent(4000, '198.51.100.7'), silent(5000, '198.51.100.7'));
  await until(async () => (await statusOf(before++, '203.0.113.1')) === 503, 30_000);
  Object.assign(history, { bytesInFlight: 90_000_000 });
  t.equal(await statusOf(before++, '203.0.113.1'), 200, 'a reload raised the limit');
  Object.assign(history, bounds);
  for (const { socket } of wires) socket.destroy();
  await until(async () => (await statusOf(before++, '203.0.113.1')) === 200, 5000);
});

t.test('what goes wrong is reported, and the stranger learns nothing of it', async (t) => {
  const disk = new Error('the disk /secret is on fire');
  const { ask, reported } = await serve(t, {
    read: () => {
      throw disk;
    },
  });
  const answer = await ask(1);
  t.equal(answer.status, 500);
  t.notMatch(await answer.text(), /fire/);
  t.same(reported, [disk]);
  const { port, ask: again, reported: none } = await serve(t, { read: entries(1000, KB) });
  const wire = new Wire(t, port);
  wire.send(`GET ${PATH} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await until(() => wire.socket.readyState === 'open', 5000);
  wire.socket.destroy();
  t.equal((await again(500)).status, 200);
  t.equal((await again(-1)).status, 200);
  t.same(none, [], 'no refusal, and none that has gone');
});
