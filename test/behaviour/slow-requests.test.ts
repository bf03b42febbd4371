/** Slow forms of every request: a byte now and then prolongs nothing, and each is cut within its configured time. */

import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import tls from 'node:tls';
import t from 'tap';
import { PEM } from '../kit/certificate.js';
import { atOnce, DEMO_AUDIO, NODES, startServer } from '../kit/server.js';
import { patient, until, untilPromised } from '../kit/until.js';
import { ask, connectionsAt, Wire } from '../kit/wire.js';

// They wait more than they compute.
t.jobs = atOnce(4);

const TLS = `tls: { certFile: ${PEM}one.cert.pem, keyFile: ${PEM}one.key.pem, sharePort: true }`;
const HEAD_MS = 1000;
const REQUEST_MS = 2000;
const ANSWER_MS = 2000;
/** Node looks at slow requests every 2 s; the rest is the machine's. */
const LATE_MS = 9000;
/** Each look reads the table of the system's connections: more often this process would do nothing else. */
const LOOK_MS = 100;
const yaml = `
addresses:
  - { host: 127.0.0.1, port: 0, ${TLS} }
  - { host: 127.0.0.1, port: 0, proxyProtocol: true, ${TLS} }
proxies: { trusted: [127.0.0.1] }
limits: { headSeconds: ${HEAD_MS / 1000}, requestSeconds: ${REQUEST_MS / 1000}, answerSeconds: ${ANSWER_MS / 1000} }
stations:
  house:
    channels:
      demo: { pushTokens: [demo-token], mounts: [/demo.mp3], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      studio: { sources: [{ type: encoder, password: demo-source }] }
`;
const LOGIN = `Authorization: Basic ${btoa('source:demo-source')}`;
const HOST = 'Host: x\r\n';
const PUSH = `POST /metapush/demo/demo-token HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n`;
const UPGRADE = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n`;
const PROXY = 'PROXY TCP4 203.0.113.9 10.0.0.2 56324 443\r\n';
const HANDSHAKE = Buffer.from('160301020001', 'hex');

/** What it begins with, and the bytes that then drip in, over and over. */
interface Slow {
  readonly name: string;
  readonly first: string | Buffer;
  readonly drip: string;
  readonly limitMs: number;
  /** Over TLS. */
  readonly secure?: boolean;
  readonly proxied?: boolean;
}
const head = (name: string, first: string | Buffer, drip = 'X-Slow: yes\r\n', more = {}): Slow => ({
  name,
  first,
  drip,
  limitMs: HEAD_MS,
  ...more,
});
const body = (name: string, first: string, drip: string): Slow => ({ name, first, drip, limitMs: REQUEST_MS });

const SLOW: readonly Slow[] = [
  head('nothing at all', '', ''),
  head('blank lines before a request', '', '\n'),
  head('the first word', 'OPTION', ''),
  head('a TLS handshake', HANDSHAKE, '\x01'),
  head('a handshake behind a PROXY head', Buffer.concat([Buffer.from(PROXY), HANDSHAKE]), '\x01', { proxied: true }),
  head('a PROXY head', 'PROXY UNKNOWN ', 'x', { proxied: true }),
  head('a PROXY head, version 2', Buffer.from('0d0a0d0a000d0a515549540a21110800', 'hex'), '\x01', { proxied: true }),
  head('nothing behind a PROXY head', PROXY, '', { proxied: true }),
  head('nothing inside TLS', '', '', { secure: true }),
  head('a head inside TLS', 'GET / HTTP/1.1\r\n', undefined, { secure: true }),
  head('an HTTP head', `GET /docs HTTP/1.1\r\n${HOST}`),
  head("a poll's head", `GET /metadata/channel/demo.json HTTP/1.1\r\n${HOST}`),
  head("a listener's head", `GET /demo.mp3 HTTP/1.1\r\n${HOST}`),
  head("a listener's address", 'GET /demo.mp', 'x'),
  head("an event stream's head", `GET /metadata/sse/channel/demo HTTP/1.1\r\n${HOST}`),
  head("a WebSocket's head", `GET /metadata/channel/demo HTTP/1.1\r\n${HOST}${UPGRADE}`),
  head("an encoder's head", `SOURCE /studio HTTP/1.0\r\n${LOGIN}\r\n`),
  head("an encoder's address", 'PUT /stu', 'x'),
  head('a SHOUTcast password', 'demo', 'x'),
  head('SHOUTcast headers', 'demo-source\r\n', 'icy-x: y\r\n'),
  head("a title's head", `GET /admin.cgi?mode=updinfo&pass=demo-source&song=x HTTP/1.0\r\n`),
  head("a later request's head", `GET /healthz HTTP/1.1\r\n${HOST}\r\nGET /healthz HTTP/1.1\r\n${HOST}`),
  head("a later poll's head", `GET /metadata/channel/demo.json HTTP/1.1\r\n${HOST}\r\n`.repeat(2).slice(0, -2)),
  body("a push's body", `${PUSH}Content-Length: 5000\r\n\r\n{`, ' '),
  body("a push's body in chunks", `${PUSH}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`, '1\r\n \r\n'),
  body('a push that waits for 100', `${PUSH}Expect: 100-continue\r\nContent-Length: 5000\r\n\r\n`, ' '),
  body("a title's form", `POST /admin/metadata HTTP/1.1\r\n${HOST}${LOGIN}\r\nContent-Length: 5000\r\n\r\nmode=`, 'x'),
  body('the body of a request that has none', `POST /docs HTTP/1.1\r\n${HOST}Content-Length: 5000\r\n\r\n`, 'x'),
  body('a wrong push', `${PUSH.replace('demo-token', 'wrong')}Content-Length: 5000\r\n\r\n`, ' '),
];

t.test('a byte now and then does not prolong it', { timeout: patient(60_000) }, async (t) => {
  const { app } = await startServer(t, yaml);
  const ports = app.ports as [number, number];
  await Promise.all(
    SLOW.map(async ({ name, first, drip, limitMs, secure, proxied }) => {
      const wire = new Wire(t, ports[proxied ? 1 : 0], { halfOpen: true });
      const socket = secure
        ? tls.connect({
            socket: wire.socket,
            ca: readFileSync(`${PEM}one.cert.pem`),
            checkServerIdentity: () => undefined,
          })
        : wire.socket;
      t.teardown(() => socket.destroy());
      socket.on('error', () => undefined);
      const startedMs = performance.now();
      if (first.length > 0) socket.write(first);
      let at = 0;
      const timer = setInterval(() => {
        if (drip !== '' && socket.writable) socket.write(Buffer.from(drip[at++ % drip.length]!, 'latin1'));
      }, 60);
      t.teardown(() => clearInterval(timer));
      // What leads to a machine keeps a connection half-open that the machine has closed.
      const isOver = () => NODES > 0 && (wire.ended || socket.readableEnded || socket.destroyed);
      const isHeld = () => connectionsAt(ports[proxied ? 1 : 0]).includes(wire.socket.localPort!) && !isOver();
      await until(
        // On a busy machine it may be over before this looks.
        () => isHeld() || wire.ended || wire.closed || socket.readableEnded || socket.destroyed,
        5000,
        () => `${name}: never accepted`,
        LOOK_MS,
      );
      await untilPromised(
        () => !isHeld(),
        limitMs + LATE_MS,
        () => `${name}: still open after ${limitMs + LATE_MS} ms: ${wire.got.slice(0, 200)}`,
        LOOK_MS,
      );
      clearInterval(timer);
      const tookMs = Math.round(performance.now() - startedMs);
      t.ok(tookMs < limitMs + LATE_MS, `${name}: ${tookMs} ms`);
    }),
  );
  t.equal((await ask(t, ports[0], 'GET /healthz HTTP/1.1')).status, 200);
});

for (const isTls of [false, true]) {
  const over = isTls ? 'over TLS' : 'in the clear';
  const name = `answers of which some bytes are read now and then, ${over}: the connection is closed; one that reads is not concerned`;
  t.test(name, async (t) => {
    // A proxy in front would hold what was not read yet, and its connection with it.
    const { app } = (await startServer(t, yaml)).one;
    const port = app.ports[0]!;
    const requests = `GET /openapi.json HTTP/1.1\r\n${HOST}\r\n`.repeat(200);
    const wires = [1, 2].map(() => {
      const { socket } = new Wire(t, port);
      socket.removeAllListeners('data').pause();
      const reader = isTls ? tls.connect({ socket, rejectUnauthorized: false }) : socket;
      reader.on('error', () => undefined).write(requests);
      reader.pause();
      return { socket, reader };
    });
    const [slow, fast] = wires as [(typeof wires)[0], (typeof wires)[0]];
    let bytes = 0;
    const timer = setInterval(() => {
      slow.reader.read(100);
      bytes += (fast.reader.read() as Buffer | null)?.length ?? 0;
    }, 20);
    t.teardown(() => clearInterval(timer));
    const isHeld = ({ socket }: { readonly socket: Socket }) => connectionsAt(port).includes(socket.localPort!);
    await until(() => isHeld(slow) && isHeld(fast), 10_000);
    // From when the last answer was made, which a busy machine does late: the limit itself is held by http/router.
    await until(
      () => !isHeld(slow),
      ANSWER_MS + LATE_MS,
      () => 'still open',
    );
    t.ok(isHeld(fast));
    t.ok(bytes > 1_000_000, `${bytes} bytes`);
    for (const { socket } of wires) socket.destroy();
  });
}
