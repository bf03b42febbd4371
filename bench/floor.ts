/**
 * The floor under every figure: the least that a Node process can do. It answers each GET with one HTTP/1.0 head and each second writes
 * ONE shared buffer to all sockets in one loop; no titles, no lag, no checks. The buffer is one segment of 16,000 audio bytes (whole frames
 * of silence, the rest an ID3v2 tag, so that every check of bench/listeners.ts passes) and an empty block. Started by bench/run.ts.
 *
 *   tsx bench/floor.ts PORT
 */

import { createServer, type Socket } from 'node:net';

const METAINT = 16_000;
/** MPEG 1 layer III, 128 kb/s, 48 kHz, stereo, without CRC: always 384 bytes. */
const FRAME_HEADER = [0xff, 0xfb, 0x94, 0x00];
const FRAME_BYTES = 384;
const TAG_HEADER_BYTES = 10;
const HEAD = `HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\nicy-metaint: ${METAINT}\r\nConnection: close\r\n\r\n`;

const segment = Buffer.alloc(METAINT + 1);
const frames = Math.floor((METAINT - TAG_HEADER_BYTES) / FRAME_BYTES);
for (let frame = 0; frame < frames; frame++) segment.set(FRAME_HEADER, frame * FRAME_BYTES);
const tagAt = frames * FRAME_BYTES;
const padding = METAINT - tagAt - TAG_HEADER_BYTES;
segment.set([...Buffer.from('ID3'), 4, 0, 0, 0, 0, padding >> 7, padding & 0x7f], tagAt);

const listeners = new Set<Socket>();
const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.once('close', () => listeners.delete(socket));
  socket.once('data', () => {
    socket.write(HEAD);
    listeners.add(socket);
  });
});
server.listen({ host: '127.0.0.1', port: Number(process.argv[2]), backlog: 4096 });
setInterval(() => {
  for (const socket of listeners) socket.write(segment);
}, 1000);
