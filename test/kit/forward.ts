/** A TCP proxy that preserves half-closes, resets and slowness. */

import net from 'node:net';
import type { Test } from 'tap';

/** Listens at a loopback port. @param target returns the port for the next connection */
export function forward(
  t: Test,
  port: number,
  target: () => { readonly host: string; readonly port: number },
): Promise<void> {
  // Half-closed connections stay open until both ends have closed them.
  const open = new Set<net.Socket>();
  const server = net.createServer({ allowHalfOpen: true }, (client) => {
    const other = net.connect({ ...target(), allowHalfOpen: true });
    for (const [one, two] of [
      [client, other],
      [other, client],
    ] as const) {
      open.add(one);
      one.on('error', () => two.destroy());
      one.on('close', () => {
        open.delete(one);
        two.destroy();
      });
    }
    client.pipe(other).pipe(client);
  });
  t.teardown(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  return new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', () => resolve()));
}
