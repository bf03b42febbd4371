/** A station of many channels: start, polling with compression and tags, first messages that a reader may leave lying, one message a change. */

import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import t from 'tap';
import { preferred } from '../../src/http/compression.js';
import { Events } from '../kit/events.js';
import { startServer, WORKERS } from '../kit/server.js';
import { until } from '../kit/until.js';
import { ask, peerOf, Watching, Wire } from '../kit/wire.js';

const COUNT = 1000;
/** One whose title changes, and a message behind which a connection is cut: somewhere in the middle. */
const CHANGED = COUNT / 2;
const CUT = Math.floor(COUNT * 0.777);
/** Not in the order of the alphabet. */
const KEYS = Array.from({ length: COUNT }, (_, n) => `c${(n * 7919) % COUNT}`);
const YAML = `
addresses: [{ host: 127.0.0.1, port: 0 }]
limits: { pushesPerMinute: 1000000, pushBurst: 1000000 }
stations:
  small: { channels: { lone: { pushTokens: [demo-token], sources: [{ type: encoder, password: demo-source }] } } }
  big:
    channels:
${KEYS.map((key) => `      ${key}: { pushTokens: [demo-token], sources: [{ type: encoder, password: demo-source }] }`).join('\n')}
`;

t.test('Accept-Encoding', async (t) => {
  for (const [accept, coding] of [
    [undefined, null],
    ['', null],
    ['gzip', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['gzip;q=1.0, br;q=0.5', 'gzip'],
    ['br;q=0, *', 'gzip'],
    ['*;q=0', null],
    ['identity;q=1, gzip;q=0.1', null],
    ['GZIP ; q=0.2', 'gzip'],
    ['gzip;q=x', null],
    ['deflate, zstd', null],
  ] as const) {
    t.equal(preferred(accept), coding, String(accept));
  }
});

t.test(`a station of ${COUNT} channels`, async (t) => {
  const startMs = performance.now();
  const { port, ws } = await startServer(t, YAML);
  t.comment(`started in ${Math.round(performance.now() - startMs)} ms`);
  const lines: string[] = [];
  for (const key of KEYS) {
    lines.push(`GET /metapush/${key}/demo-token?song=${key}&id=${key} HTTP/1.1\r\nHost: x\r\n\r\n`);
    lines.push(`GET /metapush/${key}/demo-token?song=n${key}&tracktype=next HTTP/1.1\r\nHost: x\r\n\r\n`);
  }
  const pusher = new Wire(t, port).send(lines.join(''));
  const answered = () => pusher.got.split('HTTP/1.1 200').length - 1;
  await until(
    () => answered() === 2 * COUNT,
    30_000,
    () => `${answered()} pushed`,
  );
  const url = 'GET /metadata/station/big.json';

  t.test('polling', async (t) => {
    const get = async (query: string, headers = '') => {
      const wire = new Wire(t, port).send(`${url}${query} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
      const [answer] = await wire.take(1);
      wire.socket.destroy();
      // What the wire's kit has read as UTF-8 is not what was sent: the bytes behind the head are.
      const bytes = Buffer.from(wire.got.slice(wire.got.indexOf('\r\n\r\n') + 4), 'latin1');
      return { ...answer!, bytes };
    };
    const plain = await get('?type=all');
    t.equal(plain.headers.get('vary'), 'Accept-Encoding');
    t.notOk(plain.headers.has('content-encoding'));
    t.same(
      JSON.parse(plain.bytes.toString()).map((record: { song: string }) => record.song),
      KEYS.flatMap((key) => [key, `n${key}`]),
      'in configured order',
    );
    const tags = new Set([plain.headers.get('etag')]);
    for (const [coding, decode] of [
      ['gzip', gunzipSync],
      ['br', brotliDecompressSync],
    ] as const) {
      const coded = await get('?type=all', `Accept-Encoding: ${coding}\r\n`);
      t.equal(coded.headers.get('content-encoding'), coding);
      t.equal(coded.headers.get('vary'), 'Accept-Encoding');
      t.equal(Number(coded.headers.get('content-length')), coded.bytes.length);
      t.ok(coded.bytes.length < plain.bytes.length / 5, `${coding}: ${coded.bytes.length} of ${plain.bytes.length}`);
      t.ok(decode(coded.bytes).equals(plain.bytes));
      const tag = coded.headers.get('etag')!;
      tags.add(tag);
      const same = await get('?type=all', `Accept-Encoding: ${coding}\r\nIf-None-Match: ${tag}\r\n`);
      t.same([same.status, same.headers.get('etag'), same.headers.get('vary')], [304, tag, 'Accept-Encoding']);
      t.equal((await get('?type=all', `If-None-Match: ${tag}\r\n`)).status, 200, "another coding's tag is no match");
      const head = await ask(t, port, `HEAD /metadata/station/big.json?type=all HTTP/1.1\nAccept-Encoding: ${coding}`);
      t.same(
        [head.status, head.headers.get('content-length'), head.headers.get('etag'), head.body],
        [200, String(coded.bytes.length), tag, ''],
      );
    }
    t.equal(tags.size, 3, 'each coding has its own tag');
    for (const path of ['/metadata/station/small.json', `/metadata/channel/${KEYS[0]}.json`]) {
      const small = await ask(t, port, `GET ${path} HTTP/1.1\nAccept-Encoding: gzip, br`);
      t.notOk(small.headers.has('content-encoding'), `${path} is too small`);
    }
    const before = (await get('')).headers.get('etag');
    await ask(t, port, `GET /metapush/${KEYS[CHANGED]}/demo-token?song=changed HTTP/1.1`);
    const after = await get('');
    t.not(after.headers.get('etag'), before);
    t.equal(JSON.parse(after.bytes.toString())[CHANGED].song, 'changed', 'made anew after a change');
  });

  t.test('first messages, and one message a change', async (t) => {
    const expected = KEYS.flatMap((key, n) => [`next n${key}`, `now ${n === CHANGED ? 'changed' : key}`]);
    const reader = await new Watching(t, `${ws}/metadata/station/big`).opened();
    const events = await new Events(t, port, 'station/big').opened();
    await reader.has(2 * COUNT);
    await events.has(2 * COUNT);
    t.same(reader.songs, expected);
    t.same(events.songs, expected);

    // Cut off in the middle: the rest, and nothing twice.
    const cut = events.seen[CUT]!.id;
    const rest = await new Events(t, port, 'station/big', `Last-Event-ID: ${cut}\r\n`).has(2 * COUNT - CUT - 1);
    t.same(rest.songs, expected.slice(CUT + 1));
    t.ok(cut.length < 60, `an id stays short: ${cut}`);

    await ask(t, port, `GET /metapush/${KEYS[3]}/demo-token?song=fresh&id=f HTTP/1.1`);
    for (const watching of [reader, events]) await until(() => watching.songs.at(-1) === 'now fresh', 2000);
    t.equal(reader.records.length, 2 * COUNT + 1);
    t.equal(events.seen.length, 2 * COUNT + 1);
  });

  const isOutside = WORKERS > 0 && 'looks into the process: what waits there for a reader';
  t.test('a reader that does not read holds next to nothing', { skip: isOutside }, async (t) => {
    const wire = new Wire(t, port, { halfOpen: true });
    wire.socket.pause();
    wire.send('GET /metadata/sse/station/big HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => peerOf(wire.socket)?.bytesWritten > 0, 2000);
    const peer = peerOf(wire.socket);
    t.ok(peer.writableLength < 65_536 + 2000, `${peer.writableLength} bytes wait`);
    wire.socket.resume();
    await until(() => wire.got.split('data: ').length - 1 === 2 * COUNT, 5000);
  });
});
