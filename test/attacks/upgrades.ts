/**
 * Offers to speak another protocol behind a request that is still being answered. A socket that owes an answer and gets a fresh parser
 * ends the process on some versions of Node (`ERR_INTERNAL_ASSERTION` in `resOnFinish`).
 */

import tls from 'node:tls';
import { LEGACY, TLS } from './arena.js';
import { type Attack, again, anyAddress, connect, wait } from './attack.js';

const READY = 'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n';
const MATERIAL = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n';
const H2C =
  'GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n';
const socketTo = (path: string) =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
/** A masked PING. */
const PING = '\x89\x80\0\0\0\0';

/** First a packet, then, when the server has gone on, what comes behind it. */
function behind(first: string, then: string): Attack {
  return async (port, random, signal) => {
    await again(signal, 150, 40, async () => {
      for (const at of [port, port + LEGACY]) {
        const socket = connect(at, random, signal, { reads: random.chance(0.8) });
        socket.write(Buffer.from(first, 'latin1'));
        void wait(random.chance(0.5) ? 300 : random.int(0, 30), signal).then(() =>
          socket.write(Buffer.from(then, 'latin1')),
        );
      }
      const { localAddress } = { localAddress: anyAddress(random) };
      const over = { host: '127.0.0.1', port: port + TLS, rejectUnauthorized: false, localAddress };
      const secure = tls.connect(over).on('error', () => undefined);
      secure.resume().write(Buffer.from(first, 'latin1'));
      void wait(300, signal).then(() => secure.write(Buffer.from(then, 'latin1')));
      signal.addEventListener('abort', () => secure.destroy(), { once: true });
      void wait(2000, signal).then(() => secure.destroy());
    });
  };
}

export const h2cBehindRequest = behind(READY + H2C, READY);
export const h2cBehindDocument = behind(MATERIAL + H2C + H2C, READY + H2C + READY);
export const webSocketBehindRequest = behind(READY + socketTo('/metadata/channel/prey'), PING + READY);
export const webSocketBehindDocument = behind(MATERIAL + socketTo('/metadata/channel/prey'), PING);
export const streamBehindRequest = behind(`${READY}GET /prey HTTP/1.1\r\nHost: x\r\n\r\n`, READY);
export const nesBehindRequest = behind(READY + socketTo('/'), PING + READY);
