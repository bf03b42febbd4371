/** Both ends of a real connection. */

import { once } from 'node:events';
import net from 'node:net';
import type { Test } from 'tap';

export async function socketPair(t: Test): Promise<{ readonly client: net.Socket; readonly socket: net.Socket }> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = net.connect((server.address() as net.AddressInfo).port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [net.Socket];
  t.teardown(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });
  return { client, socket };
}
