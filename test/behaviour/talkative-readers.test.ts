/** Listeners and watchers that go on sending after their request, with and without TLS: at the limit, and one past it. */

import t from 'tap';
import { MAX_RECEIVED_BYTES } from '../../src/listener/cursor/listener-socket.js';
import { REPORT_BYTES } from '../../src/listener/sessions/heard-reports.js';
import { PEM } from '../kit/certificate.js';
import { keyUpdaterAt } from '../kit/key-updates.js';
import { DEMO_AUDIO, startServer } from '../kit/server.js';
import { until, untilPromised } from '../kit/until.js';
import { Wire } from '../kit/wire.js';

t.jobs = 4;

/** What a WebSocket may send at once, or in ten seconds. */
const FRAMES = 10;
const YAML = `
addresses:
  - host: 127.0.0.1
    port: 0
    tls: { certFile: ${PEM}one.cert.pem, keyFile: ${PEM}one.key.pem, sharePort: true }
watch: { pingSeconds: 1 }
limits: { webSocketFrames: ${FRAMES} }
stations:
  house:
    channels:
      demo: { pushTokens: [demo-token], mounts: [/demo.mp3], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
`;
const LISTEN = 'GET /demo.mp3 HTTP/1.1\r\nHost: x\r\n\r\n';
const EVENTS = 'GET /metadata/sse/channel/demo HTTP/1.1\r\nHost: x\r\n\r\n';
const WEBSOCKET =
  'GET /metadata/channel/demo HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
/** Connections are looked at each second, or each two. */
const ENDED_MS = 4000;
/** Of a record of TLS with one byte. */
const RECORD_BYTES = 23;

t.test('requests that a listener sends ahead cost it nothing; what never ends ends it', async (t) => {
  const { port, base } = await startServer(t, YAML);
  const wire = new Wire(t, port).send(LISTEN);
  await until(() => wire.got.startsWith('HTTP/1.'), 5000);
  const ahead = LISTEN.repeat(Math.floor(MAX_RECEIVED_BYTES / LISTEN.length));
  wire.send(ahead.padEnd(MAX_RECEIVED_BYTES, 'x'));
  const before = wire.got.length;
  // Two of its turns.
  await until(() => wire.got.length > before + 40_000, 10_000);
  t.notOk(wire.closed, 'at the limit');
  wire.send('x');
  await untilPromised(() => wire.closed, ENDED_MS);
  t.match(await (await fetch(`${base}/metrics`)).text(), /airsplice_listener_endings_total\{reason="flood"\} 1/);
});

t.test('records of TLS count whole', async (t) => {
  const { port } = await startServer(t, YAML);
  const client = await keyUpdaterAt(port, LISTEN);
  t.teardown(() => client.socket.destroy());
  await until(() => client.got().startsWith('HTTP/1.'), 5000);
  const most = Math.floor(MAX_RECEIVED_BYTES / RECORD_BYTES);
  client.socket.write(client.bytes('x'.repeat(most)));
  const before = client.got().length;
  await until(() => client.got().length > before + 40_000, 10_000);
  t.notOk(client.socket.destroyed, 'at the limit');
  client.socket.write(client.bytes('x'));
  await untilPromised(() => client.socket.destroyed, ENDED_MS);
});

t.test('an event stream is for reading', async (t) => {
  const { port } = await startServer(t, YAML);
  const wire = new Wire(t, port).send(EVENTS);
  await until(() => wire.got.endsWith(':\n'), 10_000);
  wire.send('x'.repeat(64 * 1024));
  wire.got = '';
  await until(() => wire.got.startsWith(':\n:\n:\n'), 10_000);
  t.notOk(wire.closed, 'at the limit');
  // All of it within ten seconds of its own, whenever those begin.
  wire.send('x'.repeat(2 * 64 * 1024 + 1));
  await untilPromised(() => wire.closed, ENDED_MS);
});

t.test('a WebSocket reader whose frames come byte by byte', async (t) => {
  const { port } = await startServer(t, YAML.replace('pingSeconds: 1', 'pingSeconds: 30'));
  const client = await keyUpdaterAt(port, WEBSOCKET);
  t.teardown(() => client.socket.destroy());
  await until(() => client.got().startsWith('HTTP/1.1 101'), 5000);
  const ping = Buffer.concat([Buffer.from([0x89, 0x80 | 125, 0, 0, 0, 0]), Buffer.alloc(125)]);
  const most = 2 * FRAMES * (REPORT_BYTES + 64);
  const frames = Math.floor(most / (RECORD_BYTES * ping.length));
  client.socket.write(client.bytes(Buffer.concat(Array.from({ length: frames }, () => ping))));
  await until(() => client.got().split('\x8a\x7d').length === frames + 1, 10_000);
  t.notOk(client.socket.destroyed, `${frames} of ${FRAMES} frames`);
  // More than fits, also where another ten seconds have begun.
  client.socket.write(client.bytes(Buffer.concat([ping, ping, ping])));
  await untilPromised(() => client.socket.destroyed, ENDED_MS);
});
