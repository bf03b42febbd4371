/** Pushing over HTTP, on the whole server: the answer, and every form in which a push may come. */

import t from 'tap';
import { FIELDS, FULL, get, isProblem, now, PATH, post, YAML } from '../kit/http-push.js';
import { startServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { arrived, ask, Wire } from '../kit/wire.js';

t.test('the answer of GET and POST is the same record of 17 fields', async (t) => {
  const { port } = await startServer(t, YAML);
  const answer = await get(
    t,
    port,
    '?song=S%C3%B6ng+%2B&artist=Arti%27st&duration=200.9&time=1795178248&tracktype=now&etype=1003&id=x7&isrc=CH123&separator=%20%2F%20',
  );
  t.equal(answer.status, 200, answer.body);
  t.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
  t.equal(answer.headers.get('cache-control'), 'no-store');
  t.notOk(
    [...answer.headers.keys()].some((name) => name.startsWith('access-control')),
    'no CORS',
  );
  t.notOk(answer.headers.has('etag'));
  t.same(Object.keys(answer.json()), FIELDS);
  const { start_timestamp: startS } = answer.json();
  t.ok(startS <= 1795178248, 'a future now carries the moment of arrival');
  t.match(answer.json(), {
    duration: 200,
    song: 'Söng +',
    artist: "Arti'st",
    code: 'demo',
    channelkey: 'demo',
    channel: 'demo',
    timezone: 'UTC',
    id: 'x7',
    userplayout: false,
    separator: ' / ',
    etype: 1003,
    album: '',
    type: 'now',
    isrc: 'CH123',
  });

  const posted = await post(t, port, {
    id: '',
    time: '2025-06-01T14:00:00.250+02:00',
    duration: '12',
    song: 'Tag \\ "x" \u0007',
    artist: 'é',
    cover: 'https://x/c.jpg',
    images: { small: { url: 'https://x/s.jpg' } },
    album: 'A',
    timezone: 'Europe/Zurich',
    separator: '',
    etype: 104,
    tracktype: 'next',
    isrc: '',
    extdata: { a: [1.0, { b: null }] },
    unknown: { member: true },
  });
  t.equal(posted.status, 200, posted.body);
  t.same(Object.keys(posted.json()), FIELDS);
  t.match(posted.json(), {
    time: '2025-06-01T12:00:00Z',
    start: '01.06.2025 14:00:00',
    start_timestamp: 1748779200,
    duration: 12,
    song: 'Tag \\ "x"',
    artist: 'é',
    timezone: 'Europe/Zurich',
    separator: ' - ',
    etype: 104,
    album: 'A',
    type: 'next',
  });
  t.match(posted.json().id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);

  t.test('GET without parameters clears the title', async (t) => {
    for (const query of ['', '?', '?&&', '?song=&artist=']) {
      const cleared = await get(t, port, query);
      t.equal(cleared.status, 200, query);
      t.match(cleared.json(), { song: '', artist: '', type: 'now', duration: 0, etype: 0, isrc: '' });
      t.match(await now(t, port), { rawdata: '', song: '', id: cleared.json().id });
    }
  });

  t.test('texts in any form come out as they were meant', async (t) => {
    t.equal((await get(t, port, '?encoding=windows&song=%93Caf%E9%94+%80&artist=B%F6%2Bx')).json().song, '“Café” €');
    const plain = await get(t, port, '?song=Cafe%CC%81&song=Cafe%CC%81+2');
    t.equal(plain.json().song, 'Café 2', 'NFC, and of a repeated parameter the last');
    const escaped = await post(
      t,
      port,
      '{"song":"\\u00e9\\u0000\\ud83c\\udfb5\\ud800","artist":"\\u0041\\n","duration":0}',
    );
    t.match(escaped.json(), { song: 'é🎵\ufffd', artist: 'A' }, '\\u escapes');
    t.match(await now(t, port), { rawdata: 'A - é🎵\ufffd' });
    t.equal((await post(t, port, { ...FULL, song: 'charset' }, 'application/json; charset=UTF-8')).status, 200);
    t.equal((await post(t, port, { ...FULL, song: 'case' }, 'Application/JSON')).status, 200);
    t.match((await get(t, port, '?song=false&artist=A')).json(), { song: '', artist: 'A' });
    t.equal((await get(t, port, '?song=0&seperator=%3A')).json().separator, ':');
  });

  t.test('the answer to another content type says which one it should be', async (t) => {
    // The last is what curl -d says of JSON by itself.
    for (const type of ['', 'text/plain', 'text/json', 'application/jsonx', 'application/x-www-form-urlencoded']) {
      const answer = await post(t, port, FULL, type);
      isProblem(t, answer, 415);
      t.match(answer.json().detail, /application\/json/, type);
    }
    isProblem(t, await ask(t, port, `POST ${PATH} HTTP/1.1\nContent-Type: application/json`), 400);
  });

  t.test('both tokens of a channel push', async (t) => {
    t.equal((await ask(t, port, 'GET /metapush/demo/second%20token%2F%C3%BC?song=x HTTP/1.1')).status, 200);
    t.equal((await ask(t, port, 'GET /metapush/demo/second%20token%2Fu?song=x HTTP/1.1')).status, 403);
  });

  t.test('HTTP/1.0, and a Java client that offers h2c, push as well', async (t) => {
    const old = new Wire(t, port).send(`GET ${PATH}?song=old HTTP/1.0\r\n\r\n`);
    t.equal((await old.take(1))[0]!.json().song, 'old');
    const body = JSON.stringify({ ...FULL, song: 'java' });
    const java = new Wire(t, port).send(
      `POST ${PATH} HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nContent-Length: ${body.length}\r\nHost: x\r\n` +
        `HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\nUpgrade: h2c\r\nContent-Type: application/json\r\n\r\n`,
    );
    await arrived(java.socket);
    java.send(body);
    t.equal((await java.take(1))[0]!.json().song, 'java');
    java.send(`GET /metadata/channel/demo.txt HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n`);
    t.equal((await java.take(2))[1]!.body, 'Artist - java\n', 'its connection goes on');
  });
});

t.test('a body that waits for 100, comes slowly, or in chunks', async (t) => {
  const { port } = await startServer(t, YAML);
  const body = JSON.stringify({ ...FULL, song: 'Expected' });
  const head = `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
  const wire = new Wire(t, port).send(`${head}Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`);
  t.equal((await wire.take(1))[0]!.status, 100);
  wire.send(body);
  const [, answer] = await wire.take(2);
  t.equal(answer!.status, 200);
  t.equal(answer!.json().song, 'Expected');

  const pieces = new Wire(t, port);
  for (const byte of `${head}Content-Length: ${body.length}\r\n\r\n${body}`) {
    pieces.send(byte);
    await new Promise((done) => setImmediate(done));
  }
  t.equal((await pieces.take(1))[0]!.status, 200, 'byte by byte');
  const chunked = new Wire(t, port).send(`${head}Transfer-Encoding: chunked\r\n\r\n5\r\n${body.slice(0, 5)}\r\n`);
  chunked.send(`${(body.length - 5).toString(16)}\r\n${body.slice(5)}\r\n0\r\n\r\n`);
  t.equal((await chunked.take(1))[0]!.status, 200, 'chunked');
  t.equal((await now(t, port)).song, 'Expected');

  const half = new Wire(t, port).send(`${head}Content-Length: ${body.length}\r\n\r\n${body.slice(0, 20)}`);
  await until(() => half.socket.bytesWritten > 100, 1000);
  half.socket.destroy();
  t.equal((await get(t, port, '?song=After')).json().song, 'After', 'one that was broken off applies nothing');
});

t.test('the time from push to socket counts pushes that were written to readers, no others', async (t) => {
  const { port, base } = await startServer(t, YAML);
  const count = async () => {
    const metrics = await (await fetch(`${base}/metrics`)).text();
    return Number(/^airsplice_push_to_socket_seconds_count (\d+)$/m.exec(metrics)![1]);
  };
  const at = Math.floor(Date.now() / 1000);
  t.equal((await get(t, port, '?song=First')).status, 200);
  t.equal(await count(), 1);
  t.equal((await get(t, port, `?song=Held&time=${at + 60}`)).status, 200);
  t.equal((await now(t, port)).song, 'First');
  t.equal(await count(), 1, 'it waits for its time');
  t.equal((await get(t, port, '?song=First')).status, 200);
  t.equal(await count(), 1, 'it repeats');
  t.equal((await get(t, port, '?song=Second&tracktype=next')).status, 200);
  t.equal((await get(t, port, '?song=Second')).status, 200);
  t.equal(await count(), 3);
});
