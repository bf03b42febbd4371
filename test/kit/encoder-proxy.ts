/**
 * TCP proxies between an encoder program and our server: one adds a line to each head, for refusals that no program causes by itself; one breaks
 * on the program's side only. And a server that refuses every encoder with a status that ours never sends.
 */

import net from 'node:net';
import type { Test } from 'tap';
import { freePort } from './process.js';

const IS_ENCODER = /^(PUT|SOURCE) /;
const END = '\r\n\r\n';
/** Headers that frame the body; a second one would make the request invalid. */
const FRAMING = /\r\n(content-length|transfer-encoding):[^\r]*/gi;

/** A proxy of the server's port. @param line a header, such as `Content-Type: video/webm` @returns its port */
export async function proxyAddingHead(t: Test, to: number, line: string): Promise<number> {
  return serve(t, (client) => {
    const server = net.connect(to, '127.0.0.1');
    client.on('close', () => server.destroy());
    server.on('error', () => client.destroy());
    server.on('close', () => client.end());
    server.pipe(client);
    readHead(client, (head, rest) => {
      server.write(IS_ENCODER.test(head) ? `${head.replace(FRAMING, '')}\r\n${line}${END}` : head + END, 'latin1');
      server.write(rest);
      client.pipe(server);
    });
  });
}

/** A proxy of the server's port. `cut` resets its clients' connections, while those to the server stay open and silent. */
export async function breakableProxy(
  t: Test,
  to: number,
): Promise<{ readonly port: number; readonly cut: () => void }> {
  const open = new Set<net.Socket>();
  const port = await serve(t, (client) => {
    const server = net.connect({ port: to, host: '127.0.0.1', allowHalfOpen: true });
    t.teardown(() => server.destroy());
    open.add(client.on('close', () => open.delete(client)));
    server.on('error', () => undefined);
    client.on('data', (chunk) => server.write(chunk));
    server.on('data', (chunk) => client.write(chunk));
    server.on('end', () => client.end());
  });
  const cut = () => {
    for (const client of open) client.resetAndDestroy();
  };
  return { port, cut };
}

/** A server that answers every encoder with this status line, and counts them. */
export async function refusingServer(
  t: Test,
  status: string,
): Promise<{ readonly port: number; readonly count: () => number }> {
  let count = 0;
  const port = await serve(t, (client) => {
    readHead(client, (head) => {
      // libshout asks for TLS first.
      if (IS_ENCODER.test(head) || head.startsWith('OPTIONS ')) count++;
      client.resume();
      client.end(`HTTP/1.0 ${status}\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 3${END}no\n`);
    });
  });
  return { port, count: () => count };
}

async function serve(t: Test, take: (client: net.Socket) => void): Promise<number> {
  const port = await freePort();
  const clients = new Set<net.Socket>();
  const server = net.createServer({ allowHalfOpen: true }, (client) => {
    clients.add(client.on('error', () => undefined).on('close', () => clients.delete(client)));
    client.on('end', () => client.end());
    take(client);
  });
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
  t.teardown(() => {
    server.close();
    for (const client of clients) client.destroy();
  });
  return port;
}

/** @param onHead gets the head without its blank line, as Latin-1, and the bytes after it */
function readHead(client: net.Socket, onHead: (head: string, rest: Buffer) => void): void {
  let seen = Buffer.alloc(0);
  client.on('data', function look(chunk: Buffer) {
    seen = Buffer.concat([seen, chunk]);
    const end = seen.indexOf(END);
    if (end < 0) return;
    client.off('data', look).pause();
    onHead(seen.toString('latin1', 0, end), seen.subarray(end + END.length));
  });
}
