/** The port for other nodes: who may come in, what is refused, and that a tape goes over it. */

import { once } from 'node:events';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { askForLog, askForSessions, askForTape } from '../../src/cluster/tape-client.js';
import { type TapeRequest, TapeServer } from '../../src/cluster/tape-server.js';
import { awaited } from '../kit/until.js';

const SECRET = Buffer.from('a secret that all nodes of this test know');

async function open(t: Test) {
  const asked: TapeRequest[] = [];
  const server = new TapeServer({
    ...{ host: '127.0.0.1', port: 0, secret: SECRET, onError: (error: unknown) => t.fail(String(error)) },
    onTape: (request, stream) => {
      asked.push(request);
      if (request.channel === 'gone') return false;
      stream.write('hello ');
      stream.on('data', (chunk) => stream.write(chunk));
      return true;
    },
    onSessions: (node, stream) => stream.end(`sessions for ${node}`),
    onLog: (stream) => stream.end('the log'),
  });
  const port = await server.listen();
  t.teardown(() => server.close());
  return { server, port, asked, url: `http://127.0.0.1:${port}` };
}

/** What a stranger gets for these bytes, until the connection ends. */
async function send(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1', () => socket.write(text));
  let got = '';
  socket
    .on('error', () => undefined)
    .on('data', (chunk) => {
      got += chunk;
    });
  await once(socket, 'close');
  return got.split('\r\n')[0]!;
}

const head = (path: string, secret = SECRET.toString(), upgrade = 'airsplice-tape') =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\nAuthorization: Bearer ${secret}\r\n\r\n`;

t.test('a node of ours gets a connection to the tape, and says who it is', async (t) => {
  const { url, asked } = await open(t);
  const options = { secret: SECRET, node: 'b', url: 'http://b:1' };
  const stream = await askForTape(url, 'live', 'take', options, 7);
  let got = '';
  stream.on('data', (chunk) => {
    got += chunk;
    if (got.endsWith('!')) stream.end();
  });
  stream.write('there!');
  await once(stream, 'close');
  t.equal(got, 'hello there!');
  t.same(asked, [{ channel: 'live', purpose: 'take', epoch: 7, node: 'b', url: 'http://b:1' }]);
  const ended = await askForTape(url, 'gone', 'listen', options);
  ended.resume();
  await once(ended, 'close');
  t.pass('one that cannot be had is ended');
  const sessions = await askForSessions(url, options);
  sessions.setEncoding('utf8');
  t.equal((await sessions.toArray()).join(''), 'sessions for b');
  const log = await askForLog(url, options);
  log.setEncoding('utf8');
  t.equal((await log.toArray()).join(''), 'the log');
  await t.rejects(askForTape('http://127.0.0.1:1', 'live', 'listen', options), 'nobody there');
});

t.test('anybody else gets nothing', async (t) => {
  const { port, asked, url } = await open(t);
  t.equal(await send(port, head('/-/tape/live?for=listen', `${SECRET}x`)), 'HTTP/1.1 403 Forbidden');
  t.equal(
    await send(port, head('/-/tape/live?for=listen', SECRET.toString().replace('a', 'b'))),
    'HTTP/1.1 403 Forbidden',
  );
  t.equal(await send(port, head('/-/tape/live?for=listen', '')), 'HTTP/1.1 403 Forbidden');
  t.equal(await send(port, head('/-/log?node=b', `${SECRET}x`)), 'HTTP/1.1 403 Forbidden');
  t.equal(await send(port, head('/-/logs?node=b')), 'HTTP/1.1 404 Not Found');
  t.equal(await send(port, head('/-/log?node=b', SECRET.toString(), 'websocket')), 'HTTP/1.1 404 Not Found');
  for (const path of [
    '/-/tape/',
    '/-/tape/live',
    '/-/tape/live?for=all',
    '/-/tape/a/b?for=listen',
    '/',
    `/-/tape/${'x'.repeat(65)}?for=listen`,
  ]) {
    t.equal(await send(port, head(path)), 'HTTP/1.1 404 Not Found', path);
  }
  t.equal(await send(port, head('/-/tape/live?for=listen', SECRET.toString(), 'websocket')), 'HTTP/1.1 404 Not Found');
  t.equal(await send(port, 'GET /-/tape/live?for=listen HTTP/1.1\r\nHost: x\r\n\r\n'), 'HTTP/1.1 426 Upgrade Required');
  t.equal(await send(port, head(`/-/tape/live?for=listen&x=${'x'.repeat(5000)}`)), '', 'a head that is too long');
  t.equal(await send(port, 'nonsense\r\n\r\n'), '');
  t.same(asked, []);
  const wrong = { secret: Buffer.from('another secret of just that length, no...'), node: 'b', url: 'http://b:1' };
  await t.rejects(askForTape(url, 'live', 'listen', wrong));
});

t.test('a connection that says nothing does not stay', async (t) => {
  const { port } = await open(t);
  await awaited(send(port, 'GET /-/tape/live HTTP/1.1\r\n'), 7500, () => 'its head has no time');
});
