/** Server-Sent Events on the whole server: the protocol, the three scopes, resuming, who is refused, slow readers, the end. */

import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import t, { type Test } from 'tap';
import { Events } from '../../kit/events.js';
import { Player } from '../../kit/player.js';
import { freePort } from '../../kit/process.js';
import { startServer, TWO_STATIONS } from '../../kit/server.js';
import { until, untilPromised } from '../../kit/until.js';
import { ask, ENDS_MS, peerOf, Watching, Wire } from '../../kit/wire.js';

t.jobs = 4;

const CHROMIUM = '/usr/bin/chromium';
const skip = existsSync(CHROMIUM) ? false : `${CHROMIUM} is missing`;
const FREE = 'limits: { pushesPerMinute: 1000000, pushBurst: 1000000, extdataBytes: 65000 }';
/** What fills the buffers of the kernel: few and large, as each push costs more than its bytes. */
const BIG_BYTES = 60_000;
const BATCH = 20;

const yaml = (extra = FREE, port = 0) => `
addresses: [{ host: 127.0.0.1, port: ${port} }, { host: 127.0.0.1, port: 0, roles: [poll] }]
shutdown: { graceSeconds: 2 }
${extra}
${TWO_STATIONS}`;

async function push(t: Test, port: number, channel: string, song: string, query = ''): Promise<void> {
  const answer = await ask(t, port, `GET /metapush/${channel}/demo-token?song=${song}${query} HTTP/1.1`);
  if (answer.status !== 200) throw new Error(answer.body);
}

t.test('the three scopes, and resuming', async (t) => {
  const { app, port, ws } = await startServer(t, yaml());
  const early = await new Events(t, port, 'channel/zulu').opened();
  t.equal(early.status, 200);
  t.match(Object.fromEntries(early.headers), {
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-store',
    'X-Accel-Buffering': 'no',
    'Access-Control-Allow-Origin': '*',
  });
  await push(t, port, 'zulu', 'z1');
  await push(t, port, 'alpha', 'a1');
  await push(t, port, 'zulu', 'z2', '&tracktype=next');
  await early.has(2);
  t.same(early.songs, ['now z1', 'next z2'], 'nothing at first, then each change once');
  t.ok(early.retries.length === 1 && early.retries[0]! >= 1000, 'the pause is sent once');
  t.ok(
    early.seen.every(({ name }) => name === undefined),
    'events have no name',
  );
  const polled = await ask(t, port, 'GET /metadata/channel/zulu.json HTTP/1.1');
  t.equal(JSON.stringify(early.seen[0]!.record), polled.body, 'the same record as by polling');

  const late = await (await new Events(t, port, 'channel/zulu').opened()).has(2);
  t.same(late.songs, ['next z2', 'now z1'], 'first the next, then the now');
  const station = await new Events(t, port, 'station/house').has(3);
  t.same(station.songs, ['next z2', 'now z1', 'now a1'], 'for each channel in configured order');

  const resume = async (path: string, id: string) => {
    const events = await new Events(t, port, path, `Last-Event-ID: ${id}\r\n`).opened();
    t.equal(events.status, 200);
    return events;
  };
  const none = await resume('channel/zulu', late.lastId);
  const half = await (await resume('channel/zulu', late.seen[0]!.id)).has(1);
  t.same(half.songs, ['now z1'], 'a reader that saw the next alone is sent the now');
  const third = await (await resume('station/house', station.seen[1]!.id)).has(1);
  t.same(third.songs, ['now a1'], 'a reader that was cut off within the first messages is sent the rest');
  for (const id of ['', 'x', '1.2,3@4', ',,,@', `${'z'.repeat(5000)}`, 'audio..', '-1', '0-0']) {
    const events = await (await resume('station/house', id)).has(3);
    t.same(events.songs, station.songs, `no id of ours: ${id.slice(0, 20)}`);
    events.close();
  }
  await push(t, port, 'zulu', 'z3');
  for (const events of [none, half]) await until(() => events.songs.includes('now z3'), 2000);
  t.same(none.songs, ['now z3']);
  const polyfill = await new Events(t, port, `channel/zulu?lastEventId=${late.seen[1]!.id}`).has(1);
  await push(t, port, 'zulu', 'z4');
  await polyfill.has(3);
  t.same(polyfill.songs, ['now z3', 'next ', 'now z4'], 'the id in the address');

  await t.test('listener', async (t) => {
    await push(t, port, 'bravo', 'b1');
    const events = await new Events(t, port, 'listener/me?sync=wire').opened();
    const player = new Player(port, '/bravo?metaid=me');
    t.teardown(() => player.close());
    await events.has(1, 8000);
    await push(t, port, 'bravo', 'b2', '&tracktype=next');
    await events.has(2);
    t.same(events.songs, ['now b1', 'next b2']);
    const [first] = events.seen;
    t.match(first!.id, new RegExp(`^wire\\.${first!.record.session}~0\\.$`));
    const again = await (await resume('listener/me?sync=wire', first!.id)).has(1);
    t.same(again.songs, ['next b2'], 'what was heard is not sent again');
    const seen = await resume('listener/me?sync=wire', events.lastId);
    await push(t, port, 'bravo', 'b3', '&tracktype=next');
    await seen.has(1);
    t.same(seen.songs, ['next b3']);
    const otherTiming = await (await resume('listener/me', events.lastId)).has(1);
    t.match(otherTiming.songs[0], 'next b3');
    player.close();
  });

  await t.test('listener: what was corrected meanwhile has the same position, and is sent', async (t) => {
    await push(t, port, 'bravo', 'tpyo', '&id=c1');
    const player = new Player(port, '/bravo?metaid=it');
    t.teardown(() => player.close());
    const polled = (sync: string) => ask(t, port, `GET /metadata/listener/it.json?sync=${sync} HTTP/1.1`);
    let song = 'tpyo';
    for (const sync of ['wire', 'audio']) {
      const events = await new Events(t, port, `listener/it?sync=${sync}`).opened();
      await until(() => events.songs.at(-1) === `now ${song}`, 15_000);
      events.close();
      song = `not a typo, ${sync}`;
      await push(t, port, 'bravo', encodeURIComponent(song), '&id=c1');
      await until(async () => (await polled(sync)).json().song === song, 8000);
      const again = await (await resume(`listener/it?sync=${sync}`, events.lastId)).has(1);
      t.same(again.songs, [`now ${song}`]);
      t.equal(again.seen[0]!.record.position, events.seen.at(-1)!.record.position);
      again.close();
    }
  });

  const watching = await new Watching(t, `${ws}/metadata/channel/zulu`).opened();
  const stopped = app.stop();
  for (const events of [early, station, none]) {
    await untilPromised(
      () => events.wire.ended,
      ENDS_MS,
      () => 'the stream goes on',
    );
  }
  t.equal(await watching.ends(), 1001);
  await stopped;
});

t.test('who is refused, and what is only asked', async (t) => {
  const { app, port, ws } = await startServer(t, yaml('limits: { watchers: 4, watchersPerAddress: 3 }'));
  const paths = ['channel/none', 'channel/zulu.json', 'station/zulu', 'listener/a%20b', 'nothing/zulu', 'channel/', ''];
  for (const path of [...paths, `listener/${'m'.repeat(129)}`]) {
    const answer = await ask(t, port, `GET /metadata/sse/${path} HTTP/1.1`);
    t.equal(answer.status, 404, path);
    t.equal(answer.headers.get('content-type'), 'application/problem+json; charset=utf-8');
    t.equal(answer.headers.get('access-control-allow-origin'), '*');
  }
  t.equal((await ask(t, port, 'GET /metadata/sse/listener/x?sync=later HTTP/1.1')).status, 422);
  t.equal((await ask(t, app.ports[1]!, 'GET /metadata/sse/channel/zulu HTTP/1.1')).status, 404, 'no role watch');
  const post = await ask(t, port, 'POST /metadata/sse/channel/zulu HTTP/1.1\nContent-Length: 0');
  t.same([post.status, post.headers.get('allow')], [405, 'GET, HEAD, OPTIONS']);
  const head = await ask(t, port, 'HEAD /metadata/sse/channel/zulu HTTP/1.1');
  t.same([head.status, head.headers.get('content-type'), head.body], [200, 'text/event-stream', '']);
  const options = await ask(t, port, 'OPTIONS /metadata/sse/channel/zulu HTTP/1.1');
  t.equal(options.status, 204);
  t.match(options.headers.get('access-control-allow-headers'), /Last-Event-ID/);

  const first = await new Events(t, port, 'listener/waits').opened();
  await new Events(t, port, 'listener/waits').opened();
  await new Watching(t, `${ws}/metadata/channel/zulu`).opened();
  const busy = await ask(t, port, 'GET /metadata/sse/channel/zulu HTTP/1.1');
  t.equal(busy.status, 503, 'WebSocket and SSE share a limit');
  t.match(busy.headers.get('retry-after'), /^\d+$/);
  first.close();
  let again: Events | undefined;
  await until(() => {
    if (again === undefined || again.status === 503) again = new Events(t, port, 'channel/zulu');
    return again.status === 200;
  }, 3000);
});

t.test('a comment now and then; slow readers', async (t) => {
  const { port } = await startServer(t, yaml(`${FREE}\nwatch: { pingSeconds: 0.5, drainSeconds: 5 }`));
  const quick = await new Events(t, port, 'station/house').opened();
  await until(() => quick.comments >= 2, 4000);
  const stuck = await new Events(t, port, 'channel/alpha').opened();
  const slow = await new Events(t, port, 'station/house').opened();
  const peers = [stuck, slow].map(({ wire }) => peerOf(wire.socket));
  for (const { wire } of [stuck, slow]) wire.socket.pause();
  let count = 0;
  let most = 0;
  const bigs = async () => {
    const requests = Array.from({ length: BATCH }, () => {
      const body = JSON.stringify({
        song: `s${++count}`,
        artist: '',
        duration: 0,
        extdata: { x: 'x'.repeat(BIG_BYTES) },
      });
      const head = 'POST /metapush/alpha/demo-token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
      return `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
    });
    const wire = new Wire(t, port).send(requests.join(''));
    await wire.take(BATCH);
    wire.socket.destroy();
    most = Math.max(most, ...peers.map((peer) => peer.writableLength));
  };
  while (peers.some((peer) => peer.writableLength < 65_536)) {
    if (count > 3000) throw new Error('the buffers never fill');
    await bigs();
  }
  await bigs();
  await push(t, port, 'zulu', 'side');
  await push(t, port, 'alpha', 'last');
  t.ok(most < 65_536 + BIG_BYTES + 1000, `at most ${most} bytes waited`);
  slow.wire.socket.resume();
  await until(() => slow.songs.includes('now last'), 10_000);
  t.same(slow.songs.slice(-2), ['now side', 'now last'], 'the newest, in the order of events');
  t.equal(new Set(slow.songs).size, slow.songs.length);
  t.ok(slow.seen.length < count, 'what was skipped never comes');
  await until(
    () => peers[0]!.destroyed,
    15_000,
    () => 'who takes nothing still lives',
  );
  t.equal(peers[1]!.destroyed, false);
});

t.test("a browser's EventSource, over a restart", { skip }, async (t) => {
  // Not a port that the system gives out: while the server is away, an outgoing connection could take it or the next.
  const fixed = yaml(FREE, await freePort());
  let server = await startServer(t, fixed);
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
  t.teardown(() => browser.close());
  const page = await browser.newPage();
  await push(t, server.port, 'zulu', 'one');
  await page.evaluate((url) => {
    const w = globalThis as unknown as { songs: string[]; EventSource: new (url: string) => { onmessage: unknown } };
    w.songs = [];
    new w.EventSource(url).onmessage = (event: { data: string }) => w.songs.push(JSON.parse(event.data).song);
  }, `${server.base}/metadata/sse/station/house`);
  const songs = () => page.evaluate(() => (globalThis as unknown as { songs: string[] }).songs);
  const has = (song: string) =>
    until(
      async () => (await songs()).includes(song),
      15_000,
      () => `${song} is not there`,
    );
  await has('one');
  await push(t, server.port, 'alpha', 'two');
  await has('two');
  await server.app.stop();
  server = await startServer(t, fixed, server.folder);
  await push(t, server.port, 'zulu', 'three');
  await has('three');
  t.same(await songs(), ['one', 'two', 'three'], 'from another origin; each once, though the connection broke');
});
