/**
 * What is dear to take in, made ready on many connections but for its last byte, and then let go at once: one turn of a server that counts
 * bytes and connections only does the work of all of them.
 */

import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import tls from 'node:tls';
import { PREY_TOKEN, TLS } from './arena.js';
import { type Attack, again, connect, wait } from './attack.js';

/** Two kinds of combining marks in the worst order: to normalize them takes a time that grows with the square of their number. */
const MARKS = `a${'\u0301'.repeat(16_000)}${'\u0316'.repeat(16_000)}`;
const WRONG = `Authorization: Basic ${Buffer.from('source:wrong').toString('base64')}\r\n`;

function post(path: string, type: string, body: string, heads = ''): Buffer {
  const length = Buffer.byteLength(body);
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: x\r\n${heads}Content-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n${body}`,
  );
}

function volley(bytesOf: () => Buffer | Promise<Buffer>, connections: number, to = 0): Attack {
  return async (port, random, signal) => {
    const bytes = await bytesOf();
    await again(signal, 200, 100, async () => {
      const sockets: Socket[] = [];
      for (let i = 0; i < connections && !signal.aborted; i++) {
        const socket = connect(port + to, random, signal);
        socket.write(bytes.subarray(0, -1));
        sockets.push(socket);
        if (i % 20 === 0) await wait(5, signal);
      }
      await wait(300, signal);
      for (const socket of sockets) if (socket.writable) socket.write(bytes.subarray(-1));
      await wait(500, signal);
      for (const socket of sockets) socket.destroy();
    });
  };
}

const FORM = 'application/x-www-form-urlencoded';
const pairs = Array.from({ length: 18_000 }, (_, i) => i.toString(36))
  .join('&')
  .slice(0, 65_000);

/** Forms of thousands of tiny pairs, with no right password. */
export const formVolley = volley(() => post('/admin/metadata', FORM, pairs, WRONG), 100);
/** The same where the form itself holds the password. */
export const passVolley = volley(() => post('/admin.cgi', FORM, `pass=wrong&${pairs}`), 100);
/** With the right token, at the rate that a channel allows: titles that are dear to clean. */
export const markVolley = volley(
  () => post(`/metapush/prey/${PREY_TOKEN}`, 'application/json', JSON.stringify({ song: MARKS })),
  10,
);
/** The first message of a TLS client, whose answer has to be signed. */
export const handshakeVolley = volley(clientHello, 200, TLS);

async function clientHello(): Promise<Buffer> {
  const pipe = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _, done) => done(void pipe.emit('hello', chunk)),
  });
  const said = once(pipe, 'hello');
  const client = tls.connect({ socket: pipe }).on('error', () => undefined);
  const [hello] = (await said) as [Buffer];
  client.destroy();
  return hello;
}
