/**
 * A hostile upstream, at the port where the channel `pulled` looks for one: it serves what encoders are too well known to try. New titles
 * in each block of 16 bytes made a thousand durable commits a second.
 */

import net from 'node:net';
import { flacLink, opusLink } from '../kit/made-ogg.js';
import type { Random } from '../kit/random.js';
import { audioOf, block, streamHead } from '../kit/upstream.js';
import { UPSTREAM } from './arena.js';
import { type Attack, again, wait } from './attack.js';
import { forgedPiece } from './forgers.js';

/** Serves each connection until the signal. */
function upstream(serve: (socket: net.Socket, random: Random, signal: AbortSignal) => Promise<void> | void): Attack {
  return async (port, random, signal) => {
    const sockets = new Set<net.Socket>();
    const server = net.createServer({ noDelay: true }, (socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
      socket.once('data', () => void serve(socket, random, signal));
      socket.resume();
    });
    server.on('error', () => undefined);
    server.listen(port + UPSTREAM, '127.0.0.1');
    await wait(60_000, signal);
    for (const socket of sockets) socket.destroy();
    await new Promise((done) => server.close(done));
  };
}

const OGG = 'HTTP/1.0 200 OK\r\nContent-Type: application/ogg\r\n\r\n';

/** 16 bytes of audio, a title; as fast as they are taken. */
export const titleStorm = upstream((socket, random, signal) => {
  const audio = audioOf(random, 200);
  let n = 0;
  let at = 0;
  socket.write(streamHead(16));
  return again(signal, 50, 2000, () => {
    if (!socket.writable || socket.writableLength > 200_000) return;
    const parts: Buffer[] = [];
    for (let i = 0; i < 100; i++, at = (at + 16) % audio.length) {
      parts.push(audio.subarray(at, at + 16).length === 16 ? audio.subarray(at, at + 16) : Buffer.alloc(16));
      parts.push(block(`StreamTitle='storm ${n++}';`));
    }
    socket.write(Buffer.concat(parts));
  });
});

/** A block that begins a title 313 times and ends none: its 4 KB held the loop for 1.5 s. */
export const titleWithoutEnd = upstream((socket, _, signal) => {
  socket.write(streamHead(16));
  const piece = Buffer.concat([Buffer.alloc(16, 'a'), block("StreamTitle='".repeat(313))]);
  return again(signal, 100, 500, () => {
    if (socket.writable && socket.writableLength < 200_000) socket.write(piece);
  });
});

export const forgedUpstream = upstream((socket, _, signal) => {
  socket.write(OGG);
  socket.write(opusLink(7, 50));
  return again(signal, 250, 200, (n) => {
    if (socket.writable && socket.writableLength < 1e6) socket.write(forgedPiece(n));
  });
});

export const flacUpstream = upstream((socket, random) => {
  socket.write(OGG);
  socket.write(flacLink(random.int(1, 100), 1, 3000));
});

/** Blocks of one byte's length, sent byte by byte; audio that holds frames now and then. */
export const drippingUpstream = upstream(async (socket, random, signal) => {
  const bytes = Buffer.concat([Buffer.from(streamHead(1)), audioOf(random, 10), random.bytes(20_000)]);
  for (let at = 0; at < bytes.length && !signal.aborted && socket.writable; at++) {
    socket.write(bytes.subarray(at, at + 1));
    if (at % 10 === 0) await wait(1, signal);
  }
  socket.destroy();
});

/** Everything else that an answer can be: redirects to itself, playlists of playlists, heads without an end, nothing at all. */
export const falseAnswers = upstream((socket, random) => {
  const { remotePort } = socket;
  const answers = [
    'HTTP/1.1 302 Found\r\nLocation: /live\r\n\r\n',
    `HTTP/1.0 200 OK\r\nContent-Type: audio/x-mpegurl\r\n\r\n${'/live.m3u\n'.repeat(6000)}`,
    `HTTP/1.0 200 OK\r\nContent-Type: audio/x-scpls\r\n\r\n[playlist]\n${'File999999999=/live\n'.repeat(3000)}`,
    `HTTP/1.0 200 OK\r\n${'X: y\r\n'.repeat(100_000)}`,
    'ICY 200 OK\r\nicy-metaint: 1e99\r\n\r\n',
    `HTTP/1.0 200 OK\r\nicy-metaint: ${remotePort}\r\nicy-name: ${'n'.repeat(15_000)}\r\n\r\n`,
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n',
    random.bytes(5000).toString('latin1'),
    '',
  ];
  socket.write(Buffer.from(answers[random.int(0, answers.length - 1)]!, 'latin1'));
  if (random.chance(0.5)) socket.end();
});
