/** One attempt to deliver a message to a device that takes lines. */

import net, { type AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { attempt } from '../../../src/net/outbound/attempt.js';

/** What becomes of a line. @param take what the device does with a connection */
async function outcome(t: Test, timeoutMs: number, take: (socket: net.Socket) => void): Promise<string | null> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket.on('error', () => undefined));
    take(socket);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const url = `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const message = { id: '', url, method: 'POST', headers: {}, body: 'RT=x\r\n', key: null } as const;
  return await new Promise((onOver) => attempt(message, { wallMs: 0, timeoutMs, onOver }));
}

t.test('a line that was sent is taken, though the device leaves its connection open', async (t) => {
  t.equal(await outcome(t, 10_000, (socket) => socket.resume()), null);
  t.equal(await outcome(t, 10_000, () => undefined), null, 'nor reads');
  t.equal(await outcome(t, 100, (socket) => socket.resume()), null, 'for longer than an attempt may take');
  t.equal(await outcome(t, 10_000, (socket) => void socket.end()), null);
});

t.test('nor is a device that closes by a reset sent the line again and again', async (t) => {
  t.equal(await outcome(t, 10_000, (socket) => void socket.once('data', () => socket.resetAndDestroy())), null);
  const onEnd = (socket: net.Socket) => void socket.resume().once('end', () => socket.resetAndDestroy());
  t.equal(await outcome(t, 10_000, onEnd), null);
});
