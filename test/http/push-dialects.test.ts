/** Pushes as playout programs really send them, on the whole server: request lines that are no HTTP, forms, and what is said of what was left out. */

import t, { type Test } from 'tap';
import { FULL, get, isProblem, now, PATH, post, YAML } from '../kit/http-push.js';
import { keepLines } from '../kit/log-lines.js';
import { startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { arrived, Wire } from '../kit/wire.js';

const FORM = 'application/x-www-form-urlencoded';

/** A push whose request line is sent as it stands here, a character a byte. */
async function line(t: Test, port: number, text: string, headers = 'Host: x\r\n', body = '') {
  const wire = new Wire(t, port).send(`${text} HTTP/1.1\r\n${headers}\r\n${body}`);
  return (await wire.take(1))[0]!;
}

const utf8 = (text: string) => Buffer.from(text).toString('latin1');

t.test('request lines', async (t) => {
  const { port } = await startServer(t, YAML);
  const table: readonly [string, string, string][] = [
    [
      `GET ${PATH}?artist=Sigur R\xf3s&song=Hopp\xedpolla \x93live\x94&encoding=Windows-1252`,
      'Sigur Rós',
      'Hoppípolla “live”',
    ],
    [utf8(`GET ${PATH}?artist=Sigur Rós&song=Hoppípolla 🎵`), 'Sigur Rós', 'Hoppípolla 🎵'],
    [`GET ${PATH}?artist=100%&song=50 % off%2`, '100%', '50 % off%2'],
    [`GET ${PATH}?artist=Prince&song=Song #1 ?`, 'Prince', 'Song #1 ?'],
    [`GET ${PATH}/?artist=slash&song=at the end`, 'slash', 'at the end'],
    [`GET //metapush//demo///demo-token//?artist=slashes&song=a//b/`, 'slashes', 'a//b/'],
    [`GET ${PATH}?artist=HTTP/1.1&song=GET HTTP/1.0 `, 'HTTP/1.1', 'GET HTTP/1.0'],
    [`GET ${PATH}?TITLE=R%u00f3s&Artist=%u20AC`, '€', 'Rós'],
    [`POST ${PATH}?artist=in the&song=address`, 'in the', 'address'],
  ];
  for (const [text, artist, song] of table) {
    const answer = await line(t, port, text);
    t.match([answer.status, answer.json()], [200, { artist, song }], text);
    t.match(await now(t, port), { artist, song });
    const isRaw = / .*[^\x21-\x7e]/.test(text);
    t.equal(answer.headers.get('connection') === 'close', isRaw, 'behind a line that is no HTTP there is no request');
  }
  isProblem(t, await line(t, port, `GET ${PATH}?song=Caf\xe9`), 400, ['song']);
  isProblem(t, await line(t, port, 'GET /metapush/demo/wrong token?song=x'), 403);
});

t.test('a line in pieces, and one behind a request that was exact', async (t) => {
  const { port } = await startServer(t, YAML);
  const pieces = new Wire(t, port);
  for (const byte of utf8(`GET ${PATH}?song=Jóga  1 HTTP/1.1\r\nHost: x\r\n\r\n`)) {
    pieces.send(byte);
    await new Promise((done) => setImmediate(done));
  }
  t.equal((await pieces.take(1))[0]!.json().song, 'Jóga  1');
  await pieces.untilClosed();

  const wire = new Wire(t, port).send(`GET ${PATH}?song=exact HTTP/1.1\r\nHost: x\r\n\r\n`);
  t.equal((await wire.take(1))[0]!.json().song, 'exact');
  await arrived(wire.socket);
  const body = JSON.stringify({ ...FULL, song: 'with a body' });
  wire.send(
    `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n` +
      `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  );
  t.equal((await wire.take(2))[1]!.json().song, 'with a body');
  // And one more behind it in the same packet: it is not looked at.
  wire.send(
    utf8(`GET ${PATH}?song=nöt exact HTTP/1.1\r\nHost: x\r\n\r\nGET ${PATH}?song=more HTTP/1.1\r\nHost: x\r\n\r\n`),
  );
  t.equal((await wire.take(3))[2]!.json().song, 'nöt exact');
  await wire.untilClosed();
  t.equal(wire.answers().length, 3);
  t.equal((await now(t, port)).song, 'nöt exact');
});

t.test('a body that holds a request line is not touched', async (t) => {
  const { port } = await startServer(t, YAML);
  const song = `GET /metapush/a b HTTP/1.1\r\n\xe4`;
  const answer = await post(t, port, Buffer.from(`song=${song}&encoding=windows`, 'latin1'), FORM);
  t.equal(answer.json().song, 'GET /metapush/a b HTTP/1.1 ä');
});

t.test('forms, with the rules of GET', async (t) => {
  const { port } = await startServer(t, YAML);
  const form = await post(t, port, 'Title=R%26B+%C3%A4&artist=A&duration=3:23&foo=1', FORM);
  t.match(form.json(), { song: 'R&B ä', artist: 'A', duration: 203 }, form.body);
  t.equal(form.headers.get('airsplice-ignored'), 'foo');
  t.match(
    (
      await post(
        t,
        port,
        Buffer.from('song=J\xf3ga&encoding=latin1\r\n', 'latin1'),
        `${FORM}; charset=x`,
        `${PATH}?artist=B&song=no`,
      )
    ).json(),
    {
      song: 'Jóga',
      artist: 'B',
    },
  );
  // The last byte of each is a blank in Latin-1.
  for (const song of ['Et voilà', 'СССР', '丠 ', 'Ѡ\r\n']) {
    t.match((await post(t, port, `artist=A&song=${song}`, FORM)).json(), { song: song.trim() }, song);
  }
  t.match((await post(t, port, '', FORM, `${PATH}?artist=empty&song=body`)).json(), { artist: 'empty' });
  t.match((await post(t, port, '', 'application/json', `${PATH}?artist=no&song=JSON`)).json(), { artist: 'no' });
  t.equal((await post(t, port, '', FORM)).status, 200, 'it clears, as a GET without parameters does');

  const parts = (fields: Record<string, string>, headers = '') =>
    `${Object.entries(fields)
      .map(([name, value]) => `--b 1\r\nContent-Disposition: form-data; name="${name}"\r\n${headers}\r\n${value}\r\n`)
      .join('')}--b 1--\r\n`;
  const type = 'multipart/form-data; boundary="b 1"';
  const read = async (body: string) => (await post(t, port, Buffer.from(body, 'latin1'), type, `${PATH}?id=x`)).json();
  t.match(await read(parts({ ARTIST: utf8('Björk'), song: '100%2B & 50%', etype: '1001' })), {
    artist: 'Björk',
    song: '100%2B & 50%',
    id: 'x',
    etype: 1001,
  });
  t.match(await read(parts({ artist: 'Bj\xf6rk', song: 'J\xf3ga', encoding: 'Windows' })), {
    artist: 'Björk',
    song: 'Jóga',
  });
  const quoted = 'Content-Type: text/plain; charset=windows-1252\r\nContent-Transfer-Encoding: quoted-printable\r\n';
  t.match(await read(parts({ artist: 'Bj=F6rk', song: 'J=F3=\r\nga' }, quoted)), { artist: 'Björk', song: 'Jóga' });
  // Of a charset that is none it is UTF-8, and the answer names it.
  for (const [charset, ignored] of [
    ['koi8-r', undefined],
    ['UTF_8', undefined],
    ['martian', 'song.charset'],
  ] as const) {
    const body = Buffer.from(parts({ song: 'Yoga' }, `Content-Type: text/plain; charset=${charset}\r\n`));
    const { status, headers } = await post(t, port, body, type);
    t.same([status, headers.get('airsplice-ignored')], [200, ignored], charset);
  }

  const martian = (fields: Record<string, string>) =>
    post(t, port, Buffer.from(parts(fields, 'Content-Type: text/plain; charset=martian\r\n'), 'latin1'), type);
  const known = await martian({ song: utf8('Jóga'), foo: '' });
  t.match([known.status, known.json().song], [200, 'Jóga']);
  t.equal(known.headers.get('airsplice-ignored'), 'foo, song.charset, foo.charset');
  isProblem(t, await martian({ song: 'Joga', strict: '1' }), 422, ['song.charset', 'strict.charset']);
  const bytes = await martian({ artist: 'x', song: 'J\xf3ga' });
  isProblem(t, bytes, 400, ['song']);
  t.match(bytes.json().errors[0].message, /unknown charset/);

  // At the limit of parameters and one past it, those of the address counted.
  const many = (count: number) => parts(Object.fromEntries(Array.from({ length: count }, (_, i) => [`x${i}`, ''])));
  const song = '--b 1\r\nContent-Disposition: form-data; name=song\r\n\r\nmany\r\n';
  t.equal((await read(song + many(62))).song, 'many');
  isProblem(t, await post(t, port, song + many(63), type, `${PATH}?id=x`), 400);
  isProblem(t, await post(t, port, Buffer.alloc(65_537, 'x'), type), 413);
  isProblem(t, await post(t, port, Buffer.alloc(65_537, 'x'), FORM), 413);
});

t.test('what is left out is named in the head, counted, and logged once a minute for each channel', async (t) => {
  const { log, lines } = keepLines();
  const { port, base } = await startServer(t, YAML, tempFolder(t), log);
  const answer = await get(t, port, '?song=s&duration=long&time=today&foo=1&B%C3%A4r%0D%0AX:%20y=2');
  t.equal(answer.status, 200);
  t.equal(answer.headers.get('airsplice-ignored'), 'foo, b%C3%A4r%20x%3A%20y, time, duration');
  t.match(answer.json(), { song: 's', duration: 0 });
  isProblem(t, await get(t, port, '?song=s&duration=long&strict=1'), 422, ['duration']);
  const names = Array.from({ length: 30 }, (_, i) => `n${i}`);
  const list = (await get(t, port, `?song=t&${names.join('&')}`)).headers.get('airsplice-ignored')!;
  t.equal(list, names.slice(0, 20).join(', '));
  const json = await post(t, port, FULL, 'application/json', `${PATH}?song=x`);
  t.match([json.headers.get('airsplice-ignored'), json.json().song], ['song', 'Song'], 'a JSON body is all there is');
  t.notOk((await post(t, port, { ...FULL, unknown: 1 })).headers.has('airsplice-ignored'));
  const metrics = await (await fetch(`${base}/metrics`)).text();
  t.match(metrics, /^airsplice_pushes_ignoring_total\{channel="demo"\} 3$/m);
  t.match(
    lines.filter(({ message }) => message.startsWith('fields of pushes')),
    [{ level: 'warn', channel: 'demo', pushes: 1, fields: 'foo, bär x: y, time, duration' }],
  );
});

t.test('entities are decoded, once, where the channel says so', async (t) => {
  const { port } = await startServer(t, YAML.replace('name: Demo Channel', 'pushDecodesEntities: true'));
  const body = { ...FULL, song: 'Rock &amp; Roll &amp;lt; R&B', artist: '&eacute;&#8364;&#x0;', album: '&quot;' };
  t.match((await post(t, port, body)).json(), { song: 'Rock & Roll &lt; R&B', artist: 'é€\ufffd', album: '"' });
  t.match((await get(t, port, '?song=Rock+%26amp%3B+Roll')).json(), { song: 'Rock & Roll' });
  const { port: plain } = await startServer(t, YAML);
  t.match((await get(t, plain, '?song=Rock+%26amp%3B+Roll')).json(), { song: 'Rock &amp; Roll' });
});

t.test('a next whose start has long passed is accepted, and no reader gets it', async (t) => {
  const { port } = await startServer(t, YAML);
  const next = async () => {
    const answer = await line(t, port, 'GET /metadata/channel/demo.json?type=next');
    return answer.status === 204 ? null : answer.json().song;
  };
  const seconds = Math.floor(Date.now() / 1000);
  t.match((await get(t, port, `?song=old&tracktype=next&time=${seconds - 61}`)).json(), { song: 'old', type: 'next' });
  t.equal(await next(), null);
  await get(t, port, `?song=new&tracktype=next&time=${seconds - 30}`);
  t.equal(await next(), 'new');
  t.equal((await get(t, port, `?song=old&tracktype=next&time=${seconds - 3600}`)).status, 200);
  t.equal(await next(), 'new', 'what was next stays');
  t.equal((await get(t, port, `?song=new&tracktype=next&time=${seconds - 3600}`)).status, 200);
  t.equal(await next(), null, 'unless it is this very one');
});
