/** Encoders' own titles over HTTP, as their programs send them. Real server, bare sockets. */

import { createHash } from 'node:crypto';
import t, { type Test } from 'tap';
import { retryLater } from '../../../src/base/refusal.js';
import type { EncoderMount } from '../../../src/channel/mount.js';
import { TitleUpdates } from '../../../src/http/ingest/title-updates.js';
import { Proxies } from '../../../src/net/front/client-address.js';
import { SecretGate } from '../../../src/net/limits/secret-gate.js';
import { ADMIN_LOGIN, ADMIN_USERS } from '../../kit/admin-client.js';
import { FakeClock } from '../../kit/clock.js';
import { costRatio } from '../../kit/cost.js';
import { roomyTable } from '../../kit/front-harness.js';
import { feed } from '../../kit/icecast.js';
import { keepLines } from '../../kit/log-lines.js';
import { opusLink } from '../../kit/made-ogg.js';
import { startRouted } from '../../kit/routed.js';
import { DEMO_AUDIO, demoYaml, startServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';
import { arrived, ask, Watching, Wire } from '../../kit/wire.js';

// They wait more than they compute.
t.jobs = 4;

const CHANNELS = `
      twin: { mounts: [/twin.mp3], sources: [{ type: encoder, titlesWhileAway: true, password: demo-source }] }
      own: { sources: [{ type: encoder, titlesWhileAway: true, user: dj, password: relay-token }, { type: file, path: ${DEMO_AUDIO} }] }
      deaf: { titlesFrom: [metapush, upstream], sources: [{ type: encoder, titlesWhileAway: true, password: demo-token }] }
`;
const basic = (user: string, password: string) =>
  `Authorization: Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const STUDIO = basic('source', 'demo-source');
const TAKEN =
  '<?xml version="1.0"?>\n<iceresponse><message>Metadata update successful</message><return>1</return></iceresponse>\n';

async function now(base: string, channel: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${base}/metadata/channel/${channel}.json`);
  return response.status === 204 ? {} : ((await response.json()) as Record<string, unknown>);
}

/** A title sent to the studio with these parameters; the record it became. */
async function titleOf(t: Test, server: { port: number; base: string }, query: string, body?: string | Buffer) {
  const answer =
    body === undefined
      ? await ask(t, server.port, `GET /admin/metadata?mount=/studio.mp3&mode=updinfo&${query} HTTP/1.0\n${STUDIO}`)
      : await ask(
          t,
          server.port,
          `POST /admin/metadata?${query} HTTP/1.1\n${STUDIO}\nContent-Type: application/x-www-form-urlencoded\nContent-Length: ${body.length}`,
          body,
        );
  t.equal(answer.status, 200, query);
  return now(server.base, 'studio');
}

t.test('/admin/metadata', async (t) => {
  const server = await startServer(t, demoYaml(CHANNELS));
  const { port, base, ws } = server;

  await t.test('the title takes effect, and the answer is Icecast’s', async (t) => {
    const watching = new Watching(t, `${ws}/metadata/channel/studio`);
    await until(() => watching.open, 5000);
    const wire = new Wire(t, port);
    wire.send(`GET /admin/metadata?mount=/studio.mp3&mode=updinfo&song=A+%2D+B%26C HTTP/1.0\r\n${STUDIO}\r\n\r\n`);
    const [answer] = await wire.take(1);
    t.equal(answer!.status, 200);
    t.equal(answer!.body, TAKEN);
    t.match(answer!.headers.get('content-type'), /^text\/xml/);
    await wire.untilClosed();
    t.match(await now(base, 'studio'), { artist: 'A', song: 'B&C', source: 'encoder', etype: 0, duration: 0 });
    await until(() => watching.records.length > 0, 3000);
    t.match(watching.records[0], { rawdata: 'A - B&C', source: 'encoder' });
  });

  await t.test('which fields make the title', async (t) => {
    const table: readonly [string, string, string][] = [
      ['artist=X&title=Y&song=ignored', 'X', 'Y'],
      ['artist=X+-+Z&title=Y', 'X - Z', 'Y'],
      ['artist=X&title=&song=S', '', 'S'],
      ['artist=&title=Y&song=A+-+S', 'A', 'S'],
      ['artist=&title=Only', '', 'Only'],
      ['song=one&song=last', '', 'last'],
      ['song=a%00b%0Ac', '', 'ab c'],
      ['artist=A&title=A+-+One', 'A', 'One'],
      ['artist=BJ%C3%96RK&title=Bj%C3%B6rk+%E2%80%93+J%C3%B3ga', 'BJÖRK', 'Jóga'],
      ['artist=A&title=A', 'A', 'A'],
      ['artist=A&title=AB+-+Two', 'A', 'AB - Two'],
      ['artist=A&title=A+-+', 'A', 'A -'],
      ['song=+-+Three%0D%0A', '', 'Three'],
      ['song=%EF%BB%BF+A%C2%A0+-+Four%09%E2%80%8B', 'A', 'Four'],
      ['artist=%25artist%25&title=Five', '', 'Five'],
      ['artist=%a&title=%t&song=A+-+Six', 'A', 'Six'],
      ['song=$artist$+-+Seven', '', 'Seven'],
      ['artist=Eight&title=', 'Eight', ''],
      ['artist=Nine&title=%t', 'Nine', ''],
    ];
    for (const [query, artist, song] of table) {
      const record = await titleOf(t, server, query);
      t.strictSame([record['artist'], record['song']], [artist, song], query);
    }
    t.match(await titleOf(t, server, 'song='), { rawdata: '', source: 'encoder' }, 'an empty title clears');
  });

  await t.test('what was not taken is named, and clears no title', async (t) => {
    const send = (query: string) =>
      ask(t, port, `GET /admin/metadata?mount=/studio.mp3&mode=updinfo&${query} HTTP/1.0\n${STUDIO}`);
    await send('song=Real');
    const table: readonly [string, string, string][] = [
      ['song=%a+-+%t', 'song', 'Real'],
      ['artist=$artist$&title=$title$&charset=martian', 'charset, artist, title', 'Real'],
      ['song=More&charset=hex', 'charset', 'More'],
    ];
    for (const [query, ignored, title] of table) {
      const answer = await send(query);
      t.strictSame([answer.status, answer.headers.get('airsplice-ignored')], [200, ignored], query);
      t.match(await now(base, 'studio'), { rawdata: title });
    }
    for (const query of ['', 'url=https://x/cover.jpg', 'songs=Misspelt'])
      t.match([(await send(query)).status, await now(base, 'studio')], [200, { rawdata: 'More', cover: '' }], query);
    t.notOk((await send('song=Last&charset=UTF-8')).headers.has('airsplice-ignored'));
  });

  await t.test('charsets', async (t) => {
    const table: readonly [string, string][] = [
      ['song=Mot%C3%B6rhead', 'Motörhead'],
      ['song=Mot%F6rhead', 'Motörhead'],
      ['song=%80+%93x%94', '€ “x”'],
      ['charset=UTF-8&song=%E2%82%AC', '€'],
      ['charset=UTF-8&song=Mot%F6rhead3', 'Motörhead3'],
      ['charset=utf8&song=%E2%82%AC+Caf%C3', '€ Caf'],
      ['charset=iso-8859-2&song=%B3%F3d%BC', 'łódź'],
      ['charset=windows-1251&song=%CA%E8%ED%EE', 'Кино'],
      ['charset=martian&song=Mot%F6rhead2', 'Motörhead2'],
    ];
    for (const [query, song] of table) t.match(await titleOf(t, server, query), { song }, query);
  });

  await t.test('album, as Liquidsoap sends it', async (t) => {
    const sent =
      'charset=UTF-8&title=J%C3%B3ga&artist=Bj%C3%B6rk&song=Bj%C3%B6rk%20%2D%20J%C3%B3ga&album=Homog%C3%A9nic%20';
    t.match(await titleOf(t, server, sent), { artist: 'Björk', song: 'Jóga', album: 'Homogénic' });
    t.match(await titleOf(t, server, 'song=A+-+One&album=B'), { artist: 'A', song: 'One', album: 'B' });
    t.match(await titleOf(t, server, 'artist=A&title=Two'), { song: 'Two', album: '' }, 'of that title only');
    const unfilled = await titleOf(t, server, 'song=A+-+Three&album=%25album%25');
    t.match(unfilled, { song: 'Three', album: '' });
    t.match(await titleOf(t, server, 'song=&album=%25album%25'), { rawdata: '', album: '' }, 'the title is cleared');
    t.match(await titleOf(t, server, `song=Four&album=${'x'.repeat(2000)}`), { album: 'x'.repeat(1024) });
  });

  await t.test('url: an image is the cover, a page is none', async (t) => {
    const at = (url: string) => titleOf(t, server, `song=${Math.random()}&url=${encodeURIComponent(url)}`);
    t.match(await at('https://img.example/a.JPG?x=1'), { cover: 'https://img.example/a.JPG?x=1' });
    for (const url of ['https://station.example/', 'javascript:a.png', `https://a/${'x'.repeat(4100)}.png`]) {
      t.match(await at(url), { cover: '' }, url.slice(0, 40));
    }
  });

  await t.test('url: the cover of a title may come later', async (t) => {
    const first = await titleOf(t, server, 'song=late+cover');
    const then = await titleOf(t, server, 'song=late+cover&url=https://img.example/1.jpg');
    t.match(then, { song: 'late cover', cover: 'https://img.example/1.jpg', id: first['id'] });
    t.match(await titleOf(t, server, 'song=late+cover'), { cover: 'https://img.example/1.jpg', id: first['id'] });
  });

  await t.test('a form: its fields count more than those of the query', async (t) => {
    const form = (body: string | Buffer) => titleOf(t, server, 'mode=updinfo&song=query', body);
    t.match(await form('mount=%2Fstudio.mp3&song=F%C3%B6rm\r\n'), { song: 'Förm' });
    t.match(await form(Buffer.from('mount=/studio.mp3&song=F\xf6rm2', 'latin1')), { song: 'Förm2' });
    t.match(await form('mount=/studio.mp3&song=Et voilà\r\n'), { song: 'Et voilà' });
  });

  await t.test('texts are cut at the limit, a form larger than its limit is refused', async (t) => {
    t.equal((await titleOf(t, server, `song=${'x'.repeat(1024)}`))['song'], 'x'.repeat(1024));
    t.equal((await titleOf(t, server, `song=y${'x'.repeat(1024)}`))['song'], `y${'x'.repeat(1023)}`);
    t.equal((await titleOf(t, server, `artist=${'%C3%A9'.repeat(513)}&title=t`))['artist'], 'é'.repeat(512));
    const fill = (bytes: number) => {
      const body = 'mount=/studio.mp3&mode=updinfo&song=big&x=';
      return body + 'x'.repeat(bytes - body.length);
    };
    t.match(await titleOf(t, server, '', fill(65_535)), { song: 'big' }, 'with the & between: 65,536');
    const headers = `POST /admin/metadata HTTP/1.1\n${STUDIO}\nContent-Length: 65537`;
    t.equal((await ask(t, port, headers, fill(65_537))).status, 413);
  });

  await t.test('the sender hangs up without reading the answer', async (t) => {
    for (const [n, headers] of [`GET /admin/metadata?mount=/studio.mp3&mode=updinfo&song=gone`, ''].entries()) {
      const wire = new Wire(t, port);
      const body = 'mount=/studio.mp3&mode=updinfo&song=gone1';
      wire.send(
        headers === ''
          ? `POST /admin/metadata HTTP/1.0\r\n${STUDIO}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
          : `${headers}${n} HTTP/1.0\r\n${STUDIO}\r\nUser-Agent: butt 0.1.40\r\n\r\n`,
      );
      await until(() => wire.socket.writableLength === 0 && !wire.socket.connecting, 1000);
      wire.socket.destroy();
      let song: unknown;
      await until(() => {
        void now(base, 'studio').then((record) => (song = record['song']));
        return song === `gone${n}`;
      }, 3000);
    }
    t.pass('nothing is left of it');
  });

  await t.test('who may not', async (t) => {
    const before = await now(base, 'studio');
    const get = (query: string, login = STUDIO) => ask(t, port, `GET /admin/metadata?${query} HTTP/1.1\n${login}`);
    const ok = 'mode=updinfo&song=no';
    const none = await get(`mount=/studio.mp3&${ok}`, 'X: y');
    t.equal(none.status, 401);
    t.match(none.headers.get('www-authenticate'), /^Basic realm=/);
    t.match(none.headers.get('allow'), /\bPOST\b/);
    t.match(none.headers.get('content-type'), /^text\/plain/);
    const cases: readonly [number, string, string][] = [
      [401, `mount=/studio.mp3&${ok}`, basic('source', 'wrong')],
      [401, `mount=/studio.mp3&${ok}`, basic('dj', 'demo-source')],
      [401, `mount=/studio.mp3&${ok}`, basic('dj', 'relay-token')],
      [404, `mount=/nowhere&${ok}`, STUDIO],
      [404, `mount=/demo.mp3&${ok}`, STUDIO],
      [404, `mount=/studio.mp3/&${ok}`, STUDIO],
      [400, 'mount=/studio.mp3&song=no', STUDIO],
      [400, 'mount=/studio.mp3&mode=viewxml', STUDIO],
    ];
    for (const [status, query, login] of cases) {
      const answer = await get(query, login);
      t.equal(answer.status, status, `${query} ${login}`);
      t.notMatch(answer.body, /demo-source|relay-token|wrong$/);
    }
    for (const method of ['HEAD', 'PUT', 'DELETE']) {
      const headers = `${method} /admin/metadata?mount=/studio.mp3&${ok} HTTP/1.1\n${STUDIO}`;
      if (method !== 'PUT') t.equal((await ask(t, port, headers)).status, 405, method);
    }
    const json = `POST /admin/metadata?mount=/studio.mp3&${ok} HTTP/1.1\n${STUDIO}\nContent-Type: application/json\nContent-Length: 2`;
    t.equal((await ask(t, port, json, '{}')).status, 415);
    t.strictSame(await now(base, 'studio'), before, 'nothing was applied');
  });

  await t.test('the mount’s own user, a mount without its slash, the channel key', async (t) => {
    for (const [user, mount] of [
      ['dj', '/own'],
      ['source', 'own'],
    ] as const) {
      const path = `/admin/metadata?mount=${mount}&mode=updinfo&song=${user}`;
      t.equal((await ask(t, port, `GET ${path} HTTP/1.1\n${basic(user, 'relay-token')}`)).status, 200);
      t.match(await now(base, 'own'), { song: user });
    }
  });

  await t.test('a channel that does not take encoders’ titles says so', async (t) => {
    const path = '/admin/metadata?mount=/deaf&mode=updinfo&song=no';
    const answer = await ask(t, port, `GET ${path} HTTP/1.1\n${basic('source', 'demo-token')}`);
    t.equal(answer.status, 200);
    t.match(answer.body, /will not accept/);
    t.strictSame(await now(base, 'deaf'), {});
  });
});

t.test('the charset of a channel or of its encoder, for what names none and is not UTF-8', async (t) => {
  const server = await startServer(
    t,
    demoYaml(`
      moscow: { charset: windows-1251, sources: [{ type: encoder, titlesWhileAway: true, password: 'sha256:${sha256('moscow-secret')}' }] }
      tokyo: { charset: gbk, sources: [{ type: encoder, charset: Shift_JIS, titlesWhileAway: true, password: 'sha256:${sha256('tokyo-secret')}' }] }
`),
  );
  const table: readonly [string, string, string][] = [
    ['moscow', 'song=%CA%E8%ED%EE', 'Кино'],
    ['moscow', 'song=\xca\xe8\xed\xee+1', 'Кино 1'],
    ['moscow', 'song=%D0%9A%D0%B8%D0%BD%D0%BE+2', 'Кино 2'],
    ['moscow', 'song=%EB%C9%CE%CF+3&charset=koi8-r', 'Кино 3'],
    ['moscow', 'song=%CA%E8%ED%EE+4&charset=martian', 'Кино 4'],
    ['tokyo', 'song=%83e%83X', 'テス'],
    ['tokyo', `song=${'%83e'.repeat(400)}`, 'テ'.repeat(341)],
    ['tokyo', 'song=%83e%83X%83', 'テス'],
  ];
  for (const [channel, query, song] of table) {
    const head = `GET /admin.cgi?pass=${channel}-secret&mode=updinfo&${query} HTTP/1.0\r\n\r\n`;
    const wire = new Wire(t, server.port).send(Buffer.from(head, 'latin1'));
    t.equal((await wire.take(1))[0]!.status, 200);
    t.equal((await now(server.base, channel))['song'], song, query.slice(0, 60));
  }
  const form = Buffer.from('mode=updinfo&mount=moscow&song=\xca\xe8\xed\xee+5', 'latin1');
  const headers = `POST /admin/metadata HTTP/1.1\n${basic('source', 'moscow-secret')}\nContent-Length: ${form.length}`;
  t.equal((await ask(t, server.port, headers, form)).status, 200);
  t.match(await now(server.base, 'moscow'), { song: 'Кино 5' });
  const [source, title] = [basic('source', 'moscow-secret'), Buffer.from('TITLE=\xca\xe8\xed\xee 6', 'latin1')];
  const ogg = opusLink(7, 200, title);
  new Wire(t, server.port).send(`SOURCE /moscow HTTP/1.0\r\n${source}\r\n\r\n`).send(ogg);
  await until(async () => (await now(server.base, 'moscow'))['song'] === 'Кино 6', 10_000);
});

t.test('/admin.cgi', async (t) => {
  const { port, base } = await startServer(t, demoYaml(CHANNELS));
  const get = (query: string) => ask(t, port, `GET /admin.cgi?${query} HTTP/1.0\nUser-Agent: x (Mozilla compatible)`);
  const taken = await get('mode=updinfo&pass=relay-token&song=A%20-%20B');
  t.equal(taken.status, 200);
  t.equal(taken.body, TAKEN);
  t.match(await now(base, 'own'), { artist: 'A', song: 'B', source: 'encoder' }, 'found by its password');

  const shared = await get('mode=updinfo&pass=demo-source&song=x');
  t.equal(shared.status, 403);
  t.match(shared.body, /mount=/, 'a password of two channels: which one?');
  t.equal((await get('mode=updinfo&pass=demo-source&song=x&mount=/twin.mp3')).status, 200);
  t.match(await now(base, 'twin'), { song: 'x' });
  t.strictSame(await now(base, 'studio'), {});

  for (const [n, pass] of [
    'dj:relay-token',
    'source:relay-token',
    'relay-token:#2',
    'dj:relay-token:#1',
    '/own:relay-token',
  ].entries()) {
    t.equal((await get(`mode=updinfo&pass=${encodeURIComponent(pass)}&song=as${n}`)).status, 200, pass);
    t.match(await now(base, 'own'), { song: `as${n}` }, 'as in the first line of its audio');
  }
  t.equal((await get('mode=updinfo&pass=/twin.mp3:demo-source&song=named')).status, 200);
  t.match(await now(base, 'twin'), { song: 'named' });
  for (const pass of ['nobody:relay-token', '/own:demo-source', '!POKE', 'GET / HTTP/1.0', ':relay-token']) {
    t.equal((await get(`mode=updinfo&pass=${encodeURIComponent(pass)}&song=x`)).status, 401, pass);
  }
  t.equal((await get('mode=updinfo&pass=/none:relay-token&song=x')).status, 404);

  t.equal((await get('mode=updinfo&pass=nobodys&song=x')).status, 401);
  t.equal((await get('mode=updinfo&song=x')).status, 401);
  t.equal((await get('mode=updinfo&pass=relay-token&song=x&mount=/twin.mp3')).status, 401);
  t.equal((await get('mode=updinfo&pass=relay-token&song=x&mount=/no')).status, 404);
  const form = 'pass=relay-token&mode=updinfo&song=form';
  t.equal((await ask(t, port, `POST /admin.cgi HTTP/1.1\nContent-Length: ${form.length}`, form)).status, 200);
  t.match(await now(base, 'own'), { song: 'form' });
});

t.test('headers that HTTP does not allow, however they come; at the port for SHOUTcast too', async (t) => {
  const { port, base, app } = await startServer(t, demoYaml().replace('port: 0', 'port: 0, shoutcastPort: 0'));
  const form = 'mode=updinfo&pass=demo-source&song=f';
  const table: Record<string, readonly [string, string]> = {
    'LF alone, no Host': ['GET /admin.cgi?pass=demo-source&mode=updinfo&song=a HTTP/1.1\nUser-Agent: Mozilla\n\n', 'a'],
    'LF alone, Basic': [`\nGET /admin/metadata?mode=updinfo&mount=/studio&song=b HTTP/1.0\n${STUDIO}\n\n`, 'b'],
    'CR CR LF': [`GET /admin/metadata?mode=updinfo&mount=/studio&song=c HTTP/1.0\r\r\n${STUDIO}\r\r\n\r\r\n`, 'c'],
    'blanks and bytes as they are': [
      'GET /admin.cgi?pass=demo-source&mode=updinfo&song=d \xe9 d HTTP/1.0\r\n\r\n',
      'd é d',
    ],
    'UTF-8 as it is': ['GET /admin.cgi?pass=demo-source&mode=updinfo&song=\xc3\xa9 HTTP/1.0\r\n\r\n', 'é'],
    'a tab, a line without a name': [
      'GET /admin.cgi?pass=demo-source&mode=updinfo&song=e HTTP/1.0\r\nX: \t\r\nnothing\r\na b: c\r\n\r\n',
      'e',
    ],
    'a form': [`POST /admin.cgi HTTP/1.0\nContent-Length: ${form.length}\n\n${form}`, 'f'],
  };
  for (const at of [port, app.shoutcastPorts[0]!]) {
    for (const [name, [text, song]] of Object.entries(table)) {
      const bytes = Buffer.from(text, 'latin1');
      for (const pieces of [[bytes], Array.from(bytes, (byte) => Buffer.of(byte))]) {
        await ask(t, port, 'GET /admin.cgi?pass=demo-source&mode=updinfo&song=before HTTP/1.1');
        const wire = new Wire(t, at);
        for (const piece of pieces) {
          wire.socket.write(piece);
          await new Promise((done) => setImmediate(done));
        }
        const [answer] = await wire.take(1);
        t.equal(answer!.status, 200, name);
        t.match(await now(base, 'studio'), { song }, name);
        wire.socket.destroy();
      }
    }
  }
  const wire = new Wire(t, port);
  const get = (song: string) => `GET /admin.cgi?pass=demo-source&mode=updinfo&song=${song} HTTP/1.1\r\nHost: x\r\n\r\n`;
  wire.send(get('one') + get('two'));
  const answers = await wire.take(2);
  t.same(
    answers.map(({ status }) => status),
    [200, 200],
    'and a second one on the same connection',
  );
  t.match(await now(base, 'studio'), { song: 'two' });
});

t.test('a title’s head at its limits', async (t) => {
  const { port } = await startServer(
    t,
    `${demoYaml()}\nlimits: { httpHeadBytes: 1024, headLines: 8, headSeconds: 0.5 }\n`,
  );
  const line = 'GET /admin.cgi?pass=demo-source&mode=updinfo&song=x HTTP/1.0\n';
  const padded = (bytes: number) => `${line}X: ${'x'.repeat(bytes - line.length - 5)}\n\n`;
  const status = async (text: string) => (await new Wire(t, port).send(text).take(1))[0]!.status;
  t.equal(await status(padded(1024)), 200);
  t.equal(await status(padded(1025)), 431);
  t.equal(await status(`${line}${'a: b\n'.repeat(7)}\n`), 200);
  t.equal(await status(`${line}${'a: b\n'.repeat(8)}\n`), 431);
  t.equal(await status('GET /admin.cgi?x\n\n'), 400);
  const slow = new Wire(t, port).send(line);
  await slow.untilClosed();
});

t.test('parameters: at the limit and one past it, in the address and in a form together', async (t) => {
  const server = await startServer(t, demoYaml(CHANNELS));
  const many = (count: number) => '&x'.repeat(count);
  t.match(await titleOf(t, server, `song=at${many(61)}`), { song: 'at' });
  const path = `/admin/metadata?mount=/studio.mp3&mode=updinfo&song=past${many(62)}`;
  const past = await ask(t, server.port, `GET ${path} HTTP/1.0\n${STUDIO}`);
  t.match(past, { status: 400, body: /64 parameters/ });
  const form = `mode=updinfo&song=form&mount=/studio.mp3${many(31)}`;
  t.match(await titleOf(t, server, `a${many(29)}`, form), { song: 'form' });
  const post = `POST /admin/metadata?a${many(30)} HTTP/1.1\n${STUDIO}\nContent-Length: ${form.length}`;
  t.equal((await ask(t, server.port, post, form)).status, 400);
  const flood = `pass=relay-token${many(30_000)}`;
  t.equal((await ask(t, server.port, `POST /admin.cgi HTTP/1.1\nContent-Length: ${flood.length}`, flood)).status, 400);
});

t.test('a secret in the head is looked at before a byte of the form is waited for', async (t) => {
  const { port, base } = await startServer(t, demoYaml(CHANNELS));
  const cases: [number, string][] = [
    [401, 'POST /admin/metadata HTTP/1.1'],
    [401, `POST /admin/metadata HTTP/1.1\r\n${basic('source', 'wrong')}`],
    [401, 'POST /admin.cgi?pass=wrong HTTP/1.1'],
  ];
  for (const [status, head] of cases) {
    const wire = new Wire(t, port).send(`${head}\r\nHost: x\r\nContent-Length: 60000\r\n\r\n`);
    t.equal((await wire.take(1))[0]!.status, status, head);
    wire.socket.destroy();
  }
  // The form may name another channel than the one that the password is of.
  const form = (mount: string) => `mode=updinfo&song=form&mount=${mount}`;
  const post = (path: string, body: string, headers = 'X: y') =>
    ask(t, port, `POST ${path} HTTP/1.1\n${headers}\nContent-Length: ${body.length}`, body);
  t.equal((await post('/admin/metadata', form('/own'), STUDIO)).status, 401);
  t.equal((await post('/admin/metadata', form('/nowhere'), STUDIO)).status, 404);
  t.equal((await post('/admin.cgi?pass=relay-token', form('/twin.mp3'))).status, 401);
  t.equal((await post('/admin.cgi?pass=dj:relay-token&mount=/no', form('/own'))).status, 200, 'the form counts more');
  t.match(await now(base, 'own'), { song: 'form' });
  t.equal((await post('/admin.cgi?pass=relay-token', `pass=wrong&${form('/own')}`)).status, 200, 'but for the secret');
});

t.test('the right password of one channel is counted as a wrong one for others', async (t) => {
  const { port } = await startServer(
    t,
    `${demoYaml(CHANNELS)}\nlimits: { wrongSecretsPerMinute: 2, secretQueue: 0 }\n`,
  );
  const body = 'mode=updinfo&song=x&mount=/own';
  const post = `POST /admin/metadata HTTP/1.1\n${STUDIO}\nContent-Length: ${body.length}`;
  const statuses: number[] = [];
  for (let n = 0; n < 3; n++) statuses.push((await ask(t, port, post, body)).status);
  t.same(statuses, [401, 401, 429]);
});

t.test('who asks without a password first is no news; who has a wrong one is', async (t) => {
  const logged: [string, unknown][] = [];
  const at = (level: string) => (fields: { status?: number }) =>
    void (fields.status && logged.push([level, fields.status]));
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  const { port } = await startServer(t, demoYaml(), undefined, log as never);
  const path = '/admin/metadata?mount=/studio&mode=updinfo&song=x';
  await ask(t, port, `GET ${path} HTTP/1.0`);
  await ask(t, port, `GET ${path} HTTP/1.0\n${basic('source', 'wrong')}`);
  await ask(t, port, 'SOURCE /studio HTTP/1.0\nContent-Length: 0');
  await ask(t, port, `SOURCE /studio HTTP/1.0\n${basic('source', 'wrong')}`);
  t.strictSame(logged, [
    ['debug', 401],
    ['warn', 401],
    ['debug', 401],
    ['warn', 401],
  ]);
});

t.test('wrong passwords: past the limit titles wait for their turn, wrong or right; past the line 429', async (t) => {
  const yaml = `${demoYaml(CHANNELS)}\nlimits: { wrongSecretsPerMinute: 3, secretQueue: 2 }\n`;
  const { port } = await startServer(t, yaml);
  const get = (pass: string, wire?: Wire) =>
    ask(t, port, `GET /admin.cgi?mode=updinfo&pass=${pass}&song=x HTTP/1.1`, '', wire);
  for (let i = 0; i < 3; i++) t.equal((await get('guess')).status, 401);
  // Accepted before, and sent at once, or a slow machine takes the last ones behind the first turn, when there is a place again.
  const wires = Array.from({ length: 5 }, () => new Wire(t, port));
  await Promise.all(wires.map(({ socket }) => arrived(socket)));
  const startMs = performance.now();
  const answers = await Promise.all(wires.map((wire, i) => get(i % 2 === 0 ? 'guess' : 'relay-token', wire)));
  t.ok(performance.now() - startMs > 1800, 'two turns of a second');
  const statuses = answers.map(({ status }) => status);
  t.equal(statuses.filter((status) => status === 429).length, 3, `${statuses}`);
  for (const { status, headers } of answers) if (status === 429) t.ok(Number(headers.get('retry-after')) > 0);
  t.equal((await get('relay-token')).status, 200, 'late, and not locked out');
});

t.test('a guess costs little, however many channels there are and however long it is', async (t) => {
  let channels = '';
  for (let i = 0; i < 1000; i++)
    channels += `      c${i}: { sources: [{ type: encoder, titlesWhileAway: true, password: demo-source }] }\n`;
  const limits = 'limits: { wrongSecretsPerMinute: 10000, wrongSecretsInAllPerMinute: 10000 }';
  const { port } = await startServer(t, `${demoYaml(channels)}\n${limits}`);
  const few = await startServer(t, `${demoYaml()}\n${limits}`);
  const guesses = (at: number, length: number, mount: string) => async () => {
    const body = `mode=updinfo&song=x&pass=${'x'.repeat(length)}${mount}`;
    t.equal((await ask(t, at, `POST /admin.cgi HTTP/1.1\nContent-Length: ${body.length}`, body)).status, 401);
  };
  for (const [mount, other] of [
    ['', ''],
    ['&mount=/c5', '&mount=/studio'],
  ] as const) {
    const many = await costRatio(4, guesses(port, 60_000, mount), guesses(few.port, 60_000, other));
    t.ok(many < 4, `${mount}: ${many} times as long as where there are few channels`);
    const long = await costRatio(8, guesses(port, 60_000, mount), guesses(port, 1, mount));
    t.ok(long < 8, `${mount}: ${long} times as long as one character`);
  }
  t.equal((await ask(t, port, 'GET /admin.cgi?mode=updinfo&song=x&pass=demo-source&mount=/c999 HTTP/1.1')).status, 200);
});

t.test('a title for a mount that no encoder feeds is refused, unless the channel allows it', async (t) => {
  const source = '{ type: encoder, password: demo-source }';
  const { port, base } = await startServer(
    t,
    demoYaml(
      `      bare: { sources: [${source}] }\n      filed: { sources: [${source}, { type: file, path: ${DEMO_AUDIO} }] }\n`,
    ),
  );
  const setTitle = (mount: string, song: string) =>
    ask(t, port, `GET /admin/metadata?mode=updinfo&mount=${mount}&song=${song} HTTP/1.1\n${STUDIO}`);
  for (const mount of ['/bare', '/filed']) {
    const { status, body } = await setTitle(mount, 'early');
    t.equal(status, 400, mount);
    t.match(body, /No encoder feeds/);
  }
  const cgi = await ask(t, port, 'GET /admin.cgi?mode=updinfo&pass=demo-source&song=early&mount=/filed HTTP/1.1');
  t.equal(cgi.status, 400);
  t.strictSame(await now(base, 'filed'), {}, 'nothing was applied');
  const encoder = await feed(t, port, '/filed');
  t.equal((await setTitle('/filed', 'live')).status, 200);
  t.match(await now(base, 'filed'), { song: 'live' });
  encoder.destroy();
  await until(async () => (await setTitle('/filed', 'late')).status === 400, 5000);
  t.equal((await setTitle('/studio', 'any')).status, 200, 'titlesWhileAway');
});

t.test("a user of the admin interface, as Icecast takes its admin's login", async (t) => {
  const { log, lines } = keepLines();
  const yaml = `${demoYaml(CHANNELS)}limits: { wrongSecretsPerMinute: 6, secretQueue: 0 }\n${ADMIN_USERS}`;
  const { port, base } = await startServer(t, yaml, undefined, log);
  const query = 'mount=/studio.mp3&mode=updinfo&song=Nina+-+Sinnerman';
  const say = (login: string, at = query) => ask(t, port, `GET /admin/metadata?${at} HTTP/1.0\n${login}`);
  const acts = () => lines.filter(({ act }) => act === 'metadata');
  t.match(await say(`Authorization: ${ADMIN_LOGIN}`), { status: 200, body: TAKEN });
  t.match(await now(base, 'studio'), { artist: 'Nina', song: 'Sinnerman', source: 'encoder' });
  t.match(acts(), [
    { user: 'all', address: '127.0.0.1', mount: '/studio.mp3', song: 'Nina - Sinnerman', outcome: 'done' },
  ]);
  t.equal((await say('Authorization: Bearer may change titles', query.replace('Sinner', 'Piano'))).status, 200);
  t.match(await now(base, 'studio'), { song: 'Pianoman' });
  const form = 'mount=%2Ftwin.mp3&mode=updinfo&song=Form';
  const head = `Authorization: ${ADMIN_LOGIN}\nContent-Type: application/x-www-form-urlencoded\nContent-Length: ${form.length}`;
  t.equal((await ask(t, port, `POST /admin/metadata HTTP/1.1\n${head}`, form)).status, 200);
  t.match(await now(base, 'twin'), { song: 'Form' });
  const page = await fetch(`${base}/admin/metadata.xsl?${query}`, { headers: { Authorization: ADMIN_LOGIN } });
  t.equal(page.status, 200, "the web page's path");

  const refused = await say('Authorization: Bearer may operate');
  t.match(refused, { status: 403, body: /right titles/ });
  t.match(acts().at(-1), { user: 'operator', status: 403, outcome: 'refused', level: 'warn' });
  t.equal(lines.filter(({ status }) => status === 403).length, 1, 'one line, at the pace of all refusals');
  t.type(acts()[0]!['connection'], 'string');
  t.match(await say(`Authorization: ${ADMIN_LOGIN}`, 'mode=updinfo&song=x'), { status: 400, body: /mount=/ });
  const browser = `Authorization: ${ADMIN_LOGIN}\nUser-Agent: Mozilla/5.0\nReferer: http://evil.example/`;
  t.match(await say(browser), { status: 403 }, 'an image of another page');
  const image = 'Sec-Fetch-Site: same-origin\nSec-Fetch-Dest: image';
  t.match(await say(`Authorization: ${ADMIN_LOGIN}\n${image}`), { status: 403 }, 'an image of our own page');
  t.match(await say(`${STUDIO}\n${image}`), { status: 403 }, "with an encoder's password, too");
  t.equal((await ask(t, port, `GET /admin.cgi?pass=may%20do%20all%20of%20it&${query} HTTP/1.0`)).status, 401);
  t.equal((await say(STUDIO)).status, 200, 'the encoder itself, as ever');
  // One limit for all wrong ones.
  const wrong = basic('all', 'may do nothing');
  const statuses = [];
  for (let i = 0; i < 8; i++) statuses.push((await say(wrong)).status);
  t.match(statuses, [401, 401, 401, 401, 401, 429, 429, 429]);
  t.notMatch(JSON.stringify(lines), /may do all|may operate|may do nothing/);
});

t.test('only where encoders are served', async (t) => {
  const yaml = demoYaml().replace('port: 0 }', 'port: 0, roles: [poll, stream] }');
  const { port } = await startServer(t, yaml);
  for (const path of ['/admin/metadata?mount=/studio.mp3&mode=updinfo&song=x', '/admin.cgi?pass=demo-source&song=x']) {
    t.equal((await ask(t, port, `GET ${path} HTTP/1.1\n${STUDIO}`)).status, 404, path);
  }
});

/** Title updates of an encoder whose channel fails with this. */
async function failing(t: Test, fault: Error) {
  const mount = {
    channel: 'live',
    hasPassword: () => true,
    hasUser: () => true,
    takesTitles: true,
    sendTitle: () => Promise.reject(fault),
  };
  const errors: unknown[] = [];
  const statuses: number[] = [];
  const updates = new TitleUpdates({
    encoderMounts: [mount as unknown as EncoderMount],
    mountAt: () => undefined,
    hookOf: () => null,
    gate: new SecretGate(new FakeClock(), { perMinute: 60, inAllPerMinute: 600, maxOfOrigin: 8, remembered: 10 }),
    connections: roomyTable(),
    proxies: new Proxies([], 'x-forwarded-for'),
    bodyBytes: 1024,
    parameters: 64,
    textBytes: 1024,
    urlBytes: 1024,
    onVerdict: ({ status }) => statuses.push(status),
    onError: (error) => errors.push(error),
  });
  const port = await startRouted(t, { services: [updates] });
  const update = () => ask(t, port, `GET /admin/metadata?mode=updinfo&song=x HTTP/1.1\n${STUDIO}`);
  return { errors, statuses, update };
}

t.test('a fault of ours is answered 500 and reported, and harms no other client', async (t) => {
  const fault = new Error('the disk holds a secret');
  const { errors, statuses, update } = await failing(t, fault);
  for (let i = 0; i < 2; i++) {
    const answer = await update();
    t.equal(answer.status, 500);
    t.notMatch(answer.body, /secret/);
  }
  t.strictSame(
    [errors, statuses],
    [
      [fault, fault],
      [500, 500],
    ],
  );
});

t.test('while the hub is away an update is answered 503, and is no fault', async (t) => {
  const { errors, statuses, update } = await failing(t, retryLater('unavailable', 'A part is being restarted.', 2));
  const answer = await update();
  t.strictSame([answer.status, answer.headers.get('retry-after')], [503, '2']);
  t.match(answer.body, /^A part is being restarted\.$/m);
  t.strictSame([errors, statuses], [[], [503]]);
});
