/**
 * Clients that were refused or answered, and then neither close nor read nor stop sending: each kind of connection ends within its time. Clients that never
 * finish a request are in slow-requests.test.ts.
 */

import t from 'tap';
import { PEM } from '../kit/certificate.js';
import { atOnce, DEMO_AUDIO, NODES, startServer } from '../kit/server.js';
import { patient, until, untilPromised } from '../kit/until.js';
import { connectionsAt, Wire } from '../kit/wire.js';

t.jobs = atOnce(4);

const TLS = `tls: { certFile: ${PEM}one.cert.pem, keyFile: ${PEM}one.key.pem, sharePort: true }`;
/** Of a connection that was refused (net/front/refuse.ts, http/problem.ts); Node looks at slow requests every 2 s, and the rest is the machine's. */
const REFUSED_MS = 2000;
const HEAD_MS = 1000;
const KEEP_ALIVE_MS = 5000;
const LATE_MS = 4000;
const LOOK_MS = 100;
const yaml = `
addresses:
  - { host: 127.0.0.1, port: 0, ${TLS} }
limits: { headSeconds: ${HEAD_MS / 1000}, requestSeconds: 2, listenersPerAddress: 1, watchersPerAddress: 1, wrongSecretsPerMinute: 1000 }
admin: { users: { ann: { password: 'sha256:${'0'.repeat(64)}' } } }
stations:
  house:
    channels:
      demo: { pushTokens: [demo-token], mounts: [/demo.mp3], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      studio: { sources: [{ type: encoder, password: demo-source }] }
`;
const HOST = 'Host: x\r\n';
const UPGRADE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const basic = (words: string) => `Authorization: Basic ${btoa(words)}\r\n`;

/** How the answer to each begins, and how long it may stay. */
const REFUSED: Readonly<Record<string, { readonly say: string; readonly is: RegExp; readonly ms?: number }>> = {
  'a listener too many': { say: `GET /demo.mp3 HTTP/1.1\r\n${HOST}\r\n`, is: /^HTTP\/1.1 503/ },
  'a listener by POST': {
    say: `POST /demo.mp3 HTTP/1.1\r\n${HOST}Content-Length: 9\r\n\r\n`,
    is: /^HTTP\/1.1 405/,
    ms: KEEP_ALIVE_MS,
  },
  'a listener with two lengths': {
    say: `GET /demo.mp3 HTTP/1.1\r\n${HOST}Transfer-Encoding: x\r\n\r\n`,
    is: /^HTTP\/1.1 400/,
  },
  'an event stream too many': {
    say: `GET /metadata/sse/channel/demo HTTP/1.1\r\n${HOST}\r\n`,
    is: /^HTTP\/1.1 503/,
    ms: KEEP_ALIVE_MS,
  },
  'a WebSocket too many': { say: `GET /metadata/channel/demo HTTP/1.1\r\n${HOST}${UPGRADE}\r\n`, is: /^HTTP\/1.1 503/ },
  'a WebSocket to nothing': {
    say: `GET /metadata/channel/none HTTP/1.1\r\n${HOST}${UPGRADE}\r\n`,
    is: /^HTTP\/1.1 404/,
  },
  'a poll': { say: `GET /metadata/channel/demo.json HTTP/1.1\r\n${HOST}\r\n`, is: /^HTTP\/1.1 204/, ms: KEEP_ALIVE_MS },
  'a wrong poll': {
    say: `GET /metadata/channel/none.json HTTP/1.1\r\n${HOST}\r\n`,
    is: /^HTTP\/1.1 404/,
    ms: KEEP_ALIVE_MS,
  },
  'a wrong push': {
    say: `GET /metapush/demo/wrong?song=x HTTP/1.1\r\n${HOST}\r\n`,
    is: /^HTTP\/1.1 403/,
    ms: KEEP_ALIVE_MS,
  },
  'a wrong user at /admin': {
    say: `GET /admin/api/status HTTP/1.1\r\n${HOST}${basic('ann:x')}\r\n`,
    is: /^HTTP\/1.1 4/,
    ms: KEEP_ALIVE_MS,
  },
  'no HTTP': { say: 'GET / HTTP/9.9\r\n\r\n', is: /^HTTP\/1.1 [45]/ },
  'SOURCE with a wrong password': { say: `SOURCE /studio HTTP/1.0\r\n${basic('source:x')}\r\n`, is: /^HTTP\/1.0 401/ },
  'ICE/1.0 with a wrong password': { say: `SOURCE /studio ICE/1.0\r\n${basic('source:x')}\r\n`, is: /^HTTP\/1.0 401/ },
  'PUT to nothing': { say: `PUT /none HTTP/1.1\r\n${HOST}${basic('source:demo-source')}\r\n`, is: /^HTTP\/1.0 404/ },
  'an encoder of pictures': {
    say: `PUT /studio HTTP/1.0\r\n${basic('source:demo-source')}Expect: 100-continue\r\n\r\nfLaC${'x'.repeat(28)}`,
    is: /\r\n\r\nHTTP\/1.0 415/,
  },
  'a wrong SHOUTcast password': { say: 'hackme\r\n', is: /^invalid password/ },
  'a SHOUTcast poke': { say: '!POKE\r\n', is: /^invalid password/ },
  'a title with a wrong password': {
    say: `GET /admin.cgi?mode=updinfo&pass=x&song=x HTTP/1.0\r\n\r\n`,
    is: /^HTTP\/1.[01] 4/,
  },
  'a PROXY header': { say: 'PROXY UNKNOWN\r\n', is: /^HTTP\/1.1 400/ },
};

t.test('it is gone within its time', { timeout: patient(60_000) }, async (t) => {
  const { port } = await startServer(t, yaml);
  const first = [`GET /demo.mp3 HTTP/1.1\r\n${HOST}\r\n`, `GET /metadata/sse/channel/demo HTTP/1.1\r\n${HOST}\r\n`];
  for (const say of first) {
    const wire = new Wire(t, port).send(say);
    await until(() => wire.got.startsWith('HTTP/1.'), 5000);
    t.match(wire.got, /^HTTP\/1.. 200/);
  }
  await Promise.all(
    Object.entries(REFUSED).map(async ([name, { say, is, ms = REFUSED_MS }]) => {
      const wire = new Wire(t, port, { halfOpen: true }).send(say);
      await until(
        () => wire.got !== '' || wire.closed,
        10_000,
        () => `${name}: no answer`,
      );
      t.match(wire.got, is, name);
      // It reads nothing more, and sends a byte now and then.
      wire.socket.pause();
      const timer = setInterval(() => void (wire.socket.writable && wire.send('x')), 60);
      t.teardown(() => clearInterval(timer));
      const isHeld = () => connectionsAt(port).includes(wire.socket.localPort!) && !(NODES > 0 && wire.closed);
      await untilPromised(
        () => wire.closed || !isHeld(),
        Math.max(HEAD_MS, ms) + LATE_MS,
        () => `${name} is there still`,
        LOOK_MS,
      );
      clearInterval(timer);
    }),
  );
});
