/** TLS and the clear on one port, distinguished by the first byte; and IPv6: listening on `::`, addresses by their network in every limit. */

import { copyFileSync, readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import tls from 'node:tls';
import t, { type Test } from 'tap';
import { PEM } from '../../kit/certificate.js';
import { LoopDelay } from '../../kit/loop-delay.js';
import { Player } from '../../kit/player.js';
import { DEMO_AUDIO, startServer } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until, untilPromised } from '../../kit/until.js';
import { accepted, arrived, ask, connectionsAt, ENDS_MS, Watching, Wire } from '../../kit/wire.js';

t.jobs = 4;

const CA = readFileSync(`${PEM}one.cert.pem`);
const TLS = `tls: { certFile: ${PEM}one.cert.pem, keyFile: ${PEM}one.key.pem, sharePort: true }`;
const yaml = (address: string, extra = '') => `
addresses: [${address}]
${extra}
stations:
  house:
    channels:
      demo: { pushTokens: [demo-token], mounts: [/demo.mp3], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      studio: { sources: [{ type: encoder, password: demo-source }] }
`;
const shared = (extra = '') => yaml(`{ host: 127.0.0.1, port: 0, ${TLS} }`, extra);
const POLL = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

interface Secure {
  readonly socket: tls.TLSSocket;
  got: string;
  closed: boolean;
}

function secure(t: Test, port: number, ca = CA): Secure {
  const socket = tls.connect({ host: '127.0.0.1', port, ca });
  t.teardown(() => socket.destroy());
  const seen: Secure = { socket, got: '', closed: false };
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    seen.got += chunk.toString('latin1');
  });
  socket.on('close', () => {
    seen.closed = true;
  });
  return seen;
}

/** Resolves once a handshake with these terms is over; rejects when the server does not agree. */
function greeted<Made = true>(
  port: number,
  terms: tls.ConnectionOptions,
  onOpen: (socket: tls.TLSSocket) => Made = (socket) => {
    socket.destroy();
    return true as Made;
  },
): Promise<Made> {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...terms });
    socket.on('error', reject).on('close', () => reject(new Error('closed')));
    socket.on('secureConnect', () => resolve(onOpen(socket)));
  });
}

async function secureStatus(t: Test, port: number, request: string): Promise<number> {
  const seen = secure(t, port);
  seen.socket.write(request);
  await until(() => seen.got.includes('\r\n') || seen.closed, 10_000);
  seen.socket.destroy();
  return Number(seen.got.split(' ')[1]);
}

t.test('one port, both ways: HTTP, streams, WebSocket, encoders', { buffered: true }, async (t) => {
  const { port } = await startServer(t, shared());
  const login = `Authorization: Basic ${btoa('source:demo-source')}`;
  t.equal((await ask(t, port, 'GET /metapush/demo/demo-token?song=clear HTTP/1.1')).status, 200);
  t.equal(await secureStatus(t, port, 'GET /metapush/demo/demo-token?song=secure HTTP/1.1\r\nHost: x\r\n\r\n'), 200);
  t.equal((await ask(t, port, 'GET /metadata/channel/demo.json HTTP/1.1')).json().song, 'secure');
  const players = [new Player(port, '/demo.mp3'), new Player(port, '/demo.mp3', { ca: CA })];
  for (const player of players) {
    t.teardown(() => player.close());
    // Where there was time between the two pushes, the one before may be heard first.
    await player.until((p) => p.audioBytes > 40_000 && p.titles.at(-1)?.title === 'secure');
  }
  t.same((await new Watching(t, `ws://127.0.0.1:${port}/metadata/channel/demo`).has(1)).songs, ['now secure']);
  const encoder = secure(t, port);
  encoder.socket.write(`SOURCE /studio HTTP/1.0\r\n${login}\r\nContent-Type: audio/mpeg\r\n\r\n`);
  await until(
    () => encoder.got.startsWith('HTTP/1.0 200'),
    5000,
    () => encoder.got,
  );
  encoder.socket.destroy();
  const status = async () => {
    const wire = new Wire(t, port).send(`SOURCE /studio HTTP/1.0\r\n${login}\r\nContent-Type: audio/mpeg\r\n\r\n`);
    await until(() => wire.got.includes('\r\n\r\n'), 5000);
    wire.socket.destroy();
    return wire.got.split(' ')[1];
  };
  await until(
    async () => (await status()) === '200',
    5000,
    () => 'the same encoder in the clear',
  );
});

t.test('a first byte of either kind alone, then the rest; hundreds at once', { buffered: true }, async (t) => {
  const { port } = await startServer(t, shared());
  const begun = new Wire(t, port).send('G');
  await until(() => accepted(port).length === 1, 5000);
  t.equal((await begun.send(POLL.slice(1)).take(1))[0]!.status, 200);

  // A TLS client's first flight in pieces, at every split of its first 60 bytes: through a proxy of ours.
  await Promise.all(
    Array.from({ length: 60 }, async (_, cut) => {
      const wire = new Wire(t, port);
      let first = true;
      const pipe: Duplex = new Duplex({
        read: () => undefined,
        write: (chunk: Buffer, _, done) => {
          if (!first) {
            wire.socket.write(chunk, () => done());
            return;
          }
          first = false;
          wire.socket.write(chunk.subarray(0, cut));
          void arrived(wire.socket).then(() => wire.socket.write(chunk.subarray(cut), () => done()));
        },
      });
      wire.socket.on('data', (chunk) => pipe.push(chunk));
      const socket = tls.connect({ socket: pipe, ca: CA, checkServerIdentity: () => undefined });
      t.teardown(() => socket.destroy());
      let got = '';
      socket.on('error', (error) => t.fail(`cut at ${cut}: ${error.message}`));
      socket.on('data', (chunk) => (got += chunk));
      socket.write(POLL);
      await until(
        () => got.startsWith('HTTP/1.1 200'),
        15_000,
        () => `cut at ${cut}: ${got.slice(0, 50)}`,
      );
    }),
  );
  const statuses = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      i % 2 === 0
        ? secureStatus(t, port, POLL)
        : new Wire(t, port)
            .send(POLL)
            .take(1, 10_000)
            .then(([a]) => a!.status),
    ),
  );
  t.same(new Set(statuses), new Set([200]));
});

t.test('deadlines hold: before the first byte, in the handshake, after it', { buffered: true }, async (t) => {
  const headMs = 3000;
  const { port, app } = await startServer(t, shared(`limits: { headSeconds: ${headMs / 1000} }`));
  const lateness = new LoopDelay(t);
  const startedMs = performance.now();
  const silent = new Wire(t, port);
  const begun = new Wire(t, port).send(Buffer.from('1603010200', 'hex'));
  const trickling = new Wire(t, port).send(Buffer.from('1603010200', 'hex'));
  const timer = setInterval(() => trickling.send(Buffer.from([1])), 100);
  t.teardown(() => clearInterval(timer));
  const broken = new Wire(t, port).send(Buffer.from('16ffffffffff', 'hex'));
  const mute = secure(t, port);
  let handshakeMs = Number.NaN;
  mute.socket.once('secureConnect', () => (handshakeMs = performance.now() - startedMs));
  const healthy = new Player(port, '/demo.mp3', { ca: CA });
  t.teardown(() => healthy.close());
  for (const wire of [silent, begun, trickling, broken]) await wire.untilClosed();
  await untilPromised(() => mute.closed, ENDS_MS);
  const tookMs = performance.now() - startedMs;
  // The deadline after a handshake begins when that is done, and its end is seen as late as another handshake would be at most.
  const limitMs = headMs + 2 * handshakeMs + lateness.totalMs;
  t.ok(tookMs < limitMs, `a byte now and then lengthens nothing: ${tookMs} of ${limitMs} ms`);
  await healthy.until((p) => p.audioBytes > 60_000);
  const late = new Wire(t, port).send(Buffer.from('1603010200', 'hex'));
  await until(() => accepted(port).length === 2, 5000);
  await app.stop();
  await late.untilClosed();
});

t.test('a renewed certificate is the one in use; the clear goes on', { buffered: true }, async (t) => {
  const folder = tempFolder(t);
  const install = (name: string) => {
    copyFileSync(`${PEM}${name}.cert.pem`, join(folder, 'cert.pem'));
    copyFileSync(`${PEM}${name}.key.pem`, join(folder, 'key.pem'));
  };
  install('one');
  const address = '{ host: 127.0.0.1, port: 0, tls: { certFile: cert.pem, keyFile: key.pem, sharePort: true } }';
  const { port } = await startServer(t, yaml(address), folder);
  const shown = () =>
    new Promise<string>((resolve, reject) => {
      const socket = tls.connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
      socket.on('error', reject).on('secureConnect', () => {
        resolve(String(socket.getPeerCertificate().subject.CN));
        socket.destroy();
      });
    });
  t.equal(await shown(), 'airsplice test one');
  install('two');
  await t.rejects(greeted(port, { ecdhCurve: 'P-521' }), 'a dear group');
  await until(async () => (await shown()) === 'airsplice test two', 15_000);
  await t.rejects(greeted(port, { ecdhCurve: 'P-521' }), 'a dear group, after the renewal');
  t.equal((await ask(t, port, 'GET /healthz HTTP/1.1')).status, 200);
});

t.test('what is dear for a server and cheap for a client is not agreed to', { buffered: true }, async (t) => {
  const { port } = await startServer(t, shared());
  for (const ecdhCurve of ['X25519', 'P-256', 'P-521:P-256']) t.ok(await greeted(port, { ecdhCurve }), ecdhCurve);
  for (const ecdhCurve of ['P-384', 'P-521', 'ffdhe2048', 'ffdhe8192'])
    await t.rejects(greeted(port, { ecdhCurve }), ecdhCurve);
  t.ok(await greeted(port, { maxVersion: 'TLSv1.2' }), 'TLS 1.2');
  await t.rejects(greeted(port, { maxVersion: 'TLSv1.2', ciphers: 'kRSA' }), 'a key exchange by RSA');
  const socket = await greeted(port, { maxVersion: 'TLSv1.2' }, (open) => open);
  t.teardown(() => socket.destroy());
  const again = await new Promise<Error | null>((resolve) => {
    socket.on('error', resolve);
    socket.renegotiate({}, resolve);
  });
  t.ok(again, 'a renegotiation');
});

t.test('a client that ends its side within the handshake keeps no place', { buffered: true }, async (t) => {
  const { port } = await startServer(t, shared('limits: { headSeconds: 60, handshakes: 4 }'));
  for (let i = 0; i < 3; i++) {
    const wire = new Wire(t, port, { halfOpen: true });
    const pipe = new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _, done) => void wire.socket.write(chunk, () => done()),
    });
    // Its ClientHello, and nothing behind the answer.
    tls.connect({ socket: pipe, ca: CA }).on('error', () => undefined);
    await until(() => wire.got !== '', 10_000);
    const { localPort } = wire.socket;
    wire.socket.end();
    await untilPromised(() => !connectionsAt(port).includes(localPort!), 5000, undefined, 100);
  }
  // The other half stays open where it may.
  const seen = secure(t, port);
  seen.socket.end(POLL);
  await until(() => seen.got.startsWith('HTTP/1.1 200'), 10_000);
});

t.test('a ClientHello at the limit, and one past it', { buffered: true }, async (t) => {
  const { port } = await startServer(t, shared('limits: { clientHelloBytes: 2048, headSeconds: 1 }'));
  const hello = (bytes: number) => {
    const whole = Buffer.alloc(5 + bytes);
    whole.set([0x16, 3, 1, bytes >> 8, bytes & 255, 1]);
    whole.writeUIntBE(bytes - 4, 6, 3);
    return whole;
  };
  const fits = new Wire(t, port).send(hello(2048));
  await fits.untilClosed();
  t.equal(Buffer.from(fits.got, 'latin1')[0], 0x15, 'an alert: OpenSSL has read it, and it is none');
  const past = new Wire(t, port).send(hello(2049));
  await past.untilClosed();
  t.equal(past.got, '', 'it was not read');
});

const hasV6 = Object.values(networkInterfaces()).some((each) => each?.some(({ address }) => address === '::1'));

t.test('IPv6 and IPv4 on one address', { buffered: true, skip: hasV6 ? false : 'no ::1 here' }, async (t) => {
  const limits = 'limits: { wrongSecretsPerMinute: 1, secretQueue: 0, watchersPerAddress: 1, listenersPerAddress: 1 }';
  const text = yaml("{ host: '::', port: 0 }", limits).replaceAll(/demo-(token|source)/g, `'sha256:${'7'.repeat(64)}'`);
  const { port } = await startServer(t, text);
  const status = async (host: string, request: string) => {
    const wire = new Wire(t, port, { host }).send(`${request} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await until(
      () => wire.got.includes('\r\n\r\n'),
      10_000,
      () => `${request} at ${host}`,
    );
    return Number(wire.got.split(' ')[1]);
  };
  for (const host of ['::1', '127.0.0.1']) {
    t.equal(await status(host, 'GET /healthz'), 200);
    t.equal(await status(host, 'GET /metapush/demo/wrong?song=x'), 403, `${host} has a count of its own`);
    t.equal(await status(host, 'GET /metapush/demo/wrong?song=x'), 429);
    for (const request of ['GET /metadata/sse/channel/demo', 'GET /demo.mp3']) {
      t.equal(await status(host, request), 200);
      t.equal(await status(host, request), 503);
    }
  }
});
