/** Encoders judged by a hook: ffmpeg and bare sockets as encoders, a web server as the hook; what it answers, and what it does not. */

import http, { type ServerResponse } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { Feeder } from '../../kit/feeder.js';
import { ffmpegEncoder } from '../../kit/ffmpeg-encoder.js';
import { keepLines } from '../../kit/log-lines.js';
import { missing } from '../../kit/program.js';
import { DEMO_AUDIO, startServer, WORKERS } from '../../kit/server.js';
import { until } from '../../kit/until.js';
import { ask } from '../../kit/wire.js';

t.jobs = 4;

type Form = Readonly<Record<string, string>>;

const YES = (response: ServerResponse) => void response.writeHead(200, { 'icecast-auth-user': '1' }).end();
const NO = (response: ServerResponse) => void response.writeHead(200, { 'icecast-auth-message': 'no' }).end();

/** The panel: it knows one streamer, unless a test has it answer something else. */
class Panel {
  readonly forms: Form[] = [];
  answer: (response: ServerResponse, form: Form) => void = (response, { user, pass }) =>
    user === 'nina' && pass === 'good&=+ü' ? YES(response) : NO(response);
  url = '';

  static async open(t: Test): Promise<Panel> {
    const panel = new Panel();
    const server = http.createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        const form = Object.fromEntries(new URLSearchParams(body));
        panel.forms.push(form);
        panel.answer(response, form);
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    panel.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api?key=of-the-panel`;
    return panel;
  }
}

const channels = `
      live: { mounts: ['/a~b;c.mp3'], sources: [{ type: encoder }] }
      own: { sources: [{ type: encoder, password: demo-source }] }
      closed: { sources: [{ type: encoder, password: demo-source, hook: false }] }`;

function yaml(hook: string, all = channels, rest = ''): string {
  return `
addresses: [{ host: 127.0.0.1, port: 0 }]
${rest}
stations:
  house:
    ${hook === '' ? '' : `encoderHook: ${hook}`}
    channels: ${all}
`;
}

const hookAt = ({ url }: Panel, more = '') => `{ url: '${url}'${more} }`;
const basic = (user: string, password: string) => Buffer.from(`${user}:${password}`).toString('base64');
const GOOD = basic('nina', 'good&=+ü');

/** The status of an encoder's answer. */
async function put(t: Test, port: number, path: string, login: string): Promise<number> {
  const { status } = await ask(t, port, `PUT ${path} HTTP/1.1\r\nAuthorization: Basic ${login}\r\nContent-Length: 0`);
  return status;
}

t.test('a streamer of the panel is let in, beside the password; others are 401', async (t) => {
  const panel = await Panel.open(t);
  const { log, lines } = keepLines();
  const { port } = await startServer(t, yaml(hookAt(panel)), undefined, log);
  t.equal(await put(t, port, '/a~b;c.mp3', GOOD), 200);
  t.match(panel.forms[0], {
    action: 'stream_auth',
    mount: '/a~b;c.mp3',
    user: 'nina',
    pass: 'good&=+ü',
    ip: '127.0.0.1',
    server: '127.0.0.1',
    port: String(port),
    agent: /.*/,
  });
  t.equal(panel.forms[0]!['admin'], undefined);
  t.equal(await put(t, port, '/live', basic('nina', 'wrong-guess')), 401);
  const split = 'HTTP/1.1 200 OK\r\nicecast-auth-user: 1\rx\r\n\r\n';
  panel.answer = (response) => void response.socket!.end(split);
  t.equal(await put(t, port, '/live', GOOD), 401, 'a header that is nearly the right one');
  t.equal(await put(t, port, '/own', basic('source', 'demo-source')), 200, 'its own password');
  panel.answer = YES;
  t.equal(panel.forms.length, 3, 'about whom nobody was asked');
  t.equal(await put(t, port, '/own', GOOD), 200, 'beside it');
  t.equal(await put(t, port, '/closed', GOOD), 401, 'hook: false');
  t.equal(panel.forms.length, 4);
  const text = JSON.stringify(lines);
  for (const secret of ['good&', 'wrong-guess', 'of-the-panel', GOOD]) t.notOk(text.includes(secret), secret);
});

t.test('SHOUTcast: a line with user and password, for a mount that is named, or the only one', async (t) => {
  const panel = await Panel.open(t);
  const one = `
      live: { sources: [{ type: encoder }] }`;
  const { port } = await startServer(t, yaml(hookAt(panel), one));
  const say = async (line: string) => {
    const socket = net.connect(port, '127.0.0.1');
    t.teardown(() => socket.destroy());
    let answer = '';
    socket.on('error', () => undefined).on('data', (chunk) => (answer += chunk.toString('latin1')));
    socket.write(`${line}\r\n`);
    await until(() => answer.includes('\r\n'), 5000);
    return answer.split('\r\n')[0];
  };
  t.equal(await say('nina:bad'), 'invalid password');
  t.equal(await say('nina:good&=+ü'), 'OK2');
  t.match(panel.forms.at(-1), { user: 'nina', mount: '/live' });
  t.equal(await say('/live:nina:bad'), 'invalid password');
  t.match(panel.forms.at(-1), { user: 'nina', pass: 'bad', mount: '/live' });
  t.equal(await say('only-a-password'), 'invalid password');
  t.match(panel.forms.at(-1), { user: 'source', pass: 'only-a-password' });
});

t.test('titles are judged likewise, with admin=1', async (t) => {
  const panel = await Panel.open(t);
  const { port, base } = await startServer(t, yaml(hookAt(panel)));
  const feeder = new Feeder(t, port, '/own');
  t.equal(await feeder.answered(), 200);
  feeder.send(200);
  const path = '/admin/metadata?mode=updinfo&mount=/own';
  const title = async (query: string, login: string) =>
    (await ask(t, port, `GET ${path}&song=${query} HTTP/1.0\r\nAuthorization: Basic ${login}`)).status;
  t.equal(await title('one', basic('nina', 'bad')), 401);
  t.equal(await title('two', GOOD), 200);
  t.match(panel.forms.at(-1), { action: 'stream_auth', admin: '1', mount: '/own', user: 'nina' });
  const record = async () =>
    ((await (await fetch(`${base}/metadata/channel/own.json`)).json()) as { song: string }).song;
  t.equal(await record(), 'two');
  const form = (body: string) =>
    fetch(`${base}/admin/metadata`, {
      method: 'POST',
      body: new URLSearchParams(body),
      headers: { authorization: `Basic ${GOOD}` },
    });
  t.equal((await form('mode=updinfo&mount=/own&song=three')).status, 200, 'a form that names the mount');
  t.equal(await record(), 'three');
  t.equal((await form('mode=updinfo&song=four')).status, 401, 'several channels have the hook');
  t.equal((await form('mode=updinfo&mount=/closed&song=four')).status, 401);
  t.equal((await form('mode=updinfo&mount=/nowhere&song=four')).status, 404);
  panel.answer = (response) => response.writeHead(500).end();
  t.equal(await title('five', GOOD), 503);
  t.equal(await record(), 'three');
});

t.test('a title whose answer comes late does not take the place of a later one', async (t) => {
  const panel = await Panel.open(t);
  const { port, base } = await startServer(t, yaml(hookAt(panel, ', timeoutSeconds: 20')));
  const feeder = new Feeder(t, port, '/own');
  t.equal(await feeder.answered(), 200);
  feeder.send(200);
  const title = async (song: string, login = GOOD) =>
    (
      await ask(
        t,
        port,
        `GET /admin/metadata?mode=updinfo&mount=/own&song=${song} HTTP/1.0\r\nAuthorization: Basic ${login}`,
      )
    ).status;
  const record = async () =>
    ((await (await fetch(`${base}/metadata/channel/own.json`)).json()) as { song: string }).song;
  for (const login of [GOOD, basic('source', 'demo-source')]) {
    let late: ServerResponse | null = null;
    panel.answer = (response) => {
      if (late === null) late = response;
      else YES(response);
    };
    const first = title('first');
    await until(() => late !== null, 5000);
    t.equal(await title('second', login), 200);
    YES(late!);
    t.equal(await first, 200);
    t.equal(await record(), 'second');
    t.equal(await title('third'), 200);
    t.equal(await record(), 'third');
  }
});

const BAD: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'an error page': (response) => void response.writeHead(500).end(),
  'a redirect': (response) => void response.writeHead(302, { location: '/yes', 'icecast-auth-user': '1' }).end(),
  garbage: (response) => void response.socket!.end('garbage\r\n\r\n'),
  'no answer': () => undefined,
  'an endless head': (response) => void response.socket!.write(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}`),
};

for (const [name, answer] of Object.entries(BAD)) {
  t.test(`${name} is no answer: 503, and nobody is let in`, async (t) => {
    const panel = await Panel.open(t);
    panel.answer = answer;
    const { port } = await startServer(t, yaml(hookAt(panel, ', timeoutSeconds: 1, breakAfter: 100')));
    const began = put(t, port, '/own', GOOD);
    t.equal(await put(t, port, '/own', basic('source', 'demo-source')), 200, 'others are not held');
    t.equal(await began, 503);
  });
}

t.test('a hook that does not answer is logged with its channels', async (t) => {
  const [panel, other] = [await Panel.open(t), await Panel.open(t)];
  panel.answer = (response) => response.writeHead(500).end();
  const { log, lines } = keepLines();
  const all = `${channels}
      apart: { encoderHook: ${hookAt(other)}, sources: [{ type: encoder }] }`;
  const { port } = await startServer(t, yaml(hookAt(panel, ', breakAfter: 1, breakSeconds: 0.1'), all), undefined, log);
  const named = (text: string) => lines.filter(({ message }) => message.startsWith(`the encoder hook ${text}`));
  t.equal(await put(t, port, '/own', GOOD), 503);
  await until(() => named('does not').length === 1, 5000);
  panel.answer = YES;
  await until(async () => (await put(t, port, '/own', GOOD)) === 200, 5000);
  await until(() => named('answers').length === 1, 5000);
  for (const line of [...named('does not'), ...named('answers')]) t.strictSame(line['channels'], ['live', 'own']);
  t.notMatch(JSON.stringify(lines), /of-the-panel/);
});

t.test('a yes with 100 MB behind it is a yes, and is not read', async (t) => {
  const panel = await Panel.open(t);
  let sent = 0;
  panel.answer = (response) => {
    response.writeHead(200, { 'icecast-auth-user': '1' });
    const more = () => {
      while (sent < 100_000_000 && !response.destroyed) {
        sent += 65_536;
        if (!response.write(Buffer.alloc(65_536))) return void response.once('drain', more);
      }
    };
    more();
  };
  const { port } = await startServer(t, yaml(hookAt(panel)));
  t.equal(await put(t, port, '/own', GOOD), 200);
  t.ok(sent < 20_000_000, `${sent} bytes`);
});

t.test('guesses are counted as those of passwords are, and streamers are not locked out', async (t) => {
  const panel = await Panel.open(t);
  const limits = 'limits: { wrongSecretsPerMinute: 5, secretQueue: 0 }';
  const { port } = await startServer(t, yaml(hookAt(panel), channels, limits));
  for (let i = 0; i < 10; i++) t.equal(await put(t, port, '/own', GOOD), 200);
  for (let i = 0; i < 5; i++) t.equal(await put(t, port, '/own', basic('nina', `guess ${i}`)), 401);
  // Workers hear of the guesses that others have had a moment later.
  await until(async () => (await put(t, port, '/own', basic('nina', 'guess'))) === 429, 5000);
  const asked = panel.forms.length;
  t.ok(WORKERS > 0 || asked === 15, `${asked} questions`);
  t.equal(await put(t, port, '/own', GOOD), 429);
  t.equal(panel.forms.length, asked, 'the hook is not asked past the limit');
});

t.test('another hook, and none, after a reload', async (t) => {
  const [first, second] = [await Panel.open(t), await Panel.open(t)];
  second.answer = NO;
  const server = await startServer(t, yaml(hookAt(first)));
  t.equal(await put(t, server.port, '/own', GOOD), 200);
  await server.reload(yaml(hookAt(second)));
  t.equal(await put(t, server.port, '/own', GOOD), 401);
  t.equal(second.forms.length, 1);
  const none = channels.replace('{ type: encoder }', '{ type: encoder, password: demo-source }');
  await server.reload(yaml('', none));
  t.equal(await put(t, server.port, '/own', GOOD), 401);
  t.equal(second.forms.length, 1);
});

t.test('ffmpeg as a streamer of the panel is heard', { skip: missing('ffmpeg') }, async (t) => {
  const panel = await Panel.open(t);
  panel.answer = (response, { user, pass }) => (user === 'source' && pass === 'of-the-panel' ? YES : NO)(response);
  const { port, base } = await startServer(t, yaml(hookAt(panel)));
  await ffmpegEncoder.start(t, { port, mount: '/live', password: 'of-the-panel', sound: DEMO_AUDIO } as never);
  await until(() => panel.forms.length > 0, 10_000);
  let answer = await fetch(`${base}/live`);
  await until(async () => answer.ok || (answer = await fetch(`${base}/live`)).ok, 10_000);
  t.equal(answer.headers.get('content-type'), 'audio/mpeg');
  const { value } = await answer.body!.getReader().read();
  t.ok(value!.length > 0);
});
