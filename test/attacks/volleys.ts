/**
 * What is dear to take in, made ready on many connections but for its last byte, and then let go at once: one turn of a server that counts
 * bytes and connections only does the work of all of them.
 */

import { once } from 'node:events';
import net, { type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import tls from 'node:tls';
import { keyUpdater } from '../kit/key-updates.js';
import { PREY_TOKEN, TLS } from './arena.js';
import { type Attack, again, connect, wait } from './attack.js';

/** Two kinds of combining marks in the worst order: to normalize them takes a time that grows with the square of their number. */
const MARKS = `a${'\u0301'.repeat(16_000)}${'\u0316'.repeat(16_000)}`;
const WRONG = `Authorization: Basic ${Buffer.from('source:wrong').toString('base64')}\r\n`;

function post(path: string, type: string, body: string, headers = ''): Buffer {
  const length = Buffer.byteLength(body);
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}Content-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n${body}`,
  );
}

/** @param bytesOf what each connection sends; an array: in this order, each but the first once the one before has been answered */
function volley(bytesOf: (port: number) => Buffer | Promise<readonly Buffer[]>, connections: number, to = 0): Attack {
  return async (port, random, signal) => {
    const flights = [await bytesOf(port)].flat();
    const bytes = flights.pop()!;
    await again(signal, 200, 100, async () => {
      const sockets: Socket[] = [];
      for (let i = 0; i < connections && !signal.aborted; i++) {
        const socket = connect(port + to, random, signal);
        for (const flight of flights) {
          socket.write(flight);
          socket.once('data', () => socket.write(bytes.subarray(0, -1)));
        }
        if (flights.length === 0) socket.write(bytes.subarray(0, -1));
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
export const handshakeVolley = volley(async (port) => [(await flightsOf(port))[0]], 200, TLS);
/** The second one of a client that was asked for a key of another group: no first one, and its answer is signed all the same. */
export const retryVolley = volley(flightsOf, 200, TLS);

/**
 * TLS clients that change their key thousands of times, with the smallest records there are: 27 bytes each, and behind every 16 KB of them the
 * server looks for more. Some of them listen, watch or poll, others say nothing. Without a limit, each connection held the loop for 0.7 s and more.
 */
export const keyVolley: Attack = async (port, random, signal) => {
  const paths = ['/crowd', '/metadata/sse/channel/prey', '/metadata/channel/prey.json', ''];
  await again(signal, 20, 500, async (n) => {
    const path = paths[n % paths.length]!;
    const first = path === '' ? '' : `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
    const socket = connect(port + TLS, random, signal);
    const client = await keyUpdater(socket, 'client', first).catch(() => null);
    if (client !== null && socket.writable) socket.write(client.updates(5000, n % 2 === 0));
  });
};

/** What a client says that offers a key of a group which the server does not take: its first message, and the one after the answer. */
async function flightsOf(port: number): Promise<[Buffer, Buffer]> {
  const said: Buffer[] = [];
  const wire = net.connect(port + TLS, '127.0.0.1').on('error', () => undefined);
  const pipe: Duplex = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _, done) => {
      said.push(chunk);
      wire.write(chunk, () => done());
    },
  });
  wire.on('data', (chunk) => pipe.push(chunk));
  const client = tls.connect({ socket: pipe, rejectUnauthorized: false, ecdhCurve: 'P-521:P-256' });
  await once(client, 'secureConnect');
  client.destroy();
  wire.destroy();
  return [said[0]!, said[1]!];
}
