/** Pushes that are refused, on the whole server: every status, and nothing of the push applied. */

import t, { type Test } from 'tap';
import { FULL, get, isProblem, now, PATH, post, YAML } from '../kit/http-push.js';
import { startServer } from '../kit/server.js';
import { ask, Wire } from '../kit/wire.js';

t.test('what is refused', async (t) => {
  const { port } = await startServer(t, YAML);
  await get(t, port, '?song=Before');
  const untouched = async (t: Test) => t.equal((await now(t, port)).song, 'Before', 'nothing was applied');

  t.test('403: one and the same answer, before the body is read', async (t) => {
    const answers = [
      await ask(t, port, 'GET /metapush/demo/wrong?song=x HTTP/1.1'),
      await ask(t, port, 'GET /metapush/nobody/demo-token?song=x HTTP/1.1'),
      await ask(t, port, 'GET /metapush/quiet/demo-token?song=x HTTP/1.1'),
      await ask(t, port, 'GET /metapush/demo/DEMO-TOKEN?song=%zz HTTP/1.1'),
      await ask(t, port, 'GET /metapush/demo/demo-token%00 HTTP/1.1'),
      await ask(t, port, 'GET /metapush/__proto__/demo-token HTTP/1.1'),
      await ask(t, port, `GET /metapush/${'k'.repeat(300)}/demo-token HTTP/1.1`),
      await ask(t, port, `GET /metapush/demo/${'k'.repeat(3000)} HTTP/1.1`),
      await post(t, port, FULL, 'application/json', '/metapush/demo/wrong'),
      await post(t, port, '{', 'text/html', '/metapush/demo/wrong'),
      await post(t, port, '', '', '/metapush/demo/wrong'),
      await post(t, port, Buffer.alloc(10_000_000, 'x'), 'text/plain', '/metapush/nobody/wrong'),
      await post(t, port, Buffer.alloc(10_000_000, 'x'), 'application/json', '/metapush/demo/wrong'),
    ];
    for (const answer of answers) {
      isProblem(t, answer, 403);
      t.equal(answer.body, answers[0]!.body);
      t.equal(answer.headers.get('content-length'), answers[0]!.headers.get('content-length'));
    }
    // Before the body: the answer comes although none of it was sent.
    const wire = new Wire(t, port).send(
      'POST /metapush/demo/no HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n',
    );
    t.equal((await wire.take(1))[0]!.status, 403);
    await untouched(t);
  });

  t.test('400: what cannot be read', async (t) => {
    isProblem(t, await get(t, port, '?song=%zz&artist=%C3%28'), 400, ['artist']);
    const latin = await get(t, port, '?song=Caf%E9&tracktype=later');
    isProblem(t, latin, 400, ['song', 'tracktype']);
    t.match(latin.body, 'encoding=windows');
    for (const body of ['{', '', 'song=x', '{"song":"x",}', Buffer.from([0x7b, 0xff]), '\u0000']) {
      isProblem(t, await post(t, port, body), 400);
    }
    isProblem(t, await ask(t, port, 'GET /metapush/demo/%zz HTTP/1.1'), 400);
    const bare = await get(t, port, '?song=Caf\xe9');
    isProblem(t, bare, 400, ['song']);
    t.match(bare.body, 'encoding=windows', 'a raw byte of Windows-1252 is one that is not UTF-8');
    const form = 'multipart/form-data; boundary=x';
    for (const body of [
      '',
      FULL,
      '--x',
      '--x\r\n\r\nx\r\n--x--',
      '--x\r\nContent-Disposition: form-data; name=song\r\n\r\nx',
    ]) {
      isProblem(t, await post(t, port, body, form), 400);
    }
    isProblem(t, await post(t, port, 'song=%E4', 'application/x-www-form-urlencoded'), 400, ['song']);
    await untouched(t);
  });

  t.test('404: paths that are none', async (t) => {
    const paths = ['/metapush', `${PATH}/more`, '/metaPush/demo/demo-token', '/x//metapush/demo/demo-token'];
    for (const path of paths) isProblem(t, await ask(t, port, `GET ${path}?song=x HTTP/1.1`), 404);
    // An empty key or token: nobody's.
    for (const path of ['/metapush/', '/metapush//demo-token', '/metapush/demo/']) {
      isProblem(t, await ask(t, port, `GET ${path}?song=x HTTP/1.1`), 403);
    }
    await untouched(t);
  });

  t.test('405 with Allow, and a link checker does not push', async (t) => {
    for (const method of ['HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await ask(t, port, `${method} ${PATH}?song=x HTTP/1.1\nContent-Length: 0`);
      t.equal(answer.headers.get('allow'), 'GET, POST', method);
      if (method === 'HEAD') t.equal(answer.status, 405);
      else isProblem(t, answer, 405);
    }
    await untouched(t);
  });

  t.test('413: at each limit and one past it', async (t) => {
    const body = (length: number) => {
      const start = JSON.stringify({ ...FULL, song: 'Before' }).slice(0, -1);
      return `${start},"pad":"${'x'.repeat(length - start.length - 10)}"}`;
    };
    const whole = await post(t, port, body(65_536));
    t.equal(whole.status, 200, whole.body);
    isProblem(t, await post(t, port, body(65_537)), 413);
    isProblem(t, await post(t, port, Buffer.alloc(10_000_000, ' ')), 413);
    const chunked = new Wire(t, port).send(
      `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    for (let i = 0; i < 9; i++) chunked.send(`2000\r\n${' '.repeat(8192)}\r\n`);
    isProblem(t, (await chunked.take(1))[0]!, 413);

    for (const field of ['song', 'artist', 'album', 'id', 'isrc', 'separator']) {
      t.equal((await post(t, port, { ...FULL, [field]: 'é'.repeat(512) })).status, 200, `${field} at the limit`);
      isProblem(t, await post(t, port, { ...FULL, [field]: `${'é'.repeat(512)}x` }), 413, [field]);
    }
    t.equal((await get(t, port, `?song=${'x'.repeat(1024)}`)).json().song.length, 1024);
    isProblem(t, await get(t, port, `?song=${'x'.repeat(1025)}`), 413, ['song']);
    isProblem(t, await get(t, port, `?song=${'x'.repeat(5000)}&artist=${'%C3%A9'.repeat(2000)}&etype=7`), 413, [
      'song',
      'artist',
      'etype',
    ]);
    isProblem(t, await post(t, port, { ...FULL, song: 'x'.repeat(5000) }), 413, ['song']);
    t.equal((await post(t, port, { ...FULL, cover: `https://x/${'c'.repeat(4086)}` })).status, 200);
    isProblem(t, await post(t, port, { ...FULL, cover: `https://x/${'c'.repeat(4087)}` }), 413, ['cover']);
    isProblem(t, await post(t, port, { ...FULL, extdata: { x: 'x'.repeat(16_384) } }), 413, ['extdata']);
    await post(t, port, { ...FULL, song: 'Before' });
  });

  t.test('415: other content types', async (t) => {
    for (const type of [
      '',
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/jsonx',
      'application/ld+json',
      'x',
      'multipart/form-data',
    ]) {
      isProblem(t, await post(t, port, FULL, type), 415);
    }
    await untouched(t);
  });

  t.test('422: every bad field at once', async (t) => {
    isProblem(t, await post(t, port, {}), 422, ['song', 'artist', 'duration']);
    isProblem(t, await post(t, port, []), 422);
    isProblem(t, await post(t, port, 'null'), 422);
    const bad = {
      song: 1,
      artist: {},
      duration: -1,
      time: 'now',
      etype: 7,
      tracktype: 'later',
      images: [],
      extdata: 'x',
      cover: 7,
    };
    isProblem(t, await post(t, port, bad), 422, Object.keys(bad));
    isProblem(t, await get(t, port, '?duration=x&time=later&strict=1&etype=-1&tracktype=later&encoding=klingon'), 422, [
      'duration',
      'time',
      'etype',
      'tracktype',
      'encoding',
    ]);
    isProblem(t, await get(t, port, '?song=false&artist=false'), 422, ['song', 'artist']);
    isProblem(t, await get(t, port, '?sing=x&Duration=9&artits=y'), 422, ['sing', 'artits']);
    isProblem(t, await post(t, port, 'sing=x', 'application/x-www-form-urlencoded'), 422, ['sing']);
    t.match((await post(t, port, { ...FULL, etype: 2 })).body, /1001 \(Music 1\)/);
    await untouched(t);
  });

  t.test('431: a head that is too long, however much of it comes', async (t) => {
    t.equal((await get(t, port, `?pad=${'x'.repeat(31_000)}&song=Before`)).status, 200);
    isProblem(t, await get(t, port, `?song=Before&pad=${'\xe4'.repeat(31_000)}`), 431);
    isProblem(t, await get(t, port, `?song=Before&pad=${' '.repeat(3_000_000)}`), 431);
    for (const length of [33_000, 3_000_000]) {
      const answer = await get(t, port, `?song=${'x'.repeat(length)}`);
      isProblem(t, answer, 431);
    }
    // One that reads only when it has sent all: a connection that was reset would have taken the answer with it.
    const late = new Wire(t, port);
    late.socket.pause();
    const sent = new Promise((done) => late.socket.write(`GET ${PATH}?song=${'x'.repeat(3_000_000)}`, done));
    await sent;
    late.socket.resume();
    isProblem(t, (await late.take(1))[0]!, 431);
    isProblem(t, await ask(t, port, `GET ${PATH}?song=x HTTP/1.1\nX-Pad: ${'x'.repeat(33_000)}`), 431);
    isProblem(t, await ask(t, port, `GET ${PATH}?song=not a request line`), 400);
    await untouched(t);
  });
});
