/**
 * Requests of ours against bare servers on loopback: what is sent, that no byte of an answer is lost however it is held back, that
 * what comes meanwhile is not taken in, and that nothing is left of any connection.
 */

import { spawnSync } from 'node:child_process';
import { lookup } from 'node:dns';
import { readFileSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import tls from 'node:tls';
import t, { type Test } from 'tap';
import { Outbound, type OutboundRequest } from '../../../src/net/outbound/outbound.js';
import { OutboundConnection } from '../../../src/net/outbound/outbound-connection.js';
import { PRIVATE_REASON } from '../../../src/net/outbound/private-address.js';
import { Target } from '../../../src/net/outbound/target.js';
import { settled } from '../../kit/pause.js';
import { TYPESCRIPT } from '../../kit/process.js';
import { Random } from '../../kit/random.js';
import { until } from '../../kit/until.js';
import { arrived } from '../../kit/wire.js';

t.jobs = 4;

const PEM = new URL('../../kit/certificate/', import.meta.url).pathname;
const PAIR = { cert: readFileSync(`${PEM}one.cert.pem`), key: readFileSync(`${PEM}one.key.pem`) };
const OPTIONS = { lookup, ca: PAIR.cert, headBytes: 2048 };

/** A server that is done with a connection when `answer` says so; it keeps what it was sent. */
async function serve(t: Test, answer: (socket: net.Socket, head: string) => void, isTls = false) {
  const sockets: net.Socket[] = [];
  const heads: string[] = [];
  const onSocket = (socket: net.Socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      heads.push(chunk.toString('latin1'));
      answer(socket, heads.at(-1)!);
    });
  };
  const server = isTls ? tls.createServer(PAIR, onSocket) : net.createServer(onSocket);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const url = `http${isTls ? 's' : ''}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, sockets, heads };
}

/** One request, and all that came of it, in order. */
class Exchange {
  readonly outbound: Outbound;
  readonly parts: Buffer[] = [];
  readonly events: string[] = [];
  /** Called with each piece, and with the answer. */
  onPiece: () => void = () => undefined;

  constructor(href: string, rest: Partial<OutboundRequest> = {}, mayBePrivate = true) {
    const target = mayBePrivate
      ? Target.named(href, undefined, true)
      : Target.named('http://8.8.8.8/', undefined, false).to(href)!;
    this.outbound = new Outbound({ target, method: 'GET', headers: {}, ...rest }, OPTIONS, {
      onAnswer: () => {
        this.events.push(`${this.outbound.status}`);
        this.outbound.receive(this);
        this.onPiece();
      },
      onFailed: (reason, code) => this.events.push(code ?? reason),
      onClosed: () => this.events.push('closed'),
    });
  }

  get bytes(): Buffer {
    return Buffer.concat(this.parts);
  }

  /** Resolves when nothing more can come. */
  async done(): Promise<string> {
    this.outbound.start();
    const isDone = () => this.events.includes('closed') && (this.events.length > 1 || this.events[0] === 'closed');
    await until(isDone, 5000, () => this.events.join());
    return this.events.join();
  }

  onBody(chunk: Buffer): void {
    this.parts.push(chunk);
    this.onPiece();
  }

  onEnd(): void {
    this.events.push('end');
  }
}

const chunked = (body: Buffer, random: Random): Buffer => {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const piece = body.subarray(at, at + random.int(1, 5000));
    at += piece.length;
    parts.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
};

t.test('a FIN behind unread bytes: however the body is held back, no byte of it is lost', async (t) => {
  const random = new Random();
  for (const isTls of [false, true]) {
    for (const bodyBytes of [0, 1, 3000, 700_000]) {
      const body = random.bytes(bodyBytes);
      const framings: [string, Buffer][] = [
        ['', body],
        [`Content-Length: ${bodyBytes}\r\n`, body],
        ['Transfer-Encoding: chunked\r\n', chunked(body, random)],
      ];
      for (const [head, bytes] of framings) {
        const name = `${isTls ? 'TLS' : 'TCP'}, ${bodyBytes} bytes, ${head.trim()}, seed ${random.seed}`;
        let hasFinished = false;
        const { url } = await serve(
          t,
          (socket) =>
            socket.end(Buffer.concat([Buffer.from(`ICY 200 OK\r\n${head}\r\n`), bytes]), () => (hasFinished = true)),
          isTls,
        );
        const exchange = new Exchange(url);
        let wasPaused = false;
        exchange.onPiece = () => {
          if (wasPaused) t.fail(`${name}: handed on while paused`);
          wasPaused = true;
          exchange.outbound.pause();
          const resume = () => {
            wasPaused = false;
            exchange.outbound.resume();
          };
          // Behind the head all is on its way, and the FIN behind it, before the first piece is read.
          if (exchange.parts.length === 0) void until(() => hasFinished, 5000).then(resume);
          else if (random.chance(0.5)) setImmediate(resume);
          else resume();
        };
        exchange.outbound.start();
        await until(
          () => exchange.events.includes('end') || exchange.events.length > 2,
          10_000,
          () => `${name}: ${exchange.events}, ${exchange.bytes.length} bytes`,
        );
        t.ok(exchange.bytes.equals(body), `${name}: ${exchange.bytes.length} bytes`);
        t.strictSame(
          exchange.events.filter((event) => event !== 'closed'),
          ['200', 'end'],
          name,
        );
      }
    }
  }
});

t.test('what a server sends while it is held back stays with it', async (t) => {
  const bytes = 64 * 1024 * 1024;
  const { url, sockets } = await serve(t, (socket) => {
    socket.write(`ICY 200 OK\r\nContent-Length: ${bytes}\r\n\r\n`);
    socket.end(Buffer.alloc(bytes, 'x'));
  });
  const exchange = new Exchange(url);
  exchange.onPiece = () => exchange.outbound.pause();
  exchange.outbound.start();
  await until(() => exchange.events.length > 0 && sockets.length > 0, 5000);
  // As much as the kernel takes has left it when nothing has for a while.
  const left = await settled(() => sockets[0]!.writableLength, 200, 10_000);
  t.ok(left > bytes / 2, `${left} of ${bytes} bytes have not left the server`);
  t.equal(exchange.bytes.length, 0);
  let got = 0;
  exchange.onPiece = () => {
    got += exchange.parts.pop()!.length;
  };
  exchange.outbound.resume();
  await until(() => exchange.events.includes('end'), 20_000);
  t.equal(got, bytes);
});

t.test('a connection that is held reads no more than its buffers take', async (t) => {
  const { url } = await serve(t, (socket) => {
    socket.write('ICY 200 OK\r\n\r\n');
    socket.write(Buffer.alloc(8 * 1024 * 1024));
  });
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1');
  const connection = new OutboundConnection(socket, 2048);
  t.teardown(() => connection.destroy());
  connection.write('GET / HTTP/1.1\r\n\r\n');
  connection.once('data', () => connection.pauseSocket());
  connection.on('data', () => undefined);
  await until(() => connection.readableFlowing === true && socket.bytesRead > 0, 5000);
  const before = await settled(() => socket.bytesRead, 200, 5000);
  t.ok(before <= 4 * 65_536, `${before} bytes`);
  connection.resumeSocket();
  await until(() => socket.bytesRead > 8 * 1024 * 1024, 5000);
});

t.test('what is sent: a request in one piece, on a connection that ends with it', async (t) => {
  for (const isTls of [false, true]) {
    const answer = (socket: net.Socket, head: string) =>
      // The server would go on: the end is ours.
      void socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Method: ${head.slice(0, 4)}\r\n\r\nok`);
    const { url, heads, sockets } = await serve(t, answer, isTls);
    const { host } = new URL(url);
    const get = new Exchange(`${url.replace('//', '//me:p%20w@')}/a%20b?c=d`, { headers: { accept: '*/*' } });
    t.equal(await get.done(), '200,end,closed');
    t.equal(`${get.bytes}`, 'ok');
    const basic = `Basic ${btoa('me:p w')}`;
    const asked = `GET /a%20b?c=d HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\naccept: */*\r\nauthorization: ${basic}\r\n\r\n`;
    const post = new Exchange(url, { method: 'POST', headers: { 'Content-Type': 'text/plain' }, body: 'a=1' });
    t.equal(await post.done(), '200,end,closed');
    t.equal(post.outbound.headers.get('x-method'), 'POST');
    const posted = `POST / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\nContent-Type: text/plain\r\ncontent-length: 3\r\n\r\na=1`;
    t.strictSame(heads, [asked, posted]);
    await until(() => sockets.every((socket) => socket.destroyed), 2000);
    t.equal(sockets.length, 2);
  }
});

t.test('what a sink throws is thrown, and passes for no failure of the server', async (t) => {
  const script = `
    import { lookup } from 'node:dns';
    import net from 'node:net';
    import { Outbound } from '${new URL('../../../src/net/outbound/outbound.ts', import.meta.url)}';
    import { Target } from '${new URL('../../../src/net/outbound/target.ts', import.meta.url)}';
    const fault = () => { throw new Error('a fault of ours'); };
    const server = net.createServer((socket) => void socket.write('ICY 200 OK\\r\\n\\r\\nbody'));
    server.listen(0, '127.0.0.1', () => {
      const target = Target.named('http://127.0.0.1:' + server.address().port, undefined, true);
      const onAnswer = () => outbound.receive({ onBody: fault, onEnd: () => undefined });
      const onFailed = () => process.exit(0);
      const outbound = new Outbound({ target, method: 'GET', headers: {} }, { lookup, headBytes: 99 }, { onAnswer, onFailed });
      outbound.start();
    });`;
  const child = spawnSync(process.execPath, [...TYPESCRIPT, '--input-type=module', '-e', script], {
    encoding: 'utf8',
  });
  t.equal(child.status, 1, child.stderr);
  t.match(child.stderr, /a fault of ours/);
});

t.test('headers that come twice: the first type and place count, others are a list', async (t) => {
  const twice = [
    'Content-Type: a/b',
    'content-type: c/d',
    'Location: /a',
    'Location: /b',
    'X: 1',
    'x: 2',
    'Set-Cookie: c',
  ];
  const { url } = await serve(t, (socket) => socket.end(`ICY 200 OK\n${twice.join('\n')}\n__proto__: x\n\n`));
  const exchange = new Exchange(url);
  t.equal(await exchange.done(), '200,end,closed');
  const { headers } = exchange.outbound;
  t.strictSame(
    ['content-type', 'location', 'x', 'set-cookie'].map((name) => headers.get(name)),
    ['a/b', '/a', '1, 2', 'c'],
  );
});

t.test('failures: each once, and nothing is left of the connection', async (t) => {
  const fails = async (answer: string | null, expected: RegExp, atOnce = false) => {
    const { url, sockets } = await serve(t, (socket) => {
      if (answer === null) socket.resetAndDestroy();
      else if (atOnce) socket.write(answer);
      else socket.end(answer);
    });
    t.match(await new Exchange(url).done(), expected, answer ?? 'RST');
    await until(() => sockets.every((socket) => socket.destroyed), 2000);
  };
  await fails('', /^the connection ended before the answer,closed$/);
  await fails('HTTP/1.1 200 OK\r\n', /^the connection ended before the answer,closed$/);
  await fails('SSH-2.0\r\n', /^the answer is not HTTP,closed$/, true);
  await fails(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(2030)}\r\n`, /^Header overflow: .* 2048 bytes,closed$/, true);
  await fails('x'.repeat(2049), /^Header overflow: .* 2048 bytes,closed$/, true);
  await fails('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfour', /^200,UND_ERR\w+,closed$/);
  await fails('HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n', /Invalid character in Content-Length.*,closed$/, true);
  await fails('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfour', /^200,\w+,closed$/);
  await fails('HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n', /^UND_ERR_SOCKET,closed$/, true);
  await fails(null, /^ECONNRESET,closed$/);

  const closed = await serve(t, () => undefined);
  const { port } = new URL(closed.url);
  t.match(await new Exchange(`https://127.0.0.1:${port}/`, {}, false).done(), new RegExp(`^${PRIVATE_REASON},closed$`));
  t.match(await new Exchange('http://[::ffff:10.0.0.1]/', {}, false).done(), new RegExp(`^${PRIVATE_REASON},closed$`));
  t.equal(closed.sockets.length, 0);
  const refused = net.createServer().listen(0, '127.0.0.1');
  const free = await new Promise<number>((done) =>
    refused.on('listening', () => done((refused.address() as AddressInfo).port)),
  );
  await new Promise((done) => refused.close(done));
  t.equal(await new Exchange(`http://127.0.0.1:${free}/`).done(), 'ECONNREFUSED,closed');
});

t.test('interim answers are ignored, and their headers count', async (t) => {
  const interim = 'HTTP/1.1 103 Early Hints\nx: y\n\n';
  for (const [times, expected] of [
    [50, /^200,end,closed$/],
    [80, /^Header overflow/],
  ] as const) {
    const { url } = await serve(t, (socket) => {
      socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP');
      const rest = `/1.1 102 Processing\r\n\r\n${interim.repeat(times)}ICY 200 OK\r\n\r\nbody`;
      void arrived(socket).then(() => socket.end(rest));
    });
    const exchange = new Exchange(url);
    t.match(await exchange.done(), expected);
    t.equal(`${exchange.bytes}`, times === 50 ? 'body' : '');
  }
});

t.test('a reset behind a body without a length is a failure, no end', async (t) => {
  const { url, sockets } = await serve(t, (socket) => void socket.write('ICY 200 OK\r\n\r\nbody'));
  const exchange = new Exchange(url);
  exchange.onPiece = () => exchange.parts.length > 0 && sockets[0]!.resetAndDestroy();
  t.equal(await exchange.done(), '200,ECONNRESET,closed');
});

t.test('after an abort nothing is called but that it is closed', async (t) => {
  const { url, sockets } = await serve(t, (socket) => void socket.write('ICY 200 OK\r\nContent-Length: 8\r\n\r\nbody'));
  const early = new Exchange(url);
  early.outbound.start();
  early.outbound.abort();
  early.outbound.abort();
  const atAnswer = new Exchange(url);
  atAnswer.onPiece = () => atAnswer.outbound.abort();
  t.equal(await atAnswer.done(), '200,closed');
  const inBody = new Exchange(url);
  inBody.onPiece = () => inBody.parts.length > 0 && inBody.outbound.abort();
  t.equal(await inBody.done(), '200,closed');
  const paused = new Exchange(url);
  paused.onPiece = () => paused.outbound.pause();
  paused.outbound.start();
  await until(() => paused.events.length > 0, 2000);
  paused.outbound.resume();
  paused.outbound.abort();
  await until(() => sockets.every((socket) => socket.destroyed), 2000);
  t.strictSame([early.events, paused.events], [['closed'], ['200', 'closed']]);
  t.equal(paused.bytes.length, 0);
});

t.test('without a byte for so long it is idle, and not before', async (t) => {
  const { url } = await serve(t, (socket) => {
    socket.write('ICY 200 OK\r\n\r\n');
    let bytes = 0;
    const drip = setInterval(() => (++bytes > 10 ? clearInterval(drip) : socket.write('x')), 50);
    socket.on('close', () => clearInterval(drip));
  });
  const exchange = new Exchange(url);
  exchange.onPiece = () => exchange.parts.length === 0 && exchange.outbound.setIdleTimeout(400);
  const idle = new Promise<void>((done) => Object.assign(exchange, { onIdle: done }));
  exchange.outbound.start();
  await idle;
  t.equal(`${exchange.bytes}`, 'x'.repeat(10));
  exchange.outbound.abort();
});
