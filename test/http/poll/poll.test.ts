/** Polling on the whole server: the record, its caching and CORS, the three scopes, and what is refused. */

import t, { type Test } from 'tap';
import { isNextBlock } from '../../kit/icy.js';
import { Player } from '../../kit/player.js';
import { DEMO_AUDIO, startServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';
import { type Answer, ask, Wire } from '../../kit/wire.js';

// They wait more than they compute.
t.jobs = 4;

const FILE = `sources: [{ type: file, path: ${DEMO_AUDIO} }]`;
const YAML = `
addresses: [{ host: 127.0.0.1, port: 0 }]
streams: { burstSeconds: 3, lagSeconds: 8 } # so short that a burst is in time alone
sessions: { keepSeconds: 2 }
stations:
  house:
    timezone: Europe/Zurich
    channels:
      zulu: { name: 'Zulu "1"', pushTokens: [demo-token], ${FILE} }
      alpha: { bitrateKbps: 128, mounts: [/alpha.mp3], pushTokens: [demo-token], ${FILE} }
      mute: { pushTokens: [demo-token], ${FILE} }
  empty: { channels: { void: { sources: [{ type: encoder, password: demo-source }] } } }
`;
const KEYS = [
  'rawdata userplayout channel session position marker id mount channelkey timestamp artist song station start duration',
  'start_timestamp type etype isrc asin cover album images extdata source time code timezone separator',
]
  .join(' ')
  .split(' ');
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const get = (t: Test, port: number, path: string, headers = '') => ask(t, port, `GET ${path} HTTP/1.1${headers}`);

async function push(t: Test, port: number, channel: string, record: object | string): Promise<void> {
  const body = typeof record === 'string' ? record : JSON.stringify({ artist: '', duration: 0, ...record });
  const bytes = Buffer.from(body);
  const head = `POST /metapush/${channel}/demo-token HTTP/1.1\nContent-Type: application/json\nContent-Length: ${bytes.length}`;
  const answer = await ask(t, port, head, bytes);
  if (answer.status !== 200) throw new Error(answer.body);
}

function isReadable(t: Test, answer: Answer): void {
  t.equal(answer.headers.get('access-control-allow-origin'), '*');
  t.match(answer.headers.get('access-control-expose-headers'), /ETag/);
}

function isProblem(t: Test, answer: Answer, status: number, field?: string): void {
  t.equal(answer.status, status, answer.body);
  t.equal(answer.headers.get('content-type'), 'application/problem+json; charset=utf-8');
  t.equal(answer.json().status, status);
  isReadable(t, answer);
  if (field !== undefined) t.equal(answer.json().errors[0].field, field);
}

const { port } = await startServer(t, YAML);
await push(t, port, 'alpha', { song: 'Plain' });

t.test('channel and station', async (t) => {
  const channel = '/metadata/channel/zulu';

  t.test('before anything was pushed', async (t) => {
    for (const path of [`${channel}.json`, `${channel}.txt`, `${channel}.json?type=next`]) {
      const answer = await get(t, port, path, '\nIf-None-Match: *');
      t.equal(answer.status, 204, path);
      t.notOk(answer.headers.has('etag'));
      t.equal(answer.headers.get('cache-control'), 'public, max-age=1');
      isReadable(t, answer);
    }
    const empty = await get(t, port, '/metadata/station/empty.json');
    t.equal(empty.status, 200);
    t.equal(empty.body, '[]');
    t.equal((await get(t, port, '/metadata/station/house.json?type=next')).body, '[]');
  });

  t.test('every member, in order, of the right type', async (t) => {
    const extdata = '{"z":1.0,"a":12345678901234567890,"b":[null,{"\\u00e9":"x  y"}],"2":true,"1":false}';
    const images = '{"large":{"url":"https://x/l.jpg","w":1.50},"other":1}';
    await push(
      t,
      port,
      'zulu',
      `{"song":"S\\"ong","artist":"Ärt","duration":12.7,"id":"n1","time":"2025-01-02T03:04:05-03:30","separator":" / ","etype":1008,
        "isrc":"CH1","album":"Al","timezone":"UTC+1", "extdata": ${extdata.replaceAll(',', ' ,\n ')}, "images":${images}}`,
    );
    const answer = await get(t, port, `${channel}.json`);
    t.equal(answer.status, 200);
    t.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
    t.equal(answer.headers.get('content-length'), String(Buffer.byteLength(answer.body)));
    t.equal(answer.headers.get('cache-control'), 'public, max-age=1');
    t.match(answer.headers.get('etag'), /^"[A-Za-z0-9_-]+"$/);
    isReadable(t, answer);
    t.same(Object.keys(answer.json()), KEYS);
    t.same(answer.json(), {
      rawdata: 'Ärt / S"ong',
      userplayout: false,
      channel: 'Zulu "1"',
      session: '',
      position: '',
      marker: '',
      id: 'n1',
      mount: '',
      channelkey: 'zulu',
      timestamp: '2025-01-02T06:34:05Z',
      artist: 'Ärt',
      song: 'S"ong',
      station: 'house',
      start: '02.01.2025 07:34:05',
      duration: 12,
      start_timestamp: 1735799645,
      type: 'now',
      etype: 1008,
      isrc: 'CH1',
      asin: '',
      cover: 'https://x/l.jpg',
      album: 'Al',
      images: JSON.parse(images),
      extdata: JSON.parse(extdata),
      source: 'metapush',
      time: '2025-01-02T06:34:05Z',
      code: 'zulu',
      timezone: 'UTC+1',
      separator: ' / ',
    });
    t.ok(answer.body.includes(`"images":${images},"extdata":${extdata},`), 'passed on untouched');

    const plain = (await get(t, port, '/metadata/channel/alpha.json')).json();
    t.same(Object.keys(plain), KEYS);
    t.match(plain, {
      channel: 'alpha',
      images: null,
      extdata: null,
      cover: '',
      timezone: 'UTC',
      separator: ' - ',
      duration: 0,
    });
  });

  t.test('text', async (t) => {
    const answer = await get(t, port, `${channel}.txt`);
    t.equal(answer.body, 'Ärt / S"ong\n');
    t.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8');
    isReadable(t, answer);
    t.equal((await get(t, port, `${channel}.txt?type=next`)).status, 204);
    isProblem(t, await get(t, port, '/metadata/station/house.txt'), 404);
    isProblem(t, await get(t, port, '/metadata/listener/abc.txt'), 404);
  });

  t.test('next', async (t) => {
    await push(t, port, 'zulu', { song: 'Soon', tracktype: 'next', time: '2099-01-01T00:00:00Z' });
    t.match((await get(t, port, `${channel}.json?type=next`)).json(), {
      song: 'Soon',
      type: 'next',
      time: '2099-01-01T00:00:00Z',
    });
    t.equal((await get(t, port, `${channel}.txt?type=next`)).body, 'Soon\n');
    t.equal((await get(t, port, `${channel}.json?type=now`)).json().type, 'now');
    t.equal((await get(t, port, `${channel}.json`)).json().type, 'now');
  });

  t.test('station: configured order, now, next, all', async (t) => {
    const list = async (query: string) => {
      const records = (await get(t, port, `/metadata/station/house.json${query}`)).json();
      return records.map((record: { channelkey: string; type: string }) => `${record.channelkey} ${record.type}`);
    };
    t.same(await list(''), ['zulu now', 'alpha now']);
    t.same(await list('?type=now'), ['zulu now', 'alpha now']);
    t.same(await list('?type=next'), ['zulu next']);
    t.same((await list('?type=all')).sort(), ['alpha now', 'zulu next', 'zulu now']);
    t.equal((await list('?type=all')).at(-1), 'alpha now');
    const one = (await get(t, port, '/metadata/station/house.json')).json()[0];
    t.same(one, (await get(t, port, `${channel}.json`)).json(), 'the same record');
    t.equal((await get(t, port, '/metadata/station/house.json')).headers.get('cache-control'), 'public, max-age=1');
  });

  t.test('ETag and If-None-Match', async (t) => {
    for (const path of [`${channel}.json`, `${channel}.txt`, '/metadata/station/house.json']) {
      const etag = (await get(t, port, path)).headers.get('etag')!;
      for (const headers of [
        etag,
        `W/${etag}`,
        '*',
        `"x", ${etag}`,
        `"x",W/${etag} ,"y"`,
        `"x"\nIf-None-Match: ${etag}`,
      ]) {
        const answer = await get(t, port, path, `\nIf-None-Match: ${headers}`);
        t.equal(answer.status, 304, `${path} ${headers}`);
        t.equal(answer.body, '');
        t.equal(answer.headers.get('etag'), etag);
        t.equal(answer.headers.get('cache-control'), 'public, max-age=1');
        isReadable(t, answer);
      }
      for (const headers of ['"x"', etag.slice(1, -1), etag.toLowerCase() === etag ? '"y"' : etag.toLowerCase(), '']) {
        t.equal((await get(t, port, path, `\nIf-None-Match: ${headers}`)).status, 200, `${path} ${headers}`);
      }
    }
    const before = (await get(t, port, `${channel}.json`)).headers.get('etag');
    await push(t, port, 'zulu', { song: 'Another' });
    const after = await get(t, port, `${channel}.json`, `\nIf-None-Match: ${before}`);
    t.equal(after.status, 200);
    t.not(after.headers.get('etag'), before);
  });

  t.test('HEAD, OPTIONS and other methods', async (t) => {
    for (const path of [
      `${channel}.json`,
      `${channel}.txt`,
      '/metadata/station/house.json',
      '/metadata/channel/none.json',
      channel,
    ]) {
      const got = await get(t, port, path);
      const wire = new Wire(t, port).send(
        `HEAD ${path} HTTP/1.1\r\nHost: x\r\n\r\nHEAD ${path} HTTP/1.1\r\nHost: x\r\n\r\n`,
      );
      const [head] = await wire.take(2, 5000, 2);
      t.equal(head!.status, got.status, path);
      for (const name of ['content-type', 'content-length', 'etag', 'cache-control', 'access-control-allow-origin']) {
        t.equal(head!.headers.get(name), got.headers.get(name), `${path} ${name}`);
      }
      const options = await ask(
        t,
        port,
        `OPTIONS ${path} HTTP/1.1\nOrigin: https://page.example\nAccess-Control-Request-Method: GET`,
      );
      t.equal(options.status, 204);
      t.equal(options.headers.get('access-control-allow-origin'), '*');
      t.match(options.headers.get('access-control-allow-methods'), /\bGET\b/);
      t.match(options.headers.get('access-control-allow-headers'), /If-None-Match/i);
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
        const answer = await ask(t, port, `${method} ${path} HTTP/1.1\nContent-Length: 2`, '{}');
        isProblem(t, answer, 405);
        t.equal(answer.headers.get('allow'), 'GET, HEAD, OPTIONS');
      }
    }
  });

  t.test('what is refused', async (t) => {
    const unknown = [
      'channel/none.json',
      'channel/none.txt',
      'channel/none',
      'station/none.json',
      'station/zulu.json',
      'station/none',
      'channel/house.json',
      'channel/.json',
      'channel/zulu.xml',
      'channel/zulu.json/',
      'channel/zulu.JSON',
      'channel/ZULU.json',
      'channel/zulu%2Fjson',
      'channel/zulu%252ejson',
      'channel/__proto__.json',
      'channel/constructor.json',
      `channel/${'k'.repeat(64)}.json`,
      `channel/${'k'.repeat(65)}.json`,
      `channel/${'k'.repeat(5000)}.json`,
      'channel/../channel/zulu.json',
      'channel//zulu.json',
      'channel',
      '',
      'listener/.json',
      'listener/nobody.json',
      'listener/no%20body.json',
      'listener/no+body.json',
      `listener/${'m'.repeat(128)}.json`,
      `listener/${'m'.repeat(129)}.json`,
      'history/zulu.json',
    ];
    for (const path of unknown) isProblem(t, await get(t, port, `/metadata/${path}`), 404);
    for (const path of ['channel/zulu', 'station/house', 'listener/anything.goes~1']) {
      const answer = await get(t, port, `/metadata/${path}`);
      isProblem(t, answer, 426);
      t.equal(answer.headers.get('upgrade'), 'websocket');
      t.match(answer.headers.get('connection'), /upgrade/i);
    }
    for (const type of ['all', 'later', '', 'NOW'])
      isProblem(t, await get(t, port, `${channel}.json?type=${type}`), 422, 'type');
    isProblem(t, await get(t, port, '/metadata/station/house.json?type=both'), 422, 'type');
    t.equal(
      (await get(t, port, `${channel}.json?unknown=1&_=123`)).status,
      200,
      "unknown parameters are nobody's business",
    );
  });

  t.test('a path with letters and signs that need not be percent-encoded is the same', async (t) => {
    const same = await get(t, port, `${channel}.json`);
    const answer = await get(t, port, '/metadata/channel/%7a%75lu.json');
    t.same([answer.status, answer.headers.get('etag')], [200, same.headers.get('etag')]);
    const history = await get(t, port, `${channel.replace('zulu', '%7Aulu')}/history.json`);
    t.equal(history.body, (await get(t, port, `${channel}/history.json`)).body);
    t.equal((await get(t, port, '/metadata/station/hous%65.json')).status, 200);
  });

  t.test('on one connection, also pipelined', async (t) => {
    const wire = new Wire(t, port).send(
      ['channel/zulu.json', 'channel/none.json', 'channel/zulu.txt', 'station/house.json']
        .map((path) => `GET /metadata/${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
        .join(''),
    );
    t.same(
      (await wire.take(4)).map((answer) => answer.status),
      [200, 404, 200, 200],
    );
  });
});

t.test('listener', async (t) => {
  // Of its own: what it pushes is not for the records that the others look at.
  const { port } = await startServer(t, YAML);
  await push(t, port, 'alpha', { song: 'Plain' });
  // A burst is what lies between written and heard.
  const seconds = /^airsplice_audio_seconds_total\{channel="alpha"\} ([2-9])/m;
  await until(async () => seconds.test((await get(t, port, '/metrics')).body), 10_000);
  const metaid = 'Aa0._~-x';
  const path = `/metadata/listener/${metaid}.json`;
  isProblem(t, await get(t, port, path), 404);

  const unsaid = new Player(port, '/mute?metaid=silent');
  t.teardown(() => unsaid.close());
  const player = new Player(port, `/alpha.mp3?x=1&metaid=${metaid}`);
  t.teardown(() => player.close());
  await Promise.all([player.until((p) => p.audioBytes > 0), unsaid.until((p) => p.audioBytes > 0)]);

  const none = await get(t, port, '/metadata/listener/silent.json');
  t.equal(none.status, 204, 'it has heard no title yet');
  t.equal(none.headers.get('cache-control'), 'private, no-cache');
  isReadable(t, none);

  const read = async (query: string) => {
    const answer = await get(t, port, path + query);
    return answer.status === 200 ? answer.json() : null;
  };
  const wait = async (query: string, song: string) => {
    const isThere = async () => (await read(query))?.song === song;
    await until(isThere, 15_000, () => `${query}: ${song} did not come`);
    return performance.now();
  };
  await wait('', 'Plain');
  const first = await get(t, port, path);
  t.equal(first.status, 200, first.body);
  t.equal(first.headers.get('cache-control'), 'private, no-cache');
  isReadable(t, first);
  t.same(Object.keys(first.json()), KEYS);
  t.match(first.json(), { song: 'Plain', position: /^\d+$/, mount: '/alpha.mp3', session: UUID, channelkey: 'alpha' });
  const etag = first.headers.get('etag');
  t.equal((await get(t, port, path, `\nIf-None-Match: ${etag}`)).status, 304);
  t.equal((await get(t, port, `${path}?type=next`)).status, 204);
  t.equal((await get(t, port, path.replace(metaid, 'Aa0%2E%5F%7e%2Dx'))).body, first.body, 'percent-encoded');

  const pushedMs = performance.now();
  await push(t, port, 'alpha', { song: 'Second', artist: 'Band' });
  await push(t, port, 'alpha', { song: 'Soon', tracktype: 'next' });
  t.match((await get(t, port, `${path}?type=next`)).json(), {
    song: 'Soon',
    position: '',
    session: first.json().session,
  });
  isProblem(t, await get(t, port, `${path}?type=all`), 422, 'type');
  isProblem(t, await get(t, port, `${path}?sync=later`), 422, 'sync');

  let heard = '';
  const isWritten = async () => {
    const [written, audio] = await Promise.all([read('?sync=wire'), read('')]);
    heard = audio.song;
    return written.song === 'Second';
  };
  await until(isWritten, 15_000);
  t.equal(heard, 'Plain', 'written, but not heard yet');
  const heardMs = await wait('?sync=audio', 'Second');
  // A machine that is busy reads late: only what is measured from the push cannot become less by that.
  t.ok(heardMs - pushedMs > 1000, `heard ${Math.round(heardMs - pushedMs)} ms after it was pushed`);
  await player.until((p) => p.titles.some(({ title }) => title === 'Band - Second'));
  const wire = await read('?sync=wire');
  t.same(await read(''), wire);
  t.equal(wire.session, first.json().session);
  const { atByte } = player.titles.find(({ title }) => title === 'Band - Second')!;
  isNextBlock(t, Number(wire.position), atByte, player.metaint);

  const leftMs = performance.now();
  player.close();
  await until(() => player.closed, 5000);
  t.same(await read(''), wire, 'it can be read for a while after');
  await until(
    async () => (await get(t, port, path)).status === 404,
    15_000,
    () => 'the session was not forgotten',
    50,
  );
  t.ok(performance.now() - leftMs > 1950, 'but not less than keepSeconds');

  // It begins in the segment that has the burst behind it.
  await until(() => performance.now() - pushedMs > 7000, 10_000);
  const again = new Player(port, `/alpha?sabcsid=${metaid}`);
  t.teardown(() => again.close());
  await again.until((p) => p.audioBytes > 0);
  t.match(await read(''), { song: 'Second', position: '0', mount: '/alpha' }, 'in force at the first byte');
  t.not((await read('')).session, wire.session, 'another connection, another session');
});
