/**
 * Encoders with the right password and streams that lie: Ogg page heads that cost a CRC over 54 KB for each 27 bytes,
 * FLAC at 1 Hz whose packets "play" for nine hours (row 4), titles by the thousand (row 6), one byte at a time.
 */

import { flacLink, forgedHeads, opusLink, opusPages } from '../kit/made-ogg.js';
import type { Random } from '../kit/random.js';
import { FORGER_PASSWORD } from './arena.js';
import { type Attack, again, connect, wait } from './attack.js';

const BASIC = Buffer.from(`source:${FORGER_PASSWORD}`).toString('base64');

function encoder(port: number, random: Random, signal: AbortSignal, type: string) {
  const socket = connect(port, random, signal);
  socket.write(`PUT /forged HTTP/1.1\r\nAuthorization: Basic ${BASIC}\r\nContent-Type: ${type}\r\n\r\n`);
  return socket;
}

/** 62 KB: forged heads, and a valid packet so that the bytes in which nothing plays are counted anew. */
export function forgedPiece(n: number): Buffer {
  return Buffer.concat([forgedHeads(2300), opusPages(7, 2 + n, 1)]);
}

export const forgedPages: Attack = (port, random, signal) =>
  again(signal, 500, 50, async () => {
    const socket = encoder(port, random, signal, 'application/ogg');
    socket.write(opusLink(7, 50));
    await again(signal, 250, 40, (n) => {
      if (socket.writable) socket.write(forgedPiece(n));
    });
    socket.destroy();
  });

export const flacAtOneHertz: Attack = (port, random, signal) =>
  again(signal, 100, 200, async () => {
    const socket = encoder(port, random, signal, 'application/ogg');
    socket.write(flacLink(random.int(1, 1000), random.chance(0.5) ? 1 : random.int(1, 100), 3000));
    await wait(random.int(50, 500), signal);
    socket.destroy();
  });

/** A link with a title of its own every 20 ms of audio. */
export const linkStorm: Attack = async (port, random, signal) => {
  const socket = encoder(port, random, signal, 'application/ogg');
  let serial = 1;
  await again(signal, 50, 1200, () => {
    const links = Array.from({ length: 50 }, () =>
      opusLink(serial, 1, `TITLE=link ${serial++}`, `X=${'x'.repeat(2000)}`),
    );
    if (socket.writable && socket.writableLength < 1e6) socket.write(Buffer.concat(links));
  });
};

export const byteByByte: Attack = (port, random, signal) =>
  again(signal, 100, 50, async () => {
    const socket = encoder(port, random, signal, random.chance(0.5) ? 'audio/mpeg' : 'application/ogg');
    const bytes = random.chance(0.5) ? opusLink(3, 500) : random.bytes(5000);
    for (let at = 0; at < bytes.length && !signal.aborted && socket.writable; at++) {
      socket.write(bytes.subarray(at, at + 1));
      if (at % 20 === 0) await wait(1, signal);
    }
    socket.destroy();
  });

/** What looks like the head of a frame and is none, at full speed: each asks for the one that would confirm it. */
export const falseFrames: Attack = (port, random, signal) =>
  again(signal, 200, 100, async () => {
    const socket = encoder(port, random, signal, 'audio/mpeg');
    const pieces = [Buffer.alloc(60_000, Buffer.from([0xff, 0xfb, 0x90, 0x64])), Buffer.alloc(60_000, 0xff)];
    const adts = Buffer.alloc(60_000, Buffer.from([0xff, 0xf1, 0x50, 0x83, 0xff, 0xff, 0xfc]));
    const tag = Buffer.alloc(30_000, Buffer.from('ID3\x04\0\0\0\0\0\x01', 'latin1'));
    for (const piece of [...pieces, adts, tag]) if (socket.writable) socket.write(piece);
    await wait(300, signal);
    socket.destroy();
  });

/** Encoders that throw each other out, for the channel's listeners and its bookkeeping to follow. */
export const takeovers: Attack = (port, random, signal) =>
  again(signal, 15, 3000, () => {
    const socket = encoder(port, random, signal, 'application/ogg');
    socket.write(opusLink(random.int(1, 1e9), random.int(1, 50), 'TITLE=takeover'));
    void wait(random.int(0, 300), signal).then(() => (random.chance(0.5) ? socket.resetAndDestroy() : socket.end()));
  });
