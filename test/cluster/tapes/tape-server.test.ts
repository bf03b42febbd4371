/**
 * The port for other nodes: who may come in, what is refused, and that a tape goes over it. Both ends prove that they have the cluster's secret, and
 * no other learns it: neither a listener at an address that is in Redis, nor one in between.
 */

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { isProof, newNonce, type Proof, proofOf, read, written } from '../../../src/cluster/tapes/tape-auth.js';
import { askForLog, askForSessions, askForTape } from '../../../src/cluster/tapes/tape-client.js';
import { type TapeRequest, TapeServer } from '../../../src/cluster/tapes/tape-server.js';
import { quietFor } from '../../kit/pause.js';
import { awaited, until, untilPromised } from '../../kit/until.js';

const SECRET = Buffer.from('a secret that all nodes of this test know');
const OPTIONS = { secret: SECRET, node: 'b', url: 'http://b:1' };

async function openServer(t: Test) {
  const asked: TapeRequest[] = [];
  let host = '';
  const server = new TapeServer({
    host: '127.0.0.1',
    port: 0,
    secret: SECRET,
    onError: (error: unknown) => t.fail(String(error)),
    isOwnHost: (other) => other === host,
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
  host = `127.0.0.1:${port}`;
  t.teardown(() => server.close());
  return { server, port, asked, host, url: `http://${host}` };
}

/** A connection on which a test sends anything. */
class Stranger {
  readonly socket: Socket;
  got = '';
  isClosed = false;

  /** @param isHalfOpen it does not close where the server does */
  constructor(t: Test, port: number, isHalfOpen = false) {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: isHalfOpen });
    this.socket
      .on('error', () => undefined)
      .on('data', (chunk) => {
        this.got += chunk;
      })
      .on('close', () => {
        this.isClosed = true;
      });
    t.teardown(() => this.socket.destroy());
  }

  /** What is answered next: its first line, and WWW-Authenticate. */
  async ask(text: string): Promise<{ readonly status: string; readonly challenge: string }> {
    this.got = '';
    this.socket.write(text);
    await until(() => this.got.includes('\r\n\r\n') || this.isClosed, 5000);
    const challenge = /WWW-Authenticate: (.*)\r\n/i.exec(this.got)?.[1] ?? '';
    return { status: this.got.split('\r\n')[0]!, challenge };
  }
}

interface Said {
  readonly path?: string;
  readonly host: string;
  readonly upgrade?: string;
}

const request = ({ path = '/-/tape/live?for=listen', host, upgrade = 'airsplice-tape' }: Said, authorization: string) =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\n${authorization}\r\n\r\n`;
const first = ({ path = '/-/tape/live?for=listen', host }: Said, nonce: string) =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${written(nonce)}\r\n\r\n`;

/** What the server answers to one that proves something; by default what it should. */
async function prove(t: Test, port: number, said: Said, secret = SECRET, changed: Partial<Proof> = {}, before = said) {
  const stranger = new Stranger(t, port);
  const client = newNonce();
  const { challenge } = await stranger.ask(first(before, client));
  const server = read(challenge)?.nonce ?? newNonce();
  const proof: Proof = { by: 'client', client, server, path: said.path ?? '/-/tape/live?for=listen', host: said.host };
  const authorization = `Authorization: ${written(client, proofOf(secret, { ...proof, ...changed }))}`;
  return (await stranger.ask(request(said, authorization))).status;
}

t.test('a node of ours gets a connection to the tape, and says who it is', async (t) => {
  const { url, asked } = await openServer(t);
  const stream = await askForTape(url, 'live', 'take', OPTIONS, 7);
  let got = '';
  stream.on('data', (chunk) => {
    got += chunk;
    if (got.endsWith('!')) stream.end();
  });
  stream.write('there!');
  await once(stream, 'close');
  t.equal(got, 'hello there!');
  t.same(asked, [{ channel: 'live', purpose: 'take', epoch: 7, node: 'b', url: 'http://b:1' }]);
  const ended = await askForTape(url, 'gone', 'listen', OPTIONS);
  ended.resume();
  await once(ended, 'close');
  t.pass('one that cannot be had is ended');
  const sessions = await askForSessions(url, OPTIONS);
  sessions.setEncoding('utf8');
  t.equal((await sessions.toArray()).join(''), 'sessions for b');
  const log = await askForLog(url, OPTIONS);
  log.setEncoding('utf8');
  t.equal((await log.toArray()).join(''), 'the log');
  await t.rejects(askForTape('http://127.0.0.1:1', 'live', 'listen', OPTIONS), 'nobody there');
});

t.test('anybody else gets nothing', async (t) => {
  const { port, asked, url, host } = await openServer(t);
  const [forbidden, missing] = ['HTTP/1.1 403 Forbidden', 'HTTP/1.1 404 Not Found'];
  const ask = async (text: string) => (await new Stranger(t, port).ask(text)).status;
  const bearer = (secret: string) => request({ host }, `Authorization: Bearer ${secret}`);
  for (const secret of ['', SECRET.toString(), `${SECRET}x`]) t.equal(await ask(bearer(secret)), forbidden);
  t.equal(await ask(request({ host }, `Authorization: ${written(newNonce())}`)), forbidden, 'without a proof');
  t.equal(await ask(request({ host }, `Authorization: ${written(newNonce(), 'x'.repeat(43))}`)), forbidden, 'unasked');
  const other = Buffer.from('another secret of just that length, no...');
  t.equal(await prove(t, port, { host }, other), forbidden, 'another secret');
  t.equal(await prove(t, port, { host }, SECRET, { by: 'server' }), forbidden, 'the server’s own proof, sent back');
  t.equal(await prove(t, port, { host }, SECRET, { server: newNonce() }), forbidden, 'of another connection');
  t.equal(await prove(t, port, { host }, SECRET, { path: '/-/log?node=b' }), forbidden, 'of another question');
  t.equal(await prove(t, port, { host: 'b:1' }), forbidden, 'meant for another machine');
  t.equal(await prove(t, port, { host, path: '/-/log?node=b' }, other), forbidden);
  t.match(await prove(t, port, { host: 'b:1', path: '/-/log?node=b' }), /101/, 'an origin has any name');
  const before = { host, path: '/-/tape/other?for=listen' };
  t.match(await prove(t, port, { host }, SECRET, {}, before), /101/, 'what is proved behind the challenge counts');
  asked.length = 0;
  for (const path of [
    '/-/logs?node=b',
    '/-/tape/',
    '/-/tape/live',
    '/-/tape/live?for=all',
    '/-/tape/a/b?for=listen',
    '/',
  ])
    t.equal(await prove(t, port, { host, path }), missing, path);
  t.equal(await prove(t, port, { host, path: `/-/tape/${'x'.repeat(65)}?for=listen` }), missing);
  t.equal(await prove(t, port, { host, upgrade: 'websocket' }), missing);
  t.equal(await ask('GET /-/tape/live?for=listen HTTP/1.1\r\nHost: x\r\n\r\n'), 'HTTP/1.1 426 Upgrade Required');
  t.equal(await ask(request({ host, path: `/-/tape/live?x=${'x'.repeat(5000)}` }, '')), '', 'a head that is too long');
  t.equal(await ask('nonsense\r\n\r\n'), '');
  await t.rejects(askForTape(url, 'live', 'listen', { ...OPTIONS, secret: other }));
  t.same(asked, []);
});

t.test('a proof is used once', async (t) => {
  const { port, host } = await openServer(t);
  const stranger = new Stranger(t, port);
  const client = newNonce();
  const { challenge } = await stranger.ask(first({ host }, client));
  const { nonce: server, proof } = read(challenge)!;
  const own: Proof = { by: 'server', client, server, path: '/-/tape/live?for=listen', host };
  t.ok(isProof(SECRET, own, proof!), 'it says first that it is ours');
  const text = request({ host }, `Authorization: ${written(client, proofOf(SECRET, { ...own, by: 'client' }))}`);
  t.match((await stranger.ask(text)).status, /101/);
  t.match((await new Stranger(t, port).ask(text)).status, /403/, 'again, on another connection');
});

t.test('a server at another address learns nothing that lets it in', async (t) => {
  const { port, host, asked } = await openServer(t);
  const heard: string[] = [];
  // In between: it has another address, and passes all on to a node.
  const between = createServer((socket) => {
    const there = connect(port, '127.0.0.1');
    socket.on('data', (chunk) => {
      heard.push(String(chunk));
      there.write(chunk);
    });
    there.on('data', (chunk) => socket.write(chunk));
    for (const [one, other] of [
      [socket, there],
      [there, socket],
    ] as const)
      one.on('error', () => undefined).on('close', () => other.destroy());
  });
  await new Promise<void>((done) => between.listen(0, '127.0.0.1', done));
  t.teardown(() => between.close());
  const { port: own } = between.address() as { port: number };
  await t.rejects(askForTape(`http://127.0.0.1:${own}`, 'live', 'listen', OPTIONS), 'it is not let in either');
  t.same(asked, []);
  t.notMatch(heard.join(), SECRET.toString());
  t.notMatch(heard.join(), SECRET.toString('base64'));
  // A server that answers otherwise gets no proof at all.
  for (const answer of [
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: airsplice-tape\r\nConnection: Upgrade\r\n\r\n',
    `HTTP/1.1 401 No\r\nContent-Length: 0\r\nWWW-Authenticate: ${written(newNonce(), 'x'.repeat(43))}\r\n\r\n`,
    `HTTP/1.1 401 No\r\nContent-Length: 0\r\nWWW-Authenticate: ${'x'.repeat(20_000)}\r\n\r\n`,
    'nonsense\r\n\r\n',
    '',
  ]) {
    const got: string[] = [];
    const liar = createServer((socket) => {
      socket
        .on('error', () => undefined)
        .on('data', (chunk) => {
          got.push(String(chunk));
          if (answer !== '') socket.write(answer);
        });
    });
    await new Promise<void>((done) => liar.listen(0, '127.0.0.1', done));
    t.teardown(() => liar.close());
    await t.rejects(
      askForTape(`http://127.0.0.1:${(liar.address() as { port: number }).port}`, 'live', 'listen', OPTIONS),
    );
    t.equal(got.length, 1, 'one question');
    t.notMatch(got.join(), /proof/);
  }
  await t.rejects(
    askForTape(`http://${host}`, 'live', 'listen', { ...OPTIONS, mayAsk: () => false }),
    /must not be contacted/,
  );
});

t.test('a server at another address cannot have a node prove the secret for it', async (t) => {
  const { port } = await openServer(t);
  const heard: string[] = [];
  // It passes the first question on to a node, and the answer back; then it says itself that the link begins.
  const liar = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (question) => {
      const there = connect(port, '127.0.0.1', () => there.write(question));
      there.on('error', () => undefined);
      there.once('data', (answer) => {
        there.destroy();
        heard.push(String(answer));
        socket.write(answer);
        socket.on('data', () => {
          socket.write(
            'HTTP/1.1 101 Switching Protocols\r\nUpgrade: airsplice-tape\r\nConnection: Upgrade\r\n\r\na made-up tape',
          );
        });
      });
    });
  });
  await new Promise<void>((done) => liar.listen(0, '127.0.0.1', done));
  t.teardown(() => liar.close());
  const url = `http://127.0.0.1:${(liar.address() as { port: number }).port}`;
  await t.rejects(askForTape(url, 'live', 'listen', OPTIONS), /does not answer as a machine of a cluster/);
  await t.rejects(askForSessions(url, OPTIONS), /does not answer as a machine of a cluster/);
  t.equal(heard.length, 2);
  t.notMatch(heard.join(), /proof/);
});

t.test('a connection that says nothing does not stay, nor one that was refused', async (t) => {
  const { port, host } = await openServer(t);
  const silent = new Stranger(t, port);
  silent.socket.write('GET /-/tape/live HTTP/1.1\r\n');
  const refused = Array.from({ length: 50 }, () => new Stranger(t, port));
  // They read nothing, and say nothing more.
  for (const { socket } of refused) {
    socket.pause();
    socket.write(request({ host }, 'Authorization: Bearer x'));
  }
  // Both ends are in this process: the ends there are gone.
  const open = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  await untilPromised(
    () => open() < refused.length + 10,
    5000,
    () => `${open()} sockets`,
  );
  await awaited(once(silent.socket, 'close'), 7500, () => 'its head has no time');
  const client = newNonce();
  const said = { host, path: '/-/tape/gone?for=listen' };
  const gone = new Stranger(t, port, true);
  const server = read((await gone.ask(first(said, client))).challenge)!.nonce;
  const proof = proofOf(SECRET, { by: 'client', client, server, path: said.path, host });
  t.match(await gone.ask(request(said, `Authorization: ${written(client, proof)}`)), { status: /101/ });
  await untilPromised(
    () => {
      // Only a write shows that both halves are closed there.
      if (gone.socket.writable) gone.socket.write('x');
      return gone.isClosed;
    },
    5000,
    () => 'what it asked for cannot be had',
  );
  const idle = new Stranger(t, port);
  await idle.ask(first({ host }, newNonce()));
  await awaited(once(idle.socket, 'close'), 10_000, () => 'it has proved nothing');
});

t.test('strangers of one address: at the limit and one past it', async (t) => {
  const { port, url } = await openServer(t);
  const strangers = Array.from({ length: 1024 }, () => new Stranger(t, port));
  await until(() => strangers.every(({ socket }) => !socket.connecting), 10_000);
  await quietFor(100);
  t.equal(strangers.filter(({ isClosed }) => isClosed).length, 0);
  const more = new Stranger(t, port);
  await until(() => more.isClosed, 5000);
  strangers[0]!.socket.destroy();
  await until(
    async () =>
      askForSessions(url, OPTIONS).then(
        (stream) => !!stream.destroy(),
        () => false,
      ),
    5000,
  );
});
