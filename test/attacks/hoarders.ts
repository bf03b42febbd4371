/**
 * Connections that are held rather than used: idle keep-alive ones from many addresses, half-said requests, bodies that trickle, resets
 * by the hundred. On a server that counts connections only in all, one address takes them all.
 */

import type { Socket } from 'node:net';
import { FORGER_PASSWORD, PREY_TOKEN, TLS } from './arena.js';
import { type Attack, again, anyAddress, connect, wait } from './attack.js';

const BASIC = `Authorization: Basic ${Buffer.from(`source:${FORGER_PASSWORD}`).toString('base64')}\r\n`;
/** Of each service, a request that is never finished. */
const HEADS = [
  'GET /readyz HTTP/1.1\r\nHost: x\r\nX-Slow: ',
  'GET /prey HTTP/1.1\r\nX-Slow: ',
  'GET /metadata/channel/prey.json HTTP/1.1\r\nX: ',
  'GET /admin/metadata?mode=updinfo&song=x HTTP/1.1\r\nX: ',
  `PUT /forged HTTP/1.1\r\n${BASIC}X: `,
  'SOURCE /forged ICE/1.0\r\nX: ',
  'a-word-of-forg',
  '\x16\x03\x01\x02',
  'PROXY TCP4 1.2',
  '',
];
const BODIES = [
  `POST /metapush/prey/${PREY_TOKEN} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{"song":"`,
  `POST /metapush/prey/${PREY_TOKEN} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
  'POST /admin/metadata HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\nsong=',
  `PUT /forged HTTP/1.1\r\n${BASIC}Transfer-Encoding: chunked\r\n\r\nFFFF\r\n`,
];

function trickle(starts: readonly string[], connections: number): Attack {
  return async (port, random, signal) => {
    const sockets: Socket[] = [];
    for (let i = 0; i < connections && !signal.aborted; i++) {
      const socket = connect(random.chance(0.2) ? port + TLS : port, random, signal);
      socket.write(Buffer.from(starts[i % starts.length]!, 'latin1'));
      sockets.push(socket);
      if (i % 20 === 0) await wait(5, signal);
    }
    await again(signal, 100, 1000, () => {
      for (const socket of sockets) if (random.chance(0.2) && socket.writable) socket.write('a');
    });
  };
}

export const slowHeads = trickle(HEADS, 300);
export const slowBodies = trickle(BODIES, 200);

/** One request each, then nothing: from one address, and from many. */
export const hoardConnections: Attack = async (port, random, signal) => {
  const one = anyAddress(random);
  for (let i = 0; i < 1500 && !signal.aborted; i++) {
    const socket = connect(port, random, signal, { from: i % 2 === 0 ? one : anyAddress(random) });
    socket.write('GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n');
    if (i % 25 === 0) await wait(5, signal);
  }
  await wait(60_000, signal);
};

/** Half-closed right after the request, never read again. */
export const halfClosed: Attack = (port, random, signal) =>
  again(signal, 20, 2000, () => {
    const path = ['/readyz', '/prey', '/metadata/sse/channel/prey', '/openapi.json'][random.int(0, 3)];
    connect(port, random, signal, { reads: random.chance(0.5) }).end(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  });

/** Reset at any moment: before the first byte, in the middle of a head, while an answer comes. */
export const resetStorm: Attack = (port, random, signal) =>
  again(signal, 10, 4000, () => {
    for (let i = 0; i < 8; i++) {
      const socket = connect(random.chance(0.2) ? port + TLS : port, random, signal, { reads: random.chance(0.5) });
      socket.on('connect', () => {
        if (random.chance(0.7)) socket.write(HEADS[random.int(0, HEADS.length - 1)]!);
        if (random.chance(0.5)) socket.write('\r\n\r\n');
        if (random.chance(0.5)) socket.resetAndDestroy();
        else void wait(random.int(0, 50), signal).then(() => socket.resetAndDestroy());
      });
    }
  });
