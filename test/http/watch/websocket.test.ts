/** Records as WebSocket frames, past the library: at each length where the head of a frame changes (RFC 6455, 5.2). */

import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import t from 'tap';
import { WebSocket, WebSocketServer } from 'ws';
import { Message } from '../../../src/feed/feed.js';
import { WebSocketTransport } from '../../../src/http/watch/websocket.js';
import { until } from '../../kit/until.js';

t.test('a client reads what was sent, whatever its length', async (t) => {
  const texts = [0, 1, 124, 125, 126, 127, 65_534, 65_535, 65_536, 65_537].map((bytes) => 'x'.repeat(bytes));
  // In bytes and not in characters.
  texts.push('\u00e9'.repeat(62), '\u00e9'.repeat(63), '\u00e9'.repeat(32_767), '\u00e9'.repeat(32_768));
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  t.teardown(() => server.close());
  server.on('connection', (ws, request) => {
    const transport = new WebSocketTransport(ws, request.socket as Socket, 0);
    for (const [n, text] of texts.entries()) {
      const before = request.socket.bytesWritten;
      transport.send(new Message('now', String(n), text));
      const bytes = Buffer.byteLength(text);
      const head = bytes <= 125 ? 2 : bytes <= 65_535 ? 4 : 10;
      t.equal(request.socket.bytesWritten - before, head + bytes, `the shortest head for ${bytes} bytes`);
    }
    transport.close('shutdown');
  });
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const received: string[] = [];
  let code = 0;
  client.on('message', (data) => received.push(data.toString()));
  client.on('error', (error) => t.fail(error.message));
  client.on('close', (given) => {
    code = given;
  });
  await until(() => code !== 0, 10_000);
  t.equal(code, 1001);
  t.same(
    received.map((text) => text.length),
    texts.map((text) => text.length),
  );
  t.ok(received.every((text, n) => text === texts[n]));
});
