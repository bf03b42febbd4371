/** WebSocket clients that talk to an endpoint that only sends: frames too large, too many, broken or in pieces; all that nes takes, and more. */

import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Random } from '../kit/random.js';
import { LEGACY } from './arena.js';
import { type Attack, again, connect, wait } from './attack.js';

/** A frame of RFC 6455 as a client sends it. @param length what the head claims, if not the payload's own */
function frame(
  opcode: number,
  payload: Buffer,
  options: { fin?: boolean; masked?: boolean; length?: number } = {},
): Buffer {
  const { fin = true, masked = true, length = payload.length } = options;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = (fin ? 0x80 : 0) | opcode;
  head[1] = (masked ? 0x80 : 0) | (length < 126 ? length : length < 65_536 ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  // A mask of zeros leaves the payload as it is.
  return Buffer.concat([head, masked ? Buffer.alloc(4) : Buffer.alloc(0), payload]);
}

function webSocket(port: number, path: string, random: Random, signal: AbortSignal, reads = true): Socket {
  const socket = connect(port, random, signal, { reads });
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
  );
  return socket;
}

export const largeFrames: Attack = (port, random, signal) =>
  again(signal, 20, 2000, async () => {
    const socket = webSocket(port, '/metadata/channel/prey', random, signal, random.chance(0.5));
    await wait(20, signal);
    const payload = Buffer.alloc(65_536, 'x');
    for (let i = 0; i < 10 && socket.writable; i++) socket.write(frame(random.int(0, 15), payload));
    if (random.chance(0.5)) socket.destroy();
  });

/** 100,000 PINGs that nobody reads the PONGs of, from a few. */
export const pingFlood: Attack = async (port, random, signal) => {
  const pings = Buffer.concat(Array.from({ length: 500 }, () => frame(9, Buffer.alloc(125, 'p'))));
  const sockets = Array.from({ length: 8 }, (_, i) =>
    webSocket(port, '/metadata/channel/prey', random, signal, i % 2 === 0),
  );
  await wait(100, signal);
  await again(signal, 20, 1000, () => {
    for (const socket of sockets) if (socket.writable && socket.writableLength < 1e6) socket.write(pings);
  });
};

export const brokenFrames: Attack = (port, random, signal) =>
  again(signal, 15, 3000, () => {
    const socket = webSocket(port, '/metadata/channel/prey', random, signal);
    const bytes = random.bytes(random.int(0, 200));
    const frames = [
      frame(1, bytes, { masked: false }),
      frame(1, bytes, { fin: false }),
      frame(0, bytes),
      frame(9, Buffer.alloc(200)),
      frame(2, bytes, { length: 2 ** 40 }),
      frame(8, Buffer.from([3])),
      frame(8, bytes),
      bytes,
    ];
    for (let i = random.int(1, 6); i > 0; i--) socket.write(frames[random.int(0, frames.length - 1)]!);
    for (let i = 0; i < 200; i++) socket.write(frame(i === 0 ? 1 : 0, Buffer.from('x'), { fin: false }));
  });

/** All that nes takes: subscriptions on and off, hellos, requests, messages that are none; answers that nobody reads. */
export const nesChatter: Attack = async (port, random, signal) => {
  const say = (message: object) => frame(1, Buffer.from(JSON.stringify(message)));
  const sockets = Array.from({ length: 10 }, (_, i) => webSocket(port + LEGACY, '/', random, signal, i % 3 !== 0));
  await wait(100, signal);
  const metaids = Array.from({ length: 45 }, (_, i) => `/metadata/listener-${i}`);
  for (const socket of sockets)
    socket.write(say({ type: 'hello', id: 1, version: '2', subs: ['/metachannel/prey', ...metaids] }));
  let id = 2;
  const talk = () => {
    const path = ['/metachannel/prey', '/metastation/arena', `/metadata/x${random.int(0, 999)}`, '/nothing', 5][
      random.int(0, 4)
    ];
    const type = ['sub', 'unsub', 'sub', 'request', 'message', 'reauth', 'ping', 'hello', 'x'][random.int(0, 8)];
    return say({ type, id: id++, path, method: 'GET', payload: 'p'.repeat(random.int(0, 2000)) });
  };
  await again(signal, 20, 2000, () => {
    for (const socket of sockets) {
      if (socket.writable && socket.writableLength < 500_000)
        socket.write(Buffer.concat(Array.from({ length: 40 }, talk)));
    }
  });
};

/** Packets of 60 KB with thousands of the smallest messages, each of which nes would answer. */
export const nesFlood: Attack = async (port, random, signal) => {
  const packets = ['{}', '1', '{"type":"ping"}', '{"type":"sub","id":1,"path":"/x"}', `${'['.repeat(3000)}`].map(
    (text) => {
      const message = frame(1, Buffer.from(text));
      return Buffer.concat(Array.from({ length: Math.floor(60_000 / message.length) }, () => message));
    },
  );
  await again(signal, 50, 500, async () => {
    const socket = webSocket(port + LEGACY, '/', random, signal, random.chance(0.7));
    await wait(20, signal);
    socket.write(packets[random.int(0, packets.length - 1)]!);
  });
};

/** Messages that never end: a piece of one byte in each 64 KB, so that a server which keeps pieces as they came keeps 64 KB for each. */
export const hoardedFragments: Attack = async (port, random, signal) => {
  const piece = (opcode: number) => frame(opcode, Buffer.from('x'), { fin: false });
  const filler = Buffer.concat(Array.from({ length: 485 }, () => frame(10, Buffer.alloc(125))));
  await again(signal, 50, 500, async (n) => {
    const socket = webSocket(
      n % 2 === 0 ? port : port + LEGACY,
      n % 2 === 0 ? '/metadata/channel/prey' : '/',
      random,
      signal,
    );
    await wait(20, signal);
    socket.write(piece(1));
    for (let i = 0; i < 20 && socket.writable; i++) socket.write(Buffer.concat([filler, piece(0)]));
  });
};
