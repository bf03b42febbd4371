/** A listener's socket over TLS is given long buffers piece by piece, so that nothing of its memory grows to a burst; in the clear it gets them whole. */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import tls from 'node:tls';
import t, { type Test } from 'tap';
import { ListenerSocket, MAX_WHOLE_BYTES, PIECE_BYTES } from '../../../src/listener/cursor/listener-socket.js';
import { ENTRY, type Entered, TrackedConnection } from '../../../src/net/front/tracked-connection.js';
import { ONE } from '../../kit/certificate.js';
import { until } from '../../kit/until.js';

interface Pair {
  readonly socket: Socket;
  readonly received: () => Buffer;
  /** Bytes of each write that the stream began, and how many of them began before the one before was taken. */
  readonly writes: number[];
  readonly overlaps: () => number;
}

/** A connection of two ends, of which the first is spied on. */
async function pairOf(t: Test, isSecure: boolean): Promise<Pair> {
  const server = isSecure ? tls.createServer(ONE) : net.createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, isSecure ? 'secureConnection' : 'connection');
  const client = isSecure ? tls.connect({ port, host: '127.0.0.1', ca: ONE.cert }) : net.connect(port, '127.0.0.1');
  const parts: Buffer[] = [];
  client.on('data', (part: Buffer) => parts.push(part));
  const [socket] = (await accepted) as [Socket];
  if (isSecure) {
    const entry = new TrackedConnection(new net.Socket());
    entry.socket = socket;
    (socket as Entered)[ENTRY] = entry;
  }
  t.teardown(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });
  const writes: number[] = [];
  let [pending, overlaps] = [0, 0];
  const { _write } = socket;
  socket._write = (chunk, encoding, callback) => {
    writes.push(chunk.length);
    if (pending++ > 0) overlaps++;
    _write.call(socket, chunk, encoding, (error) => {
      pending--;
      callback(error);
    });
  };
  return { socket, received: () => Buffer.concat(parts), writes, overlaps: () => overlaps };
}

t.test('over TLS', async (t) => {
  const { socket, received, writes, overlaps } = await pairOf(t, true);
  const output = new ListenerSocket(socket);
  const [head, burst, next] = [randomBytes(300), randomBytes(MAX_WHOLE_BYTES + 1), randomBytes(MAX_WHOLE_BYTES)];
  socket.cork();
  output.write(head);
  output.write(burst);
  output.write(next);
  socket.uncork();
  const short = [randomBytes(10), randomBytes(20), randomBytes(30)];
  output.writeAll(short);
  const all = Buffer.concat([head, burst, next, ...short]);
  t.ok(socket.writableLength > 0, 'what waits is seen');
  await until(() => received().length === all.length, 10_000);
  t.ok(received().equals(all), 'every byte, in order');
  const rest = burst.length % PIECE_BYTES;
  t.strictSame(writes, [300, PIECE_BYTES, PIECE_BYTES, rest, MAX_WHOLE_BYTES, 60]);
  t.equal(overlaps(), 0, 'each when the one before was taken');
});

t.test('in the clear', async (t) => {
  const { socket, received, writes } = await pairOf(t, false);
  const output = new ListenerSocket(socket);
  const burst = randomBytes(MAX_WHOLE_BYTES * 3);
  output.write(burst);
  await until(() => received().length === burst.length, 10_000);
  t.strictSame(writes, [burst.length], 'one write');
  output.writeAll([Buffer.from('a'), Buffer.from('b')]);
  await until(() => received().length === burst.length + 2, 10_000);
  t.ok(received().equals(Buffer.concat([burst, Buffer.from('ab')])));
});
