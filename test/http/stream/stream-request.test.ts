/** How a mount is visited: off the bare socket, and by a connection that HTTP had first. */

import type { Server } from 'node:http';
import t from 'tap';
import { retryLater } from '../../../src/base/refusal.js';
import type { HttpService } from '../../../src/http/http-service.js';
import { HttpStreamRequest, type StreamRequest } from '../../../src/http/stream/stream-request.js';
import { pause, quietFor } from '../../kit/pause.js';
import { Random } from '../../kit/random.js';
import { startRouted } from '../../kit/routed.js';
import { demoYaml, startServer } from '../../kit/server.js';
import { until, untilPromised } from '../../kit/until.js';
import { arrived, ask, ENDS_MS, peerOf, Wire } from '../../kit/wire.js';

t.jobs = 9;

const onAir = (port: number) =>
  until(async () => (await fetch(`http://127.0.0.1:${port}/demo.mp3`, { method: 'HEAD' })).ok, 5000);

t.test('one connection, many listeners (kept alive: HttpVisit)', { buffered: true }, async (t) => {
  const { port } = await startServer(t, demoYaml());
  const wire = new Wire(t, port).send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await wire.take(1);
  for (let i = 0; i < 50; i++) wire.send('GET /demo.mp3 HTTP/1.1\r\nHost: x\r\n\r\n');
  const isHeard = async () =>
    /listeners\{[^}]*channel="demo"[^}]*\} [1-9]/.test((await ask(t, port, 'GET /metrics HTTP/1.1')).body);
  await until(isHeard, 5000, () => 'no listener');
  await quietFor(200);
  const m = (await ask(t, port, 'GET /metrics HTTP/1.1')).body;
  t.match(
    m,
    /listeners\{[^}]*channel="demo"[^}]*\} 1\n/,
    m
      .split('\n')
      .filter((l) => /^airsplice_listeners/.test(l))
      .join(),
  );
});
t.test('HEAD on a mount with the client half open', { buffered: true }, async (t) => {
  const { port } = await startServer(t, demoYaml());
  await onAir(port);
  const wire = new Wire(t, port, { halfOpen: true }).send('HEAD /demo.mp3 HTTP/1.1\r\nHost: x\r\n\r\n');
  await untilPromised(() => wire.ended, ENDS_MS);
  await untilPromised(
    () => peerOf(wire.socket) === undefined,
    ENDS_MS,
    () => 'the server still holds the connection after HEAD',
  );
  t.pass('it is let go');
});
t.test('first packet is exactly "GET "', { buffered: true }, async (t) => {
  const { port } = await startServer(t, demoYaml());
  const wire = new Wire(t, port).send('GET ');
  await arrived(wire.socket);
  wire.send('/healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await wire.take(1);
  t.pass();
});

t.test('a request that waits is answered however long a connection may be idle', { buffered: true }, async (t) => {
  const IDLE_MS = 100;
  let waiting: StreamRequest | undefined;
  const service: HttpService = {
    role: 'stream',
    takes: () => true,
    handle: ({ request, response, pipeline, roles }) => {
      waiting = new HttpStreamRequest(request, response, pipeline, roles.headers, '');
      waiting.wait();
    },
  };
  const adjust = (server: Server) => {
    server.timeout = IDLE_MS;
  };
  const port = await startRouted(t, { services: [service], adjust });
  const wire = new Wire(t, port).send('GET /demo.mp3 HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(() => waiting !== undefined, 5000);
  await quietFor(5 * IDLE_MS);
  waiting!.refuse(retryLater('unavailable', 'No audio.', 5));
  const [answer] = await wire.take(1, 2000);
  t.equal(answer!.status, 503);
});

t.test('what comes on a connection that was given to a listener ends it, and nothing else', async (t) => {
  const { port, base } = await startServer(t, demoYaml());
  const random = new Random();
  await onAir(port);
  const requests = [
    'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET /metadata/station/demo.json HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET /demo.mp3?metaid=m1 HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET /demo.mp3?metaid=m2 HTTP/1.1\r\nHost: x\r\nIcy-MetaData: 1\r\n\r\n',
    'HEAD /demo.mp3 HTTP/1.1\r\nHost: x\r\n\r\n',
    'OPTIONS /demo.mp3 HTTP/1.1\r\nHost: x\r\n\r\n',
    'POST /metapush/demo/demo-token HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc',
    'GET /metadata/channel/demo HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    'no request at all\r\n\r\n',
  ];
  const wires: Wire[] = [];
  for (let i = 0; i < 120; i++) {
    const wire = new Wire(t, port);
    wires.push(wire);
    const together = random.chance(0.5);
    // HTTP has the connection first; then anything follows, in one packet or in several.
    let bytes = requests[random.int(0, 1)]!;
    for (let k = random.int(1, 5); k > 0; k--) {
      if (!together) {
        wire.send(bytes);
        bytes = '';
        await pause(random.int(0, 4));
      }
      bytes += requests[random.int(0, requests.length - 1)]!;
    }
    wire.send(bytes);
  }
  await pause(300);
  for (const wire of wires) wire.socket.destroy();
  let text = '';
  const clean = async () => {
    text = await (await fetch(`${base}/metrics`)).text();
    return /^airsplice_listeners\{channel="demo"\} 0$/m.test(text) && /^airsplice_sessions 0$/m.test(text);
  };
  await until(clean, 5000, () => `seed ${random.seed}: ${text.match(/^airsplice_(listeners|sessions).*$/gm)}`);
  t.match(text, /^airsplice_secrets_waiting 0$/m);
  t.match(text, /^airsplice_watchers 0$/m, `seed ${random.seed}: alive, and nothing is left`);
});
